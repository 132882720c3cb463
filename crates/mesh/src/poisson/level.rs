//! One level of the solution, and how its equations are made.
//!
//! Lengths are in the nodes' distance h of the level. With trilinear elements the energy divided by h is
//! x' A x - 2 x' b, where A is the stiffness of the Laplacian and the sum of w w' over samples, times their weights; b is
//! the divergence of the splatted normals, and half the weights.

use super::blocks::{self, Block, Grid, Halo, NODES, SIDE, WIDE};
use super::samples::{Cloud, Sample};
use super::stencil;
use crate::parallel;

/// A solved level.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) grid: Grid,
    /// 1 inside and 0 outside, about.
    pub(super) chi: Vec<Block>,
    /// The normals of samples that are too far apart for the next level, splatted here or before; `None` of none.
    carried: Option<[Vec<Block>; 3]>,
}

/// All samples of a cell as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Lower node of the cell, from that of the block: -1 to 7.
    cell: [i8; 3],
    /// Place in the cell, 0 to 1.
    at: [f32; 3],
    weight: f32,
}

/// Points that touch a block.
pub(super) type Points = Box<[Point]>;

impl Point {
    /// Calls `job` with the number in a halo of each of the cell's corners and its trilinear weight.
    fn corners(&self, mut job: impl FnMut(usize, f32)) {
        let [x, y, z] = self.cell.map(|x| (x + 1) as usize);
        let base = x + WIDE * (y + WIDE * z);
        for corner in 0..8 {
            let offset = (corner & 1) + WIDE * (corner >> 1 & 1) + WIDE * WIDE * (corner >> 2);
            job(base + offset, blocks::trilinear(self.at, corner));
        }
    }

    /// Adds weight w w' x to `to`.
    pub(super) fn apply(&self, x: &Halo, to: &mut Halo) {
        let mut sum = 0.0;
        self.corners(|node, w| sum += w * x[node]);
        self.add(self.weight * sum, to);
    }

    /// Adds w times a factor.
    fn add(&self, factor: f32, to: &mut Halo) {
        self.corners(|node, w| to[node] += factor * w);
    }

    fn diagonal(&self, to: &mut Halo) {
        self.corners(|node, w| to[node] += self.weight * w * w);
    }
}

/// The equations of a level: `chi` is the coarser solution, `residual` b - A chi.
#[derive(Debug)]
pub(super) struct System {
    pub(super) grid: Grid,
    pub(super) chi: Vec<Block>,
    pub(super) residual: Vec<Block>,
    /// One over the diagonal of A; 0 beyond the cube.
    pub(super) inverse: Vec<Block>,
    pub(super) points: Vec<Points>,
    /// Room of the same size that the solver may use.
    pub(super) room: [Vec<Block>; 2],
    pub(super) carried: Option<[Vec<Block>; 3]>,
    /// Sum of the squares of b.
    pub(super) right_side: f64,
}

/// Bytes per block of a [`System`], without points and what is carried, and of the solver's sums.
pub(super) const SYSTEM_BYTES: u64 =
    blocks::GRID_BYTES + (5 * size_of::<Block>() + size_of::<Points>() + size_of::<[f64; 2]>()) as u64;
/// Bytes per block of what is carried.
pub(super) const CARRIED_BYTES: u64 = 3 * size_of::<Block>() as u64;
/// Bytes per block of a [`Level`] without it.
pub(super) const LEVEL_BYTES: u64 = blocks::GRID_BYTES + size_of::<Block>() as u64;
/// Bytes per point.
pub(super) const POINT_BYTES: u64 = size_of::<Point>() as u64;

