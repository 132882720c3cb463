//! Densification to a budget: births where the image is wrong, as many as the way to the cap leaves room for.
//!
//! A Gaussian's score is the product of statistics since the last event, each to an exponent: the image error that its
//! blending weights splat back onto it, and the mean per-pixel absolute gradient of its centre. The highest scores give birth as
//! in [`densify`]; then those die that are too faint or too large. All but the scores is `densify`'s work, and so are its
//! promises.

use super::counters::Args;
use super::densify::{self, Event, GrowthCurve, Workspace, window};
use super::generated::error_score;
use super::views::{Chunk, Shared};
use kiln_program::Program;

/// Exponents of what a score is the product of; 0 leaves a statistic out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponents {
    /// Of the error that lies in what the Gaussian contributes to pixels.
    pub error: f64,
    /// Of the mean per-pixel absolute gradient of the centre.
    pub abs_gradient: f64,
}

/// What an event adds to [`Options`](densify::Options), which has the deaths and how splits are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Births {
    /// How many.
    pub curve: GrowthCurve,
    /// Who.
    pub exponents: Exponents,
}

/// Appends a whole event.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event, births: &Births) {
    let options = &event.options;
    densify::begin(program, shared, chunks, w, event.capacity, Some(births.curve));
    let copy_max = options.clone_extent * event.extent;
    for chunk in chunks {
        let Exponents { error, abs_gradient } = births.exponents;
        let [error, abs_gradient, least, copy_max] =
            [error, abs_gradient, options.prune_opacity, copy_max].map(|v| v as f32);
        program.pass(
            &error_score::KERNEL,
            (),
            error_score::Bind {
                control: w.control,
                statistics: chunk.statistics,
                geometry: chunk.geometry,
                gradients: window(w.gradients, chunk),
                keys: window(w.keys, chunk),
            },
            error_score::Push {
                stride: chunk.stride,
                first: chunk.first,
                error_exponent: error,
                abs_exponent: abs_gradient,
                opacity_min: least,
                copy_max,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    densify::carry_out(program, shared, chunks, w, event);
}
