//! How much a packed file may unpack to.

use kiln_formats::Error;

use super::super::super::PlyError;

/// Bytes that a file may unpack to however small it is: models without any detail pack to next to nothing,
const FREE_BYTES: u64 = 4 << 20;
/// and how many more for each of its bytes. Positions alone, the last digits of which are noise, keep models of captures below 32.
const MOST_GROWTH: u64 = 64;

/// Bytes that a file may still unpack to. A header says what it likes; it is believed as far as this goes.
#[derive(Debug)]
pub(super) struct Room {
    packed: u64,
    left: u64,
}

impl Room {
    /// That of a file of so many bytes.
    pub(super) const fn of(packed: u64) -> Self {
        let left = MOST_GROWTH.saturating_mul(packed).saturating_add(FREE_BYTES);
        Self { packed, left }
    }

    /// Takes what is about to be unpacked.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is more than is left.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), PlyError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::Damaged(format!(
                "it says that it unpacks to more than {MOST_GROWTH} times its {} bytes, which no model of a scene does",
                self.packed
            ))
            .into()),
        }
    }

    /// What is left.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }
}
