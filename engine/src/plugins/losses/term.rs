//! What every loss says of itself, so that no rule and no plan lists losses.

use super::{Needs, Other};
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::StepUniforms;

/// What rules, plans and uniforms go by.
pub trait Term {
    /// Weight of this term, of all its parts together; 0 of what is none.
    fn weight(&self) -> f32;

    /// What it needs beside render and photo.
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    /// True when runs have it: what has no weight costs nothing.
    fn is_on(&self) -> bool {
        self.weight() > 0.0
    }

    /// First iteration that has the term, to be scaled with the run; none where all have it.
    fn first_mut(&mut self) -> Option<&mut u32> {
        None
    }

    /// What it does not go together with, and why.
    fn refuses(&self) -> &'static [(Other, &'static str)] {
        &[]
    }

    /// True when a step's mean disagreement of normals is its.
    fn compares_normals(&self) -> bool {
        false
    }

    /// Sets what is its in the uniforms of a step.
    fn set(&self, _uniforms: &mut StepUniforms, _at: Progress) {}
}
