//! A mesh on a device, drawn and measured as models are.

use super::RunError;
use super::evaluation::Measure;
use crate::eval::LpipsRange;
use crate::eval::lpips::{Lpips, LpipsTensors, LpipsWeights, Pair};
use crate::mesh::MeshFile;
use crate::mesh::raster::{CHUNK_TRIANGLES, Canvas, Chunks, DrawSizes, DrawTensors, Painter};
use crate::plan::{OpenDevice, ViewSums, background, gib_to_bytes};
use kiln_config::Profile;
use kiln_gpu::memory::{Budget, Gpu};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use kiln_kernels::counters::{Args, Counters};
use kiln_kernels::loss::{self, METRIC_WORDS};
use kiln_kernels::swaths::Swaths;
use kiln_kernels::uniforms::{StepUniforms, TILE_PX};
use kiln_kernels::views::{Pixels, Shared};
use kiln_program::{Class, Program, Span, Tag, TensorTable, fold_groups};
use kiln_scene::{Camera, Photo, PhotoParts, photo_bytes};

/// Draws one mesh.
pub(super) struct MeshRenderer<'a> {
    // Dropped before `gpu`, on which they were compiled.
    lpips: Option<Lpips>,
    measure: CompiledProgram,
    canvas: Canvas,
    /// Of a mesh that looks different from each side.
    painter: Option<Painter<'a>>,
    io: MeasureIo,
    background: [f32; 3],
    masked: bool,
    gpu: Gpu,
    /// Share of each measured view that the mesh covers, in their order.
    pub(super) coverage: Vec<f64>,
}

/// What a picture is measured with.
#[derive(Clone, Copy)]
struct MeasureIo {
    /// RGB and the share left free, four floats a pixel.
    image: Span,
    target: Span,
    sums: Span,
    shared: Shared,
}

impl MeasureIo {
    fn new(table: &mut TensorTable, largest_px: [u32; 2], masked: bool) -> Self {
        let [width, height] = largest_px.map(u64::from);
        let pixels = width * height;
        let tiles = largest_px.map(|side| u64::from(side.div_ceil(TILE_PX)));
        let mut small = |name: &str, bytes: u64| table.add(format!("mesh/{name}"), Class::Small, Tag::Other, bytes);
        let uniforms = small("uniforms", size_of::<StepUniforms>() as u64);
        let shared = Shared {
            uniforms,
            rates: uniforms,
            counters: small("counters", size_of::<Counters>() as u64),
            args: small("args", Args::table_bytes(0)),
            lens: 0,
        };
        let sums = small("sums", 4 * u64::from(METRIC_WORDS) * tiles[0] * tiles[1]);
        Self {
            image: table.add("mesh/image", Class::Persistent, Tag::Pixels, 16 * pixels),
            target: table.add(
                "mesh/photo",
                Class::Images,
                Tag::Images,
                photo_bytes(pixels, PhotoParts::of_mask(masked)),
            ),
            sums,
            shared,
        }
    }

    /// What measures images of at most `largest_px` where a binding has `binding_bytes`.
    fn program(&self, masked: bool, largest_px: [u32; 2], binding_bytes: u64) -> Program {
        let mut program = Program::new("measure mesh");
        let pixels = Pixels {
            image: self.image,
            last_contributor: self.sums,
            gradient: self.sums,
            target: self.target,
            masked,
            scores: false,
            statistic: false,
            swaths: Swaths {
                max_pixels: largest_px[0] * largest_px[1],
                max_width_px: largest_px[0],
                binding_bytes,
            },
            surface: None,
        };
        loss::record_metrics(&mut program, &self.shared, &pixels, self.sums);
        program
    }
}

