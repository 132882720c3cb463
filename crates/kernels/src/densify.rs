//! Clones, splits and prunes Gaussians in place: adaptive density control (Kerbl et al. 2023, section 5.2) with the abs
//! statistic of Gaussian Opacity Fields (Yu et al. 2024) as a second way to be selected.
//!
//! With `g` and `ga` a Gaussian's mean gradient and mean abs statistic, and `a` the number of `N` Gaussians with
//! `g >= threshold`, selected means `g >= threshold` or `ga >= Q`, where `Q` is the quantile `1 - a / N` of `ga` over all
//! Gaussians, those never seen included, with linear interpolation. If there is no room for all births, the highest
//! scores `max(g / threshold, ga / Q)` win, of equal scores the lowest ids. Small selected Gaussians are copied, large
//! ones replaced by two samples of themselves: the first child takes the parent's slot. Then a Gaussian that is too faint or too
//! large is pruned, and Gaussians from behind the new count fill the holes.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `densify_begin` | one group | control block, group counts |
//! | `densify_score` | chunk | `g`, `ga`, the number `a` |
//! | `densify_select_*` | all | radix select of the two values around `Q`, 8 bits a pass |
//! | `densify_decide` | all | selection, score as sortable key |
//! | `densify_select_*` | all | lowest key that still gives birth, only when there is too little room |
//! | `densify_count`, `_scan`, `_births` | all | births in id order from prefix sums |
//! | `move_rows` | chunk | copies parents to new slots |
//! | `densify_children` | chunk | turns copies into samples, clears moments |
//! | `densify_prune` | chunk | pruning; clears statistics |
//! | `densify_count`, `_scan`, `_moves` | all | moves from prefix sums; publishes the counters |
//! | `move_rows` | chunk | moves the living into the holes |
//!
//! Nothing returns to the host: the number of Gaussians is a counter, and every grid that depends on it is indirect. Sums
//! taken with atomics are sums of integers; places come from prefix sums alone, so equal input gives equal bytes.

use super::counters::Args;
use super::generated::{
    common, densify_begin, densify_births, densify_children, densify_count, densify_decide, densify_moves,
    densify_prune, densify_scan, densify_score, densify_select_count, densify_select_pick,
};
use super::move_rows::{self, Planes, Relocation};
use super::views::{Chunk, Shared};
use kiln_gaussians::layout::StatePlanes;
use kiln_program::{Groups, Program, Span};

/// Thresholds of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Mean gradient length at which a Gaussian is selected.
    pub gradient_threshold: f64,
    /// Also select by the abs statistic, as large a share of the model as the gradient does.
    pub use_abs: bool,
    /// Largest standard deviation that is cloned, larger ones are split; share of the scene extent.
    pub clone_extent: f64,
    /// Children of a split are smaller than the parent by this factor.
    pub split_divisor: f64,
    /// Gaussians less opaque than this die; before the 3D filter.
    pub prune_opacity: f64,
    /// Gaussians with a larger standard deviation die; share of the scene extent.
    pub prune_extent: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            gradient_threshold: 2e-4,
            use_abs: true,
            clone_extent: 0.01,
            split_divisor: 1.6,
            prune_opacity: 0.005,
            prune_extent: None,
        }
    }
}

/// How the number of Gaussians grows to the cap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthCurve {
    /// Iteration at which it begins.
    pub from: u32,
    /// Iteration of the last event, at which the cap is reached.
    pub last: u32,
    /// Its shape; 1 is a straight line, more is sooner.
    pub ramp: f32,
    /// Most births of an event, as a share of the Gaussians there are.
    pub growth: f32,
}

/// Bytes of the control block.
pub const CONTROL_BYTES: u64 = size_of::<common::DensifyControl>() as u64;
/// Groups of the histogram passes; they stride over all keys.
const SELECT_GROUPS: u32 = 256;

/// When elements are counted and listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Stage {
    Births = common::STAGE_BIRTHS,
    Deaths = common::STAGE_DEATHS,
    /// Deaths in an event without births.
    Cull = common::STAGE_CULL,
}

