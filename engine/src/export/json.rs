//! JSON files, and how numbers look in them.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ExportError, write_atomic};

/// Writes a value as an indented JSON file with a final newline. Numbers that are not finite become `null`.
///
/// # Errors
/// [`ExportError`] when the file cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ExportError> {
    write_atomic(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// A text without the byte order mark that editors put before one.
pub(super) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads the `null` of a number that was not finite.
pub(crate) fn null_as_nan<'de, D: Deserializer<'de>, T: Deserialize<'de> + From<f32>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let number = Option::<T>::deserialize(deserializer)?;
    Ok(number.unwrap_or_else(|| T::from(f32::NAN)))
}

/// Writes seconds to the millisecond: more digits are noise.
pub(crate) fn milliseconds<S: Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((seconds * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[derive(Serialize, Deserialize)]
    struct Figures {
        #[serde(deserialize_with = "null_as_nan")]
        loss: f32,
        #[serde(serialize_with = "milliseconds")]
        t_s: f64,
    }

    #[test]
    fn numbers_keep_their_meaning() {
        let folder = Scratch::new();
        let path = folder.path().join("figures.json");
        let figures = Figures {
            loss: f32::NEG_INFINITY,
            t_s: 1.000_49,
        };
        write_json(&path, &figures).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "{\n  \"loss\": null,\n  \"t_s\": 1.0\n}\n");
        assert!(serde_json::from_str::<Figures>(&text).unwrap().loss.is_nan());
    }
}
