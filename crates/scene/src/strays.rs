//! Cameras and points that a wrong match or a wrong GPS tag put far from all others.
//!
//! A scene's size, its middle and its near plane follow from where cameras are, and one photo registered three thousand units away
//! would decide them. Owns the rule by which such cameras and points are found. Promises to be careful: a capture along a street, from
//! a few places, or with an overview from afar has none, and where fewer than seven cameras in eight stand together nothing is said.
//!
//! The middle is the median of the cameras on each axis, which wrong ones do not move far until they are half of all. Distances from there
//! are compared in ascending order, and strays begin at the first gap of three quarters of the way: the ratio of gap to range by which Dixon
//! (Processing data for outliers, Biometrics 1953) rejects the largest of some values, at 95 % from five values on. Distances of cameras
//! follow no distribution, so that a picture has to confirm it, by containing none of the points, or the gap has to be larger. Whatever
//! says where a scene is and how large leaves strays out and is otherwise what it is without the rule: without strays no figure changes.

use super::median::median;
use super::{Camera, Point, evenly};
use crate::math::{Vec3, norm, sub};

/// Fewest cameras that can be said to stand together.
const FEWEST: usize = 5;
/// One in this many cameras may be far from the others.
const ONE_IN: usize = 8;
/// How many times as far from the middle as the farthest of the others a camera is at least.
const GAP: f64 = 4.0;
/// The same where its picture shows what the others look at: an overview, or a pose that is not wrong by much.
const GAP_OF_SEEING: f64 = 10.0;
/// Others stand within this part of the points' median distance at least, where all but few are in one place.
const LEAST_OF_POINTS: f64 = 0.25;
/// A picture that contains less than this part of the points that others do contains none.
const BLIND: f64 = 0.01;
/// Most points that are projected, and most of the other cameras.
const MOST: [usize; 2] = [1 << 14, 32];
/// How many times the scene's size away a point is that decides nothing: cameras as far apart as the scene is large see it
/// at the same place.
const FAR_POINT: f64 = 1000.0;
/// The same of one that is kept, and counts for no mean or variance: squared it would weigh as much as a thousand others.
const DISTANT_POINT: f64 = 30.0;

/// A camera far from all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stray {
    /// Its place among the cameras.
    pub(super) index: usize,
    /// Distance from the middle of all, world units.
    pub(super) distance: f64,
    /// Its picture contains none of the points.
    pub(super) is_blind: bool,
}

/// Where a scene is and how large, whatever a few cameras and points say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Middle {
    center: Vec3<f64>,
    /// Median distance of the cameras from the centre, world units.
    of_cameras: f64,
    /// And of the points; 0 without any.
    of_points: f64,
}

impl Middle {
    /// Measures a scene.
    pub(super) fn of(cameras: &[&Camera], points: &[Point]) -> Self {
        let centres: Vec<Vec3<f64>> = cameras.iter().map(|camera| camera.position().map(f64::from)).collect();
        let center = std::array::from_fn(|axis| median(centres.iter().map(|centre| centre[axis])).unwrap_or(0.0));
        let from = |place: Vec3<f64>| norm(sub(place, center));
        let some = evenly(points.len(), MOST[0]).map(|at| points[at].position.map(f64::from));
        Self {
            center,
            of_cameras: median(centres.iter().map(|centre| from(*centre))).unwrap_or(0.0),
            of_points: median(some.map(from)).unwrap_or(0.0),
        }
    }

    /// True for a place so far away that it can be no point of the scene.
    pub(super) fn is_beyond(&self, place: [f32; 3]) -> bool {
        let size = self.of_cameras.max(self.of_points);
        size > 0.0 && self.distance(place) > FAR_POINT * size
    }

    /// True for a place so far away that it says nothing of how the scene lies; one beyond everything is such a place.
    pub(super) fn is_distant(&self, place: [f32; 3]) -> bool {
        let size = self.of_cameras.max(self.of_points);
        size > 0.0 && self.distance(place) > DISTANT_POINT * size
    }

    fn distance(&self, place: [f32; 3]) -> f64 {
        norm(sub(place.map(f64::from), self.center))
    }

