//! The terms `normals` and `dn_consistency`: normals of planes and of depths agree.

use std::sync::Arc;

use super::{Seen, SurfaceTerm};
use crate::kernels::plane_loss::{self, Kind, PlaneLossIo};
use crate::kernels::surface_depth::Depths;
use crate::plugins::Loss;
use crate::program::{Class, Program, Tag, TensorTable};
use crate::step::StepTensors;

pub(super) fn term(loss: &Loss, table: &mut TensorTable, t: &StepTensors) -> Option<Arc<dyn SurfaceTerm>> {
    let kind = match loss {
        Loss::Normals(_) => Kind::Weighted,
        Loss::DnConsistency(_) => Kind::Plain,
        _ => return None,
    };
    Some(Arc::new(PlaneLossIo {
        kind,
        steepest: table.add("surface/steepest", Class::Arena, Tag::Loss, 4),
        sums: t.loss_sums,
    }))
}

impl SurfaceTerm for PlaneLossIo {
    fn depths(&self) -> Option<Depths> {
        Some(self.kind.depths())
    }

    fn record(&self, program: &mut Program, seen: Seen<'_>) {
        plane_loss::record(program, &seen.t.shared, seen.pixels, seen.surface, self);
    }
}
