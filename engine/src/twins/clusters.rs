//! Bounds of groups of Gaussians, and whether a group is out of view as a whole.
//!
//! The derivation is in `shaders/common/cluster_view.glsl`. One by one, [`project`](super::project::project()) finds nothing
//! visible in a group that is out of view here.

use super::gaussian::Gaussian;
use crate::kernels::uniforms::{StepUniforms, TILE_PX};

/// What rounding can hide of a sum, as a share of what is added up.
const ROUNDING: f32 = 1.0 / 65536.0;
/// The same for deviations.
const SLACK: f32 = 1.001;

/// Box of centres and largest standard deviation of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    /// Corner of the box, world units.
    pub low: [f32; 3],
    /// The opposite one.
    pub high: [f32; 3],
    /// Largest standard deviation, 3D filter included, world units; 0 when nothing is known.
    pub deviation: f32,
}

impl Cluster {
    /// Bounds at least one Gaussian; `filter_3d` has as many entries. Corners are zeros and numbers alike when nothing is
    /// known, as the device leaves them.
    #[must_use]
    pub fn of(gaussians: &[Gaussian<f32>], filter_3d: &[f32]) -> Self {
        let mut bounds = Self {
            low: [f32::INFINITY; 3],
            high: [f32::NEG_INFINITY; 3],
            deviation: 0.0,
        };
        let mut known = true;
        for (g, filter) in gaussians.iter().zip(filter_3d) {
            let scale = g.log_scale.into_iter().fold(f32::NEG_INFINITY, f32::max).exp();
            let deviation = if *filter == 0.0 {
                scale
            } else {
                (scale * scale + filter * filter).sqrt()
            };
            let norm2 = g.quat.iter().map(|q| q * q).sum::<f32>();
            let sum = g.log_scale.iter().sum::<f32>();
            let numbers = g.mean.iter().chain([&deviation, &norm2, &sum]).all(|x| x.is_finite());
            let bounded = numbers && norm2 > 1e-30;
            known &= bounded;
            let (mean, deviation) = if bounded { (g.mean, deviation) } else { ([0.0; 3], 0.0) };
            bounds.low = std::array::from_fn(|axis| bounds.low[axis].min(mean[axis]));
            bounds.high = std::array::from_fn(|axis| bounds.high[axis].max(mean[axis]));
            bounds.deviation = bounds.deviation.max(deviation);
        }
        if !known {
            bounds.deviation = 0.0;
        }
        bounds
    }

