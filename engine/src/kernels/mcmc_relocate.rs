//! Moves dead Gaussians to where opacity is and adds new ones there, in place: relocation and births of 3DGS-MCMC
//! (Kheradmand et al. 2024, sections 4.2 and 4.3) as one event.
//!
//! Gaussians up to an opacity are dead. As many copies of living ones are made as there are dead, and `growth` of the model
//! more up to the capacity; how often a Gaussian is copied follows its opacity, by systematic resampling. A Gaussian and its
//! copies then share its opacity and scales so that what is seen through them stays, and all start with zero moments. Copies
//! fill the slots of the dead, then those behind the last Gaussian: nothing moves, and the number of Gaussians cannot pass
//! the capacity.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `densify_begin` | one group | control block, group counts |
//! | `mcmc_weigh` | chunk | dead Gaussians, weights of the others |
//! | `mcmc_scan` | one group | prefix sums, number of copies; publishes the counters |
//! | `mcmc_copies` | all | how often each is copied, and where to |
//! | `mcmc_share` | chunk | opacity and scales of those that are copied; clears moments and statistics |
//! | `move_rows` | chunk | the copies |
//!
//! Weights are whole numbers and places come from their prefix sums, so equal input gives equal bytes.

use super::counters::Args;
use super::densify::{self, Workspace, window};
use super::generated::{mcmc_copies, mcmc_scan, mcmc_share, mcmc_weigh};
use super::move_rows::{self, Planes};
use super::views::{Chunk, Shared};
use crate::program::{Groups, Program};

/// Circumstances of the events of a program, besides seed and iteration, which the uniforms hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Opacity up to which a Gaussian is dead, before the 3D filter; also the least of a copy.
    pub dead_opacity: f32,
    /// Births, as a share of the Gaussians there are.
    pub growth: f32,
    /// Most Gaussians the model may hold.
    pub capacity: u32,
}

/// Appends a whole event. A list of copies has room for half of the capacity: should more be dead, the others wait for the
/// next event.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let Some(first) = chunks.first() else { return };
    let planes = first.planes;
    densify::begin(program, shared, chunks, w, event.capacity, None);
    record_copies(program, shared, chunks, w, event);
    record_shares(program, shared, chunks, w, event.dead_opacity);
    let parameters: [Planes; 3] = [
        (|c| c.geometry, planes.geometry),
        (|c| c.sh, planes.sh),
        // A copy starts with its source's filter.
        (|c| c.filter_3d, 1),
    ];
    move_rows::record(program, shared, chunks, w.control, &w.relocation, &parameters);
}

/// Appends how often each Gaussian is copied, and where to. The table of gradients is not needed here and holds the former.
fn record_copies(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    for chunk in chunks {
        let keys = window(w.keys, chunk);
        program.pass(
            &mcmc_weigh::KERNEL,
            (),
            mcmc_weigh::Bind {
                uniforms: shared.uniforms,
                control: w.control,
                geometry: chunk.geometry,
                keys,
                group_counts: w.group_counts,
            },
            mcmc_weigh::Push {
                stride: chunk.stride,
                first: chunk.first,
                dead_opacity: event.dead_opacity,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    let (count, chunk_gaussians) = densify::grid(chunks);
    program.pass(
        &mcmc_scan::KERNEL,
        (),
        mcmc_scan::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            control: w.control,
            args: shared.args,
            group_counts: w.group_counts,
        },
        mcmc_scan::Push {
            chunks: count,
            chunk_gaussians,
            growth: event.growth,
            row: w.relocation.row,
        },
        Groups::Direct([1, 1, 1]),
    );
    let (copies, from, to) = (w.gradients, w.relocation.from, w.relocation.to);
    program.pass(
        &mcmc_copies::KERNEL,
        (),
        mcmc_copies::Bind {
            control: w.control,
            keys: w.keys,
            group_counts: w.group_counts,
            copies,
            from,
            to,
        },
        (),
        shared.groups(Args::Gaussians),
    );
}

/// Appends opacity and scales of those that are copied.
fn record_shares(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, dead_opacity: f32) {
    for chunk in chunks {
        let [geometry_m, geometry_v, sh_m, sh_v] = chunk.planes.moments();
        program.pass(
            &mcmc_share::KERNEL,
            (),
            mcmc_share::Bind {
                control: w.control,
                copies: window(w.gradients, chunk),
                geometry: chunk.geometry,
                geometry_m: chunk.geometry_m,
                geometry_v: chunk.geometry_v,
                sh_m: chunk.sh_m,
                sh_v: chunk.sh_v,
                statistics: chunk.statistics,
            },
            mcmc_share::Push {
                stride: chunk.stride,
                first: chunk.first,
                least_opacity: dead_opacity,
                geometry_m_planes: geometry_m,
                geometry_v_planes: geometry_v,
                sh_m_planes: sh_m,
                sh_v_planes: sh_v,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
