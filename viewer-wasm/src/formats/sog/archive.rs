//! ZIP archives of stored files, as SOG is written.

use super::super::{cut, word};
use crate::ply::Refusal;

/// What an entry of the directory and the directory's end begin with.
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Bytes of the end, of an entry before its name, and of what stands before a file.
const END_BYTES: usize = 22;
const ENTRY_BYTES: usize = 46;
const FILE_BYTES: usize = 30;

/// An archive and where its directory begins.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    directory: usize,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Refusal> {
        // A comment of unknown length may follow the end.
        let last = bytes.len().saturating_sub(END_BYTES);
        let end = (last.saturating_sub(1 << 16)..=last)
            .rev()
            .find(|at| word(bytes, *at) == Some(END));
        let directory = end.and_then(|end| word(bytes, end + 16)).ok_or_else(|| cut("zip"))?;
        Ok(Self {
            bytes,
            directory: directory as usize,
        })
    }

    /// A file by its name.
    pub(super) fn file(&self, name: &str) -> Result<&'a [u8], Refusal> {
        let bytes = self.bytes;
        let short = |at: usize| word(bytes, at).map(|word| (word & 0xffff) as usize);
        let mut at = self.directory;
        while word(bytes, at) == Some(ENTRY) {
            let entry = || {
                let [name, extra, comment] = [28, 30, 32].map(|offset| short(at + offset));
                Some([name?, extra?, comment?, short(at + 8)? & 1, short(at + 10)?])
            };
            let [n_name, n_extra, n_comment, encrypted, method] = entry().ok_or_else(|| cut("zip"))?;
            let start = at + ENTRY_BYTES;
            if bytes.get(start..start + n_name) == Some(name.as_bytes()) {
                if (encrypted, method) != (0, 0) {
                    return Err(format!(
                        "{name} in it is compressed once more; `splat-transform FILE out.sog` stores it as it is"
                    ));
                }
                let found = || {
                    let (length, file) = (word(bytes, at + 20)? as usize, word(bytes, at + 42)? as usize);
                    let checksum = word(bytes, at + 16)?;
                    // The name stands there once more, and what is added to it may differ.
                    let skipped = short(file.checked_add(26)?)? + short(file + 28)?;
                    let first = file + FILE_BYTES + skipped;
                    let found = bytes.get(first..first.checked_add(length)?)?;
                    Some((found, checksum == self::checksum(found)))
                };
                return match found().ok_or_else(|| cut("zip"))? {
                    (found, true) => Ok(found),
                    _ => Err(format!("{name} in it is damaged")),
                };
            }
            at = start + n_name + n_extra + n_comment;
        }
        Err(format!(
            "it is a zip archive without {name}; of those only .sog files are opened"
        ))
    }
}

/// What half a byte does to a checksum: a table of whole bytes would be a kilobyte of the module.
const STEPS: [u32; 16] = {
    let mut steps = [0; 16];
    let mut half = 0;
    while half < 16 {
        let mut sum = half as u32;
        let mut bit = 0;
        while bit < 4 {
            sum = sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
            bit += 1;
        }
        steps[half] = sum;
        half += 1;
    }
    steps
};

/// CRC-32 as archives have it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32| sum >> 4 ^ STEPS[sum as usize & 15];
    !bytes.iter().fold(!0, |sum, byte| step(step(sum ^ u32::from(*byte))))
}
