//! Large fills, by a shader.
//!
//! `vkCmdFillBuffer` is a host copy as large as the fill in drivers on top of Direct3D 12, made by the CPU and kept with the recording:
//! memory that is filled once at the start would take as much of the host's. From [`LARGE_BYTES`] on a dispatch does the same.

use super::Caps;
use super::program::Place;
use crate::program::{Binding, Shader, fold_groups};

/// Bytes from which on a fill is a dispatch.
pub(super) const LARGE_BYTES: u64 = 64 << 10;
/// Most bytes of a dispatch: every device binds as many.
const PART_BYTES: u64 = 128 << 20;
/// Threads of a group of the shader.
const GROUP: u32 = 256;

/// `shaders/fill.comp`.
pub(super) static SHADER: Shader = Shader {
    name: "fill",
    spirv: include_bytes!("../../../shaders/spv/fill.spv"),
    bindings: &[Binding::write("words")],
};

/// Bytes of the shader's push constants: number of words, value.
pub(super) const PUSH_BYTES: u32 = 8;

/// A dispatch of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// What it binds.
    pub(super) place: Place,
    /// Words that it writes.
    pub(super) words: u32,
    /// Groups that do it.
    pub(super) groups: [u32; 3],
}

/// The dispatches that fill `place`; none where a command of the driver does it: little, or where no binding may begin.
pub(super) fn parts(place: Place, caps: &Caps) -> Vec<Part> {
    if place.bytes < LARGE_BYTES || !place.offset.is_multiple_of(caps.binding_alignment.max(4)) {
        return Vec::new();
    }
    let step = PART_BYTES.min(caps.max_binding_bytes) / caps.binding_alignment.max(4) * caps.binding_alignment.max(4);
    let starts = (0..place.bytes).step_by(usize::try_from(step.max(LARGE_BYTES)).unwrap_or(usize::MAX));
    let part = |start: u64| {
        let bytes = (place.bytes - start).min(step);
        let words = u32::try_from(bytes / 4).unwrap_or(u32::MAX);
        Part {
            place: Place {
                block: place.block,
                offset: place.offset + start,
                bytes,
            },
            words,
            groups: fold_groups(words.div_ceil(GROUP)),
        }
    };
    starts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_fills_are_dispatches_of_what_a_device_binds() {
        let caps = Caps {
            binding_alignment: 256,
            max_binding_bytes: (128 << 20) - 1,
            ..Caps::default()
        };
        let place = |offset, bytes| Place {
            block: 3,
            offset,
            bytes,
        };
        assert_eq!(parts(place(0, LARGE_BYTES - 4), &caps), []);
        assert_eq!(parts(place(4, LARGE_BYTES), &caps), [], "no binding begins there");
        let small = parts(place(512, LARGE_BYTES), &caps);
        assert_eq!(small.len(), 1);
        assert_eq!(
            (small[0].place, small[0].words, small[0].groups),
            (place(512, LARGE_BYTES), 16_384, [64, 1, 1])
        );
        let large = parts(place(256, (1 << 30) + 20), &caps);
        let mut at = 256;
        for part in &large {
            let Place { block, offset, bytes } = part.place;
            assert_eq!(
                (block, offset, offset % 256, u64::from(part.words) * 4),
                (3, at, 0, bytes)
            );
            assert!(bytes <= caps.max_binding_bytes);
            let threads = part.groups.iter().map(|n| u64::from(*n)).product::<u64>() * u64::from(GROUP);
            assert!(threads >= u64::from(part.words) && part.groups.iter().all(|n| *n <= 65_535));
            at += bytes;
        }
        assert_eq!(at, 256 + (1 << 30) + 20);
    }
}
