//! Agreement of blended normals with those of the median depth: the mean over all pixels of `1 - N . (A n)` with the blended
//! normal N, the coverage A and the normal n of the depth around the pixel, where there is one. Only N is moved by it.

use super::rasterize::Pixel;
use crate::gaussian::View;
use kiln_scene::math::{Real, Vec3, cross, dot, norm, sub};

/// Mean disagreement and, for every pixel, its gradient by the blended normal.
#[must_use]
pub fn normals_loss<R: Real>(pixels: &[Pixel<R>], view: &View<R>) -> (R, Vec<Vec3<R>>) {
    let [width, height] = view.size_px;
    let share = R::ONE / R::of(f64::from(width * height));
    let half = R::of(0.5);
    let ray = |x: u32, y: u32| -> Vec3<R> {
        let slope = |i: usize, at: u32| (R::of(f64::from(at)) - (view.centre[i] - half)) / view.focal[i];
        [slope(0, x), slope(1, y), R::ONE]
    };
    let depth = |x: u32, y: u32| pixels[(y * width + x) as usize].median;
    let point = |x: u32, y: u32| ray(x, y).map(|v| v * depth(x, y));
    let normal = |x: u32, y: u32| -> Option<Vec3<R>> {
        if x == 0 || y == 0 || x + 1 >= width || y + 1 >= height {
            return None;
        }
        let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
        // Comparisons that NaN fails.
        let known = around.iter().all(|&(x, y)| depth(x, y) > R::ZERO);
        if !known {
            return None;
        }
        let across = sub(point(x + 1, y), point(x - 1, y));
        let n = cross(across, sub(point(x, y + 1), point(x, y - 1)));
        let size = norm(n);
        let turn = if dot(n, ray(x, y)) > R::ZERO { -R::ONE } else { R::ONE };
        (size > R::ZERO).then(|| n.map(|v| turn * v / size))
    };
    let mut loss = R::ZERO;
    let mut gradient = Vec::with_capacity(pixels.len());
    for (i, pixel) in (0..).zip(pixels) {
        let n = normal(i % width, i / width).unwrap_or([R::ZERO; 3]);
        let wanted = n.map(|v| v * (R::ONE - pixel.transmittance));
        loss += (R::ONE - dot(pixel.normal, wanted)) * share;
        gradient.push(wanted.map(|v| -(v * share)));
    }
    (loss, gradient)
}
