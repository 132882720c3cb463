//! A model of triangles between host and device.

use super::{StepTensors, TriangleTensors};
use crate::gaussians::layout;
use crate::kernels::counters::Counters;
use crate::kernels::triangles::VertexChunk;
use crate::memory::{Gpu, MemoryError};
use crate::program::{Program, Span};
use crate::triangles::{Adjacency, GEOMETRY_PLANES, PLANE_WEIGHT, TriangleModel};

/// A model does not fit, or there is no room for one of its kind.
fn too_large(what: &str, count: usize) -> MemoryError {
    MemoryError::OutOfRange {
        tensor: what.to_owned(),
        offset: 0,
        bytes: count as u64,
    }
}

fn own(t: &StepTensors) -> Result<&TriangleTensors, MemoryError> {
    t.triangles.as_ref().ok_or_else(|| too_large("triangles", 0))
}

/// Writes `model`, zeroes moments and what is kept of triangles, and sets the counters.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when the model has more than there is room for, or another SH degree.
pub fn write_triangles(gpu: &mut Gpu, t: &StepTensors, model: &TriangleModel) -> Result<(), MemoryError> {
    let own = own(t)?;
    let n = model.n_vertices();
    if n > own.sizes.vertices as usize || model.sh_degree != t.capacities.sh_degree {
        return Err(too_large("vertices", n));
    }
    let mut program = Program::new("clear triangles");
    for chunk in &own.chunks {
        for view in [chunk.geometry, chunk.sh].into_iter().chain(moments(chunk)) {
            program.fill(view, 0);
        }
    }
    gpu.run(&program)?;
    let rest = 3 * model.rest_coefficients();
    for chunk in own.chunks.iter().filter(|chunk| (chunk.first as usize) < n) {
        let first = chunk.first as usize;
        let here = first..n.min(first + chunk.stride as usize);
        let mut put = |view: &Span, plane: u32, value: &dyn Fn(usize) -> Option<f32>| {
            let values: Vec<f32> = here.clone().map(|i| value(i).unwrap_or(0.0)).collect();
            gpu.write(&plane_of(chunk, view, plane), &values)
        };
        for plane in 0..PLANE_WEIGHT {
            let value = |i: usize| model.positions.get(i)?.get(plane as usize).copied();
            put(&chunk.geometry, plane, &value)?;
        }
        put(&chunk.geometry, PLANE_WEIGHT, &|i| model.weights.get(i).copied())?;
        for plane in 0..layout::sh_planes(model.sh_degree) {
            let at = plane as usize;
            let value = |i: usize| match at {
                0..3 => model.sh0.get(i)?.get(at).copied(),
                _ => model.sh_rest.get(i * rest + at - 3).copied(),
            };
            put(&chunk.sh, plane, &value)?;
        }
    }
    write_topology(gpu, t, n, &model.triangles)
}

/// Writes which of `n_vertices` vertices make triangles, forgets what was kept of triangles, and sets the counters.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when there are more triangles than there is room for.
pub fn write_topology(
    gpu: &mut Gpu,
    t: &StepTensors,
    n_vertices: usize,
    triangles: &[[u32; 3]],
) -> Result<(), MemoryError> {
    let own = own(t)?;
    let cap = own.topology.cap as usize;
    let missing = triangles.as_flattened().iter().any(|&v| v as usize >= n_vertices);
    if triangles.len() > cap || missing {
        return Err(too_large("triangles", triangles.len()));
    }
    let mut program = Program::new("clear maxima");
    program.fill(own.topology.importance, 0);
    program.fill(own.topology.size, 0);
    gpu.run(&program)?;
    for (k, view) in own.topology.corners.iter().enumerate() {
        let corners: Vec<u32> = triangles.iter().filter_map(|t| t.get(k).copied()).collect();
        gpu.write(view, &corners)?;
    }
    let adjacency = Adjacency::new(n_vertices, triangles);
    gpu.write(&own.topology.adjacency_starts, &adjacency.starts)?;
    for (part, view) in adjacency.corners.chunks(cap).zip(&own.topology.adjacency) {
        gpu.write(view, part)?;
    }
    let counters = Counters {
        gaussians: u32::try_from(triangles.len()).unwrap_or(u32::MAX),
        ..Counters::default()
    };
    gpu.write(&t.shared.counters, &[counters])
}

/// Reads vertices and triangles back; floor and exponent, which no tensor has, are those of `like`, and so is the number of
/// vertices.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_triangles(gpu: &mut Gpu, t: &StepTensors, like: &TriangleModel) -> Result<TriangleModel, MemoryError> {
    let own = own(t)?;
    let n = like.n_vertices().min(own.sizes.vertices as usize);
    let mut model = TriangleModel {
        sh_degree: t.capacities.sh_degree,
        opacity_floor: like.opacity_floor,
        sigma: like.sigma,
        ..TriangleModel::default()
    };
    let planes = layout::sh_planes(model.sh_degree);
    for chunk in own.chunks.iter().filter(|chunk| (chunk.first as usize) < n) {
        let count = (n - chunk.first as usize).min(chunk.stride as usize);
        let mut read = |view: &Span, plane: u32| gpu.read::<f32>(&plane_of(chunk, view, plane), count);
        let geometry: Vec<Vec<f32>> = (0..GEOMETRY_PLANES)
            .map(|p| read(&chunk.geometry, p))
            .collect::<Result<_, _>>()?;
        let sh: Vec<Vec<f32>> = (0..planes).map(|p| read(&chunk.sh, p)).collect::<Result<_, _>>()?;
        let value = |planes: &[Vec<f32>], p: usize, i: usize| planes.get(p).and_then(|v| v.get(i)).copied();
        for i in 0..count {
            let geometry = |p: usize| value(&geometry, p, i).unwrap_or(0.0);
            let color = |p: usize| value(&sh, p, i).unwrap_or(0.0);
            model.positions.push([0, 1, 2].map(geometry));
            model.weights.push(geometry(PLANE_WEIGHT as usize));
            model.sh0.push([0, 1, 2].map(color));
            model.sh_rest.extend((3..planes as usize).map(color));
        }
    }
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let count = counters.first().map_or(0, |c| c.gaussians.min(own.topology.cap)) as usize;
    let mut corners = own.topology.corners.iter().map(|view| gpu.read::<u32>(view, count));
    let mut next = || corners.next().unwrap_or_else(|| Ok(Vec::new()));
    let (first, second, third) = (next()?, next()?, next()?);
    let rows = first.into_iter().zip(second).zip(third);
    model.triangles = rows.map(|((a, b), c)| [a, b, c]).collect();
    Ok(model)
}

fn moments(chunk: &VertexChunk) -> [Span; 4] {
    [chunk.geometry_m, chunk.geometry_v, chunk.sh_m, chunk.sh_v]
}

fn plane_of(chunk: &VertexChunk, view: &Span, plane: u32) -> Span {
    let bytes = 4 * u64::from(chunk.stride);
    view.slice(u64::from(plane) * bytes, bytes)
}
