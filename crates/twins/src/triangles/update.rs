//! Vertices: what their triangles owe to them, gathered in the order of the triangles, and the optimiser's step.

use super::backward::FacetGradient;
use super::project::{Projected, intrinsics};
use super::rasterize::Scene;
use super::{Gradient, Settings, VALUES, Vertex};
use crate::adam::{self, Factors};
use crate::gaussian::View;
use crate::sh::{sh_basis, sh_basis_derivative};
use kiln_scene::math::{Real, Vec3, dot, mat_vec, norm, normalize_backward, scale, sigmoid, sub, transpose};

/// Gradient of a vertex as a view sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenGradient<R> {
    /// By where it lies on the image, per sample.
    pub point: [R; 2],
    /// By its depth.
    pub depth: R,
    /// By its colour.
    pub rgb: Vec3<R>,
    /// By its opacity.
    pub opacity: R,
}

/// Weights of losses that look at vertices and not at pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VertexTerms {
    /// Of the mean over all triangles of their corners' mean opacity.
    pub opacity: f64,
    /// Of the mean distance between vertices in view and the median depth where they lie.
    pub depth: f64,
    /// Vertices that far from the median depth or farther do not count, world units.
    pub depth_most: f64,
}

/// What the term of depths makes of a vertex: its distance from the median depth of the pixel it lies in, or `None` where it
/// does not count.
#[must_use]
pub fn depth_off<R: Real>(seen: &Projected<R>, view: &View<R>, samples: u32, median: &[R], most: f64) -> Option<R> {
    // Comparisons that NaN fails.
    let before = seen.z > view.near_z;
    if !before {
        return None;
    }
    let pixel = pixel_of(seen.point, view.size_px, samples)?;
    let off = seen.z - median[pixel];
    (median[pixel] > R::ZERO && off.abs() < R::of(most)).then_some(off)
}

/// The pixel that a place on the image lies in.
fn pixel_of<R: Real>(point: [R; 2], size_px: [u32; 2], samples: u32) -> Option<usize> {
    let f = R::of(f64::from(samples));
    let half = R::of(0.5);
    let mut at = [0; 2];
    for i in 0..2 {
        let place = ((point[i] + half) / f).floor();
        let is_in = place >= R::ZERO && place < R::of(f64::from(size_px[i]));
        if !is_in {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "inside the picture"
        )]
        {
            at[i] = place.to_f64() as usize;
        }
    }
    Some(at[1] * size_px[0] as usize + at[0])
}

/// Sums of what the drawn triangles owe to their corners, one entry a vertex, triangles in their order.
#[must_use]
pub fn gather<R: Real>(
    n_vertices: usize,
    triangles: &[[u32; 3]],
    scene: &Scene<R>,
    gradients: &[FacetGradient<R>],
) -> Vec<ScreenGradient<R>> {
    let none = ScreenGradient {
        point: [R::ZERO; 2],
        depth: R::ZERO,
        rgb: [R::ZERO; 3],
        opacity: R::ZERO,
    };
    let mut out = vec![none; n_vertices];
    for (facet, g) in scene.facets.iter().zip(gradients) {
        for (k, &v) in triangles[facet.id as usize].iter().enumerate() {
            let sum = &mut out[v as usize];
            for i in 0..2 {
                sum.point[i] += g.points[k][i];
            }
            sum.depth += g.depths[k];
            for c in 0..3 {
                sum.rgb[c] += g.colors[k][c];
            }
            if k == facet.faintest {
                sum.opacity += g.opacity;
            }
        }
    }
    out
}