impl System {
    /// The equations on the blocks of `grid`, begun from the coarser level; from 0 without. Beyond the last level nothing
    /// is carried.
    pub(super) fn new(
        grid: Grid,
        coarse: Option<&Level>,
        is_last: bool,
        cloud: &Cloud,
        lambda: f32,
        threads: usize,
    ) -> Self {
        let depth = grid.depth;
        let zeros = || vec![[0.0; NODES]; grid.len()];
        let carries = coarse.is_some_and(|coarse| coarse.carried.is_some());
        let ends_here = || cloud.samples.iter().any(|sample| sample.depth == depth);
        let mut carried = (!is_last && (carries || ends_here())).then(|| [0; 3].map(|_| zeros()));
        let mut splatted = [0; 3].map(|_| zeros());
        let mut points: Vec<Points> = vec![Points::default(); grid.len()];

        let [x, y, z] = &mut splatted;
        let mut kept = carried.as_mut().map(|[x, y, z]| x.iter_mut().zip(y).zip(z));
        let kept = std::iter::repeat_with(|| kept.as_mut().and_then(Iterator::next));
        let items = (points.iter_mut().zip(x).zip(y).zip(z)).zip(kept).enumerate();
        parallel::each(threads, items, |(block, ((((points, x), y), z), kept))| {
            let place = grid.places.place(block);
            let near = Near::new(cloud, place, depth);
            *points = near.points(lambda);
            let carried = near.splat(|sample| sample.depth == depth);
            let own = near.splat(|sample| sample.depth > depth);
            let mut carried = carried.map(|halo| blocks::own(&halo));
            if let Some(coarse) = coarse.and_then(|coarse| coarse.carried_around(place)) {
                for (carried, coarse) in carried.iter_mut().zip(&coarse) {
                    let coarse = blocks::own(coarse);
                    carried.iter_mut().zip(coarse).for_each(|(to, from)| *to += from);
                }
            }
            [*x, *y, *z] = [0, 1, 2].map(|axis| {
                let mut own = blocks::own(&own[axis]);
                own.iter_mut().zip(&carried[axis]).for_each(|(to, from)| *to += from);
                own
            });
            if let Some(((x, y), z)) = kept {
                [*x, *y, *z] = carried;
            }
        });

        let mut system = Self {
            chi: zeros(),
            residual: zeros(),
            inverse: Vec::new(),
            points,
            room: [Vec::new(), Vec::new()],
            carried,
            right_side: 0.0,
            grid,
        };
        system.begin(&splatted, coarse, threads);
        let [x, y, z] = splatted;
        system.inverse = x;
        system.room = [y, z];
        system.invert_diagonal(threads);
        system
    }

    /// Interpolates chi and makes the residual.
    fn begin(&mut self, splatted: &[Vec<Block>; 3], coarse: Option<&Level>, threads: usize) {
        let mut squares = vec![0.0_f64; self.grid.len()];
        let (grid, points) = (&self.grid, &self.points);
        let items = (self.chi.iter_mut().zip(&mut self.residual).zip(&mut squares)).enumerate();
        parallel::each(threads, items, |(block, ((chi, residual), squares))| {
            let place = grid.places.place(block);
            let mut around = [[0.0; WIDE * WIDE * WIDE]; 3];
            if let Some(coarse) = coarse.and_then(|coarse| coarse.carried_around(place)) {
                around = coarse;
            }
            for (halo, values) in around.iter_mut().zip(splatted) {
                grid.gather(block, values, halo);
            }
            let mut right = stencil::divergence(&around);
            let mut halo = [0.0; WIDE * WIDE * WIDE];
            for point in &points[block] {
                point.add(0.5 * point.weight, &mut halo);
            }
            let shares = grid.shares(block);
            let halves = blocks::own(&halo);
            for (node, (right, half)) in right.iter_mut().zip(halves).enumerate() {
                *right = match share(shares.as_ref(), node) > 0.0 {
                    true => *right + half,
                    false => 0.0,
                };
            }
            *squares = right.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            *residual = right;
            if let Some(coarse) = coarse {
                let halo = coarse.chi_around(place);
                *chi = blocks::own(&halo);
                let product = product(&halo, shares.as_ref(), &points[block]);
                residual.iter_mut().zip(product).for_each(|(to, x)| *to -= x);
            }
        });
        self.right_side = squares.iter().sum();
    }

    fn invert_diagonal(&mut self, threads: usize) {
        let (grid, points) = (&self.grid, &self.points);
        parallel::each(threads, self.inverse.iter_mut().enumerate(), |(block, inverse)| {
            let mut halo = [0.0; WIDE * WIDE * WIDE];
            points[block].iter().for_each(|point| point.diagonal(&mut halo));
            let shares = grid.shares(block);
            for (node, (to, from)) in inverse.iter_mut().zip(blocks::own(&halo)).enumerate() {
                let share = share(shares.as_ref(), node);
                *to = match share > 0.0 {
                    true => 1.0 / (share * stencil::MIDDLE + from),
                    false => 0.0,
                };
            }
        });
    }

    /// A times `x` in one block; x is 0 in blocks that are not there.
    pub(super) fn times(&self, block: usize, x: &[Block]) -> Block {
        let mut halo = [0.0; WIDE * WIDE * WIDE];
        self.grid.gather(block, x, &mut halo);
        let shares = self.grid.shares(block);
        if shares.is_some() {
            self.grid.mirror(self.grid.places.place(block), &mut halo);
        }
        product(&halo, shares.as_ref(), &self.points[block])
    }

    /// The level, solved.
    pub(super) fn into_level(self) -> Level {
        Level {
            grid: self.grid,
            chi: self.chi,
            carried: self.carried,
        }
    }
}

/// A times the values around a block, at its nodes.
fn product(halo: &Halo, shares: Option<&[[f32; SIDE]; 3]>, points: &[Point]) -> Block {
    let mut product = stencil::stiffness(halo);
    if shares.is_some() {
        let nodes = product.iter_mut().enumerate();
        nodes.for_each(|(node, x)| *x *= share(shares, node));
    }
    if !points.is_empty() {
        let mut sums = [0.0; WIDE * WIDE * WIDE];
        points.iter().for_each(|point| point.apply(halo, &mut sums));
        let sums = blocks::own(&sums);
        product.iter_mut().zip(sums).for_each(|(to, x)| *to += x);
    }
    product
}

