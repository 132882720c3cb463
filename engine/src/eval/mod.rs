//! Evaluation: figures of rendered views against the images they were taken from, and pictures of the difference.
//!
//! [`report`] turns sums into figures and [`pictures`] pixels into PNG files, both without a device; [`lpips`] runs a
//! network on the device, in the memory that the training step leaves idle.

pub mod lpips;
pub mod pictures;
pub mod report;

pub use pictures::{Picture, PictureError};
pub use report::{EvalFile, Means, ReportError, SetReport, ViewMetrics, ViewRow, means, view_metrics};
