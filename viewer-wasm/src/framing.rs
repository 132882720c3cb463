//! A camera for a model that has none: where most of its splats lie, and from where one sees them.

use crate::camera::Pose;
use crate::math::{Vec3, add, cross, length, normalized_or, scale, sub};
use crate::run::cameras::Arrangement;

/// Centres that are kept.
const KEPT: usize = 20_000;
/// Share of the centres left out at either end of each axis: floaters and background.
const OUTSIDE: f32 = 0.05;
/// Distance of the camera in radii of the space: all of it within a field of view of 53 degrees.
const DISTANCE: f32 = 2.3;

/// Some of a model's centres, evenly over its file.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<Vec3>);

/// Chooses centres for a [`Sample`] while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    every: usize,
    seen: usize,
}

impl Sampler {
    /// Of `count` centres.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            every: (count as usize).div_ceil(KEPT).max(1),
            seen: 0,
        }
    }

    /// Those of the next ones that are kept, three numbers each.
    pub(crate) fn choose(&mut self, centres: impl Iterator<Item = Vec3>) -> Vec<f32> {
        let mut kept = Vec::new();
        for centre in centres {
            if self.seen.is_multiple_of(self.every.max(1)) {
                kept.extend(centre);
            }
            self.seen += 1;
        }
        kept
    }
}

impl Sample {
    /// Takes centres, three numbers each.
    pub(crate) fn add(&mut self, centres: &[f32]) {
        self.0.extend(centres.as_chunks::<3>().0);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where most of them lie; `None` without any.
    pub(crate) fn space(&self) -> Option<Space> {
        let mut centre = [0.0; 3];
        let mut half = [0.0; 3];
        for axis in 0..3 {
            let values = self.0.iter().map(|point| point[axis]).collect();
            let values: Vec<f32> = crate::order::rising(values, |value| f64::from(*value));
            let last = values.len().checked_sub(1)?;
            let at = |share: f32| values[(share * last as f32).round() as usize];
            let (low, high) = (at(OUTSIDE), at(1.0 - OUTSIDE));
            centre[axis] = 0.5 * (low + high);
            half[axis] = 0.5 * (high - low);
        }
        // A single point has an extent too.
        let radius = length(half).max(1e-3 * length(centre)).max(1e-6);
        Some(Space { centre, radius })
    }
}

impl Sample {
    /// Depths between which most of what lies before a camera is.
    pub(crate) fn depths(&self, pose: &Pose) -> [f32; 2] {
        let depths = self.0.iter().map(|point| pose.to_camera(*point)[2]);
        let before: Vec<f32> = depths
            .filter(|depth| *depth > 0.0)
            .step_by(1 + self.0.len() / 2000)
            .collect();
        let before = crate::order::rising(before, |depth| f64::from(*depth));
        let at = |share: f32| before.get((share * before.len() as f32) as usize).copied();
        let near = at(OUTSIDE).unwrap_or(0.0);
        [near, at(1.0 - 2.0 * OUTSIDE).unwrap_or(1.0).max(near + 1e-3)]
    }
}

/// A ball around most of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Space {
    centre: Vec3,
    radius: f32,
}

impl Space {
    /// Whether cameras so arranged look at it, from a distance of its size.
    pub(crate) fn is_around(&self, cameras: &Arrangement) -> bool {
        let off = length(sub(self.centre, cameras.target));
        let ratio = self.radius / cameras.radius;
        off < 2.0 * self.radius.max(cameras.radius) && (0.02..50.0).contains(&ratio)
    }

    /// What one moves about.
    pub(crate) fn arrangement(&self, up: Vec3) -> Arrangement {
        Arrangement {
            target: self.centre,
            up,
            radius: DISTANCE * self.radius,
        }
    }

    /// A camera in front and a little above.
    pub(crate) fn pose(&self, up: Vec3) -> Pose {
        let side = normalized_or(cross(up, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0]);
        let back = cross(up, side);
        let from = normalized_or(add(back, scale(up, 0.35)), back);
        Pose::looking_at(add(self.centre, scale(from, DISTANCE * self.radius)), self.centre, up)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn floaters_do_not_move_the_camera() {
        let mut sampler = Sampler::new(200_000);
        let many = (0..200_000).map(|_| [0.0; 3]);
        assert_eq!(sampler.choose(many).len(), 3 * KEPT);
        let mut sample = Sample::default();
        for i in 0..98_u8 {
            let t = f32::from(i) / 97.0 * 2.0 - 1.0;
            sample.add(&[120.0 + t, 5.0 - t, t]);
        }
        sample.add(&[1e6, -1e6, 1e6, -1e6, 1e6, -1e6]);
        let space = sample.space().unwrap();
        assert!(length(sub(space.centre, [120.0, 5.0, 0.0])) < 0.1, "{space:?}");
        assert!((1.0..2.0).contains(&space.radius));
        for up in [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            let pose = space.pose(up);
            let seen = pose.to_camera(space.centre);
            assert!(
                seen[0].abs() < 1e-3 && seen[1].abs() < 1e-3 && seen[2] > space.radius,
                "{seen:?}"
            );
            assert!(pose.to_camera(add(space.centre, up))[1] < -0.5, "up is up");
        }
    }

    #[test]
    fn a_model_where_the_cameras_look_is_left_there() {
        let mut sample = Sample::default();
        assert_eq!(sample.space(), None);
        sample.add(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
        let space = sample.space().unwrap();
        let cameras = |target| Arrangement {
            target,
            up: [0.0, -1.0, 0.0],
            radius: 4.0,
        };
        assert!(space.is_around(&cameras([1.0, 0.5, 1.0])));
        assert!(!space.is_around(&cameras([120.0, 0.0, 0.0])));
        let huge = Space {
            radius: 1000.0,
            ..space
        };
        assert!(!huge.is_around(&cameras([1.0; 3])));
    }
}