/// The share of a node's elements that lies in the cube.
fn share(shares: Option<&[[f32; SIDE]; 3]>, node: usize) -> f32 {
    shares.map_or(1.0, |shares| {
        shares[0][node % SIDE] * shares[1][node / SIDE % SIDE] * shares[2][node / SIDE / SIDE]
    })
}

impl Level {
    /// chi at a finer block and around it.
    fn chi_around(&self, finer: [i32; 3]) -> Halo {
        self.around(finer, &self.chi, 1.0)
    }

    /// What is carried there, in the finer level's units.
    fn carried_around(&self, finer: [i32; 3]) -> Option<[Halo; 3]> {
        // A vector per length: the finer h is half of this one's.
        let carried = self.carried.as_ref()?;
        Some([0, 1, 2].map(|axis| self.around(finer, &carried[axis], 0.5)))
    }

    fn around(&self, finer: [i32; 3], values: &[Block], factor: f32) -> Halo {
        let parent = finer.map(|x| x >> 1);
        let mut halo = [0.0; WIDE * WIDE * WIDE];
        if let Some(block) = self.grid.places.find(parent) {
            self.grid.gather(block, values, &mut halo);
            self.grid.mirror(parent, &mut halo);
        }
        blocks::refined(finer, &halo).map(|x| factor * x)
    }

    /// Forgets what is carried: the finer level has it.
    pub(super) fn settle(&mut self) {
        self.carried = None;
    }
}

/// The samples in the cells that touch a block, by runs of samples of a block.
struct Near<'a> {
    place: [i32; 3],
    depth: u32,
    runs: [&'a [Sample]; 8],
}

impl<'a> Near<'a> {
    fn new(cloud: &'a Cloud, place: [i32; 3], depth: u32) -> Self {
        let runs = std::array::from_fn(|side| {
            let offset = [side & 1, side >> 1 & 1, side >> 2].map(|x| x as i32);
            &cloud.samples[cloud.within(std::array::from_fn(|i| place[i] - offset[i]), depth)]
        });
        Self { place, depth, runs }
    }

    /// Samples with the lower node of their cell, from that of the block, and their place in it.
    fn samples(&self) -> impl Iterator<Item = ([i8; 3], [f32; 3], &'a Sample)> {
        let (place, depth) = (self.place, self.depth);
        let first = place.map(|x| x * SIDE as i32);
        self.runs.into_iter().flatten().filter_map(move |sample| {
            let on = sample.on(depth);
            let cell: [i32; 3] = std::array::from_fn(|i| on[i] as i32 - first[i]);
            let touches = cell.iter().all(|x| (-1..SIDE as i32).contains(x));
            touches.then(|| (cell.map(|x| x as i8), on.map(f32::fract), sample))
        })
    }

    /// Samples as one per cell. A sample's weight is lambda over the nodes' distance at its own level, times its area.
    fn points(&self, lambda: f32) -> Points {
        let mut points: Vec<Point> = Vec::new();
        let (mut weight, mut sums) = (0.0_f64, [0.0_f64; 3]);
        let cell_area = 0.25_f32.powi(self.depth as i32);
        for (cell, at, sample) in self.samples() {
            if points.last().is_none_or(|last| last.cell != cell) {
                (weight, sums) = (0.0, [0.0; 3]);
                let (at, weight) = ([0.0; 3], 0.0);
                points.push(Point { cell, at, weight });
            }
            let behind = self.depth.saturating_sub(sample.depth) as i32;
            let own = f64::from(lambda * sample.area / cell_area * 0.5_f32.powi(behind));
            weight += own;
            sums.iter_mut().zip(at).for_each(|(sum, x)| *sum += own * f64::from(x));
            if let Some(last) = points.last_mut() {
                last.weight = weight as f32;
                last.at = sums.map(|sum| (sum / weight) as f32);
            }
        }
        points.retain(|point| point.weight > 0.0);
        points.into_boxed_slice()
    }

    /// Minus the normals of the samples that `keep` names, times their areas, splatted around the block.
    fn splat(&self, keep: impl Fn(&Sample) -> bool) -> [Halo; 3] {
        let mut halos = [[0.0; WIDE * WIDE * WIDE]; 3];
        let cell_area = 0.25_f32.powi(self.depth as i32);
        for (cell, at, sample) in self.samples().filter(|(_, _, sample)| keep(sample)) {
            let point = Point { cell, at, weight: 0.0 };
            for (halo, normal) in halos.iter_mut().zip(sample.normal) {
                point.add(-normal * (sample.area / cell_area), halo);
            }
        }
        halos
    }
}
