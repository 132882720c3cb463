//! Programs with every pass that the engine can record.

use kiln::eval::lpips::{DEFAULT_BUDGET_BYTES, LpipsTensors};
use kiln::mesh::raster::{Chunks, Coat, DrawSizes, DrawTensors};
use kiln::step::{
    BandTensors, Capacities, DensifyTensors, LevelTensors, RecordBandTensors, ReorderTensors, ResidentImages,
    STAGING_BYTES, StepTensors, TriangleSizes, banded, banded_records, draw_neighbor, evaluate_view, find_neighbors,
    forget_moments, know_neighbors, level_points, prepare_levels, reorder, surface, train_step,
};
use kiln_gaussians::bound::Binding;
use kiln_gaussians::layout::Storage;
use kiln_gaussians::morton::Frame;
use kiln_kernels::camera_cull::Limits;
use kiln_kernels::density_terms::DensityTerms;
use kiln_kernels::filter_3d::{self, FilterIo};
use kiln_kernels::fusion::{self, Voxels};
use kiln_kernels::level::Level;
use kiln_kernels::mesh_gather::{self, GatherIo};
use kiln_kernels::surface_depth::{DepthKind, Depths};
use kiln_kernels::vertex_colors::{self, Vertices};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_kernels::{
    densify, depth_mask, error_guided, guard_bands, histogram, mcmc_relocate, opacity_reset, position_noise,
    prepare_args, probe, reference,
};
use kiln_mesh::Mesh;
use kiln_program::{Class, Program, Tag, TensorTable};

use crate::gpu::losses;

/// Every pass the engine can record on small tensors: lists of programs, each with how it sums up gradients.
///
/// # Panics
/// When LPIPS has no workspace for a small image.
#[must_use]
pub fn all() -> Vec<(Reduction, Vec<Program>)> {
    let mut capacities = Capacities::new(600, 600, 6000, 3, [(64, 48)]);
    let mut lists = Vec::new();
    for (index, (reduction, sort_subgroup, threads)) in [
        (Reduction::Segmented, 0, Threads::Columns),
        (Reduction::Segmented, 0, Threads::Lanes),
        (Reduction::Atomic, 16, Threads::Pixels),
        (Reduction::Segmented, 32, Threads::Pixels),
        (Reduction::CompareExchange, 0, Threads::Pixels),
        // These two once more, the other way round about masks.
        (Reduction::Atomic, 16, Threads::Pixels),
        (Reduction::Segmented, 0, Threads::Columns),
    ]
    .into_iter()
    .enumerate()
    {
        let variants = Variants {
            reduction,
            sort_subgroup,
            threads,
            loops: Loops::Long,
        };
        let mut table = TensorTable::default();
        let mut programs = Vec::new();
        // photos carry masks in every other list, and their cameras a lens
        capacities.masked = !capacities.masked;
        capacities.lens = capacities.masked;
        let with_masks: &[&str] = if capacities.masked { &["alpha"] } else { &[] };
        capacities.photo_cameras = if capacities.masked { 2 } else { 0 };
        capacities.losses = losses(with_masks);
        capacities.poses = if capacities.masked { 2 } else { 0 };
        capacities.storage = match capacities.storage {
            Storage::Exact => Storage::Half,
            Storage::Half => Storage::Compact,
            Storage::Compact => Storage::Exact,
        };
        // Colours wait from the fourth on where values are stored exactly.
        let waits = index >= 3 && capacities.storage == Storage::Exact;
        capacities.deferred_steps = if waits { 100 } else { 0 };
        let t = StepTensors::new(&mut table, &capacities, &variants);
        let d = DensifyTensors::new(&mut table, &capacities, STAGING_BYTES);
        let event = densify::Event {
            options: densify::Options::default(),
            extent: 1.0,
            capacity: 600,
        };
        programs.push(kiln::step::densify(&t, &d, &event));
        let births = error_guided::Births {
            curve: densify::GrowthCurve {
                from: 500,
                last: 900,
                ramp: 3.0,
                growth: 0.25,
            },
            exponents: error_guided::Exponents {
                error: 1.0,
                abs_gradient: 1.0,
            },
        };
        programs.push(kiln::step::error_guided(&t, &d, &event, &births));
        let event = mcmc_relocate::Event {
            dead_opacity: 0.005,
            growth: 0.05,
            capacity: 600,
        };
        programs.push(kiln::step::mcmc_relocate(&t, &d, &event));
        let cameras = FilterIo {
            cameras: t.filter.cameras,
            camera_count: 1,
            max_focal_px: 1.0,
            farthest: t.filter.farthest,
        };
        programs.push(kiln::step::camera_cull(&t, &d, &cameras, &Limits::default()));
        let sort = ReorderTensors::new(&mut table, &capacities, &variants);
        let mut program = Program::new("reorder");
        reorder(&mut program, &t, &sort, &Frame::new([0.0; 3], 1.0));
        programs.push(program);
        programs.push(train_step(&t));
        programs.push(evaluate_view(&t, &[]));
        let bands = BandTensors::new(&mut table, &capacities, &variants);
        programs.extend(banded(&t, &bands, &[]).into_values());
        let records = RecordBandTensors::new(&mut table, &t, true);
        programs.extend(banded_records(&t, &bands, &records, &[]).into_values());
        let mut program = Program::new("others");
        prepare_args::record(&mut program, &t.shared, &t.chunks);
        let io = FilterIo {
            cameras: t.filter.cameras,
            camera_count: 1,
            max_focal_px: 1.0,
            farthest: t.filter.farthest,
        };
        filter_3d::record(&mut program, &t.shared, &t.chunks, &io);
        opacity_reset::record(&mut program, &t.shared, &t.chunks, 0.01);
        position_noise::record(&mut program, &t.shared, &t.chunks);
        histogram::record(&mut program, &t.shared, &t.chunks, t.shared.args);
        let sample = probe::Sample::of(t.shared.args.bytes, probe::RUN_BYTES);
        probe::record(&mut program, t.shared.args, t.shared.args, sample);
        guard_bands::record(&mut program, t.shared.args, t.shared.uniforms, t.shared.args, 1, 0);
        programs.push(program);
        lists.push((reduction, programs));
    }
    lists.push((Reduction::Atomic, vec![fixed_work()]));
    lists.push((
        Reduction::Atomic,
        [Threads::Columns, Threads::Pixels]
            .into_iter()
            .flat_map(surfaces)
            .collect(),
    ));
    for (reduction, threads, storage) in [
        (Reduction::Segmented, Threads::Columns, Storage::Exact),
        (Reduction::Atomic, Threads::Pixels, Storage::Exact),
        (Reduction::CompareExchange, Threads::Pixels, Storage::Compact),
    ] {
        lists.push((reduction, trained_surfaces(reduction, threads, storage)));
        lists.push((reduction, dense(reduction, threads, storage)));
        lists.push((reduction, on_a_mesh(reduction, threads, storage)));
    }
    let mut table = TensorTable::default();
    let lpips = LpipsTensors::new(&mut table, DEFAULT_BUDGET_BYTES, [64, 48]).expect("a workspace");
    let programs = vec![lpips.program().clone()];
    // It sums up nothing.
    lists.push((Reduction::Segmented, programs));
    lists.push((Reduction::Segmented, meshes()));
    lists.push((Reduction::Segmented, triangles()));
    lists
}

