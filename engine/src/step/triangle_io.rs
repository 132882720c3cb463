//! What triangles train from between host and device.

use super::{StepTensors, TriangleTensors};
use kiln_gaussians::layout;
use kiln_gaussians::triangles::{Adjacency, GEOMETRY_PLANES, PLANE_WEIGHT, State, TriangleModel};
use kiln_gpu::memory::{Gpu, MemoryError, TRANSFER_BYTES};
use kiln_kernels::counters::Counters;
use kiln_kernels::triangles::{Topology, VertexChunk};
use kiln_program::{Program, Span};

/// Vertices whose planes of a tensor come or go together fit the window of transfers, so a submission has all of them, and their rows
/// stay in a processor's cache while plane after plane is put there.
fn block(planes: u32) -> usize {
    (TRANSFER_BYTES / 4) as usize / planes.max(1) as usize
}

/// Numbers of a model, a row a vertex.
#[derive(Clone, Copy)]
enum Rows {
    Positions,
    Weights,
    Sh0,
    ShRest,
}

/// What of a vertex a tensor of its chunk has.
#[derive(Clone, Copy)]
enum Group {
    Geometry,
    Colors,
    /// Moments from this plane of a state's on.
    Moments(usize),
}

/// The tensors of a chunk, and planes of each.
fn groups(chunk: &VertexChunk, degree: u32) -> [(Group, Span, u32); 6] {
    let (geometry, colors) = (GEOMETRY_PLANES as usize, layout::sh_planes(degree));
    let of_colors = 2 * geometry;
    [
        (Group::Geometry, chunk.geometry, GEOMETRY_PLANES),
        (Group::Colors, chunk.sh, colors),
        (Group::Moments(0), chunk.geometry_m, GEOMETRY_PLANES),
        (Group::Moments(geometry), chunk.geometry_v, GEOMETRY_PLANES),
        (Group::Moments(of_colors), chunk.sh_m, colors),
        (Group::Moments(of_colors + colors as usize), chunk.sh_v, colors),
    ]
}

/// Where the numbers of a plane are.
enum Place {
    /// Every row's number at this place, and how many a row has.
    Of(Rows, usize, usize),
    /// This plane of moments.
    Moments(usize),
}

impl Group {
    fn place(self, degree: u32, plane: u32) -> Place {
        let at = plane as usize;
        let colors = layout::sh_planes(degree) as usize;
        match self {
            Self::Geometry if plane == PLANE_WEIGHT => Place::Of(Rows::Weights, 0, 1),
            Self::Geometry => Place::Of(Rows::Positions, at, 3),
            Self::Colors if at < 3 => Place::Of(Rows::Sh0, at, 3),
            Self::Colors => Place::Of(Rows::ShRest, at - 3, colors - 3),
            Self::Moments(first) => Place::Moments(first + at),
        }
    }
}

impl Rows {
    fn of(self, model: &TriangleModel) -> &[f32] {
        match self {
            Self::Positions => model.positions.as_flattened(),
            Self::Weights => &model.weights,
            Self::Sh0 => model.sh0.as_flattened(),
            Self::ShRest => &model.sh_rest,
        }
    }

    fn of_mut(self, model: &mut TriangleModel) -> &mut [f32] {
        match self {
            Self::Positions => model.positions.as_flattened_mut(),
            Self::Weights => &mut model.weights,
            Self::Sh0 => model.sh0.as_flattened_mut(),
            Self::ShRest => &mut model.sh_rest,
        }
    }
}

/// Takes the numbers of vertices from `first` on that a plane has, as many as `bytes` has room for.
fn take_values(state: &State, place: &Place, first: usize, bytes: &mut [u8]) {
    let targets = bytes.as_chunks_mut::<4>().0;
    let put = |(target, value): (&mut [u8; 4], &f32)| *target = value.to_ne_bytes();
    match *place {
        Place::Of(rows, at, width) => {
            let rows = rows.of(&state.model).get(first * width + at..).unwrap_or_default();
            targets.iter_mut().zip(rows.iter().step_by(width)).for_each(put);
        }
        Place::Moments(plane) => {
            let plane = state.moments.get(plane).and_then(|plane| plane.get(first..));
            targets.iter_mut().zip(plane.unwrap_or_default()).for_each(put);
        }
    }
}