/// What a densification needs besides the model.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// [`CONTROL_BYTES`] bytes.
    pub control: Span,
    /// Mean gradients, a word a Gaussian; the top bit marks the large.
    pub gradients: Span,
    /// Abs statistics, then keys, then who lives; a word a Gaussian.
    pub keys: Span,
    /// Two words per 256 Gaussians.
    pub group_counts: Span,
    /// Lists of copies and the rows they go through.
    pub relocation: Relocation,
}

/// Circumstances of the events of a program, besides seed and iteration, which the uniforms hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Thresholds.
    pub options: Options,
    /// Scene extent, world units.
    pub extent: f64,
    /// Most Gaussians the model may hold, counted before the deaths.
    pub capacity: u32,
}

/// Appends a whole event.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    begin(program, shared, chunks, w, event.capacity, None);
    select_parents(program, shared, chunks, w, event);
    carry_out(program, shared, chunks, w, event);
}

/// Appends the start of an event: `capacity` and, where there is one, the way to it say how many births there may be.
pub(super) fn begin(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    w: &Workspace,
    capacity: u32,
    curve: Option<GrowthCurve>,
) {
    let (chunks, chunk_gaussians) = grid(chunks);
    let push = densify_begin::Push {
        chunks,
        chunk_gaussians,
        capacity,
        from: curve.map_or(0, |curve| curve.from),
        last: curve.map_or(0, |curve| curve.last),
        ramp: curve.map_or(0.0, |curve| curve.ramp),
        growth: curve.map_or(0.0, |curve| curve.growth),
    };
    program.pass(
        &densify_begin::KERNEL,
        (),
        densify_begin::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            control: w.control,
            args: shared.args,
        },
        push,
        Groups::Direct([1, 1, 1]),
    );
}

/// Number of chunks and Gaussians of a full one.
pub(super) fn grid(chunks: &[Chunk]) -> (u32, u32) {
    let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
    (count, chunks.first().map_or(0, |chunk| chunk.stride))
}

/// Appends the event from the scores on: births, deaths, moves.
pub(super) fn carry_out(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let Some(first) = chunks.first() else { return };
    select(program, w, common::SELECT_RATION);
    scan(program, shared, chunks, w, Stage::Births);
    let (from, to) = (w.relocation.from, w.relocation.to);
    program.pass(
        &densify_births::KERNEL,
        (),
        densify_births::Bind {
            control: w.control,
            gradients: w.gradients,
            keys: w.keys,
            group_counts: w.group_counts,
            from,
            to,
        },
        (),
        shared.groups(Args::Gaussians),
    );
    let parameters = parameters(&first.planes);
    move_rows::record(program, shared, chunks, w.control, &w.relocation, &parameters);
    children(program, shared, chunks, w, event);

    prune(program, shared, chunks, w, event);
    close_holes(program, shared, chunks, w, Stage::Deaths, &state(&first.planes));
}

/// Appends the sums of a stage.
fn scan(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, stage: Stage) {
    let (count, chunk_gaussians) = grid(chunks);
    let stage = stage as u32;
    program.pass(
        &densify_count::KERNEL,
        (),
        densify_count::Bind {
            control: w.control,
            keys: w.keys,
            group_counts: w.group_counts,
        },
        densify_count::Push { stage },
        shared.groups(Args::Gaussians),
    );
    program.pass(
        &densify_scan::KERNEL,
        (),
        densify_scan::Bind {
            counters: shared.counters,
            control: w.control,
            args: shared.args,
            group_counts: w.group_counts,
        },
        densify_scan::Push {
            chunks: count,
            chunk_gaussians,
            stage,
        },
        Groups::Direct([1, 1, 1]),
    );
}

/// Appends the removal of those whose key is 0: the living from behind the new count take their places with `attributes`.
pub(super) fn close_holes(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    w: &Workspace,
    stage: Stage,
    attributes: &[Planes],
) {
    scan(program, shared, chunks, w, stage);
    let (from, to) = (w.relocation.from, w.relocation.to);
    program.pass(
        &densify_moves::KERNEL,
        (),
        densify_moves::Bind {
            control: w.control,
            keys: w.keys,
            group_counts: w.group_counts,
            from,
            to,
        },
        (),
        shared.groups(Args::Gaussians),
    );
    move_rows::record(program, shared, chunks, w.control, &w.relocation, attributes);
}

