//! The fair comparison of allocators: stored traces of real runs, one heap, every allocator.
//!
//! Traces come from small runs. Their chunks of the model are smaller than the 2^19 Gaussians of a full run, so sizes are
//! multiplied until a chunk is a full one: blocks then hold as many tensors as they would in a run of that size.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kiln::gaussians::layout::CHUNK;
use kiln::memory::backend::{BackendKind, Fragmentation};
use kiln::memory::trace::replay::{Latency, Live, Options, Outcome, live, replay, smallest_heap};
use kiln::memory::trace::{Section, read};
use kiln::memory::{GIB, MIB};
use kiln::vk::open_library;
use serde_json::{Value, json};

/// What is printed for `--help`.
pub const USAGE: &str =
    "usage: cargo xtask replay [FILES] [--cap GIB] [--scale N] [--fragmentation MODE] [--call-us N] [--json]
  replays memory traces (`memory_trace.jsonl` of runs with `memory.trace: true`; by default those in tests/traces) on
  every allocator, over a simulated heap
  --cap GIB            size of the heap, 64 unless given; the smallest heap that completes is searched below it
  --scale N            multiply all sizes that follow counts; unless given, until a chunk of the model has 2^19 Gaussians
  --fragmentation M    aggressive, normal or minimal, for all that know modes
  --call-us N          what a driver call takes, on top of the allocator's own time
  --json               one JSON array instead of the table
  --vma                build the Vulkan Memory Allocator in (needs a C++ compiler)";

/// The stored traces, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub fn stored() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    Ok(files)
}

/// The processes of a trace file.
///
/// # Errors
/// When it cannot be read or is none.
pub fn open(path: &Path) -> Result<Vec<Section>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    read(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Times that sizes are multiplied so that a chunk of the model is a full one.
#[must_use]
pub fn full_scale(sections: &[Section]) -> u64 {
    let chunk = sections.first().map_or(1, |section| section.start.chunk.max(1));
    (u64::from(CHUNK) / chunk).max(1)
}

/// One allocator on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// The allocator.
    pub kind: BackendKind,
    /// What lived at once.
    pub live: Live,
    /// How it went on the whole heap.
    pub outcome: Outcome,
    /// Smallest heap that completes, bytes.
    pub need_bytes: Option<u64>,
    /// Completes where what it is asked for is 97 and 99 % of the heap.
    pub at_load: [bool; 2],
}

impl Row {
    /// Bytes that it is asked for at once.
    #[must_use]
    pub fn asked_bytes(&self) -> u64 {
        self.live.asked_bytes(self.kind)
    }
}

/// Replays a trace on every allocator that is built in.
///
/// # Errors
/// When the trace's tensors fit no block.
pub fn compare(sections: &[Section], options: &Options) -> Result<Vec<Row>, String> {
    let live = live(sections, options.scale);
    let mut rows = Vec::new();
    for kind in BackendKind::ALL {
        let run = |options: &Options| replay(sections, kind, options, &open_library).map_err(|e| e.to_string());
        let Some(outcome) = run(options)? else { continue };
        let mut at_load = [false; 2];
        for (fits, percent) in at_load.iter_mut().zip([97, 99]) {
            let options = Options {
                heap_bytes: live.asked_bytes(kind) * 100 / percent,
                ..*options
            };
            *fits = run(&options)?.is_some_and(|outcome| outcome.refused.is_none());
        }
        let high = outcome.driver.peak_reserved_bytes.min(options.heap_bytes);
        let need = smallest_heap(sections, kind, options, &open_library, high).map_err(|e| e.to_string())?;
        rows.push(Row {
            kind,
            live,
            outcome,
            need_bytes: need,
            at_load,
        });
    }
    Ok(rows)
}

struct Arguments {
    files: Vec<PathBuf>,
    options: Options,
    scale: Option<u64>,
    json: bool,
}

fn parse(args: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments {
        files: Vec::new(),
        options: Options {
            heap_bytes: 64 * GIB,
            fragmentation: None,
            scale: 1,
            call_ns: 0,
        },
        scale: None,
        json: false,
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut number = |what: &str| -> Result<f64, String> {
            let text = args.next().ok_or_else(|| format!("{what} needs a number\n{USAGE}"))?;
            let value = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            value.ok_or_else(|| format!("{what} is `{text}`, which is no number from 0 on\n{USAGE}"))
        };
        match &*arg {
            "--cap" => parsed.options.heap_bytes = (number("--cap")? * GIB as f64) as u64,
            "--scale" => parsed.scale = Some((number("--scale")? as u64).max(1)),
            "--call-us" => parsed.options.call_ns = (number("--call-us")? * 1000.0) as u64,
            "--fragmentation" => {
                let word = args.next().unwrap_or_default();
                let mode = Fragmentation::ALL.into_iter().find(|mode| mode.name() == word);
                let unknown = || format!("--fragmentation is `{word}`, not aggressive, normal or minimal\n{USAGE}");
                parsed.options.fragmentation = Some(mode.ok_or_else(unknown)?);
            }
            "--json" => parsed.json = true,
            "--help" | "-h" => return Err(USAGE.to_owned()),
            flag if flag.starts_with("--") => return Err(format!("unknown option `{flag}`\n{USAGE}")),
            file => parsed.files.push(file.into()),
        }
    }
    Ok(parsed)
}

