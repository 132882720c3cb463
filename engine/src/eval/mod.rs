//! Evaluation: figures of rendered views against the images they were taken from, and pictures of the difference.
//!
//! [`report`] turns sums into figures, [`correction`] pixels into one more, [`pictures`] and [`depth`] pixels into PNG files,
//! all without a device; [`lpips`] runs a network on the device, in the memory that the training step leaves idle.

pub mod correction;
pub mod depth;
pub mod lpips;
pub mod pictures;
pub mod report;

pub use correction::corrected_psnr;
pub use depth::DepthPicture;
pub use pictures::{Picture, PictureError};
pub use report::{EvalFile, Means, ReportError, SetReport, ViewMetrics, ViewRow, means, view_metrics};
