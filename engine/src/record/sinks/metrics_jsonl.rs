//! `metrics.jsonl`: training, evaluation and event rows.

use std::path::Path;
use std::time::Duration;

use super::jsonl::JsonLines;
use super::{FLUSH_EVERY, Receiver};
use crate::export::ExportError;
use crate::record::events::{Event, MetricsRow, RunEvent};

/// Writes a training row every few steps and every evaluation and event.
pub struct MetricsJsonl {
    rows: JsonLines,
    every: u32,
    /// Iterations of the run: the last one always gets a row.
    last: Option<u32>,
    flushed_at: u32,
}

impl MetricsJsonl {
    /// Opens the file for appending; `every` is the number of steps between two training rows.
    ///
    /// # Errors
    /// [`ExportError`] when the file cannot be opened.
    pub fn append(path: &Path, every: u32) -> Result<Self, ExportError> {
        Ok(Self {
            rows: JsonLines::append(path)?,
            every: every.max(1),
            last: None,
            flushed_at: 0,
        })
    }

    fn flush_when_due(&mut self, iteration: u32) -> Result<(), ExportError> {
        if iteration.abs_diff(self.flushed_at) >= FLUSH_EVERY {
            self.flushed_at = iteration;
            self.rows.flush()?;
        }
        Ok(())
    }
}

impl Receiver for MetricsJsonl {
    fn take(&mut self, event: &RunEvent, _: Duration) -> Result<(), ExportError> {
        match event {
            RunEvent::Start(start) => {
                self.last = Some(start.iterations);
                self.flushed_at = start.from;
                Ok(())
            }
            RunEvent::Train(row) => {
                if row.it.is_multiple_of(self.every) || Some(row.it) == self.last {
                    self.rows.write(&MetricsRow::Train(row.clone()))?;
                }
                self.flush_when_due(row.it)
            }
            RunEvent::Eval(row) => {
                self.rows.write(&MetricsRow::Eval(row.clone()))?;
                self.rows.flush()
            }
            RunEvent::Event(row) => {
                self.rows.write(&MetricsRow::Event(row.clone()))?;
                // Densification, reset and filter come by schedule; the rest a reader wants to see at once.
                match row.event {
                    Event::Densify { .. } | Event::Cull { .. } | Event::Reset { .. } | Event::Filter { .. } => {
                        self.flush_when_due(row.it)
                    }
                    _ => self.rows.flush(),
                }
            }
            RunEvent::Progress(_)
            | RunEvent::Memory(_)
            | RunEvent::Gpu(_)
            | RunEvent::Histograms(_)
            | RunEvent::View(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.rows.flush()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::record::events::{Capacities, EventRow, Primitive, Stage, Start, TrainRow};
    use kiln_scratch::Scratch;

    fn train(it: u32) -> RunEvent {
        RunEvent::Train(TrainRow {
            it,
            loss: 0.5,
            l1: 0.25,
            normals: None,
            density: None,
            density_normals: None,
            neighbour_geometry: None,
            neighbour_photometric: None,
            gaussians: 10,
            triangles: None,
            vertices: None,
            visible: 9,
            intersections: 8,
            its: None,
            t_s: 0.0,
        })
    }

    fn start(from: u32, iterations: u32) -> RunEvent {
        let capacities = Capacities {
            n_cap: 1,
            v_cap: 1,
            i_cap: 1,
        };
        RunEvent::Start(Start {
            primitive: Primitive::Gaussians,
            stage: Stage::Train,
            from,
            iterations,
            cap_bytes: 1,
            capacities,
        })
    }

    #[test]
    fn rows_come_every_ten_steps_and_are_out_after_a_hundred() {
        let folder = Scratch::new();
        let path = folder.path().join("metrics.jsonl");
        let count = || std::fs::read_to_string(&path).unwrap().lines().count();
        let mut sink = MetricsJsonl::append(&path, 10).unwrap();
        sink.take(&start(0, 1005), Duration::ZERO).unwrap();
        for it in 1..=250 {
            sink.take(&train(it), Duration::ZERO).unwrap();
        }
        assert_eq!(count(), 20);
        let event = |event| RunEvent::Event(EventRow { it: 251, event });
        sink.take(&event(Event::Filter { views: 1 }), Duration::ZERO).unwrap();
        assert_eq!(count(), 20);
        sink.take(&event(Event::Save { files: Vec::new() }), Duration::ZERO)
            .unwrap();
        assert_eq!(count(), 27);
        sink.take(&train(1005), Duration::ZERO).unwrap();
        sink.flush().unwrap();
        assert_eq!(count(), 28);
    }
}
