//! Which tiles of a view Gaussians may touch, worked out on the host before they are on a device.
//!
//! Never less than what the device finds, so that leaving out what does not reach a tile changes no pixel of it. A splat
//! is as large as [`twins::project`](kiln_twins::project) has it: three standard deviations along the longer axis of its
//! covariance on the image, whose sum of both variances a Gaussian's largest scale bounds.

use std::ops::Range;

use super::lens_reach::place_of;
use super::model_parts::sigma;
use crate::step::Survey;
use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::{StepUniforms, TILE_PX};
use kiln_scene::Fisheye;
use kiln_scene::math::norm;
use kiln_twins::gaussian::{Gaussian, View as Eye};
use kiln_twins::project::{Filter2d, footprint, radius};

/// Rounding of the device, pixels: far more than the last places of an f32 are on any image.
const SLACK_PX: f64 = 2.0;
/// And relative, of lengths that are longer than the image.
const SLACK: f64 = 1e-4;

/// Tiles from `first` to `last`, both included; (column, row).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    first: [u32; 2],
    last: [u32; 2],
}

/// A view to be drawn.
pub(super) struct View {
    rows: [[f64; 4]; 3],
    focal: [f64; 2],
    center: [f64; 2],
    /// Least and greatest slope that projections are linearised at, per axis.
    slopes: [[f64; 2]; 2],
    kernel: f64,
    near_z: f64,
    /// The camera as the twin has it, where it has a lens.
    through_lens: Option<Eye<f64>>,
    tiles: [u32; 2],
    /// Products of the axes of the image with themselves, with that of depth, and of that with itself: 1, 0, 1 of a rotation.
    products: [[f64; 3]; 2],
}

impl View {
    /// The view that `block` draws.
    pub(super) fn of(block: &StepUniforms) -> Self {
        let [fx, fy, cx, cy] = block.intrinsics.map(f64::from);
        let [x_least, x_most, y_least, y_most] = block.slope_limits.map(f64::from);
        let rows = [block.view_row0, block.view_row1, block.view_row2].map(|row| row.map(f64::from));
        let product = |a: usize, b: usize| (0..3).map(|k| rows[a][k] * rows[b][k]).sum::<f64>();
        Self {
            rows,
            products: [0, 1].map(|axis| [product(axis, axis), product(axis, 2).abs(), product(2, 2)]),
            focal: [fx, fy],
            center: [cx, cy],
            slopes: [[x_least, x_most], [y_least, y_most]],
            kernel: f64::from(block.background[3]),
            near_z: f64::from(block.near_z),
            through_lens: block.lens().map(|lens| Eye {
                size_px: [block.width, block.height],
                focal: [fx, fy],
                centre: [cx + 0.5, cy + 0.5],
                rotation: rows.map(|[x, y, z, _]| [x, y, z]),
                translation: rows.map(|row| row[3]),
                position: block
                    .camera_position
                    .map(f64::from)
                    .first_chunk()
                    .copied()
                    .unwrap_or_default(),
                near_z: f64::from(block.near_z),
                lens: Some(lens.to()),
            }),
            tiles: [block.tiles_x, block.tiles_y],
        }
    }

