//! Consistency of what a trained view shows with a neighbouring view, and its gradient by blended planes.

use super::gaussian::View;
use super::rng;
use super::surface::{Blended, Plane, pixel_ray};
use kiln_kernels::neighbor_loss::{CHANNEL_PATCH, PairWeights, patch_share};
use kiln_scene::math::{Mat3, Real, Vec3, add, dot, mat_mul, mat_vec, scale, sub, transpose};

/// Pixels of a patch beside its middle.
const RADIUS: u32 = 3;
/// Pixels along the side of a patch.
const SIDE: u32 = 2 * RADIUS + 1;
/// Pixels that come back farther from where they started are not consistent.
const MOST_ERROR_PX: f64 = 1.0;
/// Added to variances of greys: one level of 255, squared.
const LEAST_VARIANCE: f64 = 1.5378700e-5;

/// What a neighbour shows in a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown<R> {
    /// Depth, 0 for none.
    pub depth: R,
    /// Grey of the photo, -1 for none.
    pub grey: R,
}

/// Grey of a photo's pixel, Rec. 601.
pub fn grey<R: Real>([r, g, b]: Vec3<R>) -> R {
    R::of(0.299) * r + R::of(0.587) * g + R::of(0.114) * b
}

/// A trained view, and the neighbour that it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a, R> {
    /// The trained view.
    pub view: &'a View<R>,
    /// Greys of its photo, -1 where a pixel does not count.
    pub greys: &'a [R],
    /// The neighbour.
    pub neighbor: &'a View<R>,
    /// What it shows.
    pub shown: &'a [Shown<R>],
}

/// Rotation and translation from the trained view's camera space to the neighbour's.
type Way<R> = (Mat3<R>, Vec3<R>);

/// A value between pixels, and its slopes per pixel along x and y.
type Between<R> = (R, [R; 2]);

/// Greys of a patch's pixel, own and the neighbour's, and the derivative of the latter by N / D.
type Sample<R> = (R, R, Vec3<R>);

/// The loss, and its gradient by every pixel's blended plane.
#[derive(Clone, Debug)]
pub struct PairLoss<R> {
    /// Weighted sum of both terms.
    pub total: R,
    /// Mean of exp(-e) e over consistent pixels, px.
    pub geometry: R,
    /// Mean of exp(-e) (1 - NCC) over patches.
    pub photometric: R,
    /// Consistent pixels, and patches.
    pub counts: [usize; 2],
    /// Gradient.
    pub gradient: Vec<Plane<R>>,
}

/// Pixels that have a patch in the step of `iteration`, by patch; the last may lie beyond the image.
#[must_use]
pub fn patch_pixels([width, height]: [u32; 2], (seed, iteration): (u32, u32)) -> Vec<u32> {
    let share = patch_share(width * height);
    let pixel = |k: u32| k * share + rng::bits(seed, iteration, k, CHANNEL_PATCH) % share;
    (0..(width * height).div_ceil(share)).map(pixel).collect()
}

