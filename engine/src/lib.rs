//! Kiln trains 3D Gaussian Splatting scenes inside a fixed amount of GPU memory.
//!
//! The layers, from the bottom up; imports go one way only. The lower ones are crates:
//!
//! - `kiln_scene` and `kiln_config` are leaves without Vulkan: cameras, images, points; YAML to a checked profile. `kiln_config::plugins`
//!   is the registry: kinds and typed options, as data.
//! - `kiln_gaussians` owns the model's layout, its initialisation and the PLY property names.
//! - `kiln_program` lists tensors and passes as data; `kiln_gpu` wraps the device, records them, plans and owns every byte on it.
//! - `kiln_kernels` has one file per kernel family, `kiln_twins` a CPU twin of each.
//!
//! Here lies the rest:
//!
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