/// Puts the numbers of vertices from `first` on where they belong.
fn put_values(state: &mut State, place: &Place, first: usize, bytes: &[u8]) {
    let values = bytes.as_chunks::<4>().0;
    let put = |(target, value): (&mut f32, &[u8; 4])| *target = f32::from_ne_bytes(*value);
    match *place {
        Place::Of(rows, at, width) => {
            let rows = rows.of_mut(&mut state.model).get_mut(first * width + at..);
            rows.unwrap_or_default()
                .iter_mut()
                .step_by(width)
                .zip(values)
                .for_each(put);
        }
        Place::Moments(plane) => {
            let plane = state.moments.get_mut(plane).and_then(|plane| plane.get_mut(first..));
            plane.unwrap_or_default().iter_mut().zip(values).for_each(put);
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

/// Goes through the tensors of all chunks: `part` is called with where the planes of a block of vertices belong, their places on the
/// device, and the block's first vertex and their count.
fn parts(
    own: &TriangleTensors,
    degree: u32,
    n: usize,
    mut part: impl FnMut(&[Place], &[Span], usize, usize) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    for chunk in own.chunks.iter().filter(|chunk| (chunk.first as usize) < n) {
        let first = chunk.first as usize;
        let count = (n - first).min(chunk.stride as usize);
        for (group, view, planes) in groups(chunk, degree) {
            let places: Vec<Place> = (0..planes).map(|plane| group.place(degree, plane)).collect();
            let block = block(planes);
            for from in (0..count).step_by(block) {
                let taken = block.min(count - from);
                let of = |plane| plane_of(chunk, &view, plane).slice(4 * from as u64, 4 * taken as u64);
                let spans: Vec<Span> = (0..planes).map(of).collect();
                part(&places, &spans, first + from, taken)?;
            }
        }
    }
    Ok(())
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
    parts(&own, state.model.degree, n, |places, spans, first, count| {
        gpu.upload_parts(spans, |bytes| {
            for (place, bytes) in places.iter().zip(bytes.chunks_exact_mut(4 * count)) {
                take_values(state, place, first, bytes);
            }
        })
    })?;
    let triangles = &state.model.triangles;
    for (k, view) in own.topology.corners.iter().enumerate() {
        let corners: Vec<u32> = triangles.iter().filter_map(|t| t.get(k).copied()).collect();
        gpu.write(view, &corners)?;
    }
    write_adjacency(gpu, &own.topology, n, triangles)?;
    gpu.write(&own.topology.importance, &state.importance)?;
    gpu.write(&own.topology.size, &state.sizes_px)?;
    let before: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let counters = Counters {
        gaussians: u32::try_from(triangles.len()).unwrap_or(u32::MAX),
        skipped: before.first().map_or(0, |c| c.skipped),
        ..Counters::default()
    };
    gpu.write(&t.shared.counters, &[counters])
}

fn write_adjacency(gpu: &mut Gpu, topology: &Topology, n: usize, triangles: &[[u32; 3]]) -> Result<(), MemoryError> {
    let adjacency = Adjacency::new(n, triangles);
    gpu.write(&topology.adjacency_starts, &adjacency.starts)?;
    for (part, view) in adjacency.corners.chunks(topology.cap as usize).zip(&topology.adjacency) {
        gpu.write(view, part)?;
    }
    Ok(())
}

/// Lists the triangles of each of `n_vertices` vertices anew, from the corners that the device has.
///
/// # Errors
/// [`MemoryError::OutOfRange`] for a triangle without one of its vertices.
pub fn list_adjacency(gpu: &mut Gpu, t: &StepTensors, n_vertices: u32) -> Result<(), MemoryError> {
    let own = own(t)?;
    let triangles = read_corners(gpu, t, &own.topology)?;
    if triangles.as_flattened().iter().any(|&v| v >= n_vertices) {
        return Err(too_large("triangles", triangles.len()));
    }
    write_adjacency(gpu, &own.topology, n_vertices as usize, &triangles)
}

/// Changes the weights of all vertices, and nothing else.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn change_weights(
    gpu: &mut Gpu,
    t: &StepTensors,
    n_vertices: u32,
    mut change: impl FnMut(&mut [f32]),
) -> Result<(), MemoryError> {
    for chunk in own(t)?.chunks.iter().filter(|chunk| chunk.first < n_vertices) {
        let view = plane_of(chunk, &chunk.geometry, PLANE_WEIGHT);
        let mut weights: Vec<f32> = gpu.read(&view, (n_vertices - chunk.first).min(chunk.stride) as usize)?;
        change(&mut weights);
        gpu.write(&view, &weights)?;
    }
    Ok(())
}

/// Reads every k-th triangle with its vertices, constant colours only, for the least k that gives at most `most`; and how many there
/// are. Each is widened about its middle by the root of k, so that surfaces stay closed. Triangles that cannot be drawn are left out.
/// Floor and exponent are as given. Host memory: the sample, the corners and one plane of a chunk.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_triangle_sample(
    gpu: &mut Gpu,
    t: &StepTensors,
    n_vertices: u32,
    [floor, sigma]: [f32; 2],
    most: u32,
) -> Result<(TriangleModel, u32), MemoryError> {
    let own = own(t)?;
    let all = read_corners(gpu, t, &own.topology)?;
    let total = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let every = total.div_ceil(most.max(1)).max(1);
    let mut triangles: Vec<[u32; 3]> = all.into_iter().step_by(every as usize).collect();
    let mut used: Vec<u32> = triangles.as_flattened().to_vec();
    used.sort_unstable();
    used.dedup();
    for corner in triangles.as_flattened_mut() {
        *corner = used.partition_point(|vertex| vertex < corner) as u32;
    }
    let mut sample = TriangleModel {
        degree: 0,
        positions: vec![[0.0; 3]; used.len()],
        weights: vec![0.0; used.len()],
        sh0: vec![[0.0; 3]; used.len()],
        sh_rest: Vec::new(),
        triangles,
        floor,
        sigma,
    };
    for chunk in own.chunks.iter().filter(|chunk| chunk.first < n_vertices) {
        let count = (n_vertices - chunk.first).min(chunk.stride);
        let here = |vertex: u32| used.partition_point(|known| *known < vertex);
        let rows = here(chunk.first)..here(chunk.first + count);
        let planes = (0..GEOMETRY_PLANES).map(|plane| (Group::Geometry, chunk.geometry, plane));
        for (group, view, plane) in planes.chain((0..3).map(|plane| (Group::Colors, chunk.sh, plane))) {
            let values: Vec<f32> = gpu.read(&plane_of(chunk, &view, plane), count as usize)?;
            let Place::Of(of, at, width) = group.place(0, plane) else {
                continue;
            };
            let targets = of.of_mut(&mut sample).iter_mut().skip(at).step_by(width);
            for (target, vertex) in targets.zip(&used).skip(rows.start).take(rows.len()) {
                *target = values.get((vertex - chunk.first) as usize).copied().unwrap_or_default();
            }
        }
    }
    let is_sound = |triangle: &[u32; 3]| {
        let of = |v: &u32| {
            sample
                .positions
                .get(*v as usize)
                .into_iter()
                .chain(sample.sh0.get(*v as usize))
        };
        triangle.iter().flat_map(of).flatten().all(|value| value.is_finite())
    };
    let sound: Vec<[u32; 3]> = sample
        .triangles
        .iter()
        .filter(|triangle| is_sound(triangle))
        .copied()
        .collect();
    Ok((
        if every == 1 {
            whole(sample, &sound)
        } else {
            widened(&sample, &sound, (every as f32).sqrt())
        },
        total,
    ))
}

/// The sample with these of its triangles and their vertices.
fn whole(mut sample: TriangleModel, triangles: &[[u32; 3]]) -> TriangleModel {
    let mut used: Vec<u32> = triangles.as_flattened().to_vec();
    used.sort_unstable();
    used.dedup();
    let number = |corner: u32| used.partition_point(|vertex| *vertex < corner) as u32;
    let triangles = triangles.iter().map(|triangle| triangle.map(number)).collect();
    sample.keep(&used, triangles);
    sample
}

/// These triangles of a sample as ones that share no vertices, larger by a factor.
fn widened(sample: &TriangleModel, triangles: &[[u32; 3]], factor: f32) -> TriangleModel {
    let corners: Vec<u32> = triangles.as_flattened().to_vec();
    let mut wide = sample.clone();
    let alone = (0..corners.len() as u32).collect::<Vec<_>>();
    wide.keep(&corners, alone.as_chunks::<3>().0.to_vec());
    for corners in wide.positions.as_chunks_mut::<3>().0 {
        let middle: [f32; 3] = std::array::from_fn(|axis| corners.iter().map(|corner| corner[axis] / 3.0).sum());
        for corner in corners {
            *corner = std::array::from_fn(|axis| middle[axis] + factor * (corner[axis] - middle[axis]));
        }
    }
    wide
}

/// Weights of all vertices, in order.
///
/// # Errors
/// [`MemoryError::Vulkan`].
pub fn read_weights(gpu: &mut Gpu, t: &StepTensors, n_vertices: u32) -> Result<Vec<f32>, MemoryError> {
    let mut all = Vec::new();
    for chunk in own(t)?.chunks.iter().filter(|chunk| chunk.first < n_vertices) {
        let view = plane_of(chunk, &chunk.geometry, PLANE_WEIGHT);
        let weights: Vec<f32> = gpu.read(&view, (n_vertices - chunk.first).min(chunk.stride) as usize)?;
        all.extend(weights);
    }
    Ok(all)
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
    parts(&own, degree, n, |places, spans, first, count| {
        gpu.download_parts(spans, |bytes| {
            for (place, bytes) in places.iter().zip(bytes.chunks_exact(4 * count)) {
                put_values(&mut state, place, first, bytes);
            }
        })
    })?;
    state.model.triangles = read_corners(gpu, t, &own.topology)?;
    let count = state.model.triangles.len();
    state.importance = gpu.read(&own.topology.importance, count)?;
    state.sizes_px = gpu.read(&own.topology.size, count)?;
    Ok(state)
}

fn read_corners(gpu: &mut Gpu, t: &StepTensors, topology: &Topology) -> Result<Vec<[u32; 3]>, MemoryError> {
    let counters: Vec<Counters> = gpu.read(&t.shared.counters, 1)?;
    let count = counters.first().map_or(0, |c| c.gaussians.min(topology.cap)) as usize;
    let [first, second, third] = topology.corners;
    let first: Vec<u32> = gpu.read(&first, count)?;
    let second: Vec<u32> = gpu.read(&second, count)?;
    let third: Vec<u32> = gpu.read(&third, count)?;
    let rows = first.into_iter().zip(second).zip(third);
    Ok(rows.map(|((a, b), c)| [a, b, c]).collect())
}
