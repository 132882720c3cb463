//! What triangles train from between host and device.

use super::{StepTensors, TriangleTensors};
use crate::gaussians::layout;
use crate::kernels::counters::Counters;
use crate::kernels::triangles::VertexChunk;
use crate::memory::{Gpu, MemoryError};
use crate::program::{Program, Span};
use crate::triangles::{Adjacency, GEOMETRY_PLANES, Maxima, PLANE_WEIGHT, State, TriangleModel};

/// Numbers of a state, one list behind another.
#[derive(Clone, Copy)]
enum List {
    Positions,
    Weights,
    Sh0,
    ShRest,
    /// One of [`State::moments`].
    Moments(usize),
}

/// What of a vertex a tensor of its chunk has.
#[derive(Clone, Copy)]
enum Group {
    Geometry,
    Colors,
    Moments(usize),
}

/// The tensors of a chunk, and planes of each.
fn groups(chunk: &VertexChunk, degree: u32) -> [(Group, Span, u32); 6] {
    let colors = layout::sh_planes(degree);
    [
        (Group::Geometry, chunk.geometry, GEOMETRY_PLANES),
        (Group::Colors, chunk.sh, colors),
        (Group::Moments(0), chunk.geometry_m, GEOMETRY_PLANES),
        (Group::Moments(1), chunk.geometry_v, GEOMETRY_PLANES),
        (Group::Moments(2), chunk.sh_m, colors),
        (Group::Moments(3), chunk.sh_v, colors),
    ]
}

impl Group {
    /// The list that has a plane's numbers, how many of it a vertex has, and which of them.
    fn place(self, degree: u32, plane: u32) -> (List, usize, usize) {
        let at = plane as usize;
        let colors = layout::sh_planes(degree) as usize;
        match self {
            Self::Geometry if plane == PLANE_WEIGHT => (List::Weights, 1, 0),
            Self::Geometry => (List::Positions, 3, at),
            Self::Colors if at < 3 => (List::Sh0, 3, at),
            Self::Colors => (List::ShRest, colors - 3, at - 3),
            Self::Moments(k) => (
                List::Moments(k),
                [4, 4, colors, colors].get(k).copied().unwrap_or(1),
                at,
            ),
        }
    }
}

