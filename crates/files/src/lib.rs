//! The one way in which Kiln reads files, and in which it goes on with one that it wrote before.
//!
//! Owns opening. A file is opened once and what was opened is looked at: a pipe, a socket, a device and a folder are refused, and none
//! of them is waited for. Reading ends at the bytes that the caller can use, whatever the system says of the file's size. A file that a
//! format names beside itself is read only where it really lies in that folder. Errors say what was found and what to do, and leave
//! the file's name to the caller.

mod inside;

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

pub use inside::{is_inside_name, open_inside, read_inside, stores_of};

/// Opens a regular file; a link to one is followed, because the path is the user's.
///
/// # Errors
/// Those of opening, and `InvalidInput` for a pipe, a socket, a device or a folder.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, false)
}

/// [`open_regular`] of a file in a format of which no file is empty.
///
/// # Errors
/// Those of [`open_regular`], and `InvalidData` for a file without a byte.
pub fn open_filled(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    match is_empty(&file.metadata()?) {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is an empty file; copy or export it again",
        )),
        false => Ok(file),
    }
}

/// Whether this is a regular file without a byte.
#[must_use]
pub fn is_empty(found: &Metadata) -> bool {
    found.is_file() && found.len() == 0
}

/// Reads a whole regular file of at most `most_bytes` bytes.
///
/// # Errors
/// Those of [`open_regular`] and of reading, and `FileTooLarge`.
pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_opened(open_regular(path)?, most_bytes)
}

/// [`read_regular`] of text.
///
/// # Errors
/// Those of [`read_regular`], and `InvalidData` for what is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let bytes = read_regular(path, most_bytes)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// The first bytes of a regular file, at most so many.
///
/// # Errors
/// Those of [`open_regular`] and of reading.
pub fn read_start(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    open_regular(path)?.take(bytes).read_to_end(&mut start)?;
    Ok(start)
}

/// Opens a regular file, or makes it, for reading and for writing behind its end. A link is not followed: what is appended must not end
/// up in another file.
///
/// # Errors
/// Those of opening, and `InvalidInput` for what is no regular file.
pub fn open_appending(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    without_waiting(&mut options, true);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole file that is open, of at most `most_bytes` bytes.
///
/// # Errors
/// Those of reading, and `FileTooLarge`.
pub fn read_opened(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most_bytes {
        // One byte past the limit is enough to know: files of the system say that they are empty, and others grow.
        file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    let found = size.max(bytes.len() as u64);
    match found > most_bytes {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {found} bytes, at most {most_bytes} are read; is it the right file?"),
        )),
        false => Ok(bytes),
    }
}

fn open(path: &Path, is_resolved: bool) -> io::Result<File> {
    // Opening a device can change it, and a socket cannot be opened.
    check(&path.metadata()?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options, is_resolved);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// What was swapped for a pipe meanwhile is not waited for, and a path without links gets none.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions, without_links: bool) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if without_links {
        flags |= OFlags::NOFOLLOW;
    }
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions, _: bool) {}

fn check(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    match kind.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("it is {}; name a regular file", name_of(kind)),
        )),
    }
}

fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    match kind.is_dir() {
        true => "a folder",
        false => "no file",
    }
}

#[cfg(test)]
mod tests;
