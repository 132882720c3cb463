//! Every tensor of a run, named once.

use super::{
    Capacities, DensityTensors, ExtraTensors, ResidentImages, Rings, Terms, TriangleSizes, TriangleTensors,
    mesh_tensors,
};
use crate::kernels::bound::MeshIo;
use crate::kernels::counters::{Args, Counters};
use crate::kernels::filter_3d::FilterCamera;
use crate::kernels::radix_sort::{SortBuffers, histogram_bytes};
use crate::kernels::triangles::TriangleUniforms;
use crate::kernels::uniforms::StepUniforms;
use crate::kernels::views::{Chunk, Intersections, Partials, Pixels, Shared, Splats, Surface, Variants};
use crate::kernels::{loss, views};
use crate::program::{Class, Span, Tag, TensorTable};

/// Tensors of the 3D filter.
#[derive(Clone, Copy, Debug)]
pub struct FilterTensors {
    /// Training cameras.
    pub cameras: Span,
    /// One word.
    pub farthest: Span,
}

/// All tensors of the training step.
#[derive(Clone, Debug)]
pub struct StepTensors {
    /// Sizes.
    pub capacities: Capacities,
    /// Kernel variants.
    pub variants: Variants,
    /// Uniforms, counters, indirect arguments.
    pub shared: Shared,
    /// Persistent state of Gaussians; none where the model is of triangles.
    pub chunks: Vec<Chunk>,
    /// The model of triangles, where it is one.
    pub triangles: Option<TriangleTensors>,
    /// Visible counts, then offsets, per 256 Gaussians.
    pub group_visible: Span,
    /// Visible records.
    pub splats: Splats,
    /// Sorting of depths.
    pub depth_sort: SortBuffers,
    /// Tile counts, then offsets, per 256 splats in depth order.
    pub group_tiles: Span,
    /// Sorting of tiles; `payloads` of `intersections` is one of its value buffers.
    pub tile_sort: SortBuffers,
    /// Owners and ranges.
    pub intersections: Intersections,
    /// Partial gradients of the segmented reduction.
    pub partials: Partials,
    /// Image, contributors, gradient, target.
    pub pixels: Pixels,
    /// Training images on the device; none when steps bring theirs along.
    pub resident: ResidentImages,
    /// SSIM maps.
    pub ssim_maps: Span,
    /// Loss sums per tile.
    pub loss_sums: Span,
    /// What further losses need.
    pub extra: ExtraTensors,
    /// What terms of the density need; none where there are none.
    pub density: Option<DensityTensors>,
    /// Evaluation sums per tile.
    pub metric_sums: Span,
    /// 3D filter.
    pub filter: FilterTensors,
    /// Host-visible rings.
    pub rings: Rings,
    /// Steps end with noise on the centres.
    pub position_noise: bool,
    /// The mesh that Gaussians are bound to.
    pub bound: Option<MeshIo>,
}

/// What a step's model is, and what there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Gaussians with moments and statistics.
    Trained,
    /// Gaussians.
    Rendered,
    /// Not of Gaussians.
    Other,
}

/// What a strategy wants of the step besides gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepExtras {
    /// Sums up image errors for each Gaussian, see [`Pixels::scores`].
    pub scores: bool,
    /// Sums up absolute pulls for each Gaussian, see [`Pixels::statistic`].
    pub statistic: bool,
    /// Ends with noise on the centres.
    pub position_noise: bool,
}

impl Default for StepExtras {
    fn default() -> Self {
        Self {
            scores: false,
            statistic: true,
            position_noise: false,
        }
    }
}

impl StepTensors {
    /// Adds every tensor to `table`.
    #[must_use]
    pub fn new(table: &mut TensorTable, capacities: &Capacities, variants: &Variants) -> Self {
        let resident = ResidentImages::default();
        Self::with_state(
            table,
            capacities,
            variants,
            resident,
            StepExtras::default(),
            State::Trained,
        )
    }

    /// The same with what a strategy wants, and for training images that stay on the device, which are in `table` already.
    #[must_use]
    pub fn for_training(
        table: &mut TensorTable,
        capacities: &Capacities,
        variants: &Variants,
        resident: ResidentImages,
        extras: StepExtras,
    ) -> Self {
        Self::with_state(table, capacities, variants, resident, extras, State::Trained)
    }

