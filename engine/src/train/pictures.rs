//! Pictures of evaluated views: made, encoded and written by a thread of their own.
//!
//! The training thread hands over what the device gave, and goes on. Two views wait at most; with a slow disk the
//! evaluation waits, memory does not grow.

use std::path::PathBuf;
use std::sync::Arc;

use super::run_folder::RunFolder;
use super::sinks::Worker;
use crate::eval::{Picture, PictureError};
use crate::export::ExportError;
use crate::scene::{Photo, Split};

/// Views that wait for the writing thread.
const ROOM: usize = 2;

/// Pictures of an evaluated view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// [`Picture::rendering`]
    Render,
    /// [`Picture::error`]
    Error,
    /// [`Picture::density`]
    Density,
    /// [`Picture::density_proxy`]
    DensityProxy,
}

impl PictureKind {
    /// All, in the order they are written.
    pub const ALL: [Self; 4] = [Self::Render, Self::Error, Self::Density, Self::DensityProxy];

    /// The folder's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Error => "error",
            Self::Density => "density",
            Self::DensityProxy => "density_proxy",
        }
    }
}

/// A rendered view with its photograph: all that pictures are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedView {
    /// Iterations done.
    pub it: u32,
    /// Set of the view.
    pub set: Split,
    /// Name of the view without its extension.
    pub stem: String,
    /// Width and height, pixels.
    pub size_px: [u32; 2],
    /// Colour and transmittance of each pixel.
    pub image: Vec<[f32; 4]>,
    /// The photograph.
    pub photo: Photo,
    /// Gaussians that touch each tile.
    pub tile_counts: Vec<u32>,
}

impl EvaluatedView {
    /// Makes a picture of this view.
    ///
    /// # Errors
    /// [`PictureError`] when the pixels do not fit the view's size.
    pub fn picture(&self, kind: PictureKind) -> Result<Picture, PictureError> {
        let values: &[f32] = bytemuck::cast_slice(&self.image);
        match kind {
            PictureKind::Render => Picture::rendering(self.size_px, values, 4),
            PictureKind::Error => match masked_pair(&self.image, &self.photo) {
                Some((image, photo)) => Picture::error(self.size_px, bytemuck::cast_slice(&image), 4, &photo),
                None => Picture::error(self.size_px, values, 4, &self.photo),
            },
            PictureKind::Density => Picture::density(self.size_px, &self.tile_counts),
            PictureKind::DensityProxy => Picture::density_proxy(self.size_px, values, 4),
        }
    }

    /// The photograph as a picture.
    ///
    /// # Errors
    /// [`PictureError`] when the pixels do not fit the view's size.
    pub fn photograph(&self) -> Result<Picture, PictureError> {
        Picture::photo(self.size_px, &self.photo)
    }
}

/// Rendering and photo as perceptual distance and error see them: black where the photo's mask hides a pixel. `None`
/// without a mask.
pub(super) fn masked_pair(image: &[[f32; 4]], photo: &Photo) -> Option<(Vec<[f32; 4]>, Vec<u8>)> {
    let mask = photo.mask()?;
    let counts = || mask.iter().map(|value| *value != 0);
    let image = image.iter().zip(counts());
    let image = image.map(|(pixel, counts)| if counts { *pixel } else { [0.0; 4] });
    let photo = photo.chunks_exact(3).zip(counts());
    let photo = photo.flat_map(|(pixel, counts)| pixel.iter().map(move |value| if counts { *value } else { 0 }));
    Some((image.collect(), photo.collect()))
}

struct Job {
    view: Arc<EvaluatedView>,
    paths: [(PictureKind, PathBuf); 4],
    /// Where the photograph goes, when it is not there yet.
    photo: Option<PathBuf>,
}

/// Writes pictures into the folder of a run. Its thread starts with the first view.
#[derive(Default)]
pub(super) struct PictureWriter(Option<Worker<Job>>);

impl PictureWriter {
    /// Hands over a view; gives its number, from 1.
    ///
    /// # Errors
    /// What kept an earlier picture from being written; [`ExportError`] when the system has no thread to give.
    pub(super) fn give(&mut self, folder: &RunFolder, view: Arc<EvaluatedView>) -> Result<u64, ExportError> {
        let paths = PictureKind::ALL.map(|kind| (kind, folder.picture_path(view.it, kind, view.set, &view.stem)));
        let photo = Some(folder.photo_path(view.set, &view.stem)).filter(|path| !path.exists());
        let worker = match &mut self.0 {
            Some(worker) => worker,
            none => none.insert(Worker::start("pictures", folder.root(), ROOM, write)?),
        };
        worker.give(Job { view, paths, photo })
    }

