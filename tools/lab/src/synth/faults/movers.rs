//! Where figures stand in a photo, so that they show in a given share of it.

use kiln_mesh::solids;
use kiln_twins::rng::uniform;

use super::super::lens::Optics;
use super::super::pose::{Pose, Vec3};
use super::figure::Figure;
use super::stream;

/// Most figures in a photo.
const MOST: u32 = 16;
/// Most height of a figure, in distances of the camera from the middle.
const HIGHEST: f64 = 0.5;
/// How far from the camera figures stand along the ground, in the same.
const AWAY: [f64; 2] = [0.5, 1.3];
/// Rays along the sides of a photo by which their height is found.
const RAYS: [u32; 2] = [96, 72];
/// Halvings of the interval in which the height lies.
const HALVINGS: u32 = 18;

/// Figures that show in this share of the photo's pixels: two to four, more where these are not enough, all of one height.
pub(super) fn figures(seed: u32, view: u32, share: f64, pose: &Pose, optics: &Optics, distance: f64) -> Vec<Figure> {
    let draw = |channel: u32| uniform::<f64>(seed, stream::MOVERS, view, channel);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "2, 3 or 4")]
    let mut count = 2 + (3.0 * draw(0)) as u32;
    let rays = rays(pose, optics);
    let all: Vec<Figure> = (0..MOST)
        .map(|number| {
            let channel = 1000 * (number + 1);
            Figure {
                foot: foot(|at| draw(channel + at), pose, optics, distance),
                height: 0.0,
                azimuth: std::f64::consts::TAU * draw(channel + 900),
                clothes: [0, 3].map(|first| [0, 1, 2].map(|i| 0.15 + 0.75 * draw(channel + 901 + first + i))),
            }
        })
        .collect();
    let of_height = |count: u32, height: f64| -> Vec<Figure> {
        let some = all.iter().take(count as usize);
        some.map(|figure| Figure { height, ..*figure }).collect()
    };
    let covered = |figures: &[Figure]| {
        let hit = |&&(origin, direction, before): &&(Vec3, Vec3, f64)| {
            let mut met = figures.iter().filter_map(|figure| figure.cast(origin, direction));
            met.any(|(away, _)| away < before)
        };
        rays.iter().filter(hit).count() as f64 / rays.len() as f64
    };
    let highest = HIGHEST * distance;
    while count < MOST && covered(&of_height(count, highest)) < share {
        count += 1;
    }
    let (mut low, mut high) = (0.0, highest);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if covered(&of_height(count, middle)) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    of_height(count, high)
}

/// A place on the ground that the photo shows, neither at the camera's feet nor far away.
fn foot(draw: impl Fn(u32) -> f64, pose: &Pose, optics: &Optics, distance: f64) -> [f64; 2] {
    let origin = pose.position();
    let [width, height] = optics.size_px.map(f64::from);
    for attempt in 0..200 {
        let place = [
            (0.1 + 0.8 * draw(2 * attempt)) * width,
            (0.3 + 0.7 * draw(2 * attempt + 1)) * height,
        ];
        let direction = pose.turn(optics.ray(place));
        let away = -origin[2] / direction[2];
        let at = [origin[0] + away * direction[0], origin[1] + away * direction[1]];
        let along = (at[0] - origin[0]).hypot(at[1] - origin[1]) / distance;
        if away > 0.0 && (AWAY[0]..AWAY[1]).contains(&along) {
            return at;
        }
    }
    [0.0; 2]
}

/// Rays through a grid of places, and how far each goes.
fn rays(pose: &Pose, optics: &Optics) -> Vec<(Vec3, Vec3, f64)> {
    let origin = pose.position();
    let counts = [0, 1].map(|axis| RAYS[axis].min(optics.size_px[axis]));
    let place =
        |axis: usize, at: u32| (f64::from(at) + 0.5) / f64::from(counts[axis]) * f64::from(optics.size_px[axis]);
    let ray = |index: u32| {
        let direction = pose.turn(optics.ray([place(0, index % counts[0]), place(1, index / counts[0])]));
        let before = solids::cast(origin, direction).map_or(f64::INFINITY, |(away, _)| away);
        (origin, direction, before)
    };
    (0..counts[0] * counts[1]).map(ray).collect()
}
