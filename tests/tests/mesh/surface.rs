//! Planes, blended planes and depth maps against the twins, whole and in bands.

use kiln::step::{Capacities, StepTensors, forward, write_model};
use kiln_gpu::memory::Gpu;
use kiln_kernels::surface_depth::{self, DepthKind, Depths};
use kiln_kernels::views::{Intersections, Loops, Reduction, Threads, Variants};
use kiln_program::{Program, TensorTable};
use kiln_scene::Camera;
use kiln_tests::compare::close;
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{Twin, uniforms};
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::project::{Visible, project};
use kiln_twins::rasterize::TileLists;
use kiln_twins::rasterize::pixel_list;
use kiln_twins::surface::{Blended, Plane, blend_pixel, depth_map, plane};

const KINDS: [DepthKind; 3] = [DepthKind::Plane, DepthKind::Median, DepthKind::Expected];

/// What a device made of a view.
struct Drawn {
    visible: Vec<Visible<f32>>,
    planes: Vec<Plane<f32>>,
    lists: TileLists,
    blended: Vec<Blended<f32>>,
    /// Depth and normal by the kinds of depth.
    maps: Vec<Vec<[f32; 4]>>,
}

fn drawn(scene: &Scene, camera: &Camera, threads: Threads) -> Drawn {
    let device = open();
    let model = scene.model();
    let variants = Variants {
        reduction: Reduction::Atomic,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    };
    let sizes = [(scene.size[0], scene.size[1])];
    let mut capacities = Capacities::new(scene.count, scene.count, scene.count * 12, scene.sh_degree, sizes);
    capacities.chunk = 256;
    let mut table = TensorTable::default();
    let t = StepTensors::for_surfaces(&mut table, &capacities, &variants);
    let surface = t.pixels.surface.unwrap();
    let splat_plane = t.splats.plane.unwrap();
    let mut lists: Option<Intersections> = None;
    let programs: Vec<Program> = KINDS
        .into_iter()
        .map(|kind| {
            let mut program = Program::new("surface");
            let found = forward(&mut program, &t);
            let depths = Depths {
                kind,
                far: 6.5,
                least_cosine: 0.2,
            };
            surface_depth::record(
                &mut program,
                &t.shared,
                &t.pixels,
                &surface,
                depths,
                capacities.max_pixels,
            );
            program.hold(&[
                t.splats.position,
                t.splats.conic,
                t.splats.color,
                splat_plane,
                found.payloads,
                found.tile_ranges,
                t.pixels.image,
                surface.plane,
                surface.depth,
                surface.map,
            ]);
            lists = Some(found);
            program
        })
        .collect();
    let lists = lists.unwrap();
    let mut gpu = Gpu::new(&device, table, &programs.iter().collect::<Vec<_>>(), 1 << 30).unwrap();
    write_model(&mut gpu, &t, &model).unwrap();
    gpu.write(&t.shared.uniforms, &[uniforms(camera, scene.sh_degree, 1)])
        .unwrap();
    let n_px = (scene.size[0] * scene.size[1]) as usize;
    let maps = programs
        .iter()
        .map(|program| {
            gpu.run(program).unwrap();
            gpu.read(&surface.map, n_px).unwrap()
        })
        .collect();
    let twin = Twin::new(&model);
    let view = View::new(camera);
    let visible: Vec<Visible<f32>> = (0..)
        .zip(twin.gaussians.iter().zip(&twin.filter_3d))
        .filter_map(|(id, (gaussian, &filter))| project(id, gaussian, filter, &view, &twin.settings))
        .collect();
    let n = visible.len();
    let position: Vec<[f32; 4]> = gpu.read(&t.splats.position, n).unwrap();
    let conic: Vec<[f32; 4]> = gpu.read(&t.splats.conic, n).unwrap();
    let visible = visible
        .into_iter()
        .zip(position.iter().zip(&conic))
        .map(|(v, (p, c))| Visible {
            mean_px: [p[0], p[1]],
            opacity: p[3],
            conic: [c[0], c[1], c[2]],
            depth: c[3],
            ..v
        })
        .collect();
    let planes: Vec<[f32; 4]> = gpu.read(&splat_plane, n).unwrap();
    let tiles = scene.size[0].div_ceil(16) * scene.size[1].div_ceil(16);
    let ranges: Vec<[u32; 2]> = gpu.read(&lists.tile_ranges, tiles as usize).unwrap();
    let pairs = ranges.iter().map(|range| range[1]).max().unwrap();
    let image: Vec<[f32; 4]> = gpu.read(&t.pixels.image, n_px).unwrap();
    let plane_sums: Vec<[f32; 4]> = gpu.read(&surface.plane, n_px).unwrap();
    let depth_sums: Vec<[f32; 2]> = gpu.read(&surface.depth, n_px).unwrap();
    let of = |[x, y, z, d]: [f32; 4]| Plane {
        normal: [x, y, z],
        distance: d,
    };
    let found = Drawn {
        visible,
        planes: planes.into_iter().map(of).collect(),
        lists: TileLists {
            ranges,
            visible: gpu.read(&lists.payloads, pairs as usize).unwrap(),
        },
        blended: (0..n_px)
            .map(|i| Blended {
                plane: of(plane_sums[i]),
                median: depth_sums[i][0],
                depth: depth_sums[i][1],
                transmittance: image[i][3],
            })
            .collect(),
        maps,
    };
    assert_valid(&device);
    found
}

