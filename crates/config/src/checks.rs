//! `diagnose.validation`: what watches over the device while it works.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Serialize};

/// `diagnose.validation`: what the Khronos validation layer checks. `true` stands for `sync`, `false` for `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Nothing.
    #[default]
    Off,
    /// Arguments and objects of every call.
    Core,
    /// The same, and that commands which touch the same bytes are ordered.
    Sync,
    /// The same as core, and that shaders stay inside of their buffers.
    Gpu,
}

const WORDS: [&str; 4] = ["off", "core", "sync", "gpu"];

impl<'de> Deserialize<'de> for Validation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Validation;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("off, core, sync, gpu, true or false")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Validation, E> {
                Ok(if on { Validation::Sync } else { Validation::Off })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Validation, E> {
                match text {
                    "off" => Ok(Validation::Off),
                    "core" => Ok(Validation::Core),
                    "sync" => Ok(Validation::Sync),
                    "gpu" => Ok(Validation::Gpu),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Validation {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Validation".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "enum": WORDS }, { "type": "boolean" }] })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::{Inputs, Override, resolve};

    #[test]
    fn words_and_the_old_switch_are_read() {
        let read = |value: &str| {
            let inputs = Inputs {
                profile: Some("cpu".to_owned()),
                overrides: vec![Override {
                    key: "diagnose.validation".to_owned(),
                    value: value.to_owned(),
                    flag: "--set".to_owned(),
                }],
                ..Inputs::default()
            };
            resolve(&inputs).map(|profile| profile.diagnose().validation)
        };
        for (word, wanted) in [
            ("off", Validation::Off),
            ("false", Validation::Off),
            ("core", Validation::Core),
            ("sync", Validation::Sync),
            ("true", Validation::Sync),
            ("gpu", Validation::Gpu),
        ] {
            assert_eq!(read(word).unwrap(), wanted, "{word}");
        }
        let error = read("everything").unwrap_err().to_string();
        assert!(
            error.contains("diagnose.validation") && error.contains("off, core, sync, gpu"),
            "{error}"
        );
        for (word, value) in std::iter::zip(
            WORDS,
            [Validation::Off, Validation::Core, Validation::Sync, Validation::Gpu],
        ) {
            assert_eq!(serde_json::to_value(value).unwrap(), word);
        }
    }
}
