//! Which views the loss of two views compares a training view with.
//!
//! Neighbours look the same way from another place: their directions are less than 30 degrees apart, their centres between 0.01 and 1.5
//! extents of the scene (PGSR, Chen et al. 2024, whose lengths are scene units). Of these a view has the eight nearest, chosen once;
//! a step takes one of them by seed, iteration and view alone, so a run that goes on takes those that it would have taken.

use kiln_scene::{Camera, SceneIndex};
use kiln_twins::rng;

/// Most neighbours of a view.
const MOST: usize = 8;
/// Cosine of the largest angle between directions of two views.
const LEAST_COSINE: f64 = 0.866_025_403_784_438_6;
/// Distances of two centres, in extents of the scene.
const DISTANCES: [f64; 2] = [0.01, 1.5];
/// Of the draw of a view's neighbour.
const CHANNEL_NEIGHBOR: u32 = 15;

/// The neighbours of all training views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighborViews(Vec<Vec<u32>>);

impl NeighborViews {
    /// Those of the training views of `scene`.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        let cameras: Vec<&Camera> = scene.train.iter().map(|view| &view.camera).collect();
        Self::among(&cameras, scene.extent.into())
    }

    /// Those of views with `cameras` in a scene of `extent`, world units.
    #[must_use]
    pub fn among(cameras: &[&Camera], extent: f64) -> Self {
        let places: Vec<([f64; 3], [f64; 3])> = cameras
            .iter()
            .map(|camera| (camera.position().map(f64::from), camera.rotation[2].map(f64::from)))
            .collect();
        let neighbors = |(own, (from, towards)): (u32, &([f64; 3], [f64; 3]))| {
            let mut near: Vec<(f64, u32)> = (0..)
                .zip(&places)
                .filter(|(other, (_, direction))| *other != own && dot(*towards, *direction) > LEAST_COSINE)
                .map(|(other, (place, _))| (distance(*from, *place), other))
                .filter(|(distance, _)| *distance > DISTANCES[0] * extent && *distance < DISTANCES[1] * extent)
                .collect();
            let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            // All views may be candidates: only those that are kept are put in order.
            if near.len() > MOST {
                near.select_nth_unstable_by(MOST, nearer);
                near.truncate(MOST);
            }
            near.sort_unstable_by(nearer);
            near.into_iter().map(|(_, other)| other).collect()
        };
        Self((0..).zip(&places).map(neighbors).collect())
    }

    /// The neighbour of view `view` in the step of `iteration`; none for a view without.
    #[must_use]
    pub fn pick(&self, view: usize, (seed, iteration): (u32, u32)) -> Option<usize> {
        let near = self.0.get(view).filter(|near| !near.is_empty())?;
        let id = u32::try_from(view).unwrap_or(u32::MAX);
        let at = rng::bits(seed, iteration, id, CHANNEL_NEIGHBOR) as usize % near.len();
        near.get(at).map(|other| *other as usize)
    }

    /// Views that have no neighbour.
    #[must_use]
    pub fn alone(&self) -> usize {
        self.0.iter().filter(|near| near.is_empty()).count()
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera at `x` on a line, turned by `degrees`.
    fn camera(x: f32, degrees: f32) -> Camera {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let rotation = [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]];
        Camera {
            width_px: 64,
            height_px: 48,
            fx: 60.0,
            fy: 60.0,
            cx: 32.0,
            cy: 24.0,
            rotation,
            translation: rotation.map(|row| -row[0] * x),
            lens: None,
        }
    }

    #[test]
    fn neighbours_are_near_and_look_the_same_way() {
        let cameras = [
            camera(0.0, 0.0),
            camera(0.005, 0.0), // too near
            camera(0.5, 29.0),
            camera(0.4, 31.0), // looks elsewhere
            camera(-0.7, -10.0),
            camera(1.6, 0.0), // too far from the first
        ];
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let views = NeighborViews::among(&cameras, 1.0);
        assert_eq!(views.0[0], [2, 4]);
        assert_eq!(views.0[5], [2]);
        assert_eq!(views.alone(), 0);
        // The unit of length does not matter.
        let [far, _] = [camera(100.0, 0.0), camera(0.0, 0.0)];
        let few = NeighborViews::among(&[&far, cameras[0]], 1.0);
        assert_eq!((few.alone(), few.pick(0, (1, 1))), (2, None));
        assert_eq!(
            NeighborViews::among(&[&far, cameras[0]], 100.0).pick(0, (1, 1)),
            Some(1)
        );
    }

    #[test]
    fn a_view_has_the_eight_nearest_and_takes_each_in_its_time() {
        let cameras: Vec<Camera> = (0..12).map(|i| camera(0.1 * i as f32, 0.0)).collect();
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let views = NeighborViews::among(&cameras, 1.0);
        assert_eq!(views.0[0], [1, 2, 3, 4, 5, 6, 7, 8]);
        let picked = |seed| (0..400).map(|i| views.pick(0, (seed, i))).collect::<Vec<_>>();
        for other in 1..=8 {
            let times = picked(3).iter().filter(|pick| **pick == Some(other)).count();
            assert!((20..90).contains(&times), "{other}: {times}");
        }
        assert_eq!(picked(3), picked(3));
        assert_ne!(picked(3), picked(4));
        assert_eq!(views.pick(12, (3, 1)), None);
    }

    /// Rings of views at a few distances, so that many are equally far: the lower index goes first.
    #[test]
    fn they_are_those_of_a_whole_order() {
        let cameras: Vec<Camera> = (0..90)
            .map(|i| camera((i % 18) as f32 / 16.0, 7.0 * (i / 18) as f32))
            .collect();
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let views = NeighborViews::among(&cameras, 1.0);
        for (own, camera) in cameras.iter().enumerate() {
            let away = |other: &Camera| distance(camera.position().map(f64::from), other.position().map(f64::from));
            let towards = |camera: &Camera| camera.rotation[2].map(f64::from);
            let is_one = |other: &Camera| {
                let cosine = dot(towards(camera), towards(other));
                cosine > LEAST_COSINE && away(other) > DISTANCES[0] && away(other) < DISTANCES[1]
            };
            let mut all: Vec<usize> = (0..cameras.len()).filter(|&o| o != own && is_one(cameras[o])).collect();
            // Stable, so that views of equal distance stay in their order.
            all.sort_by(|&a, &b| away(cameras[a]).total_cmp(&away(cameras[b])));
            assert!(all.len() > MOST, "{own}");
            let wanted: Vec<u32> = all[..MOST].iter().map(|&other| other as u32).collect();
            assert_eq!(views.0[own], wanted, "{own}");
        }
    }
}
