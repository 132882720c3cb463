//! `kiln doctor`: which Vulkan devices there are and what Kiln can do with them.

use std::io::{self, Write};

use super::{Exit, Failure as _};
use crate::memory::GIB;
use crate::train::list_devices;
use crate::vk::{Caps, DeviceKind, Tier};

/// Prints every device to `out`; problems to stderr. `NoDevice` when there is none.
///
/// # Errors
/// When `out` cannot be written.
pub fn run(json: bool, out: &mut dyn Write) -> io::Result<Exit> {
    let devices = match list_devices() {
        Ok(devices) => devices,
        Err(error) => {
            eprintln!("error: {error}");
            for line in advice(&[]) {
                eprintln!("\nhint: {line}");
            }
            return Ok(error.exit());
        }
    };
    if json {
        serde_json::to_writer_pretty(&mut *out, &devices)?;
        writeln!(out)?;
    } else {
        for caps in &devices {
            describe(caps, out)?;
        }
    }
    for line in advice(&devices) {
        eprintln!("hint: {line}");
    }
    Ok(if devices.is_empty() { Exit::NoDevice } else { Exit::Ok })
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

fn advice(devices: &[Caps]) -> Vec<String> {
    let mut lines = Vec::new();
    let wsl = std::fs::read_to_string("/proc/version").is_ok_and(|v| v.to_lowercase().contains("microsoft"));
    if devices.is_empty() {
        lines.push(
            "install a GPU driver with Vulkan support, or `libvulkan1 mesa-vulkan-drivers` for the CPU driver"
                .to_owned(),
        );
    } else if devices.iter().all(|d| d.kind == DeviceKind::Cpu) {
        lines.push(
            "only a CPU driver answers; training on it is slow and needs `--allow-cpu` or `--profile cpu`".to_owned(),
        );
        if wsl {
            lines.push(
                "under WSL2 a GPU is reached through Mesa's dzn driver, which most distributions do not build"
                    .to_owned(),
            );
        }
    }
    lines
}
