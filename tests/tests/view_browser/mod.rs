//! The viewer in a real browser, served by `kiln view`, showing a run that the trainer has just written.
//!
//! With `KILN_SCREENSHOTS=FOLDER` the main states are also written as PNG files.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bad_input;
mod beside;
mod comparisons;
mod files;
mod foreign;
mod live;
mod metrics;
mod network;
mod places;
mod projects;
mod splats;
mod stage;
mod streamed;
mod triangles;
mod truth;
mod work;
