//! Signals that end a program.

use std::io;

use crate::system;

/// A signal that ends a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C; Ctrl-Break on Windows.
    Interrupt,
    /// A polite `kill`, what job schedulers and service managers send; on Windows the window is closed, the user logs off or the machine
    /// shuts down, which leaves a process some seconds.
    Terminate,
}

/// Calls `take` in a thread for every signal from now on, for the rest of the process.
///
/// # Errors
/// When the system refuses a handler or a thread.
pub fn for_each_signal(take: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
    let listen = system::listener(take)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
    Ok(())
}

/// Has writes beyond the size that the system allows for files (`ulimit -f`) fail like those to a full disk, so that the file is named:
/// the signal that comes with them ends a process without a word unless it is handled.
///
/// # Errors
/// When the system refuses a handler.
pub fn ignore_large_files() -> io::Result<()> {
    system::ignore_large_files()
}
