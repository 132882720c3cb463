//! Where one looks from and through what lens.

use crate::math::{
    Mat3, Vec3, add, dot, mat_mul, mat_vec, orthonormal, quat_of, rotation_of, scale, sub, transpose, unit_quat,
};
use crate::sort::Sight;

/// Tangent of 25 degrees.
const TAN_25: f32 = 0.466_307_66;
/// Part of a picture's side by which projection sees more on either side, as in the shader.
const MARGIN: f32 = 0.15;
/// Standard deviations at which the densest splat falls to 1/255, and a little.
const DEVIATIONS: f32 = 3.35;

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

    /// What is seen through a lens of splats whose scales are multiplied by `scale_by`.
    pub(crate) fn sight(&self, lens: &Lens, scale_by: f32) -> Sight {
        let row = |[x, y, z]: Vec3| [x, y, z, -dot([x, y, z], self.position)];
        let slopes = std::array::from_fn(|axis| {
            let (focal, centre, size) = (lens.focal[axis], lens.centre[axis], lens.size[axis] as f32);
            [-centre - MARGIN * size, size - centre + MARGIN * size].map(|at| at / focal)
        });
        // What a standard deviation in the world is at most in the picture: projection sees no slope beyond these.
        let reach = slopes.map(|ends: [f32; 2]| {
            let slope = ends[0].abs().max(ends[1].abs());
            DEVIATIONS * scale_by * (1.0 + slope * slope).sqrt()
        });
        Sight {
            rows: self.rotation.map(row),
            slopes,
            reach,
            focal: lens.focal[0].max(lens.focal[1]),
        }
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
        let focal = height / (2.0 * TAN_25);
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
        let row = pose.sight(&Lens::plain([4, 3]), 1.0).rows[2];
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
