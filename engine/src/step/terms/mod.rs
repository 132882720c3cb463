//! Tensors and passes of what losses and photo colours add to a step; the photometric loss, which every run has, is in [`super::losses`].
//!
//! A term is a file here, made of the options of its loss, and a line in one of the lists, which are in the order of passes. What a profile
//! does not ask for has no tensor and no pass.

mod alpha;
mod depth;
mod exposure;
mod neighbour;
mod normal_map;
mod normals;

use std::fmt::Debug;
use std::sync::Arc;

use super::{Capacities, PairTensors, StepTensors, Terms};
use kiln_config::plugins::Loss;
use kiln_kernels::exposure::PhotoStart;
use kiln_kernels::pose::{self, Poses};
use kiln_kernels::surface_depth::Depths;
use kiln_kernels::views::{Pixels, Surface};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// What a run learns beside its model.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// Its name in checkpoints.
    pub name: &'static str,
    /// Where it is.
    pub state: Span,
    /// What it is before the first step.
    pub start: Vec<f32>,
}

/// A term of the image, in every step.
pub trait ImageTerm: Debug + Send + Sync {
    /// Appends what comes before the photometric loss, and returns what that one compares where it is another image than the render.
    fn before(&self, _program: &mut Program, _t: &StepTensors, _pixels: &Pixels) -> Option<Span> {
        None
    }

    /// Appends its passes behind the photometric loss, which has made the image gradient.
    fn record(&self, program: &mut Program, t: &StepTensors, pixels: &Pixels);

    /// Appends the step of what it learns.
    fn update(&self, _program: &mut Program, _t: &StepTensors) {}

    /// What it learns, of photos of which so much is known.
    fn learnt(&self, _photos: &[PhotoStart]) -> Option<Learnt> {
        None
    }
}

/// What terms of surfaces see of a step.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Tensors of the step.
    pub t: &'a StepTensors,
    /// Its image and photo.
    pub pixels: &'a Pixels,
    /// What is blended beside the image, with its gradients.
    pub surface: &'a Surface,
    /// No term before this one has written these gradients.
    pub alone: bool,
}

/// A term of blended surfaces, in steps that draw them.
pub trait SurfaceTerm: Debug + Send + Sync {
    /// The depth map that it looks at.
    fn depths(&self) -> Option<Depths>;

    /// Appends its passes behind all losses of the image, whose sums are free.
    fn record(&self, program: &mut Program, seen: Seen<'_>);

    /// What it keeps of a neighbouring view.
    fn pair(&self) -> Option<&PairTensors> {
        None
    }
}

type OfImage = fn(&Loss, &mut TensorTable, &Capacities) -> Option<Arc<dyn ImageTerm>>;
type OfSurface = fn(&Loss, &mut TensorTable, &StepTensors) -> Option<Arc<dyn SurfaceTerm>>;

/// Terms of the image that are losses.
const IMAGE: [OfImage; 1] = [alpha::term];

/// Terms of surfaces, and the steps from which on they are there.
const SURFACE: [(Terms, OfSurface); 4] = [
    (Terms::Surface, normals::term),
    (Terms::Surface, depth::term),
    (Terms::Surface, normal_map::term),
    (Terms::Pair, neighbour::term),
];

/// What a run asks of its steps beside the photometric loss.
#[derive(Clone, Debug, Default)]
pub struct ExtraTensors {
    /// Terms of the image.
    pub image: Vec<Arc<dyn ImageTerm>>,
    /// Terms of surfaces; only in steps that draw them.
    pub surface: Vec<Arc<dyn SurfaceTerm>>,
    /// Corrections of cameras.
    pub poses: Option<Poses>,
}

impl ExtraTensors {
    /// Adds those of every step to `table`.
    pub(super) fn new(table: &mut TensorTable, c: &Capacities) -> Self {
        let mut image: Vec<_> = exposure::term(table, c).into_iter().collect();
        for term in IMAGE {
            image.extend(c.losses.iter().filter_map(|loss| term(loss, table, c)));
        }
        let poses = (c.poses > 0).then(|| Poses {
            state: table.add("small/poses", Class::Small, Tag::Other, pose::state_bytes(c.poses)),
            sums: table.add(
                "step/pose_sums",
                Class::Arena,
                Tag::Gradients,
                pose::sums_bytes(c.n_cap),
            ),
        });
        Self {
            image,
            surface: Vec::new(),
            poses,
        }
    }
}

impl StepTensors {
    /// Adds the terms of surfaces that such steps have.
    pub(super) fn add_terms(&mut self, table: &mut TensorTable, steps: Terms) {
        let c = self.capacities;
        for (_, term) in SURFACE.iter().filter(|(of, _)| *of == steps) {
            let terms = c.losses.iter().filter_map(|loss| term(loss, table, self));
            let terms: Vec<_> = terms.collect();
            self.extra.surface.extend(terms);
        }
    }

    /// What steps keep of a neighbouring view; none where they do not compare with one.
    #[must_use]
    pub fn pair(&self) -> Option<&PairTensors> {
        self.extra.surface.iter().find_map(|term| term.pair())
    }

    /// What is learnt beside the model, of photos of which so much is known; training views come first.
    #[must_use]
    pub fn learnt(&self, photos: &[PhotoStart]) -> Vec<Learnt> {
        let c = &self.capacities;
        let of_terms = self.extra.image.iter().filter_map(|term| term.learnt(photos));
        let poses = self.extra.poses.map(|poses| Learnt {
            name: "poses",
            state: poses.state,
            start: vec![0.0; c.poses as usize * pose::WORDS],
        });
        of_terms.chain(poses).collect()
    }
}
