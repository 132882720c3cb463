//! Every intermediate result of one step on the device, each checked against the CPU twin of the kernel that made it.
//!
//! A twin is fed with what the device fed its kernel, so a difference names the kernel and rounding does not add up.

use kiln::step::{Capacities, StepTensors, train_step};
use kiln_gaussians::layout::{self, Storage};
use kiln_kernels::counters::Counters;
use kiln_kernels::project::DEPTH_KEY_BITS;
use kiln_kernels::rasterize;
use kiln_kernels::views::{Reduction, Threads, Variants};
use kiln_program::Span;
use kiln_scene::Camera;
use kiln_twins::gaussian::{Gaussian, View as Eye};
use kiln_twins::loss::{Weights, loss, masked_loss};
use kiln_twins::project::{Visible, project, tile_rect};
use kiln_twins::project_backward::project_backward;
use kiln_twins::rasterize::{Raster, TileLists, rasterize};
use kiln_twins::rasterize_backward::{Gradient2d, ImageGradients, SurfaceGradients, rasterize_backward_of};
use kiln_twins::regularize::flatten;
use kiln_twins::step::target_from_u8;
use kiln_twins::surface::Plane;
use kiln_twins::{radix_sort, tile_grid, tile_intersect, tile_ranges};

use crate::compare::{close, same};
use crate::gpu::{Gpu, Keep};
use crate::twin::{BACKGROUND, RATES, Twin};

/// Which of two buffers a sort of keys with `key_bits` significant bits ends in.
#[must_use]
pub fn sorted_in(key_bits: u32, variants: &Variants) -> usize {
    let digit = if variants.sort_subgroup >= 16 { 8 } else { 4 };
    (key_bits.div_ceil(digit).max(1) % 2) as usize
}

fn scatter(variants: &Variants) -> &'static str {
    if variants.sort_subgroup >= 16 {
        "sort_scatter.subgroup"
    } else {
        "sort_scatter"
    }
}

fn raster(t: &StepTensors) -> &'static str {
    match (t.splats.plane, t.variants.threads) {
        (None, _) => rasterize::shader(&t.variants).name,
        (Some(_), Threads::Pixels) => "rasterize.surface",
        (Some(_), Threads::Columns | Threads::Lanes) => "rasterize.column_surface",
    }
}

fn project_pass(t: &StepTensors) -> &'static str {
    match (t.splats.plane, t.capacities.storage) {
        (None, Storage::Exact) => "project",
        (None, Storage::Half | Storage::Compact) => "project.half",
        (Some(_), Storage::Exact) => "project.surface",
        (Some(_), Storage::Half | Storage::Compact) => "project.half_surface",
    }
}

fn backward(t: &StepTensors) -> &'static str {
    match t.variants.reduction {
        Reduction::Segmented => "rasterize_backward.column_surface",
        Reduction::Atomic => "rasterize_backward.atomic_surface",
        Reduction::CompareExchange => "rasterize_backward.compare_exchange_surface",
    }
}

fn check_pass(t: &StepTensors) -> &'static str {
    match t.splats.gradient_d {
        None => "gradient_check",
        Some(_) => "gradient_check.surface",
    }
}

fn gradient(t: &StepTensors) -> &'static str {
    match t.variants.threads {
        Threads::Pixels => "loss_gradient_strip",
        Threads::Columns | Threads::Lanes => "loss_gradient",
    }
}

fn keeps(t: &StepTensors) -> Vec<Keep> {
    let v = &t.variants;
    let (scatter, raster) = (scatter(v), raster(t));
    let tile_sorted = sorted_in(t.capacities.tile_bits(), v);
    let (s, p) = (&t.splats, &t.pixels);
    let surfaces = s.plane.zip(s.gradient_d).zip(p.surface);
    let surfaces = surfaces.into_iter().flat_map(|((plane, gradient_d), surface)| {
        [
            (plane, project_pass(t)),
            (surface.gradient, backward(t)),
            (surface.normal_gradient, backward(t)),
            (gradient_d, check_pass(t)),
        ]
    });
    [
        (s.position, project_pass(t)),
        (s.conic, project_pass(t)),
        (s.color, project_pass(t)),
        (s.tile_counts, project_pass(t)),
        (t.depth_sort.values[sorted_in(DEPTH_KEY_BITS, v)], scatter),
        (t.tile_sort.keys[0], "emit"),
        (t.tile_sort.values[0], "emit"),
        (t.intersections.owners, "emit"),
        (t.tile_sort.keys[tile_sorted], scatter),
        (t.tile_sort.values[tile_sorted], scatter),
        (t.intersections.tile_ranges, "tile_ranges"),
        (p.image, raster),
        (p.last_contributor, raster),
        (p.gradient, gradient(t)),
        (s.gradient_a, check_pass(t)),
        (s.gradient_b, check_pass(t)),
        (s.gradient_c, check_pass(t)),
    ]
    .into_iter()
    .chain(surfaces)
    .map(|(view, after)| Keep { view, after })
    .collect()
}

