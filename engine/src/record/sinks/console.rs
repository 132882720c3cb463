//! The console: a progress line and the messages worth reading, on stderr.
//!
//! On a terminal the line is redrawn in place, at most ten times a second; elsewhere (a log file, a job's output) it is
//! a plain line every few seconds. Promises not to fail: when stderr is gone there is nowhere left to say so. Text from
//! outside (file names) cannot move the cursor: control characters are replaced.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use super::{HostLoad, Receiver};
use crate::export::ExportError;
use crate::record::events::{EvalRow, Event, EventRow, MemoryRow, Progress, RunEvent, Stage, Start, TrainRow};
use crate::record::words::{clock, count};
use kiln_config::Adaptation;

/// Least time between two redraws on a terminal.
const REDRAW_EVERY: Duration = Duration::from_millis(100);
/// Least time between two messages of the same kind.
const REPEAT_EVERY: Duration = Duration::from_secs(10);
/// Iterations between two lines about memory. Its GB are GiB, as in the tools whose logs look like this.
const MEMORY_LINE_EVERY: u32 = 1000;
/// What the letters of the progress line mean.
const LEGEND: &str = "L: loss, V: device memory of its cap, R: host memory, C: processors; steps a second, time since the start, ETA: time left";
/// Cells of the bar.
const BAR_CELLS: u64 = 20;
/// To the line's start, without wrapping at the right edge.
const LINE_START: &str = "\r\x1b[?7l";
/// Clears what an older, longer line left, and wraps again.
const LINE_END: &str = "\x1b[K\x1b[?7h";

/// Where the console writes.
pub struct Terminal {
    out: Box<dyn Write + Send>,
    live: bool,
}

impl Terminal {
    /// Stderr, redrawn in place when it is a terminal.
    #[must_use]
    pub fn stderr() -> Self {
        Self::new(Box::new(std::io::stderr()), kiln_system::can_redraw())
    }

    /// What it writes to, and whether lines may be redrawn there.
    pub(crate) fn into_parts(self) -> (Box<dyn Write + Send>, bool) {
        (self.out, self.live)
    }

    /// Any writer; `live` says whether lines may be redrawn in place.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, live: bool) -> Self {
        Self { out, live }
    }
}

/// Shows progress and messages.
pub struct Console {
    out: Box<dyn Write + Send>,
    live: bool,
    /// Time between two progress lines.
    every: Duration,
    start: Option<(Start, Duration)>,
    reserved_bytes: Option<u64>,
    host: HostLoad,
    shown_at: Option<(Stage, Duration)>,
    /// The line that stands on the terminal, to be drawn again below a message.
    standing: String,
    said_at: BTreeMap<Kind, Duration>,
}

/// Kinds of message that come in swarms.
type Kind = &'static str;

impl Console {
    /// A console on `terminal`; `every` is the time between two lines when it is not live.
    #[must_use]
    pub fn new(terminal: Terminal, every: Duration) -> Self {
        Self {
            out: terminal.out,
            live: terminal.live,
            every: if terminal.live { REDRAW_EVERY } else { every },
            start: None,
            reserved_bytes: None,
            host: HostLoad::default(),
            shown_at: None,
            standing: String::new(),
            said_at: BTreeMap::new(),
        }
    }

    fn train(&mut self, row: &TrainRow, now: Duration) {
        let last = self.start.is_some_and(|(start, _)| row.it == start.iterations);
        let stage = self.start.map_or(Stage::Train, |(start, _)| start.stage);
        if last || self.is_due(stage, now) {
            self.host.refresh(now);
            let line = self.train_line(stage, row, now);
            self.show(stage, line, now);
        }
    }

    fn progress(&mut self, progress: &Progress, now: Duration) {
        if progress.done == progress.total || self.is_due(progress.stage, now) {
            let line = format!(
                "{:<5} {} {}/{} {}",
                progress.stage.name(),
                bar(progress.done, progress.total),
                progress.done,
                progress.total,
                clock(self.elapsed(now)),
            );
            self.show(progress.stage, line, now);
        }
    }

