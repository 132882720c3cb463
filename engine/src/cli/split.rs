//! `kiln split`: a scene in blocks that each fit a named memory profile, or a block in two.

use std::io::{self, Write};

use super::exit::unprinted;
use super::listener::Listener;
use super::request::SplitScene;
use super::{Exit, Failure};
use crate::jobs::{self, Outline, SplitEnd};
use crate::project::{BlockFolder, PlanRecord, ProjectFolder};
use crate::record::words::count;
use kiln_gpu::memory::MIB;

/// Splits and prints to `out`.
///
/// # Errors
/// Whatever keeps the scene from being split; the caller prints it.
pub fn run(request: &SplitScene, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let SplitScene { job, json } = request;
    let mut listener = Listener::new(false);
    match jobs::split(job, &mut |news| listener.hear(&news))? {
        SplitEnd::Outline(outline) => print_outline(&outline, *json, out).map_err(unprinted)?,
        SplitEnd::Split(project) => print(&project, None, *json, out)?,
        SplitEnd::Cut(project, parts) => print(&project, Some(&parts), *json, out)?,
    }
    Ok(Exit::Ok)
}

/// Prints the project: as JSON its index, else a line for each of its blocks, or for each that is named in `only`. Others are
/// not opened: a copy of the project need not have them.
fn print(
    project: &ProjectFolder,
    only: Option<&[String]>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Failure>> {
    if json {
        let written = serde_json::to_writer_pretty(&mut *out, &project.record).map_err(io::Error::from);
        return written
            .and_then(|()| writeln!(out))
            .map_err(|error| unprinted(error).into());
    }
    let blocks = match only {
        Some(names) => names.iter().map(|name| project.block(name)).collect(),
        None => project.blocks(),
    };
    let blocks: Vec<BlockFolder> = blocks?;
    let record = &project.record;
    let mut lines = vec![format!(
        "{}: {} for {} Gaussians; views are used {:.1} times on average",
        project.root.display(),
        count(record.blocks.len(), "block"),
        record.gaussians,
        record.views_used
    )];
    for block in &blocks {
        lines.push(format!(
            "{}  {:>6} views {:>10} Gaussians, {}",
            block.record.name,
            block.record.train_views.len(),
            block.record.demand,
            in_words(&block.record.planned)
        ));
    }
    writeln!(out, "{}", lines.join("\n")).map_err(|error| unprinted(error).into())
}

/// Prints it for people, or for programs.
fn print_outline(outline: &Outline, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, outline)?;
        return writeln!(out);
    }
    writeln!(
        out,
        "{} for {} Gaussians; views are used {:.1} times on average",
        count(outline.blocks.len(), "block"),
        outline.gaussians,
        outline.views_used
    )?;
    for block in &outline.blocks {
        writeln!(
            out,
            "{}  {:>6} views {:>10} Gaussians, {:>10.0} with the margin of {:.3}, {}",
            block.name,
            block.train_views.len(),
            block.demand,
            block.wide_demand,
            block.margin,
            in_words(&block.planned)
        )?;
    }
    Ok(())
}

/// A block's plan: a run takes what is planned, and more where its card has more room than the demand asks for.
fn in_words(planned: &PlanRecord) -> String {
    format!(
        "its run has room for {} and takes {:.1} MiB of a cap of {:.1} MiB",
        planned.gaussians,
        planned.device_bytes as f64 / MIB as f64,
        planned.cap_bytes as f64 / MIB as f64
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::jobs::OutlinedBlock;

    #[test]
    fn people_and_programs_read_the_same() {
        let outline = Outline {
            gaussians: 1000,
            views_used: 1.25,
            blocks: vec![OutlinedBlock {
                name: "b0000".to_owned(),
                train_views: vec!["a.jpg".to_owned()],
                test_views: Vec::new(),
                demand: 1000,
                wide_demand: 1200.4,
                margin: 0.5,
                planned: PlanRecord {
                    gaussians: 5000,
                    device_bytes: 60 * MIB,
                    cap_bytes: 7168 * MIB,
                },
            }],
        };
        let printed = |json| {
            let mut out = Vec::new();
            print_outline(&outline, json, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            printed(false),
            "1 block for 1000 Gaussians; views are used 1.2 times on average\n\
             b0000       1 views       1000 Gaussians,       1200 with the margin of 0.500, its run has room for 5000 and \
             takes 60.0 MiB of a cap of 7168.0 MiB\n"
        );
        let json: serde_json::Value = serde_json::from_str(&printed(true)).unwrap();
        assert_eq!(json["blocks"][0]["planned"]["gaussians"], 5000);
        assert_eq!(json["blocks"][0]["train_views"][0], "a.jpg");
    }
}
