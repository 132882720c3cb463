//! Where a run shows progress and writes its events.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::record::sinks::Terminal;

/// A writer that several sessions of a run write to, one after the other.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

impl Shared {
    fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// Where a run shows progress and writes events, for as many sessions as it takes; the default is nowhere.
#[derive(Clone, Default)]
pub struct Outlets {
    terminal: Option<(Shared, bool)>,
    json: Option<Shared>,
}

impl Outlets {
    /// Where progress is shown, and where events go as JSON lines.
    #[must_use]
    pub fn new(terminal: Option<Terminal>, json: Option<Box<dyn Write + Send>>) -> Self {
        Self {
            terminal: terminal.map(|terminal| {
                let (out, live) = terminal.into_parts();
                (Shared::new(out), live)
            }),
            json: json.map(Shared::new),
        }
    }

    pub(crate) fn terminal(&self) -> Option<Terminal> {
        let (out, live) = self.terminal.as_ref()?;
        Some(Terminal::new(Box::new(out.clone()), *live))
    }

    pub(crate) fn json(&self) -> Option<Box<dyn Write + Send>> {
        self.json.clone().map(|out| Box::new(out) as _)
    }
}
