//! What `kiln eval` and `kiln render` share: the model's settings, its device, a progress line.

use std::io::{IsTerminal as _, Write as _};

use super::request::Model;
use super::{Failure, Settings};
use crate::config::{self, AutoError, Inputs, Profile};
use crate::memory::Budget;
use crate::plan::{OpenDevice, open_device};
use crate::record::events::Progress;
use crate::run::{Location, RunError};
use crate::vk::DeviceKind;

/// A model that was found, with everything needed to draw it.
pub(super) struct Opened {
    pub(super) location: Location,
    pub(super) profile: Profile,
    pub(super) open: OpenDevice,
}

/// Finds the model and opens the device. A run's own settings lie below the command line's; a PLY file of no run gets
/// the memory profile that fits the device.
pub(super) fn open(model: &Model) -> Result<Opened, Box<dyn Failure>> {
    let location = Location::find(&model.target, model.iteration).map_err(|e| boxed(RunError::from(e)))?;
    let settings = Settings {
        inputs: Inputs {
            file: location.config.clone(),
            ..model.settings.inputs.clone()
        },
        auto: false,
    };
    let preliminary = settings.preliminary().map_err(boxed)?;
    let open = open_device(&preliminary, model.faults.clone()).map_err(boxed)?;
    let is_cpu = open.device.caps().kind == DeviceKind::Cpu;
    let profile = if location.config.is_some() {
        // Resolved settings are complete: there is nothing left for a memory profile to say.
        if is_cpu && !preliminary.device.allow_cpu {
            return Err(boxed(AutoError::CpuNotAllowed));
        }
        preliminary
    } else {
        let here = Budget::of_device(&open.device, None);
        let budget = config::Budget {
            bytes: here.cap_bytes,
            heap_bytes: here.heap_bytes,
            is_cpu,
        };
        settings.resolve(budget).map_err(boxed)?
    };
    if !model.quiet {
        let caps = open.device.caps();
        // Losing a line of information is no reason to stop.
        let _ = writeln!(
            std::io::stderr(),
            "model: {}\ndevice: {} ({})",
            location.ply.display(),
            caps.name,
            caps.driver
        );
    }
    Ok(Opened {
        location,
        profile,
        open,
    })
}

/// Shows progress where someone watches.
pub(super) fn progress(quiet: bool) -> impl FnMut(Progress) {
    let shown = !quiet && std::io::stderr().is_terminal();
    move |now| {
        if shown {
            let end = if now.done == now.total { '\n' } else { '\r' };
            let _ = write!(std::io::stderr(), "{} of {} views{end}", now.done, now.total);
        }
    }
}

pub(super) fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}
