//! A disk whose process is killed at a chosen call, as by `kill -9`: nothing is tidied up, and a write is left half done.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiln::export::{Disk, DiskFile, RealDisk};

/// Counts calls, and ends the process at one of them.
#[derive(Debug)]
pub struct Countdown {
    calls: AtomicU64,
    at: Option<u64>,
}

impl Countdown {
    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn is_due(&self) -> bool {
        Some(self.calls.fetch_add(1, Ordering::Relaxed) + 1) == self.at
    }

    fn call(&self) {
        if self.is_due() {
            die();
        }
    }
}

/// Sends this process the signal that no process can catch.
fn die() -> ! {
    let sent = Command::new("kill")
        .args(["-KILL", &std::process::id().to_string()])
        .status();
    // Not reached where there is such a program; the next best thing tidies nothing up either.
    eprintln!("no `kill`: {sent:?}");
    std::process::abort()
}

/// The real disk, up to a call.
#[derive(Clone, Debug)]
pub struct KillingDisk(Arc<Countdown>);

impl KillingDisk {
    /// Kills the process at call `at`, the first being 1; never without one.
    #[must_use]
    pub fn new(at: Option<u64>) -> Self {
        let calls = AtomicU64::new(0);
        Self(Arc::new(Countdown { calls, at }))
    }

    /// The calls.
    #[must_use]
    pub fn countdown(&self) -> Arc<Countdown> {
        self.0.clone()
    }
}

impl Disk for KillingDisk {
    fn make_folder(&self, path: &Path) -> io::Result<bool> {
        self.0.call();
        RealDisk.make_folder(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.0.call();
        let file = RealDisk.create(path)?;
        let countdown = self.0.clone();
        Ok(Box::new(KillingFile { file, countdown }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.call();
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.call();
        RealDisk.remove(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.0.call();
        RealDisk.sync_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.call();
        RealDisk.names(folder)
    }
}

#[derive(Debug)]
struct KillingFile {
    file: Box<dyn DiskFile>,
    countdown: Arc<Countdown>,
}

impl Write for KillingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.countdown.is_due() {
            self.file.write_all(&bytes[..bytes.len() / 2])?;
            die();
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for KillingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl DiskFile for KillingFile {
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        self.countdown.call();
        self.file.reserve(bytes)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.countdown.call();
        self.file.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.countdown.call();
        self.file.sync()
    }
}
