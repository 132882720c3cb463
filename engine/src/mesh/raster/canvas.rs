//! Drawing of whole pictures, strip by strip.

use super::DrawTensors;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::CompiledProgram;
use kiln_kernels::mesh_draw::MeshView;
use kiln_scene::Camera;

/// Runs a program that draws a strip for all strips of a picture. Must be dropped before the [`Gpu`].
pub struct Canvas {
    tensors: DrawTensors,
    program: CompiledProgram,
    background: [f32; 3],
}

impl Canvas {
    /// A program that begins with [`DrawTensors::record_depths`], and the colour where there is no surface.
    #[must_use]
    pub const fn new(tensors: DrawTensors, program: CompiledProgram, background: [f32; 3]) -> Self {
        Self {
            tensors,
            program,
            background,
        }
    }

    /// The tensors.
    #[must_use]
    pub const fn tensors(&self) -> &DrawTensors {
        &self.tensors
    }

    /// Draws what `camera` sees, at most as large as the tensors were made for; `masked` says whether the photo beside it
    /// carries a mask. `each` is called after each strip with its first row and its rows.
    ///
    /// # Errors
    /// [`MemoryError`] from the device, and what `each` returns.
    pub fn draw<E: From<MemoryError>>(
        &self,
        gpu: &mut Gpu,
        camera: &Camera,
        masked: bool,
        mut each: impl FnMut(&mut Gpu, [u32; 2]) -> Result<(), E>,
    ) -> Result<(), E> {
        let t = &self.tensors;
        let step = t.sizes.rows_of([camera.width_px, camera.height_px]);
        for first in (0..camera.height_px).step_by(step as usize) {
            let rows = step.min(camera.height_px - first);
            let view = MeshView {
                texture_side: t.texture_side(),
                masked: u32::from(masked),
                ..MeshView::strip(camera, t.sizes.samples, [first, rows], self.background)
            };
            let bytes = bytemuck::bytes_of(&view);
            let ring = t.ring.slice(0, bytes.len() as u64);
            gpu.memory_mut().host_mut(&ring)?.copy_from_slice(bytes);
            gpu.run_compiled(&self.program)?;
            each(gpu, [first, rows])?;
        }
        Ok(())
    }
}