    /// The same without room for moments and statistics: only programs that render may run on it.
    #[must_use]
    pub fn for_rendering(table: &mut TensorTable, capacities: &Capacities, variants: &Variants) -> Self {
        let resident = ResidentImages::default();
        Self::with_state(
            table,
            capacities,
            variants,
            resident,
            StepExtras::default(),
            State::Rendered,
        )
    }

    /// The same for steps and renders in bands.
    pub(super) fn in_bands(&self) -> Self {
        Self {
            variants: self.variants.for_bands(),
            ..self.clone()
        }
    }

    /// The same as [`StepTensors::for_rendering`], and renders come with depth and normals.
    #[must_use]
    pub fn for_surfaces(table: &mut TensorTable, capacities: &Capacities, variants: &Variants) -> Self {
        let mut tensors = Self::for_rendering(table, capacities, variants);
        tensors.add_surface(table, false);
        tensors
    }

    /// Tensors of a model of triangles: of `capacities`, Gaussians are triangles, and there is a record for each that a view may draw.
    /// Sums of gradients are [`views::Reduction::Segmented`] whatever `variants` say.
    #[must_use]
    pub fn for_triangles(
        table: &mut TensorTable,
        capacities: &Capacities,
        sizes: TriangleSizes,
        variants: &Variants,
        resident: ResidentImages,
    ) -> Self {
        let variants = Variants {
            reduction: views::Reduction::Segmented,
            ..*variants
        };
        let extras = StepExtras::default();
        let mut tensors = Self::with_state(table, capacities, &variants, resident, extras, State::Other);
        let px = u64::from(capacities.max_pixels);
        let mut arena =
            |name: &str, tag, bytes| table.add_rows(format!("triangles/{name}"), Class::Arena, tag, px, bytes);
        let depth = arena("depth", Tag::Pixels, 8);
        let gradient = arena("gradient", Tag::Loss, 16);
        tensors.pixels.surface = Some(Surface {
            plane: arena("plane", Tag::Pixels, 16),
            depth,
            // Depths and normals of pixels are compared as they are blended.
            map: depth,
            gradient,
            normal_gradient: gradient,
        });
        let shared = (&tensors.splats, &tensors.partials, tensors.group_visible);
        tensors.triangles = Some(TriangleTensors::new(table, &tensors.capacities, shared, sizes, true));
        tensors
    }

    /// The same tensors for steps that train the planes of Gaussians, and what these need in the arena; with what the loss of
    /// surfaces needs where there is one.
    #[must_use]
    pub fn for_surface_steps(&self, table: &mut TensorTable) -> Self {
        let mut tensors = self.clone();
        let trained = self.capacities.losses.need(|needs| needs.surface.is_some());
        tensors.add_surface(table, trained);
        tensors.add_terms(table, Terms::Surface);
        tensors
    }

    /// Name of a program of these tensors.
    pub(super) fn named(&self, program: &str) -> String {
        let surface = if self.pixels.surface.is_some() { "surface " } else { "" };
        format!("{surface}{program}")
    }

    /// Adds what steps and renders need for planes of Gaussians.
    fn add_surface(&mut self, table: &mut TensorTable, training: bool) {
        let c = &self.capacities;
        let (v, i, px) = (u64::from(c.v_cap), u64::from(c.i_cap), u64::from(c.max_pixels));
        let mut arena =
            |name: &str, tag, rows, bytes| table.add_rows(format!("surface/{name}"), Class::Arena, tag, rows, bytes);
        self.splats.plane = Some(arena("splat_plane", Tag::Visible, v, 16));
        let mut surface = Surface {
            plane: arena("plane", Tag::Pixels, px, 16),
            depth: arena("depth", Tag::Pixels, px, 8),
            map: arena("map", Tag::Pixels, px, 16),
            gradient: self.pixels.gradient,
            normal_gradient: self.pixels.gradient,
        };
        if training {
            let segmented = self.variants.reduction == views::Reduction::Segmented;
            surface.gradient = arena("gradient", Tag::Loss, px, 16);
            surface.normal_gradient = arena("normal_gradient", Tag::Loss, px, 16);
            self.splats.gradient_d = Some(arena("gradient_d", Tag::Gradients, v, 16));
            let partial = if segmented { i } else { 1 };
            self.partials.d = Some(arena("partial_d", Tag::Gradients, partial, 16));
        }
        self.pixels.surface = Some(surface);
    }

