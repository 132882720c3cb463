//! Ctrl-C and termination: the first signal asks the loop to save and end, a later one ends the process at once.
//!
//! Signals within a second of the first are part of it: `timeout` and job schedulers signal a process and then its group. A
//! signal before the first step ends the process at once, because there is nothing to save, and what it waits for, a file
//! that never answers, might never come. A thread takes the signals, so that this holds while the loop waits.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use kiln_system::Signal;

/// Time after the first signal in which others say the same.
const ECHO: Duration = Duration::from_secs(1);

/// The exit code of a process that a signal ended at once: what was done since the last checkpoint is lost.
pub const UNSAVED: u8 = 71;

/// The exit code of a process that a signal ended after it saved what it had: 128 plus the signal's number on Unix, 130 of Ctrl-C and 143
/// of a polite `kill`.
#[must_use]
pub const fn exit_code(signal: Signal) -> u8 {
    match signal {
        Signal::Interrupt => 130,
        Signal::Terminate => 143,
    }
}

/// Whether, and by what signal, the run is to end. Clones share the answer.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Exit code of the signal, 0 for none.
    asked: Arc<AtomicUsize>,
    /// Somebody looks at the answer soon and has something to save.
    heard: Arc<AtomicBool>,
    /// To be attached to signals by [`Interrupt::attach`].
    waits: Arc<AtomicBool>,
}

impl Interrupt {
    /// An answer that no signal changes, for library use and tests; [`Interrupt::ask`] still does.
    #[must_use]
    pub fn unattached() -> Self {
        Self::default()
    }

    /// An answer that Ctrl-C and termination change as soon as a job has something to save; until then they end the process as
    /// they end any other.
    #[must_use]
    pub fn of_process() -> Self {
        let interrupt = Self::default();
        interrupt.waits.store(true, Ordering::SeqCst);
        interrupt
    }

    /// Attaches an [`Interrupt::of_process`]; others stay as they are. Without a handler a signal ends the process.
    pub fn attach(&self) {
        if self.waits.swap(false, Ordering::SeqCst) {
            // A run without a handler is better than none.
            let _ = self.listen();
        }
    }

    /// Attaches to Ctrl-C and termination for the rest of the process. Call it once, before the first step.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn install() -> io::Result<Self> {
        let interrupt = Self::default();
        interrupt.listen()?;
        Ok(interrupt)
    }

    fn listen(&self) -> io::Result<()> {
        let own = self.clone();
        let mut first: Option<Instant> = None;
        kiln_system::for_each_signal(move |signal| match first {
            // Also when the loop has saved everything by now and listens no more.
            Some(first) if first.elapsed() < ECHO => {}
            None if own.heard.load(Ordering::SeqCst) => {
                own.ask(signal);
                first = Some(Instant::now());
            }
            _ => end_at_once(),
        })
    }

    /// Whether [`Interrupt::signal`] is looked at soon and there is something to save; if not, a signal ends the
    /// process at once.
    pub fn set_heard(&self, heard: bool) {
        self.heard.store(heard, Ordering::SeqCst);
    }

    /// Asks the run to end as the signal would.
    pub fn ask(&self, signal: Signal) {
        self.asked.store(usize::from(exit_code(signal)), Ordering::SeqCst);
    }

    /// The signal that asked the run to end, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        let asked = self.asked.load(Ordering::SeqCst);
        [Signal::Interrupt, Signal::Terminate]
            .into_iter()
            .find(|signal| usize::from(exit_code(*signal)) == asked)
    }
}

/// Ends the process without waiting for anything, not even for what the driver would do at an orderly end.
fn end_at_once() -> ! {
    // There is nowhere left to say that this failed.
    let _ = writeln!(io::stderr(), "\nended at once; what was not saved yet is lost");
    kiln_system::end_now(UNSAVED)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn asking_is_seen_by_clones() {
        let interrupt = Interrupt::unattached();
        let clone = interrupt.clone();
        assert_eq!(clone.signal(), None);
        interrupt.ask(Signal::Terminate);
        assert_eq!(clone.signal(), Some(Signal::Terminate));
    }

    /// Set in the child process of the next test: what it shall do, a letter each.
    #[cfg(unix)]
    const CHILD: &str = "KILN_TEST_SIGNALS";

    /// Runs in a child process, because signals end it.
    #[cfg(unix)]
    #[test]
    fn child_process() {
        let Ok(plan) = std::env::var(CHILD) else {
            return;
        };
        let interrupt = Interrupt::install().unwrap();
        assert_eq!(interrupt.signal(), None);
        let raise = |signal: Signal| {
            let sent = match signal {
                Signal::Interrupt => rustix::process::Signal::INT,
                Signal::Terminate => rustix::process::Signal::TERM,
            };
            rustix::process::kill_process(rustix::process::getpid(), sent).unwrap();
            // The thread that takes signals may be slow.
            let since = Instant::now();
            while interrupt.signal().is_none() && since.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        for letter in plan.chars() {
            match letter {
                's' => interrupt.set_heard(true),
                'i' => raise(Signal::Interrupt),
                't' => raise(Signal::Terminate),
                _ => std::thread::sleep(ECHO + Duration::from_millis(200)),
            }
        }
        // What was raised last may still be on its way.
        std::thread::sleep(Duration::from_millis(500));
        let asked = interrupt.signal().map_or(0, |signal| i32::from(exit_code(signal)));
        std::process::exit(asked);
    }

    #[cfg(unix)]
    #[test]
    fn the_first_signal_asks_and_a_later_one_ends() {
        let program = std::env::current_exe().unwrap();
        let name = module_path!().split_once("::").unwrap().1;
        let code = |plan: &str| {
            let mut child = std::process::Command::new(&program);
            child.args(["--exact", &format!("{name}::child_process"), "--test-threads=1"]);
            child.env(CHILD, plan).output().unwrap().status.code()
        };
        assert_eq!(code("si"), Some(130));
        assert_eq!(code("st"), Some(143));
        assert_eq!(code("stt"), Some(143), "what `timeout` sends is one signal");
        assert_eq!(code("sit"), Some(130));
        assert_eq!(code("st-t"), Some(i32::from(UNSAVED)));
        assert_eq!(code("si-t"), Some(i32::from(UNSAVED)));
        assert_eq!(code("t"), Some(i32::from(UNSAVED)), "nothing to save yet");
    }
}
