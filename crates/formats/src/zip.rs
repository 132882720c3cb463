//! ZIP archives of a few files, stored or deflated.
//!
//! Bytes come as ranges that the caller fetches, so that an archive is nowhere held as a whole. Promises that a file is what its
//! checksum says, and takes no memory that the archive's size does not justify. Of files of one name the last counts. Without the
//! feature `native`, as in the viewer, stored files alone are read: images of SOG are packed already.

use crate::Error;

/// What a file, an entry of the directory and the directory's end begin with.
pub(crate) const FILE: u32 = 0x0403_4b50;
/// The second of them,
pub(crate) const ENTRY: u32 = 0x0201_4b50;
/// and the third.
pub(crate) const END: u32 = 0x0605_4b50;
/// Bytes of them before names.
pub(crate) const FILE_BYTES: usize = 30;
pub(crate) const ENTRY_BYTES: usize = 46;
/// Bytes of the directory's end before a comment.
pub(crate) const END_BYTES: usize = 22;
/// Longest comment behind the end.
const MOST_COMMENT: usize = 65_535;
/// Deflated files grow at most so much: the format cannot do more.
#[cfg(feature = "native")]
const MOST_GROWTH: usize = 1032;
/// Methods of packing: none, and the one that may be there.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// A file of an archive.
#[derive(Clone, Debug)]
struct Entry {
    deflated: bool,
    checksum: u32,
    /// Where its header stands, and how many bytes follow that.
    at: u64,
    packed: u64,
    size: usize,
}

/// The directory of an archive. `fetch` gives a range of its bytes, first and length; fewer where it ends before.
#[derive(Debug)]
pub struct Directory {
    entries: Vec<(String, Entry)>,
}

impl Directory {
    /// Reads that of an archive of so many bytes.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong; those of `fetch`.
    pub fn read<E: From<Error>>(bytes: u64, mut fetch: impl FnMut(u64, u64) -> Result<Vec<u8>, E>) -> Result<Self, E> {
        let truncated = || Error::damaged("its archive is truncated or no archive");
        let behind = bytes.saturating_sub((MOST_COMMENT + END_BYTES) as u64);
        let tail = fetch(behind, bytes - behind)?;
        let last = tail.len().checked_sub(END_BYTES).ok_or_else(truncated)?;
        let end = (0..=last).rev().find(|&at| word(&tail, at) == Some(END));
        let end = end.ok_or_else(truncated)?;
        let n_files = half(&tail, end + 10).ok_or_else(truncated)?;
        let start = u64::from(word(&tail, end + 16).ok_or_else(truncated)?);
        let length = (behind + end as u64).checked_sub(start).ok_or_else(truncated)?;
        let directory = fetch(start, length)?;
        let (mut at, mut entries) = (0, Vec::new());
        for _ in 0..n_files {
            let (name, entry, next) = entry(&directory, at)?;
            if entry.at + FILE_BYTES as u64 + entry.packed > start {
                return Err(damaged_directory().into());
            }
            entries.push((name, entry));
            at = next;
        }
        Ok(Self { entries })
    }

    /// Names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// A file of the archive, unpacked to at most `most` bytes.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is not there, or is not what its checksum says; those of `fetch`.
    pub fn file<E: From<Error>>(
        &self,
        name: &str,
        most: u64,
        mut fetch: impl FnMut(u64, u64) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let entry = self.entries.iter().rev().find(|(known, _)| known == name);
        let (_, entry) = entry.ok_or_else(|| Error::damaged(format!("its archive holds no {name}")))?;
        let damaged = || Error::damaged(format!("{name} in its archive is damaged"));
        let header = fetch(entry.at, FILE_BYTES as u64)?;
        // The name stands there once more, and what is added to it may differ.
        let skipped = half(&header, 26).zip(half(&header, 28));
        let (name_bytes, more) = skipped.filter(|_| word(&header, 0) == Some(FILE)).ok_or_else(damaged)?;
        let start = entry.at + FILE_BYTES as u64 + u64::from(name_bytes) + u64::from(more);
        let packed = fetch(start, entry.packed)?;
        let file = match entry.deflated {
            true => inflated(&packed, entry.size, most).ok_or_else(damaged)?,
            false => packed,
        };
        match file.len() == entry.size && checksum(&file) == entry.checksum {
            true => Ok(file),
            false => Err(damaged().into()),
        }
    }
}

#[cfg(feature = "native")]
fn inflated(packed: &[u8], size: usize, most: u64) -> Option<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let most = size.min(MOST_GROWTH.saturating_mul(packed.len())).min(most);
    miniz_oxide::inflate::decompress_to_vec_with_limit(packed, most).ok()
}

/// Directories with deflated files are refused.
#[cfg(not(feature = "native"))]
fn inflated(_: &[u8], _: usize, _: u64) -> Option<Vec<u8>> {
    None
}

fn damaged_directory() -> Error {
    Error::damaged("the directory of its archive is damaged")
}

/// The entry of the directory at a place, and where the next one is.
fn entry(directory: &[u8], at: usize) -> Result<(String, Entry, usize), Error> {
    let entry = directory.get(at..).filter(|entry| word(entry, 0) == Some(ENTRY));
    let entry = entry.ok_or_else(damaged_directory)?;
    let read = || {
        let name_bytes = usize::from(half(entry, 28)?);
        let behind = usize::from(half(entry, 30)?) + usize::from(half(entry, 32)?);
        let name = entry.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes)?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        let found = Entry {
            deflated: half(entry, 10)? == DEFLATED,
            checksum: word(entry, 16)?,
            at: word(entry, 42)?.into(),
            packed: word(entry, 20)?.into(),
            size: word(entry, 24)? as usize,
        };
        Some((
            name,
            found,
            half(entry, 8)?,
            half(entry, 10)?,
            at + ENTRY_BYTES + name_bytes + behind,
        ))
    };
    let (name, found, flags, method, next) = read().ok_or_else(damaged_directory)?;
    let methods = match cfg!(feature = "native") {
        true => (DEFLATED, "stored and deflated files are"),
        false => (STORED, "stored files are; `splat-transform FILE out.sog` makes those"),
    };
    if flags & 1 != 0 || ![STORED, methods.0].contains(&method) {
        return Err(Error::damaged(format!(
            "{name} in its archive is encrypted or packed in a way that is not read; {}",
            methods.1
        )));
    }
    Ok((name, found, next))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(*two.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(*four.first_chunk()?))
}

/// CRC-32 as archives have it.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    // Made each time: in a module for browsers a kilobyte of noise takes more room than what makes it.
    let table: [u32; 256] = std::array::from_fn(|at| {
        let step = |sum: u32, _| sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        (0..8).fold(at as u32, step)
    });
    !bytes
        .iter()
        .fold(!0, |sum: u32, &byte| table[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}