/// Gradient of a vertex's values from that of what the view shows of it.
#[must_use]
pub fn vertex_backward<R: Real>(
    vertex: &Vertex<R>,
    seen: &Projected<R>,
    g: &ScreenGradient<R>,
    view: &View<R>,
    settings: &Settings,
) -> Vertex<R> {
    let p = view.to_camera(vertex.position);
    let (focal, _) = intrinsics(view, settings.samples);
    let mut by_camera = [R::ZERO, R::ZERO, g.depth];
    // A vertex behind the camera is corner of nothing that is drawn.
    if g.point != [R::ZERO; 2] {
        for i in 0..2 {
            let by = g.point[i] * focal[i] / p[2];
            by_camera[i] = by;
            by_camera[2] -= by * (p[i] / p[2]);
        }
    }
    let mut out = Vertex::ZERO;
    out.position = mat_vec(transpose(view.rotation), by_camera);

    let away = sub(vertex.position, view.position);
    let length = norm(away);
    let direction = scale(away, R::ONE / length);
    let basis = sh_basis(settings.sh_degree, direction);
    let by_color: Vec3<R> = std::array::from_fn(|c| if seen.clamped[c] { R::ZERO } else { g.rgb[c] });
    for (sum, weight) in out.sh.iter_mut().zip(basis) {
        *sum = by_color.map(|v| weight * v);
    }
    if settings.gradient == Gradient::Exact {
        let slopes = sh_basis_derivative(settings.sh_degree, direction);
        let mut by_direction = [R::ZERO; 3];
        for (slope, coefficient) in slopes.iter().zip(vertex.sh) {
            let pull = dot(coefficient, by_color);
            for i in 0..3 {
                by_direction[i] += slope[i] * pull;
            }
        }
        let by_place = normalize_backward(direction, length, by_direction);
        for (sum, by) in out.position.iter_mut().zip(by_place) {
            *sum += by;
        }
    }
    let s = sigmoid(vertex.weight);
    out.weight = g.opacity * R::of(1.0 - settings.opacity_floor) * s * (R::ONE - s);
    out
}

/// Adds to the gathered gradients what losses over vertices owe, and returns those losses. `corners` counts the triangles of
/// each vertex; `median` has one entry a pixel.
pub fn vertex_terms<R: Real>(
    scene: &Scene<R>,
    corners: &[u32],
    view: &View<R>,
    samples: u32,
    median: &[R],
    terms: &VertexTerms,
    gradients: &mut [ScreenGradient<R>],
) -> R {
    let mut loss = R::ZERO;
    let all: u32 = corners.iter().sum();
    let opacity = R::of(terms.opacity / f64::from(all.max(1)));
    for ((seen, &count), g) in scene.projected.iter().zip(corners).zip(&mut *gradients) {
        let by = opacity * R::of(f64::from(count));
        loss += by * seen.opacity;
        g.opacity += by;
    }
    let offs: Vec<Option<R>> = scene
        .projected
        .iter()
        .zip(corners)
        .map(|(seen, &count)| {
            (count > 0)
                .then(|| depth_off(seen, view, samples, median, terms.depth_most))
                .flatten()
        })
        .collect();
    let counted = offs.iter().flatten().count().max(1);
    let depth = R::of(terms.depth / counted as f64);
    for (off, g) in offs.into_iter().zip(gradients) {
        let Some(off) = off else { continue };
        loss += depth * off.abs();
        if off > R::ZERO {
            g.depth += depth;
        } else if off < R::ZERO {
            g.depth -= depth;
        }
    }
    loss
}

/// The optimiser's constants for each kind of value of a vertex; `None` leaves it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VertexFactors<R> {
    /// Of positions.
    pub position: Option<Factors<R>>,
    /// Of weights.
    pub weight: Option<Factors<R>>,
    /// Of degree-0 colour.
    pub sh0: Option<Factors<R>>,
    /// Of all higher degrees.
    pub sh_rest: Option<Factors<R>>,
}

/// Steps one vertex.
pub fn step<R: Real>(
    factors: &VertexFactors<R>,
    vertex: &mut Vertex<R>,
    moments: &mut [Vertex<R>; 2],
    gradient: &Vertex<R>,
) {
    let (mut values, gradient) = (vertex.values(), gradient.values());
    let [mut first, mut second] = moments.map(|m| m.values());
    let groups = [
        (0..3, &factors.position),
        (3..4, &factors.weight),
        (4..7, &factors.sh0),
        (7..VALUES, &factors.sh_rest),
    ];
    for (range, factors) in groups {
        let Some(factors) = factors else { continue };
        for i in range {
            adam::update(factors, &mut values[i], &mut first[i], &mut second[i], gradient[i]);
        }
    }
    *vertex = Vertex::from_values(&values);
    *moments = [Vertex::from_values(&first), Vertex::from_values(&second)];
}
