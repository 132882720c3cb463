//! Points on a level of the density, view by view.

use super::{Capacities, NeighborTensors, NeighborsRefused, StepTensors, neighbors};
use kiln_kernels::level::{self, Level, NEAR, POINT_BYTES, ROW_BYTES, Rows};
use kiln_kernels::morton::Frame;
use kiln_kernels::prepare_args;
use kiln_kernels::views::{Chunk, Intersections, Variants};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Most points that are made at a time: 24 MiB.
const BATCH: u32 = 1 << 20;

/// Tensors of level points: 112 bytes a Gaussian that stay, at most 22 in passing; 4 a record, 28 a candidate.
#[derive(Clone, Debug)]
pub struct LevelTensors {
    /// The Gaussians around each.
    pub neighbors: NeighborTensors,
    /// Gaussians as the density reads them.
    pub rows: Rows,
    /// Which Gaussian a record is of.
    pub ids: Span,
    /// Which Gaussian a candidate shows.
    pub hits: Span,
    /// Points of a batch.
    pub points: Span,
    /// What is looked for.
    pub level: Level,
}

impl LevelTensors {
    /// Adds the tensors to `table`.
    ///
    /// # Errors
    /// [`NeighborsRefused`].
    pub fn new(
        table: &mut TensorTable,
        capacities: &Capacities,
        level: Level,
        variants: &Variants,
    ) -> Result<Self, NeighborsRefused> {
        let neighbors = NeighborTensors::new(table, capacities, NEAR, variants)?;
        let mut add = |name: &str, class, bytes| table.add(format!("level/{name}"), class, Tag::Other, bytes);
        let row_bytes = ROW_BYTES * u64::from(capacities.n_cap);
        let mut row = |name: &str| add(name, Class::Persistent, row_bytes);
        let rows = Rows {
            centers: row("centers"),
            rotations: row("rotations"),
            inverses: row("inverses"),
        };
        let candidates = u64::from(level.candidates);
        let batch = POINT_BYTES * candidates.min(u64::from(BATCH));
        Ok(Self {
            neighbors,
            rows,
            ids: add("ids", Class::Arena, 4 * u64::from(capacities.v_cap)),
            hits: add("hits", Class::Persistent, 4 * candidates),
            points: add("points", Class::Persistent, batch).slice(0, batch),
            level,
        })
    }
}

/// What is done once for a model: its rows and the neighbours of each Gaussian.
#[must_use]
pub fn prepare_levels(t: &StepTensors, l: &LevelTensors, frame: &Frame) -> Program {
    let mut program = Program::new("density of the model");
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    level::record_rows(&mut program, &t.shared, &t.chunks, &l.rows);
    neighbors(&mut program, t, &l.neighbors, frame);
    program
}

/// Appends what writes which Gaussians candidates show: of the tiles in the band, from the records of `chunks`.
pub(super) fn hits(
    program: &mut Program,
    t: &StepTensors,
    l: &LevelTensors,
    (chunks, groups): (&[Chunk], Span),
    intersections: &Intersections,
) {
    level::record_ids(program, &t.shared, chunks, groups, l.ids);
    let to = (l.ids, l.hits);
    let candidates = l.level.candidates;
    level::record_hits(
        program,
        &t.shared,
        &t.splats,
        intersections,
        to,
        candidates,
        &t.variants,
    );
}

/// The programs that make the points of the view that was drawn last, a batch each.
#[must_use]
pub fn level_points(t: &StepTensors, l: &LevelTensors) -> Vec<Program> {
    let batch = |first: u32| {
        let mut program = Program::new("level points");
        let from = (&l.rows, &l.neighbors.parts[..]);
        level::record_points(&mut program, &t.shared, from, (l.hits, l.points), &l.level, first);
        program
    };
    (0..l.level.candidates).step_by(BATCH as usize).map(batch).collect()
}
