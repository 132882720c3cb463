//! The term `alpha`.

use std::sync::Arc;

use super::ImageTerm;
use crate::kernels::alpha_loss;
use crate::kernels::views::Pixels;
use crate::plugins::Loss;
use crate::program::{Class, Program, Span, Tag, TensorTable};
use crate::step::{Capacities, StepTensors};

#[derive(Debug)]
struct Alpha {
    /// Coverage differences per tile.
    sums: Span,
}

pub(super) fn term(loss: &Loss, table: &mut TensorTable, c: &Capacities) -> Option<Arc<dyn ImageTerm>> {
    let Loss::Alpha(_) = loss else { return None };
    let bytes = alpha_loss::sums_bytes(c.max_tiles);
    let sums = table.add("step/alpha_sums", Class::Arena, Tag::Loss, bytes);
    Some(Arc::new(Alpha { sums }))
}

impl ImageTerm for Alpha {
    fn record(&self, program: &mut Program, t: &StepTensors, pixels: &Pixels) {
        alpha_loss::record(program, &t.shared, pixels, self.sums);
    }
}
