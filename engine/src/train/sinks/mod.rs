//! Where events go: the receivers a profile names, behind one dispatcher.
//!
//! Owns the files `metrics.jsonl` and `memory.jsonl` and the console. Promises that a killed run loses at most 100
//! iterations of rows, that rows are only ever appended, and that a failing receiver does not keep an event from the
//! others. Refuses to guess: a write that fails is an error with the path, and the run ends with it.

mod console;
mod host;
mod jsonl;
mod memory_jsonl;
mod metrics_jsonl;

use std::path::Path;
use std::time::Duration;

pub use console::{Console, Terminal};
pub use host::HostLoad;
pub use memory_jsonl::MemoryJsonl;
pub use metrics_jsonl::MetricsJsonl;

use super::events::RunEvent;
use crate::export::ExportError;
use crate::plugins;

/// File name of the metrics, inside the run folder.
pub const METRICS_FILE: &str = "metrics.jsonl";
/// File name of the memory records, inside the run folder.
pub const MEMORY_FILE: &str = "memory.jsonl";

/// Rows a killed run may lose, in iterations.
const FLUSH_EVERY: u32 = 100;

/// A receiver of events.
pub trait Receiver: Send {
    /// Takes an event at `now`, the time since any fixed moment on a monotonic clock.
    ///
    /// # Errors
    /// [`ExportError`] when a file cannot be written.
    fn take(&mut self, event: &RunEvent, now: Duration) -> Result<(), ExportError>;

    /// Hands everything taken so far to the system.
    ///
    /// # Errors
    /// [`ExportError`] when a file cannot be written.
    fn flush(&mut self) -> Result<(), ExportError>;
}

/// The receivers of a run.
pub struct Sinks {
    receivers: Vec<Box<dyn Receiver>>,
    /// Iterations between two memory records; `None` when nobody wants them.
    memory_every: Option<u32>,
}

impl Sinks {
    /// Opens the sinks that a profile lists; files lie in `folder`, which exists. Without a `terminal` (`--quiet`) a
    /// console in the list stays silent.
    ///
    /// # Errors
    /// [`ExportError`] when a file cannot be opened for appending.
    pub fn open(list: &[plugins::Sink], folder: &Path, terminal: Option<Terminal>) -> Result<Self, ExportError> {
        let mut terminal = terminal;
        let mut receivers: Vec<Box<dyn Receiver>> = Vec::new();
        let mut memory_every = None;
        for sink in list {
            match sink {
                plugins::Sink::Console(options) => {
                    if let Some(terminal) = terminal.take() {
                        let every = Duration::from_secs(u64::from(options.every_s));
                        receivers.push(Box::new(Console::new(terminal, every)));
                        // The console shows how full the cap is.
                        memory_every = least(memory_every, FLUSH_EVERY);
                    }
                }
                plugins::Sink::MetricsJsonl(options) => {
                    let path = folder.join(METRICS_FILE);
                    receivers.push(Box::new(MetricsJsonl::append(&path, options.every)?));
                }
                plugins::Sink::MemoryJsonl(options) => {
                    let path = folder.join(MEMORY_FILE);
                    receivers.push(Box::new(MemoryJsonl::append(&path, options.every)?));
                    memory_every = least(memory_every, options.every);
                }
            }
        }
        Ok(Self {
            receivers,
            memory_every,
        })
    }

    /// Adds a receiver of one's own.
    pub fn add(&mut self, receiver: Box<dyn Receiver>) {
        self.receivers.push(receiver);
    }

    /// True when a memory record of this iteration is wanted. Asking the driver costs a call, so the loop asks here
    /// first; records at other moments (evaluations, densifications) are welcome too.
    #[must_use]
    pub fn memory_due(&self, iteration: u32) -> bool {
        self.memory_every
            .is_some_and(|every| iteration == 1 || iteration.is_multiple_of(every))
    }

    /// Gives an event to every receiver.
    ///
    /// # Errors
    /// The first receiver's error; the others have got the event all the same.
    pub fn emit(&mut self, event: &RunEvent, now: Duration) -> Result<(), ExportError> {
        self.each(|receiver| receiver.take(event, now))
    }

    /// Hands everything to the system: at the end, and before the process is left in any other way.
    ///
    /// # Errors
    /// The first receiver's error.
    pub fn flush(&mut self) -> Result<(), ExportError> {
        self.each(|receiver| receiver.flush())
    }

    fn each(&mut self, mut act: impl FnMut(&mut dyn Receiver) -> Result<(), ExportError>) -> Result<(), ExportError> {
        let mut result = Ok(());
        for receiver in &mut self.receivers {
            result = result.and(act(receiver.as_mut()));
        }
        result
    }
}

fn least(a: Option<u32>, b: u32) -> Option<u32> {
    Some(a.map_or(b, |a| a.min(b)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::{Inputs, resolve};
    use crate::scene::scratch::Scratch;
    use crate::train::events::{Event, EventRow};
    use std::fs;

    #[test]
    fn shipped_profiles_open_their_files() {
        let folder = Scratch::new();
        let profile = resolve(&Inputs::default()).unwrap();
        let mut sinks = Sinks::open(&profile.sinks, folder.path(), None).unwrap();
        let event = RunEvent::Event(EventRow {
            it: 7,
            event: Event::Filter { views: 3 },
        });
        sinks.emit(&event, Duration::ZERO).unwrap();
        sinks.flush().unwrap();
        assert_eq!(
            fs::read_to_string(folder.path().join(METRICS_FILE)).unwrap(),
            "{\"type\":\"event\",\"it\":7,\"kind\":\"filter\",\"detail\":{\"views\":3}}\n"
        );
        assert_eq!(fs::read_to_string(folder.path().join(MEMORY_FILE)).unwrap(), "");
        assert!(sinks.memory_due(1) && !sinks.memory_due(50) && sinks.memory_due(300));
        assert!(!Sinks::open(&[], folder.path(), None).unwrap().memory_due(100));
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let folder = Scratch::new();
        fs::create_dir(folder.path().join(METRICS_FILE)).unwrap();
        let profile = resolve(&Inputs::default()).unwrap();
        let error = Sinks::open(&profile.sinks, folder.path(), None).err().unwrap();
        assert!(error.to_string().contains(METRICS_FILE), "{error}");
    }

    struct Full;

    impl Receiver for Full {
        fn take(&mut self, _: &RunEvent, _: Duration) -> Result<(), ExportError> {
            Err(ExportError::new(
                Path::new("full"),
                std::io::ErrorKind::StorageFull.into(),
            ))
        }
        fn flush(&mut self) -> Result<(), ExportError> {
            Ok(())
        }
    }

    #[test]
    fn one_failing_receiver_does_not_starve_the_others() {
        let folder = Scratch::new();
        let path = folder.path().join(METRICS_FILE);
        let mut sinks = Sinks::open(&[], folder.path(), None).unwrap();
        sinks.add(Box::new(Full));
        sinks.add(Box::new(MetricsJsonl::append(&path, 1).unwrap()));
        let event = RunEvent::Event(EventRow {
            it: 7,
            event: Event::Save { files: Vec::new() },
        });
        let error = sinks.emit(&event, Duration::ZERO).unwrap_err();
        assert!(matches!(error, ExportError::DiskFull { .. }));
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 1);
    }
}
