//! Evaluation: figures of rendered views against the images they were taken from.

pub mod lpips;
