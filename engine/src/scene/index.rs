//! A data set's views and points, without pixels: what a run is planned from.
//!
//! Owns the detection of the kind of data set, the pairing of poses with image files, resolution, order and split.
//! Promises train views that are not empty, finite poses, and images that exist with the size it states. Image
//! orientation tags are not applied, as COLMAP does not apply them either.

use std::path::{Path, PathBuf};

use super::posed::PosedImage;
use super::view::{self, Alpha, Point, Split, View, ViewId};
use super::{Resolution, SceneError, blender, colmap, header, split};

/// Image folder of COLMAP data sets unless told otherwise.
const IMAGES: &str = "images";
/// Missing images that a message lists by name.
const NAMES_SHOWN: usize = 3;
/// Training images narrower than this draw a warning, pixels.
const TINY_WIDTH_PX: u32 = 32;

/// The kinds of data set that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneKind {
    /// `sparse/0` or `sparse` with cameras, images and points3D.
    Colmap,
    /// `transforms_train.json`.
    Blender,
}

/// The kind a user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KindChoice {
    /// Decide by the files that are there.
    #[default]
    Auto,
    /// Insist on one kind.
    Only(SceneKind),
}

/// How a data set is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneOptions {
    /// Kind of data set.
    pub kind: KindChoice,
    /// Image folder of a COLMAP data set, relative to its root; `images` when absent.
    pub images: Option<String>,
    /// Training resolution.
    pub resolution: Resolution,
    /// Further divisor of the resolution, 1 for none.
    pub scale: f64,
    /// Hold out test views.
    pub eval: bool,
    /// Blend COLMAP images with an alpha channel over the background; Blender images always are.
    pub use_alpha: bool,
    /// Use the principal points of the cameras instead of the image centres.
    pub respect_principal_point: bool,
}

impl Default for SceneOptions {
    fn default() -> Self {
        Self {
            kind: KindChoice::Auto,
            images: None,
            resolution: Resolution::Auto,
            scale: 1.0,
            eval: true,
            use_alpha: false,
            respect_principal_point: true,
        }
    }
}

/// Poses, sizes and points of a data set.
#[derive(Clone, Debug)]
pub struct SceneIndex {
    /// What kind of data set it is.
    pub kind: SceneKind,
    /// Its folder.
    pub root: PathBuf,
    /// Views to train on, sorted by name; never empty.
    pub train: Vec<View>,
    /// Held-out views, sorted by name.
    pub test: Vec<View>,
    /// Points of the sparse model in file order; empty for Blender data sets.
    pub points: Vec<Point>,
    /// 1.1 times the largest distance of a training camera from their mean, world units; always above 0.
    pub extent: f32,
    /// What is odd but usable, for the user to read.
    pub warnings: Vec<String>,
    resolution: Resolution,
}

impl SceneIndex {
    /// Reads the data set in `root`.
    ///
    /// # Errors
    /// [`SceneError`] naming the file when the data set is of no known kind, damaged, or leaves no training view.
    pub fn load(root: &Path, options: &SceneOptions) -> Result<Self, SceneError> {
        match detect(root, options.kind)? {
            Found::Colmap(folder) => load_colmap(root, &folder, options),
            Found::Blender => load_blender(root, options),
        }
    }

    /// The same scene at its resolution divided by `scale`, for training that starts coarse.
    #[must_use]
    pub fn rescaled(&self, scale: f64) -> Self {
        let mut scene = self.clone();
        for view in scene.train.iter_mut().chain(&mut scene.test) {
            view.set_size(self.resolution.apply(view.source_width, view.source_height, scale));
        }
        scene
    }

    /// A view by its id.
    #[must_use]
    pub fn view(&self, id: ViewId) -> Option<&View> {
        self.views_of(id.split).get(id.index)
    }

    /// The views of one split.
    #[must_use]
    pub fn views_of(&self, split: Split) -> &[View] {
        match split {
            Split::Train => &self.train,
            Split::Test => &self.test,
        }
    }

    /// All views, training views first, with their ids.
    pub fn views(&self) -> impl Iterator<Item = (ViewId, &View)> {
        [Split::Train, Split::Test].into_iter().flat_map(move |split| {
            self.views_of(split)
                .iter()
                .enumerate()
                .map(move |(index, view)| (ViewId { split, index }, view))
        })
    }

    /// Width and height of the largest training image in pixels, each side on its own.
    #[must_use]
    pub fn largest_px(&self) -> (u32, u32) {
        self.views().fold((0, 0), |(w, h), (_, view)| {
            (w.max(view.camera.width_px), h.max(view.camera.height_px))
        })
    }
}

enum Found {
    Colmap(PathBuf),
    Blender,
}

fn detect(root: &Path, choice: KindChoice) -> Result<Found, SceneError> {
    let wants = |kind| choice == KindChoice::Auto || choice == KindChoice::Only(kind);
    let mut looked_for = Vec::new();
    if wants(SceneKind::Colmap) {
        if let Some(folder) = colmap::find(root) {
            return Ok(Found::Colmap(folder));
        }
        looked_for.extend(
            colmap::MODEL_FOLDERS
                .iter()
                .map(|folder| format!("{folder}/cameras.bin or .txt")),
        );
    }
    if wants(SceneKind::Blender) {
        if root.join(blender::TRAIN_FILE).is_file() {
            return Ok(Found::Blender);
        }
        looked_for.push(blender::TRAIN_FILE.to_owned());
    }
    let entries = std::fs::read_dir(root).map_err(|e| SceneError::io(root, "open the data set", e))?;
    let mut names: Vec<String> = entries
        .flatten()
        .take(1000)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let found = if names.is_empty() {
        "an empty folder".to_owned()
    } else {
        listed(&names)
    };
    Err(SceneError::UnknownKind {
        root: root.to_owned(),
        looked_for: looked_for.join(", "),
        found,
    })
}