impl<R: Real> Pair<'_, R> {
    fn way(&self) -> Way<R> {
        let turn = mat_mul(self.neighbor.rotation, transpose(self.view.rotation));
        let shift = sub(self.neighbor.translation, mat_vec(turn, self.view.translation));
        (turn, shift)
    }

    fn ray(&self, pixel: u32) -> Vec3<R> {
        pixel_ray(self.view, self.place(pixel))
    }

    fn place(&self, pixel: u32) -> [R; 2] {
        let width = self.view.size_px[0];
        [pixel % width, pixel / width].map(|v| R::of(f64::from(v)))
    }

    /// What the neighbour shows on a ray of its own, bilinear between pixels, all four of which have it.
    fn between(&self, [x, y]: [R; 2], of: impl Fn(&Shown<R>) -> Option<R>) -> Option<Between<R>> {
        let half = R::of(0.5);
        let ([fx, fy], [cx, cy]) = (self.neighbor.focal, self.neighbor.centre);
        let at = [x * fx + cx - half, y * fy + cy - half];
        let [width, height] = self.neighbor.size_px;
        let within = |at: R, side: u32| at >= R::ZERO && at <= R::of(f64::from(side) - 1.0);
        if width < 2 || height < 2 || !within(at[0], width) || !within(at[1], height) {
            return None;
        }
        let corner = |at: R, side: u32| (at.to_f64() as u32).min(side - 2);
        let [left, top] = [corner(at[0], width), corner(at[1], height)];
        let [right, down] = [at[0] - R::of(f64::from(left)), at[1] - R::of(f64::from(top))];
        let value = |x: u32, y: u32| of(&self.shown[((top + y) * width + left + x) as usize]);
        let (a, b, c, d) = (value(0, 0)?, value(1, 0)?, value(0, 1)?, value(1, 1)?);
        let (above, below) = (a + right * (b - a), c + right * (d - c));
        let across = (b - a) + down * ((d - c) - (b - a));
        Some((above + down * (below - above), [across, below - above]))
    }

    /// Pixels between a pixel whose depth is `z` and where it comes back to, and the derivative by `z`; none where it does not.
    fn reprojection(&self, pixel: u32, z: R) -> Option<(R, R)> {
        let (turn, shift) = self.way();
        let ray = self.ray(pixel);
        let there = add(mat_vec(turn, scale(ray, z)), shift);
        if there[2].is_nan() || there[2] <= R::ZERO {
            return None;
        }
        let on = [there[0] / there[2], there[1] / there[2]];
        let depth_of = |shown: &Shown<R>| (shown.depth > R::ZERO).then_some(shown.depth);
        let (depth, slope) = self.between(on, depth_of)?;
        let ray_there = [on[0], on[1], R::ONE];
        let back = mat_vec(transpose(turn), sub(scale(ray_there, depth), shift));
        if back[2].is_nan() || back[2] <= R::ZERO {
            return None;
        }
        let [fx, fy] = self.view.focal;
        // Both pixels have the principal point in them.
        let off = [fx * (back[0] / back[2] - ray[0]), fy * (back[1] / back[2] - ray[1])];
        let error = (off[0] * off[0] + off[1] * off[1]).sqrt();
        if error == R::ZERO {
            return Some((error, R::ZERO));
        }
        let by_back = through_projection([off[0] / error * fx, off[1] / error * fy], back);
        let by_point = mat_vec(turn, by_back);
        let by_depth_there = dot(by_point, ray_there);
        let by_on = [0, 1].map(|k| depth * by_point[k] + by_depth_there * slope[k] * self.neighbor.focal[k]);
        let by_there = through_projection(by_on, there);
        Some((error, dot(mat_vec(transpose(turn), by_there), ray)))
    }

    /// 1 - NCC of the patch around a pixel, and the derivative by its plane; none where one of its pixels has no grey.
    fn patch(&self, pixel: u32, plane: &Plane<R>) -> Option<(R, Plane<R>)> {
        let [width, height] = self.view.size_px;
        let [x, y] = [pixel % width, pixel / width];
        if x < RADIUS || y < RADIUS || x + RADIUS >= width || y + RADIUS >= height {
            return None;
        }
        let (turn, shift) = self.way();
        let slant = scale(plane.normal, R::ONE / plane.distance);
        let grey_of = |shown: &Shown<R>| (shown.grey >= R::ZERO).then_some(shown.grey);
        let mut samples: Vec<Sample<R>> = Vec::new();
        for k in 0..SIDE * SIDE {
            let at = (y + k / SIDE - RADIUS) * width + x + k % SIDE - RADIUS;
            let own = self.greys[at as usize];
            if own < R::ZERO {
                return None;
            }
            let ray = self.ray(at);
            let there = sub(mat_vec(turn, ray), scale(shift, dot(slant, ray)));
            if there[2].is_nan() || there[2] <= R::ZERO {
                return None;
            }
            let (seen, slope) = self.between([there[0] / there[2], there[1] / there[2]], grey_of)?;
            let by_on = [0, 1].map(|k| slope[k] * self.neighbor.focal[k]);
            let by_slant = scale(ray, -dot(through_projection(by_on, there), shift));
            samples.push((own, seen, by_slant));
        }
        let share = R::of(1.0 / f64::from(SIDE * SIDE));
        let mean = |of: &dyn Fn(&Sample<R>) -> R| share * samples.iter().map(of).sum::<R>();
        let (f, s) = (mean(&|a| a.0), mean(&|a| a.1));
        let least = R::of(LEAST_VARIANCE);
        let f_variance = mean(&|a| (a.0 - f) * (a.0 - f)) + least;
        let s_variance = mean(&|a| (a.1 - s) * (a.1 - s)) + least;
        let covariance = mean(&|a| (a.0 - f) * (a.1 - s));
        let root = (f_variance * s_variance).sqrt();
        let mut by_slant = [R::ZERO; 3];
        for (own, seen, by) in &samples {
            let by_seen = share / root * (covariance / s_variance * (*seen - s) - (*own - f));
            by_slant = add(by_slant, scale(*by, by_seen));
        }
        let by_plane = Plane {
            normal: scale(by_slant, R::ONE / plane.distance),
            distance: -dot(slant, by_slant) / plane.distance,
        };
        Some((R::ONE - covariance / root, by_plane))
    }

    /// exp(-e) of every pixel of a depth map (see [`super::surface::depth_map`]); 0 where it is not consistent.
    #[must_use]
    pub fn consistency(&self, map: &[(R, Vec3<R>)]) -> Vec<R> {
        let weight = |i: usize| {
            let z = map[i].0;
            let counts = z > R::ZERO && self.greys[i] >= R::ZERO;
            let error = counts.then(|| self.reprojection(i as u32, z)).flatten();
            let consistent = error.filter(|(error, _)| *error < R::of(MOST_ERROR_PX));
            consistent.map_or(R::ZERO, |(error, _)| (-error).exp())
        };
        (0..map.len()).map(weight).collect()
    }

    /// The loss of blended planes whose depths are `map`, with the weights of [`Pair::consistency`] and patches around `pixels`.
    #[must_use]
    pub fn loss(
        &self,
        blended: &[Blended<R>],
        map: &[(R, Vec3<R>)],
        consistency: &[R],
        pixels: &[u32],
        weights: PairWeights,
    ) -> PairLoss<R> {
        let mut gradient = vec![Plane::ZERO; blended.len()];
        let far = |i: usize| self.reprojection(i as u32, map[i].0).unwrap_or_default();
        let consistent: Vec<usize> = (0..map.len()).filter(|i| consistency[*i] > R::ZERO).collect();
        let patch = |pixel: &u32| {
            let i = *pixel as usize;
            let counts = consistency.get(i).is_some_and(|weight| *weight > R::ZERO);
            let patch = counts.then(|| self.patch(*pixel, &blended[i].plane)).flatten();
            patch.map(|(value, by_plane)| (i, value, by_plane))
        };
        let patches: Vec<(usize, R, Plane<R>)> = pixels.iter().filter_map(patch).collect();
        let counts = [consistent.len(), patches.len()];
        let [by_pixel, by_patch] = counts.map(|count| R::of(1.0 / count.max(1) as f64));
        let [geometric, photometric] = [weights.geometry, weights.photometric].map(|weight| R::of(weight.into()));
        let geometry = by_pixel * consistent.iter().map(|i| consistency[*i] * far(*i).0).sum::<R>();
        for i in consistent {
            let by_depth = geometric * by_pixel * consistency[i] * far(i).1;
            let ray = self.ray(i as u32);
            let Plane { normal, distance } = blended[i].plane;
            let slope = -dot(normal, ray);
            gradient[i] = Plane {
                normal: scale(ray, by_depth * distance / (slope * slope)),
                distance: by_depth / slope,
            };
        }
        let mean = by_patch * patches.iter().map(|(i, value, _)| consistency[*i] * *value).sum::<R>();
        for (i, _, by_plane) in patches {
            let factor = photometric * by_patch * consistency[i];
            let to = &mut gradient[i];
            to.normal = add(to.normal, scale(by_plane.normal, factor));
            to.distance += factor * by_plane.distance;
        }
        PairLoss {
            total: geometric * geometry + photometric * mean,
            geometry,
            photometric: mean,
            counts,
            gradient,
        }
    }
}

/// Gradient by a point whose x/z and y/z have the gradient `by`.
fn through_projection<R: Real>([x, y]: [R; 2], point: Vec3<R>) -> Vec3<R> {
    let z = point[2];
    [x / z, y / z, -(x * point[0] + y * point[1]) / (z * z)]
}

#[cfg(test)]
mod tests;
