//! `kiln export`: a model in a format for viewers.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::exit::{interrupted, unprinted};
use super::listener::Listener;
use super::request::Export;
use super::{Exit, Failure, UsageError};
use crate::export::{Chosen, Delivered, Format, ModelFile, PlyParts, Stop, deliver, deliver_levels, read_model_file};
use crate::jobs::named::is_of_triangles;
use crate::jobs::stored::{is_project, merged};
use crate::jobs::{Purpose, located};
use crate::run::RunError;
use crate::run::interrupt::Interrupt;
use kiln_config::plugins::Subset;

/// Writes the file and prints its path to `out`.
///
/// # Errors
/// Anything that keeps the file from being written; the caller prints it.
pub fn run(request: &Export, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let model_path = if is_project(&request.target, request.iteration) {
        let mut listener = Listener::new(request.quiet);
        merged(&request.target, &mut |news| listener.hear(&news))?.1
    } else {
        located(Purpose::Export, &request.target, request.iteration)?.ply
    };
    let model_path = model_path.as_path();
    if let Some(error) = is_of_triangles(model_path, &request.target) {
        return Err(error.into());
    }
    let output = match &request.output {
        Some(path) => path.clone(),
        None => beside(model_path, request.format),
    };
    // Only a path that is there can be the model.
    if output
        .canonicalize()
        .ok()
        .zip(model_path.canonicalize().ok())
        .is_some_and(|(a, b)| a == b)
    {
        let shown = output.display().to_string();
        return Err(UsageError::OverTheModel { shown }.into());
    }
    let interrupt = Interrupt::install().unwrap_or_else(|_| Interrupt::unattached());
    let stop = || interrupt.signal().is_some();
    let (delivered, all, notes) = match (
        delivered(model_path, &output, request, (&interrupt, Stop::new(&stop))),
        interrupt.signal(),
    ) {
        (Ok(delivered), _) => delivered,
        (Err(error), Some(signal)) if error.exit() == Exit::Interrupted => return Ok(interrupted(signal)),
        (Err(error), _) => return Err(error),
    };
    writeln!(out, "{}", output.display()).map_err(unprinted)?;
    // Messages are for people; the file is written whether anybody reads them or not.
    let mut messages = io::stderr();
    for note in notes {
        let _ = writeln!(messages, "warning: {}: {note}", model_path.display());
    }
    if !request.quiet {
        let bytes = bytes_of(&output);
        let _ = writeln!(
            messages,
            "{} of {} Gaussians of {}, SH degree {}, {:.1} MB",
            delivered.gaussians,
            all,
            model_path.display(),
            delivered.sh_degree,
            bytes as f64 / 1e6
        );
        if !delivered.levels.is_empty() {
            let levels: Vec<String> = delivered.levels.iter().map(u64::to_string).collect();
            let _ = writeln!(messages, "{} levels of {} Gaussians", levels.len(), levels.join(", "));
        }
    }
    if let Some(cut) = delivered.cut.describe() {
        let _ = writeln!(
            messages,
            "warning: {cut} Gaussians lie beyond what the format holds, and are written as its ends; SOG, GLB and PLY hold them"
        );
    }
    if let (true, Some([step, typical])) = (delivered.is_coarse(), delivered.position_step) {
        let part = if request.format == Format::Tiles {
            "in a part of it "
        } else {
            ""
        };
        let _ = writeln!(
            messages,
            "warning: {part}positions are rounded to {step} and half of the Gaussians are smaller than {typical:.2e}, because \
             some lie far away; `--crop` leaves those out"
        );
    }
    Ok(Exit::Ok)
}

/// Writes the output, and gives what was written, how many Gaussians the model has, and what there is to say of its file.
fn delivered(
    model: &Path,
    output: &Path,
    request: &Export,
    (interrupt, stop): (&Interrupt, Stop<'_>),
) -> Result<(Delivered, usize, Vec<String>), Box<dyn Failure>> {
    let (format, subset) = (request.format, &request.subset);
    // the strongest are known only when all have been seen, and other files than PLY are not read in parts
    if format.has_levels()
        && subset.max_splats.is_none()
        && let Ok(mut parts) = PlyParts::open(model)
    {
        let notes = parts.look_through().map_err(RunError::from)?;
        interrupt.set_heard(true);
        let delivered = deliver_levels(output, &mut parts, subset, format, stop)?;
        return Ok((delivered, parts.len(), notes.lines()));
    }
    let read = read_model_file(model).map_err(RunError::from)?;
    let ModelFile { model, comments, notes } = read;
    // Reading asks nobody; until here a signal ends the program at once, and nothing is there yet.
    interrupt.set_heard(true);
    let subset = Subset {
        origin: comments.origin.unwrap_or_default(),
        ..*subset
    };
    let chosen = Chosen::new(&model, &subset)?.until(stop);
    let delivered = deliver(output, chosen, format, comments)?;
    Ok((delivered, model.len(), notes.lines()))
}

/// Bytes of a file, or of the files of a folder.
fn bytes_of(path: &Path) -> u64 {
    let below = std::fs::read_dir(path).map(|entries| entries.flatten().map(|entry| bytes_of(&entry.path())).sum());
    below.unwrap_or_else(|_| std::fs::metadata(path).map_or(0, |found| found.len()))
}

/// The file beside a model: `point_cloud.spz` in a run, the same stem otherwise.
fn beside(model: &Path, format: Format) -> PathBuf {
    let stem = model.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem
        .strip_suffix("_raw")
        .filter(|stem| *stem == "point_cloud")
        .unwrap_or(&stem);
    model.with_file_name(format!("{stem}.{}", format.ending()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::SpzVersion;

    #[test]
    fn files_go_beside_the_model() {
        let of = |model: &str, format| beside(Path::new(model), format);
        assert_eq!(
            of("run/point_cloud/iteration_7/point_cloud_raw.ply", Format::Glb),
            Path::new("run/point_cloud/iteration_7/point_cloud.glb")
        );
        assert_eq!(
            of("a/my_raw.ply", Format::Spz(SpzVersion::V4)),
            Path::new("a/my_raw.spz")
        );
        assert_eq!(of("my.ply", Format::CompressedPly), Path::new("my.compressed.ply"));
    }
}
