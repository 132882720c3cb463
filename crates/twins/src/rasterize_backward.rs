//! Gradient of the image with respect to every visible record.
//!
//! Walks each pixel's list back to front from the last contributor and recovers the transmittance before a Gaussian by
//! dividing by `1 - alpha`. With `g` the pixel's gradient and `behind` the colour blended behind the Gaussian:
//!
//! ```text
//! d rgb += alpha T g
//! d alpha = T (rgb - behind) . g - T_final / (1 - alpha) (background . g + g_T)      g_T: a loss of T_final itself
//! d opacity += e^power d alpha                     P = d power = e^power opacity d alpha
//! d mean_px = -P (A dx + B dy, B dx + C dy)        d conic = -P (dx^2 / 2, dx dy, dy^2 / 2)
//! ```
//!
//! A loss of surfaces adds the gradients G of the blended plane, to which no background contributes: with p the Gaussian's plane
//! (n, d) and `behind` what is blended behind it, d p += alpha T G and d alpha += T (p - behind) . G.
//!
//! The clamp of alpha at 0.99 does not stop the gradient: a saturated Gaussian can still learn to be less so.

use super::project::Visible;
use super::rasterize::{Raster, TileLists, coverage, pixel_list};
use super::surface::Plane;
use kiln_scene::math::{Real, Vec3, dot, scale};

/// Gradient of one visible record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient2d<R> {
    /// Of the centre, per pixel.
    pub mean_px: [R; 2],
    /// Of the conic's A, B, C.
    pub conic: [R; 3],
    /// Of the opacity after both filters.
    pub opacity: R,
    /// Of the colour.
    pub rgb: Vec3<R>,
    /// Sum over pixels of |x| + |y| of that pixel's centre gradient in units of half the image (normalised device
    /// coordinates): opposite pulls do not cancel. Yu et al. 2024 (Gaussian Opacity Fields), section on densification.
    pub abs_ndc: R,
    /// Of its plane; zero where no loss looks at surfaces.
    pub plane: Plane<R>,
}

impl<R: Real> Gradient2d<R> {
    /// Nothing accumulated yet.
    pub const ZERO: Self = Self {
        mean_px: [R::ZERO; 2],
        conic: [R::ZERO; 3],
        opacity: R::ZERO,
        rgb: [R::ZERO; 3],
        abs_ndc: R::ZERO,
        plane: Plane::ZERO,
    };
}

/// Gradients of a loss by what rasterisation makes of each pixel.
#[derive(Clone, Copy, Debug)]
pub struct ImageGradients<'a, R> {
    /// By the colour; one entry a pixel.
    pub rgb: &'a [Vec3<R>],
    /// By the final transmittance itself, beside what the background makes of it; one entry a pixel.
    pub transmittance: Option<&'a [R]>,
    /// By the blended planes.
    pub surface: Option<SurfaceGradients<'a, R>>,
}

/// Gradients of a loss by blended planes.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceGradients<'a, R> {
    /// What was blended: a plane for each visible record.
    pub planes: &'a [Plane<R>],
    /// By the blended plane; one entry a pixel.
    pub by_pixel: &'a [Plane<R>],
    /// By the final transmittance, through the coverage that planes are compared with; one entry a pixel.
    pub by_transmittance: &'a [R],
}

/// Factors from a gradient per pixel to one per normalised device coordinate: half the image size.
#[must_use]
pub fn ndc_scale<R: Real>(size_px: [u32; 2]) -> [R; 2] {
    size_px.map(|size| R::of(0.5 * f64::from(size)))
}

/// What one pixel knows.
struct Pixel<'a, R> {
    /// The tile's list cut at the last contributor.
    list: &'a [u32],
    /// Where it is sampled.
    centre: [R; 2],
    gradient: Vec3<R>,
    /// Of the final transmittance itself, beside what the background makes of it.
    transmittance_gradient: R,
    final_transmittance: R,
    /// Planes of all records, and the gradient by their blend here.
    surface: Option<(&'a [Plane<R>], Plane<R>)>,
}

/// Adds one pixel's part to the records.
fn backward_pixel<R: Real>(
    visible: &[Visible<R>],
    pixel: &Pixel<'_, R>,
    background: Vec3<R>,
    half_size: [R; 2],
    out: &mut [Gradient2d<R>],
) {
    let g = pixel.gradient;
    let background_g = dot(background, g) + pixel.transmittance_gradient;
    let mut transmittance = pixel.final_transmittance;
    let mut behind = [R::ZERO; 3];
    let mut plane_behind = R::ZERO;
    for &index in pixel.list.iter().rev() {
        let splat = &visible[index as usize];
        let Some(cover) = coverage(splat.mean_px, splat.conic, splat.opacity, pixel.centre) else {
            continue;
        };
        let through = R::ONE - cover.alpha;
        transmittance = transmittance / through;
        let sum = &mut out[index as usize];

        let contrast: Vec3<R> = std::array::from_fn(|c| splat.rgb[c] - behind[c]);
        let mut d_alpha = transmittance * dot(contrast, g) - pixel.final_transmittance / through * background_g;
        for c in 0..3 {
            sum.rgb[c] += cover.alpha * transmittance * g[c];
            behind[c] = cover.alpha * splat.rgb[c] + through * behind[c];
        }
        if let Some((planes, g)) = pixel.surface {
            let plane = planes[index as usize];
            // Only the product with the gradient is ever needed of what lies behind.
            let value = dot(plane.normal, g.normal) + plane.distance * g.distance;
            d_alpha += transmittance * (value - plane_behind);
            plane_behind = cover.alpha * value + through * plane_behind;
            for (sum, g) in sum.plane.normal.iter_mut().zip(g.normal) {
                *sum += cover.alpha * transmittance * g;
            }
            sum.plane.distance += cover.alpha * transmittance * g.distance;
        }

        sum.opacity += cover.falloff * d_alpha;
        let p = cover.falloff * splat.opacity * d_alpha;
        let [dx, dy] = cover.d;
        let [a, b, c] = splat.conic;
        let d_mean = scale([a * dx + b * dy, b * dx + c * dy], -p);
        let half = R::of(0.5);
        let d_conic = scale([half * dx * dx, dx * dy, half * dy * dy], -p);
        for i in 0..2 {
            sum.mean_px[i] += d_mean[i];
            sum.abs_ndc += (d_mean[i] * half_size[i]).abs();
        }
        for (total, part) in sum.conic.iter_mut().zip(d_conic) {
            *total += part;
        }
    }
}

