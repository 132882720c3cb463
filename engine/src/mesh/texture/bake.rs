//! From photos to texels.

use std::ops::ControlFlow;
use std::sync::Arc;

use kiln_mesh::{Mesh, charts};

use super::fill::Canvas as Filled;
use super::texels::{NONE, owners, point};
use crate::mesh::DrawnError;
use crate::mesh::raster::{CHUNK_TRIANGLES, Canvas, Chunks, Coat, DrawSizes, DrawTensors, Texture};
use kiln_config::TextureKind;
use kiln_gpu::memory::{Gpu, MemoryError, Plan, PlanLimits};
use kiln_gpu::vk::{CompiledProgram, Device, RecordOptions};
use kiln_kernels::mesh_gather::{self, GatherIo};
use kiln_program::{Class, Program, Tag, TensorTable};
use kiln_scene::{Camera, Photo, PhotoParts, photo_bytes};

/// Most texels of a batch: bindings of 64 MiB.
const MOST_POINTS: u32 = 1 << 22;
/// Fewest, below which a plan is refused: the photos would go by too often.
const LEAST_POINTS: u32 = 1 << 16;
/// Bytes of a point, and of its sums.
const POINT_BYTES: u64 = 16;

/// How texture coordinates are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Regions of the surface, flattened and packed into a picture of `size` texels a side.
    Charts {
        /// Texels along the picture's side.
        size: u32,
    },
    /// A square of `square` texels a side for every two triangles.
    Squares {
        /// Texels along a square's side.
        square: u32,
    },
}

/// Texels along the side of a square, as SuGaR has them.
const SQUARE: u32 = 8;

impl Layout {
    /// The layout that the settings ask for; none for no picture.
    pub(in crate::mesh) fn of(mesh: &kiln_config::Mesh) -> Option<Self> {
        match mesh.texture.kind {
            TextureKind::Charts => Some(Self::Charts { size: mesh.texels() }),
            TextureKind::Squares => Some(Self::Squares { square: SQUARE }),
            TextureKind::None => None,
        }
    }
}

/// What to bake from.
#[derive(Clone, Copy, Debug)]
pub struct BakeSettings {
    /// How texture coordinates are laid out.
    pub layout: Layout,
    /// Views that there are.
    pub views: usize,
    /// Width and height of the largest photo, each on its own, px.
    pub largest_px: [u32; 2],
    /// Photos carry a mask.
    pub masked: bool,
    /// Bytes of device memory that may be taken.
    pub cap_bytes: u64,
}

/// How far the work is: photos that went by, of all that will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureProgress {
    /// Photos gone by.
    pub done: u32,
    /// Photos in all, once a batch.
    pub total: u32,
}

/// Camera and photo of a view, by its place among them; called once a batch for each, in order.
pub type PhotoOf<'a, E> = &'a mut dyn FnMut(usize) -> Result<(Camera, Photo), E>;

/// A mesh with the picture over it.
#[derive(Clone, Debug)]
pub struct Textured {
    /// The mesh with texture coordinates.
    pub mesh: Mesh,
    /// The picture.
    pub texture: Texture,
    /// Charts, or squares.
    pub parts: u32,
    /// Share of the picture that triangles cover.
    pub fill: f64,
    /// Share of that which photos show.
    pub seen: f64,
    /// Times that the photos went by.
    pub batches: u32,
    /// Device bytes that it took.
    pub device_bytes: u64,
}

/// Device bytes that the smallest batches take for a mesh that is to come, of so many triangles and about half as many vertices.
///
/// # Errors
/// [`MemoryError`] when a tensor fits no binding.
pub(in crate::mesh) fn least_bytes(
    triangles: u32,
    settings: &BakeSettings,
    limits: PlanLimits,
) -> Result<u64, MemoryError> {
    let chunks = Chunks::expected(triangles, CHUNK_TRIANGLES);
    let (mut table, _, _, [program, clear]) = planned(&chunks, settings, LEAST_POINTS);
    Gpu::add_transfer(&mut table);
    Ok(Plan::new(&table, &[&program, &clear], limits)?.device_bytes())
}

