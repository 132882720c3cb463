//! ZIP archives of a few files: stored when written, stored or deflated when read.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::Error;

/// What a file, an entry of the directory and the directory's end begin with.
const FILE: u32 = 0x0403_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Bytes of them before names.
const FILE_BYTES: usize = 30;
const ENTRY_BYTES: usize = 46;
const END_BYTES: usize = 22;
/// Longest comment behind the end.
const MOST_COMMENT: usize = 65_535;
/// Version that readers need, and 1 January 1980, the first day that archives know.
const VERSION: u16 = 20;
const DATE: u16 = 0x0021;
/// Deflated files grow at most so much: the format cannot do more.
const MOST_GROWTH: usize = 1032;

/// An archive being written.
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    out: W,
    at: u64,
    directory: Vec<u8>,
    n_files: u16,
}

impl<W: Write> ArchiveWriter<W> {
    /// An archive without files.
    pub const fn new(out: W) -> Self {
        Self {
            out,
            at: 0,
            directory: Vec::new(),
            n_files: 0,
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The system's, and [`Error::TooLarge`] beyond 4 GiB.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let start = self.fits(bytes.len() + name.len() + FILE_BYTES)?;
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let name_bytes = u16::try_from(name.len()).unwrap_or(u16::MAX);
        // version, flags, method, time, date; then checksum, sizes, bytes of the name, of what is added to it
        let mut common = Vec::new();
        common.extend([VERSION, 0, 0, 0, DATE].map(u16::to_le_bytes).as_flattened());
        common.extend([checksum(bytes), size, size].map(u32::to_le_bytes).as_flattened());
        common.extend([name_bytes, 0].map(u16::to_le_bytes).as_flattened());
        self.out.write_all(&FILE.to_le_bytes())?;
        self.out.write_all(&common)?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(bytes)?;
        self.at += (FILE_BYTES + name.len() + bytes.len()) as u64;
        self.directory.extend(ENTRY.to_le_bytes());
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(common);
        // no comment, first disk, no attributes
        self.directory.extend([0; 10]);
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.n_files += 1;
        Ok(())
    }

    /// Writes the directory.
    ///
    /// # Errors
    /// The system's, and [`Error::TooLarge`] beyond 4 GiB.
    pub fn finish(mut self) -> Result<(), Error> {
        let start = self.fits(self.directory.len() + END_BYTES)?;
        let size = u32::try_from(self.directory.len()).unwrap_or(u32::MAX);
        self.out.write_all(&self.directory)?;
        self.out.write_all(&END.to_le_bytes())?;
        self.out
            .write_all([0, 0, self.n_files, self.n_files].map(u16::to_le_bytes).as_flattened())?;
        self.out.write_all([size, start].map(u32::to_le_bytes).as_flattened())?;
        Ok(self.out.write_all(&[0; 2])?)
    }

    /// Where the next bytes go.
    fn fits(&self, more: usize) -> Result<u32, Error> {
        let end = u32::try_from(self.at + more as u64);
        match (u32::try_from(self.at), end) {
            (Ok(start), Ok(_)) => Ok(start),
            _ => Err(Error::TooLarge(
                "the archive would be larger than 4 GiB, which its format cannot name".to_owned(),
            )),
        }
    }
}

/// A file of an archive.
#[derive(Clone, Debug)]
struct Entry {
    deflated: bool,
    checksum: u32,
    packed: Range<usize>,
    size: usize,
}

/// An archive in memory.
#[derive(Debug)]
pub struct Archive<'a> {
    bytes: &'a [u8],
    entries: BTreeMap<String, Entry>,
}

impl<'a> Archive<'a> {
    /// Reads the directory.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let truncated = || Error::damaged("its archive is truncated or no archive");
        let last = bytes.len().checked_sub(END_BYTES).ok_or_else(truncated)?;
        let end = (last.saturating_sub(MOST_COMMENT)..=last).rev();
        let end = end
            .into_iter()
            .find(|&at| word(bytes, at) == Some(END))
            .ok_or_else(truncated)?;
        let n_files = half(bytes, end + 10).ok_or_else(truncated)?;
        let mut at = word(bytes, end + 16).ok_or_else(truncated)? as usize;
        let mut entries = BTreeMap::new();
        for _ in 0..n_files {
            let (name, entry, next) = entry(bytes, at)?;
            entries.insert(name, entry);
            at = next;
        }
        Ok(Self { bytes, entries })
    }

    /// Names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A file of the archive.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is not there, or is not what its checksum says.
    pub fn file(&self, name: &str) -> Result<Vec<u8>, Error> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| Error::damaged(format!("its archive holds no {name}")))?;
        let damaged = || Error::damaged(format!("{name} in its archive is damaged"));
        let packed = self.bytes.get(entry.packed.clone()).ok_or_else(damaged)?;
        let file = match entry.deflated {
            true => {
                let most = entry.size.min(MOST_GROWTH.saturating_mul(packed.len()));
                decompress_to_vec_with_limit(packed, most).map_err(|_| damaged())?
            }
            false => packed.to_vec(),
        };
        match file.len() == entry.size && checksum(&file) == entry.checksum {
            true => Ok(file),
            false => Err(damaged()),
        }
    }
}