    fn train_line(&self, stage: Stage, row: &TrainRow, now: Duration) -> String {
        let total = self.start.map_or(row.it, |(start, _)| start.iterations);
        let mut line = format!(
            "{} {} {}/{total} L:{:.3}",
            stage.name(),
            bar(row.it, total),
            row.it,
            row.loss
        );
        let cap = self.start.map(|(start, _)| start.cap_bytes);
        if let (Some(reserved), Some(cap @ 1..)) = (self.reserved_bytes, cap) {
            line += &format!(" V:{:.0}%", 100.0 * reserved as f64 / cap as f64);
        }
        for (letter, percent) in [('R', self.host.memory_percent), ('C', self.host.cpu_percent)] {
            if let Some(percent) = percent {
                line += &format!(" {letter}:{percent}%");
            }
        }
        if let Some(its) = row.its.filter(|its| its.is_finite() && *its > 0.0) {
            let left = f64::from(total.saturating_sub(row.it)) / f64::from(its);
            let eta = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
            line += &format!(" {}it/s {} ETA {}", rate(its), clock(self.elapsed(now)), clock(eta));
        } else {
            line += &format!(" {}", clock(self.elapsed(now)));
        }
        line
    }

    fn eval(&mut self, row: &EvalRow) {
        let optional = |name: &str, value: Option<f64>| value.map_or(String::new(), |v| format!(", {name} {v:.4}"));
        let spread = match (row.spread.median, &row.spread.worst) {
            (Some(median), Some(worst)) => {
                format!("median {median:.2}, worst {:.2} {}; ", worst.psnr_image, worst.name)
            }
            _ => String::new(),
        };
        let text = format!(
            "evaluated {} at {}: PSNR {:.2} dB ({}{:.2} per channel{}), SSIM {:.4}{}{}, L1 {:.4}, {}{}",
            count(row.n, &format!("{} view", row.set.name())),
            row.it,
            row.psnr_image,
            spread,
            row.psnr,
            row.psnr_fitted_half.map_or(String::new(), |v| format!(
                ", {v:.2} of half after colours were fitted to the other"
            )),
            row.ssim,
            optional("valid", row.ssim_valid),
            optional("LPIPS", row.lpips),
            row.l1,
            model(row),
            optional("mean opacity", row.mean_opacity),
        );
        self.say(&text);
    }

    fn memory(&mut self, row: &MemoryRow) {
        self.reserved_bytes = Some(row.reserved);
        if row.it > 0 && row.it.is_multiple_of(MEMORY_LINE_EVERY) {
            let gib = |bytes: f64| bytes / (1u64 << 30) as f64;
            let text = format!(
                "[Training] Iter {}: Allocated: {:.2}GB, Reserved: {:.2}GB, Creep: {:.3}GB",
                row.it,
                gib(row.allocated as f64),
                gib(row.reserved as f64),
                gib(row.vram_creep as f64),
            );
            self.say(&text);
        }
    }

    fn event(&mut self, row: &EventRow, now: Duration) {
        match voice(&row.event) {
            Voice::Silent => return,
            Voice::Always => {}
            Voice::Sparing(kind) => {
                if self
                    .said_at
                    .get(kind)
                    .is_some_and(|at| now.saturating_sub(*at) < REPEAT_EVERY)
                {
                    return;
                }
                self.said_at.insert(kind, now);
            }
        }
        match &row.event {
            // All of its settings stand in `run.json` and `metrics.jsonl`.
            Event::Chosen { message } => self.say(&format!("[{}] {}", row.it, Adaptation::brief(message))),
            event => self.say(&format!("[{}] {event}", row.it)),
        }
    }

    fn is_due(&self, stage: Stage, now: Duration) -> bool {
        self.shown_at
            .is_none_or(|(shown, at)| shown != stage || now.saturating_sub(at) >= self.every)
    }

