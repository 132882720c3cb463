//! SuGaR's terms of the density and of normals around samples (Guedon and Lepetit 2024, sec. 4.1), and their gradients by
//! Gaussians in view and out of it.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `density_rows` | chunk | Gaussians at their ids, as the density reads them |
//! | `sample_place` | chunk | which samples are of which Gaussian |
//! | `density_terms` | samples, per part of the neighbours | the terms and what they want of each sample |
//! | `density_sum`, `.total` | 256 samples, one group | means into the counters and the loss |
//! | `density_gather` | chunk | what all samples around want of each Gaussian |
//!
//! They do nothing in steps without `FLAG_DENSITY` and in views that stalled.

use super::counters::Args;
use super::cull::group_window;
use super::generated::{density_farthest, density_gather, density_sum, density_terms, sample_place};
use super::level::{self, Rows};
use super::neighbor_of::NeighborOf;
use super::neighbors::Part;
use super::views::{Chunk, Pixels, Shared};
use crate::program::{Groups, Program, Span};

/// Words of a Gaussian's gradient.
pub const GRADIENT_PLANES: u32 = 10;
/// Bytes of a sample in each of [`Samples`].
pub const SAMPLE_BYTES: u64 = 16;
/// Samples in a group's sum.
const SUM: u32 = 256;

/// What the terms are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityTerms {
    /// Distances from the surface are compared instead of densities.
    pub sdf: bool,
    /// Weight of the density.
    pub weight: f32,
    /// Weight of the normals.
    pub normal: f32,
    /// Samples of a step.
    pub samples: u32,
    /// Neighbours of each Gaussian, itself among them.
    pub k: u32,
    /// The scene's extent, world units.
    pub extent: f32,
}

// Settings are finite numbers.
impl Eq for DensityTerms {}

/// A step's samples, [`SAMPLE_BYTES`] each.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    /// Place; gradient by the density.
    pub places: Span,
    /// Gradient by the place; by a neighbour's least deviation.
    pub pulls: Span,
    /// Gradient by the own normal; what weights of neighbours are multiplied with.
    pub normals: Span,
    /// Gradient by the own least deviation; the terms; 1 where there is a sample.
    pub values: Span,
}

/// Tensors of the terms.
#[derive(Clone, Debug)]
pub struct DensityIo {
    /// All Gaussians by id.
    pub rows: Rows,
    /// First sample of each, a word each and one more.
    pub first_sample: Span,
    /// Whose each sample is, a word each.
    pub owners: Span,
    /// Samples.
    pub samples: Samples,
    /// [`sums_bytes`] bytes.
    pub sums: Span,
    /// [`GRADIENT_PLANES`] words a Gaussian, by chunk.
    pub gradients: Vec<Span>,
    /// Greatest depth of a Gaussian, the bits of a float; one word.
    pub farthest: Span,
}

/// Bytes of the sums over groups of samples.
#[must_use]
pub fn sums_bytes(samples: u32) -> u64 {
    16 * u64::from(samples.div_ceil(SUM))
}

/// Appends all passes; the visible Gaussians are known and the losses of the image are in the counters. `pixels` are of a
/// render with depths where distances are compared.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    (chunks, group_visible): (&[Chunk], Span),
    terms: &DensityTerms,
    io: &DensityIo,
    (parts, of): (&[Part], &NeighborOf),
    pixels: &Pixels,
) {
    level::record_rows(program, shared, chunks, &io.rows);
    let depth = pixels.surface.filter(|_| terms.sdf).map(|surface| surface.depth);
    if depth.is_some() {
        program.fill(io.farthest, 0);
    }
    record_owners(
        program,
        shared,
        (chunks, group_visible),
        terms.samples,
        io,
        depth.is_some(),
    );
    record_terms(program, shared, terms, io, parts, (depth, pixels.image));
    record_means(program, shared, terms, io);
    record_gathering(program, shared, chunks, io, of);
}

