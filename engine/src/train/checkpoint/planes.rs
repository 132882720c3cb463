//! What of a model a checkpoint holds, tensor by tensor, and where its parts lie on the device.

use super::CheckpointState;
use super::file::Held;
use crate::step::{StepTensors, TriangleTensors};
use kiln_gaussians::layout::{self, Storage};
use kiln_gaussians::triangles::GEOMETRY_PLANES;
use kiln_kernels::triangles::VertexChunk;
use kiln_kernels::views::Chunk;
use kiln_program::Span;

/// A tensor of a checkpoint: its name, and the parts that it is made of, one after the other.
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) parts: Vec<Span>,
}

impl Stored {
    /// Bytes of all parts.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// The model of `state` in `tensors`.
pub(super) fn stored(tensors: &StepTensors, state: &CheckpointState) -> Vec<Stored> {
    match &tensors.triangles {
        Some(own) => {
            let vertices = state.vertices.unwrap_or(0);
            let of = |chunk: &VertexChunk| Rows {
                first: chunk.first,
                stride: chunk.stride,
                groups: vertex_groups(chunk, state.sh_degree.min(tensors.capacities.sh_degree)).to_vec(),
            };
            let mut all = planes(own.chunks.iter().map(of).collect(), vertices);
            all.extend(topology(own, state.gaussians));
            all
        }
        None => {
            let of = |chunk: &Chunk| Rows {
                first: chunk.first,
                stride: chunk.stride,
                groups: groups(chunk).to_vec(),
            };
            planes(tensors.chunks.iter().map(of).collect(), state.gaussians)
        }
    }
}

impl Held for CheckpointState {
    fn floats(&self) -> &'static [&'static str] {
        const GEOMETRY: [&str; 3] = ["geometry", "geometry_m", "geometry_v"];
        const ALL: [&str; 6] = ["geometry", "geometry_m", "geometry_v", "sh", "sh_m", "sh_v"];
        match self.capacities.storage {
            Storage::Exact => &ALL,
            Storage::Half => &GEOMETRY,
            Storage::Compact => &GEOMETRY[..1],
        }
    }

    fn rows(&self) -> &'static str {
        match self.vertices {
            Some(_) => "vertices",
            None => "Gaussians",
        }
    }
}

/// Planes of a chunk.
struct Rows {
    first: u32,
    stride: u32,
    groups: Vec<(&'static str, Span, u32)>,
}

/// Every plane over `count` rows of all chunks.
fn planes(chunks: Vec<Rows>, count: u32) -> Vec<Stored> {
    let layout = chunks.first().map(|chunk| chunk.groups.clone()).unwrap_or_default();
    let mut all = Vec::new();
    for (group, (name, _, planes)) in layout.into_iter().enumerate() {
        for plane in 0..planes {
            let used = chunks.iter().filter(|chunk| chunk.first < count);
            let part = |chunk: &Rows| {
                let (_, view, _) = chunk.groups.get(group)?;
                let bytes = 4 * u64::from((count - chunk.first).min(chunk.stride));
                Some(view.slice(4 * u64::from(plane) * u64::from(chunk.stride), bytes))
            };
            all.push(Stored {
                name: format!("{name}.{plane}"),
                parts: used.filter_map(part).collect(),
            });
        }
    }
    all
}

/// Plane groups of a chunk with their names and plane counts. In how many steps SH took part is not among them: all of it is
/// up to date when it is written.
fn groups(chunk: &Chunk) -> [(&'static str, Span, u32); 8] {
    let planes = &chunk.planes;
    [
        ("geometry", chunk.geometry, planes.geometry),
        ("geometry_m", chunk.geometry_m, planes.geometry_m),
        ("geometry_v", chunk.geometry_v, planes.geometry_v),
        ("sh", chunk.sh, planes.sh),
        ("sh_m", chunk.sh_m, planes.sh_m),
        ("sh_v", chunk.sh_v, planes.seen_plane().unwrap_or(planes.sh_v)),
        ("filter_3d", chunk.filter_3d, 1),
        ("statistics", chunk.statistics, planes.kept_statistics()),
    ]
}

/// The same of a chunk of vertices.
fn vertex_groups(chunk: &VertexChunk, degree: u32) -> [(&'static str, Span, u32); 6] {
    let colors = layout::sh_planes(degree);
    [
        ("geometry", chunk.geometry, GEOMETRY_PLANES),
        ("geometry_m", chunk.geometry_m, GEOMETRY_PLANES),
        ("geometry_v", chunk.geometry_v, GEOMETRY_PLANES),
        ("sh", chunk.sh, colors),
        ("sh_m", chunk.sh_m, colors),
        ("sh_v", chunk.sh_v, colors),
    ]
}

/// What there is of `count` triangles. The triangles of each vertex follow from their corners.
fn topology(own: &TriangleTensors, count: u32) -> Vec<Stored> {
    let [first, second, third] = own.topology.corners;
    let of = |(name, view): (&str, Span)| Stored {
        name: format!("triangles.{name}"),
        parts: vec![view.slice(0, 4 * u64::from(count))],
    };
    [
        ("corner_0", first),
        ("corner_1", second),
        ("corner_2", third),
        ("importance", own.topology.importance),
        ("size", own.topology.size),
    ]
    .map(of)
    .into()
}
