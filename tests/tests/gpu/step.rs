//! Every kernel of the training step on the device against its CPU twin, over shapes, variants and odd inputs.

use kiln::step::Capacities;
use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::flags;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_scene::Fisheye;
use kiln_tests::child;
use kiln_tests::gpu::open;
use kiln_tests::scenes::{Scene, fisheye};
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{Twin, uniforms};
use kiln_twins::dropout::Dropout;
use kiln_twins::project::Filter2d;

fn capacities(scene: &Scene, chunk: u32) -> Capacities {
    let tiles = scene.size[0].div_ceil(16) * scene.size[1].div_ceil(16);
    let most = scene.count * tiles.min(150);
    let mut c = Capacities::new(
        scene.count,
        scene.count,
        most,
        scene.sh_degree,
        [(scene.size[0], scene.size[1])],
    );
    c.chunk = chunk;
    c.lens = scene.lens.is_some();
    c
}

const ALL: [Variants; 5] = [
    portable(Reduction::Segmented, Threads::Columns),
    portable(Reduction::Segmented, Threads::Pixels),
    portable(Reduction::Atomic, Threads::Columns),
    portable(Reduction::Atomic, Threads::Pixels),
    LANES,
];

/// The rasterisers of CPU drivers whose subgroups have eight lanes, as most have.
const LANES: Variants = Variants {
    threads: Threads::Lanes,
    ..portable(Reduction::Segmented, Threads::Columns)
};

/// Sums added by comparing and exchanging, with the rasteriser of devices that need it.
const EXCHANGE: Variants = portable(Reduction::CompareExchange, Threads::Pixels);

const fn portable(reduction: Reduction, threads: Threads) -> Variants {
    Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    }
}

/// Runs one step of `model` in every variant of `list` and checks each stage; returns the last status' visible count.
fn check(scene: &Scene, model: &Gaussians, list: &[Variants], chunk: u32) -> usize {
    check_until(scene, model, list, chunk, true)
}

/// [`check`] with or without the update.
fn check_until(scene: &Scene, model: &Gaussians, list: &[Variants], chunk: u32, update: bool) -> usize {
    check_flags(scene, model, list, chunk, update, 0)
}

/// [`check_until`] with further flags of the step, which the reference follows.
fn check_flags(scene: &Scene, model: &Gaussians, list: &[Variants], chunk: u32, update: bool, bits: u32) -> usize {
    check_dropout(scene, model, list, chunk, update, (bits, 0.0))
}

/// [`check_flags`] of a step that leaves out a share of the Gaussians.
fn check_dropout(
    scene: &Scene,
    model: &Gaussians,
    list: &[Variants],
    chunk: u32,
    update: bool,
    (bits, share): (u32, f32),
) -> usize {
    let (camera, target) = (scene.camera(), scene.target());
    let mut u = uniforms(&camera, scene.sh_degree, 1);
    u.flags |= bits;
    u.dropout = share;
    u.seed = 77;
    let mut before = Twin::new(model);
    if bits & flags::CLASSIC != 0 {
        before.settings.filter_2d = Filter2d::Classic;
        u.background[3] = before.settings.filter_2d.variance_px2() as f32;
    }
    before.settings.dropout = (share > 0.0).then_some(Dropout {
        share,
        seed: 77,
        iteration: 1,
    });
    let mut visible = 0;
    let lanes = open().caps().subgroup_size;
    for variants in list.iter().filter(|v| v.threads != Threads::Lanes || lanes == 8) {
        // Seen where the check fails.
        println!("{variants:?}");
        let mut gpu = staged(&capacities(scene, chunk), variants);
        gpu.load(model);
        let status = gpu.run(1, &u, &target);
        assert_eq!(
            (status.stalled, status.nonfinite, status.skipped),
            (0, 0, 0),
            "{status:?}"
        );
        assert_eq!(status.iteration, 1);
        let stages = Stages::read(&mut gpu, &status, &camera);
        stages.check(&before, &camera, &target, &status);
        if update {
            stages.check_update(&mut gpu, &before, &camera);
        }
        let values = gpu.values(|c| c.geometry, |c| c.sh, model.len());
        assert!(values.iter().flatten().all(|v| v.is_finite()));
        gpu.assert_valid();
        visible = stages.visible.len();
    }
    visible
}

fn check_scene(scene: &Scene, list: &[Variants], chunk: u32) -> usize {
    check(scene, &scene.model(), list, chunk)
}

/// The loss of a masked photo, whose bytes begin and end anywhere in a word and a tile.
#[test]
fn masked_photos() {
    for (seed, size) in [(71, [64, 48]), (72, [37, 51])] {
        let scene = Scene {
            seed,
            size,
            ..Scene::default()
        };
        let (model, camera, target) = (scene.model(), scene.camera(), scene.masked_target());
        let mut c = capacities(&scene, 512);
        c.masked = true;
        let mut gpu = staged(&c, &ALL[0]);
        gpu.load(&model);
        let before = Twin::new(&model);
        let status = gpu.run(1, &uniforms(&camera, scene.sh_degree, 1), &target);
        let stages = Stages::read(&mut gpu, &status, &camera);
        stages.check(&before, &camera, &target, &status);
        let hidden = scene.mask();
        let gradients = stages.image_gradient.iter().zip(&hidden);
        assert!(gradients.clone().any(|(_, counts)| !counts));
        let mut masked = gradients.filter(|(_, counts)| !**counts);
        assert!(masked.all(|(gradient, _)| *gradient == [0.0; 3]), "masked pixels pull");
        gpu.assert_valid();
    }
}

