//! How a device is selected.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device by its number, or by a part of its name or its uuid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DeviceChoice {
    /// Position in the loader's list.
    Number(u32),
    /// A part of the name, or the uuid.
    Named(String),
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(index) => write!(f, "{index}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for DeviceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = DeviceChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a part of a device's name, or its uuid")
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<DeviceChoice, E> {
                u32::try_from(value)
                    .map(DeviceChoice::Number)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(value), &self))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DeviceChoice, E> {
                Ok(DeviceChoice::Named(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for DeviceChoice {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "DeviceChoice".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "minLength": 1 }]
        })
    }
}
