//! Evaluation: figures of rendered views against the images they were taken from, and pictures of the difference.
//!
//! Nothing here touches a device: [`report`] turns sums into figures, [`pictures`] turns pixels into PNG files.

pub mod pictures;
pub mod report;

pub use pictures::{Picture, PictureError};
pub use report::{EvalFile, Means, ReportError, SetReport, ViewMetrics, ViewRow, means, view_metrics};
