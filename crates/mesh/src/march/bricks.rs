//! Sparse bricks, as a device marches over them: vertices by bits and prefix sums.

use super::dense::too_many;
use super::table::{CASES, CORNERS, EDGES};
use super::{Grid, seen};
use crate::progress::Ticker;
use crate::{Error, Mesh, Progress, clean, parallel};

/// Voxels along a brick's side.
const SIDE: usize = 8;
/// Voxels of a brick; voxel (x, y, z) is number x + 8 y + 64 z.
pub const BRICK_VOXELS: usize = SIDE * SIDE * SIDE;
/// Voxels along the side of a brick with its halo: one more beyond each upper face.
const WIDE: usize = SIDE + 1;
/// Words of the marks of one axis.
const WORDS: usize = BRICK_VOXELS / 64;
const NONE: u32 = u32::MAX;
/// Bricks whose vertices or triangles wait for each other to be put in order.
const BATCH: usize = 1 << 10;
/// Bricks that a thread takes at once.
const TAKEN: usize = 16;

/// Values in bricks of 8 x 8 x 8 voxels.
#[derive(Clone, Debug, Default)]
pub struct Bricks {
    /// Places of the bricks, in bricks, ascending and each once.
    pub keys: Vec<[i32; 3]>,
    /// Values of the voxels, brick by brick, negative inside; NaN where nothing was seen.
    pub values: Vec<f32>,
}

impl Bricks {
    fn check(&self) -> Result<(), Error> {
        if self.values.len() != self.keys.len() * BRICK_VOXELS {
            return Err(Error::Length {
                what: "values of bricks",
                found: self.values.len(),
                wanted: self.keys.len() * BRICK_VOXELS,
            });
        }
        match self.keys.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(at) => Err(Error::Unfit {
                job: "marching over bricks",
                found: format!("brick {} comes after {:?}", at + 1, self.keys[at]),
                hint: "sort the bricks by place and give each once",
            }),
            None => Ok(()),
        }
    }

    /// The brick and its seven neighbours beyond the upper faces, by the bits of x, y and z; `NONE` for missing ones.
    fn neighbors(&self, brick: usize) -> [u32; 8] {
        let key = self.keys[brick];
        std::array::from_fn(|side| {
            let offset = [side & 1, side >> 1 & 1, side >> 2].map(|x| x as i32);
            let wanted: [Option<i32>; 3] = std::array::from_fn(|i| key[i].checked_add(offset[i]));
            let [Some(x), Some(y), Some(z)] = wanted else {
                return NONE;
            };
            self.keys.binary_search(&[x, y, z]).map_or(NONE, |found| found as u32)
        })
    }

    /// Values of a brick with its halo; NaN beyond what there is.
    fn with_halo(&self, neighbors: &[u32; 8]) -> [f32; WIDE * WIDE * WIDE] {
        let mut values = [f32::NAN; WIDE * WIDE * WIDE];
        for (at, value) in values.iter_mut().enumerate() {
            let place = [at % WIDE, at / WIDE % WIDE, at / WIDE / WIDE];
            let (side, voxel) = split(place);
            if neighbors[side] != NONE {
                *value = self.values[neighbors[side] as usize * BRICK_VOXELS + voxel];
            }
        }
        values
    }
}

/// The neighbour, by bits, and the voxel of it that a place within a brick and its halo is in.
fn split(place: [usize; 3]) -> (usize, usize) {
    let side = (0..3).fold(0, |side, i| side | (place[i] / SIDE) << i);
    let [x, y, z] = place.map(|x| x % SIDE);
    (side, x + SIDE * (y + SIDE * z))
}

/// Which voxels own a vertex, along each axis, and the number of the brick's first.
#[derive(Clone, Copy, Default)]
struct Marks {
    bits: [[u64; WORDS]; 3],
    first: u32,
}

impl Marks {
    /// The vertex of an edge: those of the axes before, and of the voxels before along this one.
    fn vertex(&self, axis: usize, voxel: usize) -> u32 {
        let before = self.bits[..axis]
            .iter()
            .flatten()
            .map(|word| word.count_ones())
            .sum::<u32>();
        let (word, bit) = (voxel / 64, voxel % 64);
        let words = self.bits[axis][..word]
            .iter()
            .map(|word| word.count_ones())
            .sum::<u32>();
        let rest = (self.bits[axis][word] & ((1 << bit) - 1)).count_ones();
        self.first + before + words + rest
    }

    fn count(&self) -> u32 {
        self.bits.iter().flatten().map(|word| word.count_ones()).sum()
    }
}

