//! The solid things of the synthetic scene `solids`, known exactly: a square on the ground, balls on it and thin poles.
//!
//! Coordinates are in scene units, z is up. Their looks are up to the caller that draws the scene.

use crate::random::Random;
use crate::vector::{V3, narrow, norm, scale, sub, wide};

/// Half the side of the square.
pub const SQUARE: f64 = 1.2;
/// Name, in the scene's folder, of the points on what its views see.
pub const TRUTH_FILE: &str = "truth.ply";
/// Centres and radii of the balls.
const BALLS: [(V3, f64); 3] = [
    ([-0.55, -0.25, 0.28], 0.28),
    ([0.5, 0.3, 0.32], 0.32),
    ([0.1, -0.7, 0.2], 0.2),
];
/// Poles along each side of their grid.
const POLES: u32 = 4;
/// Radius and height of the poles, upright cylinders without lids.
const POLE: (f64, f64) = (0.012, 0.7);
/// Where rays begin to meet things: not where they start.
const NEAREST: f64 = 1e-9;

/// Kinds of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The square on the ground.
    Square,
    /// A ball.
    Ball,
    /// A pole.
    Pole,
}

impl Kind {
    /// All of them, by their numbers.
    pub const ALL: [Self; 3] = [Self::Square, Self::Ball, Self::Pole];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Ball => "balls",
            Self::Pole => "poles",
        }
    }
}

/// A place on a thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where.
    pub at: V3,
    /// Unit normal, to the outside; up on the square.
    pub normal: V3,
    /// What it is on.
    pub kind: Kind,
    /// Which of its kind, from 0.
    pub number: u32,
}

/// Feet of the poles.
fn feet() -> impl Iterator<Item = [f64; 2]> {
    (0..POLES * POLES).map(|pole| {
        [
            0.55 * f64::from(pole % POLES) - 0.82,
            0.55 * f64::from(pole / POLES) - 0.83,
        ]
    })
}

/// The first place that a ray meets, and how many times its direction lies before it.
#[must_use]
pub fn cast(origin: V3, direction: V3) -> Option<(f64, Place)> {
    let along = |t: f64| [0, 1, 2].map(|axis| origin[axis] + t * direction[axis]);
    let mut nearest: Option<(f64, Kind, u32)> = None;
    let mut meet = |t: f64, kind: Kind, number: u32| {
        if t > NEAREST && nearest.is_none_or(|(best, ..)| t < best) {
            nearest = Some((t, kind, number));
        }
    };
    let down = -origin[2] / direction[2];
    let at = along(down);
    if at[0].abs() < SQUARE && at[1].abs() < SQUARE {
        meet(down, Kind::Square, 0);
    }
    let dot = crate::vector::dot;
    for (number, (centre, radius)) in (0..).zip(BALLS) {
        let from = sub(origin, centre);
        let root = first_root(
            dot(direction, direction),
            dot(direction, from),
            dot(from, from) - radius * radius,
        );
        if let Some(t) = root {
            meet(t, Kind::Ball, number);
        }
    }
    let (radius, height) = POLE;
    for (number, foot) in (0..).zip(feet()) {
        let from = [origin[0] - foot[0], origin[1] - foot[1]];
        let (x, y) = (direction[0], direction[1]);
        let b = x * from[0] + y * from[1];
        let c = from[0] * from[0] + from[1] * from[1] - radius * radius;
        if let Some(t) = first_root(x * x + y * y, b, c)
            && (0.0..height).contains(&along(t)[2])
        {
            meet(t, Kind::Pole, number);
        }
    }
    nearest.map(|(t, kind, number)| {
        let at = along(t);
        (
            t,
            Place {
                at,
                normal: normal(at, kind, number),
                kind,
                number,
            },
        )
    })
}

/// Smaller root of `a t^2 + 2 b t + c`.
fn first_root(a: f64, b: f64, c: f64) -> Option<f64> {
    let discriminant = b * b - a * c;
    (discriminant >= 0.0).then(|| (-b - discriminant.sqrt()) / a)
}

/// Normal of a thing at the place on it that is nearest to another.
fn normal(at: V3, kind: Kind, number: u32) -> V3 {
    let number = number as usize;
    let out = match kind {
        Kind::Square => None,
        Kind::Ball => BALLS.get(number).map(|(centre, _)| sub(at, *centre)),
        Kind::Pole => feet().nth(number).map(|[x, y]| [at[0] - x, at[1] - y, 0.0]),
    };
    out.and_then(crate::vector::unit).unwrap_or([0.0, 0.0, 1.0])
}

/// Distance from the nearest thing, what it is, and which of its kind.
fn nearest(p: V3) -> (f64, Kind, u32) {
    let beyond = [0, 1].map(|i| (p[i].abs() - SQUARE).max(0.0));
    let mut best = (norm([beyond[0], beyond[1], p[2]]), Kind::Square, 0);
    let mut offer = |distance: f64, kind: Kind, number: u32| {
        if distance < best.0 {
            best = (distance, kind, number);
        }
    };
    for (number, (centre, radius)) in (0..).zip(BALLS) {
        offer((norm(sub(p, centre)) - radius).abs(), Kind::Ball, number);
    }
    let (radius, height) = POLE;
    for (number, [x, y]) in (0..).zip(feet()) {
        let aside = (p[0] - x).hypot(p[1] - y) - radius;
        let beyond = (-p[2]).max(p[2] - height).max(0.0);
        offer(aside.hypot(beyond), Kind::Pole, number);
    }
    best
}