/// The program behind `cargo xtask replay`: gives what is to be printed.
///
/// # Errors
/// With words for people.
pub fn main(args: impl Iterator<Item = String>) -> Result<String, String> {
    let Arguments {
        mut files,
        options,
        scale,
        json,
    } = parse(args)?;
    if files.is_empty() {
        files = stored()?;
    }
    let mut text = String::new();
    let mut objects = Vec::new();
    for file in &files {
        let sections = open(file)?;
        let options = Options {
            scale: scale.unwrap_or_else(|| full_scale(&sections)),
            ..options
        };
        let rows = compare(&sections, &options)?;
        let name = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if json {
            objects.extend(rows.iter().map(|row| object(&name, &options, row)));
        } else {
            text += &table(&name, &sections, &options, &rows);
        }
    }
    if json {
        text = serde_json::to_string_pretty(&objects).map_err(|e| e.to_string())? + "\n";
    }
    Ok(text)
}

fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of.max(1) as f64
}

fn table(name: &str, sections: &[Section], options: &Options, rows: &[Row]) -> String {
    let live = rows.first().map_or(Live::default(), |row| row.live);
    let steps = sections.iter().map(|s| s.happenings.len()).sum::<usize>();
    let mut text = format!(
        "{name}: {} processes, {steps} happenings, sizes times {}; most in use at once {} MiB for the Gaussians there were, \
         {} MiB at capacity; heap {:.1} GiB\n\n",
        sections.len(),
        options.scale,
        live.current_bytes / MIB,
        live.capacity_bytes / MIB,
        options.heap_bytes as f64 / GIB as f64,
    );
    text += "| allocator | reserved MiB | / in use | / capacity | need / asked | fragmentation | 97 % | 99 % | ns p50 | p99 | max \
             | driver calls | copied MiB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let Outcome {
            refused,
            driver,
            fragmentation,
            copied_bytes,
            moved_bytes,
            latency: Latency { p50, p99, max },
            ..
        } = &row.outcome;
        let need = match (refused, row.need_bytes) {
            (None, Some(need)) => format!("{:.3}", ratio(need, row.asked_bytes())),
            _ => "refused".to_owned(),
        };
        let [at_97, at_99] = row.at_load.map(|fits| if fits { "fits" } else { "fails" });
        let peak = driver.peak_reserved_bytes;
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {:.3} | {need} | {:.2} | {at_97} | {at_99} | {p50} | {p99} | {max} | {} | {} |",
            row.kind.name(),
            peak / MIB,
            ratio(peak, live.current_bytes),
            ratio(peak, live.capacity_bytes),
            fragmentation,
            driver.calls,
            (copied_bytes + moved_bytes) / MIB,
        );
    }
    text + "\n"
}

fn object(name: &str, options: &Options, row: &Row) -> Value {
    let outcome = &row.outcome;
    json!({
        "trace": name,
        "allocator": row.kind.name(),
        "scale": options.scale,
        "heap_bytes": options.heap_bytes,
        "fragmentation_mode": options.fragmentation.unwrap_or(Fragmentation::of(row.kind)).name(),
        "completes": outcome.refused.is_none(),
        "peak_live_bytes": row.live.current_bytes,
        "peak_live_capacity_bytes": row.live.capacity_bytes,
        "asked_bytes": row.asked_bytes(),
        "peak_reserved_bytes": outcome.driver.peak_reserved_bytes,
        "need_bytes": row.need_bytes,
        "fragmentation": outcome.fragmentation,
        "fits_at_97": row.at_load[0],
        "fits_at_99": row.at_load[1],
        "requests": outcome.requests,
        "ns_p50": outcome.latency.p50,
        "ns_p99": outcome.latency.p99,
        "ns_max": outcome.latency.max,
        "driver_calls": outcome.driver.calls,
        "copied_bytes": outcome.copied_bytes,
        "moved_bytes": outcome.moved_bytes,
        "tending_s": outcome.tending_s,
    })
}
