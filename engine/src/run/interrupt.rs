//! Ctrl-C and termination: the first signal asks the loop to save and end, the second ends the process at once.
//!
//! The handlers only store to atomics, which is all a signal handler may do; the training loop looks once a step.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C; exit code 130.
    Interrupt,
    /// A polite `kill`, what job schedulers and service managers send; exit code 143.
    Terminate,
}

impl Signal {
    /// The exit code: 128 plus the signal's number.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    const fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
        }
    }
}

/// Tells whether, and by what, the run was asked to end. Clones share the answer.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Exit code of the signal, 0 for none.
    asked: Arc<AtomicUsize>,
}

impl Interrupt {
    /// An answer that no signal changes, for library use and tests; [`Interrupt::ask`] still does.
    #[must_use]
    pub fn unattached() -> Self {
        Self::default()
    }

    /// Attaches to Ctrl-C and termination for the rest of the process. Call it once, before the first step.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install() -> io::Result<Self> {
        let interrupt = Self::default();
        let armed = Arc::new(AtomicBool::new(false));
        for signal in [Signal::Interrupt, Signal::Terminate] {
            let number = signal.number();
            let code = signal.exit_code();
            // Order counts: a signal first ends an armed process, then arms it.
            flag::register_conditional_shutdown(number, i32::from(code), Arc::clone(&armed))?;
            flag::register_usize(number, Arc::clone(&interrupt.asked), usize::from(code))?;
            flag::register(number, Arc::clone(&armed))?;
        }
        Ok(interrupt)
    }

    /// Asks the run to end as the signal would.
    pub fn ask(&self, signal: Signal) {
        self.asked.store(usize::from(signal.exit_code()), Ordering::SeqCst);
    }

    /// The signal that asked the run to end, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<Signal> {
        let asked = self.asked.load(Ordering::SeqCst);
        [Signal::Interrupt, Signal::Terminate]
            .into_iter()
            .find(|signal| usize::from(signal.exit_code()) == asked)
    }
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

    #[test]
    fn codes_follow_the_signals() {
        for signal in [Signal::Interrupt, Signal::Terminate] {
            assert_eq!(i32::from(signal.exit_code()), 128 + signal.number());
        }
    }

    /// Set in the child process of the next test: what it shall raise.
    #[cfg(unix)]
    const CHILD: &str = "KILN_TEST_SIGNALS";

    /// Runs in a child process, because the second signal ends it.
    #[cfg(unix)]
    #[test]
    fn child_process() {
        let Ok(plan) = std::env::var(CHILD) else {
            return;
        };
        let interrupt = Interrupt::install().unwrap();
        assert_eq!(interrupt.signal(), None);
        for letter in plan.chars() {
            let signal = if letter == 'i' {
                Signal::Interrupt
            } else {
                Signal::Terminate
            };
            signal_hook::low_level::raise(signal.number()).unwrap();
            assert_eq!(interrupt.signal(), Some(signal));
        }
        std::process::exit(77);
    }

    #[cfg(unix)]
    #[test]
    fn first_signal_asks_and_second_ends() {
        let program = std::env::current_exe().unwrap();
        let name = module_path!().split_once("::").unwrap().1;
        let code = |plan: &str| {
            let mut child = std::process::Command::new(&program);
            child.args(["--exact", &format!("{name}::child_process"), "--test-threads=1"]);
            child.env(CHILD, plan).output().unwrap().status.code()
        };
        assert_eq!(code("i"), Some(77));
        assert_eq!(code("t"), Some(77));
        assert_eq!(code("ii"), Some(130));
        assert_eq!(code("it"), Some(143));
    }
}
