//! Which pass the device is at: a word in host memory that recordings write on their way.
//!
//! After every barrier, when everything before it is done, a recording that marks its passes fills the word with its own
//! number and that of the next command. The host may read it at any time, also when the device hangs or is lost, because
//! the word lies in the host. Between two barriers it does not distinguish passes, so a place may name several.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use super::fence::Fence;
use super::{Block, BlockKind, Device, VkError};

/// Bits of a word for the command; the others are for the recording.
const COMMAND_BITS: u32 = 12;

/// The word and what its values mean.
pub struct Markers {
    block: Block,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    next: u32,
    recordings: BTreeMap<u32, Recording>,
}

struct Recording {
    program: String,
    passes: Vec<&'static str>,
    /// The barrier before each command.
    fences: Vec<Fence>,
}

impl Markers {
    /// A word on `device`, which nobody has written yet.
    ///
    /// # Errors
    /// [`VkError::OutOfMemory`] when the driver refuses a few bytes.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>, VkError> {
        let mut block = Block::new(device, BlockKind::Readback, 256, "pass marker")?;
        if let Some(bytes) = block.mapped_mut(0, 4) {
            bytes.fill(0);
        }
        Ok(Arc::new(Self {
            block,
            names: Mutex::default(),
        }))
    }

    /// The word's value now; 0 before the first pass.
    #[must_use]
    pub fn word(&self) -> u32 {
        self.block.mapped(0, 4).map_or(0, bytemuck::pod_read_unaligned)
    }

    /// What the device was doing when the word had the value `word`: a pass of a program, or several between two barriers.
    #[must_use]
    pub fn describe(&self, word: u32) -> Option<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let recording = names.recordings.get(&(word >> COMMAND_BITS))?;
        let at = (word & ((1 << COMMAND_BITS) - 1)) as usize;
        let group = recording.passes.iter().zip(&recording.fences).skip(at).enumerate();
        let mut passes: Vec<&str> = group
            .take_while(|(index, (_, fence))| *index == 0 || **fence == Fence::None)
            .map(|(_, (pass, _))| *pass)
            .filter(|pass| *pass != "hold")
            .collect();
        passes.dedup();
        let program = &recording.program;
        match passes.as_slice() {
            [] => None,
            [pass] => Some(format!("`{pass}` of `{program}`")),
            many => Some(format!("`{}` of `{program}`", many.join("`, `"))),
        }
    }

    /// A number for a recording of `program`, to be given back with [`Markers::forget`].
    pub(super) fn name(&self, program: &str, passes: Vec<&'static str>, fences: Vec<Fence>) -> u32 {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let most = u32::MAX >> COMMAND_BITS;
        // A run makes a few hundred recordings; one that makes a million has given most of them back.
        names.next = names.next % most + 1;
        let serial = names.next;
        names.recordings.insert(
            serial,
            Recording {
                program: program.to_owned(),
                passes,
                fences,
            },
        );
        serial
    }

    pub(super) fn forget(&self, serial: u32) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.recordings.remove(&serial);
    }

    /// Records that the recording `serial` is about to begin command `command`.
    ///
    /// # Safety
    /// `cmd` is being recorded on the device of this marker, right behind a barrier.
    pub(super) unsafe fn record(&self, raw: &ash::Device, cmd: vk::CommandBuffer, serial: u32, command: usize) {
        let command = u32::try_from(command).unwrap_or(u32::MAX).min((1 << COMMAND_BITS) - 1);
        // SAFETY: the caller vouches for `cmd`; the buffer has 256 bytes and lives as long as `self`.
        unsafe { raw.cmd_fill_buffer(cmd, self.block.buffer, 0, 4, serial << COMMAND_BITS | command) };
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::vk::{Instance, Validation};

    #[test]
    fn words_name_the_passes_between_two_barriers() {
        let instance = Arc::new(Instance::new(Validation::Off).unwrap());
        let caps = instance.devices().unwrap().remove(0);
        let markers = Markers::new(&Device::open(&instance, caps).unwrap()).unwrap();
        assert_eq!((markers.word(), markers.describe(0)), (0, None));
        let passes = vec!["prepare_args", "project", "copy", "copy", "sort"];
        let serial = markers.name(
            "step",
            passes,
            vec![Fence::All, Fence::Passes, Fence::None, Fence::None, Fence::All],
        );
        let at = |command| markers.describe(serial << COMMAND_BITS | command).unwrap();
        assert_eq!(at(0), "`prepare_args` of `step`");
        assert_eq!(at(1), "`project`, `copy` of `step`");
        assert_eq!(at(4), "`sort` of `step`");
        markers.forget(serial);
        assert_eq!(markers.describe(serial << COMMAND_BITS), None);
    }
}
