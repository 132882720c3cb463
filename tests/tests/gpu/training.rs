//! Several steps in a row: against the reference, and byte for byte against themselves.

use kiln::kernels::uniforms::{Group, flags};
use kiln::kernels::views::{Loops, Reduction, Threads, Variants};
use kiln::scene::Camera;
use kiln::step::Capacities;
use kiln::twins::statistics::Statistics;
use kiln_tests::child;
use kiln_tests::compare::{close, mean_abs, same};
use kiln_tests::gpu::{Gpu, losses, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::staged;
use kiln_tests::twin::{Twin, uniforms};

fn scene() -> Scene {
    Scene {
        seed: 21,
        count: 900,
        size: [70, 50],
        ..Scene::default()
    }
}

/// Cameras take turns.
fn camera(scene: &Scene, iteration: u32) -> Camera {
    let mut camera = scene.camera();
    camera.translation[0] += 0.2 * (iteration % 4) as f32 - 0.3;
    camera.translation[2] += 0.3 * (iteration % 3) as f32;
    camera
}

fn capacities(scene: &Scene, chunk: u32) -> Capacities {
    let mut c = Capacities::new(
        scene.count,
        scene.count,
        20 * scene.count,
        scene.sh_degree,
        [(scene.size[0], scene.size[1])],
    );
    c.chunk = chunk;
    c
}

/// Three steps follow the reference. Adam divides by the gradient's size, so where a gradient is nothing but rounding
/// the two may part by a learning rate; the means stay together.
#[test]
fn three_steps_follow_the_reference() {
    follow_the_reference(&scene(), 0.0);
}

/// The same with a loss that looks at surfaces as much as at the image.
#[test]
fn three_steps_that_look_at_surfaces_follow_the_reference() {
    let scene = Scene {
        scales: [0.05, 0.5],
        ..scene()
    };
    follow_the_reference(&scene, 1.0);
}

fn follow_the_reference(scene: &Scene, normals: f32) {
    for reduction in [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange] {
        let mut c = capacities(scene, 512);
        c.losses = losses(if normals > 0.0 { &["normals"] } else { &[] });
        let mut gpu = Gpu::training(&c, &variants(reduction));
        let model = scene.model();
        let n = model.len();
        gpu.load(&model);
        let mut twin = Twin::new(&model);
        twin.normals = normals;
        for iteration in 1..=3 {
            let camera = camera(scene, iteration);
            let mut u = uniforms(&camera, 3, iteration);
            u.normals_weight = normals;
            let status = gpu.run(iteration % 3, &u, &scene.target());
            let step = twin.train(&camera, &scene.target(), iteration);
            close("loss", &[status.loss], &[step.loss.total], 1e-4, 2e-4);
            assert_eq!(status.normals > 0.0, normals > 0.0);
        }
        let values = gpu.values(|c| c.geometry, |c| c.sh, n);
        let first = gpu.values(|c| c.geometry_m, |c| c.sh_m, n);
        let second = gpu.values(|c| c.geometry_v, |c| c.sh_v, n);
        for plane in 0..values[0].len() {
            let column = |list: &[Vec<f32>]| -> Vec<f32> { list.iter().map(|v| v[plane]).collect() };
            let of = |pick: &dyn Fn(usize) -> f32| -> Vec<f32> { (0..n).map(pick).collect() };
            let parameter = of(&|i| twin.gaussians[i].values()[plane]);
            close(&format!("plane {plane}"), &column(&values), &parameter, 1e-4, 1e-3);
            let m = of(&|i| twin.moments[i].first.values()[plane]);
            close(&format!("first moment, plane {plane}"), &column(&first), &m, 1e-5, 1e-2);
            let v = of(&|i| twin.moments[i].second.values()[plane]);
            close(
                &format!("second moment, plane {plane}"),
                &column(&second),
                &v,
                1e-5,
                2e-2,
            );
        }
        let found = gpu.planes(|c| c.statistics, 3, n);
        let wanted: [fn(&Statistics<f32>) -> f32; 3] = [|s| s.gradient_sum, |s| s.abs_sum, |s| s.count as f32];
        for (channel, wanted) in wanted.into_iter().enumerate() {
            let found: Vec<f32> = found.iter().map(|s| s[channel]).collect();
            let wanted: Vec<f32> = twin.statistics.iter().map(wanted).collect();
            close(&format!("statistic {channel}"), &found, &wanted, 1e-1, 1e-2);
        }
        gpu.assert_valid();
    }
}

#[test]
fn flags_and_masks_decide_what_is_written() {
    let scene = Scene::default();
    let mut gpu = Gpu::training(&capacities(&scene, 256), &variants(Reduction::Segmented));
    let model = scene.model();
    let n = model.len();
    let groups = [
        (Group::Means, 0..3),
        (Group::Quats, 3..7),
        (Group::Scales, 7..10),
        (Group::Opacity, 10..11),
        (Group::Sh0, 11..14),
        (Group::ShRest, 14..59),
    ];
    let before: Vec<Vec<f32>> = {
        gpu.load(&model);
        gpu.values(|c| c.geometry, |c| c.sh, n)
    };
    // One group skipped at a time: it alone keeps values and moments.
    for (group, span) in groups {
        gpu.load(&model);
        let mut u = uniforms(&scene.camera(), 3, 1);
        u.adam_skip_mask = group.bit();
        assert_eq!(gpu.run(0, &u, &scene.target()).stalled, 0);
        let (after, first) = (
            gpu.values(|c| c.geometry, |c| c.sh, n),
            gpu.values(|c| c.geometry_m, |c| c.sh_m, n),
        );
        for plane in 0..59 {
            let moved = (0..n).any(|i| after[i][plane] != before[i][plane]);
            assert_eq!(moved, !span.contains(&plane), "{group:?} skipped, plane {plane}");
            assert_eq!((0..n).any(|i| first[i][plane] != 0.0), moved);
        }
    }
    // Statistics without the optimiser, and neither.
    let twin = Twin::new(&model);
    let in_view = twin.step(&scene.camera(), &scene.target()).forward.visible.len();
    let shown = twin.shown(&scene.camera()).into_iter().filter(|shown| *shown).count();
    assert!(in_view < shown, "some are on screen and too faint for any pixel");
    let all = flags::STATISTICS | flags::COUNT_FAINT;
    for (bits, counted) in [(all, shown), (flags::STATISTICS, in_view), (0, 0)] {
        gpu.load(&model);
        let mut u = uniforms(&scene.camera(), 3, 1);
        u.flags = bits;
        gpu.run(0, &u, &scene.target());
        same("parameters", &gpu.values(|c| c.geometry, |c| c.sh, n), &before);
        let statistics = gpu.planes(|c| c.statistics, 3, n);
        assert_eq!(statistics.iter().filter(|s| s[2] > 0.0).count(), counted);
    }
    gpu.assert_valid();
}

/// FNV-1a of every persistent byte after five steps.
fn fingerprint(gpu: &mut Gpu, scene: &Scene) -> u64 {
    gpu.load(&scene.model());
    for iteration in 1..=5 {
        let status = gpu.run(
            iteration % 3,
            &uniforms(&camera(scene, iteration), 3, iteration),
            &scene.target(),
        );
        assert_eq!(status.stalled, 0);
    }
    let bytes = gpu.state_bytes(scene.count as usize);
    gpu.assert_valid();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn segmented_steps_give_the_same_bytes() {
    let scene = scene();
    let segmented = variants(Reduction::Segmented);
    let plain = || Gpu::training(&capacities(&scene, 1024), &segmented);
    if child::role().is_some() {
        println!("fingerprint {:016x}", fingerprint(&mut plain(), &scene));
        return;
    }
    let mut gpu = plain();
    let wanted = fingerprint(&mut gpu, &scene);
    assert_eq!(fingerprint(&mut gpu, &scene), wanted, "a second time");
    assert_eq!(
        fingerprint(&mut Gpu::training(&capacities(&scene, 256), &segmented), &scene),
        wanted,
        "small chunks"
    );
    let mut large = capacities(&scene, 1024);
    (large.n_cap, large.v_cap, large.i_cap) = (4096, 5000, 123_456);
    (large.max_pixels, large.max_tiles) = (4 * large.max_pixels, 1000);
    assert_eq!(
        fingerprint(&mut Gpu::training(&large, &segmented), &scene),
        wanted,
        "larger capacities"
    );
    // Keeping intermediate results stretches lifetimes: tensors that share bytes otherwise do not share them here.
    assert_eq!(
        fingerprint(&mut staged(&capacities(&scene, 1024), &segmented), &scene),
        wanted,
        "other placement"
    );
    for threads in ["1", "2", "5"] {
        let text = child::run(
            module_path!(),
            "segmented_steps_give_the_same_bytes",
            threads,
            &[("LP_NUM_THREADS", threads)],
        );
        let line = format!("fingerprint {wanted:016x}");
        assert!(text.contains(&line), "{threads} threads: no `{line}` in\n{text}");
    }
}

/// Image and state agree between all variants also with the classic filter.
#[test]
fn variants_agree_on_the_classic_filter() {
    let scene = scene();
    let mut all = Vec::new();
    let eight = open().caps().subgroup_size == 8;
    for (reduction, threads) in [
        (Reduction::Segmented, Threads::Columns),
        (
            Reduction::Segmented,
            if eight { Threads::Lanes } else { Threads::Columns },
        ),
        (Reduction::Segmented, Threads::Pixels),
        (Reduction::Atomic, Threads::Columns),
        (Reduction::Atomic, Threads::Pixels),
        (Reduction::CompareExchange, Threads::Pixels),
    ] {
        let variants = Variants {
            reduction,
            sort_subgroup: 0,
            threads,
            loops: Loops::Long,
        };
        let mut gpu = Gpu::training(&capacities(&scene, 1024), &variants);
        gpu.load(&scene.model());
        let mut u = uniforms(&scene.camera(), 3, 1);
        u.flags |= flags::CLASSIC;
        u.background[3] = 0.3;
        let status = gpu.run(0, &u, &scene.target());
        let first = gpu.values(|c| c.geometry_m, |c| c.sh_m, scene.count as usize);
        gpu.assert_valid();
        all.push((status.loss, first.concat()));
    }
    for (loss, first) in &all[1..] {
        assert!((loss - all[0].0).abs() < 1e-6);
        close("first moments", first, &all[0].1, 1e-5, 1e-4);
    }
    let mut plain = Gpu::training(&capacities(&scene, 1024), &variants(Reduction::Segmented));
    plain.load(&scene.model());
    plain.run(0, &uniforms(&scene.camera(), 3, 1), &scene.target());
    let first = plain
        .values(|c| c.geometry_m, |c| c.sh_m, scene.count as usize)
        .concat();
    assert!(mean_abs(&first, &all[0].1) > 1e-9, "the flag does something");
}
