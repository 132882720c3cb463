//! What people bring: captures and models as other programs write them, one module per kind. What is read gives the
//! right picture, what is not is named.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod beside;
mod bombs;
mod bundled;
#[cfg(unix)]
mod canary;
mod colmap;
mod commands;
#[cfg(unix)]
mod doors;
mod frames;
#[cfg(target_os = "linux")]
mod huge;
mod models;
mod origins;
mod pictures;
mod strays;
