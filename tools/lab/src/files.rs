//! JSON files of finished runs, read into the types that the caller declares.
//!
//! Promises: a message names file, line and key. Refuses: files that are no JSON, or lack a field that the type needs.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use xtask::failure::{Failure, Result};

/// `env.json`: what made a run.
#[derive(Deserialize)]
pub(crate) struct Environment {
    /// Seed.
    pub(crate) seed: u64,
    /// Driver of the device.
    pub(crate) driver: String,
    /// The program.
    pub(crate) engine: Engine,
    /// The device.
    pub(crate) device: Device,
}

/// The program that made a run.
#[derive(Deserialize)]
pub(crate) struct Engine {
    /// Commit it was built from.
    pub(crate) commit: String,
}

/// The device of a run.
#[derive(Deserialize)]
pub(crate) struct Device {
    /// Its name.
    pub(crate) name: String,
}

/// The value of a file.
///
/// # Errors
/// [`Failure`] when the file cannot be read or holds something else.
pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(&text(path)?, &path.display().to_string())
}

/// The values of a file with one per line.
///
/// # Errors
/// As [`json`].
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = text(path)?;
    let place = |at: usize| format!("{}, line {}", path.display(), at + 1);
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| parse(line, &place(at))).collect()
}

/// The value of a text; `place` is what messages call it.
///
/// # Errors
/// [`Failure`] when the text holds something else.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, place: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!(
            "{place}: {error}\nhint: is it a finished run of this version of kiln?"
        ))
    })
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Row {
        it: u32,
    }

    #[test]
    fn messages_name_file_line_and_key() {
        let path = std::env::temp_dir().join(format!("kiln-lab-files-{}.jsonl", std::process::id()));
        fs::write(&path, "{\"it\": 3}\n{\"at\": 4}\n").unwrap();
        let message = lines::<Row>(&path).unwrap_err().message;
        assert!(
            message.contains(path.to_str().unwrap()) && message.contains("line 2: missing field `it`"),
            "{message}"
        );
        fs::write(&path, "{\"it\": 3}").unwrap();
        assert_eq!(json::<Row>(&path).unwrap().it, 3);
        fs::remove_file(&path).unwrap();
        let message = json::<Row>(&path).unwrap_err().message;
        assert!(message.starts_with("cannot read "), "{message}");
    }
}