impl<'a> MeshRenderer<'a> {
    /// Draws `surface` with `samples` times `samples` samples a pixel for views of at most `sizes_px`, with masked photos or
    /// not, and computes LPIPS when there are weights.
    pub(super) fn new(
        open: &OpenDevice,
        profile: &Profile,
        surface: &'a MeshFile,
        samples: u32,
        (sizes_px, masked): (&[[u32; 2]], bool),
        weights: Option<LpipsWeights>,
    ) -> Result<Self, RunError> {
        let side = |axis: usize| sizes_px.iter().map(|size| size[axis]).max().unwrap_or(1);
        let largest_px = [side(0), side(1)];
        let mut table = TensorTable::default();
        let chunks = Chunks::of(&surface.mesh, CHUNK_TRIANGLES);
        let sizes = DrawSizes {
            largest_px,
            samples,
            whole: false,
        };
        let tensors = DrawTensors::new(&mut table, &chunks, surface.coat(), sizes);
        let io = MeasureIo::new(&mut table, largest_px, masked);
        let mut draw = Program::new("draw mesh");
        tensors.record_depths(&mut draw);
        tensors.record_triangles(&mut draw);
        tensors.record_shade(&mut draw, io.image);
        let measure = io.program(masked, largest_px, Gpu::limits(&open.device).binding_bytes);
        let mut programs = vec![&draw, &measure];
        let workspace = match &weights {
            Some(_) => LpipsTensors::beside(&mut table, &programs, largest_px)?,
            None => None,
        };
        programs.extend(workspace.iter().map(LpipsTensors::program));
        let cap = profile.memory.cap_gib.map(gib_to_bytes);
        let budget = Budget::of_device(&open.device, cap);
        let mut gpu = Gpu::new(&open.device, table, &programs, budget.cap_bytes)?;
        tensors.load(&mut gpu, &surface.mesh, &chunks, surface.coat())?;
        gpu.write(&io.shared.counters, &[Counters::default()])?;
        let options = RecordOptions::default();
        let background = background(profile);
        let painted = |harmonics| Painter::new(&surface.mesh, harmonics, &chunks);
        Ok(Self {
            painter: surface.harmonics.as_ref().map(painted),
            lpips: workspace.zip(weights).map(|(t, w)| Lpips::new(t, w)),
            measure: gpu.compile(&measure, options)?,
            canvas: Canvas::new(tensors, gpu.compile(&draw, options)?, background),
            io,
            background,
            masked,
            gpu,
            coverage: Vec::new(),
        })
    }

    /// Draws a view: RGB and the share left free, row by row.
    pub(super) fn image(&mut self, camera: &Camera) -> Result<Vec<[f32; 4]>, RunError> {
        if let Some(painter) = &self.painter {
            painter.paint(&mut self.gpu, self.canvas.tensors(), camera)?;
        }
        self.canvas
            .draw(&mut self.gpu, camera, self.masked, |_, _| Ok::<(), RunError>(()))?;
        let pixels = camera.width_px as usize * camera.height_px as usize;
        Ok(self.gpu.read(&self.io.image, pixels)?)
    }

    /// Depths of a view at the middles of its pixels, row by row, 0 where nothing is; for one sample a pixel.
    pub(super) fn depth(&mut self, camera: &Camera) -> Result<Vec<f32>, RunError> {
        let depths = self.canvas.tensors().samples.depths;
        let width = camera.width_px as usize;
        let mut image = Vec::with_capacity(width * camera.height_px as usize);
        self.canvas.draw(&mut self.gpu, camera, false, |gpu, [_, rows]| {
            let inverse: Vec<f32> = gpu.read(&depths, width * rows as usize)?;
            image.extend(
                inverse
                    .into_iter()
                    .map(|inverse| if inverse > 0.0 { 1.0 / inverse } else { 0.0 }),
            );
            Ok::<(), RunError>(())
        })?;
        Ok(image)
    }
}

impl Measure for MeshRenderer<'_> {
    fn sums(&mut self, camera: &Camera, photo: &Photo, keep_image: bool) -> Result<ViewSums, RunError> {
        let image = self.image(camera)?;
        let free: f64 = image.iter().map(|pixel| f64::from(pixel[3])).sum();
        self.coverage.push(1.0 - free / image.len().max(1) as f64);
        let uniforms = StepUniforms::for_camera(camera, self.background, 0.0);
        let tiles = uniforms.tiles_x * uniforms.tiles_y;
        let slot = self.io.shared.args.slice(16 * u64::from(Args::Tiles.slot()), 12);
        self.gpu.write(&self.io.shared.uniforms, &[uniforms])?;
        self.gpu.write(&slot, &fold_groups(tiles))?;
        self.gpu.upload(&self.io.target, photo.bytes())?;
        self.gpu.run_compiled(&self.measure)?;
        let words = (tiles * METRIC_WORDS) as usize;
        Ok(ViewSums {
            sums: self.gpu.read(&self.io.sums, words)?,
            image: keep_image.then_some(image),
            tile_counts: None,
        })
    }

    fn near_light(&mut self, _: &Camera, _: f32) -> Result<Option<Vec<[f32; 4]>>, RunError> {
        Ok(None)
    }

    fn lpips(&mut self, pair: &Pair<'_, 4>, range: LpipsRange) -> Result<Option<f64>, RunError> {
        match &mut self.lpips {
            Some(lpips) => Ok(Some(lpips.distance(&mut self.gpu, pair, range)?)),
            None => Ok(None),
        }
    }
}
