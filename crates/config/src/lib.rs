//! Configuration: YAML text to a checked, frozen [`Profile`].
//!
//! Owns the keys, their ranges, the layering (defaults < profile < recipe < its rules < file < command line) and the
//! shipped files. Promises that a `Profile` is complete and in range, and that every refusal names the key, what was found,
//! what is allowed, and the file and line. Refuses unknown keys, files over 1 MiB, deep nesting, anchors, merge keys,
//! duplicate keys and tabs. Knows nothing of Vulkan or of the scene: what rules ask of it is handed in as [`Facts`].

mod adapt;
mod auto;
mod bound;
mod checks;
mod cull;
mod device_choice;
mod error;
mod hold_out;
mod layers;
mod losses;
mod lpips_choice;
mod mesh;
mod mesh_splatting;
mod most_gaussians;
mod moved;
mod named;
mod normal_maps;
mod photo_colors;
pub mod plugins;
mod profile;
mod read;
mod rules;
mod schema;
mod short_run;
mod storage;
mod sugar;
#[cfg(test)]
mod tests;
mod tree;
mod triangles;

pub use adapt::{Adaptation, Facts};
pub use auto::{AutoError, Budget, choose};
pub use bound::{Bound, VertexUnits};
pub use checks::Validation;
pub use cull::{Cull, CullKind};
pub use device_choice::DeviceChoice;
pub use error::nearest;
pub use error::{At, ConfigError};
pub use hold_out::HoldOut;
pub use layers::{
    DEFAULT, DEFAULT_RECIPE, Inputs, LayerNames, Override, PROFILES, RECIPES, Shipped, budgets_of, extended_profile,
    layer_names, quoted, resolve, resolve_for, rules_of, short_run, to_yaml,
};
pub use lpips_choice::LpipsChoice;
pub use mesh::{Decimate, Mesh, MeshFormat, MeshMethod, MeshQuality, MeshSpace, MeshTexture, TextureKind};
pub use mesh_splatting::{MeshSplatting, TriangleGradient, TriangleScene};
pub use most_gaussians::MostGaussians;
pub use normal_maps::{NormalMaps, NormalsAxes};
pub use photo_colors::PhotoColors;
pub use profile::{
    Alpha, Background, Care, Dataset, Device, Diagnose, EarlyStop, Eval, Memory, Mip, Model, ModelKind, OnFull,
    OnSpill, PlateauMetric, Profile, RefinePoses, Residency, ResolutionPhase, Run, Schedule, Train, Undistort,
};
pub use schema::schema_json;
pub use short_run::ShortRun;
pub use sugar::{Sugar, SugarRegularizer, SugarStage};

pub use kiln_gaussians::layout::Storage;
