//! Reading a data set of any kind.
//!
//! Owns the detection of the kind, the pairing of poses with image files, the choice of the image folder, order and
//! split. Images that are listed but not there are left out and counted, and so are those that cannot be decoded; when none is left, that is
//! an error.

mod far;
mod files;
mod notices;
mod sets;
mod transparency;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use notices::{Unreadable, crop_notices, odd_sizes};
use sets::{Sets, hold_out_named};

use super::camera_use::CameraUse;
use super::error::listed;
use super::fence::Fence;
use super::formats::lens::{Distortion, Lens};
use super::formats::posed::PosedImage;
use super::formats::transforms::{self, Frames};
use super::formats::{colmap, multiscale, points_ply, unknown};
use super::index::SceneIndex;
use super::options::{AlphaChoice, HoldOut, SceneKind, SceneOptions};
use super::photos::upright::Planner;
use super::view::{self, Alpha, View};
use super::{Near, Point, Resolution, SceneError, WidePoint, depths, masks, normals, origin, seen, split};

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

    /// Pairs poses with image files, sorted by name; images that are not there, or cannot be decoded, are left out and
    /// counted.
    fn views(
        &mut self,
        folder: &Path,
        listed_in: &Path,
        posed: Vec<PosedImage>,
        alpha: Alpha,
    ) -> Result<Vec<View>, SceneError> {
        let mut paths: Vec<PathBuf> = posed.iter().map(|image| folder.join(&image.name)).collect();
        let names: Vec<String> = posed.iter().map(|image| image.name.clone()).collect();
        let headers = self.headers(folder, &names, &mut paths)?;
        let count = posed.len();
        let (mut views, mut missing, mut odd) = (Vec::with_capacity(count), Vec::new(), Vec::new());
        let mut undecodable = Unreadable::default();
        for ((posed, path), header) in posed.into_iter().zip(paths).zip(headers) {
            let header = match header {
                Ok(Some(header)) => header,
                Ok(None) => {
                    missing.push(posed.name);
                    continue;
                }
                Err(error) => {
                    undecodable.push(posed.name, &error);
                    continue;
                }
            };
            let (lens, name) = (posed.lens, posed.name.clone());
            if header.alpha {
                self.transparent.push((path.clone(), (header.width, header.height)));
            }
            let view = match View::new(posed, path, header, alpha, &mut self.planner) {
                Err(error @ SceneError::SizeMismatch { .. }) => {
                    odd.push((name, error));
                    continue;
                }
                view => view?,
            };
            self.count_camera(lens, &view);
            views.push(view);
        }
        missing.sort();
        undecodable.sort();
        if let Some(error) = all_odd(odd) {
            return Err(error);
        }
        if views.is_empty() {
            let path = listed_in.to_owned();
            let why = match undecodable.is_empty() {
                true => self.why_empty(folder, count, &missing),
                false => format!(
                    "none of its {count} images can be {}: {}",
                    undecodable.what(),
                    undecodable.reported()
                ),
            };
            return Err(SceneError::NoViews { path, why });
        }
        if !missing.is_empty() {
            self.warnings.push(format!(
                "{} of {count} images listed in {} are missing and left out: {}",
                missing.len(),
                listed_in.display(),
                listed(&missing)
            ));
        }
        if !undecodable.is_empty() {
            self.warnings.push(format!(
                "{} of {count} images in {} cannot be {} and are left out: {}",
                undecodable.len(),
                folder.display(),
                undecodable.what(),
                undecodable.reported()
            ));
        }
        self.undecodable.extend(undecodable.names());
        self.missing.extend(missing);
        split::sort(&mut views);
        if let Some(pair) = views.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let (path, id) = (listed_in.to_owned(), pair[0].name.clone());
            return Err(SceneError::Duplicate {
                path,
                what: "image name",
                id,
            });
        }
        Ok(views)
    }

    fn count_camera(&mut self, lens: Lens, view: &View) {
        let file_px = view.upright.turned_px();
        let known = self.cameras.iter_mut().rev();
        let mut same = known.filter(|(other, camera)| *other == lens && camera.file_px == file_px);
        if let Some((_, camera)) = same.next() {
            camera.images += 1;
            return;
        }
        let camera = CameraUse {
            model: lens.model,
            file_px,
            source_px: (view.source_width, view.source_height),
            images: 1,
            lost: view.upright.lens.as_ref().map(|lens| lens.lost),
            is_fisheye: matches!(lens.distortion, Distortion::Fisheye { .. }),
        };
        self.cameras.push((lens, camera));
    }

    fn finish(
        mut self,
        kind: SceneKind,
        model: &Path,
        images: &Path,
        (train, test): Sets,
        points: Vec<Point>,
    ) -> Result<SceneIndex, SceneError> {
        if train.is_empty() {
            let why = format!(
                "{} usable view, and it is held out; train on all views (--no-eval)",
                test.len()
            );
            return Err(SceneError::NoViews {
                path: self.root.to_owned(),
                why,
            });
        }
        let trained = train.len();
        let mut views = train;
        views.extend(test);
        view::assign_ids(&mut views);
        let given = std::mem::take(&mut self.masks);
        masks::attach(
            &mut views,
            self.root,
            (self.options, &given),
            &self.fence,
            (&mut self.notices, &mut self.warnings),
        )?;
        let masked = views
            .iter()
            .any(|view| view.mask.is_some() || view.alpha == Alpha::Mask || view.upright.shows_empty());
        for view in &mut views {
            if !self.options.respect_principal_point {
                view.centre();
            }
            let (width, height) = (view.source_width, view.source_height);
            view.set_size(self.resolution.apply(width, height, 1.0));
        }
        let (trained, points) = self.without_strays(&mut views, trained, points);
        let test = views.split_off(trained);
        let mut train = views;
        self.warnings.extend(odd_sizes(&train, self.resolution));
        let mut extent = split::camera_extent(&train);
        if extent <= 0.0 {
            extent = split::point_extent(&train, &points);
            self.warnings.push(format!(
                "all training cameras share one position; scene extent taken as {extent}"
            ));
        }
        if !extent.is_finite() {
            let remedy = "camera positions must be within the range of f32, export the model again";
            return Err(SceneError::malformed(
                self.root,
                "camera poses",
                "cameras that are infinitely far apart",
                remedy,
            ));
        }
        let near = Near::of(&split::together(&train), &points);
        if near.depth.is_none() && !points.is_empty() {
            self.warnings.push(format!(
                "no training picture contains any of the {} sparse points; check that poses and points are of one model, and \
                 that the poses are not inverted",
                points.len()
            ));
        }
        for view in train.iter_mut().filter(|view| !view.seen.is_empty()) {
            view.seen = seen::in_picture(&view.seen, &view.camera, near.plane(extent));
        }
        if let Some(folder) = &self.options.depths {
            let reported = (&mut self.notices, &mut self.warnings);
            depths::attach(
                (&mut train, &test),
                self.root,
                folder,
                &points,
                &self.fence,
                reported.0,
                reported.1,
            )?;
        }
        if let Some((folder, axes)) = &self.options.normals {
            let reported = (&mut self.notices, &mut self.warnings);
            let which = (folder.as_path(), *axes);
            normals::attach(
                &mut train,
                self.root,
                which,
                &points,
                &self.fence,
                reported.0,
                reported.1,
            )?;
        }
        let cameras: Vec<CameraUse> = self.cameras.into_iter().map(|(_, camera)| camera).collect();
        self.notices.extend(crop_notices(&cameras));
        let turned = train
            .iter()
            .chain(&test)
            .filter(|view| view.upright.is_turned())
            .count();
        if turned > 0 {
            self.notices.push(format!(
                "{turned} of the images are turned as their EXIF orientation says, because their cameras' sizes ask for it"
            ));
        }
        self.missing.sort();
        self.undecodable.sort();
        Ok(SceneIndex {
            kind,
            root: self.root.to_owned(),
            train,
            test,
            points,
            origin: self.origin,
            extent,
            near,
            masked,
            warnings: self.warnings,
            notices: self.notices,
            model: model.to_owned(),
            images: images.to_owned(),
            missing: self.missing,
            undecodable: self.undecodable,
            strays: self.strays,
            cameras,
            resolution: self.resolution,
        })
    }
}

/// The error of photos that have another shape than their cameras: that of the first, with the names of all.
fn all_odd(mut odd: Vec<(String, SceneError)>) -> Option<SceneError> {
    odd.sort_by(|a, b| a.0.cmp(&b.0));
    let names = odd.iter().map(|(name, _)| name.clone()).collect();
    let (_, mut error) = odd.into_iter().next()?;
    if let SceneError::SizeMismatch { all, .. } = &mut error {
        *all = names;
    }
    Some(error)
}

#[cfg(test)]
mod tests;
