//! Large fills, by a shader.
//!
//! `vkCmdFillBuffer` is a host copy as large as the fill in drivers on top of Direct3D 12, made by the CPU and kept with the recording:
//! memory that is filled once at the start would take as much of the host's. From [`LARGE_BYTES`] on a dispatch does the same.

use super::Caps;
use kiln_program::{Binding, Shader, fold_groups};

/// Bytes from which on a fill is a dispatch.
pub(super) const LARGE_BYTES: u64 = 64 << 10;
/// Most bytes of a dispatch: every device binds as many.
const PART_BYTES: u64 = 128 << 20;
/// Threads of a group of the shader.
const GROUP: u32 = 256;

/// `shaders/fill.comp`.
pub(super) static SHADER: Shader = Shader {
    name: "fill",
    spirv: include_bytes!("../../../../shaders/spv/fill.spv"),
    bindings: &[Binding::write("words")],
};

/// Bytes of the shader's push constants: number of words, value.
pub(super) const PUSH_BYTES: u32 = 8;

/// A dispatch of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// First byte that it binds, in the block.
    pub(super) offset: u64,
    /// Bytes that it binds.
    pub(super) bytes: u64,
    /// Words that it writes.
    pub(super) words: u32,
    /// Groups that do it.
    pub(super) groups: [u32; 3],
}

/// The dispatches that fill `bytes` bytes from `offset` on; none where a command of the driver does it: little, or where no binding may
/// begin.
pub(super) fn parts(offset: u64, bytes: u64, caps: &Caps) -> Vec<Part> {
    let unit = caps.binding_alignment.max(4);
    if bytes < LARGE_BYTES || !offset.is_multiple_of(unit) {
        return Vec::new();
    }
    let step = (PART_BYTES.min(caps.max_binding_bytes) / unit * unit).max(LARGE_BYTES);
    let starts = (0..bytes).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let part = |start: u64| {
        let bytes = (bytes - start).min(step);
        let words = u32::try_from(bytes / 4).unwrap_or(u32::MAX);
        Part {
            offset: offset + start,
            bytes,
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
        assert_eq!(parts(0, LARGE_BYTES - 4, &caps), []);
        assert_eq!(parts(4, LARGE_BYTES, &caps), [], "no binding begins there");
        let small = Part {
            offset: 512,
            bytes: LARGE_BYTES,
            words: 16_384,
            groups: [64, 1, 1],
        };
        assert_eq!(parts(512, LARGE_BYTES, &caps), [small]);
        let large = parts(256, (1 << 30) + 20, &caps);
        let mut at = 256;
        for part in &large {
            assert_eq!((part.offset, part.offset % 256), (at, 0));
            assert_eq!(u64::from(part.words) * 4, part.bytes);
            assert!(part.bytes <= caps.max_binding_bytes);
            let threads = part.groups.iter().map(|n| u64::from(*n)).product::<u64>() * u64::from(GROUP);
            assert!(threads >= u64::from(part.words) && part.groups.iter().all(|n| *n <= 65_535));
            at += part.bytes;
        }
        assert_eq!(at, 256 + (1 << 30) + 20);
    }
}
