//! The parts that a view drawn in bands is submitted in.

use std::collections::BTreeMap;

use kiln_program::Program;

/// What the loss of a step looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Terms {
    /// The image.
    Image,
    /// The image, and the planes and depths that are blended beside it.
    Surface,
    /// The same, and what a neighbouring view shows. See [`draw_neighbor`](super::draw_neighbor).
    Pair,
    /// Nothing: the neighbour that a step of [`Terms::Pair`] compares with, which is drawn before it.
    Neighbor,
}

/// What bands take turns with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turns {
    /// The tiles' lists; there are records for all visible Gaussians. See [`banded`](super::banded).
    Lists,
    /// Records and lists. See [`banded_records`](super::banded_records).
    Records,
}

/// A part of a banded step or of a banded evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the host packs bands by: visible Gaussians, splats per tile, status word. Brings the photo, unless photos are
    /// resident.
    Prefix,
    /// Image of one band.
    Forward,
    /// Gradients of one band.
    Backward,
    /// Check, update, status word.
    Finish,
    /// Metrics instead of loss and all that follows; copies what the host reads.
    Metrics,
    /// [`Part::Prefix`] of an evaluation, which brings its photo along. Only where those of steps are resident.
    EvaluationPrefix,
    /// Loss, image gradient, cleared gradient records. One for each page of resident photos, else page 0.
    Loss(usize),
}

/// The parts that there are for one of the [`Turns`].
pub type Parts = BTreeMap<Part, Program>;
