//! Whole runs, through the library and through the program: what they learn, leave, refuse and survive.

mod antialias;
mod bad_scenes;
#[cfg(unix)]
mod blocks;
mod monitoring;
mod portable_tier;
#[cfg(unix)]
mod recovery;
mod stored_models;
// The program has the same name.
#[path = "train/mod.rs"]
mod train;