/// Steps of triangles, with published gradients and with exact ones.
fn triangles() -> Vec<Program> {
    let mut table = TensorTable::default();
    let capacities = Capacities::new(600, 600, 6000, 3, [(64, 48)]);
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let mut programs = Vec::new();
    for exact in [false, true] {
        let sizes = TriangleSizes { vertices: 300, exact };
        let resident = ResidentImages::default();
        let t = StepTensors::for_triangles(&mut table, &capacities, sizes, &variants, resident);
        let bands = BandTensors::new(&mut table, &capacities, &variants);
        programs.extend([train_step(&t), evaluate_view(&t, &[])]);
        programs.extend(banded(&t, &bands, &[]).into_values());
    }
    programs
}

/// Drawing a mesh, and taking a photo into points on it.
fn meshes() -> Vec<Program> {
    let mut table = TensorTable::default();
    let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh::new(corners, vec![[0, 1, 2], [0, 2, 1]]).expect("a mesh");
    let sizes = DrawSizes {
        largest_px: [64, 48],
        samples: 2,
        whole: false,
    };
    let t = DrawTensors::new(&mut table, &Chunks::of(&mesh, 1), Coat::Plain, sizes);
    let mut small = |name: &str, bytes: u64| table.add(name, Class::Small, Tag::Other, bytes);
    let mut draw = Program::new("draw mesh");
    t.record_depths(&mut draw);
    t.record_triangles(&mut draw);
    t.record_shade(&mut draw, small("image", 16 * 64 * 48));
    let (mask, map) = (small("mask", 64 * 48), small("map", 16 * 64 * 48));
    depth_mask::record(&mut draw, t.samples.view, mask, map, 64 * 48);
    let io = GatherIo {
        view: t.samples.view,
        points: small("points", 160),
        depths: t.samples.depths,
        photo: small("photo", 3 * 64 * 48),
        sums: small("sums", 160),
    };
    let mut gather = Program::new("gather");
    t.record_depths(&mut gather);
    mesh_gather::record(&mut gather, &io, 10);
    vec![draw, gather]
}

