//! ZIP archives of a few files: stored when written, stored or deflated when read.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::Error;
use super::read::room;

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
    /// Where its header stands, and how many bytes follow that.
    at: u64,
    packed: u64,
    size: usize,
}

/// An archive whose directory has been read, and whose files are read when they are asked for.
#[derive(Debug)]
pub struct Archive<R> {
    archive: R,
    bytes: u64,
    entries: BTreeMap<String, Entry>,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong; [`Error::Io`].
    pub fn open(mut archive: R) -> Result<Self, Error> {
        let truncated = || Error::damaged("its archive is truncated or no archive");
        let bytes = archive.seek(SeekFrom::End(0))?;
        let behind = bytes.saturating_sub((MOST_COMMENT + END_BYTES) as u64);
        let tail = part(&mut archive, behind, bytes - behind)?;
        let last = tail.len().checked_sub(END_BYTES).ok_or_else(truncated)?;
        let end = (0..=last).rev().find(|&at| word(&tail, at) == Some(END));
        let end = end.ok_or_else(truncated)?;
        let n_files = half(&tail, end + 10).ok_or_else(truncated)?;
        let start = u64::from(word(&tail, end + 16).ok_or_else(truncated)?);
        let length = (behind + end as u64).checked_sub(start).ok_or_else(truncated)?;
        let directory = part(&mut archive, start, length)?;
        let (mut at, mut entries) = (0, BTreeMap::new());
        for _ in 0..n_files {
            let (name, entry, next) = entry(&directory, at)?;
            if entry.at + FILE_BYTES as u64 + entry.packed > start {
                return Err(damaged_directory());
            }
            entries.insert(name, entry);
            at = next;
        }
        Ok(Self {
            archive,
            bytes,
            entries,
        })
    }

    /// Its size.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A file of the archive.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is not there, or is not what its checksum says; [`Error::Io`].
    pub fn file(&mut self, name: &str) -> Result<Vec<u8>, Error> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| Error::damaged(format!("its archive holds no {name}")))?;
        let damaged = || Error::damaged(format!("{name} in its archive is damaged"));
        let header = part(&mut self.archive, entry.at, FILE_BYTES as u64)?;
        // the name stands there once more, and what is added to it may differ
        let skipped = half(&header, 26).zip(half(&header, 28));
        let (name_bytes, more) = skipped.filter(|_| word(&header, 0) == Some(FILE)).ok_or_else(damaged)?;
        let start = entry.at + FILE_BYTES as u64 + u64::from(name_bytes) + u64::from(more);
        let packed = part(&mut self.archive, start, entry.packed)?;
        let file = match entry.deflated {
            true => {
                let allowed = usize::try_from(room(self.bytes)).unwrap_or(usize::MAX);
                let most = entry.size.min(MOST_GROWTH.saturating_mul(packed.len())).min(allowed);
                decompress_to_vec_with_limit(&packed, most).map_err(|_| damaged())?
            }
            false => packed,
        };
        match file.len() == entry.size && checksum(&file) == entry.checksum {
            true => Ok(file),
            false => Err(damaged()),
        }
    }
}

/// Bytes of an archive; fewer where it ends before.
fn part(archive: &mut (impl Read + Seek), start: u64, length: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    archive.seek(SeekFrom::Start(start))?;
    archive.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
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
            deflated: half(entry, 10)? == 8,
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
    if flags & 1 != 0 || !matches!(method, 0 | 8) {
        return Err(Error::damaged(format!(
            "{name} in its archive is encrypted or packed in a way that is not read; stored and deflated files are"
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
    use std::io::Cursor;

    use super::*;

    fn open(bytes: &[u8]) -> Result<Archive<Cursor<&[u8]>>, Error> {
        Archive::open(Cursor::new(bytes))
    }

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
        let mut archive = open(&bytes).unwrap();
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a.txt", "b"]);
        assert_eq!(
            (archive.file("b").unwrap(), archive.file("a.txt").unwrap()),
            (b"second".to_vec(), Vec::new())
        );
        assert!(archive.file("c").unwrap_err().to_string().contains("holds no c"));
        for kept in 0..bytes.len() {
            assert!(open(&bytes[..kept]).is_err(), "{kept}");
        }
        // a comment behind the end, and a byte of a file that changed
        let mut commented = [&bytes[..], b"hello"].concat();
        commented[bytes.len() - 2] = 5;
        assert!(open(&commented).unwrap().file("b").is_ok());
        let mut changed = bytes.clone();
        changed[FILE_BYTES + 2] ^= 1;
        assert!(open(&changed).unwrap().file("b").is_err());
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
        assert_eq!(open(&bytes).unwrap().file("a").unwrap(), plain);
        bytes[directory + 24..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(open(&bytes).unwrap().file("a").is_err());
        bytes[directory + 10] = 12;
        assert!(open(&bytes).unwrap_err().to_string().contains("stored and deflated"));
    }
}
