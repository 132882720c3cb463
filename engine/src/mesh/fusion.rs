//! Depth of all views into bricks of voxels (2DGS and PGSR fuse so; Curless and Levoy 1996).
//!
//! First every view marks the bricks near what it sees: one bit for each brick of the space, so the number of bricks is known
//! exactly, however small the pool is. Then the bricks go by in slabs, each as large as the pool, and every view is drawn once
//! more for each slab. Voxels know nothing of each other, so slabs give the bytes that one pool gives.

use kiln_mesh::march::{BRICK_VOXELS, Bricks};

use super::MeshError;
use super::stage::{DepthStage, Pool};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use kiln_kernels::fusion::{self, Voxels};
use kiln_program::Program;
use kiln_twins::fusion::Voxel;

/// Host bytes of a brick on its way to triangles: f32 values, marks, and vertices and triangles of a surface through it.
const HOST_BYTES_PER_BRICK: u64 = 2048 + 200 + 200 * 36;

/// Draws view number `n` on a stage and runs a program on it.
pub(super) type Draw<'d, 'a> = &'d mut dyn FnMut(&mut DepthStage<'a>, usize, &CompiledProgram) -> Result<(), MeshError>;

/// Numbers of the bricks near surfaces, ascending.
///
/// # Errors
/// What `draw` says; [`MeshError::Memory`].
pub(super) fn touched<'a>(
    stage: &mut DepthStage<'a>,
    voxels: &Voxels,
    views: usize,
    draw: Draw<'_, 'a>,
) -> Result<Vec<u32>, MeshError> {
    let Some(pool) = stage.pool.clone() else {
        return Ok(Vec::new());
    };
    let mut clear = Program::new("clear bricks");
    clear.fill(pool.bits, 0);
    stage.gpu.run(&clear)?;
    let mut touch = Program::new("touch bricks");
    touch.hold(&[stage.image, stage.map]);
    let pixels = u32::try_from(stage.map.bytes / 16).unwrap_or(u32::MAX);
    fusion::record_touch(&mut touch, stage.uniforms, stage.map, pool.bits, voxels, pixels);
    let touch = stage.gpu.compile(&touch, RecordOptions::default())?;
    for view in 0..views {
        draw(stage, view, &touch)?;
    }
    let words = usize::try_from(voxels.bits_bytes() / 4).unwrap_or(usize::MAX);
    let words: Vec<u32> = stage.gpu.read(&pool.bits, words)?;
    let keys = (0..).step_by(32).zip(words).flat_map(|(first, word)| {
        (0..32)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| first + bit)
    });
    Ok(keys.collect())
}

/// Refuses more bricks than host memory holds on their way to triangles.
///
/// # Errors
/// [`MeshError::HostMemory`].
pub(super) fn check_host(bricks: usize, voxel: f32) -> Result<(), MeshError> {
    let needed_bytes = bricks as u64 * HOST_BYTES_PER_BRICK;
    match kiln_system::available_bytes() {
        Some(available_bytes) if needed_bytes > available_bytes => {
            // Bricks at a surface go by the square of the voxel's side.
            let ratio = needed_bytes as f64 / available_bytes.max(1) as f64;
            Err(MeshError::HostMemory {
                bricks: bricks as u64,
                needed_bytes,
                available_bytes,
                fitting_voxel: f64::from(voxel) * ratio.sqrt() * 1.1,
            })
        }
        _ => Ok(()),
    }
}

/// Slabs that so many bricks take.
pub(super) fn slabs(bricks: usize, pool: u32) -> usize {
    bricks.div_ceil(pool.max(1) as usize)
}

/// Distances in the bricks with these numbers, in units of the truncation, negative behind surfaces; NaN where fewer than
/// `min_views` views saw anything.
///
/// # Errors
/// What `draw` says; [`MeshError::Memory`].
pub(super) fn integrated<'a>(
    stage: &mut DepthStage<'a>,
    voxels: &Voxels,
    keys: &[u32],
    min_views: u32,
    views: usize,
    draw: Draw<'_, 'a>,
) -> Result<Bricks, MeshError> {
    let mut bricks = Bricks::default();
    let Some(pool) = stage.pool.clone() else {
        return Ok(bricks);
    };
    bricks.values.reserve_exact(keys.len() * BRICK_VOXELS);
    bricks.keys = keys.iter().map(|&key| voxels.place(key).map(|x| x as i32)).collect();
    for slab in keys.chunks(pool.bricks.max(1) as usize) {
        integrate_slab(stage, &pool, voxels, slab, views, draw)?;
        let count = u32::try_from(slab.len()).unwrap_or(u32::MAX);
        for (_, here, _, part) in pool.used(count) {
            let words: Vec<u32> = stage.gpu.read(&part, here as usize * BRICK_VOXELS)?;
            bricks.values.extend(words.into_iter().map(|word| {
                let voxel = Voxel::of_word(word);
                match u32::from(voxel.views) < min_views {
                    true => f32::NAN,
                    false => voxel.value(),
                }
            }));
        }
    }
    Ok(bricks)
}

fn integrate_slab<'a>(
    stage: &mut DepthStage<'a>,
    pool: &Pool,
    voxels: &Voxels,
    slab: &[u32],
    views: usize,
    draw: Draw<'_, 'a>,
) -> Result<(), MeshError> {
    let count = u32::try_from(slab.len()).unwrap_or(u32::MAX);
    let mut clear = Program::new("clear voxels");
    let mut program = Program::new("integrate depth");
    program.hold(&[stage.image, stage.map]);
    for (_, here, keys, part) in pool.used(count) {
        clear.fill(part, 0);
        fusion::record_integrate(&mut program, stage.uniforms, stage.map, keys, part, here, voxels);
    }
    stage.gpu.run(&clear)?;
    stage.gpu.write(&pool.keys, slab)?;
    let program = stage.gpu.compile(&program, RecordOptions::default())?;
    for view in 0..views {
        draw(stage, view, &program)?;
    }
    Ok(())
}
