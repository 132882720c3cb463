//! Maximum of 2x2 pixels with stride 2; an odd last row or column is dropped.

use super::conv3x3::Rows;
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// The pass.
pub static POOL: Shader = shader!("max_pool2x2", r features, w pooled);

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    width: u32,
    in_row0: u32,
    in_rows: u32,
    out_size: [u32; 2],
    out_row0: u32,
    out_rows: u32,
}

/// Appends the pass that pools `planes` planes of a level of `size_px`, of which `features` holds `rows` (from an even
/// row on), into `pooled`, which holds all of the next level.
pub fn record(program: &mut Program, features: View, pooled: View, planes: u32, size_px: [u32; 2], rows: Rows) {
    let out_size = size_px.map(|side| side / 2);
    let push = Push {
        width: size_px[0],
        in_row0: rows.first,
        in_rows: rows.count,
        out_size,
        out_row0: rows.first / 2,
        out_rows: rows.count / 2,
    };
    let pixels = push.out_size[0] * push.out_rows;
    if pixels > 0 {
        let groups = Groups::Direct([pixels.div_ceil(64), planes, 1]);
        program.pass(&POOL, &[], &[features, pooled], &push, groups);
    }
}
