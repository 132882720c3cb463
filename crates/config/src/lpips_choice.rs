//! `eval.lpips`: whether LPIPS is computed.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Serialize, Serializer};

/// Whether LPIPS is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LpipsChoice {
    /// On a GPU; on a CPU driver, where a view takes seconds to minutes, not.
    #[default]
    Auto,
    /// Everywhere; on a CPU driver over the test views of the last evaluation.
    On,
    /// Nowhere.
    Off,
}

impl LpipsChoice {
    /// The choice on a device: `auto` decided.
    #[must_use]
    pub const fn on_device(self, is_cpu: bool) -> Self {
        match (self, is_cpu) {
            (Self::Auto, true) => Self::Off,
            (Self::Auto, false) => Self::On,
            (set, _) => set,
        }
    }
}

impl Serialize for LpipsChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::On => serializer.serialize_bool(true),
            Self::Off => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for LpipsChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = LpipsChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("auto, true or false")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<LpipsChoice, E> {
                Ok(if on { LpipsChoice::On } else { LpipsChoice::Off })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<LpipsChoice, E> {
                match text {
                    "auto" => Ok(LpipsChoice::Auto),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for LpipsChoice {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "LpipsChoice".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "auto" }, { "type": "boolean" }] })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        for (text, choice) in [
            ("\"auto\"", LpipsChoice::Auto),
            ("true", LpipsChoice::On),
            ("false", LpipsChoice::Off),
        ] {
            assert_eq!(serde_json::from_str::<LpipsChoice>(text).unwrap(), choice);
            assert_eq!(serde_json::to_string(&choice).unwrap(), text);
        }
        let error = serde_json::from_str::<LpipsChoice>("\"on\"").unwrap_err().to_string();
        assert!(error.contains("auto, true or false"), "{error}");
    }

    #[test]
    fn cpu_drivers_go_without_unless_asked() {
        let on = |choice: LpipsChoice| [true, false].map(|is_cpu| choice.on_device(is_cpu));
        assert_eq!(on(LpipsChoice::Auto), [LpipsChoice::Off, LpipsChoice::On]);
        assert_eq!(on(LpipsChoice::On), [LpipsChoice::On; 2]);
        assert_eq!(on(LpipsChoice::Off), [LpipsChoice::Off; 2]);
    }
}
