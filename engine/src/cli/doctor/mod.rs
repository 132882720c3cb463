//! `kiln doctor`: which Vulkan devices there are and what Kiln can do with them.

mod diagnose;
mod pipelines;
mod sentences;

use std::io::{self, Write};
use std::sync::Arc;

use kiln_system::{Surroundings, wsl};

use self::diagnose::{Found, advice};
use self::sentences::sentences;
use super::windows::WINDOWS_PROGRAM;
use super::{Doctor, Exit, Failure as _};
use crate::plan::list_devices;
use kiln_gpu::memory::GIB;
use kiln_gpu::vk::{Caps, Device, Instance, Tier, Validation, VkError, trial};

/// Prints every device to `out`, or what their compilers make of a step; problems to stderr. `NoDevice` when there is none.
///
/// # Errors
/// When `out` cannot be written.
pub fn run(asked: Doctor, out: &mut dyn Write) -> io::Result<Exit> {
    let Doctor { trial, pipelines, json } = asked;
    if let Some((number, dies)) = trial {
        return Ok(open(number, dies));
    }
    let around = Surroundings::here();
    let program = around.wsl.then(|| wsl::find_program(WINDOWS_PROGRAM)).flatten();
    let devices = match list_devices() {
        Ok(devices) => devices,
        Err(error) => {
            eprintln!("error: {error}");
            let found = match error {
                VkError::Loader(_) => Found::NoLoader,
                _ => Found::Devices(&[]),
            };
            for line in advice(&around, found) {
                eprintln!("\nhint: {line}");
            }
            match json {
                true => writeln!(out, "[]")?,
                false => print_sentences(&sentences(&around, &[], program.as_deref()), out)?,
            }
            return Ok(error.exit());
        }
    };
    if json {
        serde_json::to_writer_pretty(&mut *out, &devices)?;
        writeln!(out)?;
    } else if pipelines {
        pipelines::print(out)?;
    } else {
        for caps in &devices {
            describe(caps, out)?;
            if let Err(error) = death(caps) {
                writeln!(out, "   {error}")?;
                eprintln!("hint: {}", error.hint().unwrap_or_default());
            }
        }
        print_sentences(&sentences(&around, &devices, program.as_deref()), out)?;
    }
    for line in advice(&around, Found::Devices(&devices)) {
        eprintln!("hint: {line}");
    }
    Ok(if devices.is_empty() { Exit::NoDevice } else { Exit::Ok })
}

/// Opens a device, in a process that is there for nothing else.
fn open(number: usize, dies: bool) -> Exit {
    if dies {
        std::process::abort();
    }
    let opened = Instance::new(Validation::Off).and_then(|instance| {
        let instance = Arc::new(instance);
        let mut devices = instance.devices()?;
        match number < devices.len() {
            true => Device::open(&instance, devices.swap_remove(number)).map(std::mem::forget),
            false => Ok(()),
        }
    });
    match opened {
        // Taking it down again is another matter.
        Ok(()) => kiln_system::end_now(0),
        Err(error) => error.exit(),
    }
}

/// Tries drivers that were seen to die.
fn death(caps: &Caps) -> Result<(), VkError> {
    match caps.translates {
        true => trial::survives(caps, false),
        false => Ok(()),
    }
}

fn print_sentences(sentences: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", sentences.join("\n"))
}

fn describe(caps: &Caps, out: &mut dyn Write) -> io::Result<()> {
    let (major, minor, patch) = caps.api;
    writeln!(
        out,
        "{}: {} ({:?}, {}, Vulkan {major}.{minor}.{patch})",
        caps.index, caps.name, caps.kind, caps.driver
    )?;
    let gib = |bytes: u64| bytes as f64 / GIB as f64;
    let heap = caps.device_heap().map_or(0, |(_, bytes)| bytes);
    writeln!(
        out,
        "   device memory  {:.1} GiB, budget reports: {}",
        gib(heap),
        yes(caps.memory_budget)
    )?;
    writeln!(
        out,
        "   largest binding  {:.2} GiB, allocation {:.2} GiB",
        gib(caps.max_binding_bytes),
        gib(caps.max_allocation_bytes)
    )?;
    writeln!(out, "   uuid  {}", caps.uuid)?;
    writeln!(
        out,
        "   tier  {} (float atomics: {}, subgroup operations: {}, subgroup size {})",
        if caps.tier() == Tier::Fast { "fast" } else { "portable" },
        yes(caps.float_atomics),
        yes(caps.subgroup_ops),
        caps.subgroup_size
    )
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
