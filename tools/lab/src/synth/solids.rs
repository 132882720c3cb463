//! A made-up scene of solid things, drawn by casting rays, so that photos of any size agree with each other.
//!
//! The things of [`kiln_mesh::solids`], a chequered square, striped balls and thin poles, before black, seen from cameras on
//! rings around them. Every pixel is the mean over a grid of rays through its square: the picture that an ideal camera with square pixels takes. A photo of
//! half the size with twice the rays on each side is therefore exactly the 2x2 mean of the larger one before rounding.

use kiln_mesh::solids::{self, Kind, Place};
use kiln_twins::rng::uniform;

use super::faults::Figure;
use super::lens::Optics;
use super::pose::{Pose, Vec3};
use kiln_scene::math::dot;

/// Side of the square's cells, world units.
const CELL: f64 = 0.08;
/// Red, green, blue of every pixel, row by row: the mean over `samples` by `samples` rays each.
pub(super) fn photo(pose: &Pose, optics: &Optics, samples: u32) -> Vec<u8> {
    pixels(optics.size_px)
        .flat_map(|corner| bytes(pixel(pose, optics, samples, corner, &[]).0))
        .collect()
}

/// Upper left corners of the pixels of a photo, row by row.
pub(super) fn pixels([width, height]: [u32; 2]) -> impl Iterator<Item = [f64; 2]> {
    (0..width * height).map(move |pixel| [f64::from(pixel % width), f64::from(pixel / width)])
}

/// Red, green, blue of a pixel with this corner, 0 to 1, the mean over `samples` by `samples` rays; and the share of the rays
/// that meet one of `figures` first.
pub(super) fn pixel(pose: &Pose, optics: &Optics, samples: u32, corner: [f64; 2], figures: &[Figure]) -> (Vec3, f64) {
    let origin = pose.position();
    let share = 1.0 / f64::from(samples * samples);
    let (mut sum, mut covered) = ([0.0; 3], 0.0);
    for sample in 0..samples * samples {
        let offset = [sample % samples, sample / samples].map(|at| (f64::from(at) + 0.5) / f64::from(samples));
        let direction = pose.turn(optics.ray([corner[0] + offset[0], corner[1] + offset[1]]));
        let thing = solids::cast(origin, direction);
        let before = thing.as_ref().map_or(f64::INFINITY, |(away, _)| *away);
        let figure = figures
            .iter()
            .filter_map(|figure| figure.cast(origin, direction))
            .filter(|(away, _)| *away < before)
            .min_by(|a, b| a.0.total_cmp(&b.0));
        covered += f64::from(u8::from(figure.is_some())) * share;
        let color = figure
            .map(|(_, color)| color)
            .or_else(|| thing.map(|(_, place)| color(&place)));
        if let Some(color) = color {
            for (channel, value) in sum.iter_mut().zip(color) {
                *channel += value * share;
            }
        }
    }
    (sum, covered)
}

/// A colour from 0 to 1 in 8 bits a channel.
pub(super) fn bytes(color: Vec3) -> [u8; 3] {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of colours between 0 and 1"
    )]
    color.map(|value| (255.0 * value).round() as u8)
}

/// Depth along the optical axis through every pixel's centre, row by row; 0 where there is nothing.
pub(super) fn depths(pose: &Pose, [width, height]: [u32; 2], focal: f64) -> Vec<f32> {
    let origin = pose.position();
    let [cx, cy] = [width, height].map(|side| 0.5 * f64::from(side));
    let depth = |pixel: u32| {
        let [x, y] = [pixel % width, pixel / width].map(|at| f64::from(at) + 0.5);
        let direction = pose.turn([(x - cx) / focal, (y - cy) / focal, 1.0]);
        #[expect(clippy::cast_possible_truncation, reason = "files hold f32")]
        solids::cast(origin, direction).map_or(0.0, |(away, _)| away as f32)
    };
    (0..width * height).map(depth).collect()
}

/// Normals of what every pixel's centre shows, in the camera's axes with x to the right, y up and z towards the camera, row by row; in
/// 16 bits, -1 is 0 and 1 is 65535. All 0 where there is nothing.
pub(super) fn normals(pose: &Pose, [width, height]: [u32; 2], focal: f64) -> Vec<u16> {
    let origin = pose.position();
    let [cx, cy] = [width, height].map(|side| 0.5 * f64::from(side));
    let normal = |pixel: u32| {
        let [x, y] = [pixel % width, pixel / width].map(|at| f64::from(at) + 0.5);
        let direction = pose.turn([(x - cx) / focal, (y - cy) / focal, 1.0]);
        let Some((_, place)) = solids::cast(origin, direction) else {
            return [0; 3];
        };
        // the ground is seen from above alone, and of the others the outside
        let [right, down, away] = pose.rotation.map(|row| dot(row, place.normal));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 65535"
        )]
        [right, -down, -away].map(|v| (32_767.5 + 32_767.5 * v).round() as u16)
    };
    (0..width * height).flat_map(normal).collect()
}

