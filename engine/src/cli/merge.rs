//! `kiln merge`: the trained blocks of a project as one model.

use std::io::{self, Write};

use super::exit::{interrupted, unprinted};
use super::request::Merge;
use super::{Exit, Failure};
use crate::project::{MergeReport, MergedBorder, ProjectError, ProjectFolder, merge};
use crate::record::words::count;
use crate::run::interrupt::Interrupt;

/// Densities on two sides of a border that differ by this factor are reported.
const ODD_FACTOR: f64 = 2.0;

/// Merges and prints the path of the model to `out`.
///
/// # Errors
/// Anything that keeps the model from being written; the caller prints it.
pub fn run(request: &Merge, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let project = ProjectFolder::open(&request.project)?;
    let interrupt = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
    interrupt.set_heard(true);
    let stop = || interrupt.signal().is_some();
    let report = match (merge(&project, &request.request, &stop), interrupt.signal()) {
        (Ok(report), _) => report,
        (Err(ProjectError::Merge(_)), Some(signal)) => return Ok(interrupted(signal)),
        (Err(error), _) => return Err(error.into()),
    };
    let printed = match request.json {
        true => serde_json::to_writer_pretty(&mut *out, &report.index)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        false => writeln!(out, "{}", report.output.display()),
    };
    printed.map_err(unprinted)?;
    if !request.quiet {
        let _ = tell(&report, &mut io::stderr());
    }
    Ok(Exit::Ok)
}

fn tell(report: &MergeReport, out: &mut dyn Write) -> io::Result<()> {
    let index = &report.index;
    let trained: u64 = index.blocks.iter().map(|block| block.trained).sum();
    writeln!(
        out,
        "{} of {trained} Gaussians of {} lie in the cores, {:.1} MB in {}{}",
        index.gaussians,
        count(index.blocks.len(), "block"),
        index.bytes as f64 / 1e6,
        count(index.chunks.len(), "chunk"),
        if report.was_there { "; it was there already" } else { "" }
    )?;
    for border in index.borders.iter().filter(|border| is_odd(border)) {
        let [low, high] = &border.blocks;
        writeln!(
            out,
            "warning: {:.0} Gaussians a square unit in {low} and {:.0} in {high} where they touch ({} shared views)",
            border.density[0], border.density[1], border.shared_views
        )?;
    }
    Ok(())
}

fn is_odd(border: &MergedBorder) -> bool {
    let [a, b] = border.density;
    a.max(b) > ODD_FACTOR * a.min(b)
}