/// The level 0 over bricks, the same surface as [`super::dense`] gives over the box around them. Vertices are in the order
/// of bricks, axes and voxels, by however many threads. Takes 200 B per brick beside the mesh.
///
/// # Errors
/// [`Error::Length`], [`Error::Unfit`] for bricks out of order, [`Error::Setting`], [`Error::NotFinite`],
/// [`Error::TooMany`], [`Error::Stopped`].
pub fn bricks(bricks: &Bricks, grid: Grid, progress: Progress<'_>) -> Result<Mesh, Error> {
    grid.check()?;
    bricks.check()?;
    let mut ticker = Ticker::new(progress, 2 * bricks.keys.len() as u64);
    let numbers: Vec<usize> = (0..bricks.keys.len()).collect();
    let mut marks: Vec<Marks> = Vec::with_capacity(numbers.len());
    let mut positions = Vec::new();
    for batch in numbers.chunks(BATCH) {
        for (mut mark, places) in each(batch, |brick| crossings(bricks, grid, brick)) {
            mark.first = positions.len() as u32;
            positions.extend(places);
            marks.push(mark);
        }
        too_many(positions.len())?;
        ticker.step(batch.len() as u64)?;
    }
    // A closed surface has two triangles a vertex, less some.
    let mut triangles = Vec::with_capacity(2 * positions.len());
    for batch in numbers.chunks(BATCH) {
        for part in each(batch, |brick| cells(bricks, &marks, brick)) {
            triangles.extend(part);
        }
        ticker.step(batch.len() as u64)?;
    }
    ticker.finish()?;
    // Edges between seen points that no whole cell has.
    Ok(clean::unreferenced(Mesh::new(positions, triangles)?).0)
}

/// What `job` makes of each brick, in their order.
fn each<R: Send + Clone + Default>(batch: &[usize], job: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut found = vec![R::default(); batch.len()];
    let items = found.iter_mut().zip(batch);
    parallel::each_in(parallel::threads(), TAKEN, items, |(found, &brick)| *found = job(brick));
    found
}

/// Which voxels of a brick own a vertex, and where these are.
fn crossings(bricks: &Bricks, grid: Grid, brick: usize) -> (Marks, Vec<[f32; 3]>) {
    let key = bricks.keys[brick];
    let values = bricks.with_halo(&bricks.neighbors(brick));
    let mut mark = Marks::default();
    let mut places = Vec::new();
    for (axis, bits) in mark.bits.iter_mut().enumerate() {
        for voxel in 0..BRICK_VOXELS {
            let place = [voxel % SIDE, voxel / SIDE % SIDE, voxel / SIDE / SIDE];
            let at = place[0] + WIDE * (place[1] + WIDE * place[2]);
            let [a, b] = [at, at + WIDE.pow(axis as u32)].map(|at| seen(Some(values[at])));
            let (Some(a), Some(b)) = (a, b) else { continue };
            if (a < 0.0) != (b < 0.0) {
                bits[voxel / 64] |= 1 << (voxel % 64);
                let place = std::array::from_fn(|i| i64::from(key[i]) * SIDE as i64 + place[i] as i64);
                places.push(grid.crossing(place, axis, a, b));
            }
        }
    }
    (mark, places)
}

/// The triangles in the cells above a brick's voxels.
fn cells(bricks: &Bricks, marks: &[Marks], brick: usize) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    let neighbors = bricks.neighbors(brick);
    // A cell across a face needs the neighbour's vertices only where the level passes.
    if neighbors.iter().all(|&n| n == NONE || marks[n as usize].count() == 0) {
        return triangles;
    }
    let values = bricks.with_halo(&neighbors);
    for voxel in 0..BRICK_VOXELS {
        let place = [voxel % SIDE, voxel / SIDE % SIDE, voxel / SIDE / SIDE];
        let corner = |c: usize| [place[0] + (c & 1), place[1] + (c >> 1 & 1), place[2] + (c >> 2)];
        let values: [f32; CORNERS] = std::array::from_fn(|c| {
            let [x, y, z] = corner(c);
            values[x + WIDE * (y + WIDE * z)]
        });
        let inside = (0..CORNERS).fold(0, |set, c| set | usize::from(values[c] < 0.0) << c);
        if inside == 0 || inside == 255 || !values.iter().all(|value| value.is_finite()) {
            continue;
        }
        let vertex = |edge: u8| {
            let (low, axis) = EDGES[usize::from(edge)];
            let (side, voxel) = split(corner(usize::from(low)));
            marks[neighbors[side] as usize].vertex(usize::from(axis), voxel)
        };
        triangles.extend(CASES[inside].triangles().iter().map(|t| t.map(vertex)));
    }
    triangles
}
