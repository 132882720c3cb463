//! Reading a data set of any kind.
//!
//! Owns the detection of the kind, the pairing of poses with image files, the choice of the image folder, order and
//! split. Images that are listed but not there are left out and counted, and so are those that cannot be decoded; when none is left, that is
//! an error.

mod far;
mod files;
mod index;
mod notices;
mod photos;
mod sets;
mod transparency;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sets::hold_out_named;

use super::camera_use::CameraUse;
use super::fence::Fence;
use super::formats::lens::Lens;
use super::formats::posed::PosedImage;
use super::formats::transforms::{self, Frames};
use super::formats::{colmap, multiscale, points_ply, unknown};
use super::index::SceneIndex;
use super::options::{AlphaChoice, HoldOut, SceneKind, SceneOptions};
use super::photos::upright::Planner;
use super::view::Alpha;
use super::{Point, Resolution, SceneError, WidePoint, origin};

/// Reads the data set in `root`.
pub(super) fn load(root: &Path, options: &SceneOptions) -> Result<SceneIndex, SceneError> {
    let found = detect(root)?;
    let fence = match options.follow_links {
        true => Fence::open(),
        false => Fence::around(root)?,
    };
    let mut loader = Loader {
        root,
        options,
        fence,
        planner: Planner::new(options.undistort),
        resolution: options.resolution,
        origin: [0.0; 3],
        missing: Vec::new(),
        undecodable: Vec::new(),
        strays: Vec::new(),
        cameras: Vec::new(),
        masks: BTreeMap::new(),
        transparent: Vec::new(),
        warnings: Vec::new(),
        notices: Vec::new(),
    };
    loader.notices.extend(others_notice(root, &found));
    match found {
        Found::Colmap(folder, notice) => loader.colmap(&folder, notice),
        Found::Blender => loader.blender(),
        Found::Multiscale => loader.multiscale(),
        Found::Nerfstudio => loader.nerfstudio(),
    }
}

/// The kind of data set in `root`.
pub(super) fn kind_of(root: &Path) -> Result<SceneKind, SceneError> {
    Ok(match detect(root)? {
        Found::Colmap(..) => SceneKind::Colmap,
        Found::Blender => SceneKind::Blender,
        Found::Multiscale => SceneKind::Multiscale,
        Found::Nerfstudio => SceneKind::Nerfstudio,
    })
}

#[derive(PartialEq, Eq)]
enum Found {
    Colmap(PathBuf, Option<String>),
    Blender,
    Multiscale,
    Nerfstudio,
}

/// Files that mark data sets, in the order in which they are looked for; a COLMAP model goes before them.
const MARKERS: [(&str, Found); 3] = [
    (transforms::TRAIN_FILE, Found::Blender),
    (multiscale::FILE, Found::Multiscale),
    (transforms::FILE, Found::Nerfstudio),
];

/// What to say where `root` is a data set of another kind, too.
fn others_notice(root: &Path, found: &Found) -> Option<String> {
    let marker = MARKERS.iter().position(|(_, kind)| kind == found);
    let later = MARKERS.iter().skip(marker.map_or(0, |at| at + 1));
    let there: Vec<&str> = later
        .map(|(name, _)| *name)
        .filter(|name| root.join(name).is_file())
        .collect();
    let read = match (found, marker) {
        (Found::Colmap(folder, _), _) => folder.strip_prefix(root).unwrap_or(folder).display().to_string(),
        (_, Some(at)) => MARKERS[at].0.to_owned(),
        (_, None) => return None,
    };
    (!there.is_empty()).then(|| {
        format!(
            "{} is there too, and not read: poses are taken from {read}",
            there.join(", ")
        )
    })
}

fn detect(root: &Path) -> Result<Found, SceneError> {
    if let Some((folder, notice)) = colmap::find(root) {
        return Ok(Found::Colmap(folder, notice));
    }
    let mut looked_for = vec![colmap::MARKER];
    for (marker, found) in MARKERS {
        if root.join(marker).is_file() {
            return Ok(found);
        }
        looked_for.push(marker);
    }
    // A part of a data set is none, though a model may lie right in it.
    if let Some(error) = unknown::sparse_of_scene(root) {
        return Err(error);
    }
    if let Some((folder, notice)) = colmap::find_elsewhere(root) {
        return Ok(Found::Colmap(folder, Some(notice)));
    }
    Err(unknown::explain(root, &looked_for.join(", ")))
}

/// What is gathered while a data set is read.
struct Loader<'a> {
    root: &'a Path,
    options: &'a SceneOptions,
    fence: Fence,
    planner: Planner,
    resolution: Resolution,
    /// What poses and points are relative to.
    origin: [f64; 3],
    missing: Vec<String>,
    undecodable: Vec<String>,
    strays: Vec<String>,
    cameras: Vec<(Lens, CameraUse)>,
    /// Masks that the data set names, relative to its folder, by image.
    masks: BTreeMap<String, String>,
    /// Photos that may have transparent pixels.
    transparent: Vec<transparency::Candidate>,
    warnings: Vec<String>,
    notices: Vec<String>,
}

