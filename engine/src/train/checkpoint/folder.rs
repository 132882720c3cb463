//! The `checkpoints/` folder: one file per checkpoint.
//!
//! Promises that a sound checkpoint is there at any moment once the first one was written: a new file gets its name when
//! it is durable, and only then do others go. Kept are the new one, the one before it, and those that `schedule.checkpoint` lists.
//! Later ones go too: they are of a past that the run went back from, or damaged, and would be taken for its present.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::file::{CheckpointError, CheckpointReader, CheckpointWriter, Held};
use crate::export::{AtomicFile, Disk, ExportError, write_atomic_on};

/// Set aside for names, digests and state.
const FOOTER_ROOM_BYTES: u64 = 1 << 16;

const PREFIX: &str = "checkpoint_";
const ENDING: &str = ".kiln";

/// Path of the checkpoint of an iteration.
#[must_use]
pub fn checkpoint_path(folder: &Path, iteration: u32) -> PathBuf {
    folder.join(format!("{PREFIX}{iteration:08}{ENDING}"))
}

/// The iteration of a checkpoint, by its name.
fn iteration_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix(PREFIX)?.strip_suffix(ENDING)?.parse().ok()
}

/// Iterations of checkpoints in `folder` that `schedule.checkpoint` lists, as far as files show: all but the newest two, which are
/// there anyhow.
#[must_use]
pub fn kept(folder: &Path) -> Vec<u32> {
    list(folder)
        .iter()
        .skip(2)
        .filter_map(|path| iteration_of(path))
        .collect()
}

/// Checkpoints in `folder`, newest first.
#[must_use]
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    sorted(entries.filter_map(|entry| Some(entry.ok()?.path())))
}

fn sorted(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<_> = paths.filter_map(|path| Some((iteration_of(&path)?, path))).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Writes the checkpoint of an iteration whose tensors have `bytes` bytes together, then removes those that are not
/// wanted any more: of earlier ones all but the last and those of the iterations `asked` for.
///
/// # Errors
/// [`ExportError`], `DiskFull` before a byte is written where the file system reports it; all other files are untouched.
pub(super) fn write<T: Serialize>(
    disk: Arc<dyn Disk>,
    (folder, asked): (&Path, &[u32]),
    iteration: u32,
    bytes: u64,
    state: &T,
    fill: impl FnOnce(&mut CheckpointWriter<io::BufWriter<&mut AtomicFile>>) -> io::Result<()>,
) -> Result<PathBuf, ExportError> {
    let path = checkpoint_path(folder, iteration);
    write_atomic_on(disk.clone(), &path, |file| {
        file.reserve(bytes + FOOTER_ROOM_BYTES)?;
        let mut writer = CheckpointWriter::new(io::BufWriter::with_capacity(1 << 20, file))?;
        fill(&mut writer)?;
        writer.finish(state)?.flush()
    })?;
    let names = disk.names(folder).unwrap_or_default();
    let found = sorted(names.into_iter());
    let before = found.iter().find(|path| iteration_of(path) < Some(iteration));
    let is_kept = |other: &PathBuf| {
        let asked = iteration_of(other).is_some_and(|of| of < iteration && asked.contains(&of));
        *other == path || Some(other) == before || asked
    };
    for other in found.iter().filter(|other| !is_kept(other)) {
        // One that stays is clutter, not an error.
        let _ = disk.remove(other);
    }
    Ok(path)
}

/// A sound checkpoint with its path, and what is wrong with newer ones.
pub(super) type Found<T> = ((PathBuf, CheckpointReader<T, File>), Vec<String>);

/// Opens the newest checkpoint in `folder` of which every byte is as it was written.
///
/// # Errors
/// [`CheckpointError::None`] for an empty folder, otherwise what is wrong with the oldest.
pub(super) fn newest_sound<T: DeserializeOwned + Held>(folder: &Path) -> Result<Found<T>, CheckpointError> {
    let mut passed = Vec::new();
    let mut last = None;
    for candidate in list(folder) {
        match CheckpointReader::open_sound(&candidate) {
            Ok(reader) => return Ok(((candidate, reader), passed)),
            Err(error) => {
                passed.push(error.to_string());
                last = Some(error);
            }
        }
    }
    Err(last.unwrap_or_else(|| CheckpointError::None(folder.to_owned())))
}
