//! `kiln doctor`: which Vulkan devices there are and what Kiln can do with them.

mod diagnose;
mod pipelines;
mod sentences;

use std::io::{self, Write};

use kiln_system::{Surroundings, wsl};

use self::diagnose::{Found, advice};
use self::sentences::sentences;
use super::windows::WINDOWS_PROGRAM;
use super::{Doctor, Exit, Failure as _};
use crate::memory::GIB;
use crate::plan::list_devices;
use crate::vk::{Caps, Tier, VkError};

/// Prints every device to `out`, or what their compilers make of a step; problems to stderr. `NoDevice` when there is none.
///
/// # Errors
/// When `out` cannot be written.
pub fn run(asked: Doctor, out: &mut dyn Write) -> io::Result<Exit> {
    let Doctor { pipelines, json } = asked;
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
        }
        print_sentences(&sentences(&around, &devices, program.as_deref()), out)?;
    }
    for line in advice(&around, Found::Devices(&devices)) {
        eprintln!("hint: {line}");
    }
    Ok(if devices.is_empty() { Exit::NoDevice } else { Exit::Ok })
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
