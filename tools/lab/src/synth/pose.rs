//! Where cameras of solids stand and look: on three rings around them.

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
        let right = normalized(cross(forward, [0.0, 0.0, 1.0]));
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
        let r = &self.rotation;
        // The largest of the four is taken from the diagonal, the others follow from it (Shepperd 1978).
        let trace = r[0][0] + r[1][1] + r[2][2];
        let squares = [trace, r[0][0], r[1][1], r[2][2]];
        let largest = (0..4).fold(0, |best, at| if squares[at] > squares[best] { at } else { best });
        let twice = if largest == 0 {
            (1.0 + trace).sqrt()
        } else {
            (1.0 + 2.0 * squares[largest] - trace).sqrt()
        };
        let scale = 0.5 / twice;
        let anti = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]].map(|v| v * scale);
        let sum = |a: usize, b: usize| (r[a][b] + r[b][a]) * scale;
        match largest {
            0 => [0.5 * twice, anti[0], anti[1], anti[2]],
            1 => [anti[0], 0.5 * twice, sum(0, 1), sum(0, 2)],
            2 => [anti[1], sum(0, 1), 0.5 * twice, sum(1, 2)],
            _ => [anti[2], sum(0, 2), sum(1, 2), 0.5 * twice],
        }
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

pub(super) fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn normalized(v: Vec3) -> Vec3 {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
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
            let [w, x, y, z] = pose.quaternion();
            let rows = [
                [
                    1.0 - 2.0 * (y * y + z * z),
                    2.0 * (x * y - w * z),
                    2.0 * (x * z + w * y),
                ],
                [
                    2.0 * (x * y + w * z),
                    1.0 - 2.0 * (x * x + z * z),
                    2.0 * (y * z - w * x),
                ],
                [
                    2.0 * (x * z - w * y),
                    2.0 * (y * z + w * x),
                    1.0 - 2.0 * (x * x + y * y),
                ],
            ];
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
