//! Clones, splits and prunes Gaussians in place: adaptive density control (Kerbl et al. 2023, section 5.2) with the abs
//! statistic of Gaussian Opacity Fields (Yu et al. 2024) as a second way to be selected.
//!
//! With `g` and `ga` a Gaussian's mean gradient and mean abs statistic, and `a` the number of `N` Gaussians with
//! `g >= threshold`, selected means `g >= threshold` or `ga >= Q`, where `Q` is the quantile `1 - a / N` of `ga` over all
//! Gaussians, those never seen included, with linear interpolation. If there is no room for all births, the highest
//! scores `max(g / threshold, ga / Q)` win, of equal scores the lowest ids. Small selected Gaussians are copied, large
//! ones replaced by two samples of themselves: the first child takes the parent's slot. Then whoever is too faint or too
//! large dies, and living Gaussians from behind the new count fill the holes.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `densify_begin` | one group | control block, group counts |
//! | `densify_score` | chunk | `g`, `ga`, the number `a` |
//! | `densify_select_*` | all | radix select of the two values around `Q`, 8 bits a pass |
//! | `densify_decide` | all | who is selected, score as sortable key |
//! | `densify_select_*` | all | lowest key that still gives birth, only when there is too little room |
//! | `densify_count`, `_scan`, `_births` | all | births in id order from prefix sums |
//! | `relocate` | chunk | copies parents to new slots |
//! | `densify_children` | chunk | turns copies into samples, clears moments |
//! | `densify_prune` | chunk | who lives; clears statistics |
//! | `densify_count`, `_scan`, `_moves` | all | moves from prefix sums; publishes the counters |
//! | `relocate` | chunk | moves the living into the holes |
//!
//! Nothing returns to the host: the number of Gaussians is a counter, and every grid that depends on it is indirect. Sums
//! taken with atomics are sums of integers; places come from prefix sums alone, so equal input gives equal bytes.

use super::counters::Args;
pub use super::cpu::budgeted::Way;
pub use super::cpu::densify::Options;
use super::relocate::{self, Planes, Relocation};
use super::views::{Chunk, Shared};
use crate::gaussians::layout::StatePlanes;
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// Control block and group counts.
pub static BEGIN: Shader = shader!("densify_begin", r uniforms, r counters, w control, w args);
/// Mean statistics of a chunk.
pub static SCORE: Shader = shader!("densify_score", rw control, r statistics, r geometry, w gradients, w keys);
/// Histogram of a digit.
pub static SELECT_COUNT: Shader = shader!("densify_select_count", rw control, r keys);
/// Choice of a digit.
pub static SELECT_PICK: Shader = shader!("densify_select_pick", rw control);
/// Who is selected.
pub static DECIDE: Shader = shader!("densify_decide", rw control, r gradients, rw keys);
/// Counts per 256 Gaussians.
pub static COUNT: Shader = shader!("densify_count", r control, r keys, w group_counts);
/// Counts to offsets.
pub static SCAN: Shader = shader!("densify_scan", rw counters, rw control, w args, rw group_counts);
/// List of parents.
pub static BIRTHS: Shader = shader!("densify_births", rw control, r gradients, r keys, r group_counts, w from, w to);
/// Children of splits, moments of the newborn.
pub static CHILDREN: Shader = shader!(
    "densify_children", r uniforms, r control, r from, r to, rw geometry, w geometry_m, w geometry_v, w sh_m, w sh_v,
    w statistics
);
/// Who lives.
pub static PRUNE: Shader = shader!("densify_prune", r control, r geometry, w statistics, w keys);
/// List of moves.
pub static MOVES: Shader = shader!("densify_moves", rw control, r keys, r group_counts, w from, w to);

/// Bytes of the control block, `DensifyControl` in `shaders/common/densify.glsl`.
pub const CONTROL_BYTES: u64 = 4 * (18 + 512);
/// Groups of the histogram passes; they stride over all keys.
const SELECT_GROUPS: u32 = 256;
const QUANTILE: u32 = 0;
const RATION: u32 = 1;

/// When elements are counted and listed; see `shaders/common/densify.glsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Stage {
    Births = 0,
    Deaths = 1,
    /// Deaths in an event without births.
    Cull = 2,
}