/// A training step that keeps all intermediate results.
#[must_use]
pub fn staged(capacities: &Capacities, variants: &Variants) -> Gpu {
    Gpu::new(capacities, variants, train_step, keeps)
}

/// The same with planes, see [`Gpu::of_surfaces`].
#[must_use]
pub fn staged_surfaces(capacities: &Capacities, variants: &Variants) -> (Gpu, [Span; 2]) {
    Gpu::of_surfaces(capacities, variants, keeps)
}

/// Planes of a step.
#[derive(Clone, Debug)]
pub struct Surfaces {
    /// One per visible Gaussian.
    pub planes: Vec<Plane<f32>>,
    /// Gradient of the loss by the blended planes.
    pub by_pixel: Vec<Plane<f32>>,
    /// Gradient of the loss of planes by the final transmittance.
    pub by_transmittance: Vec<f32>,
}

/// What the device made in one step of a [`staged`] program.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Records of the visible Gaussians.
    pub visible: Vec<Visible<f32>>,
    /// Indices into `visible`, nearest first.
    pub depth_order: Vec<u32>,
    /// Tile and splat of each pair in emission order.
    pub emitted: (Vec<u32>, Vec<u32>),
    /// Tile and splat of each pair after the sort.
    pub sorted: (Vec<u32>, Vec<u32>),
    /// Ranges of the tiles in `sorted`.
    pub ranges: Vec<[u32; 2]>,
    /// The image.
    pub raster: Raster<f32>,
    /// Gradient of the loss by the image.
    pub image_gradient: Vec<[f32; 3]>,
    /// One per visible Gaussian.
    pub gradients_2d: Vec<Gradient2d<f32>>,
    /// Of a step that trains them.
    pub surfaces: Option<Surfaces>,
}

/// Ids of the Gaussians whose bit is set in the visibility mask.
fn visible_ids(gpu: &mut Gpu) -> Vec<u32> {
    let mut ids = Vec::new();
    for chunk in gpu.tensors.chunks.clone() {
        let words: Vec<u32> = gpu.read(chunk.visible_mask, (chunk.stride / 32) as usize);
        ids.extend(
            (0..chunk.stride)
                .filter(|i| words[(i / 32) as usize] >> (i % 32) & 1 == 1)
                .map(|i| chunk.first + i),
        );
    }
    ids
}

