//! What people bring: captures and models as other programs write them, one module per kind. What is read gives the
//! right picture, what is not is named.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod beside;
mod bombs;
mod bundled;
mod colmap;
mod commands;
#[cfg(unix)]
mod doors;
mod frames;
mod models;
mod origins;
mod pictures;
mod strays;
