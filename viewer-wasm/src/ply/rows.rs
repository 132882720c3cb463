//! Splats as rows of named numbers: what trainers write. [`kiln_formats::ply`] says what is in one.

use kiln_formats::ply::Columns;
use kiln_ply::Header;

use super::Refusal;
use super::header::element;
use crate::splat::Splat;

/// Rows, and what a record of them holds.
#[derive(Debug)]
pub(super) struct Rows {
    stride: usize,
    count: u32,
    left: u32,
    before: u64,
    columns: Columns,
}

impl Rows {
    pub(super) fn new(header: &Header) -> Result<Self, Refusal> {
        let Some((vertex, before)) = element(header, "vertex")? else {
            return Err("the PLY file has no element `vertex`".to_owned());
        };
        let count = u32::try_from(vertex.count).map_err(|_| super::too_large(vertex.bytes()))?;
        Ok(Self {
            stride: vertex.stride,
            count,
            left: count,
            before,
            columns: Columns::find(vertex, vertex).map_err(|e| e.to_string())?,
        })
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn degree(&self) -> u32 {
        self.columns.degree()
    }

    /// Bytes of the elements that come first.
    pub(super) fn bytes_before(&self) -> u64 {
        self.before
    }

    pub(super) fn stride(&self) -> Option<usize> {
        (self.left > 0).then_some(self.stride)
    }

    /// The splat of a record; `None` when a value is not a number.
    pub(super) fn read(&mut self, record: &[u8]) -> Option<Splat> {
        self.left -= 1;
        let (splat, filter) = self.columns.read(record);
        Splat::of(&splat)?.filtered(filter)
    }
}
