//! Maximum of 2x2 pixels with stride 2; an odd last row or column is dropped.

use super::conv3x3::Rows;
use super::generated::max_pool2x2;
use kiln_program::{Groups, Program, Span};

/// Appends the pass that pools `planes` planes of a level of `size_px`, of which `features` holds `rows` (from an even
/// row on), into `pooled`, which holds all of the next level.
pub fn record(program: &mut Program, features: Span, pooled: Span, planes: u32, size_px: [u32; 2], rows: Rows) {
    let [out_width, out_height] = size_px.map(|side| side / 2);
    let push = max_pool2x2::Push {
        width: size_px[0],
        in_row0: rows.first,
        in_rows: rows.count,
        out_width,
        out_height,
        out_row0: rows.first / 2,
        out_rows: rows.count / 2,
    };
    let pixels = push.out_width * push.out_rows;
    if pixels > 0 {
        let groups = Groups::Direct([pixels.div_ceil(64), planes, 1]);
        program.pass(
            &max_pool2x2::KERNEL,
            (),
            max_pool2x2::Bind { features, pooled },
            push,
            groups,
        );
    }
}
