//! Tensors of the terms of the density.

use super::Capacities;
use super::neighbor_tensors::{self, NeighborTensors};
use kiln_kernels::density_terms::{DensityIo, DensityTerms, GRADIENT_PLANES, SAMPLE_BYTES, Samples, sums_bytes};
use kiln_kernels::level::{ROW_BYTES, Rows};
use kiln_kernels::neighbor_of::{NeighborOf, block_bytes};
use kiln_kernels::neighbors::MOST_GAUSSIANS;
use kiln_kernels::views::{Chunk, Pixels, Variants};
use kiln_program::{Class, Span, Tag, TensorTable};

/// Tensors of the terms: `8 k + 4` bytes a Gaussian that stay; 92 a Gaussian and 68 a sample in passing, when a step's lists
/// and images are dead.
#[derive(Clone, Debug)]
pub struct DensityTensors {
    /// What the terms are.
    pub terms: DensityTerms,
    /// The neighbours of each Gaussian.
    pub neighbors: NeighborTensors,
    /// Whose neighbour each is.
    pub of: NeighborOf,
    /// What passes work on.
    pub io: DensityIo,
}

/// Most Gaussians whose terms passes can bind, `k` neighbours each, when a binding has at most so many bytes.
#[must_use]
pub fn most_dense(k: u32, binding_bytes: u64) -> u32 {
    let of = |bytes: u64| u32::try_from(binding_bytes / bytes).unwrap_or(u32::MAX);
    // One list of all neighbours, and a row of all Gaussians.
    let most = of(4 * u64::from(k)).min(of(ROW_BYTES)).min(MOST_GAUSSIANS);
    most - most % 256
}

impl DensityTensors {
    /// Adds the tensors to `table`; there are at most [`most_dense`] Gaussians.
    pub(super) fn new(
        table: &mut TensorTable,
        c: &Capacities,
        terms: DensityTerms,
        chunks: &[Chunk],
        variants: &Variants,
    ) -> Self {
        let neighbors = neighbor_tensors::tensors(table, c, terms.k, variants);
        let n = u64::from(c.n_cap);
        let samples = u64::from(terms.samples);
        let mut add = |name: &str, class, bytes| table.add(format!("density/{name}"), class, Tag::Neighbors, bytes);
        let starts = 4 * (n + 1);
        let of = NeighborOf {
            starts: add("starts", Class::Persistent, starts),
            ids: add("neighbor_of", Class::Persistent, 4 * n * u64::from(terms.k)),
            cursors: add("cursors", Class::Arena, starts),
            block_sums: add("block_sums", Class::Arena, block_bytes(c.n_cap)),
            capacity: c.n_cap,
        };
        let mut arena = |name: &str, bytes| add(name, Class::Arena, bytes);
        let rows = Rows {
            centers: arena("centers", ROW_BYTES * n),
            rotations: arena("rotations", ROW_BYTES * n),
            inverses: arena("inverses", ROW_BYTES * n),
        };
        let mut sample = |name: &str| arena(name, SAMPLE_BYTES * samples);
        let sampled = Samples {
            places: sample("sample_places"),
            pulls: sample("sample_pulls"),
            normals: sample("sample_normals"),
            values: sample("sample_values"),
        };
        let mut gradient = |chunk: &Chunk| {
            let bytes = 4 * u64::from(GRADIENT_PLANES) * u64::from(chunk.stride);
            add(&format!("term_gradient[{}]", chunk.index), Class::Arena, bytes)
        };
        let gradients = chunks.iter().map(&mut gradient).collect();
        let io = DensityIo {
            rows,
            first_sample: add("first_sample", Class::Arena, starts),
            owners: add("owners", Class::Arena, 4 * samples),
            samples: sampled,
            sums: add("sums", Class::Arena, sums_bytes(terms.samples)),
            gradients,
            farthest: add("farthest", Class::Arena, 4),
        };
        Self {
            terms,
            neighbors,
            of,
            io,
        }
    }

    /// What the terms see of a view when its gradients are known.
    pub(super) fn seen(&self, pixels: &Pixels) -> Vec<Span> {
        let surface = pixels.surface.filter(|_| self.terms.sdf);
        surface.map_or_else(Vec::new, |surface| vec![pixels.image, surface.depth])
    }

    /// Where the gradient of the terms by each chunk's Gaussians is.
    pub(super) fn gradient(&self, chunk: &Chunk) -> Option<Span> {
        self.io.gradients.get(chunk.index as usize).copied()
    }
}
