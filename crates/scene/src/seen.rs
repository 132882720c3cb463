//! Points of the sparse model by the photos that show them: where colours of photos can be compared.
//!
//! Owns which of a photo's points are kept. A photo lists the points that its keypoints were matched to; where a point lies
//! in the picture follows from the camera, so keypoints themselves are not kept and nothing has to be undistorted. Promises
//! at most as many points as the caller wants, evenly spread over a photo's list, and never more than [`MOST_POINTS`] in all.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Camera, WidePoint, evenly};

/// Most points kept of all photos together: 32 MiB.
const MOST_POINTS: usize = 1 << 21;
/// Photos that must show a point. Two agree on a wrong match as well as on a right one.
const LEAST_TRACK: u32 = 3;

/// A point that a photo shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPoint {
    /// World-space position.
    pub position: [f32; 3],
    /// Mean distance of its keypoints from where it projects to, px; NaN when the model does not say.
    pub error_px: f32,
}

/// A point as the model's file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PointRecord {
    pub(super) id: u64,
    pub(super) point: WidePoint,
    pub(super) error_px: f64,
    /// Keypoints that were matched to it.
    pub(super) track: u32,
}

/// Points of a photo, shared by the scene at all its resolutions.
pub(super) type Seen = Arc<[SeenPoint]>;

/// Leaves at most `most` of `list`, evenly spread and in their order.
pub(super) fn thin<T: Copy>(list: &mut Vec<T>, most: usize) {
    if list.len() > most {
        *list = evenly(list.len(), most).map(|i| list[i]).collect();
    }
}

/// Points of a photo that may be kept when there are `photos` of them and `most` are asked for.
pub(super) fn most_of(most: usize, photos: usize) -> usize {
    most.min(MOST_POINTS / photos.max(1))
}

/// The points behind the ids that photos list, relative to `origin`, by the photo's name; ids of no point and points of short tracks are dropped.
pub(super) fn resolve(
    listed: impl IntoIterator<Item = (String, Vec<u64>)>,
    points: &[PointRecord],
    most: usize,
    origin: [f64; 3],
) -> BTreeMap<String, Seen> {
    let mut by_id: Vec<(u64, u32)> = (0..).zip(points).map(|(index, record)| (record.id, index)).collect();
    by_id.sort_unstable();
    let seen = |id: &u64| -> Option<SeenPoint> {
        let at = by_id.binary_search_by_key(id, |(id, _)| *id).ok()?;
        let record = points.get(by_id.get(at)?.1 as usize)?;
        let known = record.error_px >= 0.0 && record.error_px.is_finite();
        (record.track >= LEAST_TRACK).then_some(SeenPoint {
            position: record.point.from(origin).position,
            error_px: if known { record.error_px as f32 } else { f32::NAN },
        })
    };
    listed
        .into_iter()
        .map(|(name, ids)| {
            let mut list: Vec<SeenPoint> = ids.iter().filter_map(seen).collect();
            thin(&mut list, most);
            (name, list.into())
        })
        .collect()
}

/// Those of `seen` that lie in the camera's picture and beyond its near plane: a camera may have been cropped since.
pub(super) fn in_picture(seen: &[SeenPoint], camera: &Camera, near_z: f32) -> Seen {
    seen.iter()
        .filter(|point| camera.sees(point.position).is_some_and(|[_, _, depth]| depth > near_z))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64, track: u32, error_px: f64) -> PointRecord {
        PointRecord {
            id,
            point: WidePoint {
                position: [id as f64, 0.0, 5.0],
                color: [0; 3],
            },
            error_px,
            track,
        }
    }

    #[test]
    fn lists_are_thinned_evenly() {
        let thinned = |count: u32, most: usize| {
            let mut list: Vec<u32> = (0..count).collect();
            thin(&mut list, most);
            list
        };
        assert_eq!(thinned(10, 4), [0, 2, 5, 7]);
        assert_eq!(thinned(3, 3), [0, 1, 2]);
        assert_eq!(thinned(5, 0), [0; 0]);
        assert_eq!((most_of(1000, 10), most_of(1000, 1 << 20), most_of(7, 0)), (1000, 2, 7));
    }

    #[test]
    fn short_tracks_and_unknown_ids_are_dropped() {
        let points = [record(9, 3, 0.5), record(4, 2, 0.1), record(7, 8, -1.0)];
        let listed = [("a".to_owned(), vec![7, 4, 11, 9, 7]), ("b".to_owned(), vec![4])];
        let seen = resolve(listed, &points, 2, [0.0; 3]);
        assert!(seen["b"].is_empty());
        let [first, second] = seen["a"][..] else {
            unreachable!("{seen:?}")
        };
        assert!(first.position[0] == 7.0 && first.error_px.is_nan(), "{first:?}");
        assert!(second.position[0] == 9.0 && second.error_px == 0.5, "{second:?}");
    }

    #[test]
    fn points_beside_the_picture_and_behind_it_are_dropped() {
        let camera = Camera {
            width_px: 100,
            height_px: 50,
            fx: 100.0,
            fy: 100.0,
            cx: 50.0,
            cy: 25.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, 1.0],
            lens: None,
        };
        let at = |x: f32, y: f32, z: f32| SeenPoint {
            position: [x, y, z],
            error_px: 0.0,
        };
        let all = [
            at(0.0, 0.0, 1.0),
            at(0.99, 0.0, 1.0),
            at(1.01, 0.0, 1.0),
            at(0.0, -0.51, 1.0),
            at(0.0, 0.0, -3.0),
            at(0.0, 0.0, -0.9),
            at(f32::NAN, 0.0, 1.0),
        ];
        assert_eq!(in_picture(&all, &camera, 0.2)[..], all[..2]);
    }
}