/// The entry of the directory at a place, and where the next one is.
fn entry(bytes: &[u8], at: usize) -> Result<(String, Entry, usize), Error> {
    let damaged = || Error::damaged("the directory of its archive is damaged");
    let short = |offset: usize| half(bytes, at.checked_add(offset)?);
    let long = |offset: usize| word(bytes, at.checked_add(offset)?);
    if long(0) != Some(ENTRY) {
        return Err(damaged());
    }
    let read = || {
        let name_bytes = usize::from(short(28)?);
        let behind = usize::from(short(30)?) + usize::from(short(32)?);
        let name = bytes.get(at + ENTRY_BYTES..at + ENTRY_BYTES + name_bytes)?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        let start = long(42)? as usize;
        // the name stands there once more, and what is added to it may differ
        let skipped = usize::from(half(bytes, start.checked_add(26)?)?) + usize::from(half(bytes, start + 28)?);
        (word(bytes, start)? == FILE).then_some(())?;
        let start = start + FILE_BYTES + skipped;
        let packed = start..start.checked_add(long(20)? as usize)?;
        bytes.get(packed.clone())?;
        let next = at + ENTRY_BYTES + name_bytes + behind;
        Some((name, short(8)?, short(10)?, long(16)?, packed, long(24)? as usize, next))
    };
    let (name, flags, method, checksum, packed, size, next) = read().ok_or_else(damaged)?;
    if flags & 1 != 0 || !matches!(method, 0 | 8) {
        return Err(Error::damaged(format!(
            "{name} in its archive is encrypted or packed in a way that is not read; stored and deflated files are"
        )));
    }
    let entry = Entry {
        deflated: method == 8,
        checksum,
        packed,
        size,
    };
    Ok((name, entry, next))
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
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut value = at as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xedb8_8320 ^ value >> 1
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    !bytes
        .iter()
        .fold(!0, |sum: u32, &byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn written(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = ArchiveWriter::new(&mut bytes);
        for (name, file) in files {
            archive.add(name, file).unwrap();
        }
        archive.finish().unwrap();
        bytes
    }

    #[test]
    fn files_come_back_and_half_archives_do_not() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        let bytes = written(&[("b", b"second"), ("a.txt", b"")]);
        let archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a.txt", "b"]);
        assert_eq!(
            (archive.file("b").unwrap(), archive.file("a.txt").unwrap()),
            (b"second".to_vec(), Vec::new())
        );
        assert!(archive.file("c").unwrap_err().to_string().contains("holds no c"));
        for kept in 0..bytes.len() {
            assert!(Archive::open(&bytes[..kept]).is_err(), "{kept}");
        }
        // a comment behind the end, and a byte of a file that changed
        let mut commented = [&bytes[..], b"hello"].concat();
        commented[bytes.len() - 2] = 5;
        assert!(Archive::open(&commented).unwrap().file("b").is_ok());
        let mut changed = bytes.clone();
        changed[FILE_BYTES + 2] ^= 1;
        assert!(Archive::open(&changed).unwrap().file("b").is_err());
    }

    /// A deflated file is read, and one that says it is huge takes no memory.
    #[test]
    fn deflated_files_and_promises_of_size() {
        let plain = vec![7_u8; 5000];
        let packed = miniz_oxide::deflate::compress_to_vec(&plain, 6);
        let mut bytes = written(&[("a", &packed)]);
        let directory = bytes.len() - END_BYTES - ENTRY_BYTES - 1;
        let mut put = |offset: usize, value: &[u8]| bytes[directory + offset..][..value.len()].copy_from_slice(value);
        put(10, &8_u16.to_le_bytes());
        put(16, &checksum(&plain).to_le_bytes());
        put(24, &5000_u32.to_le_bytes());
        assert_eq!(Archive::open(&bytes).unwrap().file("a").unwrap(), plain);
        bytes[directory + 24..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Archive::open(&bytes).unwrap().file("a").is_err());
        bytes[directory + 10] = 12;
        assert!(
            Archive::open(&bytes)
                .unwrap_err()
                .to_string()
                .contains("stored and deflated")
        );
    }
}
