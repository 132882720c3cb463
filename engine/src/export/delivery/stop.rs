//! Output that is cancelled: writers check now and then, and leave nothing behind.

use std::fmt;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::super::{AtomicFile, write_atomic};
use super::DeliveryError;

/// True once the output is cancelled; it stays so then.
#[derive(Clone, Copy, Default)]
pub struct Stop<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl<'a> Stop<'a> {
    /// Asks `stop`, often: between pieces of work, and for each piece of a file.
    pub fn new(stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self(Some(stop))
    }

    /// True when the output is not wanted any more.
    pub(super) fn is_asked(self) -> bool {
        self.0.is_some_and(|stop| stop())
    }

    /// # Errors
    /// [`DeliveryError::Stopped`].
    pub(super) fn check(self) -> Result<(), DeliveryError> {
        match self.is_asked() {
            true => Err(DeliveryError::Stopped),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.0.is_some()).finish()
    }
}

/// A file whose writing ends when it is not wanted any more.
pub(super) struct File<'a> {
    file: &'a mut AtomicFile,
    stop: Stop<'a>,
}

impl File<'_> {
    /// See [`AtomicFile::reserve`].
    pub(super) fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        self.file.reserve(bytes)
    }
}

impl Write for File<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stop.is_asked() {
            // not `Interrupted`, after which writers try again
            true => Err(io::Error::other("stopped")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for File<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes a whole file through `fill`, as [`write_atomic`] does.
pub(super) fn write(
    path: &Path,
    stop: Stop<'_>,
    fill: impl FnOnce(&mut File<'_>) -> io::Result<()>,
) -> Result<(), DeliveryError> {
    match write_atomic(path, |file| fill(&mut File { file, stop })) {
        Err(_) if stop.is_asked() => Err(DeliveryError::Stopped),
        written => Ok(written?),
    }
}