/// Distance of a place from the nearest surface, and its unit normal there.
#[must_use]
pub fn distance(place: [f32; 3]) -> (f64, Option<[f32; 3]>) {
    let (distance, kind, number) = nearest(wide(place));
    (distance, Some(narrow(normal(wide(place), kind, number))))
}

/// The kind of thing that a place is on, or nearest to.
#[must_use]
pub fn kind_at(place: [f32; 3]) -> Kind {
    nearest(wide(place)).1
}

/// `count` places on all things, even by area; a place is a function of seed, count and its number.
#[must_use]
pub fn places(count: u32, seed: u64) -> Vec<Place> {
    let tau = std::f64::consts::TAU;
    let (radius, height) = POLE;
    let mut things = vec![(Kind::Square, 0, 4.0 * SQUARE * SQUARE)];
    things.extend(
        (0..)
            .zip(BALLS)
            .map(|(number, (_, r))| (Kind::Ball, number, 2.0 * tau * r * r)),
    );
    things.extend(
        (0..)
            .zip(feet())
            .map(|(number, _)| (Kind::Pole, number, tau * radius * height)),
    );
    let total: f64 = things.iter().map(|thing| thing.2).sum();
    let random = Random::new(seed);
    let (mut thing, mut before) = (0, 0.0);
    let place = |i: u32| {
        let draw = |channel: u64| random.unit(3 * u64::from(i) + channel);
        let wanted = (f64::from(i) + draw(0)) / f64::from(count) * total;
        while before + things[thing].2 <= wanted && thing + 1 < things.len() {
            before += things[thing].2;
            thing += 1;
        }
        let (kind, number, _) = things[thing];
        let (a, b) = (draw(1), draw(2));
        let at = match kind {
            Kind::Square => [SQUARE * (2.0 * a - 1.0), SQUARE * (2.0 * b - 1.0), 0.0],
            Kind::Ball => {
                let (centre, radius) = BALLS[number as usize];
                let z = 2.0 * a - 1.0;
                let out = (1.0 - z * z).sqrt();
                crate::vector::add(centre, scale([out * (tau * b).cos(), out * (tau * b).sin(), z], radius))
            }
            Kind::Pole => {
                let [x, y] = feet().nth(number as usize).unwrap_or_default();
                [x + radius * (tau * b).cos(), y + radius * (tau * b).sin(), height * a]
            }
        };
        Place {
            at,
            normal: normal(at, kind, number),
            kind,
            number,
        }
    };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::vector::{add, dot};

    #[test]
    fn places_lie_on_their_things_and_rays_find_them() {
        let places = places(2000, 3);
        let count = |kind: Kind| places.iter().filter(|place| place.kind == kind).count();
        assert!(count(Kind::Square) > 1000 && count(Kind::Ball) > 300 && count(Kind::Pole) > 100);
        let mut met = 0;
        for place in &places {
            let (away, kind, _) = nearest(place.at);
            assert!(away < 1e-12 && (norm(place.normal) - 1.0).abs() < 1e-12, "{place:?}");
            // Balls and poles stand on the square, where two things are equally near.
            assert!(kind == place.kind || place.at[2].abs() < 1e-3, "{place:?}");
            let from = add(place.at, scale(place.normal, 1e-3));
            let (t, found) = cast(from, scale(place.normal, -1.0)).unwrap();
            met += usize::from(found.kind == place.kind && found.number == place.number);
            assert!(t <= 1e-3 + 1e-9 && dot(found.normal, place.normal) > 0.5 || found.kind != place.kind);
        }
        assert!(met > 1980, "{met}");
    }

    #[test]
    fn distances_are_those_of_the_nearest_surface() {
        let close = |p: [f32; 3], wanted: f64, n: [f32; 3]| {
            let (found, normal) = distance(p);
            assert!((found - wanted).abs() < 1e-6, "{p:?} {found}");
            let off = normal
                .unwrap()
                .iter()
                .zip(n)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            assert!(off < 1e-5, "{p:?} {normal:?}");
        };
        close([1.0, -1.0, -0.25], 0.25, [0.0, 0.0, 1.0]);
        close([2.2, 0.0, 0.0], 1.0, [0.0, 0.0, 1.0]);
        close([0.5, 0.3, 0.84], 0.2, [0.0, 0.0, 1.0]);
        close([-0.55, -0.25, 0.5], 0.06, [0.0, 0.0, 1.0]);
        close([-0.82, -0.83 - 0.112, 0.5], 0.1, [0.0, -1.0, 0.0]);
        assert_eq!(kind_at([-0.82, -0.82, 0.6]), Kind::Pole);
    }
}
