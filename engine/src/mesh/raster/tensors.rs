//! What drawing takes, before it has an address.

use super::{Chunks, Coat};
use kiln_gpu::memory::{Gpu, MIB, MemoryError};
use kiln_kernels::mesh_draw::{self, Chunk, MeshView, Samples};
use kiln_kernels::mesh_shade;
use kiln_mesh::Mesh;
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Most bytes of samples of a strip: a binding holds half of them.
const STRIP_BYTES: u64 = 32 * MIB;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 8;

/// Sizes that decide what drawing takes.
#[derive(Clone, Debug)]
pub struct DrawSizes {
    /// Width and height of the largest picture, px, each on its own.
    pub largest_px: [u32; 2],
    /// Samples along each side of a pixel.
    pub samples: u32,
    /// The whole picture is one strip, whatever that takes.
    pub whole: bool,
}

impl DrawSizes {
    /// Rows of a strip for pictures of this width.
    fn rows(&self, width_px: u32) -> u32 {
        let [_, height] = self.largest_px;
        if self.whole {
            return height.max(1);
        }
        let row = SAMPLE_BYTES * u64::from(width_px.max(1)) * u64::from(self.samples).pow(2);
        u32::try_from(STRIP_BYTES / row)
            .unwrap_or(u32::MAX)
            .clamp(1, height.max(1))
    }

    /// Pixels of the largest strip.
    fn strip_pixels(&self) -> u32 {
        // Narrow pictures have more rows to a strip, and never more pixels than this.
        let [width, _] = self.largest_px;
        width.max(1) * self.rows(width)
    }

    /// Rows of a strip of a picture.
    pub(super) fn rows_of(&self, size_px: [u32; 2]) -> u32 {
        (self.strip_pixels() / size_px[0].max(1)).clamp(1, size_px[1].max(1))
    }
}

/// Tensors of a mesh and of the strip that is drawn.
#[derive(Clone, Debug)]
pub struct DrawTensors {
    /// Sizes they were made for.
    pub(super) sizes: DrawSizes,
    pub(super) chunks: Vec<Chunk>,
    /// The strip's.
    pub samples: Samples,
    /// The host's copy of the view.
    pub(super) ring: Span,
    texels: Span,
    look: mesh_shade::Look,
    texture_side: u32,
}

impl DrawTensors {
    /// Adds the tensors for a mesh cut into `chunks` that looks like `coat`. The mesh's stay; the strip's are of the arena.
    pub fn new(table: &mut TensorTable, chunks: &Chunks, coat: Coat<'_>, sizes: DrawSizes) -> Self {
        let mut keep = |name: String, bytes: u64| table.add(name, Class::Persistent, Tag::Parameters, bytes);
        let side = coat.texture().map_or(0, super::Texture::side);
        let texels = keep("mesh/texture".to_owned(), 4 * u64::from(side).pow(2));
        let with_uvs = coat.texture().is_some();
        let mut first = 0;
        let mut list = Vec::with_capacity(chunks.sizes().len());
        for (index, &[vertices, triangles]) in chunks.sizes().iter().enumerate() {
            list.push(Chunk {
                vertices: keep(format!("mesh/vertices[{index}]"), 16 * u64::from(vertices)),
                triangles: keep(format!("mesh/triangles[{index}]"), 12 * u64::from(triangles)),
                uvs: match with_uvs {
                    true => keep(format!("mesh/uvs[{index}]"), 24 * u64::from(triangles)),
                    false => texels,
                },
                first,
                count: triangles,
            });
            first += triangles;
        }
        let most = chunks.sizes().iter().map(|size| size[1]).max().unwrap_or(0);
        let strip = u64::from(sizes.strip_pixels()) * u64::from(sizes.samples).pow(2);
        let mut passing = |name: &str, bytes: u64| table.add(name, Class::Arena, Tag::Pixels, bytes);
        let depths = passing("mesh/depths", 4 * strip);
        let ids = passing("mesh/ids", 4 * strip);
        let large = passing("mesh/large", 4 * (1 + u64::from(most)));
        let view_bytes = size_of::<MeshView>() as u64;
        let view = table.add("mesh/view", Class::Small, Tag::Other, view_bytes);
        Self {
            sizes,
            chunks: list,
            samples: Samples {
                view,
                depths,
                ids,
                large,
            },
            ring: table.add("ring/mesh_view", Class::Upload, Tag::Staging, view_bytes),
            texels,
            look: coat.look(),
            texture_side: side,
        }
    }

    /// Appends what draws the depths of the strip that the host's view names.
    pub fn record_depths(&self, program: &mut Program) {
        program.copy(self.ring, self.samples.view);
        mesh_draw::record_depths(program, &self.chunks, &self.samples);
    }

    /// Appends what names the triangles of its samples, after [`DrawTensors::record_depths`].
    pub fn record_triangles(&self, program: &mut Program) {
        mesh_draw::record_triangles(program, &self.chunks, &self.samples);
    }

    /// Appends what colours its rows of `image`, RGB and the share left free, four floats a pixel, after
    /// [`DrawTensors::record_triangles`].
    pub fn record_shade(&self, program: &mut Program, image: Span) {
        mesh_shade::record(
            program,
            &self.chunks,
            &self.samples,
            self.texels,
            image,
            self.look,
            self.sizes.strip_pixels(),
        );
    }

    /// Texels along a side of the texture; 0 without.
    pub(super) const fn texture_side(&self) -> u32 {
        self.texture_side
    }

    /// Writes the mesh that the tensors were made for.
    ///
    /// # Errors
    /// [`MemoryError`] from the device.
    pub fn load(&self, gpu: &mut Gpu, mesh: &Mesh, chunks: &Chunks, coat: Coat<'_>) -> Result<(), MemoryError> {
        for (index, chunk) in self.chunks.iter().enumerate() {
            let content = chunks.content(mesh, index);
            gpu.write(&chunk.vertices, &content.vertices)?;
            gpu.write(&chunk.triangles, &content.triangles)?;
            if let (Some(_), Some(uvs)) = (coat.texture(), mesh.uvs()) {
                let first = chunks.first(index);
                let own = uvs.get(first..first + chunk.count as usize).unwrap_or_default();
                gpu.write(&chunk.uvs, own)?;
            }
        }
        if let Some(texture) = coat.texture() {
            // Row by row: four bytes a texel of all of it need not be in host memory at once.
            let row = 4 * u64::from(texture.side());
            for (y, rgb) in (0..).zip(texture.rgb().chunks(3 * texture.side() as usize)) {
                let rgba: Vec<u8> = rgb.chunks(3).flat_map(|t| [t[0], t[1], t[2], u8::MAX]).collect();
                gpu.write(&self.texels.slice(y * row, row), &rgba)?;
            }
        }
        Ok(())
    }
}