impl List {
    fn of(self, state: &State) -> &[f32] {
        let model = &state.model;
        match self {
            Self::Positions => model.positions.as_flattened(),
            Self::Weights => &model.weights,
            Self::Sh0 => model.sh0.as_flattened(),
            Self::ShRest => &model.sh_rest,
            Self::Moments(k) => state.moments.get(k).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    fn of_mut(self, state: &mut State) -> &mut [f32] {
        let model = &mut state.model;
        match self {
            Self::Positions => model.positions.as_flattened_mut(),
            Self::Weights => &mut model.weights,
            Self::Sh0 => model.sh0.as_flattened_mut(),
            Self::ShRest => &mut model.sh_rest,
            Self::Moments(k) => state.moments.get_mut(k).map(Vec::as_mut_slice).unwrap_or_default(),
        }
    }
}

/// A model does not fit, or there is no room for one of its kind.
fn too_large(what: &str, count: usize) -> MemoryError {
    MemoryError::OutOfRange {
        tensor: what.to_owned(),
        offset: 0,
        bytes: count as u64,
    }
}

fn own(t: &StepTensors) -> Result<TriangleTensors, MemoryError> {
    t.triangles.clone().ok_or_else(|| too_large("triangles", 0))
}

fn plane_of(chunk: &VertexChunk, view: &Span, plane: u32) -> Span {
    let bytes = 4 * u64::from(chunk.stride);
    view.slice(u64::from(plane) * bytes, bytes)
}

/// Writes `state` and sets the counters, of which the number of skipped updates stays.
///
/// # Errors
/// [`MemoryError::OutOfRange`] when the model has more than there is room for, another SH degree, or a triangle without one of
/// its vertices.
pub fn write_state(gpu: &mut Gpu, t: &StepTensors, state: &State) -> Result<(), MemoryError> {
    let own = own(t)?;
    let n = state.model.positions.len();
    if n > own.sizes.vertices as usize || state.model.degree != t.capacities.sh_degree {
        return Err(too_large("vertices", n));
    }
    let cap = own.topology.cap as usize;
    let triangles = &state.model.triangles;
    let missing = triangles.as_flattened().iter().any(|&v| v as usize >= n);
    if triangles.len() > cap || missing {
        return Err(too_large("triangles", triangles.len()));
    }
    let mut program = Program::new("clear triangles");
    for chunk in &own.chunks {
        for (_, view, _) in groups(chunk, state.model.degree) {
            program.fill(view, 0);
        }
    }
    gpu.run(&program)?;
    for chunk in own.chunks.iter().filter(|chunk| (chunk.first as usize) < n) {
        let first = chunk.first as usize;
        for (group, view, planes) in groups(chunk, state.model.degree) {
            for plane in 0..planes {
                let (list, width, at) = group.place(state.model.degree, plane);
                let rows = list
                    .of(state)
                    .chunks_exact(width)
                    .skip(first)
                    .take(chunk.stride as usize);
                let values: Vec<f32> = rows.filter_map(|row| row.get(at).copied()).collect();
                gpu.write(&plane_of(chunk, &view, plane), &values)?;
            }
        }
    }
    let triangles = &state.model.triangles;
    for (k, view) in own.topology.corners.iter().enumerate() {
        let corners: Vec<u32> = triangles.iter().filter_map(|t| t.get(k).copied()).collect();
        gpu.write(view, &corners)?;
    }
    let adjacency = Adjacency::new(n, triangles);
    gpu.write(&own.topology.adjacency_starts, &adjacency.starts)?;
    for (part, view) in adjacency.corners.chunks(cap).zip(&own.topology.adjacency) {
        gpu.write(view, part)?;
    }
    gpu.write(&own.topology.importance, &state.maxima.importance)?;
    gpu.write(&own.topology.size, &state.maxima.sizes_px)?;
    let before: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let counters = Counters {
        gaussians: u32::try_from(triangles.len()).unwrap_or(u32::MAX),
        skipped: before.first().map_or(0, |c| c.skipped),
        ..Counters::default()
    };
    gpu.write(&t.shared.counters, &[counters])
}

/// Forgets how important triangles were.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn clear_importance(gpu: &mut Gpu, t: &StepTensors) -> Result<(), MemoryError> {
    let mut program = Program::new("clear importance");
    program.fill(own(t)?.topology.importance, 0);
    gpu.run(&program)
}

/// Reads everything back; floor and exponent, which no tensor has, are as given, and so is the number of vertices.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_state(
    gpu: &mut Gpu,
    t: &StepTensors,
    n_vertices: u32,
    [floor, sigma]: [f32; 2],
) -> Result<State, MemoryError> {
    let own = own(t)?;
    let n = n_vertices.min(own.sizes.vertices) as usize;
    let degree = t.capacities.sh_degree;
    let rest = layout::sh_planes(degree) as usize - 3;
    let mut state = State::new(TriangleModel {
        degree,
        positions: vec![[0.0; 3]; n],
        weights: vec![0.0; n],
        sh0: vec![[0.0; 3]; n],
        sh_rest: vec![0.0; n * rest],
        triangles: Vec::new(),
        floor,
        sigma,
    });
    for chunk in own.chunks.iter().filter(|chunk| (chunk.first as usize) < n) {
        let first = chunk.first as usize;
        let count = (n - first).min(chunk.stride as usize);
        for (group, view, planes) in groups(chunk, degree) {
            for plane in 0..planes {
                let values: Vec<f32> = gpu.read(&plane_of(chunk, &view, plane), count)?;
                let (list, width, at) = group.place(degree, plane);
                let rows = list.of_mut(&mut state).chunks_exact_mut(width).skip(first);
                for (row, value) in rows.zip(values) {
                    if let Some(place) = row.get_mut(at) {
                        *place = value;
                    }
                }
            }
        }
    }
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let count = counters.first().map_or(0, |c| c.gaussians.min(own.topology.cap)) as usize;
    let [first, second, third] = own.topology.corners;
    let first: Vec<u32> = gpu.read(&first, count)?;
    let second: Vec<u32> = gpu.read(&second, count)?;
    let third: Vec<u32> = gpu.read(&third, count)?;
    let rows = first.into_iter().zip(second).zip(third);
    state.model.triangles = rows.map(|((a, b), c)| [a, b, c]).collect();
    state.maxima = Maxima {
        importance: gpu.read(&own.topology.importance, count)?,
        sizes_px: gpu.read(&own.topology.size, count)?,
    };
    Ok(state)
}