    fn elapsed(&self, now: Duration) -> Duration {
        self.start.map_or(Duration::ZERO, |(_, at)| now.saturating_sub(at))
    }

    /// Draws the progress line.
    fn show(&mut self, stage: Stage, line: String, now: Duration) {
        self.shown_at = Some((stage, now));
        if self.live {
            self.write(&format!("{LINE_START}{line}{LINE_END}"));
            self.standing = line;
        } else {
            self.write(&format!("{line}\n"));
        }
    }

    /// Writes a message above the progress line.
    fn say(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        if self.live {
            let line = format!("\r\x1b[K{text}\n{LINE_START}{}{LINE_END}", self.standing);
            self.write(&line);
        } else {
            self.write(&format!("{text}\n"));
        }
    }

    fn write(&mut self, text: &str) {
        // A console that is gone cannot show its own error, and must not end a run.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl Receiver for Console {
    fn take(&mut self, event: &RunEvent, now: Duration) -> Result<(), ExportError> {
        match event {
            RunEvent::Start(start) => {
                self.start = Some((*start, now));
                self.say(LEGEND);
            }
            RunEvent::Progress(progress) => self.progress(progress, now),
            RunEvent::Train(row) => self.train(row, now),
            RunEvent::Eval(row) => self.eval(row),
            RunEvent::Event(row) => self.event(row, now),
            RunEvent::Memory(row) => self.memory(row),
            RunEvent::Gpu(_) | RunEvent::Histograms(_) | RunEvent::View(_) => {}
        }
        Ok(())
    }

    /// Leaves the cursor on a fresh line.
    fn flush(&mut self) -> Result<(), ExportError> {
        if !self.standing.is_empty() {
            self.standing.clear();
            self.write("\n");
        }
        Ok(())
    }
}

/// The words of an event.
enum Voice {
    /// Not at all: it comes by schedule and is no news.
    Silent,
    /// At most every ten seconds a kind: it comes in swarms; `metrics.jsonl` has them all.
    Sparing(Kind),
    /// Each time.
    Always,
}

fn voice(event: &Event) -> Voice {
    match event {
        Event::Densify { .. } | Event::Cull { .. } | Event::Reset { .. } | Event::Filter { .. } => Voice::Silent,
        // Which kernels are quickest is for those who ask.
        // The watchdog has said so while it lasted.
        Event::Silence { .. } => Voice::Silent,
        // That all is well is no news, and what is not has an event of its own.
        Event::Residency(_) | Event::Live { .. } => Voice::Silent,
        Event::DensifyCapped { .. } => Voice::Sparing("densify_capped"),
        Event::Stall { .. } => Voice::Sparing("stall"),
        Event::Nonfinite { .. } => Voice::Sparing("nonfinite"),
        Event::Spill(_) => Voice::Sparing("spill"),
        Event::SlowStep { .. } => Voice::Sparing("slow_step"),
        Event::BudgetShrunk { .. } => Voice::Sparing("budget_shrunk"),
        Event::EarlyStop { .. }
        | Event::Resume { .. }
        | Event::Save { .. }
        | Event::MeshStage(_)
        | Event::Images { .. }
        | Event::FirstStep { .. }
        | Event::Pressure(_)
        | Event::DeviceLost { .. }
        | Event::Validation { .. }
        | Event::Chosen { .. }
        | Event::Warning { .. } => Voice::Always,
    }
}

fn bar(done: u32, total: u32) -> String {
    let filled = (u64::from(done.min(total)) * BAR_CELLS / u64::from(total.max(1))) as usize;
    format!("[{}{}]", "#".repeat(filled), "-".repeat(BAR_CELLS as usize - filled))
}

/// What the model of an evaluation is made of, counted.
fn model(row: &EvalRow) -> String {
    match (row.triangles, row.vertices) {
        (Some(triangles), Some(vertices)) => format!("{triangles} triangles, {vertices} vertices"),
        _ => format!("{} Gaussians", row.gaussians),
    }
}

fn rate(its: f32) -> String {
    if its < 0.1 {
        format!("{its:.3}")
    } else {
        format!("{its:.1}")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::record::events::{Capacities, Primitive};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Buffer {
        fn text(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A console in the 9th minute of a run, with fixed host shares that are not sampled again.
    fn console(live: bool) -> (Console, Buffer) {
        let buffer = Buffer::default();
        let terminal = Terminal::new(Box::new(buffer.clone()), live);
        let mut console = Console::new(terminal, Duration::from_secs(10));
        let capacities = Capacities {
            n_cap: 1,
            v_cap: 1,
            i_cap: 1,
        };
        let start = Start {
            primitive: Primitive::Gaussians,
            stage: Stage::Train,
            from: 0,
            iterations: 25_000,
            cap_bytes: 1000,
            capacities,
        };
        console.take(&RunEvent::Start(start), Duration::ZERO).unwrap();
        assert!(buffer.text().contains(LEGEND));
        let memory = MemoryRow {
            reserved: 1000,
            ..MemoryRow::default()
        };
        console.take(&RunEvent::Memory(memory), Duration::ZERO).unwrap();
        console.host = HostLoad::fixed(34, 14);
        (console, buffer)
    }

    fn row(it: u32) -> TrainRow {
        TrainRow {
            it,
            loss: 0.2141,
            l1: 0.1,
            normals: None,
            density: None,
            density_normals: None,
            neighbour_geometry: None,
            neighbour_photometric: None,
            gaussians: 7000,
            triangles: None,
            vertices: None,
            visible: 1,
            intersections: 1,
            its: Some(0.854_5),
            t_s: 0.0,
        }
    }

    const fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn the_progress_line() {
        let (mut console, buffer) = console(false);
        console.take(&RunEvent::Train(row(491)), seconds(571)).unwrap();
        assert_eq!(
            buffer.text(),
            "train [--------------------] 491/25000 L:0.214 V:100% R:34% C:14% 0.9it/s 0:09:31 ETA 7:58:02\n"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let (mut console, buffer) = console(false);
        console.host = HostLoad::fixed(34, 14);
        console.host.cpu_percent = None;
        console.host.memory_percent = None;
        console.reserved_bytes = None;
        let first = TrainRow {
            its: None,
            ..row(12_500)
        };
        console.take(&RunEvent::Train(first), seconds(3601)).unwrap();
        assert_eq!(
            buffer.text(),
            "train [##########----------] 12500/25000 L:0.214 1:00:01\n"
        );
    }

    #[test]
    fn plain_lines_come_every_ten_seconds_and_at_the_end() {
        let (mut console, buffer) = console(false);
        for second in 0..35 {
            console
                .take(&RunEvent::Train(row(second + 1)), seconds(u64::from(second)))
                .unwrap();
        }
        assert_eq!(buffer.text().lines().count(), 4);
        console.take(&RunEvent::Train(row(25_000)), seconds(35)).unwrap();
        let text = buffer.text();
        assert!(
            text.contains("[####################] 25000/25000") && text.ends_with("ETA 0:00:00\n"),
            "{text}"
        );
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn live_lines_are_redrawn_at_most_ten_times_a_second() {
        let (mut console, buffer) = console(true);
        for ms in 0..1000 {
            let now = Duration::from_millis(ms);
            console.take(&RunEvent::Train(row(ms as u32 + 1)), now).unwrap();
        }
        let text = buffer.text();
        assert_eq!(text.matches(LINE_START).count(), 10);
        assert!(!text.contains('\n'));
        console.flush().unwrap();
        console.flush().unwrap();
        assert_eq!(buffer.text(), "\n");
    }

    #[test]
    fn messages_stand_above_the_line_and_cannot_move_the_cursor() {
        let (mut console, buffer) = console(true);
        console.take(&RunEvent::Train(row(1)), seconds(0)).unwrap();
        buffer.text();
        let event = Event::Warning {
            message: "odd \x1b[2J name".to_owned(),
        };
        console
            .take(&RunEvent::Event(EventRow { it: 1, event }), seconds(1))
            .unwrap();
        let text = buffer.text();
        assert!(text.starts_with("\r\x1b[K[1] warning: odd ?[2J name\n\r"), "{text:?}");
        assert!(text.contains("1/25000"));
    }

    #[test]
    fn swarms_are_thinned_and_routine_is_silent() {
        let (mut console, buffer) = console(false);
        for second in 0..25 {
            for event in [
                Event::DensifyCapped { dropped: 1, n_cap: 2 },
                Event::Filter { views: 1 },
            ] {
                let event = RunEvent::Event(EventRow { it: 1, event });
                console.take(&event, seconds(second)).unwrap();
            }
        }
        assert_eq!(buffer.text().lines().count(), 3);
    }

    #[test]
    fn other_stages_and_evaluations() {
        let (mut console, buffer) = console(false);
        for done in 0..=40 {
            let progress = Progress {
                stage: Stage::Eval,
                done,
                total: 40,
            };
            console.take(&RunEvent::Progress(progress), seconds(7)).unwrap();
        }
        let eval = EvalRow {
            it: 7000,
            set: kiln_scene::Split::Test,
            n: 40,
            l1: 0.02,
            psnr: 28.5,
            psnr_image: 28.25,
            ssim: 0.9,
            ssim_valid: Some(0.91),
            lpips: None,
            psnr_fitted_half: None,
            lpips_range: crate::eval::LpipsRange::ZeroOne,
            poses: None,
            spread: crate::eval::Spread {
                median: Some(29.0),
                worst: Some(crate::eval::NamedView {
                    name: "view\u{1b}024".to_owned(),
                    psnr_image: 15.68,
                    fog_share: Some(0.76),
                }),
                worst_fog_share: Some(0.76),
            },
            gaussians: 9,
            triangles: None,
            vertices: None,
            mean_opacity: None,
            t_s: 0.0,
        };
        let event = RunEvent::Eval(eval.clone());
        console.take(&event, seconds(7)).unwrap();
        assert_eq!(
            buffer.text(),
            "eval  [--------------------] 0/40 0:00:07\neval  [####################] 40/40 0:00:07\n\
             evaluated 40 test views at 7000: PSNR 28.25 dB (median 29.00, worst 15.68 view?024; 28.50 per channel), \
             SSIM 0.9000, valid 0.9100, L1 0.0200, 9 Gaussians\n"
        );
        let of_triangles = EvalRow {
            triangles: Some(9),
            vertices: Some(7),
            mean_opacity: Some(0.43),
            ..eval
        };
        console.take(&RunEvent::Eval(of_triangles), seconds(7)).unwrap();
        let said = buffer.text();
        assert!(
            said.ends_with(", 9 triangles, 7 vertices, mean opacity 0.4300\n"),
            "{said}"
        );
    }

    #[test]
    fn memory_has_a_line_every_thousand_iterations() {
        let (mut console, buffer) = console(false);
        for it in (100..=2000).step_by(100) {
            let row = MemoryRow {
                it,
                allocated: (7.52 * (1u64 << 30) as f64) as u64,
                reserved: 8 << 30,
                vram_creep: if it == 1000 { 22_548_578 } else { 0 },
                ..MemoryRow::default()
            };
            console.take(&RunEvent::Memory(row), seconds(1)).unwrap();
        }
        assert_eq!(
            buffer.text(),
            "[Training] Iter 1000: Allocated: 7.52GB, Reserved: 8.00GB, Creep: 0.021GB\n\
             [Training] Iter 2000: Allocated: 7.52GB, Reserved: 8.00GB, Creep: 0.000GB\n"
        );
    }

    #[test]
    fn a_closed_console_does_not_fail() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
        }
        let mut console = Console::new(Terminal::new(Box::new(Closed), true), seconds(1));
        assert!(console.take(&RunEvent::Train(row(1)), seconds(0)).is_ok());
    }
}
