//! Evaluation: figures of rendered views against the images they were taken from, and pictures of the difference.
//!
//! [`report`] turns sums into figures, [`file`](mod@file) has those of a model, [`spread`](mod@spread) says what their means hide, [`correction`] and [`fog`] turn pixels into one
//! more each, [`seen`] sets them against how many training cameras see them, [`pictures`] and [`depth`] pixels into PNG files, all without a device; [`lpips`] runs a network on the device, in the memory that the training step leaves idle.

pub mod correction;
pub mod depth;
pub mod file;
pub mod fog;
pub mod lpips;
pub mod pictures;
pub mod report;
pub mod seen;
pub mod spread;

pub use correction::fitted_half_psnr;
pub use depth::{DepthPicture, normal_picture};
pub use file::{EvalFile, LpipsRange, PoseSource, SetReport};
pub use fog::fog_share;
pub use pictures::{Picture, PictureError};
pub use report::{Means, ReportError, ViewMetrics, ViewRow, means, view_metrics};
pub use seen::{SeenBy, SeenClass, TestedPixels, depths, seen_by};
pub use spread::{LOW_DB, NamedView, Spread, spread};
