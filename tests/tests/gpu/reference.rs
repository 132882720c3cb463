//! The pass whose work never changes.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln_gpu::memory::Gpu;
use kiln_kernels::reference::{BYTES, record};
use kiln_program::{Class, Program, Tag, TensorTable};
use kiln_tests::gpu::{assert_valid, open};
use kiln_twins::rng::uniform;

#[test]
fn every_value_comes_to_rest_at_one() {
    let mut table = TensorTable::default();
    let values = table.add("values", Class::Persistent, Tag::Other, BYTES);
    let mut program = Program::new("reference");
    record(&mut program, values);
    let mut gpu = Gpu::new(&open(), table, &[&program], 1 << 30).expect("memory");
    let count = (BYTES / 4) as u32;
    let before: Vec<f32> = (0..count).map(|i| 100.0 * uniform::<f32>(1, 0, i, 0)).collect();
    gpu.write(&values, &before).expect("upload");
    gpu.run(&program).expect("the pass runs");
    let after: Vec<f32> = gpu.read(&values, before.len()).expect("values");
    let far = after.iter().filter(|value| (**value - 1.0).abs() > 1e-5).count();
    assert_eq!(far, 0, "of {count}");
    assert_valid(gpu.device());
}
