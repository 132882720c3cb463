//! First and one-past-last sorted intersection of every tile; tiles without any get an empty range.

use super::counters::Args;
use super::views::Shared;
use crate::memory::{Program, Shader, View};
use crate::shader;

/// The shader.
pub static SHADER: Shader = shader!("tile_ranges", r uniforms, r counters, r tile_keys, rw tile_ranges);

/// Appends the clear and the pass.
pub fn record(program: &mut Program, shared: &Shared, tile_keys: View, tile_ranges: View) {
    program.fill(tile_ranges, 0);
    let views = [shared.uniforms, shared.counters, tile_keys, tile_ranges];
    program.pass(&SHADER, &[], &views, &(), shared.groups(Args::Intersections));
}