impl Stages {
    /// Downloads what the last run of `gpu` kept.
    #[must_use]
    pub fn read(gpu: &mut Gpu, status: &Counters, camera: &Camera) -> Self {
        let t = gpu.tensors.clone();
        let (n, pairs) = (status.visible as usize, status.intersections as usize);
        let size = [camera.width_px, camera.height_px];
        let (pixels, grid) = ((size[0] * size[1]) as usize, tile_grid(size[0], size[1]));
        let position: Vec<[f32; 4]> = gpu.kept(t.splats.position, project_pass(&t), n);
        let conic: Vec<[f32; 4]> = gpu.kept(t.splats.conic, project_pass(&t), n);
        let color: Vec<[f32; 4]> = gpu.kept(t.splats.color, project_pass(&t), n);
        let counts: Vec<u32> = gpu.kept(t.splats.tile_counts, project_pass(&t), n);
        let visible = visible_ids(gpu)
            .into_iter()
            .enumerate()
            .map(|(i, id)| {
                let ([x, y, radius, opacity], clamped) = (position[i], color[i][3] as u32);
                Visible {
                    id,
                    mean_px: [x, y],
                    depth: conic[i][3],
                    conic: [conic[i][0], conic[i][1], conic[i][2]],
                    opacity,
                    rgb: [color[i][0], color[i][1], color[i][2]],
                    clamped: std::array::from_fn(|c| clamped >> c & 1 == 1),
                    radius_px: radius,
                    rect: tile_rect([x, y], radius, size),
                    n_tiles: counts[i],
                }
            })
            .collect();
        let tile_sorted = sorted_in(t.capacities.tile_bits(), &t.variants);
        let owners: Vec<u32> = gpu.kept(
            t.intersections.owners,
            "emit",
            if t.variants.owners() == 1 { pairs } else { 0 },
        );
        let splats = |payloads: Vec<u32>| -> Vec<u32> {
            if t.variants.owners() == 1 {
                payloads.iter().map(|p| owners[*p as usize]).collect()
            } else {
                payloads
            }
        };
        let emitted = (
            gpu.kept(t.tile_sort.keys[0], "emit", pairs),
            splats(gpu.kept(t.tile_sort.values[0], "emit", pairs)),
        );
        let sorted = (
            gpu.kept(t.tile_sort.keys[tile_sorted], scatter(&t.variants), pairs),
            splats(gpu.kept(t.tile_sort.values[tile_sorted], scatter(&t.variants), pairs)),
        );
        let image: Vec<[f32; 4]> = gpu.kept(t.pixels.image, raster(&t), pixels);
        let gradient: Vec<[f32; 4]> = gpu.kept(t.pixels.gradient, gradient(&t), pixels);
        let a: Vec<[f32; 4]> = gpu.kept(t.splats.gradient_a, check_pass(&t), n);
        let b: Vec<[f32; 4]> = gpu.kept(t.splats.gradient_b, check_pass(&t), n);
        let c: Vec<[f32; 4]> = gpu.kept(t.splats.gradient_c, check_pass(&t), n);
        let rgb = |p: &[f32; 4]| [p[0], p[1], p[2]];
        let mut planes = |view, after, n| -> Vec<Plane<f32>> {
            let found: Vec<[f32; 4]> = gpu.kept(view, after, n);
            let plane = |p: &[f32; 4]| Plane {
                normal: rgb(p),
                distance: p[3],
            };
            found.iter().map(plane).collect()
        };
        let d = t.splats.gradient_d.map(|view| planes(view, check_pass(&t), n));
        let surfaces = t.splats.plane.zip(t.pixels.surface).map(|(plane, surface)| Surfaces {
            planes: planes(plane, project_pass(&t), n),
            by_pixel: planes(surface.gradient, backward(&t), pixels),
            by_transmittance: planes(surface.normal_gradient, backward(&t), pixels)
                .iter()
                .map(|g| -g.distance)
                .collect(),
        });
        Self {
            visible,
            depth_order: gpu.kept(
                t.depth_sort.values[sorted_in(DEPTH_KEY_BITS, &t.variants)],
                scatter(&t.variants),
                n,
            ),
            emitted,
            sorted,
            ranges: gpu.kept(t.intersections.tile_ranges, "tile_ranges", (grid[0] * grid[1]) as usize),
            raster: Raster {
                rgb: image.iter().map(rgb).collect(),
                transmittance: image.iter().map(|p| p[3]).collect(),
                last: gpu.kept(t.pixels.last_contributor, raster(&t), pixels),
            },
            image_gradient: gradient.iter().map(rgb).collect(),
            gradients_2d: (0..n)
                .map(|i| Gradient2d {
                    mean_px: [a[i][0], a[i][1]],
                    conic: rgb(&b[i]),
                    opacity: a[i][2],
                    rgb: rgb(&c[i]),
                    abs_ndc: a[i][3],
                    plane: d.as_ref().map_or(Plane::ZERO, |d| d[i]),
                })
                .collect(),
            surfaces,
        }
    }