/// One record per visible Gaussian, from the image gradient (one entry a pixel) and what the forward pass left.
#[must_use]
pub fn rasterize_backward<R: Real>(
    size_px: [u32; 2],
    visible: &[Visible<R>],
    lists: &TileLists,
    background: Vec3<R>,
    raster: &Raster<R>,
    image_gradient: &[Vec3<R>],
) -> Vec<Gradient2d<R>> {
    let gradients = ImageGradients {
        rgb: image_gradient,
        transmittance: None,
        surface: None,
    };
    rasterize_backward_of(size_px, visible, lists, background, raster, &gradients)
}

/// [`rasterize_backward`] of a loss that looks at more than colours.
#[must_use]
pub fn rasterize_backward_of<R: Real>(
    size_px: [u32; 2],
    visible: &[Visible<R>],
    lists: &TileLists,
    background: Vec3<R>,
    raster: &Raster<R>,
    gradients: &ImageGradients<'_, R>,
) -> Vec<Gradient2d<R>> {
    let mut out = vec![Gradient2d::ZERO; visible.len()];
    let half_size = ndc_scale(size_px);
    for y in 0..size_px[1] {
        for x in 0..size_px[0] {
            let i = (y * size_px[0] + x) as usize;
            let pixel = Pixel {
                list: &pixel_list(lists, size_px[0], x, y)[..raster.last[i] as usize],
                centre: [x, y].map(|v| R::of(f64::from(v))),
                gradient: gradients.rgb[i],
                transmittance_gradient: gradients.transmittance.map_or(R::ZERO, |list| list[i])
                    + gradients.surface.map_or(R::ZERO, |surface| surface.by_transmittance[i]),
                final_transmittance: raster.transmittance[i],
                surface: gradients.surface.map(|surface| (surface.planes, surface.by_pixel[i])),
            };
            backward_pixel(visible, &pixel, background, half_size, &mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::TileRect;
    use crate::rasterize::{ALPHA_MAX, rasterize};

    /// One-pixel image behind a stack of Gaussians centred on it, nearest first.
    fn stack(opacities: &[f64]) -> (Vec<Visible<f64>>, TileLists) {
        let visible: Vec<Visible<f64>> = (0..)
            .zip(opacities)
            .map(|(id, &opacity)| Visible {
                id,
                mean_px: [0.5, 0.0],
                depth: 1.0,
                conic: [0.1, 0.0, 0.1],
                opacity,
                rgb: [1.0, 0.5, 0.0],
                clamped: [false; 3],
                radius_px: 10.0,
                rect: TileRect {
                    min: [0, 0],
                    max: [1, 1],
                },
                n_tiles: 1,
            })
            .collect();
        let lists = TileLists {
            ranges: vec![[0, opacities.len() as u32]],
            visible: (0..opacities.len() as u32).collect(),
        };
        (visible, lists)
    }

    #[test]
    fn the_clamp_of_alpha_does_not_stop_the_gradient() {
        // Opacity above 1 cannot come from a sigmoid, but makes the clamp active off the centre.
        let (visible, lists) = stack(&[1.2]);
        let raster = rasterize([1, 1], &visible, &lists, [0.0; 3]);
        assert!((raster.transmittance[0] - (1.0 - ALPHA_MAX)).abs() < 1e-12);
        let g = rasterize_backward([1, 1], &visible, &lists, [0.0; 3], &raster, &[[1.0, 0.0, 0.0]])[0];
        let falloff = (-0.5_f64 * 0.1 * 0.25).exp();
        assert!((g.opacity - falloff).abs() < 1e-12 && (g.rgb[0] - ALPHA_MAX).abs() < 1e-12);
        let p = falloff * 1.2;
        assert!((g.mean_px[0] + p * 0.1 * 0.5).abs() < 1e-12 && g.mean_px[1] == 0.0);
        assert!((g.abs_ndc - g.mean_px[0].abs() * 0.5).abs() < 1e-12);
        assert!((g.conic[0] + p * 0.125).abs() < 1e-12);
    }

    #[test]
    fn blending_stops_before_the_transmittance_floor() {
        // Alphas at the pixel are 0.938, 0.938 and 0.978: 0.0038 is left after two, 0.000085 would be after three.
        let (visible, lists) = stack(&[0.95, 0.95, 0.99, 0.5]);
        let raster = rasterize([1, 1], &visible, &lists, [1.0; 3]);
        assert_eq!(raster.last, [2]);
        let g = rasterize_backward([1, 1], &visible, &lists, [1.0; 3], &raster, &[[1.0; 3]]);
        assert!(g[0] != Gradient2d::ZERO && g[1] != Gradient2d::ZERO);
        assert_eq!(g[2..], [Gradient2d::ZERO; 2]);
    }
}
