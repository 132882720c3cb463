//! Where cameras of solids stand and look: on three rings around them.

use kiln_scene::math::{self, cross, dot, norm};

/// A place or a direction.
pub(super) type Vec3 = [f64; 3];

/// Distance of the cameras from the point they look at,
pub(super) const DISTANCE: f64 = 3.2;
/// and of those with wide lenses, which have the square all around them.
pub(super) const NEAR_DISTANCE: f64 = 1.3;
/// That point's height.
const MIDDLE: f64 = 0.25;

/// A world-to-camera pose: rotation rows and translation, OpenCV axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub(super) rotation: [Vec3; 3],
    pub(super) translation: Vec3,
}

impl Pose {
    /// The pose of a view: turns by the golden angle, so that every 8th view is as far from the others as they are from
    /// each other, on three rings.
    pub(super) fn of(view: u32) -> Self {
        Self::at(view, DISTANCE)
    }

    /// The same at another distance from the point it looks at.
    pub(super) fn at(view: u32, distance: f64) -> Self {
        let azimuth = f64::from(view) * 2.399_963_229_728_653;
        let height = [0.35_f64, 0.6, 0.9][(view % 3) as usize];
        let towards = [height.cos() * azimuth.cos(), height.cos() * azimuth.sin(), height.sin()];
        let forward = towards.map(|v| -v);
        let across = cross(forward, [0.0, 0.0, 1.0]);
        let right = across.map(|v| v / norm(across));
        let rotation = [right, cross(forward, right), forward];
        let position = [
            distance * towards[0],
            distance * towards[1],
            distance * towards[2] + MIDDLE,
        ];
        Self {
            rotation,
            translation: rotation.map(|row| -dot(row, position)),
        }
    }

    /// The camera's centre.
    pub(super) fn position(&self) -> Vec3 {
        [0, 1, 2].map(|axis| {
            -(0..3)
                .map(|row| self.rotation[row][axis] * self.translation[row])
                .sum::<f64>()
        })
    }

    /// The direction, in the world, of a direction in the camera.
    pub(super) fn turn(&self, local: Vec3) -> Vec3 {
        [0, 1, 2].map(|axis| (0..3).map(|row| self.rotation[row][axis] * local[row]).sum())
    }

    /// The rotation as a unit quaternion, real part first.
    pub(super) fn quaternion(&self) -> [f64; 4] {
        math::quaternion(self.rotation)
    }

    /// The same camera turned on the spot, so that what it sees in its middle moves by these angles to the left and up.
    pub(super) fn panned(&self, [right, down]: [f64; 2]) -> Self {
        let mix = |a: Vec3, b: Vec3, angle: f64| [0, 1, 2].map(|i| angle.cos() * a[i] + angle.sin() * b[i]);
        let [x, y, z] = self.rotation;
        let (x, z) = (mix(x, z, -right), mix(z, x, right));
        let rotation = [x, mix(y, z, -down), mix(z, y, down)];
        let position = self.position();
        Self {
            rotation,
            translation: rotation.map(|row| -dot(row, position)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_are_rotations_that_look_at_the_middle_and_quaternions_say_the_same() {
        for view in 0..24 {
            let pose = Pose::of(view);
            let [a, b, c] = pose.rotation;
            assert!(dot(a, b).abs() < 1e-12 && (dot(cross(a, b), c) - 1.0).abs() < 1e-12);
            let towards = [0, 1, 2].map(|axis| [0.0, 0.0, MIDDLE][axis] - pose.position()[axis]);
            assert!((dot(c, towards) - DISTANCE).abs() < 1e-9);
            let rows = math::rotation(pose.quaternion());
            for (row, wanted) in rows.as_flattened().iter().zip(pose.rotation.as_flattened()) {
                assert!((row - wanted).abs() < 1e-12, "view {view}: {rows:?}");
            }
        }
    }

    #[test]
    fn a_camera_that_pans_stays_where_it_is() {
        let pose = Pose::of(4);
        let panned = pose.panned([0.02, -0.01]);
        let [a, b, c] = panned.rotation;
        assert!(dot(a, b).abs() < 1e-12 && (dot(cross(a, b), c) - 1.0).abs() < 1e-12);
        for (there, here) in panned.position().iter().zip(pose.position()) {
            assert!((there - here).abs() < 1e-12);
        }
        // what was ahead lies to the left and, since it looks up, below
        let ahead = panned.rotation.map(|row| dot(row, pose.rotation[2]));
        assert!(
            (ahead[0] + 0.02).abs() < 1e-3 && (ahead[1] - 0.01).abs() < 1e-3,
            "{ahead:?}"
        );
    }
}
