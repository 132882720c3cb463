//! Tensors of models of triangles, beside those of all steps.

use serde::{Deserialize, Serialize};

use super::Capacities;
use kiln_gaussians::layout;
use kiln_gaussians::triangles::GEOMETRY_PLANES;
use kiln_kernels::triangles::{Partials, Records, Screen, Terms, Topology, VertexChunk};
use kiln_kernels::views::{self, Splats};
use kiln_program::{Class, Span, Tag, TensorTable};

/// Sizes beside [`Capacities`](super::Capacities), whose Gaussians are triangles here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriangleSizes {
    /// Vertices there is room for.
    pub vertices: u32,
    /// Gradients have all terms, see [`Gradient`](kiln_twins::triangles::Gradient).
    pub exact: bool,
}

/// Tensors of a model of triangles.
#[derive(Clone, Debug)]
pub struct TriangleTensors {
    /// Sizes.
    pub sizes: TriangleSizes,
    /// Vertices.
    pub chunks: Vec<VertexChunk>,
    /// Triangles.
    pub topology: Topology,
    /// Vertices as the view sees them.
    pub screen: Screen,
    /// Drawn triangles.
    pub records: Records,
    /// Gradients by emission slot.
    pub partials: Partials,
    /// Losses over vertices and normals.
    pub terms: Terms,
}

impl TriangleTensors {
    /// Adds what triangles need beside the tensors of all steps, of which they share those of records, their partial sums and
    /// counts by groups.
    pub(super) fn new(
        table: &mut TensorTable,
        c: &Capacities,
        (splats, partials, group_visible): (&Splats, &views::Partials, Span),
        sizes: TriangleSizes,
        training: bool,
    ) -> Self {
        let (v, i) = (u64::from(c.v_cap), u64::from(c.i_cap));
        let triangles = u64::from(c.n_cap);
        let n = sizes.vertices.max(256).next_multiple_of(256);
        let chunks = chunks(table, n, c.chunk, c.sh_degree, training);
        let mut model =
            |name: &str, tag, words: u64| table.add_rows(format!("model/{name}"), Class::Persistent, tag, words, 4);
        let topology = Topology {
            cap: c.n_cap,
            corners: ["corner_0", "corner_1", "corner_2"].map(|name| model(name, Tag::Parameters, triangles)),
            importance: model("importance", Tag::Statistics, triangles),
            size: model("size", Tag::Statistics, triangles),
            adjacency_starts: model("adjacency_starts", Tag::Parameters, u64::from(n) + 1),
            adjacency: ["adjacency_0", "adjacency_1", "adjacency_2"]
                .map(|name| model(name, Tag::Parameters, triangles)),
            visible_mask: model("visible_mask", Tag::Statistics, triangles.div_ceil(32)),
            group_visible,
        };
        let vertex_total = table.add("small/vertex_total", Class::Small, Tag::Other, 16);
        let mut arena =
            |name: &str, tag, rows, bytes| table.add_rows(format!("triangles/{name}"), Class::Arena, tag, rows, bytes);
        let n = u64::from(n);
        let screen = Screen {
            screen: arena("vertex_screen", Tag::Visible, n, 16),
            color: arena("vertex_color", Tag::Visible, n, 12),
        };
        let mut more = |name: &str, rows| arena(name, Tag::Gradients, rows, 16);
        let records = Records {
            record: splats.position,
            corners: splats.conic,
            depth_keys: splats.depth_keys,
            tile_counts: splats.tile_counts,
            emission_start: splats.emission_start,
            gradients: [
                splats.gradient_a,
                splats.gradient_b,
                splats.gradient_c,
                more("gradient_d", v),
                more("gradient_e", v),
            ],
            gradient_normal: sizes.exact.then(|| more("gradient_f", v)),
        };
        let partials = Partials {
            sums: [
                partials.a,
                partials.b,
                partials.c,
                more("partial_d", i),
                more("partial_e", i),
            ],
            normal: sizes.exact.then(|| more("partial_f", i)),
        };
        let terms = Terms {
            vertex_sums: arena("vertex_sums", Tag::Gradients, n.div_ceil(256), 16),
            vertex_total,
            normal_sums: arena("normal_sums", Tag::Loss, c.max_tiles.into(), 4),
            vertex_gradient: arena("vertex_gradient", Tag::Gradients, n, 32),
        };
        Self {
            sizes,
            chunks,
            topology,
            screen,
            records,
            partials,
            terms,
        }
    }
}

fn chunks(table: &mut TensorTable, n: u32, chunk: u32, sh_degree: u32, training: bool) -> Vec<VertexChunk> {
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < n {
        let index = chunks.len();
        let stride = (n - first).min(chunk);
        let mut planes = |name: &str, tag, planes: u32, wanted: bool| {
            // Bound nowhere when not training, but a tensor has at least a word.
            let (rows, row_bytes) = if wanted {
                (u64::from(stride), 4 * u64::from(planes))
            } else {
                (1, 4)
            };
            table.add_rows(
                format!("model/{name}[{index}]"),
                Class::Persistent,
                tag,
                rows,
                row_bytes,
            )
        };
        let colors = layout::sh_planes(sh_degree);
        chunks.push(VertexChunk {
            first,
            stride,
            geometry: planes("geometry", Tag::Parameters, GEOMETRY_PLANES, true),
            geometry_m: planes("geometry_m", Tag::Optimizer, GEOMETRY_PLANES, training),
            geometry_v: planes("geometry_v", Tag::Optimizer, GEOMETRY_PLANES, training),
            sh: planes("sh", Tag::Parameters, colors, true),
            sh_m: planes("sh_m", Tag::Optimizer, colors, training),
            sh_v: planes("sh_v", Tag::Optimizer, colors, training),
        });
        first += stride;
    }
    chunks
}
