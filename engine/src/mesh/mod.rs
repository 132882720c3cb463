//! Meshes on the device: what [`kiln_mesh`] does on the host begins and ends here.
//!
//! [`draw`] draws them into pictures and depths.

pub mod draw;
