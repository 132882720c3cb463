//! Bands around tensors that no pass may write, for finding passes that do.
//!
//! With `diagnose.guard_bands` every tensor has bytes of its own, those of the arena too, and at least [`BAND_BYTES`] on each
//! side that belong to no tensor. They are filled with a pattern when memory is committed and looked at between steps
//! (`check_guard_bands` of the step): a word that changed was written by a pass that left its tensor. Drivers and the
//! validation layer do not see that, because the band lies in the same buffer.

use super::{Memory, MemoryError};
use kiln_program::{ALIGNMENT, Program, Span};

/// Least bytes between a tensor and its neighbour, and at both ends of a block.
pub const BAND_BYTES: u64 = ALIGNMENT;

/// No index, no count, no float that kernels make: as a float it is -4.1e11.
pub const GUARD_PATTERN: u32 = 0xd2be_a57e;

/// Bytes between two tensors, or between one and the end of its block.
#[derive(Clone, Debug)]
struct Band {
    /// Its bytes, as those of its block.
    view: Span,
    /// The block is the host's and holds the rings that the look itself goes through.
    on_host: bool,
    before: Option<String>,
    after: Option<String>,
}

/// A stretch of a block that a shader can bind, and the bands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardWindow {
    /// The stretch.
    pub view: Span,
    /// First word, counted from the start of the stretch, and number of words of each band.
    pub bands: Vec<[u32; 2]>,
}

/// All bytes of a run's memory that belong to no tensor.
#[derive(Clone, Debug, Default)]
pub struct GuardBands {
    bands: Vec<Band>,
}

impl GuardBands {
    /// The gaps of `memory`; those of a plan without guard bands are what rounding left.
    #[must_use]
    pub fn of(memory: &Memory) -> Self {
        let (table, plan) = (memory.table(), memory.plan());
        let mut bands = Vec::new();
        for index in 0..plan.blocks.len() {
            let Some(whole) = memory.block_view(index) else {
                continue;
            };
            let on_host = plan.blocks.get(index).is_some_and(|block| !block.class.is_on_device());
            let placed = table.tensors().iter().zip(&plan.slots);
            let mut inside: Vec<(u64, u64, &str)> = placed
                .filter(|(_, slot)| slot.block == index)
                .map(|(tensor, slot)| (slot.offset, slot.offset + tensor.bytes, tensor.name.as_str()))
                .collect();
            inside.sort_unstable();
            let (mut at, mut before) = (0, None);
            for (start, end, name) in inside {
                if start > at {
                    bands.push(Band {
                        view: whole.slice(at, start - at),
                        on_host,
                        before: before.clone(),
                        after: Some(name.to_owned()),
                    });
                }
                if end > at {
                    (at, before) = (end, Some(name.to_owned()));
                }
            }
            if whole.bytes > at {
                bands.push(Band {
                    view: whole.slice(at, whole.bytes - at),
                    on_host,
                    before,
                    after: None,
                });
            }
        }
        Self { bands }
    }