fn load_colmap(root: &Path, folder: &Path, options: &SceneOptions) -> Result<SceneIndex, SceneError> {
    let model = colmap::read(folder)?;
    let images = root.join(options.images.as_deref().unwrap_or(IMAGES));
    let mut warnings = Vec::new();
    if model.points.is_empty() {
        let what = if model.points_missing {
            "has no points3D file"
        } else {
            "has no points"
        };
        warnings.push(format!(
            "{} {what}; initialisation from points is not possible",
            folder.display()
        ));
    }
    let alpha = if options.use_alpha {
        Alpha::Composite
    } else {
        Alpha::Ignore
    };
    let views = open_views(&images, &model.images_file, model.images, alpha, &mut warnings)?;
    let (train, test) = split_views(views, options.eval);
    finish(SceneKind::Colmap, root, (train, test), model.points, warnings, options)
}

fn load_blender(root: &Path, options: &SceneOptions) -> Result<SceneIndex, SceneError> {
    let mut warnings = Vec::new();
    let mut open = |name: &str| -> Result<Vec<View>, SceneError> {
        let file = root.join(name);
        let frames = blender::read(&file)?;
        open_views(root, &file, frames, Alpha::Composite, &mut warnings)
    };
    let train = open(blender::TRAIN_FILE)?;
    let has_test = root.join(blender::TEST_FILE).is_file();
    let test = if has_test {
        open(blender::TEST_FILE)?
    } else {
        Vec::new()
    };
    let views = if options.eval && has_test {
        (train, test)
    } else {
        if options.eval {
            warnings.push(format!(
                "no {}; every eighth training view is held out instead",
                blender::TEST_FILE
            ));
        }
        let mut all = train;
        all.extend(test);
        split::sort(&mut all);
        split_views(all, options.eval)
    };
    finish(SceneKind::Blender, root, views, Vec::new(), warnings, options)
}

/// Train and test views of a sorted list.
fn split_views(views: Vec<View>, eval: bool) -> (Vec<View>, Vec<View>) {
    if eval {
        split::hold_out(views)
    } else {
        (views, Vec::new())
    }
}

/// Pairs poses with image files, sorted by name; images that are not there are left out with a warning.
fn open_views(
    folder: &Path,
    listed_in: &Path,
    posed: Vec<PosedImage>,
    alpha: Alpha,
    warnings: &mut Vec<String>,
) -> Result<Vec<View>, SceneError> {
    let paths: Vec<PathBuf> = posed.iter().map(|image| folder.join(&image.name)).collect();
    let sizes = header::sizes(&paths)?;
    let listed_images = posed.len();
    let (mut views, mut missing) = (Vec::with_capacity(listed_images), Vec::new());
    for ((posed, path), size) in posed.into_iter().zip(paths).zip(sizes) {
        match size {
            Some(size) => views.push(View::new(posed, path, size, alpha)?),
            None => missing.push(posed.name),
        }
    }
    missing.sort();
    if views.is_empty() {
        let why = if listed_images == 0 {
            "it lists no images; export the model again".to_owned()
        } else {
            let (count, folder) = (missing.len(), folder.display());
            format!(
                "none of its {count} images is in {folder} (missing: {}); check dataset.images",
                listed(&missing)
            )
        };
        return Err(SceneError::NoViews {
            path: listed_in.to_owned(),
            why,
        });
    }
    if !missing.is_empty() {
        warnings.push(format!(
            "{} of {listed_images} images listed in {} are missing and left out: {}",
            missing.len(),
            listed_in.display(),
            listed(&missing)
        ));
    }
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

/// The first few names, and how many more there are.
fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn finish(
    kind: SceneKind,
    root: &Path,
    (train, test): (Vec<View>, Vec<View>),
    points: Vec<Point>,
    mut warnings: Vec<String>,
    options: &SceneOptions,
) -> Result<SceneIndex, SceneError> {
    if train.is_empty() {
        let why = format!(
            "{} usable view, and it is held out; train on all views (--no-eval)",
            test.len()
        );
        return Err(SceneError::NoViews {
            path: root.to_owned(),
            why,
        });
    }
    let trained = train.len();
    let mut views = train;
    views.extend(test);
    view::assign_ids(&mut views);
    for view in &mut views {
        if !options.respect_principal_point {
            view.centre();
        }
        view.set_size(
            options
                .resolution
                .apply(view.source_width, view.source_height, options.scale),
        );
    }
    let test = views.split_off(trained);
    let train = views;
    if let Some(view) = train.iter().find(|view| view.camera.width_px < TINY_WIDTH_PX) {
        let (width, height) = (view.camera.width_px, view.camera.height_px);
        warnings.push(format!(
            "{} is trained at only {width}x{height} pixels; is the resolution meant?",
            view.name
        ));
    }
    let mut extent = split::camera_extent(&train);
    if extent <= 0.0 {
        extent = split::point_extent(&train, &points);
        warnings.push(format!(
            "all training cameras share one position; scene extent taken as {extent}"
        ));
    }
    if !extent.is_finite() {
        let remedy = "camera positions must be within the range of f32, export the model again";
        return Err(SceneError::malformed(
            root,
            "camera poses",
            "cameras that are infinitely far apart",
            remedy,
        ));
    }
    let (root, resolution) = (root.to_owned(), options.resolution);
    Ok(SceneIndex {
        kind,
        root,
        train,
        test,
        points,
        extent,
        warnings,
        resolution,
    })
}

#[cfg(test)]
mod tests;