#[test]
fn plain_scene_in_all_variants() {
    assert!(check_scene(&Scene::default(), &ALL, 1024) > 200);
    let exchange = [EXCHANGE, portable(Reduction::CompareExchange, Threads::Columns)];
    assert!(check_scene(&Scene::default(), &exchange, 1024) > 200);
}

/// What is left out takes no part, not even as something faint, and the others are more opaque, some of them than 1.
#[test]
fn dropped_gaussians_follow_the_reference() {
    let scene = Scene {
        seed: 43,
        size: [70, 45],
        opacities: [0.02, 0.9],
        ..Scene::default()
    };
    let (model, list) = (scene.model(), ALL);
    let all = check_scene(&scene, &list[..1], 256);
    let mut last = all;
    for share in [0.1, 0.4] {
        let left = check_dropout(&scene, &model, &list, 256, true, (0, share));
        let wanted = (1.0 - share) * all as f32;
        assert!(
            left < last && (left as f32 - wanted).abs() < 0.12 * all as f32,
            "{left} of {all}"
        );
        last = left;
    }
    check_dropout(&scene, &model, &list, 256, true, (flags::CLASSIC, 0.3));
}

#[test]
fn classic_models_follow_the_reference() {
    let scene = Scene {
        seed: 42,
        scales: [0.002, 0.3],
        filter_3d: 0.0,
        ..Scene::default()
    };
    let mut model = scene.model();
    // Nothing keeps a scale from vanishing; the dilation still shows such a Gaussian.
    for log_scale in model.log_scales.iter_mut().step_by(17) {
        *log_scale = [-60.0; 3];
    }
    let visible = check_flags(&scene, &model, &ALL, 512, true, flags::CLASSIC);
    assert!(visible > 200, "{visible}");
}

#[test]
fn sides_that_are_no_multiple_of_a_tile() {
    let scene = Scene {
        seed: 2,
        size: [70, 33],
        ..Scene::default()
    };
    check_scene(&scene, &ALL, 512);
}

#[test]
fn one_pixel() {
    let scene = Scene {
        seed: 3,
        size: [1, 1],
        focal: 1.0,
        count: 40,
        scales: [0.5, 2.0],
        ..Scene::default()
    };
    check_scene(&scene, &ALL, 256);
}

#[test]
fn thin_and_long() {
    for size in [[8191, 17], [17, 8191]] {
        let scene = Scene {
            seed: 4,
            size,
            focal: 4000.0,
            count: 24,
            scales: [0.004, 0.1],
            spread: [3.5, 3.5, 0.5],
            ..Scene::default()
        };
        check_scene(&scene, &ALL[..1], 256);
        check_scene(&scene, &ALL[3..], 256);
    }
}

#[test]
fn principal_point_off_centre() {
    let scene = Scene {
        seed: 5,
        shift: [25.0, -17.5],
        spread: [4.0, 3.0, 3.0],
        ..Scene::default()
    };
    check_scene(&scene, &[ALL[0], ALL[3]], 1024);
}

/// A camera amid the Gaussians that sees what is beside it and behind it, in all variants and in chunks; and a pinhole where
/// other cameras have a lens.
#[test]
fn through_a_fisheye() {
    let scene = Scene {
        seed: 23,
        count: 700,
        size: [75, 52],
        scales: [0.02, 0.15],
        focal: 21.0,
        shift: [2.5, -1.5],
        lens: Some(fisheye(1.8)),
        ..Scene::default()
    };
    assert!(check_scene(&scene, &ALL, 256) > 300);
    let wide = Scene {
        lens: Some(Fisheye {
            radial: [0.0; 4],
            ..fisheye(2.5)
        }),
        focal: 14.0,
        scales: [0.02, 0.5],
        ..scene
    };
    assert!(check_scene(&wide, &ALL[..1], 256) > 300);
    let narrow = Scene {
        lens: Some(fisheye(0.9)),
        scales: [0.1, 0.5],
        count: 200,
        ..scene
    };
    assert!(check_flags(&narrow, &narrow.model(), &ALL[..1], 256, true, flags::CLASSIC) > 50);
    let pinhole = Scene { lens: None, ..scene };
    let mut c = capacities(&pinhole, 256);
    c.lens = true;
    let images = [c, capacities(&pinhole, 256)].map(|c| {
        let mut gpu = staged(&c, &ALL[0]);
        gpu.load(&pinhole.model());
        let camera = pinhole.camera();
        let status = gpu.run(1, &uniforms(&camera, pinhole.sh_degree, 1), &pinhole.target());
        assert!(status.stalled == 0 && status.visible > 100, "{status:?}");
        gpu.values(|c| c.geometry, |c| c.sh, pinhole.count as usize)
    });
    assert_eq!(images[0], images[1], "a pinhole's step is the same bytes");
}

