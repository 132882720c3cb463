//! Where events go: the receivers a profile names, behind one dispatcher.
//!
//! Owns the files `metrics.jsonl` and `memory.jsonl`, TensorBoard's event file and the console. Promises that a killed run loses at most 100
//! iterations of rows, that rows are only ever appended, and that a failing receiver does not keep an event from the
//! others. Refuses to guess: a write that fails is an error with the path, and the run ends with it.

mod console;
mod host;
mod json_events;
mod jsonl;
mod memory_jsonl;
mod metrics_jsonl;
mod tensorboard;
pub(crate) mod worker;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use console::{Console, Terminal};
pub use host::HostLoad;
pub use json_events::JsonEvents;
pub use memory_jsonl::MemoryJsonl;
pub use metrics_jsonl::MetricsJsonl;
pub use tensorboard::{EVENTS_PREFIX, Tensorboard};
pub use worker::Worker;

use super::events::RunEvent;
use crate::export::ExportError;
use kiln_config::plugins;

/// File name of the metrics, inside the run folder.
pub const METRICS_FILE: &str = "metrics.jsonl";
/// File name of the memory records, inside the run folder.
pub const MEMORY_FILE: &str = "memory.jsonl";

/// Rows a killed run may lose, in iterations.
const FLUSH_EVERY: u32 = 100;
/// Between two progress lines of a console that is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Longest side of an image in an event file, pixels; larger ones are reduced.
const IMAGE_PX: u32 = 512;

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

/// When, where and by whom a file was begun: part of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time since 1970 UTC at the moment from which the events' `now` counts.
    pub unix: Duration,
    /// Name of the machine.
    pub host: String,
    /// Number of the process.
    pub process: u32,
}

impl Stamp {
    /// Here and now.
    #[must_use]
    pub fn now() -> Self {
        let name = kiln_system::host_name().unwrap_or_default();
        let mut host: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        if host.is_empty() {
            host.push_str("localhost");
        }
        Self {
            unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            host,
            process: std::process::id(),
        }
    }
}

/// The receivers of a run.
pub struct Sinks {
    receivers: Vec<Box<dyn Receiver>>,
    /// Names of the files they write, inside the run folder.
    files: Vec<String>,
    /// Iterations between two memory records, of everyone who wants them.
    memory_every: Vec<u32>,
    /// Iterations between two records of telemetry; `None` when nobody wants them.
    gpu_every: Option<u32>,
    /// True when someone looks at evaluated views.
    views: bool,
}

impl Sinks {
    /// Opens the sinks that a profile lists; files lie in `folder`, which exists. Without a `terminal` (`--quiet`) a
    /// console in the list stays silent.
    ///
    /// # Errors
    /// [`ExportError`] when a file cannot be opened for appending.
    pub fn open(
        list: &[plugins::Sink],
        folder: &Path,
        terminal: Option<Terminal>,
        stamp: &Stamp,
    ) -> Result<Self, ExportError> {
        let mut terminal = terminal;
        let mut sinks = Self {
            receivers: Vec::new(),
            files: Vec::new(),
            memory_every: Vec::new(),
            gpu_every: None,
            views: false,
        };
        for sink in list {
            match sink {
                plugins::Sink::Console(_) => {
                    if let Some(terminal) = terminal.take() {
                        sinks.add(Box::new(Console::new(terminal, LINE_EVERY)));
                        // The console shows how full the cap is.
                        sinks.memory_every.push(FLUSH_EVERY);
                    }
                }
                plugins::Sink::MetricsJsonl(options) => {
                    let path = folder.join(METRICS_FILE);
                    sinks.add(Box::new(MetricsJsonl::append(&path, options.every)?));
                    sinks.files.push(METRICS_FILE.to_owned());
                }
                plugins::Sink::MemoryJsonl(options) => {
                    let path = folder.join(MEMORY_FILE);
                    sinks.add(Box::new(MemoryJsonl::append(&path, options.every)?));
                    sinks.files.push(MEMORY_FILE.to_owned());
                    sinks.memory_every.push(options.every);
                }
                plugins::Sink::Tensorboard(options) => {
                    let events = Tensorboard::create(folder, options, IMAGE_PX, stamp)?;
                    sinks.files.push(events.file_name().to_owned());
                    sinks.add(Box::new(events));
                    sinks.memory_every.push(options.memory_every());
                    sinks.gpu_every = Some(options.gpu_every());
                    sinks.views = true;
                }
            }
        }
        Ok(sinks)
    }

