//! Cameras, images and points of a data set; no Vulkan, no training.

mod camera;

pub use camera::Camera;
