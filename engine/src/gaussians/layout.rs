//! How a Gaussian's values are laid out in device memory.
//!
//! Values live in *planes*: plane `p` of a chunk with stride `s` holds value `p` of Gaussian `i` at float index
//! `p * s + i`, so that neighbouring threads touch neighbouring words. Two plane groups exist, `geometry` (always
//! f32) and `sh` (degree-dependent); the optimiser keeps one first and one second moment for every value.

/// Gaussians in a full chunk: 2^19 keeps every plane group under a 128 MiB storage-buffer binding.
pub const CHUNK: u32 = 1 << 19;

/// Planes of the geometry group.
pub const GEOMETRY_PLANES: u32 = 11;
/// First plane of the centre (x, y, z).
pub const PLANE_MEANS: u32 = 0;
/// First plane of the rotation (w, x, y, z).
pub const PLANE_QUATS: u32 = 3;
/// First plane of the log scales.
pub const PLANE_SCALES: u32 = 7;
/// Plane of the opacity logit.
pub const PLANE_OPACITY: u32 = 10;

/// SH coefficients (degree 0 included) of a degree: 1, 4, 9 or 16.
#[must_use]
pub const fn sh_coefficients(degree: u32) -> usize {
    ((degree + 1) * (degree + 1)) as usize
}

/// Planes of the SH group: coefficient-major RGB, plane `3 * k + channel`.
#[must_use]
pub const fn sh_planes(degree: u32) -> u32 {
    3 * (degree + 1) * (degree + 1)
}
