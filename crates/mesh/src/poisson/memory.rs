//! Which blocks each level has, and the bytes that all of it takes.

use super::blocks::{Places, SIDE};
use super::density::{self, Density};
use super::level::{self, Level};
use super::samples::{Cloud, POINT_BYTES, Sample};
use super::{Depth, Options, solve, surface};
use crate::Error;

/// Nodes around the cells of samples that a level has.
const REACH: i32 = 3;
/// Levels between the finest one and that at which density is measured.
const DENSITY_BEHIND: u32 = 2;
/// One sample of so many must lie densely enough for a level that need not be.
const WORTH_A_LEVEL: usize = 10;
/// What the allocator adds to the points of a block.
const ALLOCATED: u64 = 16;

/// The blocks of all levels.
pub(super) struct Layout {
    /// Depth of the coarsest.
    pub(super) dense: u32,
    /// From the dense one.
    pub(super) levels: Vec<Places>,
    pub(super) bytes: u64,
}

/// Refuses more points than memory holds.
pub(super) fn of_points(points: u64, most: u64) -> Result<(), Error> {
    match points * POINT_BYTES <= most {
        true => Ok(()),
        false => Err(short(format!("{points} points take"), points * POINT_BYTES, most)),
    }
}

/// Bytes of a surface that takes so many beside what is held already.
pub(super) fn of_surface(levels: &[Level], cloud: &Cloud, density: &Density, surface: u64) -> u64 {
    let blocks: usize = levels.iter().map(|level| level.chi.len()).sum();
    of_cloud(cloud) + density.bytes() + blocks as u64 * level::LEVEL_BYTES + surface
}

fn of_cloud(cloud: &Cloud) -> u64 {
    cloud.samples.len() as u64 * (size_of::<Sample>() + size_of::<u32>()) as u64
}

pub(super) const fn short(what: String, needed_bytes: u64, most_bytes: u64) -> Error {
    Error::Memory {
        what,
        needed_bytes,
        most_bytes,
    }
}

impl Layout {
    /// The layout of the deepest level that fits, and the density of the samples, which have their areas and levels then.
    pub(super) fn fitting(cloud: &mut Cloud, options: &Options, dense: u32) -> Result<(Self, Density), Error> {
        let (Depth::Exactly(mut depth) | Depth::AtMost(mut depth)) = options.depth;
        loop {
            let behind = (depth - DENSITY_BEHIND).max(super::DENSE - 1);
            let places = Density::places(cloud, behind);
            let density_bytes = density::bytes(places.len());
            let may_lower = matches!(options.depth, Depth::AtMost(_)) && depth > dense;
            let left = options.memory_bytes.saturating_sub(density_bytes);
            match of_points(cloud.samples.len() as u64, left) {
                Err(_) if may_lower => {
                    depth -= 1;
                    continue;
                }
                found => found?,
            }
            let density = Density::new(cloud, behind, places);
            density.measure(&mut cloud.samples, options.samples_per_node, dense, depth);
            let deep = cloud.samples.iter().filter(|sample| sample.depth == depth).count();
            if may_lower && deep * WORTH_A_LEVEL < cloud.samples.len() {
                depth -= 1;
                continue;
            }
            let layout = Self::new(cloud, depth, dense, density_bytes);
            if layout.bytes <= options.memory_bytes {
                return Ok((layout, density));
            }
            if !may_lower {
                return Err(short(
                    format!("depth {depth} of the reconstruction takes"),
                    layout.bytes,
                    options.memory_bytes,
                ));
            }
            depth -= 1;
        }
    }

    fn new(cloud: &Cloud, depth: u32, dense: u32, density_bytes: u64) -> Self {
        let mut levels: Vec<Places> = Vec::new();
        for depth in (dense..=depth).rev() {
            let places = match depth == dense {
                true => Places::all(depth),
                false => {
                    let own = Places::around(cloud.cells(depth, |sample| sample.depth >= depth), REACH, depth);
                    match levels.last() {
                        Some(finer) => own.with_parents(finer, depth),
                        None => own,
                    }
                }
            };
            levels.push(places);
        }
        levels.reverse();
        let mut layout = Self {
            dense,
            levels,
            bytes: 0,
        };
        layout.bytes = layout.predict(cloud, density_bytes);
        layout
    }

    pub(super) const fn depth(&self) -> u32 {
        self.dense + self.levels.len() as u32 - 1
    }

    pub(super) fn blocks(&self) -> u64 {
        self.levels.iter().map(|places| places.len() as u64).sum()
    }

    /// Steps of progress of all levels.
    pub(super) fn steps(&self) -> u64 {
        let steps = |(at, places): (usize, &Places)| solve::steps(places.len() as u64, at == 0);
        self.levels.iter().enumerate().map(steps).sum()
    }

    /// Bytes at the largest of the levels or of the surface: coarser levels keep their solution.
    fn predict(&self, cloud: &Cloud, density_bytes: u64) -> u64 {
        let held = of_cloud(cloud) + density_bytes + 8 * self.blocks();
        let carries = |depth: u32| cloud.samples.iter().any(|sample| sample.depth <= depth);
        let mut coarser = 0;
        let mut most = cloud.samples.len() as u64 * POINT_BYTES;
        for (depth, places) in (self.dense..).zip(&self.levels) {
            let blocks = places.len() as u64;
            let mut here = blocks * (level::SYSTEM_BYTES + ALLOCATED) + points(cloud, depth) * level::POINT_BYTES;
            // What is carried on from this level, and on to it.
            if depth < self.depth() && carries(depth) {
                here += blocks * level::CARRIED_BYTES;
            }
            let before = (depth - self.dense) as usize;
            if before > 0 && carries(depth - 1) {
                here += self.levels[before - 1].len() as u64 * level::CARRIED_BYTES;
            }
            most = most.max(held + coarser + here);
            coarser += blocks * level::LEVEL_BYTES;
        }
        // What closes holes is not known yet.
        let area = cloud.samples.iter().map(|sample| f64::from(sample.area)).sum::<f64>();
        most.max(held + coarser + surface::bytes_of_area(area * f64::from(1 << self.depth()).powi(2)))
    }
}

/// Points of all blocks of a depth: a cell whose upper nodes are a block's first is a point there, too.
fn points(cloud: &Cloud, depth: u32) -> u64 {
    let blocks = |cell: [i32; 3]| -> u64 {
        let twice = cell.iter().filter(|&&x| x % SIDE as i32 == SIDE as i32 - 1).count();
        1 << twice
    };
    cloud.cells(depth, |_| true).map(blocks).sum()
}
