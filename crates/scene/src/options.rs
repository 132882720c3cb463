//! How a data set is to be read.

use std::path::PathBuf;

use super::normals::Axes;
use super::view::Alpha;
use super::{Resolution, Undistort};

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
    /// The word for it.
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

/// What to make of alpha channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaChoice {
    /// [`Alpha::Composite`] where the format says so (Blender, Nerfstudio), elsewhere [`Alpha::Mask`] when photos have transparent pixels.
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

/// Which views are held out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HoldOut {
    /// Those that the data set says, else every eighth by name.
    #[default]
    Usual,
    /// Every so many by name, the first included.
    Every(usize),
    /// Those that this file names, one a line, with or without ending: in the scene's folder, or else as a path of its own.
    Listed(PathBuf),
}

/// Where masks are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MaskChoice {
    /// In `masks` and beside the images, where there are any.
    #[default]
    Auto,
    /// Nowhere.
    Off,
    /// In this folder, relative to the scene's; there must be some.
    Folder(PathBuf),
}

/// How a data set is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneOptions {
    /// Image folder of a COLMAP data set, relative to its root. When absent it is `images`, or `images_2`, `images_4`,
    /// `images_8` where that folder holds what the resolution asks for.
    pub images: Option<String>,
    /// Training resolution.
    pub resolution: Resolution,
    /// Hold out test views.
    pub eval: bool,
    /// Which, when some are.
    pub hold_out: HoldOut,
    /// Read files that links lead out of the data set.
    pub follow_links: bool,
    /// How much of bent pictures is shown.
    pub undistort: Undistort,
    /// What to make of alpha channels.
    pub alpha: AlphaChoice,
    /// Where masks are looked for.
    pub masks: MaskChoice,
    /// Folder of depth maps, relative to the scene's; there must be some. None when absent.
    pub depths: Option<PathBuf>,
    /// Folder of normal maps, likewise, and the axes of their normals.
    pub normals: Option<(PathBuf, Axes)>,
    /// Most points that are kept of those each training photo shows; 0 for none.
    pub seen_points: u32,
}

impl Default for SceneOptions {
    fn default() -> Self {
        Self {
            images: None,
            resolution: Resolution::Auto,
            eval: true,
            hold_out: HoldOut::Usual,
            follow_links: false,
            undistort: Undistort::Inside,
            alpha: AlphaChoice::Auto,
            masks: MaskChoice::Auto,
            depths: None,
            normals: None,
            seen_points: 0,
        }
    }
}