/// What a child has of its parent, the 3D filter included.
fn parameters(planes: &StatePlanes) -> [Planes; 3] {
    [
        (|c| c.geometry, planes.geometry),
        (|c| c.sh, planes.sh),
        (|c| c.filter_3d, 1),
    ]
}

/// What moves with a Gaussian, but for its statistics.
pub(super) fn state(planes: &StatePlanes) -> Vec<Planes> {
    let moments: [Planes; 4] = [
        (|c| c.geometry_m, planes.geometry_m),
        (|c| c.geometry_v, planes.geometry_v),
        (|c| c.sh_m, planes.sh_m),
        (|c| c.sh_v, planes.sh_v),
    ];
    [&parameters(planes)[..], &moments].concat()
}

/// Statistics to keys.
fn select_parents(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let options = &event.options;
    let threshold = options.gradient_threshold as f32;
    for chunk in chunks {
        let clone_max = (options.clone_extent * event.extent) as f32;
        program.pass(
            &densify_score::KERNEL,
            (),
            densify_score::Bind {
                control: w.control,
                statistics: chunk.statistics,
                geometry: chunk.geometry,
                gradients: window(w.gradients, chunk),
                keys: window(w.keys, chunk),
            },
            densify_score::Push {
                stride: chunk.stride,
                first: chunk.first,
                threshold,
                clone_max,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    if options.use_abs {
        select(program, w, common::SELECT_QUANTILE);
    }
    program.pass(
        &densify_decide::KERNEL,
        (),
        densify_decide::Bind {
            control: w.control,
            gradients: w.gradients,
            keys: w.keys,
        },
        densify_decide::Push {
            threshold,
            use_abs: u32::from(options.use_abs),
        },
        shared.groups(Args::Gaussians),
    );
}

/// Appends the four digits of a radix select.
fn select(program: &mut Program, w: &Workspace, mode: u32) {
    for shift in [24, 16, 8, 0] {
        let groups = Groups::Direct([SELECT_GROUPS, 1, 1]);
        program.pass(
            &densify_select_count::KERNEL,
            (),
            densify_select_count::Bind {
                control: w.control,
                keys: w.keys,
            },
            densify_select_count::Push { mode, shift },
            groups,
        );
        program.pass(
            &densify_select_pick::KERNEL,
            (),
            densify_select_pick::Bind { control: w.control },
            densify_select_pick::Push { mode, shift },
            Groups::Direct([1, 1, 1]),
        );
    }
}

fn children(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let log_divisor = event.options.split_divisor.ln() as f32;
    for chunk in chunks {
        let [geometry_m, geometry_v, sh_m, sh_v] = chunk.planes.moments();
        program.pass(
            &densify_children::KERNEL,
            (),
            densify_children::Bind {
                uniforms: shared.uniforms,
                control: w.control,
                from: w.relocation.from,
                to: w.relocation.to,
                geometry: chunk.geometry,
                geometry_m: chunk.geometry_m,
                geometry_v: chunk.geometry_v,
                sh_m: chunk.sh_m,
                sh_v: chunk.sh_v,
                statistics: chunk.statistics,
            },
            densify_children::Push {
                stride: chunk.stride,
                first: chunk.first,
                log_divisor,
                geometry_m_planes: geometry_m,
                geometry_v_planes: geometry_v,
                sh_m_planes: sh_m,
                sh_v_planes: sh_v,
            },
            shared.groups(Args::Moves),
        );
    }
}

fn prune(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let options = &event.options;
    let scale_max = options
        .prune_extent
        .map_or(f32::INFINITY, |share| (share * event.extent) as f32);
    for chunk in chunks {
        program.pass(
            &densify_prune::KERNEL,
            (),
            densify_prune::Bind {
                control: w.control,
                geometry: chunk.geometry,
                statistics: chunk.statistics,
                keys: window(w.keys, chunk),
            },
            densify_prune::Push {
                stride: chunk.stride,
                first: chunk.first,
                opacity_min: (options.prune_opacity as f32),
                scale_max,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

/// The part of a table with a word a Gaussian that belongs to `chunk`, so that chunks need no barrier between them.
pub(super) fn window(table: Span, chunk: &Chunk) -> Span {
    table.slice(4 * u64::from(chunk.first), 4 * u64::from(chunk.stride))
}
