//! How a Gaussian's values are laid out in device memory.
//!
//! Values live in *planes* of 32-bit words: plane `p` of a chunk with stride `s` holds word `p` of Gaussian `i` at index
//! `p * s + i`, so that neighbouring threads touch neighbouring words. Two plane groups exist, `geometry` (always
//! f32) and `sh` (degree-dependent); the optimiser keeps one first and one second moment for every value.
//!
//! [`Storage`] says how many bits a value takes. Where it is fewer than 32, consecutive values of one Gaussian share a
//! word, the first in the lowest bits: a Gaussian never shares a word with another, so that moving it copies words. The
//! codes are those of `kiln_twins::codes`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gaussians in a full chunk where nothing is known of the device: 2^19 keeps every plane group under a 128 MiB storage-buffer
/// binding.
pub const CHUNK: u32 = 1 << 19;
/// Most Gaussians in a chunk: a plane group of twice as many would not fit in a block.
const LARGEST_CHUNK: u32 = 1 << 22;

/// Gaussians in a full chunk on a device whose tensors have at most `tensor_bytes`: as many as fit, since every chunk costs a
/// dispatch a pass, also one without Gaussians.
#[must_use]
pub fn chunk_within(tensor_bytes: u64) -> u32 {
    // The widest group: all coefficients, and in how many steps they took part.
    let bytes = |chunk: u32| 4 * (u64::from(sh_planes(3)) + 1) * u64::from(chunk);
    let mut chunk = CHUNK;
    while chunk < LARGEST_CHUNK && bytes(2 * chunk) <= tensor_bytes {
        chunk *= 2;
    }
    chunk
}

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
/// First plane of the turn in the plane of its triangle, a complex number (real, imaginary): of bound Gaussians alone, whose means
/// and rotations follow from their triangle.
pub const PLANE_TURN: u32 = 11;
/// Planes of the geometry that have moments where Gaussians are bound: two scales, the turn, the opacity.
pub const BOUND_LEARNED_PLANES: u32 = 5;
/// Planes of the statistics of densification.
pub const STATISTICS_PLANES: u32 = 3;
/// Planes of what pulls at a bound Gaussian, in the place of statistics: a force and a torque.
pub const BOUND_PULL_PLANES: u32 = 6;

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

/// `memory.storage`: how many bits the values of a Gaussian take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// Everything f32.
    #[default]
    Exact,
    /// Colours and their moments 16-bit, geometry and its moments f32.
    Half,
    /// Colours 16-bit, their moments 8-bit, geometry f32, its moments 16-bit.
    Compact,
}

/// Words a Gaussian takes in each tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePlanes {
    /// Means, rotations, log scales, opacity.
    pub geometry: u32,
    /// First moments of the geometry.
    pub geometry_m: u32,
    /// Second moments of the geometry.
    pub geometry_v: u32,
    /// SH coefficients.
    pub sh: u32,
    /// First moments of SH.
    pub sh_m: u32,
    /// Second moments of SH. Codes below f32 are relative to a scale, which is plane 0. The last plane counts the
    /// optimiser steps that SH took part in, f32, where `deferred`.
    pub sh_v: u32,
    /// Statistics of densification; where Gaussians are bound, what pulls at one in a step.
    pub statistics: u32,
    /// SH out of view waits for its optimiser steps, see `kiln_kernels::catch_up`.
    pub deferred: bool,
    /// Gaussians are bound to triangles.
    pub bound: bool,
}

impl StatePlanes {
    /// The moments' tensors in the order of the fields.
    #[must_use]
    pub const fn moments(&self) -> [u32; 4] {
        [self.geometry_m, self.geometry_v, self.sh_m, self.sh_v]
    }

    /// The same with a count of SH's optimiser steps.
    #[must_use]
    pub const fn with_deferred_sh(self) -> Self {
        Self {
            sh_v: self.sh_v + 1,
            deferred: true,
            ..self
        }
    }

    /// The same for Gaussians on triangles, of which two scales, the turn and the opacity are learned.
    #[must_use]
    pub const fn on_triangles(self) -> Self {
        let moments = if self.geometry_m < GEOMETRY_PLANES {
            BOUND_LEARNED_PLANES.div_ceil(2)
        } else {
            BOUND_LEARNED_PLANES
        };
        Self {
            geometry: PLANE_TURN + 2,
            geometry_m: moments,
            geometry_v: moments,
            statistics: BOUND_PULL_PLANES,
            bound: true,
            ..self
        }
    }

