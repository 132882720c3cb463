//! Kiln trains 3D Gaussian Splatting scenes inside a fixed amount of GPU memory.
//!
//! The layers, from the bottom up; imports go one way only:
//!
//! - [`math`] is imported by all and imports nothing: small vectors, matrices and rotations.
//! - [`scene`] and [`config`] are leaves without Vulkan: cameras, images, points; YAML to a checked profile.
//! - [`gaussians`] owns the model's layout, its initialisation and the PLY property names; [`triangles`] is the model of triangles.
//! - [`program`] lists tensors and passes as data; [`vk`] wraps the device and records them; [`memory`] plans and owns every byte on it.
//! - [`kernels`] has one file per kernel family and a CPU twin of each under [`twins`].
//! - [`plugins`] is the registry: kinds and typed options, as data; `config` reads it.
//! - [`step`] lists the passes of a training step, chosen and ordered by the plugins of the profile.
//! - [`eval`] has the metrics, [`export`] the files, [`mesh`] the surfaces.
//! - [`plan`] makes of profile, scene and device what is allocated and executed; [`train`] is the device side of a run;
//!   [`project`] is a scene in blocks;
//!   [`record`] is what a run says and leaves; [`mesh`] makes surfaces of models; [`run`] is the loop. [`serve`] shows runs in a browser.
//! - [`jobs`] decides what happens next: a training with all that goes before and behind it, blocks, meshes. [`cli`] is what people type and
//!   read.
//!
//! [`jobs`] is meant as an interface, as `examples/train.rs` uses it: a request in, news while it works, a typed outcome. Everything else
//! is public for tests and tools, and changes without notice.

pub mod cli;
pub mod eval;
pub mod export;
pub mod jobs;
pub mod mesh;
pub mod plan;
pub mod project;
pub mod record;
pub mod run;
pub mod serve;
pub mod step;
pub mod train;
