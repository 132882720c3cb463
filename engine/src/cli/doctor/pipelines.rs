//! `kiln doctor --pipelines`: what the drivers' compilers make of the passes of a training step.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use crate::plan::{Faults, step_extras, variants_for};
use crate::step::{Capacities, ResidentImages, StepTensors, train_step};
use kiln_config::{Inputs, resolve};
use kiln_gpu::vk::{Caps, Device, Instance, Validation};
use kiln_program::{Command, Program, TensorTable};

/// Prints one line a pass for every device: the driver's numbers by its own names.
///
/// # Errors
/// When `out` cannot be written; what a driver refuses is printed.
pub(super) fn print(out: &mut dyn Write) -> io::Result<()> {
    let instance = match Instance::new(Validation::Off) {
        Ok(instance) => Arc::new(instance),
        Err(error) => return writeln!(out, "{error}"),
    };
    for caps in instance.devices().unwrap_or_default() {
        writeln!(out, "{}: {}", caps.index, caps.name)?;
        if let Err(error) = super::death(&caps) {
            writeln!(out, "   {error}")?;
            continue;
        }
        match lines(&instance, caps) {
            Ok(lines) if lines.is_empty() => {
                writeln!(
                    out,
                    "   this driver does not report them (VK_KHR_pipeline_executable_properties)"
                )?;
            }
            Ok(lines) => lines.iter().try_for_each(|line| writeln!(out, "   {line}"))?,
            Err(error) => writeln!(out, "   {error}")?,
        }
    }
    Ok(())
}

/// The passes of a training step as `caps` would run it, through pinholes or through lenses.
fn program(caps: &Caps, lens: bool) -> Result<Program, Box<dyn Error>> {
    let profile = resolve(&Inputs {
        profile: Some("24gb".to_owned()),
        ..Inputs::default()
    })?;
    let variants = variants_for(caps, caps.tier(), &profile, &Faults::default())?;
    // Sizes do not matter to a compiler.
    let mut capacities = Capacities::new(256, 256, 2560, 3, [(64, 64)]);
    capacities.lens = lens;
    Ok(train_step(&StepTensors::for_training(
        &mut TensorTable::default(),
        &capacities,
        &variants,
        ResidentImages::default(),
        step_extras(&profile),
    )))
}

fn lines(instance: &Arc<Instance>, caps: Caps) -> Result<Vec<String>, Box<dyn Error>> {
    let device = Device::open(instance, caps)?;
    device.keep_statistics();
    let (mut seen, mut lines) = (BTreeSet::new(), Vec::new());
    let programs = [program(device.caps(), false)?, program(device.caps(), true)?];
    for command in programs.iter().flat_map(|program| &program.commands) {
        let Command::Dispatch(pass) = command else { continue };
        if !seen.insert((pass.shader.name, pass.spec.clone())) {
            continue;
        }
        let push = u32::try_from(pass.push.len()).unwrap_or(u32::MAX);
        let pipeline = device.pipeline(pass.shader, &pass.spec, push)?;
        let reported = pipeline.statistics(&device)?;
        let reported: Vec<String> = reported.iter().map(|s| format!("{} {}", s.name, s.value)).collect();
        if !reported.is_empty() {
            lines.push(format!("{:<28} {}", pass.shader.name, reported.join(", ")));
        }
    }
    // The process is about to end, and drivers that make up a device for a card that is not there crash when it is taken down.
    std::mem::forget(device);
    Ok(lines)
}
