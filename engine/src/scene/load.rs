//! Reading a data set of any kind.
//!
//! Owns the detection of the kind, the pairing of poses with image files, the choice of the image folder, order and
//! split. Images that are listed but not there are left out and counted, and so are those that cannot be decoded; when none is left, that is
//! an error.

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
use super::formats::pairing::Pairing;
use super::formats::posed::PosedImage;
use super::formats::transforms::{self, Frames};
use super::formats::{colmap, multiscale, points_ply, unknown};
use super::index::SceneIndex;
use super::options::{AlphaChoice, HoldOut, SceneKind, SceneOptions};
use super::photos::header;
use super::photos::header::Header;
use super::photos::upright::Planner;
use super::view::{self, Alpha, View};
use super::{Near, Point, Resolution, SceneError, depths, masks, normals, seen, split};

/// Image folder of COLMAP data sets unless told otherwise.
const IMAGES: &str = "images";
/// Image folder of data sets whose photos are not undistorted yet, where there is no other.
const INPUT: &str = "input";
/// Divisors that ready-made image folders come in.
const READY_MADE: [u32; 3] = [2, 4, 8];
/// Most entries of a scene's folder that are searched for images.
const MOST_FOLDERS: usize = 1000;

/// Reads the data set in `root`.
pub(super) fn load(root: &Path, options: &SceneOptions) -> Result<SceneIndex, SceneError> {
    let found = detect(root)?;
    let fence = match options.follow_links {
        true => Fence::open(),
        false => Fence::around(root)?,
    };
    let loader = Loader {
        root,
        options,
        fence,
        planner: Planner::new(options.undistort),
        resolution: options.resolution,
        missing: Vec::new(),
        undecodable: Vec::new(),
        cameras: Vec::new(),
        masks: BTreeMap::new(),
        transparent: Vec::new(),
        warnings: Vec::new(),
        notices: Vec::new(),
    };
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

enum Found {
    Colmap(PathBuf, Option<String>),
    Blender,
    Multiscale,
    Nerfstudio,
}

fn detect(root: &Path) -> Result<Found, SceneError> {
    if let Some((folder, notice)) = colmap::find(root) {
        return Ok(Found::Colmap(folder, notice));
    }
    let mut looked_for = vec![colmap::MARKER];
    for (marker, found) in [
        (transforms::TRAIN_FILE, Found::Blender),
        (multiscale::FILE, Found::Multiscale),
        (transforms::FILE, Found::Nerfstudio),
    ] {
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
    missing: Vec<String>,
    undecodable: Vec<String>,
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
        let mut model = colmap::read(folder, &self.fence, most)?;
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
        let mut points = None;
        let mut open = |file: &Path| -> Result<Vec<View>, SceneError> {
            let frames = self.frames(file)?;
            points = points.take().or(frames.points);
            self.views(self.root, file, frames.images, self.options.alpha.or(Alpha::Composite))
        };
        let train_views = open(&train)?;
        let test_views = test.is_file().then(|| open(&test)).transpose()?;
        if val.is_file() {
            self.notices.push(format!(
                "{} is not read: its frames are for validation",
                transforms::VAL_FILE
            ));
        }
        let points = match points {
            Some(name) => self.points(&name)?,
            None => Vec::new(),
        };
        let sets = self.ready_split(train_views, test_views, transforms::TEST_FILE)?;
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
    fn points(&mut self, name: &str) -> Result<Vec<Point>, SceneError> {
        let path = self.root.join(name);
        self.fence.check(&path)?;
        points_ply::read_points(&path)
    }

    fn multiscale(mut self) -> Result<SceneIndex, SceneError> {
        let file = self.root.join(multiscale::FILE);
        self.fence.check(&file)?;
        let (train, test) = multiscale::read(&file)?;
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

    fn warn_no_points(&mut self, what: &str) {
        self.warnings.push(format!(
            "{what}; unless init says otherwise, training starts from random points in front of the cameras"
        ));
    }

    /// The folder with the images of a COLMAP data set: the one asked for, one with images of the size asked for, or
    /// `images`.
    fn image_folder(&mut self, posed: &[PosedImage]) -> Result<PathBuf, SceneError> {
        if let Some(images) = &self.options.images {
            let folder = self.root.join(images);
            // the user named it, so links in its own path are meant
            self.fence.allow(&folder);
            return Ok(folder);
        }
        let whole = self.root.join(IMAGES);
        let input = self.root.join(INPUT);
        if !whole.exists() && input.is_dir() {
            self.notices
                .push(format!("images are taken from {INPUT}: there is no folder {IMAGES}"));
            return Ok(input);
        }
        // exports of one folder, where the photos lie beside the model
        if !whole.exists()
            && posed
                .first()
                .is_some_and(|image| is_there(&self.root.join(&image.name)))
        {
            return Ok(self.root.to_owned());
        }
        let divisor = match self.resolution {
            Resolution::Divide(divisor) if READY_MADE.contains(&divisor) => divisor,
            _ => return Ok(whole),
        };
        let name = format!("{IMAGES}_{divisor}");
        let folder = self.root.join(&name);
        if !folder.is_dir() {
            return Ok(whole);
        }
        let paths = |folder: &Path| posed.iter().map(|image| folder.join(&image.name)).collect::<Vec<_>>();
        let headers = header::read_all(&paths(&folder), &self.fence)?;
        let headers: Vec<Option<Header>> = headers.into_iter().map(|header| header.ok().flatten()).collect();
        let there = headers.iter().flatten().count();
        let whole_there = paths(&whole).iter().filter(|path| path.is_file()).count();
        let odd = posed.iter().zip(&headers).find_map(|(image, header)| {
            let header = (*header)?;
            (!is_divided(&image.lens, header, divisor)).then_some((image, header))
        });
        let why_not = match odd {
            Some((image, Header { width, height, .. })) => {
                format!(
                    "{} there is {width}x{height}, which is not its camera's size by {divisor}",
                    image.name
                )
            }
            None if there == 0 || there < whole_there => {
                format!("it holds {there} of the images and {IMAGES} {whole_there}")
            }
            None => {
                self.resolution = Resolution::Divide(1);
                self.notices.push(format!(
                    "images are taken from {name}, which holds them at the size asked for \
                     (--images ./{IMAGES} resizes the others instead)"
                ));
                return Ok(folder);
            }
        };
        self.notices.push(format!("{name} is not used: {why_not}"));
        Ok(whole)
    }

    /// Headers of image files. Those that are not there are looked for under another ending, and `paths` follows.
    fn headers(&mut self, paths: &mut [PathBuf]) -> Result<Vec<header::Found>, SceneError> {
        let mut headers = header::read_all(paths, &self.fence)?;
        let mut pairing = Pairing::default();
        let (mut places, mut others) = (Vec::new(), Vec::new());
        for (at, path) in paths.iter().enumerate() {
            if let (Ok(None), Some(other)) = (&headers[at], pairing.find(path)) {
                places.push(at);
                others.push(other);
            }
        }
        let found = header::read_all(&others, &self.fence)?;
        if let (Some(other), Some(at)) = (others.first(), places.first()) {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.notices.push(format!(
                "{} of {} images are there under another ending, such as {} for {}",
                others.len(),
                paths.len(),
                name(other),
                name(&paths[*at])
            ));
        }
        for ((at, other), header) in places.into_iter().zip(others).zip(found) {
            headers[at] = header;
            paths[at] = other;
        }
        Ok(headers)
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
        let headers = self.headers(&mut paths)?;
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
                    undecodable.told()
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
                undecodable.told()
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

    fn why_empty(&self, folder: &Path, listed_images: usize, missing: &[String]) -> String {
        if listed_images == 0 {
            return "it lists no images; export the model again".to_owned();
        }
        let state = match std::fs::read_dir(folder) {
            Ok(_) => format!("is in {}", folder.display()),
            Err(_) if folder.exists() => format!("is there: {} is not a folder that can be read", folder.display()),
            Err(_) => format!("is there: there is no folder {}", folder.display()),
        };
        let remedy = match self.folder_with(missing) {
            Some(name) => format!("they are in {name}: add `-i {name}`"),
            None => "name their folder with `-i FOLDER`".to_owned(),
        };
        format!(
            "none of its {listed_images} images {state} (missing: {}); {remedy}",
            listed(missing)
        )
    }

    /// The folder of the scene that holds the first of these images.
    fn folder_with(&self, names: &[String]) -> Option<String> {
        let first = names.first()?;
        let entries = std::fs::read_dir(self.root).into_iter().flatten().flatten();
        let holds = |folder: &PathBuf| is_there(&folder.join(first));
        let mut folders: Vec<PathBuf> = entries
            .take(MOST_FOLDERS)
            .map(|entry| entry.path())
            .filter(holds)
            .collect();
        folders.sort();
        let name = folders.first()?.file_name()?;
        Some(name.to_string_lossy().into_owned())
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
            &mut self.warnings,
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
        let near = Near::of(&train.iter().map(|view| &view.camera).collect::<Vec<_>>(), &points);
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
            let told = (&mut self.notices, &mut self.warnings);
            depths::attach(&mut train, self.root, folder, &points, &self.fence, told.0, told.1)?;
        }
        if let Some((folder, axes)) = &self.options.normals {
            let told = (&mut self.notices, &mut self.warnings);
            let which = (folder.as_path(), *axes);
            normals::attach(&mut train, self.root, which, &points, &self.fence, told.0, told.1)?;
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
            extent,
            near,
            masked,
            warnings: self.warnings,
            notices: self.notices,
            model: model.to_owned(),
            images: images.to_owned(),
            missing: self.missing,
            undecodable: self.undecodable,
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

/// True for a photo that is there, under its own ending or another.
fn is_there(path: &Path) -> bool {
    path.is_file() || Pairing::default().find(path).is_some()
}

/// True when a file has the size of its camera divided by `divisor`, rounded either way.
fn is_divided(lens: &Lens, header: Header, divisor: u32) -> bool {
    let near = |side: u64, file: u32| {
        let exact = side as f64 / f64::from(divisor);
        (exact - f64::from(file)).abs() < 1.0
    };
    let fits = |[width, height]: [u64; 2]| near(width, header.width) && near(height, header.height);
    lens.size.is_some_and(|size| fits(size) || fits([size[1], size[0]]))
}

#[cfg(test)]
mod tests;
