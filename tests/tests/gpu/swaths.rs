//! Images larger than a binding: cut into swaths, steps and evaluations give the bytes that they give in one piece.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, StepTensors, evaluate_view, train_step};
use kiln_kernels::uniforms::flags;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::{Command, Program};
use kiln_tests::gpu::{Gpu, losses, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

/// Bindings of these sizes cut the image for the maps of the loss alone, for images too, and for the ground truth as well.
const BINDINGS: [u64; 3] = [600_000, 430_000, 60_000];

/// Neither side is a multiple of a tile.
fn scene() -> Scene {
    Scene {
        seed: 57,
        size: [70, 410],
        count: 700,
        ..Scene::default()
    }
}

fn capacities(binding_bytes: u64) -> Capacities {
    let scene = scene();
    let size = (scene.size[0], scene.size[1]);
    let mut c = Capacities::new(scene.count, scene.count, 60 * scene.count, scene.sh_degree, [size; 2]);
    c.binding_bytes = binding_bytes;
    c
}

const fn variants(reduction: Reduction, threads: Threads) -> Variants {
    Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    }
}

/// Passes of a shader in a program.
fn passes(program: &Program, shader: &str) -> usize {
    program.commands.iter().filter(|c| c.name() == shader).count()
}

/// The bits of losses and model after three steps.
fn trained(c: &Capacities, variants: &Variants) -> (Vec<[u32; 3]>, Vec<u8>) {
    let scene = scene();
    let mut gpu = Gpu::training(c, variants);
    gpu.load(&scene.model());
    for learnt in gpu.tensors.learnt(&[]) {
        gpu.device.write(&learnt.state, &learnt.start).expect("upload");
    }
    let target = if c.masked {
        scene.masked_target()
    } else {
        scene.target()
    };
    let losses = (1..=3).map(|iteration| {
        let mut camera = scene.camera();
        camera.translation[0] += 0.2 * iteration as f32;
        let mut u = uniforms(&camera, scene.sh_degree, iteration);
        if c.losses.need(|needs| needs.masks) {
            u.weights[3] = 0.3;
            u.flags |= flags::ALPHA_GRADIENT;
        }
        let status = gpu.run(iteration % 2, &u, &target);
        assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");
        [status.loss, status.l1, status.ssim].map(f32::to_bits)
    });
    let losses = losses.collect();
    let bytes = gpu.state_bytes(scene.count as usize);
    gpu.assert_valid();
    (losses, bytes)
}

#[test]
fn steps_in_swaths_give_the_same_bytes() {
    let subgroup = open().caps().subgroup_size;
    let list = [
        variants(Reduction::Segmented, Threads::Columns),
        variants(Reduction::Segmented, Threads::Pixels),
        variants(Reduction::Segmented, Threads::Lanes),
    ];
    for variants in list.iter().filter(|v| v.threads != Threads::Lanes || subgroup == 8) {
        let whole = trained(&capacities(u64::MAX), variants);
        for (binding, maps, images) in [(BINDINGS[0], 4, 1), (BINDINGS[1], 8, 2), (BINDINGS[2], 23, 23)] {
            let c = capacities(binding);
            let mut table = kiln_program::TensorTable::default();
            let program = train_step(&StepTensors::new(&mut table, &c, variants));
            let shaders = match variants.threads {
                Threads::Columns => ["loss_gradient", "rasterize.column"],
                Threads::Lanes => ["loss_gradient", "rasterize_lanes"],
                Threads::Pixels => ["loss_gradient_strip", "rasterize"],
            };
            let counts = shaders.map(|shader| passes(&program, shader));
            assert_eq!(counts, [maps, images], "{variants:?}, {binding}");
            let found = trained(&c, variants);
            assert!(found == whole, "{variants:?}: bytes in swaths of {binding} are others");
        }
    }
}

#[test]
fn masks_coverage_and_exposures_in_swaths() {
    let variants = variants(Reduction::Segmented, Threads::Columns);
    let with = |binding| {
        let mut c = capacities(binding);
        c.masked = true;
        c.losses = losses(&["alpha"]);
        c.photo_cameras = 1;
        c
    };
    let whole = trained(&with(u64::MAX), &variants);
    for binding in BINDINGS {
        assert!(trained(&with(binding), &variants) == whole, "{binding}");
    }
}

/// Sums of atomics differ from run to run; losses of the first step and all figures of an evaluation do not.
#[test]
fn evaluations_in_swaths_give_the_same_sums() {
    for variants in [
        variants(Reduction::Segmented, Threads::Columns),
        variants(Reduction::Atomic, Threads::Pixels),
    ] {
        let sums = |binding: u64| -> Vec<u32> {
            let scene = scene();
            let c = capacities(binding);
            let mut gpu = Gpu::new(
                &c,
                &variants,
                |t| evaluate_view(t, &[]),
                |t| {
                    vec![kiln_tests::gpu::Keep {
                        view: t.metric_sums,
                        after: "ssim_maps.metrics",
                    }]
                },
            );
            gpu.load(&scene.model());
            let u = uniforms(&scene.camera(), scene.sh_degree, 1);
            assert_eq!(gpu.run(0, &u, &scene.target()).stalled, 0);
            gpu.assert_valid();
            let view = gpu.tensors.metric_sums;
            gpu.kept(view, "ssim_maps.metrics", c.max_tiles as usize * 8)
        };
        let whole = sums(u64::MAX);
        for binding in BINDINGS {
            assert_eq!(sums(binding), whole, "{variants:?}, {binding}");
        }
    }
}

/// With the limits of a binding as they are, no pass binds more than that.
#[test]
fn no_pass_binds_more_than_it_may() {
    let binding = 128 << 20;
    for sizes in [[4000, 3000], [6000, 4000], [8256, 5504]] {
        for threads in [Threads::Columns, Threads::Pixels] {
            let mut c = Capacities::new(1000, 1000, 1 << 20, 3, [(sizes[0], sizes[1])]);
            c.binding_bytes = binding;
            c.photo_cameras = 1;
            let mut table = kiln_program::TensorTable::default();
            let tensors = StepTensors::new(&mut table, &c, &variants(Reduction::Segmented, threads));
            for program in [train_step(&tensors), evaluate_view(&tensors, &[])] {
                for command in &program.commands {
                    let Command::Dispatch(pass) = command else { continue };
                    for view in &pass.views {
                        assert!(
                            view.bytes <= binding,
                            "{} of {sizes:?} binds {view:?}",
                            pass.shader.name
                        );
                        assert_eq!(view.offset % 256, 0, "{}", pass.shader.name);
                    }
                }
            }
        }
    }
}
