//! Depths that a mask leaves out are none.

use super::generated::depth_mask;
use kiln_program::{Groups, Program, Span};

/// Appends the pass for views of at most `max_pixels`. `mask` has a byte a pixel, 0 for those that do not count.
pub fn record(program: &mut Program, uniforms: Span, mask: Span, depth_map: Span, max_pixels: u32) {
    program.pass(
        &depth_mask::KERNEL,
        (),
        depth_mask::Bind {
            uniforms,
            mask,
            depth_map,
        },
        (),
        Groups::cover(max_pixels, 256),
    );
}