    fn with_state(
        table: &mut TensorTable,
        capacities: &Capacities,
        variants: &Variants,
        resident: ResidentImages,
        extras: StepExtras,
        state: State,
    ) -> Self {
        let c = *capacities;
        let segmented = variants.reduction == views::Reduction::Segmented;
        let chunks = match state {
            State::Trained | State::Rendered => chunks(table, &c, state == State::Trained),
            State::Other => Vec::new(),
        };
        let bound = c.bound.filter(|_| state == State::Trained);
        let bound = bound.map(|binding| mesh_tensors::tensors(table, binding));
        let mut arena = |name: &str, tag: Tag, n: u64, bytes: u64| {
            table.add_rows(format!("step/{name}"), Class::Arena, tag, n, bytes)
        };
        let (v, i, px) = (u64::from(c.v_cap), u64::from(c.i_cap), u64::from(c.max_pixels));
        let depth_keys = arena("depth_keys", Tag::Sort, v, 4);
        let splats = Splats {
            position: arena("splat_position", Tag::Visible, v, 16),
            conic: arena("splat_conic", Tag::Visible, v, 16),
            color: arena("splat_color", Tag::Visible, v, 16),
            depth_keys,
            tile_counts: arena("tile_counts", Tag::Visible, v, 4),
            emission_start: arena("emission_start", Tag::Visible, if segmented { v } else { 1 }, 4),
            gradient_a: arena("gradient_a", Tag::Gradients, v, 16),
            gradient_b: arena("gradient_b", Tag::Gradients, v, 16),
            gradient_c: arena("gradient_c", Tag::Gradients, v, 16),
            plane: None,
            gradient_d: None,
        };
        let depth_sort = SortBuffers {
            keys: [depth_keys, arena("depth_keys_other", Tag::Sort, v, 4)],
            values: [
                arena("depth_order", Tag::Sort, v, 4),
                arena("depth_order_other", Tag::Sort, v, 4),
            ],
            histogram: arena(
                "depth_histogram",
                Tag::Sort,
                1,
                histogram_bytes(c.v_cap, Args::VisibleSort, variants),
            ),
        };
        let tile_sort = SortBuffers {
            keys: [
                arena("tile_keys", Tag::Sort, i, 4),
                arena("tile_keys_other", Tag::Sort, i, 4),
            ],
            values: [
                arena("payloads", Tag::Intersections, i, 4),
                arena("payloads_other", Tag::Sort, i, 4),
            ],
            histogram: arena(
                "tile_histogram",
                Tag::Sort,
                1,
                histogram_bytes(c.i_cap, Args::IntersectionSort, variants),
            ),
        };
        let partial = if segmented { i } else { 1 };
        let mut sums = |name: &str| arena(name, Tag::Gradients, partial, 16);
        let partials = Partials {
            a: sums("partial_a"),
            b: sums("partial_b"),
            c: sums("partial_c"),
            d: None,
        };
        let ordered = if variants.orders_tiles() {
            u64::from(c.max_tiles)
        } else {
            1
        };
        let intersections = Intersections {
            payloads: tile_sort.values[0],
            owners: arena("owners", Tag::Intersections, if segmented { i } else { 1 }, 4),
            tile_ranges: arena("tile_ranges", Tag::Pixels, u64::from(c.max_lists), 8),
            tile_order: arena("tile_order", Tag::Pixels, ordered, 4),
        };
        let group_tiles = arena("group_tiles", Tag::Visible, v.div_ceil(256), 4);
        let image = arena("image", Tag::Pixels, px, 16);
        let last_contributor = arena("last_contributor", Tag::Pixels, px, 4);
        let gradient = arena("image_gradient", Tag::Loss, px, 16);
        let ssim_maps = arena("ssim_maps", Tag::Loss, 1, loss::maps_bytes(&c.swaths()));
        let loss_sums = arena("loss_sums", Tag::Loss, 1, loss::sums_bytes(c.max_tiles));
        let metric_sums = arena(
            "metric_sums",
            Tag::Pixels,
            u64::from(c.max_tiles * loss::METRIC_WORDS),
            4,
        );
        let extra = ExtraTensors::new(table, &c);
        let density = c.density.filter(|_| matches!(state, State::Trained));
        let density = density.map(|terms| DensityTensors::new(table, &c, terms, &chunks, variants));
        let target = table.add("images/target", Class::Images, Tag::Images, c.image_bytes());
        let group_visible = table.add(
            "small/group_visible",
            Class::Small,
            Tag::Other,
            4 * u64::from(c.n_cap.div_ceil(256)),
        );
        let mut small = |name: &str, bytes: u64| table.add(format!("small/{name}"), Class::Small, Tag::Other, bytes);
        let uniforms_bytes = size_of::<StepUniforms>() as u64;
        let behind = match state {
            State::Trained => c.rates_bytes(),
            State::Rendered => 0,
            State::Other => size_of::<TriangleUniforms>() as u64,
        };
        let rates = small("uniforms", uniforms_bytes + behind);
        let shared = Shared {
            uniforms: rates.slice(0, uniforms_bytes),
            rates,
            counters: small("counters", size_of::<Counters>() as u64),
            args: small(
                "args",
                // At least the one that all triangles are.
                Args::table_bytes(u32::try_from(chunks.len().max(1)).unwrap_or(u32::MAX)),
            ),
            lens: u32::from(c.lens),
        };
        let filter = FilterTensors {
            cameras: small(
                "filter_cameras",
                u64::from(c.cameras) * size_of::<FilterCamera>() as u64,
            ),
            farthest: small("filter_farthest", 4),
        };
        // Only evaluations bring their images when those of steps are resident, one at a time.
        let image_slots = if resident.pages.is_empty() { c.slots } else { 1 };
        let rings = Rings::new(table, &c, image_slots);
        Self {
            capacities: c,
            variants: *variants,
            shared,
            chunks,
            triangles: None,
            group_visible,
            splats,
            depth_sort,
            group_tiles,
            tile_sort,
            intersections,
            partials,
            pixels: Pixels {
                image,
                last_contributor,
                gradient,
                target,
                masked: c.masked,
                scores: extras.scores,
                statistic: extras.statistic,
                swaths: c.swaths(),
                surface: None,
            },
            resident,
            ssim_maps,
            loss_sums,
            extra,
            density,
            metric_sums,
            filter,
            rings,
            position_noise: extras.position_noise,
            bound,
        }
    }
}

