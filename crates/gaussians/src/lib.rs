//! The model: what a Gaussian is made of, how a scene is initialised, how attributes are laid out.
//!
//! This layer knows nothing of Vulkan. The host-side [`Gaussians`] is what initialisation makes, what PLY files
//! hold and what the CPU twins compute on; the device keeps the same values as planes (see [`layout`]).

pub mod background;
pub mod bound;
pub mod init;
pub mod layout;
pub mod morton;
pub mod neighbors;
pub mod triangles;

/// Host-side model: one entry per Gaussian, stored as the optimiser sees it (before activation).
///
/// All vectors have the same length in Gaussians. `sh_rest` has `(sh_degree + 1)^2 - 1` coefficients a Gaussian,
/// each an RGB triple, coefficient-major (`[gaussian][coefficient][channel]`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaussians {
    /// Highest spherical-harmonics degree stored, 0..=3.
    pub sh_degree: u32,
    /// World-space centres.
    pub means: Vec<[f32; 3]>,
    /// Rotations as (w, x, y, z), not necessarily normalised.
    pub quats: Vec<[f32; 4]>,
    /// Natural logarithms of the three standard deviations.
    pub log_scales: Vec<[f32; 3]>,
    /// Opacities before the sigmoid.
    pub logit_opacities: Vec<f32>,
    /// Degree-0 colour coefficients.
    pub sh0: Vec<[f32; 3]>,
    /// Higher-degree coefficients, `[gaussian][coefficient][channel]` flattened.
    pub sh_rest: Vec<f32>,
    /// Standard deviation of the 3D smoothing filter, world units; 0 when absent.
    pub filter_3d: Vec<f32>,
}

impl Gaussians {
    /// An empty model of a degree with room for `count` Gaussians.
    #[must_use]
    pub fn with_room(sh_degree: u32, count: usize) -> Self {
        let rest = 3 * (layout::sh_coefficients(sh_degree) - 1);
        Self {
            sh_degree,
            means: Vec::with_capacity(count),
            quats: Vec::with_capacity(count),
            log_scales: Vec::with_capacity(count),
            logit_opacities: Vec::with_capacity(count),
            sh0: Vec::with_capacity(count),
            sh_rest: Vec::with_capacity(count * rest),
            filter_3d: Vec::with_capacity(count),
        }
    }

    /// Adds a Gaussian of a file, whatever its values are, and `rest` of its further coefficients.
    pub fn push(&mut self, splat: &kiln_formats::Splat, rest: usize, filter_3d: f32) {
        self.means.push(splat.mean);
        self.quats.push(splat.quat);
        self.log_scales.push(splat.log_scale);
        self.logit_opacities.push(splat.opacity.logit());
        self.sh0.push(splat.sh0);
        self.sh_rest.extend_from_slice(splat.rest[..rest].as_flattened());
        self.filter_3d.push(filter_3d);
    }

    /// Number of Gaussians.
    #[must_use]
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// Coefficients beyond degree 0 for this model's SH degree: 0, 3, 8 or 15.
    #[must_use]
    pub fn rest_coefficients(&self) -> usize {
        layout::sh_coefficients(self.sh_degree) - 1
    }

    /// Bytes that a Gaussian of a degree takes in host memory.
    #[must_use]
    pub const fn host_bytes(sh_degree: u32) -> u64 {
        // Centre, rotation, scales, opacity, filter; a colour for each coefficient.
        4 * (3 + 4 + 3 + 1 + 1) + 12 * layout::sh_coefficients(sh_degree) as u64
    }

    /// Moves all centres by a step that may be larger than f32 is fine, world units.
    pub fn move_by(&mut self, step: [f64; 3]) {
        for (value, step) in self.means.iter_mut().flat_map(|mean| mean.iter_mut().zip(step)) {
            *value = (f64::from(*value) + step) as f32;
        }
    }

    /// The Gaussians at `places`, in that order; places beyond the end are passed over.
    #[must_use]
    pub fn taken(&self, places: &[usize]) -> Self {
        fn taken<T: Copy>(values: &[T], places: &[usize]) -> Vec<T> {
            places.iter().filter_map(|&i| values.get(i).copied()).collect()
        }
        let rest = 3 * self.rest_coefficients();
        let rest_of = |&i: &usize| self.sh_rest.get(i * rest..(i + 1) * rest).unwrap_or_default();
        Self {
            sh_degree: self.sh_degree,
            means: taken(&self.means, places),
            quats: taken(&self.quats, places),
            log_scales: taken(&self.log_scales, places),
            logit_opacities: taken(&self.logit_opacities, places),
            sh0: taken(&self.sh0, places),
            sh_rest: places.iter().flat_map(rest_of).copied().collect(),
            filter_3d: taken(&self.filter_3d, places),
        }
    }

    /// Leaves out the Gaussians whose entry in `is_kept` is false; the others stay in their order. Missing entries are true.
    pub fn keep(&mut self, is_kept: &[bool]) {
        fn keep<T>(values: &mut Vec<T>, is_kept: &[bool], each: usize) {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                is_kept.get((at - 1) / each).copied().unwrap_or(true)
            });
        }
        let rest = 3 * self.rest_coefficients();
        keep(&mut self.means, is_kept, 1);
        keep(&mut self.quats, is_kept, 1);
        keep(&mut self.log_scales, is_kept, 1);
        keep(&mut self.logit_opacities, is_kept, 1);
        keep(&mut self.sh0, is_kept, 1);
        keep(&mut self.sh_rest, is_kept, rest.max(1));
        keep(&mut self.filter_3d, is_kept, 1);
    }

    /// Leaves out all but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        let rest = 3 * self.rest_coefficients();
        self.means.truncate(count);
        self.quats.truncate(count);
        self.log_scales.truncate(count);
        self.logit_opacities.truncate(count);
        self.sh0.truncate(count);
        self.sh_rest.truncate(count * rest);
        self.filter_3d.truncate(count);
    }

    /// Puts the Gaussians of `other`, a model of the same degree, behind those of this one.
    pub fn append(&mut self, mut other: Self) {
        self.means.append(&mut other.means);
        self.quats.append(&mut other.quats);
        self.log_scales.append(&mut other.log_scales);
        self.logit_opacities.append(&mut other.logit_opacities);
        self.sh0.append(&mut other.sh0);
        self.sh_rest.append(&mut other.sh_rest);
        self.filter_3d.append(&mut other.filter_3d);
    }
}
