//! Colours of vertices, and which of them some view sees.

use super::MeshError;
use super::fusion::Draw;
use super::stage::DepthStage;
use crate::kernels::fusion::Voxels;
use crate::kernels::vertex_colors::{self, Vertices};
use crate::program::{ALIGNMENT, Program};
use crate::vk::RecordOptions;

/// Bytes of a position, and of a sum.
const POSITION_BYTES: u64 = 12;
const SUM_BYTES: u64 = 16;

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
    let batch = (room.bytes - ALIGNMENT) / (POSITION_BYTES + SUM_BYTES);
    let mut colors = Vec::with_capacity(positions.len());
    for part in positions.chunks(usize::try_from(batch).unwrap_or(usize::MAX).max(1)) {
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

/// Colours for all: vertices that no view sees take the mean of their neighbours', from those that have one outwards; grey
/// where a piece has none.
pub(super) fn spread(colors: &[Option<[f32; 3]>], triangles: &[[u32; 3]]) -> Vec<[f32; 3]> {
    let mut known = colors.to_vec();
    loop {
        let mut sums: std::collections::BTreeMap<u32, ([f32; 3], f32)> = std::collections::BTreeMap::new();
        for triangle in triangles {
            for &vertex in triangle {
                if known.get(vertex as usize).is_some_and(Option::is_some) {
                    continue;
                }
                for color in triangle
                    .iter()
                    .filter_map(|&other| known.get(other as usize).copied().flatten())
                {
                    let (sum, count) = sums.entry(vertex).or_default();
                    *sum = std::array::from_fn(|i| sum[i] + color[i]);
                    *count += 1.0;
                }
            }
        }
        if sums.is_empty() {
            return known.into_iter().map(|color| color.unwrap_or([0.5; 3])).collect();
        }
        for (vertex, (sum, count)) in sums {
            if let Some(place) = known.get_mut(vertex as usize) {
                *place = Some(sum.map(|c| c / count));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_spread_outwards() {
        let strip = [[0, 1, 2], [1, 2, 3], [2, 3, 4]];
        let red = Some([1.0, 0.0, 0.0]);
        let blue = Some([0.0, 0.0, 1.0]);
        let found = spread(&[red, blue, None, None, None, None], &strip);
        // Vertex 2 is between both; 3 hears of 1 and of 2 only in the next round.
        assert_eq!(found[5], [0.5; 3], "alone");
        assert!(found[2][0] > 0.0 && found[2][2] > 0.0, "{found:?}");
        assert_eq!(found[0], [1.0, 0.0, 0.0]);
        assert!(found[4].iter().sum::<f32>() > 0.99, "{found:?}");
    }
}