    /// The cluster in words that the device left.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Self {
        let at = |place: usize| words.get(place).copied().map_or(0.0, f32::from_bits);
        Self {
            low: [0, 1, 2].map(at),
            high: [3, 4, 5].map(at),
            deviation: at(6),
        }
    }

    /// Largest value of `dot(f w + k w2, x) + f t + k t2` over the box, for rows `(w, t)` and `(w2, t2)`.
    fn highest(&self, f: f32, row: [f32; 4], k: f32, row2: [f32; 4]) -> f32 {
        let (mut sum, mut size) = (f * row[3] + k * row2[3], (f * row[3]).abs() + (k * row2[3]).abs());
        for axis in 0..3 {
            let a = f * row[axis] + k * row2[axis];
            sum += (a * self.low[axis]).max(a * self.high[axis]);
            let largest = self.low[axis].abs().max(self.high[axis].abs());
            size += ((f * row[axis]).abs() + (k * row2[axis]).abs()) * largest;
        }
        sum + ROUNDING * size
    }

    /// True when no Gaussian in the bounds can touch a tile, whatever it looks like.
    #[must_use]
    pub fn is_out_of_view(&self, u: &StepUniforms) -> bool {
        // Not a number: in view.
        if self.deviation.is_nan() || self.deviation <= 0.0 {
            return false;
        }
        let depth = u.view_row2;
        if self.highest(0.0, [0.0; 4], 1.0, depth) <= u.near_z {
            return true;
        }
        let [fx, fy, cx, cy] = u.intrinsics;
        let steepest = |row: [f32; 4], limits: [f32; 2]| {
            let squared = limits.map(|slope| (0..3).map(|i| (row[i] - slope * depth[i]).powi(2)).sum::<f32>());
            squared[0].max(squared[1])
        };
        let [x_low, x_high, y_low, y_high] = u.slope_limits;
        let stretch = (fx * fx * steepest(u.view_row0, [x_low, x_high])
            + fy * fy * steepest(u.view_row1, [y_low, y_high]))
        .sqrt();
        let reach = 3.0 * SLACK * stretch * self.deviation;
        let rim = 3.0 * SLACK * (2.0 * u.background[3] + 0.316_23).sqrt() + 1.0;
        let [right, bottom] = [u.tiles_x, u.tiles_y].map(|tiles| (TILE_PX * tiles) as f32 + 1.0);
        [
            (fx, u.view_row0, rim + cx),
            (-fx, u.view_row0, rim + right - cx),
            (fy, u.view_row1, rim + cy),
            (-fy, u.view_row1, rim + bottom - cy),
        ]
        .into_iter()
        .any(|(f, row, k)| self.highest(f, row, k, depth) + reach < 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Camera;
    use crate::twins::gaussian::View;
    use crate::twins::project::{Filter2d, Settings, shown_radius};
    use crate::twins::rng::{normal, uniform};

    /// A camera anywhere in a cube of side 8 around the origin, turned anyhow, with an odd principal point.
    fn camera(key: u32) -> Camera {
        let random = |channel: u32| uniform::<f32>(key, 1, 0, channel);
        let q: [f32; 4] = [0, 1, 2, 3].map(|i| normal::<f32>(key, 2, 0, i));
        let length = q.iter().map(|x| x * x).sum::<f32>().sqrt();
        let rotation = crate::math::rotation(q.map(|x| x / length));
        let position = [0, 1, 2].map(|i| 8.0 * (random(i) - 0.5));
        let (width_px, height_px) = (20 + (200.0 * random(3)) as u32, 20 + (150.0 * random(4)) as u32);
        Camera {
            width_px,
            height_px,
            fx: width_px as f32 * (0.3 + 2.0 * random(5)),
            fy: width_px as f32 * (0.3 + 2.0 * random(5)),
            cx: width_px as f32 * (1.6 * random(6) - 0.3),
            cy: height_px as f32 * (0.2 + 0.6 * random(7)),
            rotation,
            translation: [0, 1, 2].map(|i| -(0..3).map(|c| rotation[i][c] * position[c]).sum::<f32>()),
        }
    }

    /// A group around a place, some as large as the scene, some tiny, some long and thin.
    fn group(key: u32, n: u32, size: f32, log_scale: f32) -> (Vec<Gaussian<f32>>, Vec<f32>) {
        let place = [0, 1, 2].map(|i| 4.0 * normal::<f32>(key, 3, 0, i));
        let one = |id: u32| Gaussian {
            mean: [0, 1, 2].map(|i| place[i as usize] + size * normal::<f32>(key, 4, id, i)),
            quat: [0, 1, 2, 3].map(|i| normal::<f32>(key, 5, id, i)),
            log_scale: [0, 1, 2].map(|i| log_scale + 2.0 * normal::<f32>(key, 6, id, i)),
            logit_opacity: 5.0,
            ..Gaussian::ZERO
        };
        let filter = |id: u32| {
            if key.is_multiple_of(2) {
                0.0
            } else {
                0.02 * uniform::<f32>(key, 7, id, 0)
            }
        };
        ((0..n).map(one).collect(), (0..n).map(filter).collect())
    }

    /// One by one, however faint.
    fn any_shown(gaussians: &[Gaussian<f32>], filter_3d: &[f32], camera: &Camera, filter_2d: Filter2d) -> bool {
        let view = View::new(camera);
        let settings = Settings {
            filter_2d,
            sh_degree: 0,
            tight_tiles: true,
            dropout: None,
        };
        let mut all = gaussians.iter().zip(filter_3d);
        all.any(|(g, filter)| shown_radius(g, *filter, &view, &settings).is_some())
    }

    #[test]
    fn nothing_in_a_group_out_of_view_is_shown() {
        let (mut culled, mut empty) = (0, 0);
        for key in 0..6000 {
            let camera = camera(key);
            let n = [1, 2, 20, 64][key as usize % 4];
            let size = [0.0, 0.05, 0.5, 3.0][key as usize / 4 % 4];
            let log_scale = [-9.0, -4.0, -2.0, 0.0, 6.0][key as usize / 16 % 5];
            let (gaussians, filter_3d) = group(key, n, size, log_scale);
            let (filter_2d, variance) = match key % 3 {
                0 => (Filter2d::Classic, 0.3),
                1 => (Filter2d::Mip { kernel_size: 0.1 }, 0.1),
                _ => (Filter2d::Mip { kernel_size: 4.0 }, 4.0),
            };
            let u = StepUniforms::for_camera(&camera, [0.0; 3], variance);
            let shown = any_shown(&gaussians, &filter_3d, &camera, filter_2d);
            let out = Cluster::of(&gaussians, &filter_3d).is_out_of_view(&u);
            assert!(!(out && shown), "group {key}");
            culled += u32::from(out);
            empty += u32::from(!shown);
        }
        // The bounds are of use: of the groups that show nothing most are found.
        assert!(2 * culled > empty && empty > 1000, "{culled} of {empty}");
    }

    /// Splats that end within a pixel or so of the border on either side.
    #[test]
    fn groups_at_the_rim_are_kept() {
        let mut kept = 0;
        for key in 0..4000 {
            let camera = camera(key);
            let (mut gaussians, filter_3d) = group(key, 1, 0.0, -4.0);
            let u = StepUniforms::for_camera(&camera, [0.0; 3], 0.1);
            // Along the left or right border, as far out as the radius, and a little to either side.
            let z = 0.21 + 5.0 * uniform::<f32>(key, 8, 0, 0);
            let place_at = |x_px: f32, gaussians: &mut [Gaussian<f32>]| {
                let t = [(x_px - u.intrinsics[2]) / u.intrinsics[0] * z, 0.0, z];
                let w = [u.view_row0, u.view_row1, u.view_row2];
                let mean = [0, 1, 2].map(|c| (0..3).map(|i| w[i][c] * (t[i] - w[i][3])).sum::<f32>());
                gaussians[0].mean = mean;
            };
            let settings = Settings {
                filter_2d: Filter2d::Mip { kernel_size: 0.1 },
                sh_degree: 0,
                tight_tiles: true,
                dropout: None,
            };
            let view = View::new(&camera);
            let left = key.is_multiple_of(2);
            let edge = if left { 0.0 } else { (16 * u.tiles_x) as f32 };
            place_at(edge, &mut gaussians);
            let Some(radius) = shown_radius(&gaussians[0], filter_3d[0], &view, &settings) else {
                continue;
            };
            for step in -6..7_i32 {
                let out = radius + 0.5 * step as f32;
                place_at(if left { edge - out } else { edge + out }, &mut gaussians);
                let shown = shown_radius(&gaussians[0], filter_3d[0], &view, &settings).is_some();
                let culled = Cluster::of(&gaussians, &filter_3d).is_out_of_view(&u);
                assert!(!(culled && shown), "group {key}, {step} half pixels");
                kept += u32::from(shown);
            }
        }
        assert!(kept > 5000, "{kept}");
    }

    #[test]
    fn what_is_no_number_is_in_view() {
        let u = StepUniforms::for_camera(&camera(1), [0.0; 3], 0.1);
        let (gaussians, filter_3d) = group(2, 8, 0.1, -4.0);
        // Behind the camera as a whole.
        type Change = fn(&mut Gaussian<f32>);
        let behind = |change: Change| {
            let mut list = gaussians.clone();
            for g in &mut list {
                let depth = [0, 1, 2].map(|c| u.view_row2[c]);
                g.mean = [0, 1, 2].map(|c| u.camera_position[c] - 50.0 * depth[c] + 0.01 * g.mean[c]);
            }
            change(&mut list[5]);
            Cluster::of(&list, &filter_3d)
        };
        assert!(behind(|_| {}).is_out_of_view(&u));
        let odd: [Change; 8] = [
            |g| g.mean[1] = f32::NAN,
            |g| g.mean[2] = f32::INFINITY,
            |g| g.log_scale[0] = f32::NAN,
            |g| g.log_scale[1] = 200.0,
            |g| g.log_scale[2] = f32::NEG_INFINITY,
            |g| g.quat[0] = f32::NAN,
            |g| g.quat = [1e-20; 4],
            |g| g.quat = [1e30; 4],
        ];
        for (case, change) in odd.into_iter().enumerate() {
            let cluster = behind(change);
            assert!(
                cluster.deviation == 0.0 && !cluster.is_out_of_view(&u),
                "{case}: {cluster:?}"
            );
        }
        let nowhere = Cluster {
            low: [f32::NAN; 3],
            high: [f32::NAN; 3],
            deviation: 1.0,
        };
        assert!(!nowhere.is_out_of_view(&u) && !Cluster::default().is_out_of_view(&u));
    }
}
