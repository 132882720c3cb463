//! The surface on the finest lattice: the blocks that it passes, found from the coarsest level on, and the mesh.
//!
//! Where levels have no blocks their values are interpolated, so that marching runs on one lattice and no edge is open.
//! Nodes on the border of the cube count as outside: what leaves the cube is closed there.

use super::blocks::{self, Block, Halo, NODES, Places, SIDE, WIDE, last};
use super::level::Level;
use super::samples::{Cloud, Sample};
use crate::march::{self, Bricks};
use crate::{Error, Mesh, Progress, parallel};

/// The solution of all levels, from the dense one.
pub(super) struct Field<'a> {
    levels: &'a [Level],
    /// chi on the surface.
    iso: f32,
    threads: usize,
}

/// The blocks of the finest lattice that the surface passes, and those that their cells reach into.
pub(super) struct Crossed {
    places: Vec<[i32; 3]>,
    /// Edges of the lattice that cross the surface: vertices of the mesh.
    pub(super) vertices: u64,
}

/// Bytes per brick that is marched over: its place, its values, the marks of marching.
const BRICK_BYTES: u64 = (NODES * 4 + 12 + 200) as u64;
/// Bytes per vertex: it, in a list that grows, two triangles, its new number, and its place among those that have one.
const VERTEX_BYTES: u64 = 2 * 12 + 2 * 12 + 4 + 2 * 4 + 12;

/// Vertices per square of the nodes' distance of a surface in any direction: the mean of |x| + |y| + |z| over normals.
const VERTICES: f64 = 1.5;
/// The same for bricks: those that a surface passes, and those that are reached into, are as many as boxes of two by two
/// by two blocks that it meets, and a node more.
const BRICKS: f64 = 1.5 * (2.0 * SIDE as f64 + 1.0) / (SIDE * SIDE * SIDE) as f64;

/// Bytes that marching takes over a surface of so many squares of the nodes' distance.
pub(super) fn bytes_of_area(area: f64) -> u64 {
    bytes((BRICKS * area) as u64, (VERTICES * area) as u64)
}

const fn bytes(bricks: u64, vertices: u64) -> u64 {
    bricks * BRICK_BYTES + vertices * VERTEX_BYTES
}

impl Crossed {
    /// Bytes that [`Field::mesh`] takes.
    pub(super) const fn bytes(&self) -> u64 {
        bytes(self.places.len() as u64, self.vertices)
    }
}

impl<'a> Field<'a> {
    /// The field whose surface lies, in the mean, where the samples are.
    pub(super) fn new(levels: &'a [Level], cloud: &Cloud, threads: usize) -> Self {
        let mut field = Self {
            levels,
            iso: 0.0,
            threads,
        };
        let mut sums = [0.0_f64; 2];
        for (level, solved) in levels.iter().enumerate() {
            let depth = solved.grid.depth;
            let is_last = level + 1 == levels.len();
            let here = |sample: &&Sample| sample.depth == depth || is_last && sample.depth > depth;
            let mut block = ([-1; 3], [0.0; WIDE * WIDE * WIDE]);
            for sample in cloud.samples.iter().filter(here) {
                let place = sample.cell(depth).map(|x| x >> 3);
                if block.0 != place {
                    block = (place, field.halo(level, place));
                }
                let area = f64::from(sample.area);
                sums[0] += area * f64::from(between(&block.1, sample.on(depth)));
                sums[1] += area;
            }
        }
        field.iso = (sums[0] / sums[1]) as f32;
        field
    }

    /// chi at a block of a level and around it.
    fn halo(&self, level: usize, place: [i32; 3]) -> Halo {
        let Level { grid, chi, .. } = &self.levels[level];
        grid.gather_at(place, chi, || match level.checked_sub(1) {
            Some(coarser) => blocks::refined(place, &self.halo(coarser, place.map(|x| x >> 1))),
            None => [0.0; WIDE * WIDE * WIDE],
        })
    }

