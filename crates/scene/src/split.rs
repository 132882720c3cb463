//! Which views are held out, and how large the scene is.

use super::view::{View, without_extension};
use super::{Camera, Point};

/// Every how many views, by name, one is held out by default.
pub(super) const HOLDOUT_EVERY: usize = 8;
/// The extent is this much larger than the farthest camera's distance.
const EXTENT_MARGIN: f64 = 1.1;

/// Sorts views by name without extension, so that `a.jpg` comes before `a-1.jpg`.
pub(super) fn sort(views: &mut [View]) {
    views.sort_by(|a, b| (without_extension(&a.name), &a.name).cmp(&(without_extension(&b.name), &b.name)));
}

/// Holds out one of every so many views of a sorted list, the first included: (train, test).
pub(super) fn hold_out(views: Vec<View>, every: usize) -> (Vec<View>, Vec<View>) {
    let mut split = (Vec::new(), Vec::new());
    for (index, view) in views.into_iter().enumerate() {
        if index % every.max(1) == 0 {
            split.1.push(view)
        } else {
            split.0.push(view)
        }
    }
    split
}

/// Cameras of the views that stand together: all but those far from all others. All where no other is left, as in a part of a scene that
/// only these show.
pub(super) fn together(views: &[View]) -> Vec<&Camera> {
    let has_others = views.iter().any(|view| !view.is_stray);
    views
        .iter()
        .filter(|view| !(has_others && view.is_stray))
        .map(|view| &view.camera)
        .collect()
}

/// 1.1 times the largest distance of a camera centre from the mean of the centres, world units; 0 for one camera. Strays do not count.
pub(super) fn camera_extent(views: &[View]) -> f32 {
    let together = together(views);
    let centres = || together.iter().map(|camera| centre(camera));
    let mean = mean(centres());
    let farthest = centres().map(|centre| distance(centre, mean)).fold(0.0, f64::max);
    (EXTENT_MARGIN * farthest) as f32
}

/// 1.1 times the median distance of the points from the mean camera centre; 1 without points.
pub(super) fn point_extent(views: &[View], points: &[Point]) -> f32 {
    let mean = mean(together(views).into_iter().map(centre));
    let mut distances: Vec<f64> = points
        .iter()
        .map(|point| distance(point.position.map(f64::from), mean))
        .collect();
    if distances.is_empty() {
        return 1.0;
    }
    let middle = distances.len() / 2;
    let (_, median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    let extent = (EXTENT_MARGIN * *median) as f32;
    if extent > 0.0 { extent } else { 1.0 }
}

fn centre(camera: &Camera) -> [f64; 3] {
    camera.position().map(f64::from)
}

fn mean(values: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    let (mut sum, mut count) = ([0.0; 3], 0.0_f64);
    for value in values {
        sum = std::array::from_fn(|axis| sum[axis] + value[axis]);
        count += 1.0;
    }
    sum.map(|total| total / count.max(1.0))
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
}
