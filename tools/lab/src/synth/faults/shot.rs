//! One photo with its faults.

use super::super::Synthetic;
use super::super::lens::Optics;
use super::super::pose::Pose;
use super::super::solids;
use super::blur::{Path, blurred};
use super::camera::{Camera, light, r2};
use super::drift::{drifts, gains, spreads};
use super::exif::Exposure;
use super::figure::Figure;
use super::movers::figures;
use super::settings::ExifKind;
use super::stream;

/// How a view is taken.
pub(in crate::synth) struct Shot {
    pub(in crate::synth) optics: Optics,
    pub(super) view: u32,
    pose: Pose,
    pub(super) camera: Camera,
    /// Stops of green, and further ones of red and blue.
    pub(super) drift: [f64; 3],
    pub(super) exposure: Option<Exposure>,
    pub(super) path: Option<Path>,
    figures: Vec<Figure>,
    /// Share of the photo's pixels that shows figures, once it is drawn.
    pub(super) movers: f64,
}

/// A photo, the same without faults, and how much of each pixel stands still.
pub(in crate::synth) struct Drawn {
    pub(in crate::synth) photo: Vec<u8>,
    pub(in crate::synth) clean: Vec<u8>,
    pub(in crate::synth) still: Vec<u8>,
}

/// How all views of a scene are taken.
pub(in crate::synth) fn shots(scene: &Synthetic) -> Vec<Shot> {
    let (seed, faults) = (scene.seed, scene.faults);
    let is_trained: Vec<bool> = (0..scene.views).map(|view| !Synthetic::is_held_out(view)).collect();
    let trained: Vec<u32> = (0..scene.views).filter(|view| is_trained[*view as usize]).collect();
    let drifts = drifts(seed, faults.drift.unwrap_or(0.0), &is_trained);
    let lies = spreads(seed, (stream::EXIF, 0), faults.drift.unwrap_or(0.0), &is_trained);
    let blurred = blurred(seed, faults.blur.unwrap_or(0.0), &trained);
    let shot = |(view, (drift, lie)): (u32, (&[f64; 3], &f64))| {
        let (pose, optics) = (scene.solids_pose(view), scene.optics(view));
        let says = match faults.exif {
            ExifKind::None => None,
            ExifKind::True => Some(drift[0]),
            ExifKind::Lies => Some(*lie),
        };
        let share = faults.movers.filter(|share| *share > 0.0 && is_trained[view as usize]);
        Shot {
            view,
            camera: Camera {
                gains: gains(*drift),
                vignetting: faults.vignetting.unwrap_or(0.0),
                response: faults.response.unwrap_or(1.0),
            },
            drift: *drift,
            exposure: says
                .filter(|_| faults.drift.is_some())
                .map(|stops| Exposure::of(seed, view, stops)),
            path: blurred.contains(&view).then(|| Path::of(seed, view, optics.size_px[0])),
            figures: share.map_or_else(Vec::new, |share| {
                figures(seed, view, share, &pose, &optics, scene.distance())
            }),
            movers: 0.0,
            pose,
            optics,
        }
    };
    (0..).zip(drifts.iter().zip(&lies)).map(shot).collect()
}

impl Shot {
    /// What the photo's file says of its exposure.
    pub(in crate::synth) fn exif(&self) -> Option<Vec<u8>> {
        self.exposure.map(|exposure| exposure.bytes())
    }

    /// Draws it with `samples` rays along each side of a pixel; half of that for each pose of a camera that moves.
    pub(in crate::synth) fn draw(&mut self, samples: u32) -> Drawn {
        let size_px = self.optics.size_px;
        let count = (size_px[0] * size_px[1]) as usize;
        let mut drawn = Drawn {
            photo: Vec::with_capacity(3 * count),
            clean: Vec::with_capacity(3 * count),
            still: Vec::with_capacity(count),
        };
        let mut covered = 0.0;
        for corner in solids::pixels(size_px) {
            let (clean, _) = solids::pixel(&self.pose, &self.optics, samples, corner, &[]);
            let (color, movers) = self.pixel(samples, corner, clean);
            covered += movers;
            drawn.photo.extend(solids::bytes(color));
            drawn.clean.extend(solids::bytes(clean));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share; white is what stands still altogether"
            )]
            drawn.still.push((255.0 * (1.0 - movers)).clamp(0.0, 255.0) as u8);
        }
        self.movers = covered / count as f64;
        drawn
    }

    /// Colour of a pixel, and the share of it that shows figures.
    fn pixel(&self, samples: u32, corner: [f64; 2], clean: [f64; 3]) -> ([f64; 3], f64) {
        let place = r2(corner, self.optics.size_px);
        let Some(path) = self.path else {
            let (color, movers) = if self.figures.is_empty() {
                (clean, 0.0)
            } else {
                solids::pixel(&self.pose, &self.optics, samples, corner, &self.figures)
            };
            // not through sRGB's curve and back, which may round to another byte
            let is_plain = self.camera == Camera::PLAIN;
            let written = if is_plain {
                color
            } else {
                self.camera.develop(light(color), place)
            };
            return (written, movers);
        };
        let poses = path.poses(&self.pose, &self.optics);
        let share = 1.0 / poses.len() as f64;
        let (mut sum, mut covered) = ([0.0; 3], 0.0);
        for pose in &poses {
            let (color, movers) = solids::pixel(pose, &self.optics, samples.div_ceil(2), corner, &self.figures);
            for (channel, value) in sum.iter_mut().zip(light(color)) {
                *channel += value * share;
            }
            covered += movers * share;
        }
        (self.camera.develop(sum, place), covered)
    }
}
