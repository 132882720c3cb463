//! The term `normal_map`.

use std::sync::Arc;

use super::{Seen, SurfaceTerm};
use crate::kernels::fading::FadingWeight;
use crate::kernels::normal_map_loss;
use crate::kernels::surface_depth::Depths;
use crate::plugins::Loss;
use crate::program::{Program, TensorTable};
use crate::step::StepTensors;

#[derive(Debug)]
struct NormalMap(FadingWeight);

pub(super) fn term(loss: &Loss, _table: &mut TensorTable, t: &StepTensors) -> Option<Arc<dyn SurfaceTerm>> {
    let Loss::NormalMap(options) = loss else { return None };
    Some(Arc::new(NormalMap(options.fading(t.capacities.losses.iterations))))
}

impl SurfaceTerm for NormalMap {
    fn depths(&self) -> Option<Depths> {
        None
    }

    fn record(&self, program: &mut Program, seen: Seen<'_>) {
        let recorded = normal_map_loss::Recorded {
            weight: self.0,
            alone: seen.alone,
            behind_depths: seen.t.capacities.parts().depths,
        };
        let (shared, sums) = (&seen.t.shared, seen.t.loss_sums);
        normal_map_loss::record(program, shared, seen.pixels, seen.surface, sums, recorded);
    }
}
