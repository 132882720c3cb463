//! Meshes in words: what one will take, how far it is, what was made.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Instant;

use crate::mesh::{Made, MeshOutlook, MeshProgress, MeshReport, StageRow, Surface};
use kiln_config::MeshMethod;
use kiln_gpu::memory::MIB;

/// Prints what was made: to people, and its files to `out`.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn print_made(made: &Made, (json, quiet): (bool, bool), out: &mut dyn Write) -> io::Result<()> {
    if !quiet {
        // Losing a line of information is no reason to stop, here and below.
        let _ = writeln!(io::stderr(), "{}", summary(&made.report));
    }
    print_files(&made.files, &made.report.surface, json, out)
}

/// The same of a model of triangles, which is a mesh already; `what` is what became of it.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn print_converted(
    (files, surface): (&[PathBuf], &Surface),
    what: &str,
    (json, quiet): (bool, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    if !quiet {
        let _ = writeln!(io::stderr(), "{what}: {}", counts(surface));
    }
    print_files(files, surface, json, out)
}

fn print_files(files: &[PathBuf], surface: &Surface, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    if json {
        let line = serde_json::json!({ "type": "mesh", "files": files, "surface": surface });
        return writeln!(out, "{line}");
    }
    files.iter().try_for_each(|path| writeln!(out, "{path}"))
}

fn counts(surface: &Surface) -> String {
    format!(
        "{} vertices, {} triangles, {} pieces, {} open edges",
        surface.vertices, surface.triangles, surface.pieces, surface.open_edges
    )
}

/// A stage as a line of JSON.
pub(super) fn stage_line(row: &StageRow) -> serde_json::Value {
    let mut line = serde_json::json!(row);
    if let Some(fields) = line.as_object_mut() {
        fields.insert("type".to_owned(), "mesh_stage".into());
    }
    line
}

/// Prints what a mesh will take.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn print_outlook(outlook: &MeshOutlook, out: &mut dyn Write) -> io::Result<()> {
    let MeshOutlook {
        space,
        space_bricks: [x, y, z],
        sizes,
        budget,
    } = outlook;
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    writeln!(out, "space             {space}")?;
    writeln!(out, "  bricks          {x} x {y} x {z}, of 8 x 8 x 8 voxels")?;
    writeln!(out, "capacity")?;
    writeln!(out, "  Gaussians       {:>12}", sizes.gaussians)?;
    writeln!(out, "  visible records {:>12}", sizes.v_cap)?;
    writeln!(out, "  intersections   {:>12}", sizes.i_cap)?;
    writeln!(
        out,
        "  bricks          {:>12}  at once; more go by in slabs, and colours of vertices in their bytes",
        sizes.bricks
    )?;
    writeln!(out, "memory, MiB")?;
    writeln!(
        out,
        "  device total    {:>12.1}  ({} bytes)",
        mib(sizes.device_bytes),
        sizes.device_bytes
    )?;
    writeln!(out, "  host-visible    {:>12.1}", mib(sizes.host_bytes))?;
    writeln!(out, "  cap             {:>12.1}", mib(budget.cap_bytes))?;
    writeln!(
        out,
        "verdict: fits, {:.1} % of the cap",
        100.0 * sizes.device_bytes as f64 / budget.cap_bytes.max(1) as f64
    )
}

fn summary(report: &MeshReport) -> String {
    let slabs = match report.slabs {
        1 => String::new(),
        n => format!(" in {n} slabs"),
    };
    let from = match &report.poisson {
        Some(row) => match row.depth_around {
            Some(around) => format!(
                "{} points at Poisson depth {} in the box and {around} around it",
                row.points, row.depth
            ),
            None => format!("{} points at Poisson depth {}", row.points, row.depth),
        },
        None if report.settings.method == MeshMethod::Bound => "the mesh of the model".to_owned(),
        None => format!("{} bricks{slabs}", report.bricks),
    };
    let seconds: f64 = report.stages.iter().map(|row| row.seconds).sum();
    format!(
        "done: {}, from {from} and {} views in {seconds:.1} s",
        counts(&report.surface),
        report.views
    )
}

/// Seconds between lines where progress cannot be one line that changes.
const LINES_S: u64 = 10;

/// The progress line, and what each part took.
pub(super) struct Shown {
    on: bool,
    /// One line changes; else one comes every [`LINES_S`].
    changes: bool,
    /// There is one to end.
    open: bool,
    last: Instant,
}

impl Shown {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            on: !quiet,
            changes: io::stderr().is_terminal(),
            open: false,
            last: Instant::now(),
        }
    }

    pub(super) fn show(&mut self, MeshProgress { stage, done, total }: MeshProgress) {
        if !self.on || !(self.changes || self.last.elapsed().as_secs() >= LINES_S) {
            return;
        }
        let percent = 100.0 * f64::from(done) / f64::from(total.max(1));
        let (begin, end) = if self.changes { ("\r", "") } else { ("", "\n") };
        let _ = write!(io::stderr(), "{begin}{:<11} {percent:>5.1} %{end}", stage.name());
        self.open = self.changes;
        self.last = Instant::now();
    }

    /// Says what a part took, in the place of its progress.
    pub(super) fn took(&mut self, row: &StageRow) {
        if self.on {
            let begin = if std::mem::take(&mut self.open) { "\r" } else { "" };
            let _ = writeln!(io::stderr(), "{begin}{:<11} {:>7.1} s", row.stage.name(), row.seconds);
            self.last = Instant::now();
        }
    }

    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            let _ = writeln!(io::stderr());
        }
    }
}
