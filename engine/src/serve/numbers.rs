//! One number of a JSON file, read piece by piece: what else the file holds, of whatever size, is never in memory.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The whole number called `key` at the top of a JSON file, or the first of a list of that name. Nothing when the first `most_bytes`
/// bytes have none.
pub(super) fn number(file: File, most_bytes: u64, key: &str) -> Option<u64> {
    let found = Cell::new(None);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(file.take(most_bytes)));
    // It ends with an error at the number, so that what follows is not read.
    let _ = json.deserialize_map(Top { key, found: &found });
    found.get()
}

/// Looks for the key.
struct Top<'a> {
    key: &'a str,
    found: &'a Cell<Option<u64>>,
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == self.key {
                map.next_value_seed(First(self.found))?;
                return Err(M::Error::custom("the rest is not read"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Keeps a number, or the first of a list.
struct First<'a>(&'a Cell<Option<u64>>);

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or a list of them")
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.set(Some(number));
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        self.0.set(list.next_element()?);
        Err(S::Error::custom("the rest is not read"))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn the_number_at_the_top_and_no_other() {
        let folder = Scratch::new();
        let found = |text: &str| {
            folder.write("x.json", text);
            number(File::open(folder.path().join("x.json")).unwrap(), 100, "counts")
        };
        assert_eq!(found(r#"{"counts": 7}"#), Some(7));
        assert_eq!(
            found(r#"{"tree": {"counts": [9]}, "counts": [70, 35], "x": []}"#),
            Some(70)
        );
        // What follows the number may be damaged.
        assert_eq!(found(r#"{"counts": [70, 35"#), Some(70));
        for text in [
            "",
            "[]",
            "7",
            r#"{"tree": {"counts": 9}}"#,
            r#"{"counts": []}"#,
            r#"{"counts": -1}"#,
            r#"{"counts": "7"}"#,
            r#"{"counts": [[7]]}"#,
            r#"{"x": 1, "counts"#,
            &format!(r#"{{"x": "{}", "counts": 7}}"#, "x".repeat(100)),
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
