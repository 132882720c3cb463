//! Ray jitter: the sub-pixel offsets of a training step, and the image sampled at them.
//!
//! Options `ray_jitter` and `resample_gt_image` of Mip-Splatting (Yu et al. 2024): every pixel is rendered at a random
//! point of its square, and, resampled, compared with the photograph at that point.

use super::rng;
use crate::kernels::generated::common::CHANNEL_JITTER;
use crate::math::{Real, Vec3};

/// Farthest that a sample lies from its pixel's centre along an axis, pixels.
pub const REACH_PX: f64 = 0.5;

/// Key of a step's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Seed of the run.
    pub seed: u32,
    /// Iteration.
    pub iteration: u32,
}

impl Jitter {
    /// Offset of the sample of pixel number `pixel`, row by row: uniform in `[-0.5, 0.5)` on both axes, 16 bits each.
    #[must_use]
    pub fn offset<R: Real>(self, pixel: u32) -> [R; 2] {
        let bits = rng::bits(self.seed, self.iteration, pixel, CHANNEL_JITTER);
        [bits & 0xffff, bits >> 16].map(|half| R::of(f64::from(half) / 65_536.0 - REACH_PX))
    }
}

/// Where pixel (x, y) of an image `width_px` wide is sampled: at its centre, or jittered.
#[must_use]
pub fn sample_point<R: Real>(jitter: Option<Jitter>, width_px: u32, x: u32, y: u32) -> [R; 2] {
    let centre = [x, y].map(|v| R::of(f64::from(v)));
    match jitter {
        None => centre,
        Some(jitter) => {
            let offset = jitter.offset::<R>(y * width_px + x);
            [centre[0] + offset[0], centre[1] + offset[1]]
        }
    }
}

/// The image as the jittered samples see it: bilinear between pixel centres, clamped to the outermost ones.
#[must_use]
pub fn resample<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], jitter: Jitter) -> Vec<Vec3<R>> {
    let [width, height] = size_px;
    let at = |x: usize, y: usize| image[y * width as usize + x];
    (0..width * height)
        .map(|pixel| {
            let point = sample_point::<R>(Some(jitter), width, pixel % width, pixel / width);
            let axis = |i: usize| {
                let last = size_px[i] - 1;
                let clamped = point[i].max(R::ZERO).min(R::of(f64::from(last)));
                let low = clamped.floor();
                let index = low.to_f64() as usize;
                (index, (index + 1).min(last as usize), clamped - low)
            };
            let ((x0, x1, sx), (y0, y1, sy)) = (axis(0), axis(1));
            std::array::from_fn(|c| {
                let mix = |a: R, b: R, share: R| a * (R::ONE - share) + b * share;
                let top = mix(at(x0, y0)[c], at(x1, y0)[c], sx);
                let bottom = mix(at(x0, y1)[c], at(x1, y1)[c], sx);
                mix(top, bottom, sy)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JITTER: Jitter = Jitter { seed: 3, iteration: 70 };

    #[test]
    fn offsets_fill_the_pixel_evenly_and_change_with_every_part_of_the_key() {
        let n = 20_000;
        let offsets: Vec<[f64; 2]> = (0..n).map(|pixel| JITTER.offset(pixel)).collect();
        assert!(offsets.as_flattened().iter().all(|v| (-0.5..0.5).contains(v)));
        let mean = |of: &dyn Fn(&[f64; 2]) -> f64| offsets.iter().map(of).sum::<f64>() / f64::from(n);
        for axis in 0..2 {
            assert!(mean(&|o| o[axis]).abs() < 0.01);
            assert!((mean(&|o| o[axis] * o[axis]) - 1.0 / 12.0).abs() < 0.003);
        }
        assert!(mean(&|o| o[0] * o[1]).abs() < 0.003, "the axes are independent");
        let other = |seed, iteration, pixel| Jitter { seed, iteration }.offset::<f64>(pixel);
        for offset in [other(4, 70, 0), other(3, 71, 0), other(3, 70, 1)] {
            assert_ne!(offset, offsets[0]);
        }
    }

    #[test]
    fn a_ramp_is_sampled_where_the_rays_go_and_clamped_at_the_border() {
        let size = [9, 7];
        let ramp: Vec<Vec3<f64>> = (0..63).map(|i| [f64::from(i % 9), f64::from(i / 9), 5.0]).collect();
        let mut clamped = 0;
        for (pixel, value) in (0..).zip(resample(size, &ramp, JITTER)) {
            let point: [f64; 2] = sample_point(Some(JITTER), 9, pixel % 9, pixel / 9);
            let wanted = [point[0].clamp(0.0, 8.0), point[1].clamp(0.0, 6.0)];
            clamped += usize::from(wanted != point);
            assert!((value[0] - wanted[0]).abs() < 1e-12 && (value[1] - wanted[1]).abs() < 1e-12);
            assert!((value[2] - 5.0).abs() < 1e-12);
        }
        assert!(clamped > 5);
        assert_eq!(resample([1, 1], &[[0.25; 3]], JITTER), [[0.25; 3]]);
    }
}
