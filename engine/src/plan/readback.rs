//! What the host reads of an evaluated view.

use crate::step::{self, StepTensors};
use kiln_gpu::memory::{Memory, MemoryError};
use kiln_kernels::loss::METRIC_WORDS;
use kiln_kernels::uniforms::{StepUniforms, TILE_PX};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Metric sums of one evaluated view, and its image when asked for.
#[derive(Clone, Debug)]
pub struct ViewSums {
    /// Eight sums per tile.
    pub sums: Vec<f32>,
    /// RGB and transmittance per pixel.
    pub image: Option<Vec<[f32; 4]>>,
    /// Splats per tile.
    pub tile_counts: Option<Vec<u32>>,
}

/// Tensors that the host reads after an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvalReadback {
    /// Rendered image, four floats a pixel.
    pub image: Span,
    /// First and one-past-last intersection of each tile.
    pub tile_ranges: Span,
    /// Metric sums of each tile.
    pub sums: Span,
}

/// Entries of the lists in every tile of the image, from those of every list.
fn of_tiles(block: &StepUniforms, lists: &[u32]) -> Vec<u32> {
    let mut tiles = vec![0; (block.tiles_x * block.tiles_y) as usize];
    let finer = TILE_PX / block.list_px.clamp(1, TILE_PX);
    for (place, entries) in (0..).zip(lists) {
        let [column, row] = [place % block.lists_x, place / block.lists_x].map(|at| at / finer);
        if let Some(tile) = tiles.get_mut((row * block.tiles_x + column) as usize) {
            *tile += entries;
        }
    }
    tiles
}

impl EvalReadback {
    /// Adds the tensors to `table`.
    pub(crate) fn new(table: &mut TensorTable, tensors: &StepTensors) -> Self {
        let mut back = |name: &str, bytes| table.add(format!("ring/{name}"), Class::Readback, Tag::Staging, bytes);
        Self {
            image: back("eval_image", tensors.pixels.image.bytes),
            tile_ranges: back("eval_tile_ranges", tensors.intersections.tile_ranges.bytes),
            sums: back("eval_sums", tensors.metric_sums.bytes),
        }
    }

    /// What an evaluation with uniforms `block` left; the image and what goes with it only with `keep_image`. A view drawn
    /// in bands leaves the ranges of its last band only: `banded` has the entries of all its lists.
    pub(crate) fn read(
        &self,
        memory: &Memory,
        block: &StepUniforms,
        keep_image: bool,
        banded: Option<Vec<u32>>,
    ) -> Result<ViewSums, MemoryError> {
        let tiles = u64::from(block.tiles_x * block.tiles_y);
        let pixels = u64::from(block.width * block.height);
        let host = |view: &Span, bytes: u64| memory.host(&view.slice(0, bytes));
        let sums = host(&self.sums, tiles * 4 * u64::from(METRIC_WORDS))?.chunks_exact(4);
        let mut view = ViewSums {
            sums: sums.map(bytemuck::pod_read_unaligned).collect(),
            image: None,
            tile_counts: None,
        };
        if keep_image {
            let image = host(&self.image, pixels * 16)?.chunks_exact(16);
            view.image = Some(image.map(bytemuck::pod_read_unaligned).collect());
            let lists = match banded {
                Some(lists) => lists,
                None => {
                    let bytes = u64::from(block.lists_x * block.lists_y) * 8;
                    let ranges = host(&self.tile_ranges, bytes)?.chunks_exact(8);
                    let ranges = ranges.map(bytemuck::pod_read_unaligned::<[u32; 2]>);
                    ranges.map(|[first, end]| end.saturating_sub(first)).collect()
                }
            };
            view.tile_counts = Some(of_tiles(block, &lists));
        }
        Ok(view)
    }

    /// What is copied, and where to: sums, image, tile ranges.
    pub(crate) fn copies(&self, tensors: &StepTensors) -> [(Span, Span); 3] {
        [
            (tensors.metric_sums, self.sums),
            (tensors.pixels.image, self.image),
            (tensors.intersections.tile_ranges, self.tile_ranges),
        ]
    }

    /// Evaluation without and with image and tile counts.
    pub(crate) fn programs(&self, tensors: &StepTensors) -> [Program; 2] {
        let copies = self.copies(tensors);
        [
            step::evaluate_view(tensors, &copies[..1]),
            step::evaluate_view(tensors, &copies),
        ]
    }
}
