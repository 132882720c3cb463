//! The training step as a list of passes, and the tensors it works on.
//!
//! This layer decides sizes and order; it owns no device. [`StepTensors`] names every tensor for given [`Capacities`];
//! [`forward`] and [`train_step`] append passes to a [`crate::program::Program`], [`densify()`] is a program of its own;
//! `model_io` turns a host model into planes and back.

mod bands;
#[cfg(test)]
mod barriers;
mod bound;
mod capacities;
mod densify;
mod density;
mod density_tensors;
mod filter_camera;
mod guard_bands;
mod level;
mod losses;
mod mesh_tensors;
mod model_io;
mod moments;
mod neighbor_tensors;
mod neighbors;
mod pair;
mod pair_tensors;
mod parts;
mod passes;
mod record_bands;
mod reorder;
mod resident;
mod rings;
mod surface;
mod tensors;
mod terms;
mod triangle_io;
mod triangle_tensors;
mod triangles;

pub use bands::{BAND_SLOTS, BandTensors, banded, clear_stall, left_out, pack_bands};
pub use bound::{Surface as BoundSurface, mesh_state, read_vertices, write_mesh};
pub use capacities::Capacities;
pub use densify::{DensifyTensors, STAGING_BYTES, camera_cull, densify, error_guided, mcmc_relocate};
pub use density::{find_neighbors, know_neighbors, prune_faint};
pub use density_tensors::{DensityTensors, most_dense};
pub use guard_bands::check_guard_bands;
pub use level::{LevelTensors, level_points, prepare_levels};
pub use model_io::{ModelWriter, read_model, read_opacities, read_sample, write_model};
pub use moments::forget_moments;
pub use neighbor_tensors::{NeighborTensors, NeighborsRefused};
pub use neighbors::neighbors;
pub use pair::{draw_neighbor, draw_neighbor_in_bands};
pub use pair_tensors::PairTensors;
pub use parts::{Part, Parts, Terms, Turns};
pub use passes::{catch_up_program, evaluate_view, forward, gradients_of_view, train_step, train_steps};
pub use record_bands::{
    RecordBandTensors, Survey, TileTooFull, banded_records, render_in_bands, render_in_parts, surface_in_bands,
};
pub use reorder::{ReorderTensors, reorder, reorder_rows};
pub use resident::{Place, ResidentImages};
pub use rings::Rings;
pub use surface::surface;
pub use tensors::{FilterTensors, StepExtras, StepTensors};
pub use terms::{ExtraTensors, ImageTerm, Learnt, Seen, SurfaceTerm};
pub use triangle_io::{
    change_weights, clear_importance, list_adjacency, read_state, read_triangle_sample, read_weights, write_state,
};
pub use triangle_tensors::{TriangleSizes, TriangleTensors};
