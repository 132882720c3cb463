//! The same for triangles.

use kiln::step::{train_step, write_state};
use kiln_gaussians::triangles::{State, TriangleModel};
use kiln_gpu::vk::DeviceKind;
use kiln_kernels::counters::Stall;
use kiln_kernels::triangles::TriangleUniforms;
use kiln_kernels::views::Loops;
use kiln_program::TensorTable;
use kiln_tests::compare::same;
use kiln_tests::gpu::{Gpu, open};

use super::{a_scene, blocks, counts, planes, room, tensors};
use crate::gpu::crowded::{depth, point};

/// Triangles of the third tile, in columns that the image does not have.
const HIDDEN: u32 = 100_000;

/// The model with triangles that show in no pixel.
fn crowded(model: &TriangleModel) -> TriangleModel {
    let mut model = model.clone();
    let camera = a_scene().camera();
    let rest = model.sh_rest.len() / model.positions.len();
    for i in 0..HIDDEN {
        let first = model.positions.len() as u32;
        model.triangles.push([first, first + 1, first + 2]);
        for at in [[43.2, 5.0], [47.8, 2.0], [47.8, 8.0]] {
            model.positions.push(point(&camera, at, depth(i)));
            model.weights.push(0.0);
            model.sh0.push([0.5; 3]);
        }
    }
    model.sh_rest.resize(rest * model.positions.len(), 0.0);
    model
}

/// A step: its stall, its loss, and the words of the first `n` vertices.
fn step(model: &TriangleModel, n: usize, exact: bool, loops: Loops) -> (Option<Stall>, u32, Vec<u32>) {
    let mut table = TensorTable::default();
    let mut tensors = tensors(&mut table, counts(model), model.degree, room(HIDDEN + 2000), exact);
    tensors.variants.loops = loops;
    let mut gpu = Gpu::of(table, tensors.clone(), train_step(&tensors), |_| Vec::new());
    write_state(&mut gpu.device, &gpu.tensors, &State::new(model.clone())).unwrap();
    let (u, block) = blocks(&a_scene(), model, 1);
    // Means over all vertices are others where there are more.
    let block = TriangleUniforms {
        opacity_weight: 0.0,
        depth_weight: 0.0,
        normals_weight: 0.0,
        ..block
    };
    gpu.write_behind(0, &block);
    let t0 = std::time::Instant::now();
    let status = gpu.run(0, &u, &a_scene().target());
    assert!(
        model.triangles.len() < HIDDEN as usize || status.visible > HIDDEN,
        "{status:?}"
    );
    eprintln!("{exact} {loops:?} {:?}", t0.elapsed());
    gpu.assert_valid();
    let words = planes(&mut gpu, |c| [c.geometry, c.sh], n);
    let words = words.into_iter().map(f32::to_bits).collect();
    (status.stall(), status.loss.to_bits(), words)
}

#[test]
fn hundreds_of_thousands_of_triangles_in_a_tile() {
    let small = a_scene().triangles(5, 14);
    let full = crowded(&small);
    let n = small.positions.len();
    let cut = (open().caps().kind == DeviceKind::Cpu).then_some(Stall::Loops);
    for exact in [false, true] {
        let wanted = step(&small, n, exact, Loops::Cut);
        assert_eq!(wanted.0, None);
        assert_eq!(step(&full, n, exact, Loops::Cut).0, cut);
        let found = step(&full, n, exact, Loops::Unrolled);
        assert_eq!((found.0, found.1), (None, wanted.1), "exact: {exact}");
        same("vertices", &found.2, &wanted.2);
    }
}