#[test]
fn every_sh_degree() {
    for sh_degree in 0..3 {
        let scene = Scene {
            seed: 6 + sh_degree,
            sh_degree,
            count: 100,
            ..Scene::default()
        };
        check_scene(&scene, &[ALL[0], ALL[3]], 1024);
    }
}

#[test]
fn many_chunks() {
    let scene = Scene {
        seed: 9,
        count: 1500,
        scales: [0.01, 0.1],
        ..Scene::default()
    };
    check_scene(&scene, &[ALL[0], ALL[3]], 256);
}

#[test]
fn nothing_visible() {
    let scene = Scene {
        seed: 10,
        count: 50,
        spread: [0.1, 0.1, 0.1],
        ..Scene::default()
    };
    let mut model = scene.model();
    for mean in &mut model.means {
        mean[2] -= 20.0;
    }
    assert_eq!(check(&scene, &model, &ALL, 256), 0);
    let empty = Gaussians {
        sh_degree: 3,
        ..Gaussians::default()
    };
    assert_eq!(check(&scene, &empty, &ALL, 256), 0);
}

#[test]
fn one_gaussian() {
    let scene = Scene {
        seed: 11,
        count: 1,
        scales: [0.3, 0.6],
        spread: [0.1, 0.1, 0.1],
        ..Scene::default()
    };
    assert_eq!(check_scene(&scene, &ALL, 256), 1);
}

#[test]
fn all_gaussians_in_one_tile() {
    // The image is 3 x 2 tiles; everything lies at the centre of tile (1, 0), and blending stops early.
    let scene = Scene {
        seed: 12,
        count: 900,
        size: [48, 32],
        shift: [0.0, -8.0],
        scales: [0.005, 0.05],
        opacities: [0.3, 0.99],
        spread: [0.2, 0.2, 1.0],
        ..Scene::default()
    };
    check_scene(&scene, &ALL, 512);
}

#[test]
fn splats_over_the_whole_image() {
    // 15 x 10 tiles each: more than the 64 that one thread emits.
    let scene = Scene {
        seed: 13,
        count: 60,
        size: [240, 150],
        focal: 200.0,
        scales: [1.0, 6.0],
        opacities: [0.01, 0.3],
        ..Scene::default()
    };
    assert!(check_scene(&scene, &ALL, 256) > 30);
}

#[test]
fn large_splats_with_empty_rows() {
    // Faint ones reach less far than their 3-sigma rectangle: its first rows hold no tile.
    let scene = Scene {
        seed: 16,
        count: 80,
        size: [260, 200],
        focal: 220.0,
        scales: [0.1, 1.0],
        opacities: [0.02, 0.2],
        spread: [0.4, 0.3, 1.0],
        filter_3d: 0.0,
        ..Scene::default()
    };
    assert!(check_scene(&scene, &[ALL[0], ALL[3]], 256) > 30);
}

#[test]
fn needles_and_giants() {
    // A pixel wide and thousands long, or so large that their extent is no integer.
    let scene = Scene {
        seed: 15,
        count: 120,
        size: [100, 60],
        opacities: [0.05, 0.4],
        filter_3d: 0.0,
        ..Scene::default()
    };
    let mut model = scene.model();
    for (i, scale) in model.log_scales.iter_mut().enumerate() {
        *scale = match i % 3 {
            0 => [(0.02_f32).ln(), (0.02_f32).ln(), (20.0_f32).ln()],
            1 => [(1e3_f32).ln(), (2e3_f32).ln(), (1.5e3_f32).ln()],
            _ => [(1e7_f32).ln(), (2e7_f32).ln(), (1e7_f32).ln()],
        };
    }
    // Without the update: through a needle's inverse covariance, two single precision gradients share a digit or two.
    assert!(check_until(&scene, &model, &ALL, 256, false) > 30);
}

#[test]
fn every_subgroup_width() {
    if child::role().is_some() {
        let sort_subgroup = open().caps().subgroup_size;
        let list = ALL.map(|v| Variants { sort_subgroup, ..v });
        let scene = Scene {
            seed: 14,
            size: [50, 40],
            ..Scene::default()
        };
        let exchange = Variants {
            sort_subgroup,
            ..EXCHANGE
        };
        check_scene(&scene, &[list[0], list[3], exchange], 512);
        let eight = child::role().as_deref() == Some("256");
        assert_eq!(sort_subgroup == 8, eight, "{sort_subgroup} lanes");
        if eight {
            check_scene(&scene, &[LANES], 512);
        }
        return;
    }
    for width in ["128", "256", "512"] {
        child::run_with_vectors(module_path!(), "every_subgroup_width", width, width);
    }
}
