//! A million Gaussians in a view of 3840x2160 pixels: records and their order by depth.

use kiln::step::{Capacities, StepTensors};
use kiln_kernels::counters::{Args, Counters, WORD_VISIBLE};
use kiln_kernels::project::DEPTH_KEY_BITS;
use kiln_kernels::radix_sort::{self, SortJob};
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::Reduction;
use kiln_kernels::{cull, prepare_args, project as project_pass};
use kiln_program::Program;
use kiln_scene::Camera;
use kiln_tests::compare::same;
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::sorted_in;
use kiln_tests::twin::{Twin, uniforms};
use kiln_twins::gaussian::View;
use kiln_twins::project::project;
use kiln_twins::radix_sort::sort_pairs;
use kiln_twins::tile_intersect::depth_key;

const COUNT: u32 = 1_000_000;
const SIZE: [u32; 2] = [3840, 2160];

/// All in view, and many at the same depth.
fn scene() -> Scene {
    Scene {
        count: COUNT,
        size: SIZE,
        sh_degree: 0,
        scales: [0.004, 0.02],
        opacities: [0.5, 0.95],
        focal: 3000.0,
        spread: [1.4, 0.75, 1.5],
        filter_3d: 0.0,
        ..Scene::default()
    }
}

/// Looks along z, so that depths are sums of two numbers, whatever they are computed with.
fn camera(scene: &Scene) -> Camera {
    Camera {
        fy: scene.focal,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0, 0.0, 4.0],
        ..scene.camera()
    }
}

/// The sort of a step by depth.
fn job() -> SortJob {
    SortJob {
        counter: WORD_VISIBLE,
        args: Args::VisibleSort,
        capacity: COUNT,
        key_bits: DEPTH_KEY_BITS,
        index_payload: true,
    }
}

/// A step as far as the order by depth; no image is made.
fn order(t: &StepTensors) -> Program {
    let (s, v) = (&t.shared, &t.variants);
    let mut program = Program::new("order");
    let ring = t.rings.uniforms.slice(0, size_of::<StepUniforms>() as u64);
    program.copy_from_ring(ring, t.rings.uniforms_stride, s.uniforms.slice(0, ring.bytes));
    prepare_args::record(&mut program, s, &t.chunks);
    cull::record(&mut program, s, &t.chunks, t.group_visible, COUNT, v);
    project_pass::record(&mut program, s, &t.chunks, t.group_visible, &t.splats);
    let sorted = radix_sort::record(&mut program, s, &t.depth_sort, &job(), v);
    assert_eq!(sorted, 0, "eight rounds end where they began");
    let bytes = size_of::<Counters>() as u64;
    program.copy_to_ring(
        s.counters.slice(0, bytes),
        t.rings.status.slice(0, bytes),
        t.rings.status_stride,
    );
    program
}

#[test]
fn depth_order_is_that_of_the_twin() {
    let scene = scene();
    let camera = camera(&scene);
    let mut model = scene.model();
    for mean in &mut model.means {
        mean[2] = (mean[2] * 20_000.0).round() / 20_000.0;
    }
    // Nothing here touches a pixel, so there is no room for an image.
    let capacities = Capacities::new(COUNT, COUNT, COUNT, 0, [(16, 16)]);
    let mut gpu = Gpu::new(&capacities, &variants(Reduction::Segmented), order, |_| Vec::new());
    gpu.load(&model);
    let u = uniforms(&camera, 0, 1);
    assert_eq!([u.width, u.height, u.tiles_x, u.tiles_y], [3840, 2160, 240, 135]);
    let status = gpu.run(0, &u, &[]);
    assert_eq!((status.stalled, status.visible), (0, COUNT));

    let (twin, view) = (Twin::new(&model), View::new(&camera));
    let depths: Vec<u32> = (0..)
        .zip(twin.gaussians.iter().zip(&twin.filter_3d))
        .filter_map(|(id, (gaussian, &filter))| project(id, gaussian, filter, &view, &twin.settings))
        .map(|visible| depth_key(visible.depth, view.near_z))
        .collect();
    let ids: Vec<u32> = (0..COUNT).collect();
    let (keys, wanted) = sort_pairs(&depths, &ids);
    let ties = keys.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(ties > 900_000, "{ties} neighbours at the same depth");
    let sorted = sorted_in(DEPTH_KEY_BITS, &gpu.tensors.variants);
    let found: Vec<u32> = gpu.read(gpu.tensors.depth_sort.values[sorted], COUNT as usize);
    same("order by depth", &found, &wanted);
    gpu.assert_valid();
}
