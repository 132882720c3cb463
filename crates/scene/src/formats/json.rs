//! Reading JSON files of bounded size into typed values.

use std::io::Read;
use std::path::Path;

use kiln_files::open_filled;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::SceneError;

/// Largest file read, bytes: about 100 000 frames.
pub(crate) const MAX_JSON_BYTES: u64 = 64 << 20;

/// What some editors put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What Python writes for numbers that are none.
const UNKNOWN: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
/// The same as texts: cut by [`quote_unknown`], or as other writers put them.
const NOT_KNOWN: [&str; 6] = ["a", "nfinit", "Infinit", "NaN", "Infinity", "-Infinity"];

/// Reads a file; keys that the type does not have are passed over, nesting beyond 128 levels is an error.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<T, SceneError> {
    let file = open_filled(path).map_err(|e| SceneError::io(path, "open", e))?;
    let bytes = file.metadata().map_err(|e| SceneError::io(path, "inspect", e))?.len();
    if bytes > MAX_JSON_BYTES {
        return Err(SceneError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_JSON_BYTES,
        });
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_JSON_BYTES).read_to_end(&mut bytes);
    read.map_err(|e| SceneError::io(path, "read", e))?;
    quote_unknown(&mut bytes);
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    serde_json::from_slice(text).map_err(|e| {
        let at = format!("line {} column {}", e.line(), e.column());
        SceneError::malformed(path, at, e.to_string(), expected)
    })
}

/// Puts what Python writes for unknown numbers, which is no JSON, into quotes of the same length: where a number must be known it is an
/// error with its place.
fn quote_unknown(bytes: &mut [u8]) {
    let (mut at, mut quoted) = (0, false);
    while at < bytes.len() {
        match (bytes[at], quoted) {
            (b'\\', true) => at += 1,
            (b'"', _) => quoted = !quoted,
            (b'N' | b'I' | b'-', false) => {
                let word = UNKNOWN.into_iter().find(|word| bytes[at..].starts_with(word));
                if let Some(word) = word {
                    (bytes[at], bytes[at + word.len() - 1]) = (b'"', b'"');
                    at += word.len() - 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// A camera's pose in a file.
pub(crate) enum Pose {
    /// A matrix of three or four rows of four.
    Known(Vec<[f64; 4]>),
    /// One with numbers that are not known.
    Unknown,
}

impl<'de> Deserialize<'de> for Pose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A number, or the text in the place of one that is not known.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Entry {
            Number(f64),
            Text(String),
        }
        let rows = Vec::<[Entry; 4]>::deserialize(deserializer)?;
        if !matches!(rows.len(), 3 | 4) {
            return Err(serde::de::Error::invalid_length(
                rows.len(),
                &"three or four rows of four numbers",
            ));
        }
        let mut known = true;
        let mut number = |entry: &Entry| match entry {
            Entry::Number(number) => Ok(*number),
            Entry::Text(text) if NOT_KNOWN.contains(&&**text) => {
                known = false;
                Ok(f64::NAN)
            }
            Entry::Text(text) => Err(serde::de::Error::custom(format!("`{text}` is no number"))),
        };
        let mut matrix = Vec::with_capacity(rows.len());
        for [a, b, c, d] in &rows {
            matrix.push([number(a)?, number(b)?, number(c)?, number(d)?]);
        }
        Ok(if known { Self::Known(matrix) } else { Self::Unknown })
    }
}

/// A matrix of three or four rows of four.
pub(crate) fn pose<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<[f64; 4]>, D::Error> {
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
    use kiln_scratch::Scratch;

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
        let open = std::fs::File::options().write(true).open(&file).unwrap();
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
        assert!(message.contains("transforms.json: it is a folder"), "{message}");
    }
}