    /// Checks every stage against its twin. `before` is the reference with the model as it was before the step.
    ///
    /// # Panics
    /// At the first stage that differs.
    pub fn check(&self, before: &Twin, camera: &Camera, target: &[u8], status: &Counters) {
        self.check_records(before, camera);
        let size = [camera.width_px, camera.height_px];
        let grid = tile_grid(size[0], size[1]);
        same(
            "depth order",
            &self.depth_order,
            &tile_intersect::depth_order(&self.visible, Eye::new(camera).near_z),
        );
        let pairs = tile_intersect::emit(&self.visible, &self.depth_order, grid[0], &before.settings);
        same("emitted tiles", &self.emitted.0, &pairs.tiles);
        same("emitted splats", &self.emitted.1, &pairs.visible);
        let (tiles, splats) = radix_sort::sort_pairs(&self.emitted.0, &self.emitted.1);
        same("sorted tiles", &self.sorted.0, &tiles);
        same("sorted splats", &self.sorted.1, &splats);
        let ranges = tile_ranges::tile_ranges(&tiles, self.ranges.len());
        for (tile, (found, wanted)) in self.ranges.iter().zip(&ranges).enumerate() {
            let empty = wanted[0] == wanted[1] && found[0] == found[1];
            assert!(
                empty || found == wanted,
                "range of tile {tile}: {found:?}, not {wanted:?}"
            );
        }
        let lists = TileLists {
            ranges,
            visible: splats,
        };
        let raster = rasterize(size, &self.visible, &lists, BACKGROUND);
        close(
            "image",
            self.raster.rgb.as_flattened(),
            raster.rgb.as_flattened(),
            1e-6,
            1e-5,
        );
        close(
            "transmittance",
            &self.raster.transmittance,
            &raster.transmittance,
            1e-6,
            1e-4,
        );
        let other = self
            .raster
            .last
            .iter()
            .zip(&raster.last)
            .filter(|(a, b)| a != b)
            .count();
        assert!(
            other * 500 <= raster.last.len(),
            "last contributors: {other} of {}",
            raster.last.len()
        );

        let (rgb, mask) = target.split_at(3 * (size[0] * size[1]) as usize);
        let wanted = if mask.is_empty() {
            loss(size, &self.raster.rgb, &target_from_u8(rgb), Weights::default())
        } else {
            let mask = &mask[rgb.len().next_multiple_of(4) - rgb.len()..];
            let mask: Vec<f32> = mask.iter().map(|v| f32::from(*v) / 255.0).collect();
            masked_loss(size, &self.raster.rgb, &target_from_u8(rgb), &mask, Weights::default())
        };
        let found = [status.loss, status.l1, status.ssim];
        close("loss", &found, &[wanted.total, wanted.l1, wanted.ssim], 1e-5, 1e-5);
        close(
            "image gradient",
            self.image_gradient.as_flattened(),
            wanted.gradient.as_flattened(),
            1e-6,
            1e-4,
        );
        self.check_gradients(&lists, size);
    }

    fn check_records(&self, before: &Twin, camera: &Camera) {
        let eye = Eye::new(camera);
        let wanted: Vec<Visible<f32>> = (0..)
            .zip(before.gaussians.iter().zip(&before.filter_3d))
            .filter_map(|(id, (gaussian, &filter))| project(id, gaussian, filter, &eye, &before.settings))
            .collect();
        let ids = |list: &[Visible<f32>]| -> Vec<u32> { list.iter().map(|v| v.id).collect() };
        same("visible Gaussians", &ids(&self.visible), &ids(&wanted));
        let compare = |what: &str, absolute: f64, relative: f64, value: fn(&Visible<f32>) -> Vec<f32>| {
            let list = |v: &[Visible<f32>]| -> Vec<f32> { v.iter().flat_map(value).collect() };
            close(what, &list(&self.visible), &list(&wanted), absolute, relative);
        };
        compare("position", 1e-3, 1e-6, |v| v.mean_px.to_vec());
        compare("depth", 1e-5, 1e-6, |v| vec![v.depth]);
        compare("conic", 1e-4, 2e-5, |v| v.conic.to_vec());
        compare("opacity", 1e-5, 1e-5, |v| vec![v.opacity]);
        compare("colour", 1e-5, 1e-5, |v| v.rgb.to_vec());
        let differ = |what: &str, other: fn(&Visible<f32>, &Visible<f32>) -> bool| {
            let count = self.visible.iter().zip(&wanted).filter(|(a, b)| other(a, b)).count();
            assert!(
                count * 200 <= wanted.len(),
                "{what}: {count} of {} differ",
                wanted.len()
            );
        };
        differ("clamped channels", |a, b| a.clamped != b.clamped);
        // Radii are whole pixels, beyond 2^24 whole multiples of them.
        differ("radius", |a, b| (a.radius_px - b.radius_px).abs() > 1e-6 * b.radius_px);
        differ("tile counts", |a, b| a.n_tiles != b.n_tiles);
    }

    fn check_gradients(&self, lists: &TileLists, size: [u32; 2]) {
        let gradients = ImageGradients {
            rgb: &self.image_gradient,
            transmittance: None,
            surface: self.surfaces.as_ref().map(|surfaces| SurfaceGradients {
                planes: &surfaces.planes,
                by_pixel: &surfaces.by_pixel,
                by_transmittance: &surfaces.by_transmittance,
            }),
        };
        let wanted = rasterize_backward_of(size, &self.visible, lists, BACKGROUND, &self.raster, &gradients);
        let compare = |what: &str, value: fn(&Gradient2d<f32>) -> Vec<f32>| {
            let list = |g: &[Gradient2d<f32>]| -> Vec<f32> { g.iter().flat_map(value).collect() };
            close(what, &list(&self.gradients_2d), &list(&wanted), 1e-4, 1e-4);
        };
        compare("gradient of positions", |g| g.mean_px.to_vec());
        compare("gradient of conics", |g| g.conic.to_vec());
        compare("gradient of opacities", |g| vec![g.opacity]);
        compare("gradient of colours", |g| g.rgb.to_vec());
        compare("absolute statistic", |g| vec![g.abs_ndc]);
        compare("gradient of normals", |g| g.plane.normal.to_vec());
        compare("gradient of planes' distances", |g| vec![g.plane.distance]);
    }

