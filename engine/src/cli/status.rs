//! `kiln status`: how far the blocks of a project are.

use std::io::{self, Write};

use super::exit::unprinted;
use super::request::Status;
use super::{Exit, Failure};
use crate::project::{BlockState, BlockStatus, ProjectFolder, ProjectStatus, project_status};
use kiln_gpu::memory::MIB;

/// Views without a block that are named.
const SHOWN: usize = 8;

/// Looks at a project and prints to `out`.
///
/// # Errors
/// When there is no project, or something in it is not as it was split.
pub fn run(request: &Status, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let project = ProjectFolder::open(&request.project)?;
    let status = project_status(&project)?;
    let printed = match request.json {
        true => serde_json::to_writer_pretty(&mut *out, &status)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        false => print(&status, out),
    };
    printed.map_err(unprinted)?;
    Ok(Exit::Ok)
}

fn print(status: &ProjectStatus, out: &mut dyn Write) -> io::Result<()> {
    // Blocks that were cut have longer names than others.
    let width = status.blocks.iter().map(|block| block.name.len()).max().unwrap_or(0);
    for block in &status.blocks {
        let BlockStatus { name, views, .. } = block;
        let mib = block.device_bytes / MIB;
        writeln!(
            out,
            "{name:<width$}  {:<38}{views:>6} views {mib:>7} MiB planned",
            state(block)
        )?;
        if let Some(message) = &block.message {
            writeln!(out, "{:width$}  {message}", "")?;
        }
    }
    let count = |state| status.blocks.iter().filter(|block| block.state == state).count();
    let all = status.blocks.len();
    writeln!(
        out,
        "{} of {all} blocks done, {} running, {} stopped, {} failed, {} waiting",
        count(BlockState::Done),
        count(BlockState::Running),
        count(BlockState::Stopped),
        count(BlockState::Failed),
        count(BlockState::Waiting)
    )?;
    writeln!(
        out,
        "{} training views are used {:.1} times on average{}",
        status.views,
        status.views_used,
        status
            .largest
            .as_ref()
            .map_or_else(String::new, |name| format!("; {name} takes most memory"))
    )?;
    let without = &status.views_without_block;
    if !without.is_empty() {
        let shown = without.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        writeln!(out, "{} views are in no block: {shown}", without.len())?;
    }
    Ok(())
}

/// Where a block stands, in few words.
fn state(block: &BlockStatus) -> String {
    let of = match block.iterations {
        Some(all) => format!("{} of {all}", block.iteration),
        None => String::new(),
    };
    match block.state {
        BlockState::Waiting => "waiting".to_owned(),
        BlockState::Running => match (block.its, block.eta_s) {
            (Some(its), Some(eta)) => format!("running  {of}, {its:.0} it/s, {:.0} min left", eta / 60.0),
            _ => format!("running  {of}"),
        },
        BlockState::Stopped => format!("stopped  {of}"),
        BlockState::Failed => format!("failed   {of}"),
        BlockState::Done => match (block.gaussians, block.test_psnr) {
            (Some(count), Some(psnr)) => format!("done     {count} Gaussians, {psnr:.2} dB"),
            (Some(count), None) => format!("done     {count} Gaussians"),
            _ => "done".to_owned(),
        },
        BlockState::Damaged => "damaged".to_owned(),
    }
}