fn flat(planes: &[Plane<f32>]) -> Vec<f32> {
    let values = planes
        .iter()
        .flat_map(|p| [p.normal[0], p.normal[1], p.normal[2], p.distance]);
    values.collect()
}

#[test]
fn planes_sums_and_depths_follow_the_twins() {
    let scene = Scene {
        count: 500,
        scales: [0.02, 0.5],
        ..Scene::default()
    };
    let camera = scene.camera();
    let view = View::<f32>::new(&camera);
    for threads in [Threads::Columns, Threads::Pixels] {
        let found = drawn(&scene, &camera, threads);
        let gaussians = Gaussian::<f32>::from_model(&scene.model());
        let wanted: Vec<Plane<f32>> = found
            .visible
            .iter()
            .map(|v| plane(&gaussians[v.id as usize], &view))
            .collect();
        close("planes", &flat(&found.planes), &flat(&wanted), 1e-5, 1e-5);
        let wanted: Vec<Blended<f32>> = (0..scene.size[0] * scene.size[1])
            .map(|i| {
                let [x, y] = [i % scene.size[0], i / scene.size[0]];
                let list = pixel_list(&found.lists, scene.size[0], x, y);
                blend_pixel(&found.visible, &found.planes, list, [x as f32, y as f32], &view)
            })
            .collect();
        let sums = |list: &[Blended<f32>]| flat(&list.iter().map(|b| b.plane).collect::<Vec<_>>());
        close("sums of planes", &sums(&found.blended), &sums(&wanted), 1e-5, 1e-5);
        let depths = |list: &[Blended<f32>]| -> Vec<f32> { list.iter().map(|b| b.depth).collect() };
        close("sums of depths", &depths(&found.blended), &depths(&wanted), 1e-5, 1e-5);
        // Where the light falls to a half exactly between two splats, rounding decides which is the median.
        let far = |(a, b): &(&Blended<f32>, &Blended<f32>)| (a.median - b.median).abs() > 1e-4 * b.median.max(1.0);
        let others = found.blended.iter().zip(&wanted).filter(far).count();
        assert!(
            others * 500 < wanted.len(),
            "{others} other medians of {}",
            wanted.len()
        );
        assert!(wanted.iter().filter(|b| b.median > 0.0).count() * 4 > wanted.len());
        for (kind, map) in KINDS.into_iter().zip(&found.maps) {
            let depths = Depths {
                kind,
                far: 6.5,
                least_cosine: 0.2,
            };
            let twin = depth_map(&found.blended, &view, &depths);
            let differ = |(found, (z, normal)): &(&[f32; 4], &(f32, [f32; 3]))| {
                let apart = (0..3).map(|i| (found[i + 1] - normal[i]).abs()).fold(0.0, f32::max);
                (found[0] - z).abs() > 1e-4 * z.max(1.0) || apart > 2e-3
            };
            let others = map.iter().zip(&twin).filter(differ).count();
            assert!(others * 200 < map.len(), "{kind:?}: {others} pixels of {}", map.len());
            let seen = twin.iter().filter(|(z, _)| *z > 0.0).count();
            let turned = twin.iter().filter(|(_, n)| *n != [0.0; 3]).count();
            assert!(
                seen * 4 > twin.len() && turned * 8 > twin.len(),
                "{kind:?}: {seen}, {turned}"
            );
        }
    }
}
