//! Archives of files: written, stored, and read out of anything that can be read and sought in.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom, Write};

use super::Error;
use super::read::room;
use crate::zip::{Directory, END, END_BYTES, ENTRY, FILE, FILE_BYTES, checksum};

/// Version that readers need, and 1 January 1980, the first day that archives know.
const VERSION: u16 = 20;
const DATE: u16 = 0x0021;

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

/// An archive whose directory has been read, and whose files are read when they are asked for.
#[derive(Debug)]
pub struct Archive<R> {
    archive: R,
    bytes: u64,
    directory: Directory,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong; [`Error::Io`].
    pub fn open(mut archive: R) -> Result<Self, Error> {
        let bytes = archive.seek(SeekFrom::End(0))?;
        let directory = Directory::read(bytes, |start, length| part(&mut archive, start, length))?;
        Ok(Self {
            archive,
            bytes,
            directory,
        })
    }

    /// Its size.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.directory.names().collect::<BTreeSet<_>>().into_iter()
    }

    /// A file of the archive.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is not there, or is not what its checksum says; [`Error::Io`].
    pub fn file(&mut self, name: &str) -> Result<Vec<u8>, Error> {
        let archive = &mut self.archive;
        self.directory
            .file(name, room(self.bytes), |start, length| part(archive, start, length))
    }
}

/// Bytes of an archive; fewer where it ends before.
fn part(archive: &mut (impl Read + Seek), start: u64, length: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    archive.seek(SeekFrom::Start(start))?;
    archive.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::io::Cursor;

    use super::*;
    use crate::zip::ENTRY_BYTES;

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