    /// What Gaussians with centres between `lower` and `upper` and standard deviations of at most `sigma` along every axis may
    /// touch; none when no tile.
    pub(super) fn reach(&self, lower: [f32; 3], upper: [f32; 3], sigma: f32) -> Option<Reach> {
        let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (f64::from(lower[k]) + f64::from(upper[k])));
        let half: [f64; 3] = std::array::from_fn(|k| 0.5 * (f64::from(upper[k]) - f64::from(lower[k])));
        let [x, y, z] = self.rows.map(|row| {
            let at = row[3] + (0..3).map(|k| row[k] * middle[k]).sum::<f64>();
            let around = (0..3).map(|k| row[k].abs() * half[k]).sum::<f64>();
            // Terms may be far larger than their sum.
            let terms = (0..3).map(|k| (row[k] * middle[k]).abs()).sum::<f64>() + row[3].abs();
            let around = around + 1e-6 * (terms + around);
            [at - around, at + around]
        });
        // The variances on the image of both axes, for a Gaussian as wide everywhere as it is at its widest.
        let kernel = 2.0 * self.kernel + 0.35;
        let lens = self.through_lens.as_ref().and_then(|eye| eye.lens);
        let (across, variance) = match &lens {
            Some(lens) => self.across_lens(lens, [x, y, z], f64::from(sigma))?,
            None => self.across_pinhole([x, y, z], f64::from(sigma))?,
        };
        let radius = 3.0 * (kernel + variance).sqrt() * (1.0 + SLACK) + SLACK_PX;
        self.tiles_within(across, radius)
    }

    /// Where centres are on the image, per axis, and the sum of both variances, square pixels; `box_of` has the least and the
    /// greatest coordinate of centres per axis of the camera.
    fn across_lens(&self, lens: &Fisheye<f64>, box_of: [[f64; 2]; 3], sigma: f64) -> Option<([[f64; 2]; 2], f64)> {
        let middle = box_of.map(|[low, high]| 0.5 * (low + high));
        let radius = norm(box_of.map(|[low, high]| 0.5 * (high - low)));
        let place = place_of(lens, middle, radius, sigma)?;
        let across = [0, 1].map(|axis| {
            let (at, around) = (
                self.focal[axis] * place.at[axis] + self.center[axis],
                self.focal[axis] * place.around,
            );
            [at - around, at + around]
        });
        Some((across, (self.focal[0].max(self.focal[1]) * place.spread).powi(2)))
    }

    /// Tiles that Gaussian `i` may touch through a lens: those of its twin, since what bounds a box is far more than one touches.
    fn reach_of(&self, eye: &Eye<f64>, model: &Gaussians, i: usize) -> Option<Reach> {
        let gaussian = Gaussian {
            mean: model.means.get(i)?.map(f64::from),
            quat: model.quats.get(i)?.map(f64::from),
            log_scale: model.log_scales.get(i)?.map(f64::from),
            ..Gaussian::ZERO
        };
        let filter_3d = f64::from(model.filter_3d.get(i).copied().unwrap_or(0.0));
        let filter_2d = Filter2d::Mip {
            kernel_size: self.kernel,
        };
        let found = footprint(&gaussian, filter_3d, eye, filter_2d)?;
        let radius = radius(found.filtered_cov, found.filtered_det) * (1.0 + SLACK) + SLACK_PX;
        self.tiles_within(found.mean_px.map(|at| [at, at]), radius)
    }

    /// The same through a pinhole.
    fn across_pinhole(&self, [x, y, z]: [[f64; 2]; 3], sigma: f64) -> Option<([[f64; 2]; 2], f64)> {
        if z[1] <= self.near_z {
            return None;
        }
        let z = [z[0].max(self.near_z), z[1]];
        let mut variance = 0.0;
        let mut across = [[0.0; 2]; 2];
        for (axis, side) in [x, y].into_iter().enumerate() {
            let slopes = [
                side[0] / if side[0] < 0.0 { z[0] } else { z[1] },
                side[1] / if side[1] < 0.0 { z[1] } else { z[0] },
            ];
            let [least, most] = self.slopes[axis];
            let steepest = slopes.map(|slope| slope.clamp(least, most).abs());
            let steepest = steepest[0].max(steepest[1]);
            let per_unit = self.focal[axis] / z[0];
            let [own, mixed, deep] = self.products[axis];
            let along = own + steepest * (2.0 * mixed + steepest * deep);
            variance += (sigma * per_unit).powi(2) * along;
            across[axis] = slopes.map(|slope| self.focal[axis] * slope + self.center[axis]);
        }
        Some((across, variance))
    }

    /// Tiles that are at most `radius` pixels from places between two on either axis.
    fn tiles_within(&self, across: [[f64; 2]; 2], radius: f64) -> Option<Reach> {
        let (mut first, mut last) = ([0; 2], [0; 2]);
        for axis in 0..2 {
            let [low, high] = across[axis];
            let slack = SLACK * 1e-1 * (low.abs() + high.abs());
            let tile = f64::from(TILE_PX);
            let [low, high] = [(low - radius - slack) / tile, (high + radius + slack) / tile];
            let most = f64::from(self.tiles[axis]) - 1.0;
            // Written so that what is no number reaches everything.
            if high < 0.0 || low >= most + 1.0 {
                return None;
            }
            let inside = |value: f64, otherwise: f64| {
                if value.is_nan() {
                    otherwise
                } else {
                    value.clamp(0.0, most)
                }
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "tiles of an image"
            )]
            let tiles = [inside(low.floor(), 0.0) as u32, inside(high.floor(), most) as u32];
            [first[axis], last[axis]] = tiles;
        }
        Some(Reach { first, last })
    }

    /// Those of the Gaussians `ids` that may touch a tile, in their order.
    pub(super) fn reaching(&self, model: &Gaussians, ids: Range<usize>) -> Vec<(usize, Reach)> {
        /// Gaussians that are worth a thread.
        const PER_THREAD: usize = 1 << 13;
        let of = |ids: Range<usize>| -> Vec<(usize, Reach)> {
            let reach = |i: usize| {
                if let Some(eye) = &self.through_lens {
                    return self.reach_of(eye, model, i);
                }
                let mean = model.means.get(i).copied().unwrap_or_default();
                self.reach(mean, mean, sigma(model, i))
            };
            ids.filter_map(|i| reach(i).map(|reach| (i, reach))).collect()
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let per_thread = ids.len().div_ceil(threads).max(PER_THREAD);
        if ids.len() <= per_thread {
            return of(ids);
        }
        std::thread::scope(|scope| {
            let starts = ids.clone().step_by(per_thread);
            let parts = starts.map(|start| start..(start + per_thread).min(ids.end));
            let threads: Vec<_> = parts.map(|part| (part.clone(), scope.spawn(|| of(part)))).collect();
            let found = threads.into_iter().map(|(part, thread)| match thread.join() {
                Ok(found) => found,
                // It cannot panic; the work is done here all the same.
                Err(_) => of(part),
            });
            found.flatten().collect()
        })
    }

    /// A survey of nothing.
    pub(super) fn counts(&self) -> Counts {
        let [columns, rows] = self.tiles;
        let tiles = (columns * rows) as usize;
        Counts {
            columns,
            corners: vec![0; (columns as usize + 1) * (rows as usize + 1)],
            first: vec![0; tiles],
            last: vec![0; tiles],
        }
    }

    /// True when a Gaussian that reaches `reach` may touch a tile of `band`, numbered row by row.
    pub(super) fn touches(&self, reach: &Reach, band: &Range<u32>) -> bool {
        let columns = self.tiles[0];
        let (begin, end) = (band.start, band.end.saturating_sub(1));
        if band.is_empty() {
            return false;
        }
        let [top, bottom] = [begin / columns, end / columns];
        // Of its own rows, the band has only the first and the last in part.
        (reach.first[1].max(top)..=reach.last[1].min(bottom)).any(|row| {
            let from = if row == top { begin % columns } else { 0 };
            let to = if row == bottom { end % columns } else { columns - 1 };
            reach.first[0] <= to && reach.last[0] >= from
        })
    }
}