    /// The twin's gradients of every Gaussian from this step's 2D gradients, and what the step adds to its statistics.
    #[must_use]
    pub fn gradients(&self, before: &Twin, camera: &Camera) -> (Vec<Gaussian<f32>>, Vec<[f32; 3]>) {
        let eye = Eye::new(camera);
        let mut gradients = vec![Gaussian::<f32>::ZERO; before.gaussians.len()];
        let seen = |shown: bool| [0.0, 0.0, f32::from(u8::from(shown))];
        let mut statistics: Vec<[f32; 3]> = before.shown(camera).into_iter().map(seen).collect();
        for (record, g) in self.visible.iter().zip(&self.gradients_2d) {
            let id = record.id as usize;
            let out = project_backward(
                &before.gaussians[id],
                before.filter_3d[id],
                &eye,
                &before.settings,
                record,
                g,
            );
            if let Some(out) = out {
                gradients[id] = out.gradient;
                statistics[id] = [out.mean_ndc_norm, g.abs_ndc, 1.0];
            }
        }
        let visible: Vec<u32> = self.visible.iter().map(|record| record.id).collect();
        flatten(&before.gaussians, &mut gradients, &visible, before.flat.into());
        (gradients, statistics)
    }

    /// Checks the update of a first step: moments against the twin's gradients from this step's 2D gradients, new
    /// parameters against Adam on the device's own moments (a rounding difference in a tiny gradient turns its sign, and
    /// a first step is as long as the learning rate whatever the gradient), statistics.
    ///
    /// # Panics
    /// When they differ.
    pub fn check_update(&self, gpu: &mut Gpu, before: &Twin, camera: &Camera) {
        let n = before.gaussians.len();
        let degree = gpu.tensors.capacities.sh_degree;
        let used = (layout::GEOMETRY_PLANES + layout::sh_planes(degree)) as usize;
        let (gradients, statistics) = self.gradients(before, camera);
        let parameters = gpu.values(|c| c.geometry, |c| c.sh, n);
        let first = gpu.values(|c| c.geometry_m, |c| c.sh_m, n);
        let second = gpu.values(|c| c.geometry_v, |c| c.sh_v, n);
        let spans = [0..3, 3..7, 7..10, 10..11, 11..14, 14..used];
        let names = ["means", "quaternions", "scales", "opacities", "SH 0", "higher SH"];
        for ((name, span), rate) in names.into_iter().zip(spans).zip(RATES) {
            let flat = |list: &[Vec<f32>]| -> Vec<f32> { list.iter().flat_map(|v| v[span.clone()].to_vec()).collect() };
            let gradient: Vec<f32> = gradients
                .iter()
                .flat_map(|g| g.values()[span.clone()].to_vec())
                .collect();
            let old: Vec<f32> = before
                .gaussians
                .iter()
                .flat_map(|g| g.values()[span.clone()].to_vec())
                .collect();
            let m: Vec<f32> = gradient.iter().map(|g| 0.1 * g).collect();
            let v: Vec<f32> = gradient.iter().map(|g| 0.001 * g * g).collect();
            close(&format!("first moment of {name}"), &flat(&first), &m, 1e-4, 2e-4);
            close(&format!("second moment of {name}"), &flat(&second), &v, 1e-4, 5e-4);
            let moved: Vec<f32> = (old.iter().zip(flat(&first).iter().zip(flat(&second))))
                .map(|(old, (m, v))| {
                    let (m, v) = (f64::from(*m) / 0.1, f64::from(v) / 0.001);
                    (f64::from(*old) - rate * m / (v.sqrt() + 1e-15)) as f32
                })
                .collect();
            close(&format!("new {name}"), &flat(&parameters), &moved, 1e-5, 1e-5);
        }
        let found = gpu.planes(|c| c.statistics, 3, n);
        for (channel, name) in ["gradient sum", "absolute sum", "count"].into_iter().enumerate() {
            let found: Vec<f32> = found.iter().map(|s| s[channel]).collect();
            let wanted: Vec<f32> = statistics.iter().map(|s| s[channel]).collect();
            close(&format!("statistic: {name}"), &found, &wanted, 1e-2, 1e-5);
        }
    }
}
