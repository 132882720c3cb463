//! A figure that stands on the ground: legs, a body, arms and a head, in striped clothes.

use super::super::pose::Vec3;

/// Nearest that a ray meets a figure, as with solids.
const NEAREST: f64 = 1e-9;
/// Skin.
const SKIN: Vec3 = [0.75, 0.55, 0.45];

/// A part of a figure that is 1 high and stands at the origin: its middle and half of its sides.
struct Part {
    middle: Vec3,
    half: Vec3,
    shape: Shape,
    looks: Looks,
}

enum Shape {
    Box,
    Ellipsoid,
}

enum Looks {
    Trousers,
    Shirt,
    Skin,
}

const fn part(middle: Vec3, half: Vec3, shape: Shape, looks: Looks) -> Part {
    Part {
        middle,
        half,
        shape,
        looks,
    }
}

/// All of it.
const PARTS: [Part; 6] = [
    part([0.0, -0.08, 0.23], [0.07, 0.06, 0.23], Shape::Box, Looks::Trousers),
    part([0.0, 0.08, 0.23], [0.07, 0.06, 0.23], Shape::Box, Looks::Trousers),
    part([0.0, 0.0, 0.62], [0.11, 0.18, 0.22], Shape::Ellipsoid, Looks::Shirt),
    part([0.0, -0.21, 0.6], [0.05, 0.05, 0.2], Shape::Ellipsoid, Looks::Shirt),
    part([0.0, 0.21, 0.6], [0.05, 0.05, 0.2], Shape::Ellipsoid, Looks::Shirt),
    part([0.0, 0.0, 0.9], [0.09, 0.08, 0.1], Shape::Ellipsoid, Looks::Skin),
];

/// A figure in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::synth) struct Figure {
    /// Where it stands on the ground.
    pub(super) foot: [f64; 2],
    /// How high it is, world units.
    pub(super) height: f64,
    /// Where it looks, radians from the first axis.
    pub(super) azimuth: f64,
    /// Colours of shirt and trousers.
    pub(super) clothes: [Vec3; 2],
}

impl Figure {
    /// Where a ray meets it first, in lengths of its direction, and the colour there.
    pub(in crate::synth) fn cast(&self, origin: Vec3, direction: Vec3) -> Option<(f64, Vec3)> {
        let (sine, cosine) = self.azimuth.sin_cos();
        let local = |[x, y, z]: Vec3| [cosine * x + sine * y, cosine * y - sine * x, z].map(|v| v / self.height);
        let from = local([origin[0] - self.foot[0], origin[1] - self.foot[1], origin[2]]);
        let towards = local(direction);
        let met = PARTS
            .iter()
            .filter_map(|part| Some((part.cast(from, towards)?, part)))
            .filter(|(away, _)| *away > NEAREST)
            .min_by(|a, b| a.0.total_cmp(&b.0));
        met.map(|(away, part)| {
            let at = [0, 1, 2].map(|axis| from[axis] + away * towards[axis]);
            (away, self.color(&part.looks, at))
        })
    }

    fn color(&self, looks: &Looks, [x, y, z]: Vec3) -> Vec3 {
        let around = (12.0 * y.atan2(x) / std::f64::consts::TAU).floor();
        let (color, stripe) = match looks {
            Looks::Shirt => (self.clothes[0], (24.0 * z).floor()),
            Looks::Trousers => (self.clothes[1], (16.0 * z).floor() + around),
            Looks::Skin => (SKIN, (20.0 * z).floor() + around),
        };
        let shade = if stripe.rem_euclid(2.0) < 1.0 { 1.0 } else { 0.45 };
        color.map(|value| value * shade)
    }
}

impl Part {
    fn cast(&self, origin: Vec3, direction: Vec3) -> Option<f64> {
        let from = [0, 1, 2].map(|i| (origin[i] - self.middle[i]) / self.half[i]);
        let towards = [0, 1, 2].map(|i| direction[i] / self.half[i]);
        match self.shape {
            Shape::Ellipsoid => {
                let dot = |a: Vec3, b: Vec3| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                let (a, b, c) = (dot(towards, towards), dot(towards, from), dot(from, from) - 1.0);
                let discriminant = b * b - a * c;
                (discriminant >= 0.0).then(|| (-b - discriminant.sqrt()) / a)
            }
            Shape::Box => {
                let (mut enter, mut leave) = (f64::NEG_INFINITY, f64::INFINITY);
                for i in 0..3 {
                    let [a, b] = [(-1.0 - from[i]) / towards[i], (1.0 - from[i]) / towards[i]];
                    enter = enter.max(a.min(b));
                    leave = leave.min(a.max(b));
                }
                (enter <= leave).then_some(enter)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn rays_meet_the_head_the_chest_and_a_leg_where_they_are() {
        let figure = Figure {
            foot: [1.0, 2.0],
            height: 2.0,
            azimuth: std::f64::consts::FRAC_PI_2,
            clothes: [[0.2, 0.4, 0.9], [0.5; 3]],
        };
        // it looks along the second axis, so its front is there
        for (height, front, side) in [(1.8, 0.18, 0.0), (1.24, 0.22, 0.0), (0.4, 0.14, 0.16)] {
            let (away, color) = figure.cast([1.0 + side, 5.0, height], [0.0, -2.0, 0.0]).unwrap();
            assert!((away - (3.0 - front) / 2.0).abs() < 1e-9, "{height}: {away}");
            assert!(color.iter().all(|value| (0.05..0.95).contains(value)), "{color:?}");
        }
        assert!(figure.cast([1.0, 5.0, 2.1], [0.0, -2.0, 0.0]).is_none());
        assert!(
            figure.cast([1.0, 5.0, 0.4], [0.0, -2.0, 0.0]).is_none(),
            "between the legs"
        );
    }
}