/// How many Gaussians may touch the tiles of a view, a Gaussian at a time.
pub(super) struct Counts {
    columns: u32,
    /// Differences along both axes of how many reach a tile.
    corners: Vec<i64>,
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Counts {
    /// Counts a Gaussian.
    pub(super) fn add(&mut self, reach: &Reach) {
        let Reach { first, last } = *reach;
        let tile = |[column, row]: [u32; 2]| (row * self.columns + column) as usize;
        if let Some(count) = self.first.get_mut(tile(first)) {
            *count += 1;
        }
        if let Some(count) = self.last.get_mut(tile(last)) {
            *count += 1;
        }
        let corner = |column: u32, row: u32| (row * (self.columns + 1) + column) as usize;
        for (at, step) in [
            (corner(first[0], first[1]), 1),
            (corner(last[0] + 1, first[1]), -1),
            (corner(first[0], last[1] + 1), -1),
            (corner(last[0] + 1, last[1] + 1), 1),
        ] {
            if let Some(value) = self.corners.get_mut(at) {
                *value += step;
            }
        }
    }

    /// What bands are cut by.
    pub(super) fn survey(self) -> Survey {
        let columns = self.columns as usize;
        let mut above = vec![0_i64; columns];
        let mut splats = Vec::with_capacity(self.first.len());
        let rows = self.corners.chunks_exact(columns + 1);
        for row in rows.take(self.first.len() / columns.max(1)) {
            let mut sum = 0;
            for (above, step) in above.iter_mut().zip(row) {
                sum += step;
                *above += sum;
                splats.push(u32::try_from(*above).unwrap_or(u32::MAX));
            }
        }
        Survey {
            splats,
            first: self.first,
            last: self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scene::Camera;
    use kiln_twins::project::{Settings, project};
    use kiln_twins::rng::uniform;

    /// 7 by 5 tiles, turned, its principal point off centre.
    fn block() -> (Camera, StepUniforms) {
        let (s, c) = 0.3_f32.sin_cos();
        let (sp, cp) = 0.2_f32.sin_cos();
        let camera = Camera {
            width_px: 110,
            height_px: 75,
            fx: 80.0,
            fy: 90.0,
            cx: 61.5,
            cy: 31.75,
            rotation: [[c, -s, 0.0], [cp * s, cp * c, -sp], [sp * s, sp * c, cp]],
            translation: [0.1, -0.05, 4.0],
            lens: None,
        };
        let block = StepUniforms::for_camera(&camera, [0.0; 3], 0.3);
        (camera, block)
    }

    fn holds(reach: &Reach, tile: u32) -> bool {
        let at = [tile % 7, tile / 7];
        (0..2).all(|k| (reach.first[k]..=reach.last[k]).contains(&at[k]))
    }

    /// Gaussians all around the camera, thin, wide and as large as the scene: no tile that the twin finds is left out, whether
    /// a Gaussian is asked about alone or with others, and most that are left out are out of view.
    #[test]
    fn no_tile_is_left_out() {
        let (camera, block) = block();
        let (seen, asked) = tiles_left_out(&camera, &block);
        assert!(seen > 800 && asked < 2 * seen, "{seen} seen of {asked}");
    }

    /// The same through a fisheye that sees behind itself. Its bounds are wider.
    #[test]
    fn no_tile_is_left_out_through_a_lens() {
        let (mut camera, _) = block();
        (camera.fx, camera.fy) = (25.0, 24.0);
        camera.lens = Some(Fisheye {
            radial: [0.03, -0.01, 0.002, -0.0005],
            tangential: [2e-3, -1e-3],
            prism: [1e-3, 2e-3],
            reach: 1.75,
        });
        let block = StepUniforms::for_camera(&camera, [0.0; 3], 0.3);
        let (seen, asked) = tiles_left_out(&camera, &block);
        assert!(seen > 2000 && asked < 2 * seen, "{seen} seen of {asked}");
    }

    /// How many Gaussians the twin finds in view, and how many may be by their reach, which must hold what the twin finds.
    fn tiles_left_out(camera: &Camera, block: &StepUniforms) -> (u32, u32) {
        let view = View::of(block);
        let twin = Eye::<f64>::new(camera);
        let settings = Settings {
            filter_2d: Filter2d::Classic,
            sh_degree: 0,
            tight_tiles: false,
            dropout: None,
            plane_depths: false,
        };
        let draw =
            |id: u32, channel: u32, [low, high]: [f32; 2]| low + (high - low) * uniform::<f32>(3, 0, id, channel);
        let (mut seen, mut asked) = (0_u32, 0_u32);
        for crowd in 0..200 {
            let around: [f32; 3] = std::array::from_fn(|k| draw(crowd, 40 + k as u32, [-6.0, 6.0]));
            let members: Vec<([f32; 3], f32, Option<[u32; 4]>)> = (0..20)
                .map(|member| {
                    let id = 20 * crowd + member;
                    let mean: [f32; 3] = std::array::from_fn(|k| around[k] + draw(id, k as u32, [-0.4, 0.4]));
                    let log_scale: [f32; 3] = std::array::from_fn(|k| draw(id, 10 + k as u32, [-5.0, 0.7]));
                    let gaussian = Gaussian::<f64> {
                        mean: mean.map(f64::from),
                        quat: std::array::from_fn(|k| f64::from(draw(id, 20 + k as u32, [-1.0, 1.0]))),
                        log_scale: log_scale.map(f64::from),
                        logit_opacity: 3.0,
                        ..Gaussian::ZERO
                    };
                    let rect = project(id, &gaussian, 0.0, &twin, &settings).map(|visible| visible.rect);
                    let tiles = rect.map(|rect| [rect.min[0], rect.min[1], rect.max[0], rect.max[1]]);
                    (mean, log_scale.into_iter().fold(f32::MIN, f32::max).exp(), tiles)
                })
                .collect();
            let bound = |better: fn(f32, f32) -> f32| -> [f32; 3] {
                std::array::from_fn(|k| members.iter().map(|(mean, ..)| mean[k]).reduce(better).unwrap())
            };
            let sigma = members.iter().map(|(_, sigma, _)| *sigma).reduce(f32::max).unwrap();
            let all = view.reach(bound(f32::min), bound(f32::max), sigma);
            for (mean, sigma, tiles) in &members {
                let own = view.reach(*mean, *mean, *sigma);
                asked += u32::from(own.is_some());
                let Some([left, top, right, bottom]) = *tiles else {
                    continue;
                };
                seen += 1;
                for (of, reach) in [("its own", &own), ("all", &all)] {
                    let reach = reach.as_ref().unwrap();
                    let inside = reach.first[0] <= left
                        && reach.first[1] <= top
                        && reach.last[0] + 1 >= right
                        && reach.last[1] + 1 >= bottom;
                    assert!(inside, "{of}: {reach:?} of {tiles:?} {mean:?} {sigma}");
                }
            }
        }
        (seen, asked)
    }

    /// Counts by corners, and what touches a band, are those of going through all tiles.
    #[test]
    fn counts_are_those_of_every_tile() {
        let (_, block) = block();
        let view = View::of(&block);
        let reaches: Vec<Reach> = (0..200)
            .map(|id| {
                let side = |axis: u32, tiles: u32| {
                    let at = |channel| (uniform::<f32>(4, 0, id, 2 * axis + channel) * tiles as f32) as u32;
                    let (a, b) = (at(0).min(tiles - 1), at(1).min(tiles - 1));
                    [a.min(b), a.max(b)]
                };
                let [x, y] = [side(0, 7), side(1, 5)];
                Reach {
                    first: [x[0], y[0]],
                    last: [x[1], y[1]],
                }
            })
            .collect();
        let mut counts = view.counts();
        reaches.iter().for_each(|reach| counts.add(reach));
        let survey = counts.survey();
        for tile in 0..35 {
            let expected = reaches.iter().filter(|reach| holds(reach, tile)).count();
            assert_eq!(survey.splats[tile as usize] as usize, expected);
        }
        for band in [0..35, 3..4, 5..9, 6..7, 0..7, 7..21, 12..30, 30..35, 4..4] {
            for reach in &reaches {
                let expected = band.clone().any(|tile| holds(reach, tile));
                assert_eq!(view.touches(reach, &band), expected, "{reach:?} {band:?}");
            }
        }
        let bands = survey.pack(0..35, 120, u32::MAX, 1).unwrap();
        assert!(bands.len() > 1);
        for band in &bands {
            let inside = reaches.iter().filter(|reach| view.touches(reach, band)).count();
            assert!(inside <= 120, "{inside} in {band:?}");
        }
    }
}
