//! Colours of vertices, and which of them some view sees.

use super::MeshError;
use super::fusion::Draw;
use super::stage::DepthStage;
use kiln_gpu::vk::RecordOptions;
use kiln_kernels::fusion::Voxels;
use kiln_kernels::vertex_colors::{self, Vertices};
use kiln_program::{ALIGNMENT, Program};

/// Bytes of a position, and of a sum.
const POSITION_BYTES: u64 = 12;
const SUM_BYTES: u64 = 16;

/// Vertices that go by at a time; none where there is no pool.
fn batch(stage: &DepthStage<'_>) -> Option<usize> {
    let room = stage.pool.as_ref().and_then(|pool| pool.parts.first())?;
    let most = (room.bytes - ALIGNMENT) / (POSITION_BYTES + SUM_BYTES);
    Some(usize::try_from(most).unwrap_or(usize::MAX).max(1))
}

/// How often all views are drawn for the colours of so many vertices.
pub(super) fn turns(stage: &DepthStage<'_>, vertices: usize) -> usize {
    batch(stage).map_or(0, |batch| vertices.div_ceil(batch))
}

/// The mean colour of each vertex over the views that see it; none where none does. Vertices go by in batches in the bytes
/// of the pool's first part.
///
/// # Errors
/// What `draw` says; [`MeshError::Memory`].
pub(super) fn colors<'a>(
    stage: &mut DepthStage<'a>,
    voxels: &Voxels,
    positions: &[[f32; 3]],
    views: usize,
    draw: Draw<'_, 'a>,
) -> Result<Vec<Option<[f32; 3]>>, MeshError> {
    let Some(&room) = stage.pool.as_ref().and_then(|pool| pool.parts.first()) else {
        return Ok(vec![None; positions.len()]);
    };
    let batch = batch(stage).unwrap_or(usize::MAX);
    let mut colors = Vec::with_capacity(positions.len());
    for part in positions.chunks(batch) {
        let n = part.len() as u64;
        let sums_at = (n * POSITION_BYTES).next_multiple_of(ALIGNMENT);
        let vertices = Vertices {
            positions: room.slice(0, n * POSITION_BYTES),
            sums: room.slice(sums_at, n * SUM_BYTES),
            count: u32::try_from(part.len()).unwrap_or(u32::MAX),
        };
        let mut clear = Program::new("clear colours");
        clear.fill(vertices.sums, 0);
        stage.gpu.run(&clear)?;
        stage.gpu.write(&vertices.positions, part.as_flattened())?;
        let mut program = Program::new("vertex colours");
        program.hold(&[stage.image, stage.map]);
        vertex_colors::record(&mut program, stage.uniforms, stage.image, stage.map, &vertices, voxels);
        let program = stage.gpu.compile(&program, RecordOptions::default())?;
        for view in 0..views {
            draw(stage, view, &program)?;
        }
        let sums: Vec<[f32; 4]> = stage.gpu.read(&vertices.sums, part.len())?;
        colors.extend(
            sums.into_iter()
                .map(|[r, g, b, weight]| (weight > 0.0).then(|| [r, g, b].map(|c| (c / weight).clamp(0.0, 1.0)))),
        );
    }
    Ok(colors)
}
