//! Events as JSON, one object a line, for programs that watch a run (`--json`).
//!
//! Lines have a `type`: `start`, `progress`, `train`, `eval`, `event`, `memory`; the middle three are those of
//! `metrics.jsonl`, `memory` is that of `memory.jsonl`. Each line is handed to the system at once. When no reader is left any
//! more (a closed pipe) the rest is dropped and the run goes on.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::Receiver;
use crate::export::ExportError;
use crate::record::events::{Capacities, MemoryRow, MetricsRow, Primitive, RunEvent};

/// Steps between two training lines.
const EVERY: u32 = 10;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Start {
        from: u32,
        iterations: u32,
        cap_bytes: u64,
        #[serde(flatten)]
        capacities: Capacities,
        model: Primitive,
        stage: &'static str,
    },
    Progress {
        stage: &'static str,
        done: u32,
        total: u32,
    },
    Memory(&'a MemoryRow),
    #[serde(untagged)]
    Metrics(MetricsRow),
}

/// Writes events to a stream.
pub struct JsonEvents {
    /// None once nobody reads.
    out: Option<Box<dyn Write + Send>>,
    last: Option<u32>,
}

impl JsonEvents {
    /// Events to `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: Some(out),
            last: None,
        }
    }

    fn put(&mut self, line: &Line<'_>) -> Result<(), ExportError> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let written = serde_json::to_vec(line)
            .map_err(std::io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                out.write_all(&text)?;
                out.flush()
            });
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.out = None;
                Ok(())
            }
            other => other.map_err(|source| ExportError::new(Path::new("standard output"), source)),
        }
    }
}

impl Receiver for JsonEvents {
    fn take(&mut self, event: &RunEvent, _: Duration) -> Result<(), ExportError> {
        let line = match event {
            RunEvent::Start(start) => {
                self.last = Some(start.iterations);
                Line::Start {
                    from: start.from,
                    iterations: start.iterations,
                    cap_bytes: start.cap_bytes,
                    capacities: start.capacities,
                    model: start.primitive,
                    stage: start.stage.name(),
                }
            }
            RunEvent::Progress(progress) => Line::Progress {
                stage: progress.stage.name(),
                done: progress.done,
                total: progress.total,
            },
            RunEvent::Train(row) if row.it.is_multiple_of(EVERY) || Some(row.it) == self.last => {
                Line::Metrics(MetricsRow::Train(row.clone()))
            }
            RunEvent::Eval(row) => Line::Metrics(MetricsRow::Eval(row.clone())),
            RunEvent::Event(row) => Line::Metrics(MetricsRow::Event(row.clone())),
            RunEvent::Memory(row) => Line::Memory(row),
            RunEvent::Train(_) | RunEvent::Gpu(_) | RunEvent::Histograms(_) | RunEvent::View(_) => return Ok(()),
        };
        self.put(&line)
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::record::events::{Event, EventRow, Progress, Stage, Start, TrainRow};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Pipe(Arc<Mutex<(Vec<u8>, Option<ErrorKind>)>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let mut pipe = self.0.lock().unwrap();
            match pipe.1 {
                Some(kind) => Err(kind.into()),
                None => {
                    pipe.0.extend_from_slice(bytes);
                    Ok(bytes.len())
                }
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

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
            gaussians: 7,
            triangles: None,
            vertices: None,
            visible: 5,
            intersections: 9,
            its: None,
            t_s: 1.5,
        })
    }

    #[test]
    fn lines_byte_for_byte() {
        let pipe = Pipe::default();
        let mut events = JsonEvents::new(Box::new(pipe.clone()));
        let capacities = Capacities {
            n_cap: 1,
            v_cap: 2,
            i_cap: 3,
        };
        let start = Start {
            primitive: Primitive::Gaussians,
            stage: Stage::Train,
            from: 0,
            iterations: 11,
            cap_bytes: 4,
            capacities,
        };
        let progress = Progress {
            stage: Stage::Eval,
            done: 1,
            total: 2,
        };
        let event = EventRow {
            it: 10,
            event: Event::Filter { views: 3 },
        };
        let memory = MemoryRow {
            it: 10,
            ..MemoryRow::default()
        };
        let reported = [RunEvent::Start(start)].into_iter().chain((1..=11).map(train)).chain([
            RunEvent::Event(event),
            RunEvent::Progress(progress),
            RunEvent::Memory(memory),
        ]);
        for event in reported {
            events.take(&event, Duration::ZERO).unwrap();
        }
        let row = |it: u32| {
            format!(
                r#"{{"type":"train","it":{it},"loss":0.5,"l1":0.25,"gaussians":7,"visible":5,"intersections":9,"its":null,"t_s":1.5}}"#
            )
        };
        let text = String::from_utf8(pipe.0.lock().unwrap().0.clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..5],
            [
                r#"{"type":"start","from":0,"iterations":11,"cap_bytes":4,"n_cap":1,"v_cap":2,"i_cap":3,"model":"gaussians","stage":"train"}"#,
                &row(10),
                &row(11),
                r#"{"type":"event","it":10,"kind":"filter","detail":{"views":3}}"#,
                r#"{"type":"progress","stage":"eval","done":1,"total":2}"#,
            ]
        );
        assert!(
            lines[5].starts_with(r#"{"type":"memory","it":10,"allocated":0,"#),
            "{}",
            lines[5]
        );
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn a_reader_that_leaves_does_not_end_the_run_but_a_full_disk_does() {
        let pipe = Pipe::default();
        let mut events = JsonEvents::new(Box::new(pipe.clone()));
        pipe.0.lock().unwrap().1 = Some(ErrorKind::StorageFull);
        let error = events.take(&train(10), Duration::ZERO).unwrap_err();
        assert!(matches!(error, ExportError::DiskFull { .. }), "{error}");
        pipe.0.lock().unwrap().1 = Some(ErrorKind::BrokenPipe);
        events.take(&train(20), Duration::ZERO).unwrap();
        pipe.0.lock().unwrap().1 = None;
        events.take(&train(30), Duration::ZERO).unwrap();
        assert!(pipe.0.lock().unwrap().0.is_empty());
    }
}
