//! Colours of vertices from what views show of them.

use super::fusion::{to_grid, truncation_at};
use super::gaussian::View;
use kiln_kernels::fusion::Voxels;
use kiln_scene::math::{Real, Vec3, dot, norm};

/// Weight of a vertex that is seen edge on or at an angle that is not known.
const UNKNOWN_COSINE: f64 = 0.1;

/// A render with its depth: colour and transmittance, depth and normal per pixel, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, R> {
    /// Colour over the background, and transmittance.
    pub image: &'a [[R; 4]],
    /// Depth, 0 for none, and normal, 0 for none.
    pub map: &'a [(R, Vec3<R>)],
    /// Behind the render.
    pub background: Vec3<R>,
}

/// What a view adds to the sums of a vertex: its colour times the weight, and the weight; none when it does not see it.
#[must_use]
pub fn color<R: Real>(v: &Voxels, view: &View<R>, seen: &Seen<'_, R>, vertex: Vec3<R>) -> Option<(Vec3<R>, R)> {
    let p = view.to_camera(vertex);
    if p[2].is_nan() || p[2] <= R::ZERO {
        return None;
    }
    let half = R::of(0.5);
    let pixel: [f64; 2] = std::array::from_fn(|a| {
        let at = view.focal[a] * p[a] / p[2] + (view.centre[a] - half);
        (at + half).floor().to_f64()
    });
    let inside = (0..2).all(|a| pixel[a] >= 0.0 && pixel[a] < f64::from(view.size_px[a]));
    if !inside {
        return None;
    }
    let at = (pixel[1] * f64::from(view.size_px[0]) + pixel[0]) as usize;
    let (depth, normal) = seen.map[at];
    if depth == R::ZERO || (depth - p[2]).abs() > truncation_at(v, to_grid(v, vertex)) {
        return None;
    }
    let least = R::of(UNKNOWN_COSINE);
    let cosine = if normal == [R::ZERO; 3] {
        least
    } else {
        (-dot(normal, p) / norm(p)).max(least)
    };
    let weight = cosine / (p[2] * p[2]);
    let [r, g, b, t] = seen.image[at];
    let bare = |c: R, back: R| ((c - t * back) / (R::ONE - t)).max(R::ZERO).min(R::ONE);
    let [br, bg, bb] = seen.background;
    Some((
        [weight * bare(r, br), weight * bare(g, bg), weight * bare(b, bb)],
        weight,
    ))
}
