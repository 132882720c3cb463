//! Motion blur: a camera that turns while its shutter is open.

use std::collections::BTreeSet;

use kiln_twins::rng::uniform;

use super::super::lens::Optics;
use super::super::pose::Pose;
use super::stream;

/// Poses along the path, whose light is averaged.
const POSES: u32 = 8;
/// How long the path is in the middle of a photo, at least and at most, in shares of its width.
const LENGTHS: [f64; 2] = [0.012, 0.03];

/// A path in the middle of a photo, px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Path(pub(super) [f64; 2]);

impl Path {
    /// That of a view.
    pub(super) fn of(seed: u32, view: u32, width_px: u32) -> Self {
        let draw = |channel| uniform::<f64>(seed, stream::BLUR, view, channel);
        let length = (LENGTHS[0] + draw(1) * (LENGTHS[1] - LENGTHS[0])) * f64::from(width_px);
        let (sine, cosine) = (std::f64::consts::TAU * draw(2)).sin_cos();
        Self([length * cosine, length * sine])
    }

    /// Length in the middle of a photo, px.
    pub(super) fn length_px(&self) -> f64 {
        self.0[0].hypot(self.0[1])
    }

    /// Poses along it, half before and half behind that of the view.
    pub(super) fn poses(&self, pose: &Pose, optics: &Optics) -> Vec<Pose> {
        let along = |step: u32| (f64::from(step) + 0.5) / f64::from(POSES) - 0.5;
        (0..POSES)
            .map(|step| pose.panned(self.0.map(|px| along(step) * px / optics.focal)))
            .collect()
    }
}

/// Which of the views are blurred: this share of them, to the nearest whole number.
pub(super) fn blurred(seed: u32, share: f64, views: &[u32]) -> BTreeSet<u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of views"
    )]
    let count = (share * views.len() as f64).round() as usize;
    let mut drawn: Vec<(f64, u32)> = views
        .iter()
        .map(|view| (uniform::<f64>(seed, stream::BLUR, *view, 0), *view))
        .collect();
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    drawn.into_iter().take(count).map(|(_, view)| view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_blurred_as_asked_for_and_a_path_is_as_long_as_it_says() {
        let views: Vec<u32> = (0..24).filter(|view| view % 8 != 0).collect();
        assert_eq!(blurred(1, 0.3, &views).len(), 6);
        assert_ne!(blurred(1, 0.3, &views), blurred(2, 0.3, &views));
        let optics = Optics::pinhole(360.0, [400, 300]);
        let path = Path::of(1, 3, 400);
        assert!((4.8..12.0).contains(&path.length_px()));
        let pose = Pose::of(3);
        let poses = path.poses(&pose, &optics);
        // where the first and the last see what the photo has in its middle
        let ahead = pose.rotation[2];
        let [first, last] = [&poses[0], &poses[7]].map(|pose| {
            let [x, y, z] = pose.rotation.map(|row| (0..3).map(|i| row[i] * ahead[i]).sum::<f64>());
            [360.0 * x / z, 360.0 * y / z]
        });
        let moved = (first[0] - last[0]).hypot(first[1] - last[1]);
        assert!((moved / (0.875 * path.length_px()) - 1.0).abs() < 1e-3, "{moved}");
    }
}