    /// Planes of the statistics that outlast a step.
    #[must_use]
    pub const fn kept_statistics(&self) -> u32 {
        if self.bound { 0 } else { self.statistics }
    }

    /// Plane of the second moments of SH that counts optimiser steps; none where all Gaussians take part in each.
    #[must_use]
    pub const fn seen_plane(&self) -> Option<u32> {
        if self.deferred { Some(self.sh_v - 1) } else { None }
    }

    /// Words of all tensors.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.geometry + self.geometry_m + self.geometry_v + self.sh + self.sh_m + self.sh_v
    }
}

impl Storage {
    /// The word in a profile.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Half => "half",
            Self::Compact => "compact",
        }
    }

    /// Words a Gaussian takes. Shaders work on four consecutive SH values at a time, so 16-bit values of degrees 0 and
    /// 2 leave the last half of their last word unused.
    #[must_use]
    pub const fn planes(self, sh_degree: u32) -> StatePlanes {
        let (geometry, sh) = (GEOMETRY_PLANES, sh_planes(sh_degree));
        let quads = sh.div_ceil(4);
        let (moments, sh, sh_moments, scale) = match self {
            Self::Exact => (geometry, sh, sh, 0),
            Self::Half => (geometry, 2 * quads, 2 * quads, 1),
            Self::Compact => (geometry.div_ceil(2), 2 * quads, quads, 1),
        };
        StatePlanes {
            geometry,
            geometry_m: moments,
            geometry_v: moments,
            sh,
            sh_m: sh_moments,
            sh_v: scale + sh_moments,
            statistics: STATISTICS_PLANES,
            deferred: false,
            bound: false,
        }
    }

    /// Plane of the moments that has nothing but the opacity's.
    #[must_use]
    pub const fn opacity_moment_plane(self) -> u32 {
        match self {
            Self::Exact | Self::Half => PLANE_OPACITY,
            // Eleven values: the last is alone in its word.
            Self::Compact => PLANE_OPACITY / 2,
        }
    }
}

/// Largest quotient of a first moment and the root of its second that codes below f32 can hold. With decays of 0.9 and 0.999 no
/// gradients lead beyond 7.3: by Cauchy and Schwarz it is at most `(1 - b1) / sqrt((1 - b2) (1 - b1^2 / b2))`.
pub const MOMENT_RATIO: f32 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_gaussians_have_moments_of_what_they_learn() {
        for (storage, moments) in [(Storage::Exact, 5), (Storage::Half, 5), (Storage::Compact, 3)] {
            let free = storage.planes(3);
            let bound = free.on_triangles();
            assert_eq!(
                (bound.geometry, bound.geometry_m, bound.geometry_v),
                (13, moments, moments)
            );
            assert_eq!((bound.sh, bound.sh_m, bound.sh_v), (free.sh, free.sh_m, free.sh_v));
            assert_eq!([free.kept_statistics(), bound.kept_statistics()], [3, 0]);
        }
    }

    #[test]
    fn words_of_every_degree() {
        for (degree, half, compact) in [
            (0, (2, 2), (2, 1)),
            (1, (6, 6), (6, 3)),
            (2, (14, 14), (14, 7)),
            (3, (24, 24), (24, 12)),
        ] {
            let of = |storage: Storage| storage.planes(degree);
            let sh = 3 * (degree + 1) * (degree + 1);
            assert_eq!(of(Storage::Exact).total(), 3 * (11 + sh));
            for (storage, (words, moments), geometry) in [(Storage::Half, half, 11), (Storage::Compact, compact, 6)] {
                let planes = of(storage);
                assert_eq!((planes.sh, planes.sh_m, planes.sh_v), (words, moments, 1 + moments));
                assert_eq!(
                    (planes.geometry, planes.geometry_m, planes.geometry_v),
                    (11, geometry, geometry)
                );
                assert!(2 * planes.sh >= sh, "every value has a place");
            }
        }
    }
}
