//! Whether normals are across the surface that the sparse points of a photo lie on.
//!
//! Two points close to each other mostly lie on one surface, so that the line between them is at a right angle to its normal. Axes that
//! are mirrored show in this where nothing else does: such normals look at the camera too.

use super::super::evenly;
use super::Axes;
use crate::math::{dot, norm, scale, sub};
use crate::{Point, View};

/// Most points of a photo that are looked at.
const MOST_POINTS: usize = 2048;
/// Cells along the wider side of a photo; two points of one are close.
const CELLS: f32 = 16.0;
/// Most that depths of two points on one surface differ, as a share.
const MOST_APART: f32 = 0.05;
/// Fewest pairs that say anything.
const LEAST_PAIRS: u32 = 100;
/// Other axes are reported when their mean cosine is below this share of that of the axes which are set.
const CLEARLY: f64 = 0.6;

/// Sums of cosines between normals and lines that should be at right angles.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    cosines: f64,
    pairs: u32,
}

/// These sums for each of [`Axes::ALL`]; nothing for those whose z is the other way round.
#[derive(Debug, Default)]
pub(super) struct Contradiction {
    sums: [Sum; 4],
}

impl Contradiction {
    /// What the points that a view shows say of its normals, which were read in `axes`. Nothing for photos that are turned, whose axes
    /// are exchanged.
    pub(super) fn of(view: &View, axes: Axes, points: &[Point], normals: &[[f32; 3]]) -> Self {
        let mut found = Self::default();
        if view.upright.is_turned() {
            return found;
        }
        let camera = &view.camera;
        let all: Vec<[f32; 3]> = match view.seen.is_empty() {
            true => points.iter().map(|point| point.position).collect(),
            false => view.seen.iter().map(|seen| seen.position).collect(),
        };
        let mut shown: Vec<([f32; 2], [f32; 3])> = all
            .iter()
            .filter_map(|position| {
                let [x, y, z] = camera.sees(*position)?;
                let at = [(x - camera.cx) / camera.fx * z, (y - camera.cy) / camera.fy * z, z];
                Some(([x, y], at))
            })
            .collect();
        shown = evenly(shown.len(), MOST_POINTS).map(|at| shown[at]).collect();
        let side = camera.width_px.max(camera.height_px) as f32 / CELLS;
        let cell = |([x, y], _): &([f32; 2], [f32; 3])| [(y / side) as u32, (x / side) as u32];
        shown.sort_by_key(cell);
        for pair in shown.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let line = sub(b.1, a.1);
            let length = norm(line);
            let one_surface = cell(a) == cell(b) && (b.1[2] - a.1[2]).abs() < MOST_APART * a.1[2];
            let [x, y] = a.0.map(|v| v as usize);
            let normal = normals.get(y * camera.width_px as usize + x).copied();
            let Some(normal) = normal.filter(|n| one_surface && length > 0.0 && *n != [0.0; 3]) else {
                continue;
            };
            let line = scale(line, 1.0 / length);
            let set = axes.signs();
            for (other, sum) in Axes::ALL.iter().zip(&mut found.sums) {
                let signs = other.signs();
                if signs[2] == set[2] {
                    let read: [f32; 3] = std::array::from_fn(|k| normal[k] * set[k] * signs[k]);
                    sum.cosines += f64::from(dot(read, line).abs());
                    sum.pairs += 1;
                }
            }
        }
        found
    }

    /// Adds what was found in another view.
    pub(super) fn add(&mut self, other: Self) {
        for (all, more) in self.sums.iter_mut().zip(other.sums) {
            all.cosines += more.cosines;
            all.pairs += more.pairs;
        }
    }

    /// The warning when normals are read in `axes` and others clearly follow the points better.
    pub(super) fn reported(&self, axes: Axes) -> Option<String> {
        // not the median: surfaces that look along a mirrored axis, or across it, are as they were
        let mean = |sum: &Sum| (sum.pairs >= LEAST_PAIRS).then(|| sum.cosines / f64::from(sum.pairs));
        let means = || Axes::ALL.into_iter().zip(self.sums.iter().map(mean));
        let (_, set) = means().find(|(other, _)| *other == axes)?;
        let set = set?;
        let (best, least) = means()
            .filter_map(|(other, mean)| Some((other, mean?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        (least < CLEARLY * set).then(|| {
            format!(
                "normal maps do not follow the sparse points: lines between points close to each other meet them at a mean cosine of \
                 {set:.2}, and of {least:.2} with dataset.normals.axes={}, which is probably what they are in",
                best.name()
            )
        })
    }
}
