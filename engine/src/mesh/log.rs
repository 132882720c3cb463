//! Progress of the work: stages, counts, seconds.

use std::ops::ControlFlow;
use std::time::Instant;

use kiln_mesh::Mesh;

use super::MeshError;
use super::report::{MeshEvent, MeshProgress, MeshStage, StageRow};

/// Parts that stages without items count in.
const PARTS: u32 = 1000;

/// Receives the progress of the work; [`ControlFlow::Break`] ends it.
pub type Tell<'a> = &'a mut dyn FnMut(MeshEvent) -> ControlFlow<()>;

/// Reports the progress of the work and keeps the seconds of each stage.
pub(super) struct Log<'t> {
    tell: Tell<'t>,
    since: Instant,
    pub(super) rows: Vec<StageRow>,
    /// Bricks near surfaces and points of the surface, once they are known.
    pub(super) bricks: u64,
    pub(super) points: u64,
}

impl<'t> Log<'t> {
    pub(super) fn new(tell: Tell<'t>) -> Self {
        Self {
            tell,
            since: Instant::now(),
            rows: Vec::new(),
            bricks: 0,
            points: 0,
        }
    }

    pub(super) fn tell(&mut self, stage: MeshStage, done: u32, total: u32) -> Result<(), MeshError> {
        match (self.tell)(MeshEvent::Progress(MeshProgress { stage, done, total })) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(MeshError::Stopped),
        }
    }

    /// For stages on the host.
    pub(super) fn part(&mut self, stage: MeshStage) -> impl FnMut(f32) -> ControlFlow<()> + '_ {
        move |fraction| {
            (self.tell)(MeshEvent::Progress(MeshProgress {
                stage,
                done: (fraction * PARTS as f32) as u32,
                total: PARTS,
            }))
        }
    }

    pub(super) fn end(&mut self, stage: MeshStage, mesh: Option<&Mesh>) -> Result<(), MeshError> {
        let row = StageRow {
            stage,
            bricks: self.bricks,
            points: self.points,
            seconds: self.since.elapsed().as_secs_f64(),
            vertices: mesh.map_or(0, |mesh| mesh.positions().len() as u64),
            triangles: mesh.map_or(0, |mesh| mesh.triangles().len() as u64),
        };
        self.since = Instant::now();
        self.rows.push(row);
        match (self.tell)(MeshEvent::Stage(row)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(MeshError::Stopped),
        }
    }
}