/// A point on a surface with its colour, seen through a random place of a random one of `views` at this distance; `id` numbers the
/// points.
pub(super) fn point(seed: u32, id: u32, (views, distance): (u32, f64), slopes: [f64; 2]) -> (Vec3, [u8; 3]) {
    // Half of the rays meet something; the square's middle is the answer to a row of misses that does not happen.
    for attempt in 0..256 {
        let draw = |channel: u32| uniform::<f64>(seed, 3, id, 4 * attempt + channel);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below the number of views"
        )]
        let pose = Pose::at((draw(0) * f64::from(views)) as u32, distance);
        let direction = pose.turn([
            (2.0 * draw(1) - 1.0) * slopes[0],
            (2.0 * draw(2) - 1.0) * slopes[1],
            1.0,
        ]);
        if let Some((_, place)) = solids::cast(pose.position(), direction) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "colours lie between 0 and 1"
            )]
            return (place.at, color(&place).map(|value| (255.0 * value) as u8));
        }
    }
    ([0.0; 3], [128; 3])
}

/// Where a point on a surface is in a photo, px; `None` outside of it and behind something else.
pub(super) fn seen_at(pose: &Pose, point: Vec3, size_px: [u32; 2], focal: f64) -> Option<[f64; 2]> {
    let [x, y, z] = [0, 1, 2].map(|row| dot(pose.rotation[row], point) + pose.translation[row]);
    if z <= 0.0 {
        return None;
    }
    let at = [
        focal * x / z + 0.5 * f64::from(size_px[0]),
        focal * y / z + 0.5 * f64::from(size_px[1]),
    ];
    let inside = at
        .iter()
        .zip(size_px)
        .all(|(at, side)| (0.0..f64::from(side)).contains(at));
    let direction = pose.turn([x / z, y / z, 1.0]);
    let (_, first) = solids::cast(pose.position(), direction).filter(|_| inside)?;
    let off = [0, 1, 2].map(|axis| first.at[axis] - point[axis]);
    (dot(off, off) < 1e-12).then_some(at)
}

/// Points on what at least two of `views` photos see, even by area.
pub(super) fn truth(seed: u32, count: u32, views: u32, size_px: [u32; 2], focal: f64) -> Vec<Place> {
    let poses: Vec<Pose> = (0..views).map(Pose::of).collect();
    let mut places = solids::places(count, u64::from(seed));
    places.retain(|place| {
        let seen = poses
            .iter()
            .filter(|pose| seen_at(pose, place.at, size_px, focal).is_some());
        seen.take(2).count() == 2
    });
    places
}

/// Colour of a place.
fn color(place: &Place) -> Vec3 {
    match place.kind {
        Kind::Square => ground(place.at),
        Kind::Ball => stripes(place.normal, place.number as usize),
        Kind::Pole => [0.95, 0.9, 0.8],
    }
}

fn ground(at: Vec3) -> Vec3 {
    let cell = (at[0] / CELL).floor() + (at[1] / CELL).floor();
    let light = if cell.rem_euclid(2.0) < 1.0 { 0.85 } else { 0.15 };
    let hue = 0.5 + 0.4 * (2.0 * at[0]).sin() * (2.0 * at[1]).cos();
    [light, light * hue, light * (1.0 - 0.6 * hue)]
}

/// Colour on a unit ball: bands by height and by angle.
fn stripes(at: Vec3, index: usize) -> Vec3 {
    let band = (8.0 * at[2]).floor() + (12.0 * at[1].atan2(at[0]) / std::f64::consts::TAU).floor();
    let on = band.rem_euclid(2.0) < 1.0;
    let [a, b] = [
        [[0.9, 0.2, 0.1], [0.95, 0.9, 0.85]],
        [[0.1, 0.3, 0.8], [0.9, 0.8, 0.2]],
        [[0.1, 0.6, 0.2], [0.1; 3]],
    ][index % 3];
    if on { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::super::pose::DISTANCE;
    use super::*;

    #[test]
    fn a_small_photo_is_the_mean_of_a_large_one() {
        let pose = Pose::of(5);
        let large = photo(&pose, &Optics::pinhole(43.2, [48, 32]), 4);
        let small = photo(&pose, &Optics::pinhole(21.6, [24, 16]), 8);
        assert!(large.iter().any(|&v| v > 100) && large.contains(&0));
        for row in 0..16 {
            for column in 0..24 {
                for channel in 0..3 {
                    let at = |x: usize, y: usize| f64::from(large[3 * (y * 48 + x) + channel]);
                    let (x, y) = (2 * column, 2 * row);
                    let mean = 0.25 * (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1));
                    let found = f64::from(small[3 * (row * 24 + column) + channel]);
                    assert!((mean - found).abs() <= 1.0, "{column} {row}: {mean} {found}");
                }
            }
        }
    }

    #[test]
    fn points_lie_on_the_surfaces_that_photos_show() {
        for id in 0..200 {
            let (at, _) = point(1, id, (24, DISTANCE), [0.5, 0.4]);
            let (away, _) = solids::distance(at.map(|x| x as f32));
            assert!(away < 1e-6, "{at:?} {away}");
        }
    }
}