impl Loader<'_> {
    fn colmap(mut self, folder: &Path, notice: Option<String>) -> Result<SceneIndex, SceneError> {
        self.notices.extend(notice);
        let most = self.options.seen_points as usize;
        let given = origin::given(self.root, &self.fence)?;
        let mut model = colmap::read(folder, &self.fence, most, given)?;
        self.lies_at(model.origin, given.is_some());
        self.notices.append(&mut model.notices);
        if model.points.is_empty() {
            let what = if model.points_missing {
                "has no points3D file"
            } else {
                "has no points"
            };
            self.warn_no_points(&format!("{} {what}", folder.display()));
        }
        let alpha = self.options.alpha.or(Alpha::Ignore);
        let images = self.image_folder(&model.images)?;
        let mut views = self.views(&images, &model.images_file, model.images, alpha)?;
        if self.options.alpha == AlphaChoice::Auto {
            self.notices.extend(transparency::mask(&mut views, &self.transparent));
        }
        let mut sets = self.split(views)?;
        for view in &mut sets.0 {
            view.seen = model.seen.remove(&view.name).unwrap_or_default();
        }
        self.finish(SceneKind::Colmap, folder, &images, sets, model.points)
    }

    fn blender(mut self) -> Result<SceneIndex, SceneError> {
        let [train, test, val] =
            [transforms::TRAIN_FILE, transforms::TEST_FILE, transforms::VAL_FILE].map(|name| self.root.join(name));
        let mut train_frames = self.frames(&train)?;
        let mut test_frames = test.is_file().then(|| self.frames(&test)).transpose()?;
        if val.is_file() {
            self.notices.push(format!(
                "{} is not read: its frames are for validation",
                transforms::VAL_FILE
            ));
        }
        let named = [Some(&train_frames), test_frames.as_ref()];
        let named = named.into_iter().flatten().find_map(|frames| frames.points.clone());
        let points = named.map(|name| self.points(&name)).transpose()?.unwrap_or_default();
        let no_frames: &mut [PosedImage] = &mut [];
        let test_images = test_frames.as_mut().map_or(no_frames, |frames| &mut frames.images);
        let points = self.place(&mut [&mut train_frames.images, test_images], &points)?;
        let alpha = self.options.alpha.or(Alpha::Composite);
        let train_views = self.views(self.root, &train, train_frames.images, alpha)?;
        let test_views = test_frames.map(|frames| self.views(self.root, &test, frames.images, alpha));
        let sets = self.ready_split(train_views, test_views.transpose()?, transforms::TEST_FILE)?;
        let root = self.root;
        self.finish(SceneKind::Blender, &train, root, sets, points)
    }

    /// Frames of a file, and what is to be said of it.
    fn frames(&mut self, file: &Path) -> Result<Frames, SceneError> {
        self.fence.check(file)?;
        let mut frames = transforms::read(file)?;
        self.notices.append(&mut frames.notices);
        self.warnings.append(&mut frames.warnings);
        self.masks.append(&mut frames.masks);
        Ok(frames)
    }

    /// Points of a PLY file in the scene.
    fn points(&mut self, name: &str) -> Result<Vec<WidePoint>, SceneError> {
        let path = self.root.join(name);
        self.fence.check(&path)?;
        let mut cloud = points_ply::read(&path)?;
        self.notices.append(&mut cloud.notices);
        Ok(cloud.points)
    }

    fn multiscale(mut self) -> Result<SceneIndex, SceneError> {
        let file = self.root.join(multiscale::FILE);
        self.fence.check(&file)?;
        let (mut train, mut test) = multiscale::read(&file)?;
        self.place(&mut [&mut train, test.as_deref_mut().unwrap_or_default()], &[])?;
        let train = self.views(self.root, &file, train, self.options.alpha.or(Alpha::Composite))?;
        let test = test.map(|test| self.views(self.root, &file, test, self.options.alpha.or(Alpha::Composite)));
        let sets = self.ready_split(train, test.transpose()?, "test split")?;
        let root = self.root;
        self.finish(SceneKind::Multiscale, &file, root, sets, Vec::new())
    }

    fn nerfstudio(mut self) -> Result<SceneIndex, SceneError> {
        let file = self.root.join(transforms::FILE);
        let mut frames = self.frames(&file)?;
        let points = match &frames.points {
            Some(name) => self.points(name)?,
            None => {
                self.warn_no_points(&format!("{} names no ply_file_path", file.display()));
                Vec::new()
            }
        };
        let points = self.place(&mut [&mut frames.images], &points)?;
        let usual = self.options.eval && self.options.hold_out == HoldOut::Usual;
        if usual {
            frames.images.retain(|image| !frames.unused.contains(&image.name));
        }
        let views = self.views(self.root, &file, frames.images, self.options.alpha.or(Alpha::Composite))?;
        let sets = match frames.held_out.filter(|_| usual) {
            Some(held_out) => hold_out_named(views, &held_out),
            None => self.split(views)?,
        };
        let root = self.root;
        self.finish(SceneKind::Nerfstudio, &file, root, sets, points)
    }

    /// Takes the scene's origin off poses and points.
    fn place(&mut self, images: &mut [&mut [PosedImage]], points: &[WidePoint]) -> Result<Vec<Point>, SceneError> {
        let given = origin::given(self.root, &self.fence)?;
        let places = points.iter().map(|point| point.position);
        let origin = origin::take_off(given, images, places);
        self.lies_at(origin, given.is_some());
        Ok(points.iter().map(|point| point.from(origin)).collect())
    }

    /// Notes the scene's origin.
    fn lies_at(&mut self, origin: [f64; 3], given: bool) {
        self.origin = origin;
        if origin != [0.0; 3] {
            self.notices.push(origin::notice(origin, given));
        }
    }

    fn warn_no_points(&mut self, what: &str) {
        self.warnings.push(format!(
            "{what}; unless init says otherwise, training starts from random points in front of the cameras"
        ));
    }
}

#[cfg(test)]
mod tests;
