//! The term `neighbour`.

use std::sync::Arc;

use super::{Seen, SurfaceTerm};
use crate::kernels::neighbor_loss::{self, PairWeights};
use crate::kernels::plane_loss;
use crate::kernels::surface_depth::Depths;
use crate::plugins::Loss;
use crate::program::{Program, TensorTable};
use crate::step::{PairTensors, StepTensors};

pub(super) fn term(loss: &Loss, table: &mut TensorTable, t: &StepTensors) -> Option<Arc<dyn SurfaceTerm>> {
    let Loss::Neighbour(options) = loss else { return None };
    let weights = PairWeights {
        geometry: options.geometry,
        photometric: options.photometric,
    };
    let brings_photos = t.resident.pages.is_empty();
    let tensors = PairTensors::new(table, &t.capacities, weights, &t.rings, brings_photos);
    Some(Arc::new(tensors))
}

impl SurfaceTerm for PairTensors {
    fn depths(&self) -> Option<Depths> {
        Some(plane_loss::PLANES)
    }

    fn record(&self, program: &mut Program, seen: Seen<'_>) {
        let Seen {
            t,
            pixels,
            surface,
            alone,
        } = seen;
        let max_pixels = t.capacities.max_pixels;
        neighbor_loss::record(program, &t.shared, pixels, surface, &self.io, max_pixels, alone);
    }

    fn pair(&self) -> Option<&PairTensors> {
        Some(self)
    }
}