    /// Finds the blocks that the surface passes.
    pub(super) fn crossed(&self) -> Crossed {
        let mut crossed = Places::default();
        let mut vertices = 0;
        for (level, solved) in self.levels.iter().enumerate() {
            let grid = &solved.grid;
            let most = last(grid.depth);
            // A cell between nodes that are all interpolated crosses only if the coarser cell around it does.
            let own = grid
                .places
                .iter()
                .flat_map(|place| corners().map(move |by| minus(place, by)));
            let children = crossed
                .iter()
                .flat_map(|place| corners().map(move |by| minus(place.map(|x| 2 * x + 1), by)));
            let candidates = own
                .chain(children)
                .filter(|place| place.iter().all(|x| (0..=most).contains(x)));
            let candidates = Places::new(candidates);
            let mut counts = vec![None; candidates.len()];
            parallel::each(self.threads, counts.iter_mut().enumerate(), |(block, count)| {
                let place = candidates.place(block);
                *count = self.crossings(place, grid.depth, &self.halo(level, place));
            });
            crossed = candidates.only(|block| counts[block].is_some());
            vertices = counts.iter().flatten().sum();
        }
        let most = self.levels.last().map_or(0, |finest| last(finest.grid.depth));
        let reached = crossed
            .iter()
            .flat_map(|place| corners().map(move |by| minus(place, by.map(|x| -x))));
        let mut places: Vec<[i32; 3]> = reached.filter(|place| place.iter().all(|&x| x <= most)).collect();
        places.sort_unstable();
        places.dedup();
        Crossed { places, vertices }
    }

    /// How many edges that begin in a block cross the surface; `None` if no cell does, nor at a finer level will.
    fn crossings(&self, place: [i32; 3], depth: u32, halo: &Halo) -> Option<u64> {
        let end = 1 << depth;
        let is_border = |node: [i32; 3]| node.iter().any(|&x| x == 0 || x == end);
        // Nodes 0 to 8 of the block.
        let is_inside = |at: [usize; 3]| {
            let value = halo[at[0] + 1 + WIDE * (at[1] + 1 + WIDE * (at[2] + 1))];
            let node = std::array::from_fn(|i| place[i] * SIDE as i32 + at[i] as i32);
            (value > self.iso && node.iter().all(|&x| x <= end), is_border(node))
        };
        let (mut inside, mut outside, mut count) = (false, false, 0);
        for z in 0..=SIDE {
            for y in 0..=SIDE {
                for x in 0..=SIDE {
                    let at = [x, y, z];
                    let (is_in, is_border) = is_inside(at);
                    inside |= is_in;
                    // A finer node beside a border may be inside where the border's is alone.
                    outside |= !is_in || is_border;
                    for axis in (0..3).filter(|_| at.iter().all(|&x| x < SIDE)) {
                        let mut next = at;
                        next[axis] += 1;
                        let next = is_inside(next);
                        count += u64::from((is_in && !is_border) != (next.0 && !next.1));
                    }
                }
            }
        }
        (inside && outside).then_some(count)
    }

    /// Marches over the blocks that the surface passes. Triangles face where chi falls.
    pub(super) fn mesh(&self, crossed: Crossed, cloud: &Cloud, progress: Progress<'_>) -> Result<Mesh, Error> {
        let level = self.levels.len() - 1;
        let depth = self.levels[level].grid.depth;
        let end = 1 << depth;
        let keys = crossed.places;
        let mut values = vec![0.0; keys.len() * NODES];
        let items = values.as_chunks_mut::<NODES>().0.iter_mut().zip(&keys);
        parallel::each(self.threads, items, |(to, &place): (&mut Block, _)| {
            *to = blocks::own(&self.halo(level, place));
            for (at, to) in to.iter_mut().enumerate() {
                let at = [at % SIDE, at / SIDE % SIDE, at / SIDE / SIDE];
                let node: [i32; 3] = std::array::from_fn(|i| place[i] * SIDE as i32 + at[i] as i32);
                *to = match node.iter().all(|x| (1..end).contains(x)) {
                    // Marching takes 0 as outside, as `crossings` does.
                    true => self.iso - *to,
                    false => 0.5,
                };
            }
        });
        let grid = march::Grid {
            origin: crate::vector::narrow(cloud.origin),
            voxel: (cloud.side / f64::from(end)) as f32,
        };
        march::bricks(&Bricks { keys, values }, grid, progress)
    }
}

/// Offsets of a cell's corners.
fn corners() -> impl Iterator<Item = [i32; 3]> {
    (0..8).map(|corner| [corner & 1, corner >> 1 & 1, corner >> 2])
}

fn minus(place: [i32; 3], by: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|i| place[i] - by[i])
}

/// The value at a place in a block.
fn between(halo: &Halo, on: [f32; 3]) -> f32 {
    let [x, y, z] = on.map(|x| x as usize % SIDE + 1);
    let base = x + WIDE * (y + WIDE * z);
    let at = on.map(f32::fract);
    let corner = |corner: usize| {
        let offset = (corner & 1) + WIDE * (corner >> 1 & 1) + WIDE * WIDE * (corner >> 2);
        blocks::trilinear(at, corner) * halo[base + offset]
    };
    (0..8).map(corner).sum()
}
