//! `memory.jsonl`: what is allocated, reserved and budgeted.

use std::path::Path;
use std::time::Duration;

use super::Receiver;
use super::jsonl::JsonLines;
use crate::export::ExportError;
use crate::record::events::{Capacities, MemoryRow, RunEvent};

/// Writes memory rows; the first one also says the capacities.
pub struct MemoryJsonl {
    rows: JsonLines,
    every: u32,
    /// Taken by the first row.
    capacities: Option<Capacities>,
    written: Option<u32>,
}

impl MemoryJsonl {
    /// Opens the file for appending; `every` is the number of steps between two rows.
    ///
    /// # Errors
    /// [`ExportError`] when the file cannot be opened.
    pub fn append(path: &Path, every: u32) -> Result<Self, ExportError> {
        Ok(Self {
            rows: JsonLines::append(path)?,
            every: every.max(1),
            capacities: None,
            written: None,
        })
    }

    /// Rows are wanted at first sight and at multiples of `every`. Peaks are running maxima, so nothing that happens
    /// between two rows is lost.
    fn wants(&self, iteration: u32) -> bool {
        self.written.is_none() || iteration.is_multiple_of(self.every)
    }
}

impl Receiver for MemoryJsonl {
    fn take(&mut self, event: &RunEvent, _: Duration) -> Result<(), ExportError> {
        match event {
            RunEvent::Start(start) => self.capacities = Some(start.capacities),
            RunEvent::Memory(row) if self.wants(row.it) && self.written != Some(row.it) => {
                self.written = Some(row.it);
                let capacities = self.capacities.take();
                self.rows.write(&MemoryRow {
                    capacities: row.capacities.or(capacities),
                    ..row.clone()
                })?;
                // Rows are rare, and the last one before a crash is the one that explains it.
                self.rows.flush()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.rows.flush()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::record::events::{Primitive, Stage, Start};
    use kiln_scratch::Scratch;

    #[test]
    fn capacities_are_written_once() {
        let folder = Scratch::new();
        let path = folder.path().join("memory.jsonl");
        let mut sink = MemoryJsonl::append(&path, 100).unwrap();
        let capacities = Capacities {
            n_cap: 3,
            v_cap: 2,
            i_cap: 1,
        };
        let start = Start {
            primitive: Primitive::Gaussians,
            stage: Stage::Train,
            from: 0,
            iterations: 500,
            cap_bytes: 10,
            capacities,
        };
        sink.take(&RunEvent::Start(start), Duration::ZERO).unwrap();
        for it in [1, 50, 100, 100, 150, 200] {
            let row = MemoryRow {
                it,
                reserved: 7,
                ..MemoryRow::default()
            };
            sink.take(&RunEvent::Memory(row), Duration::ZERO).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<MemoryRow> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seen: Vec<_> = rows.iter().map(|row| (row.it, row.capacities)).collect();
        assert_eq!(seen, [(1, Some(capacities)), (100, None), (200, None)]);
    }
}