    /// Names of the files that the sinks write, inside the run folder.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Adds a receiver of one's own.
    pub fn add(&mut self, receiver: Box<dyn Receiver>) {
        self.receivers.push(receiver);
    }

    /// True when a memory record of this iteration is wanted. Asking the driver costs a call, so the loop asks here
    /// first; records at other moments (evaluations, densifications) are welcome too.
    #[must_use]
    pub fn memory_due(&self, iteration: u32) -> bool {
        let due = |every: &u32| iteration == 1 || iteration.is_multiple_of(*every);
        self.memory_every.iter().any(due)
    }

    /// True when telemetry of the card is wanted at this iteration.
    #[must_use]
    pub fn gpu_due(&self, iteration: u32) -> bool {
        self.gpu_every.is_some_and(|every| iteration.is_multiple_of(every))
    }

    /// True when someone records what the card says of itself.
    #[must_use]
    pub fn want_telemetry(&self) -> bool {
        self.gpu_every.is_some() || self.files.iter().any(|file| file == MEMORY_FILE)
    }

    /// True when someone looks at evaluated views.
    #[must_use]
    pub fn want_views(&self) -> bool {
        self.views
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::record::events::{Event, EventRow};
    use kiln_config::{Inputs, resolve};
    use kiln_scratch::Scratch;
    use std::fs;

    fn stamp() -> Stamp {
        Stamp {
            unix: Duration::from_secs(1_750_000_000),
            host: "kiln-host".to_owned(),
            process: 42,
        }
    }

    #[test]
    fn shipped_profiles_open_their_files() {
        let folder = Scratch::new();
        let profile = resolve(&Inputs::default()).unwrap();
        let mut sinks = Sinks::open(&profile.sinks, folder.path(), None, &stamp()).unwrap();
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
        assert!(sinks.gpu_due(50) && !sinks.gpu_due(60) && sinks.want_telemetry() && sinks.want_views());
        let event_file = "events.out.tfevents.1750000000.kiln-host.42.0";
        assert_eq!(sinks.files(), [METRICS_FILE, MEMORY_FILE, event_file]);
        assert!(sinks.files().iter().all(|file| folder.path().join(file).is_file()));
        assert!(!Sinks::open(&[], folder.path(), None, &stamp()).unwrap().memory_due(100));
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let folder = Scratch::new();
        fs::create_dir(folder.path().join(METRICS_FILE)).unwrap();
        let profile = resolve(&Inputs::default()).unwrap();
        let error = Sinks::open(&profile.sinks, folder.path(), None, &stamp())
            .err()
            .unwrap();
        assert!(error.to_string().contains(METRICS_FILE), "{error}");
    }

    #[test]
    fn an_empty_list_leaves_nothing_and_asks_for_nothing() {
        let folder = Scratch::new();
        let sinks = Sinks::open(&[], folder.path(), None, &stamp()).unwrap();
        assert!(sinks.files().is_empty() && !sinks.want_telemetry() && !sinks.want_views());
        assert!((1..=1000).all(|it| !sinks.memory_due(it) && !sinks.gpu_due(it)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn several_cadences_do_not_add_up_to_more() {
        let folder = Scratch::new();
        let list: Vec<plugins::Sink> = [70, 100]
            .map(|every| plugins::Sink::MemoryJsonl(plugins::MemoryJsonlOptions { every }))
            .to_vec();
        let sinks = Sinks::open(&list, folder.path(), None, &stamp()).unwrap();
        let due: Vec<u32> = (1..=210).filter(|it| sinks.memory_due(*it)).collect();
        assert_eq!(due, [1, 70, 100, 140, 200, 210]);
    }

    #[test]
    fn stamps_of_this_machine_can_be_file_names() {
        let stamp = Stamp::now();
        assert!(stamp.unix.as_secs() > 1_700_000_000 && !stamp.host.is_empty());
        assert!(
            stamp
                .host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        );
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
        let mut sinks = Sinks::open(&[], folder.path(), None, &stamp()).unwrap();
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