/// What a densification needs besides the model.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// [`CONTROL_BYTES`] bytes.
    pub control: View,
    /// Mean gradients, a word a Gaussian; the top bit marks the large.
    pub gradients: View,
    /// Abs statistics, then keys, then who lives; a word a Gaussian.
    pub keys: View,
    /// Two words per 256 Gaussians.
    pub group_counts: View,
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

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct SelectPush {
    mode: u32,
    shift: u32,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct BeginPush {
    chunks: u32,
    chunk_gaussians: u32,
    capacity: u32,
    from: u32,
    last: u32,
    ramp: f32,
    growth: f32,
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
    way: Option<Way>,
) {
    let (chunks, chunk_gaussians) = grid(chunks);
    let push = BeginPush {
        chunks,
        chunk_gaussians,
        capacity,
        from: way.map_or(0, |way| way.from),
        last: way.map_or(0, |way| way.last),
        ramp: way.map_or(0.0, |way| way.ramp),
        growth: way.map_or(0.0, |way| way.growth),
    };
    let views = [shared.uniforms, shared.counters, w.control, shared.args];
    program.pass(&BEGIN, &[], &views, &push, Groups::Direct([1, 1, 1]));
}

/// Number of chunks and Gaussians of a full one.
pub(super) fn grid(chunks: &[Chunk]) -> (u32, u32) {
    let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
    (count, chunks.first().map_or(0, |chunk| chunk.stride))
}

/// Appends the event from the scores on: births, deaths, moves.
pub(super) fn carry_out(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let Some(first) = chunks.first() else { return };
    select(program, w, RATION);
    scan(program, shared, chunks, w, Stage::Births);
    let (from, to) = (w.relocation.from, w.relocation.to);
    let views = [w.control, w.gradients, w.keys, w.group_counts, from, to];
    program.pass(&BIRTHS, &[], &views, &(), shared.groups(Args::Gaussians));
    let parameters = parameters(&first.planes);
    relocate::record(program, shared, chunks, w.control, &w.relocation, &parameters);
    children(program, shared, chunks, w, event);

    prune(program, shared, chunks, w, event);
    close_holes(program, shared, chunks, w, Stage::Deaths, &state(&first.planes));
}

/// Appends the sums of a stage.
fn scan(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, stage: Stage) {
    let (count, chunk_gaussians) = grid(chunks);
    let stage = stage as u32;
    let views = [w.control, w.keys, w.group_counts];
    program.pass(&COUNT, &[], &views, &stage, shared.groups(Args::Gaussians));
    let views = [shared.counters, w.control, shared.args, w.group_counts];
    let push = [count, chunk_gaussians, stage];
    program.pass(&SCAN, &[], &views, &push, Groups::Direct([1, 1, 1]));
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
    let views = [w.control, w.keys, w.group_counts, from, to];
    program.pass(&MOVES, &[], &views, &(), shared.groups(Args::Gaussians));
    relocate::record(program, shared, chunks, w.control, &w.relocation, attributes);
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
        let views = [
            w.control,
            chunk.statistics,
            chunk.geometry,
            window(w.gradients, chunk),
            window(w.keys, chunk),
        ];
        let clone_max = (options.clone_extent * event.extent) as f32;
        let push = [chunk.stride, chunk.first, threshold.to_bits(), clone_max.to_bits()];
        program.pass(&SCORE, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
    if options.use_abs {
        select(program, w, QUANTILE);
    }
    let views = [w.control, w.gradients, w.keys];
    let push = [threshold.to_bits(), u32::from(options.use_abs)];
    program.pass(&DECIDE, &[], &views, &push, shared.groups(Args::Gaussians));
}

/// Appends the four digits of a radix select.
fn select(program: &mut Program, w: &Workspace, mode: u32) {
    for shift in [24, 16, 8, 0] {
        let push = SelectPush { mode, shift };
        let groups = Groups::Direct([SELECT_GROUPS, 1, 1]);
        program.pass(&SELECT_COUNT, &[], &[w.control, w.keys], &push, groups);
        program.pass(&SELECT_PICK, &[], &[w.control], &push, Groups::Direct([1, 1, 1]));
    }
}

fn children(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let log_divisor = event.options.split_divisor.ln() as f32;
    for chunk in chunks {
        let views = [
            shared.uniforms,
            w.control,
            w.relocation.from,
            w.relocation.to,
            chunk.geometry,
            chunk.geometry_m,
            chunk.geometry_v,
            chunk.sh_m,
            chunk.sh_v,
            chunk.statistics,
        ];
        let [geometry_m, geometry_v, sh_m, sh_v] = chunk.planes.moments();
        let push = [
            chunk.stride,
            chunk.first,
            log_divisor.to_bits(),
            geometry_m,
            geometry_v,
            sh_m,
            sh_v,
        ];
        program.pass(&CHILDREN, &[], &views, &push, shared.groups(Args::Moves));
    }
}

fn prune(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, event: &Event) {
    let options = &event.options;
    let scale_max = options
        .prune_extent
        .map_or(f32::INFINITY, |share| (share * event.extent) as f32);
    for chunk in chunks {
        let views = [w.control, chunk.geometry, chunk.statistics, window(w.keys, chunk)];
        let push = [
            chunk.stride,
            chunk.first,
            (options.prune_opacity as f32).to_bits(),
            scale_max.to_bits(),
        ];
        program.pass(&PRUNE, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}

/// The part of a table with a word a Gaussian that belongs to `chunk`, so that chunks need no barrier between them.
pub(super) fn window(table: View, chunk: &Chunk) -> View {
    table.slice(4 * u64::from(chunk.first), 4 * u64::from(chunk.stride))
}