fn chunks(table: &mut TensorTable, c: &Capacities, training: bool) -> Vec<Chunk> {
    let words = if training {
        c.planes()
    } else {
        c.storage.planes(c.sh_degree)
    };
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < c.n_cap {
        let index = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let stride = (c.n_cap - first).min(c.chunk);
        let mut planes = |name: &str, tag: Tag, planes: u32| {
            // Bound nowhere when not training, but a tensor has at least a word.
            let (rows, row_bytes) = if planes == 0 {
                (1, 4)
            } else {
                (u64::from(stride), 4 * u64::from(planes))
            };
            table.add_rows(
                format!("model/{name}[{index}]"),
                Class::Persistent,
                tag,
                rows,
                row_bytes,
            )
        };
        let state = |planes: u32| if training { planes } else { 0 };
        chunks.push(Chunk {
            index,
            first,
            stride,
            storage: c.storage,
            planes: words,
            geometry: planes("geometry", Tag::Parameters, words.geometry),
            geometry_m: planes("geometry_m", Tag::Optimizer, state(words.geometry_m)),
            geometry_v: planes("geometry_v", Tag::Optimizer, state(words.geometry_v)),
            sh: planes("sh", Tag::Parameters, words.sh),
            sh_m: planes("sh_m", Tag::Optimizer, state(words.sh_m)),
            sh_v: planes("sh_v", Tag::Optimizer, state(words.sh_v)),
            filter_3d: planes("filter_3d", Tag::Statistics, 1),
            statistics: planes("statistics", Tag::Statistics, state(words.statistics)),
            visible_mask: table.add(
                format!("model/visible_mask[{index}]"),
                Class::Persistent,
                Tag::Statistics,
                u64::from(stride) / 8,
            ),
        });
        first += stride;
    }
    chunks
}