/// Appends which samples are of which Gaussian, and, where distances are compared, the greatest depth of any.
fn record_owners(
    program: &mut Program,
    shared: &Shared,
    (chunks, group_visible): (&[Chunk], Span),
    samples: u32,
    io: &DensityIo,
    compares_distances: bool,
) {
    let (uniforms, counters) = (shared.uniforms, shared.counters);
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let at = shared.groups(Args::Chunk(chunk.index));
        let bind = sample_place::Bind {
            uniforms,
            counters,
            visible_mask: chunk.visible_mask,
            group_visible: groups,
            first_sample: io.first_sample,
            owners: io.owners,
        };
        let push = sample_place::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
            samples,
        };
        program.pass(&sample_place::KERNEL, (), bind, push, at.clone());
        if compares_distances {
            let bind = density_farthest::Bind {
                uniforms,
                counters,
                centers: io.rows.centers,
                farthest: io.farthest,
            };
            let push = density_farthest::Push {
                stride: chunk.stride,
                first: chunk.first,
            };
            program.pass(&density_farthest::KERNEL, (), bind, push, at);
        }
    }
}

/// Appends the terms and what they want of each sample, by parts of the neighbours.
fn record_terms(
    program: &mut Program,
    shared: &Shared,
    terms: &DensityTerms,
    io: &DensityIo,
    parts: &[Part],
    (depth, image): (Option<Span>, Span),
) {
    let (uniforms, counters) = (shared.uniforms, shared.counters);
    let samples = &io.samples;
    for part in parts {
        let bind = density_terms::Bind {
            uniforms,
            counters,
            owners: io.owners,
            neighbors: part.neighbors,
            centers: io.rows.centers,
            rotations: io.rows.rotations,
            inverses: io.rows.inverses,
            sample_place: samples.places,
            sample_pull: samples.pulls,
            sample_normal: samples.normals,
            sample_value: samples.values,
        };
        let push = density_terms::Push {
            samples: terms.samples,
            first: part.first,
            count: part.count,
            k: terms.k,
            weight: terms.weight,
            normal_weight: terms.normal,
            extent: terms.extent,
        };
        let groups = Groups::cover(terms.samples, 64);
        match depth {
            None => program.pass(&density_terms::KERNEL, (), bind, push, groups),
            Some(surface_depth) => {
                let bind = density_terms::SdfBind {
                    base: bind,
                    surface_depth,
                    image,
                    farthest: io.farthest,
                };
                program.pass(&density_terms::SDF, (), bind, push, groups);
            }
        }
    }
}

/// Appends the means over samples.
fn record_means(program: &mut Program, shared: &Shared, terms: &DensityTerms, io: &DensityIo) {
    let (uniforms, counters) = (shared.uniforms, shared.counters);
    let push = |count| density_sum::Push {
        count,
        weight: terms.weight,
        normal_weight: terms.normal,
    };
    let bind = density_sum::Bind {
        uniforms,
        counters,
        sums: io.sums,
        sample_value: io.samples.values,
    };
    let groups = Groups::cover(terms.samples, SUM);
    program.pass(&density_sum::KERNEL, (), bind, push(terms.samples), groups);
    let bind = density_sum::TotalBind {
        uniforms,
        counters,
        sums: io.sums,
    };
    let sums = terms.samples.div_ceil(SUM);
    program.pass(&density_sum::TOTAL, (), bind, push(sums), shared.groups(Args::One));
}

/// Appends what all samples around want of each Gaussian.
fn record_gathering(program: &mut Program, shared: &Shared, chunks: &[Chunk], io: &DensityIo, of: &NeighborOf) {
    let (uniforms, counters) = (shared.uniforms, shared.counters);
    let samples = &io.samples;
    for (chunk, &term_gradient) in chunks.iter().zip(&io.gradients) {
        let bind = density_gather::Bind {
            uniforms,
            counters,
            first_sample: io.first_sample,
            centers: io.rows.centers,
            rotations: io.rows.rotations,
            inverses: io.rows.inverses,
            starts: of.starts,
            neighbor_of: of.ids,
            sample_place: samples.places,
            sample_pull: samples.pulls,
            sample_normal: samples.normals,
            sample_value: samples.values,
            term_gradient,
        };
        let push = density_gather::Push {
            stride: chunk.stride,
            first: chunk.first,
        };
        let at = shared.groups(Args::Chunk(chunk.index));
        program.pass(&density_gather::KERNEL, (), bind, push, at);
    }
}
