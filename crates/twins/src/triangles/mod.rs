//! Triangles with shared vertices, blended front to back (Held et al. 2025, MeshSplatting).
//!
//! A vertex has a position, an opacity and a view-dependent colour; a triangle is as opaque as its faintest vertex. At a point p
//! of the image a triangle counts by the window `I = (phi(p) / phi(c))^sigma` with `phi` the largest signed distance to its
//! edges, negative inside, and c its incentre: 1 in the middle, 0 at the border, and for `sigma` near 0 as good as 1 inside.
//! Colour and depth are affine between the projected vertices.
//!
//! Images are drawn with `samples` times `samples` samples a pixel and averaged. All lengths in the image, those of culls
//! included, are in samples, whose centres are integers.

pub mod backward;
pub mod normals;
pub mod project;
pub mod rasterize;
pub mod update;
pub mod window;

#[cfg(test)]
mod tests;

use super::sh::SH_MAX;
use kiln_gaussians::layout;
use kiln_gaussians::triangles::TriangleModel;
use kiln_scene::math::{Real, Vec3};

/// Which derivatives the backward pass has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradient {
    /// Those that the method was published and tuned with. Missing are: colour and depth by where the vertices lie on the image,
    /// the window by its incentre, normals by anything, colour by the direction it is seen from.
    Published,
    /// All of them.
    Exact,
}

/// What a view of triangles is drawn by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Exponent of the window, above 0.
    pub sigma: f64,
    /// Least opacity of a vertex, below 1.
    pub opacity_floor: f64,
    /// Samples of a pixel along one axis.
    pub samples: u32,
    /// SH degree in use, 0..=3.
    pub sh_degree: u32,
    /// Which derivatives there are.
    pub gradient: Gradient,
}

/// Trained values of a vertex; also the shape of their gradient and of each optimiser moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex<R> {
    /// World-space position.
    pub position: Vec3<R>,
    /// Opacity before activation.
    pub weight: R,
    /// SH coefficients, RGB each; those above the model's degree are 0.
    pub sh: [Vec3<R>; SH_MAX],
}

/// Scalars of a [`Vertex`] in the order of [`Vertex::values`].
pub const VALUES: usize = 4 + 3 * SH_MAX;

impl<R: Real> Vertex<R> {
    /// All zeros: an empty gradient or moment.
    pub const ZERO: Self = Self {
        position: [R::ZERO; 3],
        weight: R::ZERO,
        sh: [[R::ZERO; 3]; SH_MAX],
    };

    /// The model's vertices, converted.
    #[must_use]
    pub fn from_model(model: &TriangleModel) -> Vec<Self> {
        let of = |v: f32| R::of(f64::from(v));
        let rest = layout::sh_coefficients(model.degree) - 1;
        (0..model.positions.len())
            .map(|i| {
                let mut sh = [[R::ZERO; 3]; SH_MAX];
                sh[0] = model.sh0[i].map(of);
                for k in 0..rest {
                    let at = 3 * (i * rest + k);
                    sh[1 + k] = std::array::from_fn(|c| of(model.sh_rest[at + c]));
                }
                Self {
                    position: model.positions[i].map(of),
                    weight: of(model.weights[i]),
                    sh,
                }
            })
            .collect()
    }

    /// Every scalar, in the order of the device's planes: position, weight, SH coefficient-major.
    #[must_use]
    pub fn values(&self) -> [R; VALUES] {
        let mut values = [R::ZERO; VALUES];
        values[0..3].copy_from_slice(&self.position);
        values[3] = self.weight;
        values[4..].copy_from_slice(self.sh.as_flattened());
        values
    }

    /// Inverse of [`Vertex::values`].
    #[must_use]
    pub fn from_values(values: &[R; VALUES]) -> Self {
        Self {
            position: std::array::from_fn(|i| values[i]),
            weight: values[3],
            sh: std::array::from_fn(|k| std::array::from_fn(|c| values[4 + 3 * k + c])),
        }
    }
}
