//! The one error of this program: a message for people and an exit code.

use std::fmt::Display;
use std::path::Path;

/// Why a task stopped.
#[derive(Debug)]
pub struct Failure {
    /// Exit code of the program: 1 a step failed, 2 usage, 9 a package is missing.
    pub code: u8,
    /// What happened, on what, and what to do about it.
    pub message: String,
}

/// What every fallible function here returns.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A step that failed: exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
        }
    }

    /// A wrong command line: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
        }
    }

    /// A package that this program cannot install itself: exit code 9.
    pub fn set_up(message: impl Into<String>) -> Self {
        Self {
            code: 9,
            message: message.into(),
        }
    }

    /// A file or folder that could not be read or written.
    pub fn io(doing: &str, path: &Path, error: impl Display) -> Self {
        Self::new(format!("cannot {doing} {}: {error}", path.display()))
    }
}
