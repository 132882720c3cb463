//! Pictures of evaluated views: made, encoded and written by a thread of their own.
//!
//! The training thread hands over what the device gave, and goes on. Two views wait at most; with a slow disk the
//! evaluation waits, memory does not grow.

use std::path::PathBuf;
use std::sync::Arc;

use super::evaluated_view::{EvaluatedView, PictureKind};
use super::run_folder::RunFolder;
use super::sinks::worker::Worker;
use crate::eval::{Picture, PictureError};
use crate::export::ExportError;

/// Views that wait for the writing thread.
const ROOM: usize = 2;

struct Job {
    view: Arc<EvaluatedView>,
    paths: [(PictureKind, PathBuf); 4],
    /// Where the photograph goes, when it is not there yet.
    photo: Option<PathBuf>,
}

/// Writes pictures into the folder of a run. Its thread starts with the first view.
#[derive(Default)]
pub(crate) struct PictureWriter(Option<Worker<Job>>);

impl PictureWriter {
    /// Hands over a view; gives its number, from 1.
    ///
    /// # Errors
    /// What kept an earlier picture from being written; [`ExportError`] when the system has no thread to give.
    pub(crate) fn give(&mut self, folder: &RunFolder, view: Arc<EvaluatedView>) -> Result<u64, ExportError> {
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
    pub(crate) fn done(&self) -> Result<u64, ExportError> {
        self.0.as_ref().map_or(Ok(0), Worker::done)
    }

    /// Waits for all of them.
    ///
    /// # Errors
    /// What kept a picture from being written.
    pub(crate) fn wait(&self) -> Result<(), ExportError> {
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
    use crate::record::run_folder::{Existing, MadeBy, NewRun, RunScene};
    use kiln_scene::{Photo, Split};
    use kiln_scratch::Scratch;

    fn folder(scratch: &Scratch) -> RunFolder {
        let scene = RunScene {
            name: "scene".to_owned(),
            path: "scene".to_owned(),
            fingerprint: "0".repeat(16),
            train_views: 1,
            test_views: 1,
            origin: None,
        };
        let run = NewRun {
            name: "run".to_owned(),
            scene,
            iterations: 1,
            started_unix_s: 0,
            made_by: MadeBy::default(),
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