    /// Number of bands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bands.len()
    }

    /// True when nothing is guarded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bands.is_empty()
    }

    /// Writes the pattern.
    pub(super) fn fill(&self) -> Program {
        let mut program = Program::new("guard_bands");
        for band in &self.bands {
            program.fill(band.view, GUARD_PATTERN);
        }
        program
    }

    /// All bands in order, in as few windows of at most `binding_bytes` as they fit.
    #[must_use]
    pub fn windows(&self, binding_bytes: u64) -> Vec<GuardWindow> {
        let mut windows: Vec<GuardWindow> = Vec::new();
        let words = |bytes: u64| u32::try_from(bytes / 4).unwrap_or(u32::MAX);
        for band in &self.bands {
            let end = band.view.offset + band.view.bytes;
            let open = windows.last_mut().filter(|window| {
                let reach = end.saturating_sub(window.view.offset);
                window.view.tensor == band.view.tensor && !band.on_host && reach <= binding_bytes
            });
            if let Some(window) = open {
                let first = words(band.view.offset - window.view.offset);
                window.bands.push([first, words(band.view.bytes)]);
                window.view.bytes = end - window.view.offset;
                continue;
            }
            let before = band.view.offset % ALIGNMENT;
            windows.push(GuardWindow {
                view: Span {
                    offset: band.view.offset - before,
                    bytes: before + band.view.bytes,
                    ..band.view
                },
                bands: vec![[words(before), words(band.view.bytes)]],
            });
        }
        windows
    }

    /// The error for `count` words of a band, counted over all windows, that are not the pattern: the `first` word of it
    /// is `found`.
    #[must_use]
    pub fn overrun(&self, band: usize, first: u32, found: u32, count: u32) -> MemoryError {
        let at = 4 * u64::from(first);
        let name = |name: Option<&String>| name.cloned().unwrap_or_default();
        let (before, after, bytes) = self.bands.get(band).map_or((None, None, 0), |band| {
            (band.before.as_ref(), band.after.as_ref(), band.view.bytes)
        });
        let to_end = bytes.saturating_sub(at + 4);
        // What lies nearer was left by a pass that ran too far over its end, or began too early.
        let (tensor, side, distance) = match (before, after) {
            (None, after) => (name(after), "before", to_end),
            (_, Some(after)) if to_end < at => (after.clone(), "before", to_end),
            (before, _) => (name(before), "behind", at),
        };
        MemoryError::Overrun {
            tensor,
            side,
            distance,
            found,
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_program::TensorId;

    fn band(block: usize, offset: u64, bytes: u64, on_host: bool) -> Band {
        let view = Span {
            tensor: TensorId::at(block),
            offset,
            bytes,
        };
        Band {
            view,
            on_host,
            before: Some("left".to_owned()),
            after: Some("right".to_owned()),
        }
    }

    #[test]
    fn windows_hold_every_band_once_and_fit_a_binding() {
        let bands = vec![
            band(0, 0, 256, false),
            band(0, 300, 212, false),
            band(0, 1000, 280, false),
            band(1, 0, 256, false),
            band(2, 0, 256, true),
            band(2, 1024, 256, true),
        ];
        let guards = GuardBands { bands };
        let shown = |limit| -> Vec<(usize, u64, u64, Vec<[u32; 2]>)> {
            let windows = guards.windows(limit).into_iter();
            let row = |w: GuardWindow| (w.view.tensor.index(), w.view.offset, w.view.bytes, w.bands);
            windows.map(row).collect()
        };
        let one = |block, offset, bytes, first, words| (block, offset, bytes, vec![[first, words]]);
        let rest = [one(1, 0, 256, 0, 64), one(2, 0, 256, 0, 64), one(2, 1024, 256, 0, 64)];
        let together = (0, 0, 1280, vec![[0, 64], [75, 53], [250, 70]]);
        assert_eq!(shown(1 << 20), [&[together][..], &rest].concat());
        // Bindings begin at multiples of 256 bytes.
        let pair = (0, 0, 512, vec![[0, 64], [75, 53]]);
        assert_eq!(shown(1279), [&[pair, one(0, 768, 512, 58, 70)][..], &rest].concat());
    }

    #[test]
    fn the_nearer_tensor_is_blamed() {
        let mut guards = GuardBands {
            bands: vec![band(0, 512, 256, false)],
        };
        let blamed = |guards: &GuardBands, first| match guards.overrun(0, first, 7, 2) {
            MemoryError::Overrun {
                tensor,
                side,
                distance,
                found: 7,
                count: 2,
            } => (tensor, side, distance),
            error => unreachable!("{error}"),
        };
        assert_eq!(blamed(&guards, 31), ("left".to_owned(), "behind", 124));
        assert_eq!(blamed(&guards, 32), ("right".to_owned(), "before", 124));
        guards.bands[0].before = None;
        assert_eq!(blamed(&guards, 0), ("right".to_owned(), "before", 252));
        (guards.bands[0].before, guards.bands[0].after) = (Some("left".to_owned()), None);
        assert_eq!(blamed(&guards, 63), ("left".to_owned(), "behind", 252));
    }
}
