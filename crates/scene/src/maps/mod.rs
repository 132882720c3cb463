//! What maps of training photos have in common, whatever they say of a pixel: which files they are, how they lie over their photos,
//! and how far they are trusted.
//!
//! A map lies over the stored picture of its photo, whatever its own size: it is turned and undistorted with it, and a pixel takes the
//! nearest value. A `NAME.confidence.png` beside a map weighs its pixels.

mod file;
mod files;
mod kind;
#[cfg(test)]
pub(super) mod made;
mod npy;
mod over;

use std::path::{Path, PathBuf};

pub(super) use file::{Numbers, numbers};
pub use files::{MapFile, SizedFile};
pub use kind::MapKind;
pub(super) use over::Over;

use super::SceneError;
use super::error::listed;
use super::view::{View, without_extension};

/// Endings of maps, in the order they are looked for.
const ENDINGS: [&str; 5] = ["png", "exr", "npy", "tif", "tiff"];
/// Threads that read.
const THREADS: usize = 8;

/// The photo of a view, for maps to be laid over.
pub(super) fn over(view: &View) -> Over<'_> {
    Over {
        upright: &view.upright,
        source_px: (view.source_width, view.source_height),
        size_px: (view.camera.width_px, view.camera.height_px),
    }
}

/// Finds the maps of training views in `folder` and makes something of each with `one`, which takes the view's number. Maps that it
/// refuses are left out and named among `warnings`; the others come with the numbers of their views, and there is at least one.
///
/// # Errors
/// [`SceneError`] when there is no map of any photo, none can be used, or a link leads out of the fence.
pub(super) fn read<T: Send>(
    kind: MapKind,
    train: &[View],
    folder: &Path,
    warnings: &mut Vec<String>,
    one: impl Fn(usize, &Path) -> Result<T, SceneError> + Sync,
) -> Result<Vec<(usize, T)>, SceneError> {
    let found: Vec<(usize, PathBuf)> = train
        .iter()
        .enumerate()
        .filter_map(|(at, view)| Some((at, candidates(view, folder).find(|path| path.is_file())?)))
        .collect();
    if found.is_empty() {
        let name = train.first().map_or("PHOTO", |view| without_extension(&view.name));
        let looked_for = ENDINGS.map(|ending| format!("{name}.{ending}")).join(", ");
        return Err(SceneError::NoMaps {
            kind,
            images: train.len(),
            looked_for,
            folder: folder.to_owned(),
        });
    }
    let made: Vec<Result<T, SceneError>> = {
        let view_of = |(at, path): &(usize, PathBuf)| one(*at, path);
        let share = found.len().div_ceil(THREADS).max(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = found
                .chunks(share)
                .map(|part| (part, scope.spawn(move || part.iter().map(view_of).collect::<Vec<_>>())))
                .collect();
            let joined = threads.into_iter().flat_map(|(part, thread)| {
                let none = || {
                    part.iter()
                        .map(|(_, path)| Err(SceneError::map(kind, path, "its decoder failed".to_owned())))
                        .collect()
                };
                thread.join().unwrap_or_else(|_| none())
            });
            joined.collect()
        })
    };
    let (files, mut maps, mut left_out) = (found.len(), Vec::new(), Vec::new());
    for ((at, _), map) in found.into_iter().zip(made) {
        match map {
            Ok(map) => maps.push((at, map)),
            Err(error @ SceneError::LinkOut { .. }) => return Err(error),
            Err(error) => left_out.push(format!("{} ({})", train[at].name, error.short())),
        }
    }
    if maps.is_empty() {
        let detail = format!("none of {files} maps can be used: {}", listed(&left_out));
        return Err(SceneError::map(kind, folder, detail));
    }
    if !left_out.is_empty() {
        warnings.push(format!(
            "{} of {files} {} maps are left out: {}",
            left_out.len(),
            kind.name(),
            listed(&left_out)
        ));
    }
    Ok(maps)
}

/// Files that may be the map of a view, in the order they are tried: in a tree that mirrors the photos', then by their own names.
fn candidates<'a>(view: &'a View, folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let whole = without_extension(&view.name);
    let own = whole.rsplit('/').next().unwrap_or(whole);
    [whole, own]
        .into_iter()
        .flat_map(move |stem| ENDINGS.map(|ending| folder.join(format!("{stem}.{ending}"))))
}

#[cfg(test)]
pub(super) use npy::tests::file as npy_file;
