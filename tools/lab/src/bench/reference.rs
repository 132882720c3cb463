//! The pass whose work never changes, timed on the device of a run.

use kiln::plan::{Faults, open_device};
use kiln_config::{DeviceChoice, Inputs, resolve};
use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::RecordOptions;
use kiln_kernels::reference;
use kiln_program::{Class, Program, Tag, TensorTable};
use xtask::failure::{Failure, Result};

/// Runs of the pass, of which the quickest counts: the first ones bring the clocks up.
const RUNS: u32 = 20;
/// More than the tensor takes, bytes.
const CAP_BYTES: u64 = 256 << 20;

/// Shortest time of the pass on the device of this name, ms; none where the device has no clock.
///
/// # Errors
/// [`Failure`] when the device cannot be opened or does not finish the pass.
pub(super) fn milliseconds(device: &str) -> Result<Option<f64>> {
    let fail = |e: &dyn std::fmt::Display| Failure::new(format!("the reference pass does not run on `{device}`: {e}"));
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        ..Inputs::default()
    };
    let mut profile = resolve(&inputs).map_err(|e| fail(&e))?;
    profile.device.select = Some(DeviceChoice::Named(device.to_owned()));
    let open = open_device(&profile, Faults::default()).map_err(|e| fail(&e))?;
    let mut table = TensorTable::default();
    let values = table.add("values", Class::Persistent, Tag::Other, reference::BYTES);
    let mut program = Program::new("reference");
    reference::record(&mut program, values);
    let mut gpu = Gpu::new(&open.device, table, &[&program], CAP_BYTES).map_err(|e| fail(&e))?;
    let ones = vec![1.0_f32; reference::BYTES as usize / 4];
    gpu.write(&values, &ones).map_err(|e| fail(&e))?;
    let options = RecordOptions {
        timestamps: true,
        ..RecordOptions::default()
    };
    let compiled = gpu.compile(&program, options).map_err(|e| fail(&e))?;
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        gpu.run_compiled(&compiled).map_err(|e| fail(&e))?;
        let passes = compiled.times(0).map_err(|e| fail(&e))?;
        if passes.is_empty() {
            return Ok(None);
        }
        best = best.min(passes.iter().map(|pass| pass.ns).sum::<f64>() / 1e6);
    }
    Ok(Some(best))
}
