//! Screened Poisson surface reconstruction (Kazhdan and Hoppe 2013): a closed surface through points with normals.
//!
//! Finds the function chi, 1 inside and 0 outside, whose gradient is the field of the normals and which is a half at the
//! points, in the sense of least squares:
//!
//! integral |grad chi - v|^2 + lambda / h sum a (chi(p) - 1/2)^2,  v = - sum a n delta(p),
//!
//! with trilinear elements at the nodes of lattices of side 2^depth, h apart; a is the area that a sample stands for. The
//! lattice of depth 5 is dense. Finer ones are blocks of 8 x 8 x 8 nodes around samples that lie densely enough for
//! them; each level begins from the coarser solution, which also holds its border. No value has a slope across the cube's
//! faces.
//!
//! Owns the reconstruction from points in host memory. Promises the same bytes on any number of threads, no open edge
//! before the cuts, and that the bytes it takes are known, and refused, before work. Refuses points without an extent and
//! numbers that are none; points without a normal are left out and counted.

mod blocks;
mod colors;
mod density;
mod level;
mod memory;
mod samples;
mod solve;
mod stencil;
mod surface;

#[cfg(test)]
mod tests;

use crate::mesh::finite;
use crate::progress::Ticker;
use crate::{Error, Mesh, Progress, clean, parallel};
use blocks::Grid;
use density::Density;
use level::{Level, System};
use memory::Layout;
use samples::Cloud;
use surface::Field;

/// Depths that can be asked for.
pub const DEPTHS: std::ops::RangeInclusive<u32> = DENSE..=samples::DEEPEST;
/// Depth of the dense lattice.
const DENSE: u32 = 5;
const JOB: &str = "reconstruction";

/// How fine the finest lattice is: 2^depth cells along a side of the cube, which is 1.1 of the points' box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// This one, or an error.
    Exactly(u32),
    /// The first, from this one down, that fits into memory and that a tenth of the points lie densely enough for.
    AtMost(u32),
}

/// Settings of [`reconstruct`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Depth of the finest lattice, 5 to 11.
    pub depth: Depth,
    /// How strongly the surface is held to the points: smooth at 1, close at 4.
    pub lambda: f32,
    /// Samples per cell of a level that make it worth its blocks.
    pub samples_per_node: f32,
    /// Share of the vertices, those where samples are thinnest, that are cut off; 0 leaves the surface closed.
    pub density_quantile: f32,
    /// Lower and upper corner of a box, scene units: points outside are left out, and so are triangles that reach out.
    pub bounds: Option<[[f32; 3]; 2]>,
    /// Bytes that may be taken beside the points themselves.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            depth: Depth::AtMost(10),
            lambda: 2.0,
            samples_per_node: 1.5,
            density_quantile: 0.1,
            bounds: None,
            memory_bytes: u64::MAX,
        }
    }
}

/// What was made of the points.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Outside out; with colours if the points had any.
    pub mesh: Mesh,
    /// Per vertex the depth at which a cell of the surface holds one sample; 0 far from all.
    pub densities: Vec<f32>,
    /// Depth of the finest lattice.
    pub depth: u32,
    /// Points without a normal or out of bounds.
    pub left_out: u64,
    /// Blocks of all levels.
    pub blocks: u64,
    /// Bytes that were predicted for all of it.
    pub bytes: u64,
}

