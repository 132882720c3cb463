//! Gaussians that keep the steps of a view from being finite: found, taken out of the model, and reported.
//!
//! A step that is not finite is left out and changes nothing, so the next step of the same view would come out the same. After
//! [`PATIENCE`] steps of a view in a row the culprits are looked for: Gaussians with a parameter that is not finite, or so large
//! that its square is not. A culprit gets an opacity below what is drawn, no colour and no moments; the next densification
//! removes or moves it like others that are faint.

use super::{Flight, Trainer};
use crate::record::events::Event;
use crate::step;
use crate::train::TrainError;
use kiln_gaussians::layout::{GEOMETRY_PLANES, PLANE_OPACITY, PLANE_QUATS, PLANE_SCALES};
use kiln_gaussians::{Gaussians, layout};
use kiln_program::{Program, Span};

/// Steps of a view that are left out in a row before its culprits are looked for.
const PATIENCE: u32 = 3;
/// Most Gaussians that are taken out at once.
const MOST: usize = 1000;
/// Logit of an opacity that is never drawn.
const HIDDEN_LOGIT: f32 = -20.0;
/// Logarithm of the standard deviations of a hidden Gaussian, world units.
const HIDDEN_LOG_SCALE: f32 = -12.0;

impl Trainer {
    /// A step of the view of `flight` was done.
    pub(super) fn note_done(&mut self, flight: &Flight) {
        // Nearly always there is none.
        self.left_out_in_a_row.remove(&flight.block.view);
    }

    /// The step of `flight` was left out; nothing is in flight. Takes out the culprits when it is time, and says so.
    pub(super) fn heal(&mut self, flight: &Flight) -> Result<Option<Event>, TrainError> {
        let in_a_row = self.left_out_in_a_row.entry(flight.block.view).or_insert(0);
        *in_a_row += 1;
        if !in_a_row.is_multiple_of(PATIENCE) || self.is_triangles() {
            return Ok(None);
        }
        let model = step::read_model(&mut self.gpu, &self.tensors)?;
        let culprits = broken(&model);
        let Some(first) = culprits.first() else {
            return Ok(None);
        };
        let which = match culprits.len() {
            1 => format!("Gaussian {first} was"),
            n => format!("{n} Gaussians, the first of them {first}, were"),
        };
        self.hide(&culprits)?;
        Ok(Some(Event::Warning {
            message: format!(
                "the steps of training view {} were not finite {PATIENCE} times in a row: {which} taken out of the model",
                flight.block.view
            ),
        }))
    }

    /// Makes Gaussians such that they are neither drawn nor moved.
    fn hide(&mut self, gaussians: &[u32]) -> Result<(), TrainError> {
        let mut program = Program::new("hidden Gaussians");
        for id in gaussians {
            let Some(chunk) = self.tensors.chunks.iter().rfind(|chunk| chunk.first <= *id) else {
                continue;
            };
            let word = |planes: &Span, plane: u32| {
                let at = u64::from(plane) * u64::from(chunk.stride) + u64::from(id - chunk.first);
                planes.slice(4 * at, 4)
            };
            let planes = chunk.planes;
            for (tensor, count) in [
                (&chunk.geometry_m, planes.geometry_m),
                (&chunk.geometry_v, planes.geometry_v),
                (&chunk.sh, planes.sh),
                (&chunk.sh_m, planes.sh_m),
                // Behind them is the count of steps taken, which stays.
                (&chunk.sh_v, planes.seen_plane().unwrap_or(planes.sh_v)),
            ] {
                for plane in 0..count {
                    program.fill(word(tensor, plane), 0);
                }
            }
            for plane in 0..GEOMETRY_PLANES {
                let value = match plane {
                    PLANE_OPACITY => HIDDEN_LOGIT,
                    PLANE_QUATS => 1.0,
                    plane if (PLANE_SCALES..PLANE_SCALES + 3).contains(&plane) => HIDDEN_LOG_SCALE,
                    // Means and the rest of the rotation.
                    _ => 0.0,
                };
                program.fill(word(&chunk.geometry, plane), value.to_bits());
            }
        }
        Ok(self.gpu.run(&program)?)
    }
}

/// Gaussians with a parameter that no arithmetic in f32 bears, the first [`MOST`] of them.
fn broken(model: &Gaussians) -> Vec<u32> {
    let sh_rest = layout::sh_planes(model.sh_degree) as usize - 3;
    let is_broken = |i: usize| {
        // What is no number is not within either.
        let within = |values: &[f32], most: f32| values.iter().all(|value| value.abs() <= most);
        !(within(&model.means[i], 1e12)
            && within(&model.quats[i], 1e15)
            && model.quats[i].iter().any(|value| *value != 0.0)
            && within(&model.log_scales[i], 40.0)
            && within(&[model.logit_opacities[i]], 1e6)
            && within(&model.sh0[i], 1e6)
            && within(&model.sh_rest[i * sh_rest..(i + 1) * sh_rest], 1e6))
    };
    let found = (0..model.len()).filter(|i| is_broken(*i)).take(MOST);
    found.filter_map(|i| u32::try_from(i).ok()).collect()
}
