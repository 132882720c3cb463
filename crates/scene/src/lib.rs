//! Cameras, images and points of a data set, and the mathematics of small vectors; no Vulkan, no training.
//!
//! [`SceneIndex::load`] reads poses, sizes and points from a COLMAP, Blender or Nerfstudio folder without decoding a
//! pixel, so that a run can be planned first. [`ImageStore`] decodes images to training resolution in bounded memory;
//! [`ViewSampler`] says which view comes next. Everything here treats its input as hostile: a damaged or lying file
//! is a [`SceneError`] that names it, never a panic and never an allocation the file's size does not justify.

mod camera;
mod camera_use;
pub mod capture;
mod depths;
mod error;
mod evenly;
mod exposures;
mod fence;
mod fisheye;
mod formats;
mod index;
mod load;
mod maps;
mod masks;
pub mod math;
mod median;
mod near;
mod nearest;
mod normals;
mod options;
pub mod origin;
mod photos;
mod point;
mod random;
mod report;
mod resolution;
mod sampler;
mod seen;
mod split;
mod strays;
mod undistort;
mod view;

pub use camera::{Camera, Intrinsics};
pub use camera_use::CameraUse;
pub use capture::Capture;
pub use depths::{DepthFit, DepthMap, MOST_FIT_POINTS, Meaning};
pub use error::SceneError;
pub use error::listed;
pub use evenly::evenly;
pub use exposures::{Difference, Exposures, FEW_PHOTOS, PhotoExposure, exposures};
pub use fisheye::Fisheye;
pub use formats::beside::photos_below;
pub use formats::colmap::subset::{SubsetError, Subsets, write_subsets};
pub use formats::points_ply::read_points;
pub use index::SceneIndex;
pub use maps::{MapFile, MapKind, SizedFile};
pub use near::{DEFAULT_NEAR_Z, Near};
pub use nearest::nearest_point_depth;
pub use normals::{Axes, NormalMap};
pub use options::{AlphaChoice, HoldOut, MaskChoice, SceneKind, SceneOptions};
pub use photos::images::{ImageOptions, ImageStore, LoadReport, decode, estimate_host_bytes};
pub use photos::photo::{Photo, PhotoParts, photo_bytes};
pub use photos::pixels::read_mask;
pub use photos::resize::resize_rgb;
pub use point::{Point, WidePoint};
pub use random::SplitMix64;
pub use report::{CameraReport, SceneReport, SizeReport};
pub use resolution::Resolution;
pub use sampler::{SamplerStateError, ViewSampler};
pub use seen::SeenPoint;
pub use undistort::Undistort;
pub use view::{Alpha, MaskFile, Split, View, ViewId, file_safe, without_extension};
