//! From the gradient of a picture to that of every drawn triangle.
//!
//! With `g` the gradient by colour, normal and depth of a sample, `value` a triangle's own product with it, `behind` what is
//! blended behind it, and `o` its opacity:
//!
//! ```text
//! d alpha = T (value - behind)          d o = I d alpha          d phi(p) = o d alpha sigma I / phi(p)
//! d colour of corner i = alpha T share_i g                       d phi(c) = -o d alpha sigma I / phi(c)
//! ```
//!
//! The cap of alpha does not stop the gradient: a solid triangle can still learn to be less so.

use super::project::{Facet, Lens, raw_normal, unproject};
use super::rasterize::{ALPHA_MAX, Scene, blend_sample, coverage, list_of, mix, mix_color, samples};
use super::{Gradient, Settings};
use crate::gaussian::View;
use kiln_scene::math::{Real, Vec3, cross, dot, norm, normalize_backward, sub};

/// The cap of alpha that the published backward pass divides transmittances by, where the forward pass has [`ALPHA_MAX`].
pub const PUBLISHED_ALPHA_MAX: f64 = 0.99;

/// Gradient of a loss by what a pixel shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelGradient<R> {
    /// By the colour.
    pub rgb: Vec3<R>,
    /// By the blended normal.
    pub normal: Vec3<R>,
    /// By the blended depth.
    pub depth: R,
    /// By the transmittance itself, beside what the background makes of it.
    pub transmittance: R,
}

/// Gradient of a drawn triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacetGradient<R> {
    /// By where the corners lie on the image, per sample.
    pub points: [[R; 2]; 3],
    /// By the corners' depths.
    pub depths: [R; 3],
    /// By the corners' colours.
    pub colors: [Vec3<R>; 3],
    /// By the opacity.
    pub opacity: R,
    /// By the incircle's radius; zero but for [`Gradient::Exact`], and [`finish`] gives it to the points.
    pub radius: R,
    /// By the normal; likewise.
    pub normal: Vec3<R>,
}

impl<R: Real> FacetGradient<R> {
    /// Nothing accumulated yet.
    pub const ZERO: Self = Self {
        points: [[R::ZERO; 2]; 3],
        depths: [R::ZERO; 3],
        colors: [[R::ZERO; 3]; 3],
        opacity: R::ZERO,
        radius: R::ZERO,
        normal: [R::ZERO; 3],
    };
}

/// Adds one sample's part: of the entries of `list` up to the last that contributed, from the transmittance behind them.
fn backward_sample<R: Real>(
    facets: &[Facet<R>],
    (list, transmittance): (&[u32], R),
    p: [R; 2],
    (g, background): (&PixelGradient<R>, Vec3<R>),
    settings: &Settings,
    out: &mut [FacetGradient<R>],
) {
    let sigma = R::of(settings.sigma);
    let exact = settings.gradient == Gradient::Exact;
    let most = R::of(if exact { ALPHA_MAX } else { PUBLISHED_ALPHA_MAX });
    let mut transmittance = transmittance;
    let mut behind = dot(background, g.rgb) + g.transmittance;
    for &index in list.iter().rev() {
        let facet = &facets[index as usize];
        let Some(cover) = coverage(facet, p, sigma) else {
            continue;
        };
        let alpha = cover.alpha.min(most);
        transmittance = transmittance / (R::ONE - alpha);
        let weight = alpha * transmittance;
        let shares = cover.inside.shares;
        let color = mix_color(shares, &facet.colors);
        let value = dot(color, g.rgb) + dot(facet.normal, g.normal) + mix(shares, facet.depths) * g.depth;
        let d_alpha = transmittance * (value - behind);
        behind += alpha * (value - behind);

        let sum = &mut out[index as usize];
        for (k, share) in shares.into_iter().enumerate() {
            for c in 0..3 {
                sum.colors[k][c] += weight * share * g.rgb[c];
            }
            sum.depths[k] += weight * share * g.depth;
        }
        sum.opacity += cover.window * d_alpha;
        let pull = facet.opacity * d_alpha * sigma * cover.window;
        facet
            .outline
            .distance_backward(p, cover.inside.edge, pull / cover.inside.phi, &mut sum.points);
        if exact {
            sum.radius -= pull / facet.outline.radius;
            let pulls: [R; 3] =
                std::array::from_fn(|k| weight * (dot(facet.colors[k], g.rgb) + facet.depths[k] * g.depth));
            facet.outline.affine_backward(shares, pulls, R::ONE, &mut sum.points);
            for c in 0..3 {
                sum.normal[c] += weight * g.normal[c];
            }
        }
    }
}

/// Gives what radius and normal owe to the corners.
fn finish<R: Real>(facet: &Facet<R>, g: &mut FacetGradient<R>, lens: Lens<R>) {
    facet.outline.radius_backward(g.radius, &mut g.points);
    let p: [Vec3<R>; 3] = std::array::from_fn(|k| unproject(facet.outline.points[k], facet.depths[k], lens));
    let raw = raw_normal(p);
    let length = norm(raw);
    let unit = raw.map(|v| v / length);
    let towards = if dot(unit, facet.normal) < R::ZERO {
        -R::ONE
    } else {
        R::ONE
    };
    let by_raw = normalize_backward(unit, length, g.normal.map(|v| v * towards));
    let by_first = cross(sub(p[2], p[0]), by_raw);
    let by_second = cross(by_raw, sub(p[1], p[0]));
    let by_corner = [
        std::array::from_fn(|i| -(by_first[i] + by_second[i])),
        by_first,
        by_second,
    ];
    let (focal, centre) = lens;
    for (k, by) in by_corner.into_iter().enumerate() {
        for i in 0..2 {
            g.points[k][i] += by[i] * facet.depths[k] / focal[i];
            g.depths[k] += by[i] * (facet.outline.points[k][i] - centre[i]) / focal[i];
        }
        g.depths[k] += by[2];
    }
}

/// One gradient a facet of the scene, from that of every pixel.
#[must_use]
pub fn backward<R: Real>(
    scene: &Scene<R>,
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
    gradients: &[PixelGradient<R>],
) -> Vec<FacetGradient<R>> {
    let mut out = vec![FacetGradient::ZERO; scene.facets.len()];
    let sigma = R::of(settings.sigma);
    let f = settings.samples;
    let share = R::ONE / R::of(f64::from(f * f));
    let width = view.size_px[0];
    for (i, g) in (0..).zip(gradients) {
        let at = [i % width, i / width];
        let list = list_of(scene, view, at, f);
        let g = PixelGradient {
            rgb: g.rgb.map(|v| v * share),
            normal: g.normal.map(|v| v * share),
            depth: g.depth * share,
            transmittance: g.transmittance * share,
        };
        for p in samples(at, f) {
            let (sample, last) = blend_sample(&scene.facets, list, p, sigma, |_, _| ());
            let drawn = (&list[..last], sample.transmittance);
            backward_sample(&scene.facets, drawn, p, (&g, background), settings, &mut out);
        }
    }
    if settings.gradient == Gradient::Exact {
        let lens = super::project::intrinsics(view, f);
        for (facet, g) in scene.facets.iter().zip(&mut out) {
            finish(facet, g, lens);
        }
    }
    out
}
