//! Where one looks from and through what lens.

use crate::math::{
    Mat3, Vec3, add, dot, mat_mul, mat_vec, orthonormal, quat_of, rotation_of, scale, sub, transpose, unit_quat,
};

/// Position and direction of a camera. Axes as the trainer has them: x right, y down, z forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    /// World to camera, rows.
    pub(crate) rotation: Mat3,
    /// World units.
    pub(crate) position: Vec3,
}

impl Pose {
    /// Direction of view in the world.
    pub(crate) fn forward(&self) -> Vec3 {
        self.rotation[2]
    }

    /// Row whose product with (x, y, z, 1) is a point's depth.
    pub(crate) fn depth_row(&self) -> [f32; 4] {
        let [x, y, z] = self.forward();
        [x, y, z, -dot(self.forward(), self.position)]
    }

    /// A point in camera axes.
    pub(crate) fn to_camera(self, point: Vec3) -> Vec3 {
        mat_vec(self.rotation, sub(point, self.position))
    }

    /// A point given in camera axes, in the world.
    pub(crate) fn to_world(self, point: Vec3) -> Vec3 {
        add(mat_vec(transpose(self.rotation), point), self.position)
    }

    /// Turned by a rotation given in world axes.
    pub(crate) fn turned(&self, by: Mat3) -> Mat3 {
        orthonormal(mat_mul(self.rotation, transpose(by)))
    }

    /// Looks from `position` at `target`; `up` need not be perpendicular.
    pub(crate) fn looking_at(position: Vec3, target: Vec3, up: Vec3) -> Self {
        let forward = sub(target, position);
        let right = crate::math::cross(forward, up);
        let right = if crate::math::length(right) > 1e-9 {
            right
        } else {
            [1.0, 0.0, 0.0]
        };
        Self {
            rotation: orthonormal([right, [0.0; 3], forward]),
            position,
        }
    }

    /// The pose a share of the way from here to there.
    pub(crate) fn towards(&self, other: &Self, share: f32) -> Self {
        let (a, mut b) = (quat_of(self.rotation), quat_of(other.rotation));
        if a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() < 0.0 {
            b = b.map(|v| -v);
        }
        let mix: [f32; 4] = std::array::from_fn(|i| a[i] + share * (b[i] - a[i]));
        let step = sub(other.position, self.position);
        Self {
            rotation: unit_quat(mix).map_or(other.rotation, rotation_of),
            position: add(self.position, scale(step, share)),
        }
    }

    /// Whether the draw order of one pose no longer serves the other: a turn of a degree or a step of a 500th of `reach`.
    pub(crate) fn differs(&self, other: &Self, reach: f32) -> bool {
        let turn = dot(self.forward(), other.forward());
        turn < 0.999_85 || crate::math::length(sub(self.position, other.position)) > reach / 500.0
    }
}

/// Focal length and centre of a picture, pixels; the first pixel's centre is at 0.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lens {
    pub(crate) size: [u32; 2],
    pub(crate) focal: [f32; 2],
    pub(crate) centre: [f32; 2],
}

impl Lens {
    /// A lens with a vertical field of view of 50 degrees.
    pub(crate) fn plain(size: [u32; 2]) -> Self {
        let [width, height] = size.map(|v| v as f32);
        let focal = height / (2.0 * 25.0_f32.to_radians().tan());
        Self {
            size,
            focal: [focal; 2],
            centre: [0.5 * width, 0.5 * height],
        }
    }

    /// The lens on a window of another size: the whole picture is in it, in the middle, as large as it can be.
    pub(crate) fn fitted(&self, size: [u32; 2]) -> Self {
        let ratio = |axis: usize| size[axis] as f32 / self.size[axis] as f32;
        let by = ratio(0).min(ratio(1));
        let middle = |axis: usize| 0.5 * size[axis] as f32;
        let centre = |axis: usize| (self.centre[axis] - 0.5 * self.size[axis] as f32) * by + middle(axis);
        Self {
            size,
            focal: self.focal.map(|focal| focal * by),
            centre: [centre(0), centre(1)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{axis_angle, close, length};

    #[test]
    fn looking_at_puts_the_target_on_the_axis_and_up_to_the_top() {
        let pose = Pose::looking_at([3.0, 1.0, -2.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]);
        let target = pose.to_camera([0.0, 0.5, 1.0]);
        assert!(close(&target[..2], &[0.0, 0.0], 1e-5) && target[2] > 0.0);
        assert!(pose.to_camera([0.0, 0.5, 2.0])[1] < 0.0, "y points down");
        assert!(close(&pose.to_world(target), &[0.0, 0.5, 1.0], 1e-5));
        let row = pose.depth_row();
        assert!((row[1] * 0.5 + row[2] + row[3] - target[2]).abs() < 1e-5);
        let straight = Pose::looking_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]);
        assert!(close(&straight.forward(), &[0.0, 0.0, 1.0], 1e-6));
    }

    #[test]
    fn half_way_between_two_poses_is_half_the_turn() {
        let a = Pose {
            rotation: axis_angle([0.0, 1.0, 0.0], 0.0),
            position: [0.0; 3],
        };
        let b = Pose {
            rotation: axis_angle([0.0, 1.0, 0.0], 1.0),
            position: [2.0, 0.0, 0.0],
        };
        let half = a.towards(&b, 0.5);
        assert!(close(
            half.rotation.as_flattened(),
            axis_angle([0.0, 1.0, 0.0], 0.5).as_flattened(),
            1e-5
        ));
        assert_eq!(half.position, [1.0, 0.0, 0.0]);
        assert!(a.differs(&b, 1e9) && !a.differs(&a, 1.0));
        assert!(length(sub(a.towards(&b, 1.0).position, b.position)) < 1e-6);
    }

    #[test]
    fn a_fitted_lens_keeps_the_picture_whole_and_centred() {
        let lens = Lens {
            size: [400, 300],
            focal: [500.0, 510.0],
            centre: [210.0, 150.0],
        };
        let wide = lens.fitted([1600, 600]);
        assert_eq!(wide.focal, [1000.0, 1020.0]);
        assert_eq!(wide.centre, [820.0, 300.0]);
        assert_eq!(lens.fitted([400, 300]), lens);
        let plain = Lens::plain([800, 600]);
        assert!((300.0 / plain.focal[1] - 25.0_f32.to_radians().tan()).abs() < 1e-6);
    }
}
