//! How densely samples lie, from which follow the area that each stands for and the level that it is good for.

use super::blocks::{Block, NODES, Places, SIDE, inner};
use super::samples::{Cloud, Sample};

/// What samples of one per cell of a plane give, splatted and read with quadratic splines: the value at 0 of the spline of
/// degree 5, which is what is left along the normal. That of other directions is 0.56.
const ON_A_PLANE: f32 = 0.55;

/// Samples splatted with quadratic splines.
#[derive(Debug)]
pub(super) struct Density {
    depth: u32,
    places: Places,
    values: Vec<Block>,
}

/// Bytes of so many blocks and their places.
pub(super) const fn bytes(blocks: usize) -> u64 {
    (blocks * (size_of::<Block>() + size_of::<u64>())) as u64
}

/// The first of the three nodes per axis that a place touches, and their weights.
fn spline(x: f32) -> (i32, [f32; 3]) {
    let middle = (x + 0.5).floor();
    let t = x - middle;
    (
        middle as i32 - 1,
        [0.5 * (0.5 - t) * (0.5 - t), 0.75 - t * t, 0.5 * (0.5 + t) * (0.5 + t)],
    )
}

impl Density {
    /// Blocks that samples touch at a depth.
    pub(super) fn places(cloud: &Cloud, depth: u32) -> Places {
        Places::around(cloud.cells(depth, |_| true), 1, depth)
    }

    /// Bytes it holds.
    pub(super) const fn bytes(&self) -> u64 {
        bytes(self.places.len())
    }

    /// Splats the samples at `depth`.
    pub(super) fn new(cloud: &Cloud, depth: u32, places: Places) -> Self {
        let mut density = Self {
            depth,
            values: vec![[0.0; NODES]; places.len()],
            places,
        };
        let mut near = Near::default();
        for sample in &cloud.samples {
            let at = sample.on(depth).map(spline);
            near.look(&density.places, at.map(|at| at.0));
            visit(at, |node, weight| {
                if let Some(block) = near.block(node) {
                    density.values[block][inner(node)] += weight;
                }
            });
        }
        density
    }

    /// Samples per cell of a surface at the places, each in units of the nodes' distance.
    fn read<'a>(&'a self) -> impl FnMut([f32; 3]) -> f32 + 'a {
        let mut near = Near::default();
        move |at| {
            let at = at.map(spline);
            near.look(&self.places, at.map(|at| at.0));
            let mut sum = 0.0;
            visit(at, |node, weight| {
                if let Some(block) = near.block(node) {
                    sum += weight * self.values[block][inner(node)];
                }
            });
            sum / ON_A_PLANE
        }
    }

    /// Gives each sample its area, and the level, between `base` and `most`, at which a cell holds `per_node` of them.
    pub(super) fn measure(&self, samples: &mut [Sample], per_node: f32, base: u32, most: u32) {
        let cell_area = 0.25_f32.powi(self.depth as i32);
        let mut read = self.read();
        for sample in samples {
            let found = read(sample.on(self.depth));
            sample.area = cell_area / found;
            sample.depth = (self.level(found / per_node).floor() as u32).clamp(base, most);
        }
    }

    /// The level at which one of so many samples per cell of a surface is in each.
    fn level(&self, per_cell: f32) -> f32 {
        (self.depth as f32 + 0.5 * f64::from(per_cell).log2() as f32).max(0.0)
    }

    /// The level at which a cell of a surface holds one sample at places of the unit cube; 0 far from all.
    pub(super) fn levels(&self, places: impl Iterator<Item = [f32; 3]>) -> Vec<f32> {
        let scale = (1_u32 << self.depth) as f32;
        let mut read = self.read();
        places.map(|at| self.level(read(at.map(|x| x * scale)))).collect()
    }
}

/// Calls `job` with the 27 nodes around a place and their weights.
fn visit(at: [(i32, [f32; 3]); 3], mut job: impl FnMut([i32; 3], f32)) {
    let [x, y, z] = at;
    for (k, wz) in (z.0..).zip(z.1) {
        for (j, wy) in (y.0..).zip(y.1) {
            for (i, wx) in (x.0..).zip(x.1) {
                job([i, j, k], wx * wy * wz);
            }
        }
    }
}

/// The blocks around a place, looked up anew when the place moves on.
#[derive(Default)]
struct Near {
    at: Option<[[i32; 2]; 3]>,
    blocks: [Option<usize>; 8],
}

impl Near {
    fn look(&mut self, places: &Places, low: [i32; 3]) {
        let at = low.map(|x| [x, x + 2].map(|x| x.div_euclid(SIDE as i32)));
        if self.at.replace(at) != Some(at) {
            self.blocks =
                std::array::from_fn(|side| places.find([at[0][side & 1], at[1][side >> 1 & 1], at[2][side >> 2]]));
        }
    }

    fn block(&self, node: [i32; 3]) -> Option<usize> {
        let at = self.at?;
        let side = |axis: usize| usize::from(node[axis].div_euclid(SIDE as i32) != at[axis][0]);
        self.blocks[side(0) | side(1) << 1 | side(2) << 2]
    }
}
