//! Reading JSON files of bounded size into typed values.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::scene::SceneError;

/// Largest file read, bytes: about 100 000 frames.
pub(in crate::scene) const MAX_JSON_BYTES: u64 = 64 << 20;

/// Reads a file; keys that the type does not have are passed over, nesting beyond 128 levels is an error.
pub(in crate::scene) fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, SceneError> {
    let file = File::open(path).map_err(|e| SceneError::io(path, "open", e))?;
    let bytes = file.metadata().map_err(|e| SceneError::io(path, "inspect", e))?.len();
    if bytes > MAX_JSON_BYTES {
        return Err(SceneError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_JSON_BYTES,
        });
    }
    let mut reader = BufReader::new(file.take(MAX_JSON_BYTES));
    // Editors put a byte order mark before a text.
    let start = reader.fill_buf().map_err(|e| SceneError::io(path, "read", e))?;
    if start.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    serde_json::from_reader(reader).map_err(|e| {
        if e.is_io() {
            return SceneError::io(path, "read", e.into());
        }
        let at = format!("line {} column {}", e.line(), e.column());
        SceneError::malformed(path, at, e.to_string(), expected)
    })
}

/// A matrix of three or four rows of four.
pub(in crate::scene) fn pose<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[f64; 4]>, D::Error> {
    let rows = Vec::<[f64; 4]>::deserialize(deserializer)?;
    match rows.len() {
        3 | 4 => Ok(rows),
        other => Err(serde::de::Error::invalid_length(
            other,
            &"three or four rows of four numbers",
        )),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

    #[test]
    fn byte_order_marks_are_passed_over() {
        let folder = Scratch::new();
        let file = folder.write("a.json", "\u{feff}{\"a\": 1}");
        assert_eq!(read::<serde_json::Value>(&file, "x").unwrap()["a"], 1);
    }

    #[test]
    fn huge_and_deep_files_are_refused() {
        let folder = Scratch::new();
        let file = folder.write("transforms.json", "");
        let open = File::options().write(true).open(&file).unwrap();
        open.set_len(MAX_JSON_BYTES + 1).unwrap();
        assert!(matches!(
            read::<serde_json::Value>(&file, "x"),
            Err(SceneError::TooLarge { .. })
        ));
        let file = folder.write("transforms.json", "[".repeat(1_000_000));
        let message = read::<serde_json::Value>(&file, "expected x").unwrap_err().to_string();
        assert!(
            message.contains("transforms.json, line 1")
                && message.contains("recursion")
                && message.contains("expected x"),
            "{message}"
        );
    }

    #[test]
    fn a_folder_in_place_of_the_file_is_named() {
        let folder = Scratch::new();
        folder.write("transforms.json/x", "");
        let message = read::<serde_json::Value>(&folder.path().join("transforms.json"), "x");
        let message = message.unwrap_err().to_string();
        assert!(
            message.contains("cannot read") && message.contains("transforms.json"),
            "{message}"
        );
    }
}
