//! A data set's views and points, without pixels: what a run is planned from.
//!
//! Owns what is known of a data set once it is read. Promises train views that are not empty, finite poses, and images
//! that exist with the size it states.

use std::path::{Path, PathBuf};

use super::view::{Alpha, Point, Split, View, ViewId};
use super::{MaskChoice, Near, Resolution, SceneError, SeenPoint, load};

/// The kinds of data set that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneKind {
    /// `sparse/0`, another folder below `sparse`, or `sparse` with cameras, images and points3D.
    Colmap,
    /// `transforms_train.json`.
    Blender,
    /// `metadata.json` with several image scales.
    Multiscale,
    /// `transforms.json`.
    Nerfstudio,
}

impl SceneKind {
    /// The word that `dataset.kind` has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Colmap => "colmap",
            Self::Blender => "blender",
            Self::Multiscale => "multiscale",
            Self::Nerfstudio => "nerfstudio",
        }
    }
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

/// What to make of alpha channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaChoice {
    /// [`Alpha::Composite`] for Blender images, [`Alpha::Ignore`] for others.
    #[default]
    Auto,
    /// The same for all images.
    Only(Alpha),
}

impl AlphaChoice {
    pub(super) fn or(self, usual: Alpha) -> Alpha {
        match self {
            Self::Auto => usual,
            Self::Only(alpha) => alpha,
        }
    }
}

/// How a data set is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneOptions {
    /// Kind of data set.
    pub kind: KindChoice,
    /// Image folder of a COLMAP data set, relative to its root. When absent it is `images`, or `images_2`, `images_4`,
    /// `images_8` where that folder holds what the resolution asks for.
    pub images: Option<String>,
    /// Training resolution.
    pub resolution: Resolution,
    /// Further divisor of the resolution, 1 for none.
    pub scale: f64,
    /// Hold out test views.
    pub eval: bool,
    /// Read files that links lead out of the data set.
    pub follow_links: bool,
    /// Use the principal points of the cameras instead of the image centres.
    pub respect_principal_point: bool,
    /// What to make of alpha channels.
    pub alpha: AlphaChoice,
    /// Where masks are looked for.
    pub masks: MaskChoice,
    /// Mask files name the pixels that do not count.
    pub mask_invert: bool,
    /// Most points that are kept of those each training photo shows; 0 for none.
    pub seen_points: u32,
}

impl Default for SceneOptions {
    fn default() -> Self {
        Self {
            kind: KindChoice::Auto,
            images: None,
            resolution: Resolution::Auto,
            scale: 1.0,
            eval: true,
            follow_links: false,
            respect_principal_point: true,
            alpha: AlphaChoice::Auto,
            masks: MaskChoice::Auto,
            mask_invert: false,
            seen_points: 0,
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
    /// Points of the sparse model or point cloud in file order; empty when there are none.
    pub points: Vec<Point>,
    /// 1.1 times the largest distance of a training camera from their mean, world units; always above 0.
    pub extent: f32,
    /// How near things are to the training cameras.
    pub near: Near,
    /// What is odd but usable, for the user to read.
    pub warnings: Vec<String>,
    /// True when some view's pixels may be masked; all its photos then carry a mask.
    pub masked: bool,
    /// What was chosen where there was a choice, and what undistortion cost, for the user to read.
    pub notices: Vec<String>,
    /// The folder or file that lists the images.
    pub model: PathBuf,
    /// The folder that image names are relative to.
    pub images: PathBuf,
    /// Names of listed images that are not there, sorted.
    pub missing: Vec<String>,
    /// The cameras that took the images, in the order of their first image.
    pub cameras: Vec<CameraUse>,
    pub(super) resolution: Resolution,
}

/// A camera and how many images it took.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraUse {
    /// The camera model's name.
    pub model: &'static str,
    /// Width and height of its image files, upright, pixels.
    pub file_px: (u32, u32),
    /// Width and height after undistortion, pixels.
    pub source_px: (u32, u32),
    /// Images.
    pub images: usize,
    /// Share of a file's area that undistortion loses, 0 to 1; `None` for cameras without distortion.
    pub lost: Option<f64>,
}

impl SceneIndex {
    /// Reads the data set in `root`.
    ///
    /// # Errors
    /// [`SceneError`] naming the file when the data set is of no known kind, damaged, or leaves no training view.
    pub fn load(root: &Path, options: &SceneOptions) -> Result<Self, SceneError> {
        load::load(root, options)
    }

    /// Where the near plane goes: a tenth of the depth of the nearest points, or without any 0.04 extents; world units, always
    /// above 0.
    #[must_use]
    pub fn near_z(&self) -> f32 {
        self.near.plane(self.extent)
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

    /// Mean of the training cameras' positions, world units.
    #[must_use]
    pub fn center(&self) -> [f32; 3] {
        let mut sum = [0.0_f64; 3];
        for view in &self.train {
            let position = view.camera.position();
            sum = std::array::from_fn(|axis| sum[axis] + f64::from(position[axis]));
        }
        let count = self.train.len().max(1) as f64;
        sum.map(|total| (total / count) as f32)
    }

    /// Bytes of host memory that the points of the photos take.
    #[must_use]
    pub fn seen_bytes(&self) -> u64 {
        let points: usize = self.train.iter().map(|view| view.seen.len()).sum();
        (points * size_of::<SeenPoint>()) as u64
    }

    /// Width and height of the largest training image in pixels, each side on its own.
    #[must_use]
    pub fn largest_px(&self) -> (u32, u32) {
        self.views().fold((0, 0), |(w, h), (_, view)| {
            (w.max(view.camera.width_px), h.max(view.camera.height_px))
        })
    }
}

#[cfg(test)]
mod tests;
