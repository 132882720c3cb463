//! How the model's tensors are filled: each is a few rows of equal length, one for a plane of values, used from its start.

use super::StepTensors;
use crate::kernels::views::Chunk;
use crate::program::View;

/// A tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTensor {
    /// All of it.
    pub view: View,
    /// Id of the first Gaussian in it.
    pub first: u32,
    /// Gaussians it has room for.
    pub stride: u32,
    /// Rows; each has a value, or a bit, for every Gaussian of the stride.
    pub rows: u64,
}

impl ModelTensor {
    /// Bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        self.view.bytes / self.rows
    }
}

/// The tensors of the model, its moments and statistics, in a fixed order.
#[must_use]
pub fn model_tensors(tensors: &StepTensors) -> Vec<ModelTensor> {
    tensors.chunks.iter().flat_map(of_chunk).collect()
}

fn of_chunk(chunk: &Chunk) -> [ModelTensor; 9] {
    let plane_bytes = 4 * u64::from(chunk.stride);
    let tensor = |view: View, rows: u64| ModelTensor {
        view,
        first: chunk.first,
        stride: chunk.stride,
        rows,
    };
    let planes = |view: View| tensor(view, (view.bytes / plane_bytes).max(1));
    [
        planes(chunk.geometry),
        planes(chunk.geometry_m),
        planes(chunk.geometry_v),
        planes(chunk.sh),
        planes(chunk.sh_m),
        planes(chunk.sh_v),
        planes(chunk.filter_3d),
        planes(chunk.statistics),
        tensor(chunk.visible_mask, if chunk.clusters { 2 } else { 1 }),
    ]
}