/// Gives `mesh` a texture from photos. What is allocated is chosen from `settings.cap_bytes` before the work begins.
///
/// # Errors
/// [`DrawnError::Host`] for a mesh that cannot be laid out and when `tell` ends the work, [`DrawnError::Memory`] when not even
/// a small batch fits, and what `photo` returns.
pub fn bake<E: From<DrawnError>>(
    device: &Arc<Device>,
    mesh: Mesh,
    settings: &BakeSettings,
    photo: PhotoOf<'_, E>,
    tell: &mut dyn FnMut(TextureProgress) -> ControlFlow<()>,
) -> Result<Textured, E> {
    let (mesh, side, parts) = laid_out(mesh, settings.layout, tell).map_err(DrawnError::from)?;
    let owners = owners(mesh.uvs().unwrap_or_default(), side);
    let covered = owners.iter().filter(|owner| **owner != NONE).count();
    let mut stage = Stage::new(device, &mesh, settings, covered).map_err(DrawnError::from)?;
    let batches = covered.div_ceil(stage.points as usize);
    let total = u32::try_from(batches * settings.views).unwrap_or(u32::MAX);
    let mut canvas = Filled::new(side);
    let (mut done, mut seen) = (0, 0_usize);
    let texels: Vec<u32> = (0..)
        .zip(&owners)
        .filter(|(_, owner)| **owner != NONE)
        .map(|(at, _)| at)
        .collect();
    for batch in texels.chunks(stage.points as usize) {
        let points: Vec<[u32; 4]> = batch
            .iter()
            .map(|&at| {
                let owner = owners.get(at as usize).copied().unwrap_or(NONE);
                point(&mesh, owner, [at % side, at / side], side)
            })
            .collect();
        stage.begin(&points).map_err(DrawnError::from)?;
        for view in 0..settings.views {
            if tell(TextureProgress { done, total }).is_break() {
                return Err(DrawnError::Host(kiln_mesh::Error::Stopped).into());
            }
            let (camera, photo) = photo(view)?;
            stage.add(&camera, &photo, settings.masked).map_err(DrawnError::from)?;
            done += 1;
        }
        for (&at, sum) in batch.iter().zip(stage.sums(points.len()).map_err(DrawnError::from)?) {
            if let (true, Some(texel)) = (sum[3] > 0.0, canvas.texels.get_mut(at as usize)) {
                let color = |c: usize| {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "clamped to a byte"
                    )]
                    let code = (255.0 * sum[c] / sum[3] + 0.5).clamp(0.0, 255.0) as u8;
                    code
                };
                *texel = [color(0), color(1), color(2), 255];
                seen += 1;
            }
        }
    }
    let device_bytes = stage.gpu.memory().plan().device_bytes();
    drop(stage);
    canvas.fill_triangles(&owners, mesh.triangles().len());
    let texture = Texture::new(side, canvas.into_rgb()).map_err(DrawnError::from)?;
    Ok(Textured {
        texture,
        parts,
        fill: covered as f64 / owners.len().max(1) as f64,
        seen: seen as f64 / covered.max(1) as f64,
        batches: u32::try_from(batches).unwrap_or(u32::MAX),
        device_bytes,
        mesh,
    })
}

/// The mesh with texture coordinates, texels along the picture's side, and how many charts or squares there are.
fn laid_out(
    mesh: Mesh,
    layout: Layout,
    tell: &mut dyn FnMut(TextureProgress) -> ControlFlow<()>,
) -> Result<(Mesh, u32, u32), kiln_mesh::Error> {
    match layout {
        Layout::Charts { size } => {
            let settings = charts::Settings {
                size,
                ..charts::Settings::default()
            };
            let mut progress = |_: f32| tell(TextureProgress { done: 0, total: 1 });
            let (mesh, layout) = charts::charts(mesh, settings, &mut progress)?;
            Ok((mesh, size, layout.charts))
        }
        Layout::Squares { square } => {
            let (mesh, grid) = charts::grid(mesh, square)?;
            let squares = u32::try_from(mesh.triangles().len().div_ceil(2)).unwrap_or(u32::MAX);
            Ok((mesh, grid.size, squares))
        }
    }
}