    /// Views whose pictures are all there.
    ///
    /// # Errors
    /// What kept a picture from being written.
    pub(super) fn done(&self) -> Result<u64, ExportError> {
        self.0.as_ref().map_or(Ok(0), Worker::done)
    }

    /// Waits for all of them.
    ///
    /// # Errors
    /// What kept a picture from being written.
    pub(super) fn wait(&self) -> Result<(), ExportError> {
        self.0.as_ref().map_or(Ok(()), Worker::wait)
    }
}

fn write(job: Job) -> Result<(), ExportError> {
    let Job { view, paths, photo } = job;
    let put = |path: &PathBuf, picture: Result<Picture, PictureError>| {
        picture
            .map_err(|error| ExportError::new(path, std::io::Error::other(error)))?
            .write(path)
    };
    for (kind, path) in &paths {
        put(path, view.picture(*kind))?;
    }
    match &photo {
        Some(path) => put(path, view.photograph()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;
    use crate::train::run_folder::{Existing, NewRun, RunScene};

    fn folder(scratch: &Scratch) -> RunFolder {
        let scene = RunScene {
            name: "scene".to_owned(),
            path: "scene".to_owned(),
            fingerprint: "0".repeat(16),
            train_views: 1,
            test_views: 1,
        };
        let run = NewRun {
            name: "run".to_owned(),
            scene,
            iterations: 1,
            started_unix_s: 0,
        };
        RunFolder::create(&scratch.path().join("run"), Existing::Refuse, run).unwrap()
    }

    fn view(it: u32, photo: u8) -> Arc<EvaluatedView> {
        Arc::new(EvaluatedView {
            it,
            set: Split::Test,
            stem: "view".to_owned(),
            size_px: [2, 1],
            image: vec![[0.0, 0.5, 1.0, 0.25]; 2],
            photo: Photo::new(vec![photo; 6], None),
            tile_counts: vec![1],
        })
    }

    #[test]
    fn pictures_appear_where_they_belong_and_photographs_once() {
        let scratch = Scratch::new();
        let folder = folder(&scratch);
        let mut writer = PictureWriter::default();
        for (it, photo) in [(7, 10), (8, 20)] {
            let number = writer.give(&folder, view(it, photo)).unwrap();
            writer.wait().unwrap();
            assert_eq!(writer.done().unwrap(), number);
        }
        let pixel = |path: &str| {
            let image = image::open(folder.root().join(path)).unwrap().to_rgb8();
            assert_eq!(image.dimensions(), (2, 1));
            image.get_pixel(1, 0).0
        };
        assert_eq!(pixel("eval/iteration_7/render/test/view.png"), [0, 128, 255]);
        assert_eq!(pixel("eval/iteration_8/density_proxy/test/view.png"), [255, 0, 0]);
        for kind in ["error", "density"] {
            pixel(&format!("eval/iteration_7/{kind}/test/view.png"));
        }
        assert_eq!(pixel("eval/gt/test/view.png"), [10; 3]);
    }

    #[test]
    fn the_error_is_none_where_a_mask_hides_the_photograph() {
        let mut shown = EvaluatedView::clone(&view(7, 0));
        let error = |view: &EvaluatedView| {
            let scratch = Scratch::new();
            let path = scratch.path().join("error.png");
            view.picture(PictureKind::Error).unwrap().write(&path).unwrap();
            image::open(path).unwrap().to_rgb8()
        };
        let whole = error(&shown);
        assert_eq!(whole.get_pixel(0, 0), whole.get_pixel(1, 0));
        shown.photo = Photo::new(vec![0; 6], Some(&[255, 0]));
        let masked = error(&shown);
        assert_eq!(masked.get_pixel(0, 0), whole.get_pixel(0, 0));
        let same = Arc::new(EvaluatedView {
            image: vec![[0.0; 4]; 2],
            ..shown
        });
        assert_eq!(masked.get_pixel(1, 0), error(&same).get_pixel(1, 0));
        assert_ne!(masked.get_pixel(1, 0), whole.get_pixel(1, 0));
    }

    #[test]
    fn a_picture_that_cannot_be_written_is_an_error_with_its_path() {
        let scratch = Scratch::new();
        let folder = folder(&scratch);
        std::fs::write(folder.root().join("eval"), "in the way").unwrap();
        let mut writer = PictureWriter::default();
        writer.give(&folder, view(7, 0)).unwrap();
        let error = writer.wait().unwrap_err();
        assert!(error.to_string().contains("render"), "{error}");
        assert!(writer.done().is_err());
    }
}