    /// Cameras far from all others, in their order, and how far the farthest of the others is.
    pub(super) fn strays(&self, cameras: &[&Camera], points: &[Point]) -> (Vec<Stray>, f64) {
        let mut distances: Vec<(f64, usize)> = (0..)
            .zip(cameras)
            .map(|(index, camera)| (self.distance(camera.position()), index))
            .collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = distances.len();
        let fewest = count - (count / ONE_IN).max(1).min(count);
        if count < FEWEST {
            return (Vec::new(), 0.0);
        }
        let reach = |at: usize| distances[at - 1].0.max(LEAST_OF_POINTS * self.of_points);
        let is_gap = |at: &usize| reach(*at) > 0.0 && distances[*at].0 > GAP * reach(*at);
        let Some(first) = (fewest..count).find(is_gap) else {
            return (Vec::new(), 0.0);
        };
        let some: Vec<[f32; 3]> = evenly(points.len(), MOST[0]).map(|at| points[at].position).collect();
        let shown = |index: usize| {
            some.iter()
                .filter(|place| cameras[index].sees(**place).is_some())
                .count() as f64
        };
        let usual = median(evenly(first, MOST[1]).map(|at| shown(distances[at].1))).unwrap_or(0.0);
        let reach = reach(first);
        let mut strays: Vec<Stray> = distances[first..]
            .iter()
            .map(|&(distance, index)| Stray {
                index,
                distance,
                is_blind: usual > 0.0 && shown(index) < BLIND * usual,
            })
            .filter(|stray| stray.is_blind || stray.distance > GAP_OF_SEEING * reach)
            .collect();
        strays.sort_by_key(|stray| stray.index);
        (strays, distances[first - 1].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera at `position` that looks along `axis`, both in the plane y = 0.
    fn camera(position: [f32; 3], axis: [f32; 3]) -> Camera {
        let rotation = [[axis[2], 0.0, -axis[0]], [0.0, 1.0, 0.0], axis];
        let dot = |row: [f32; 3]| row.iter().zip(position).map(|(a, b)| a * b).sum::<f32>();
        Camera {
            width_px: 64,
            height_px: 48,
            fx: 60.0,
            fy: 60.0,
            cx: 32.0,
            cy: 24.0,
            rotation,
            translation: rotation.map(|row| -dot(row)),
            lens: None,
        }
    }

    /// Cameras on a ring of radius 3 that look inwards.
    fn ring(count: usize) -> Vec<Camera> {
        (0..count)
            .map(|n| {
                let (sin, cos) = (n as f32 * std::f32::consts::TAU / count as f32).sin_cos();
                camera([3.0 * sin, 0.0, 3.0 * cos], [-sin, 0.0, -cos])
            })
            .collect()
    }

    fn object() -> Vec<Point> {
        let at = |n: u16| f32::from(n % 10) * 0.1 - 0.45;
        (0..1000)
            .map(|n| Point {
                position: [at(n), at(n / 10), at(n / 100)],
                color: [0; 3],
            })
            .collect()
    }

    /// Places of the strays, and whether they are blind.
    fn found(cameras: &[Camera], points: &[Point]) -> Vec<(usize, bool)> {
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let (strays, _) = Middle::of(&cameras, points).strays(&cameras, points);
        strays.iter().map(|stray| (stray.index, stray.is_blind)).collect()
    }

    const AWAY: [f32; 3] = [0.0, 0.0, 1.0];

    #[test]
    fn cameras_far_from_all_others_are_found() {
        for far in [30.0, -300.0, 3e3, 3e6] {
            for count in [5, 12, 40] {
                let mut cameras = ring(count);
                cameras[3] = camera([far, 0.0, 0.0], AWAY);
                assert_eq!(found(&cameras, &object()), [(3, true)], "{far} {count}");
                if far.abs() > 50.0 {
                    assert_eq!(found(&cameras, &[]), [(3, false)], "{far} {count}, without points");
                }
            }
        }
        let mut several = ring(40);
        several[1] = camera([40.0, 0.0, 0.0], AWAY);
        several[17] = camera([0.0, 400.0, 0.0], AWAY);
        several[18] = camera([0.0, 401.0, 0.0], AWAY);
        several[30] = camera([-4e4, 0.0, 0.0], AWAY);
        assert_eq!(
            found(&several, &object()),
            [(1, true), (17, true), (18, true), (30, true)]
        );
    }

    #[test]
    fn an_overview_is_none_and_from_very_far_is_not_blind() {
        let mut cameras = ring(40);
        cameras[3] = camera([0.0, 0.0, -18.0], AWAY);
        assert_eq!(found(&cameras, &object()), []);
        cameras[3] = camera([0.0, 0.0, -60.0], AWAY);
        assert_eq!(found(&cameras, &object()), [(3, false)]);
    }

    #[test]
    fn captures_of_other_shapes_have_none() {
        let line: Vec<Camera> = (0..50).map(|n| camera([n as f32 * 8.0, 0.0, 0.0], AWAY)).collect();
        let street: Vec<Point> = (0..400)
            .map(|n| Point {
                position: [n as f32, 0.0, 5.0],
                color: [0; 3],
            })
            .collect();
        for points in [&street[..], &[]] {
            assert_eq!(found(&line, points), []);
            assert_eq!(found(&line[..2], points), []);
            assert_eq!(found(&[line[0].clone(), line[49].clone()], points), []);
            assert_eq!(found(&line[..1], points), []);
        }
        assert_eq!(found(&[], &street), []);
        // From one place, and three photos from across the room; from two places.
        let mut panorama: Vec<Camera> = (0..40).map(|_| camera([0.0; 3], AWAY)).collect();
        assert_eq!(found(&panorama, &object()), []);
        panorama.extend((0..3).map(|n| camera([2.0, 0.0, n as f32], AWAY)));
        let room: Vec<Point> = object()
            .iter()
            .map(|p| Point {
                position: p.position.map(|x| 10.0 * x),
                ..*p
            })
            .collect();
        assert_eq!(found(&panorama, &room), []);
        let mut groups = ring(20);
        groups.extend((0..20).map(|n| camera([500.0 + n as f32, 0.0, 0.0], AWAY)));
        assert_eq!(found(&groups, &object()), []);
        assert_eq!(found(&ring(5), &[]), []);
    }

    #[test]
    fn a_turntable_with_an_overview_has_none() {
        for count in [5, 12, 36] {
            let mut cameras = ring(count);
            // Five times as far as the others, and it shows the whole object.
            cameras.push(camera([0.0, 0.0, -15.0], AWAY));
            assert_eq!(found(&cameras, &object()), [], "{count}");
        }
    }

    #[test]
    fn a_flight_along_a_line_has_none() {
        // Photos every 20 m for 4 km from 80 m above the ground, turned around at the end for a second pass.
        let flight: Vec<Camera> = (0..400)
            .map(|n: u16| camera([20.0 * f32::from(n.min(399 - n)), 0.0, 0.0], AWAY))
            .collect();
        let ground: Vec<Point> = (0..4000_u16)
            .map(|n| Point {
                position: [f32::from(n), f32::from(n % 60) - 30.0, 80.0],
                color: [0; 3],
            })
            .collect();
        assert_eq!(found(&flight, &ground), []);
        assert_eq!(found(&flight, &[]), []);
        // Most photos at the start, where it waits, and some on its way.
        let mut waits: Vec<Camera> = (0..60).map(|n| camera([0.01 * n as f32, 0.0, 0.0], AWAY)).collect();
        waits.extend((1..6).map(|n| camera([15.0 * n as f32, 0.0, 0.0], AWAY)));
        assert_eq!(found(&waits, &ground[..200]), []);
    }

    #[test]
    fn a_house_from_inside_and_outside_has_none() {
        // A room from a ring in it, and its house from the street: few photos or many, that contain what the others show.
        for outside in [1, 4, 5, 12, 40] {
            let mut cameras = ring(36);
            let beside = |n: u16| camera([f32::from(n) - 6.0, 0.0, -25.0], AWAY);
            cameras.extend((0..outside).map(beside));
            assert_eq!(found(&cameras, &object()), [], "{outside}");
        }
        // And from behind, where the photos show a garden of its own.
        let mut points = object();
        points.extend((0..200_u16).map(|n| Point {
            position: [f32::from(n % 20) - 10.0, 0.0, 30.0 + f32::from(n / 20)],
            color: [0; 3],
        }));
        let mut cameras = ring(36);
        cameras.extend((0..4_u16).map(|n| camera([f32::from(n), 0.0, 20.0], AWAY)));
        assert_eq!(found(&cameras, &points), []);
    }

    #[test]
    fn of_a_few_cameras_none_is_far() {
        for count in [2, 3, 4] {
            let mut cameras = ring(count);
            assert_eq!(found(&cameras, &object()), []);
            cameras[0] = camera([3e3, 0.0, 0.0], AWAY);
            assert_eq!(found(&cameras, &object()), [], "{count}");
        }
    }

    #[test]
    fn cameras_at_one_place_have_none() {
        for count in [2, 5, 40] {
            let same: Vec<Camera> = (0..count).map(|_| camera([7.0, -2.0, 1e3], AWAY)).collect();
            assert_eq!(found(&same, &object()), []);
            assert_eq!(found(&same, &[]), []);
        }
    }

    #[test]
    fn distant_points_are_known() {
        let cameras = ring(12);
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let middle = Middle::of(&cameras, &object());
        assert!(middle.is_distant([0.0, 200.0, 0.0]) && !middle.is_beyond([0.0, 200.0, 0.0]));
        assert!(!middle.is_distant([0.0, 80.0, 0.0]));
        assert!(!Middle::of(&[], &[]).is_distant([1e9; 3]));
    }

    #[test]
    fn points_beyond_everything_are_known() {
        let cameras = ring(12);
        let cameras: Vec<&Camera> = cameras.iter().collect();
        let mut points = object();
        points.push(Point {
            position: [1e6, 0.0, 0.0],
            color: [0; 3],
        });
        let middle = Middle::of(&cameras, &points);
        let beyond: Vec<usize> = (0..points.len())
            .filter(|at| middle.is_beyond(points[*at].position))
            .collect();
        assert_eq!(beyond, [1000]);
        assert!(!middle.is_beyond([2000.0, 0.0, 0.0]));
        assert!(!Middle::of(&[], &[]).is_beyond([1e9; 3]));
    }
}