/// The surface of points with outward normals, of any length but 0, and colours. `progress` is called through all of it.
///
/// # Errors
/// [`Error::Length`] for lists of different lengths; [`Error::NotFinite`]; [`Error::Setting`]; [`Error::TooMany`];
/// [`Error::Unfit`] for too few points, points at one place and no surface between them; [`Error::Memory`];
/// [`Error::Stopped`].
pub fn reconstruct(
    points: &[[f32; 3]],
    normals: &[[f32; 3]],
    colors: Option<&[[f32; 3]]>,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Surface, Error> {
    check(points, normals, colors, options)?;
    on_threads(points, normals, colors, options, DENSE, parallel::threads(), progress)
}

fn check(
    points: &[[f32; 3]],
    normals: &[[f32; 3]],
    colors: Option<&[[f32; 3]]>,
    options: &Options,
) -> Result<(), Error> {
    let (Depth::Exactly(depth) | Depth::AtMost(depth)) = options.depth;
    if !DEPTHS.contains(&depth) {
        return Err(Error::setting("Poisson depth", depth, "5 to 11"));
    }
    if !(0.0..=1000.0).contains(&options.lambda) {
        return Err(Error::setting("lambda", options.lambda, "0 to 1000"));
    }
    if !(0.01..=1000.0).contains(&options.samples_per_node) {
        return Err(Error::setting(
            "samples per node",
            options.samples_per_node,
            "0.01 to 1000",
        ));
    }
    if !(0.0..1.0).contains(&options.density_quantile) {
        return Err(Error::setting(
            "density quantile",
            options.density_quantile,
            "at least 0 and below 1",
        ));
    }
    if let Some(bounds) = options.bounds {
        finite("corner of the box", &bounds)?;
    }
    let lengths = [("normals", Some(normals)), ("colors", colors)];
    for (what, list) in lengths {
        let found = list.map_or(points.len(), <[_]>::len);
        if found != points.len() {
            let wanted = points.len();
            return Err(Error::Length { what, found, wanted });
        }
    }
    let most = u32::MAX;
    if points.len() > most as usize {
        return Err(Error::TooMany {
            what: "points",
            found: points.len() as u64,
            most: most.into(),
            hint: "take fewer points",
        });
    }
    finite("point", points)?;
    finite("normal", normals)?;
    finite("color", colors.unwrap_or_default())
}

fn unfit(found: impl Into<String>, hint: &'static str) -> Error {
    let found = found.into();
    Error::Unfit { job: JOB, found, hint }
}

/// [`reconstruct`] of checked input, with the lattice of `dense` the coarsest.
fn on_threads(
    points: &[[f32; 3]],
    normals: &[[f32; 3]],
    colors: Option<&[[f32; 3]]>,
    options: &Options,
    dense: u32,
    threads: usize,
    progress: Progress<'_>,
) -> Result<Surface, Error> {
    let is_in = |p: [f32; 3]| {
        let within = |[low, high]: [[f32; 3]; 2]| (0..3).all(|i| (low[i]..=high[i]).contains(&p[i]));
        options.bounds.is_none_or(within)
    };
    let is_taken = |&index: &u32| normals[index as usize] != [0.0; 3] && is_in(points[index as usize]);
    let taken = || (0..points.len() as u32).filter(is_taken);
    let count = taken().count();
    if count == 0 {
        let found = format!("none of {} points has a normal and is within bounds", points.len());
        return Err(unfit(found, "give points with normals"));
    }
    memory::of_points(count as u64, options.memory_bytes)?;
    let Some(mut cloud) = Cloud::new(points, normals, count, taken()) else {
        return Err(unfit(
            format!("all points, {count}, lie at one place"),
            "give points along a surface",
        ));
    };
    let (layout, density) = Layout::fitting(&mut cloud, options, dense)?;
    let (bytes, blocks) = (layout.bytes, layout.blocks());
    let marching = layout.steps() / 8;
    let mut ticker = Ticker::new(progress, layout.steps() + marching);
    let levels = solved(layout, &cloud, options.lambda, threads, &mut ticker)?;
    let marched = marched(levels, (&cloud, &density), options, threads, &mut ticker.part(marching))?;
    let Marched { mesh, depth, needed } = marched;
    let bytes = bytes.max(needed);
    let places: Vec<[f32; 3]> = mesh
        .positions()
        .iter()
        .map(|p| std::array::from_fn(|i| ((f64::from(p[i]) - cloud.origin[i]) / cloud.side) as f32))
        .collect();
    let densities = density.levels(places.iter().copied());
    let mesh = match colors {
        Some(colors) => mesh.with_colors(colors::around(&cloud, colors, &places, depth, threads))?,
        None => mesh,
    };
    ticker.finish()?;
    let least = quantile(&densities, options.density_quantile);
    let positions = mesh.positions();
    let keep: Vec<bool> = (0..positions.len())
        .map(|vertex| densities[vertex] >= least && is_in(positions[vertex]))
        .collect();
    let (mesh, densities) = cut(mesh, &densities, &keep);
    Ok(Surface {
        mesh,
        densities,
        depth,
        left_out: (points.len() - count) as u64,
        blocks,
        bytes,
    })
}

/// The solution on each lattice, from the dense one to the finest.
fn solved(
    layout: Layout,
    cloud: &Cloud,
    lambda: f32,
    threads: usize,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<Level>, Error> {
    let (dense, finest) = (layout.dense, layout.depth());
    let mut levels = Vec::new();
    for (depth, places) in (dense..).zip(layout.levels) {
        let grid = Grid::new(depth, places, threads);
        let mut system = System::new(grid, levels.last(), depth == finest, cloud, lambda, threads);
        if let Some(coarse) = levels.last_mut() {
            Level::settle(coarse);
        }
        solve::solve(&mut system, depth == dense, threads, ticker)?;
        levels.push(system.into_level());
    }
    Ok(levels)
}

/// A surface on the finest lattice that memory has room for.
struct Marched {
    mesh: Mesh,
    depth: u32,
    /// Bytes that it took.
    needed: u64,
}

/// The surface of a solution. What closes its holes is known only now, so a coarser lattice than the finest may have to do.
fn marched(
    mut levels: Vec<Level>,
    (cloud, density): (&Cloud, &Density),
    options: &Options,
    threads: usize,
    progress: Progress<'_>,
) -> Result<Marched, Error> {
    loop {
        let depth = levels.last().map_or(0, |level| level.grid.depth);
        let field = Field::new(&levels, cloud, threads);
        let crossed = field.crossed();
        if crossed.vertices == 0 {
            return Err(unfit("the points have no inside", "turn the normals to one side"));
        }
        let needed = memory::of_surface(&levels, cloud, density, crossed.bytes());
        if needed <= options.memory_bytes {
            let mesh = field.mesh(crossed, cloud, progress)?;
            return Ok(Marched { mesh, depth, needed });
        }
        if levels.len() == 1 || matches!(options.depth, Depth::Exactly(_)) {
            return Err(memory::short(
                format!("the surface at depth {depth} of the reconstruction takes"),
                needed,
                options.memory_bytes,
            ));
        }
        levels.pop();
    }
}

/// The value below which a share of the values lies, interpolated.
fn quantile(values: &[f32], share: f32) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let place = f64::from(share) * (sorted.len().max(1) - 1) as f64;
    let at = |index: usize| sorted.get(index).copied().map_or(0.0, f64::from);
    let (low, high) = (at(place as usize), at(place.ceil() as usize));
    (low + (high - low) * place.fract()) as f32
}

/// The triangles between vertices to keep, with the densities of their vertices.
fn cut(mesh: Mesh, densities: &[f32], keep: &[bool]) -> (Mesh, Vec<f32>) {
    let kept: Vec<bool> = mesh
        .triangles()
        .iter()
        .map(|triangle| triangle.iter().all(|&vertex| keep[vertex as usize]))
        .collect();
    let mesh = mesh.keep_triangles(|triangle| kept[triangle]);
    let mut is_used = vec![false; densities.len()];
    for &vertex in mesh.triangles().as_flattened() {
        is_used[vertex as usize] = true;
    }
    let used = densities.iter().zip(is_used).filter(|&(_, is_used)| is_used);
    let densities = used.map(|(&density, _)| density).collect();
    (clean::unreferenced(mesh).0, densities)
}