/// Steps that train planes, whole and in bands of either kind.
fn trained_surfaces(reduction: Reduction, threads: Threads, storage: Storage) -> Vec<Program> {
    let mut capacities = Capacities::new(600, 600, 6000, 3, [(64, 48)]);
    capacities.storage = storage;
    capacities.masked = reduction == Reduction::Atomic;
    capacities.losses = losses(&["normals", "depth", "normal_map", "neighbour"]);
    capacities.poses = 2;
    let variants = Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    };
    let mut table = TensorTable::default();
    let t = StepTensors::new(&mut table, &capacities, &variants).for_surface_steps(&mut table);
    let bands = BandTensors::new(&mut table, &capacities, &variants);
    let records = RecordBandTensors::new(&mut table, &t, true);
    let mut programs = vec![train_step(&t)];
    programs.extend(banded(&t, &bands, &[]).into_values());
    programs.extend(banded_records(&t, &bands, &records, &[]).into_values());
    if let Some(t) = t.for_pair_steps(&mut table) {
        programs.extend(draw_neighbor(&t));
        programs.push(train_step(&t));
    }
    programs
}

/// What `kiln-lab bench` measures days by.
fn fixed_work() -> Program {
    let mut table = TensorTable::default();
    let values = table.add("values", Class::Persistent, Tag::Other, reference::BYTES);
    let mut program = Program::new("reference");
    reference::record(&mut program, values);
    program
}

/// Steps with terms of the density, which look at surfaces too or do not, and what they need.
fn dense(reduction: Reduction, threads: Threads, storage: Storage) -> Vec<Program> {
    let variants = Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    };
    let steps = |sdf: bool| {
        let mut capacities = Capacities::new(2000, 2000, 6000, 3, [(64, 48)]);
        capacities.storage = storage;
        capacities.masked = reduction == Reduction::Atomic;
        capacities.losses = losses(if sdf { &["dn_consistency"] } else { &[] });
        capacities.density = Some(DensityTerms {
            sdf,
            weight: 0.2,
            normal: 0.2,
            samples: 1000,
            k: 16,
            extent: 1.0,
        });
        let mut table = TensorTable::default();
        let t = StepTensors::new(&mut table, &capacities, &variants);
        let t = if sdf { t.for_surface_steps(&mut table) } else { t };
        let frame = Frame::new([0.0; 3], 1.0);
        let neighbors = find_neighbors(&t, &frame).into_iter().chain(know_neighbors(&t));
        [train_step(&t), forget_moments(&t)]
            .into_iter()
            .chain(neighbors)
            .collect::<Vec<_>>()
    };
    [false, true].into_iter().flat_map(steps).collect()
}

/// A step of Gaussians on the triangles of a mesh.
fn on_a_mesh(reduction: Reduction, threads: Threads, storage: Storage) -> Vec<Program> {
    let variants = Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    };
    let mut capacities = Capacities::new(600, 600, 6000, 3, [(64, 48)]);
    capacities.storage = storage;
    capacities.bound = Some(Binding {
        per_triangle: 3,
        vertices: 150,
        triangles: 200,
        inner_edges: 250,
        normal_consistency: 0.1,
    });
    let mut table = TensorTable::default();
    vec![train_step(&StepTensors::new(&mut table, &capacities, &variants))]
}

/// What depth, neighbours and meshes record.
///
/// # Panics
/// When there are no neighbours of a few Gaussians.
fn surfaces(threads: Threads) -> Vec<Program> {
    // So many that boxes of neighbours have boxes above them.
    let capacities = Capacities::new(2000, 2000, 6000, 3, [(64, 48)]);
    let variants = Variants {
        reduction: Reduction::Atomic,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    };
    let mut table = TensorTable::default();
    let t = StepTensors::for_surfaces(&mut table, &capacities, &variants);
    let depths = Depths {
        kind: DepthKind::Plane,
        far: 1.0,
        least_cosine: 0.0,
    };
    let level = Level {
        candidates: 100,
        density: 0.3,
        far: 1.0,
    };
    let level = LevelTensors::new(&mut table, &capacities, level, &variants).expect("neighbours");
    let mut program = Program::new("surface");
    surface(&mut program, &t, depths, Some(&level));
    let voxels = Voxels {
        origin: [0.0; 3],
        voxel: 1.0,
        radius: 0.0,
        truncation: 4.0,
        bricks: [1; 3],
    };
    let any = t.shared.args;
    let vertices = Vertices {
        positions: any,
        sums: t.shared.counters,
        count: 1,
    };
    fusion::record_touch(&mut program, t.shared.uniforms, t.pixels.image, any, &voxels, 1);
    fusion::record_integrate(
        &mut program,
        t.shared.uniforms,
        t.pixels.image,
        t.shared.counters,
        any,
        1,
        &voxels,
    );
    vertex_colors::record(
        &mut program,
        t.shared.uniforms,
        t.pixels.image,
        t.pixels.image,
        &vertices,
        &voxels,
    );
    let mut programs = level_points(&t, &level);
    programs.extend([program, prepare_levels(&t, &level, &Frame::new([0.0; 3], 1.0))]);
    programs
}
