//! The points whose depth is compared, as the device reads them.
//!
//! A point's weight falls with the distance `e` of its keypoints from where it projects to, as depth-supervised radiance
//! fields weigh theirs (Deng et al. 2022): `exp(-(e / e_mean)^2)`, with the mean over all points of all photos. Scenes have
//! no unit of length, so a photo's weights are divided by what they weigh on its inverse depths together: the loss is the
//! mean absolute difference of inverse depth over the mean inverse depth, `sum w_p |D_p - 1/z_p| / sum w_p / z_p`. Inverse,
//! because a triangulated point is that much less certain the farther it is.

use crate::scene::{Camera, SceneIndex, SeenPoint};

/// Points of all training views.
pub(super) struct Table {
    /// First point and number of points of each view.
    pub(super) views: Vec<[u32; 2]>,
    /// World position and weight.
    pub(super) points: Vec<[f32; 4]>,
}

/// Most points of a training view, and all of them.
pub(super) fn counts(scene: &SceneIndex) -> [u32; 2] {
    let of_view = || scene.train.iter().map(|view| view.seen.len());
    [of_view().max().unwrap_or(0), of_view().sum()].map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Points and weights of every training view.
pub(super) fn table(scene: &SceneIndex) -> Table {
    let errors = || {
        let points = scene.train.iter().flat_map(|view| view.seen.iter());
        points
            .map(|point| f64::from(point.error_px))
            .filter(|error| !error.is_nan())
    };
    let mean = errors().sum::<f64>() / (errors().count() as f64).max(1.0);
    let mut table = Table {
        views: Vec::with_capacity(scene.train.len()),
        points: Vec::new(),
    };
    for view in &scene.train {
        let first = u32::try_from(table.points.len()).unwrap_or(u32::MAX);
        table.points.extend(weighted(&view.seen, &view.camera, mean));
        table
            .views
            .push([first, u32::try_from(view.seen.len()).unwrap_or(u32::MAX)]);
    }
    table
}

/// The points of a photo with weights that make a mean of them, in units of the mean inverse depth.
fn weighted(seen: &[SeenPoint], camera: &Camera, mean_error_px: f64) -> Vec<[f32; 4]> {
    let own = |point: &SeenPoint| {
        let ratio = f64::from(point.error_px) / mean_error_px;
        if ratio.is_finite() { (-ratio * ratio).exp() } else { 1.0 }
    };
    let inverse_depth = |point: &SeenPoint| {
        let [row, [x, y, z]] = [camera.rotation[2], point.position];
        1.0 / f64::from(row[0] * x + row[1] * y + row[2] * z + camera.translation[2])
    };
    let sum: f64 = seen.iter().map(|point| own(point) * inverse_depth(point)).sum();
    let entry = |point: &SeenPoint| {
        let [x, y, z] = point.position;
        #[expect(clippy::cast_possible_truncation, reason = "at most the depth of a point")]
        let weight = (own(point) / sum) as f32;
        [x, y, z, if weight.is_finite() { weight } else { 0.0 }]
    };
    seen.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera {
            width_px: 10,
            height_px: 10,
            fx: 10.0,
            fy: 10.0,
            cx: 5.0,
            cy: 5.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, 2.0],
        }
    }

    fn seen(errors: &[f32], scale: f32) -> Vec<SeenPoint> {
        let point = |(i, error): (u8, &f32)| SeenPoint {
            position: [0.0, 0.0, scale * f32::from(i)],
            error_px: *error,
        };
        (0..).zip(errors).map(point).collect()
    }

    /// With nothing drawn at all the loss is the weight of the loss, whatever the unit of length.
    #[test]
    fn weights_make_a_mean_without_a_unit() {
        for scale in [1.0, 100.0] {
            let mut camera = camera();
            camera.translation[2] *= scale;
            let list = weighted(&seen(&[0.2, 0.4, 0.9, f32::NAN], scale), &camera, 0.5);
            let loss: f32 = list.iter().map(|[_, _, z, w]| w / (z + camera.translation[2])).sum();
            assert!((loss - 1.0).abs() < 1e-6, "{loss}");
            assert!(list[0][3] > list[1][3] && list[1][3] > list[2][3], "{list:?}");
            let ratio = list[2][3] / list[3][3];
            assert!(
                (ratio - (-3.24_f32).exp()).abs() < 1e-6,
                "an unknown error counts as none: {ratio}"
            );
        }
    }

    #[test]
    fn models_without_errors_weigh_all_alike() {
        let list = weighted(&seen(&[0.0; 3], 1.0), &camera(), 0.0);
        assert!(list.iter().all(|point| point[3] == list[0][3] && point[3] > 0.0));
        assert!(weighted(&[], &camera(), 0.0).is_empty());
    }
}
