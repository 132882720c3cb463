//! `dataset.hold_out`: which views are held out for testing.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Serialize, Serializer};

/// Which views are held out for testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldOut {
    /// Those that the data set holds out, else every eighth by name.
    Yes,
    /// None.
    No,
    /// Every so many by name, the first included.
    Every(u32),
    /// Those that a file names, one a line: in the scene's folder, or where the program runs.
    Listed(String),
}

impl Serialize for HoldOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_bool(true),
            Self::No => serializer.serialize_bool(false),
            Self::Every(every) => serializer.serialize_u32(*every),
            Self::Listed(file) => serializer.serialize_str(file),
        }
    }
}

impl<'de> Deserialize<'de> for HoldOut {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = HoldOut;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a number from 2 or a file")
            }
            fn visit_bool<E: Error>(self, eval: bool) -> Result<HoldOut, E> {
                Ok(if eval { HoldOut::Yes } else { HoldOut::No })
            }
            fn visit_u64<E: Error>(self, every: u64) -> Result<HoldOut, E> {
                match u32::try_from(every) {
                    Ok(every @ 2..) => Ok(HoldOut::Every(every)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(every), &self)),
                }
            }
            fn visit_str<E: Error>(self, file: &str) -> Result<HoldOut, E> {
                // A word that other YAML readers take for a truth value is no file.
                match file.to_ascii_lowercase().as_str() {
                    "" | "yes" | "no" | "on" | "off" => Err(E::invalid_value(Unexpected::Str(file), &self)),
                    _ => Ok(HoldOut::Listed(file.to_owned())),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for HoldOut {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "HoldOut".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "boolean" }, { "type": "integer", "minimum": 2 }, { "type": "string", "minLength": 1 }]
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn words_numbers_and_files_come_back_as_they_were() {
        for (text, choice) in [
            ("true", HoldOut::Yes),
            ("false", HoldOut::No),
            ("5", HoldOut::Every(5)),
            ("\"test.txt\"", HoldOut::Listed("test.txt".to_owned())),
        ] {
            assert_eq!(serde_json::from_str::<HoldOut>(text).unwrap(), choice);
            assert_eq!(serde_json::to_string(&choice).unwrap(), text);
        }
        for wrong in ["1", "0", "\"yes\"", "\"\"", "2.5"] {
            let error = serde_json::from_str::<HoldOut>(wrong).unwrap_err().to_string();
            assert!(error.contains("a number from 2 or a file"), "{wrong}: {error}");
        }
    }
}
