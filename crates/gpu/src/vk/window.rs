//! Parts of a mapped block that another thread writes.
//!
//! A window is the only way to its bytes as long as it lives: its block refuses them, and so do further windows. It keeps
//! the memory behind it, so it may outlive the block.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::block::Owned;

/// The parts of a block that are in windows.
#[derive(Debug, Default)]
pub(super) struct Lent(Mutex<Vec<Range<u64>>>);

impl Lent {
    fn list(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        // No change to the list can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when a window has some byte of `range`.
    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        overlaps(&self.list(), range)
    }
}

fn overlaps(list: &[Range<u64>], range: &Range<u64>) -> bool {
    list.iter().any(|lent| lent.start < range.end && range.start < lent.end)
}

/// Host-visible bytes that only the holder of this value reaches, for writing.
pub struct Window {
    lent: Arc<Lent>,
    range: Range<u64>,
    at: *mut u8,
    /// Keeps the mapping.
    _owned: Arc<Owned>,
}

// SAFETY: no other thread has a way to the bytes behind the pointer, see `Lent`.
unsafe impl Send for Window {}

impl Window {
    /// The bytes of `range`, which begin at `at` in the mapping of `owned`; `None` when another window has some of them.
    pub(super) fn new(owned: Arc<Owned>, lent: Arc<Lent>, range: Range<u64>, at: *mut u8) -> Option<Self> {
        let mut list = lent.list();
        if range.is_empty() || overlaps(&list, &range) {
            return None;
        }
        list.push(range.clone());
        drop(list);
        Some(Self {
            lent,
            range,
            at,
            _owned: owned,
        })
    }

    /// Bytes there is room for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Writes `bytes` from the start of the window on; false, and nothing is written, when they are more than it has.
    ///
    /// The device must not be reading them; the rings above this layer see to that.
    #[must_use]
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() as u64 <= self.bytes();
        if fits {
            // SAFETY: that many bytes are mapped from `at` on, nobody else reaches them, and `bytes`, a slice that safe code
            // holds, cannot be among them.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, bytes.len()) };
        }
        fits
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.lent.list().retain(|lent| *lent != self.range);
    }
}
