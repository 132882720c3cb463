//! Points on a level of the density: which Gaussians pixels show, and where the density around them rises, against the twins.

use kiln::step::{Capacities, LevelTensors, StepTensors, level_points, prepare_levels, surface, write_model};
use kiln_gaussians::morton::Frame;
use kiln_gpu::memory::Gpu;
use kiln_kernels::level::{Level, NEAR};
use kiln_kernels::neighbors::NONE;
use kiln_kernels::surface_depth::{DepthKind, Depths};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::{Program, TensorTable};
use kiln_scene::Camera;
use kiln_scene::math::{norm, scale, sub};
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{BACKGROUND, Twin, uniforms};
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::level::{Row, candidate_pixel, density, hit, level_point};
use kiln_twins::neighbors::nearest;
use kiln_twins::rasterize::pixel_list;
use kiln_twins::step::forward;
use kiln_twins::surface::pixel_ray;

/// Hits and points of a view.
fn found(scene: &Scene, camera: &Camera, frame: &Frame, level: Level, loops: Loops) -> (Vec<u32>, Vec<[f32; 6]>) {
    let device = open();
    let variants = Variants {
        reduction: Reduction::Atomic,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops,
    };
    let sizes = [(scene.size[0], scene.size[1])];
    let mut capacities = Capacities::new(scene.count, scene.count, scene.count * 12, scene.sh_degree, sizes);
    capacities.chunk = 256;
    let mut table = TensorTable::default();
    let t = StepTensors::for_surfaces(&mut table, &capacities, &variants);
    let l = LevelTensors::new(&mut table, &capacities, level, &variants).unwrap();
    let depths = Depths {
        kind: DepthKind::Plane,
        far: f32::INFINITY,
        least_cosine: -1.0,
    };
    let prepare = prepare_levels(&t, &l, frame);
    let mut view = Program::new("view");
    surface(&mut view, &t, depths, Some(&l));
    let points = level_points(&t, &l);
    let programs: Vec<&Program> = [&prepare, &view].into_iter().chain(&points).collect();
    let mut gpu = Gpu::new(&device, table, &programs, 1 << 30).unwrap();
    write_model(&mut gpu, &t, &scene.model()).unwrap();
    let block = uniforms(camera, scene.sh_degree, 1);
    let bytes = bytemuck::bytes_of(&block);
    let slot = t.rings.uniforms.slice(0, bytes.len() as u64);
    gpu.memory_mut().host_mut(&slot).unwrap().copy_from_slice(bytes);
    gpu.run(&prepare).unwrap();
    gpu.run(&view).unwrap();
    for program in &points {
        gpu.run(program).unwrap();
    }
    let count = level.candidates.min(scene.size[0] * scene.size[1]) as usize;
    let hits = gpu.read(&l.hits, count).unwrap();
    let points = gpu.read(&l.points, count).unwrap();
    assert_valid(&device);
    (hits, points)
}

#[test]
fn hits_and_points_follow_the_twins() {
    for (candidates, opacities) in [(2000, [0.4, 0.99]), (5000, [0.05, 0.9])] {
        let scene = Scene {
            count: 700,
            scales: [0.01, 0.3],
            opacities,
            filter_3d: 0.02,
            ..Scene::default()
        };
        let camera = scene.camera();
        let level = Level {
            candidates,
            density: 0.3,
            far: 4.5,
        };
        let model = scene.model();
        let frame = Frame::new([0.0; 3], 2.0);
        let (hits, points) = found(&scene, &camera, &frame, level, Loops::Long);
        let unrolled = found(&scene, &camera, &frame, level, Loops::Unrolled);
        assert!(unrolled == (hits.clone(), points.clone()));

        let twin = Twin::new(&model);
        let view = View::<f32>::new(&camera);
        let drawn = forward(&twin.gaussians, &twin.filter_3d, &view, &twin.settings, BACKGROUND);
        let block = uniforms(&camera, scene.sh_degree, 1);
        let pixels = scene.size[0] * scene.size[1];
        let looked: Vec<[u32; 2]> = (0..candidates)
            .filter_map(|k| candidate_pixel(k, candidates, pixels, block.seed, block.view))
            .map(|at| [at % scene.size[0], at / scene.size[0]])
            .collect();
        assert_eq!(looked.len(), hits.len());
        let wanted = looked.iter().map(|&[x, y]| {
            let list = pixel_list(&drawn.lists, scene.size[0], x, y);
            hit(&drawn.visible, list, [x as f32, y as f32]).unwrap_or(NONE)
        });
        // Where the light falls to a half exactly between two splats, rounding decides which one it is.
        let others = hits.iter().zip(wanted).filter(|(a, b)| **a != *b).count();
        assert!(others * 500 < hits.len(), "{others} other hits of {}", hits.len());
        assert!(hits.iter().filter(|hit| **hit != NONE).count() * 4 > hits.len());

        let gaussians = Gaussian::<f64>::from_model(&model);
        let rows: Vec<Row<f64>> = gaussians
            .iter()
            .zip(&model.filter_3d)
            .map(|(gaussian, filter)| Row::new(gaussian, *filter))
            .collect();
        let near = nearest(&frame, &model.means, NEAR as usize);
        let view = View::<f64>::new(&camera);
        let (mut others, mut same) = (0, 0);
        for ((&[x, y], &hit), point) in looked.iter().zip(&hits).zip(&points) {
            let [place, normal] =
                [[point[0], point[1], point[2]], [point[3], point[4], point[5]]].map(|v| v.map(f64::from));
            let is_there = normal != [0.0; 3];
            if hit == NONE {
                assert!(!is_there);
                continue;
            }
            let ray = pixel_ray(&view, [f64::from(x), f64::from(y)]);
            let turned = kiln_scene::math::mat_vec(kiln_scene::math::transpose(view.rotation), ray);
            let ray = (view.position, scale(turned, 1.0 / norm(turned)));
            let around = &near[(hit * NEAR) as usize..((hit + 1) * NEAR) as usize];
            let wanted = level_point(&rows, (hit, around), ray, f64::from(level.density))
                .filter(|(place, _)| view.to_camera(*place)[2] <= f64::from(level.far));
            match wanted {
                Some((at, out)) if is_there && norm(sub(at, place)) < 1e-4 => {
                    assert!(norm(sub(out, normal)) < 1e-2, "{out:?} {normal:?}");
                    assert!((density(&rows, around, place) - 0.3).abs() < 1e-2);
                    same += 1;
                }
                None if !is_there => {}
                _ => others += 1,
            }
        }
        println!("{same} points, {others} others");
        // Where one of the places looked at has the level, rounding decides on which side it is.
        assert!(
            others * 200 < same && same * 8 > hits.len(),
            "{same} points, {others} others"
        );
    }
}
