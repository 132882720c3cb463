//! What maps of training photos have in common, whatever they say of a pixel: which files they are, how they lie over their photos,
//! and how far they are trusted.
//!
//! A map lies over the stored picture of its photo, whatever its own size: it is turned and undistorted with it, and a pixel takes the
//! nearest value. A `NAME.confidence.png` beside a map weighs its pixels.

mod file;
mod npy;

use std::path::{Path, PathBuf};

pub(super) use file::{Numbers, numbers};

use super::SceneError;
use super::error::listed;
use super::fence::Fence;
use super::photos::pixels;
use super::photos::upright::Upright;
use super::view::{MaskFile, View, without_extension};

/// Endings of maps, in the order they are looked for.
const ENDINGS: [&str; 5] = ["png", "exr", "npy", "tif", "tiff"];
/// Threads that read.
const THREADS: usize = 8;

/// What maps say of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Its depth.
    Depth,
    /// The normal of what it shows.
    Normal,
}

impl MapKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Normal => "normal",
        }
    }

    /// The key that names the folder.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Depth => "dataset.depths",
            Self::Normal => "dataset.normals",
        }
    }

    /// Numbers of a pixel.
    const fn channels(self) -> u32 {
        match self {
            Self::Depth => 1,
            Self::Normal => 3,
        }
    }

    /// Bytes of a map's pixel while it is decoded: file, decoder and numbers.
    pub(super) const fn working_bytes_per_pixel(self) -> u64 {
        match self {
            Self::Depth => 28,
            Self::Normal => 60,
        }
    }

    /// The error of a file that cannot be used.
    pub(super) fn unusable(self, path: &Path, detail: String) -> SceneError {
        SceneError::Map {
            kind: self,
            path: path.to_owned(),
            detail,
        }
    }
}

/// The files of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapFile {
    /// The map, and its width and height, pixels.
    pub file: MaskFile,
    /// How far each of its pixels is trusted: 255 wholly, 0 not at all.
    pub confidence: Option<MaskFile>,
}

impl MapFile {
    /// What there is for the map in `path`.
    pub(super) fn open(kind: MapKind, path: &Path, fence: &Fence) -> Result<Self, SceneError> {
        let of = |path: &Path| {
            file::size(kind, path, fence).map(|size_px| MaskFile {
                path: path.to_owned(),
                size_px,
            })
        };
        let confidence = path.with_extension("confidence.png");
        Ok(Self {
            file: of(path)?,
            confidence: confidence.is_file().then(|| of(&confidence)).transpose()?,
        })
    }

    /// How far each pixel of a photo at training resolution is trusted; none where all are wholly.
    pub(super) fn trust(&self, over: &Over<'_>) -> Result<Option<Vec<u8>>, SceneError> {
        let Some(file) = &self.confidence else {
            return Ok(None);
        };
        let trust = pixels::decode(&file.path, file.size_px)?.into_luma8().into_raw();
        Ok(Some(over.lay(trust, file.size_px)))
    }
}

/// A photo that maps are laid over.
pub(super) struct Over<'a> {
    /// What is done to its stored picture.
    pub(super) upright: &'a Upright,
    /// Width and height before it is resized, pixels.
    pub(super) source_px: (u32, u32),
    /// And at training resolution.
    pub(super) size_px: (u32, u32),
}

impl<'a> Over<'a> {
    /// The photo of a view.
    pub(super) fn view(view: &'a View) -> Self {
        Self {
            upright: &view.upright,
            source_px: (view.source_width, view.source_height),
            size_px: (view.camera.width_px, view.camera.height_px),
        }
    }

    /// For each pixel at training resolution the nearest value of a plane over the stored picture.
    pub(super) fn lay<T: Copy + Default>(&self, plane: Vec<T>, plane_px: (u32, u32)) -> Vec<T> {
        let stored = self.upright.file_px;
        let ratio = |a: u32, b: u32| f64::from(a) / f64::from(b);
        let step = [
            ratio(self.source_px.0, self.size_px.0),
            ratio(self.source_px.1, self.size_px.1),
        ];
        let scale = [ratio(plane_px.0, stored.0), ratio(plane_px.1, stored.1)];
        let at = |place: f64, side: u32| (place.max(0.0) as u32).min(side.saturating_sub(1)) as usize;
        let mut out = Vec::with_capacity(self.size_px.0 as usize * self.size_px.1 as usize);
        for y in 0..self.size_px.1 {
            for x in 0..self.size_px.0 {
                let place = [(f64::from(x) + 0.5) * step[0], (f64::from(y) + 0.5) * step[1]];
                let [column, row] = self.upright.stored_place(place);
                let index = at(row * scale[1], plane_px.1) * plane_px.0 as usize + at(column * scale[0], plane_px.0);
                out.push(plane.get(index).copied().unwrap_or_default());
            }
        }
        out
    }
}

/// Finds the maps of training views in `folder` and makes something of each with `one`, which is told the view's number. Maps that it
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
                        .map(|(_, path)| Err(kind.unusable(path, "its decoder failed".to_owned())))
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
        return Err(kind.unusable(folder, detail));
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