/// What is on the device.
struct Stage {
    // Dropped before `gpu`, on which it was compiled.
    canvas: Canvas,
    clear: CompiledProgram,
    io: GatherIo,
    points: u32,
    gpu: Gpu,
}

/// Tensors of batches of `points` texels, and the program that takes a photo in.
fn planned(
    chunks: &Chunks,
    settings: &BakeSettings,
    points: u32,
) -> (TensorTable, DrawTensors, GatherIo, [Program; 2]) {
    let mut table = TensorTable::default();
    let sizes = DrawSizes {
        largest_px: settings.largest_px,
        samples: 1,
        whole: true,
    };
    let tensors = DrawTensors::new(&mut table, chunks, Coat::Plain, sizes);
    let bytes = POINT_BYTES * u64::from(points);
    let pixels = settings.largest_px.map(u64::from).iter().product();
    let io = GatherIo {
        view: tensors.samples.view,
        points: table.add("bake/points", Class::Persistent, Tag::Other, bytes),
        depths: tensors.samples.depths,
        photo: table.add(
            "bake/photo",
            Class::Images,
            Tag::Images,
            photo_bytes(pixels, PhotoParts::of_mask(settings.masked)),
        ),
        sums: table.add("bake/sums", Class::Persistent, Tag::Other, bytes),
    };
    let mut program = Program::new("bake");
    tensors.record_depths(&mut program);
    mesh_gather::record(&mut program, &io, points);
    let mut clear = Program::new("clear texels");
    clear.fill(io.sums, 0);
    (table, tensors, io, [program, clear])
}

impl Stage {
    fn new(device: &Arc<Device>, mesh: &Mesh, settings: &BakeSettings, covered: usize) -> Result<Self, MemoryError> {
        let chunks = Chunks::of(mesh, CHUNK_TRIANGLES);
        let wanted = u32::try_from(covered).unwrap_or(u32::MAX);
        let mut points = wanted.clamp(1, MOST_POINTS);
        let (table, tensors, io, [program, clear]) = loop {
            let (mut table, tensors, io, programs) = planned(&chunks, settings, points);
            let planned_table = table.clone();
            Gpu::add_transfer(&mut table);
            let [program, clear] = &programs;
            let plan = Plan::new(&table, &[program, clear], Gpu::limits(device))?;
            if plan.device_bytes() <= settings.cap_bytes || points <= LEAST_POINTS {
                break (planned_table, tensors, io, programs);
            }
            points = (points / 2).max(LEAST_POINTS);
        };
        let mut gpu = Gpu::new(device, table, &[&program, &clear], settings.cap_bytes)?;
        tensors.load(&mut gpu, mesh, &chunks, Coat::Plain)?;
        let options = RecordOptions::default();
        Ok(Self {
            canvas: Canvas::new(tensors, gpu.compile(&program, options)?, [0.0; 3]),
            clear: gpu.compile(&clear, options)?,
            io,
            points,
            gpu,
        })
    }

    /// Takes the points of a batch. What lies behind a batch that is not full is gathered and not read.
    fn begin(&mut self, points: &[[u32; 4]]) -> Result<(), MemoryError> {
        self.gpu.write(&self.io.points, points)?;
        self.gpu.run_compiled(&self.clear)
    }

    /// Takes a photo in.
    fn add(&mut self, camera: &Camera, photo: &Photo, masked: bool) -> Result<(), MemoryError> {
        self.gpu.upload(&self.io.photo, photo.bytes())?;
        self.canvas
            .draw(&mut self.gpu, camera, masked && photo.mask().is_some(), |_, _| Ok(()))
    }

    fn sums(&mut self, count: usize) -> Result<Vec<[f32; 4]>, MemoryError> {
        self.gpu.read(&self.io.sums, count)
    }
}
