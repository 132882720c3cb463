//! Depth of views into bricks of 8 x 8 x 8 voxels: which bricks there are, and the distances in them.

use super::generated::{fusion_integrate, fusion_touch};
use kiln_program::{Groups, Program, Span, fold_groups};

/// Voxels along a brick's side.
pub const SIDE: u32 = super::generated::common::BRICK_SIDE;
/// Bytes of a brick: 16 bits of distance and 16 of weight a voxel.
pub const BRICK_BYTES: u64 = 4 * (SIDE * SIDE * SIDE) as u64;

/// Where voxels lie in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voxels {
    /// Lower corner of the box, or centre of the ball in contracted space, world units.
    pub origin: [f32; 3],
    /// Side of a voxel, in contracted space of one in the ball, world units.
    pub voxel: f32,
    /// Radius of the ball, world units; 0 in bounded space.
    pub radius: f32,
    /// Distance from a surface at which voxels still hear of it, voxels.
    pub truncation: f32,
    /// Bricks along x, y and z; together fewer than 2^32.
    pub bricks: [u32; 3],
}

impl Voxels {
    /// Bricks of the whole space.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.bricks.iter().map(|n| u64::from(*n)).product()
    }

    /// Bytes of one bit for each of them.
    #[must_use]
    pub fn bits_bytes(&self) -> u64 {
        4 * self.all().div_ceil(32)
    }

    /// Place, in bricks, of the brick with this number; numbers ascend as places do.
    #[must_use]
    pub fn place(&self, key: u32) -> [u32; 3] {
        let [_, y, z] = self.bricks;
        [key / z / y, key / z % y, key % z]
    }
}

/// Appends what marks the bricks near the surface of a view with at most `max_pixels`. `bits` has one bit for each brick of
/// the space.
pub fn record_touch(
    program: &mut Program,
    uniforms: Span,
    depth_map: Span,
    bits: Span,
    voxels: &Voxels,
    max_pixels: u32,
) {
    let [origin_x, origin_y, origin_z] = voxels.origin;
    let [bricks_x, bricks_y, bricks_z] = voxels.bricks;
    program.pass(
        &fusion_touch::KERNEL,
        (),
        fusion_touch::Bind {
            uniforms,
            depth_map,
            brick_bits: bits,
        },
        fusion_touch::Push {
            origin_x,
            origin_y,
            origin_z,
            voxel: voxels.voxel,
            radius: voxels.radius,
            truncation: voxels.truncation,
            bricks_x,
            bricks_y,
            bricks_z,
        },
        Groups::cover(max_pixels, 256),
    );
}

/// Appends what takes the depth of a view into `count` bricks: their numbers in `keys`, their voxels in `pool`.
pub fn record_integrate(
    program: &mut Program,
    uniforms: Span,
    depth_map: Span,
    keys: Span,
    pool: Span,
    count: u32,
    voxels: &Voxels,
) {
    let [origin_x, origin_y, origin_z] = voxels.origin;
    let [_, bricks_y, bricks_z] = voxels.bricks;
    program.pass(
        &fusion_integrate::KERNEL,
        (),
        fusion_integrate::Bind {
            uniforms,
            depth_map,
            brick_keys: keys,
            voxels: pool,
        },
        fusion_integrate::Push {
            origin_x,
            origin_y,
            origin_z,
            voxel: voxels.voxel,
            radius: voxels.radius,
            truncation: voxels.truncation,
            bricks_y,
            bricks_z,
            count,
        },
        Groups::Direct(fold_groups(count.max(1))),
    );
}
