//! How many Gaussians, or vertices of triangles, a model may have at most.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `memory.max_gaussians` and `mesh_splatting.max_points`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostGaussians {
    /// Written as the number itself: this many, or the run does not begin.
    Set(u32),
    /// Written `up to N`: as many as fit, at most N.
    UpTo(u32),
}

impl MostGaussians {
    /// The number in it.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Set(number) | Self::UpTo(number) => number,
        }
    }
}

impl Serialize for MostGaussians {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(number) => number.serialize(serializer),
            Self::UpTo(number) => serializer.collect_str(&format_args!("up to {number}")),
        }
    }
}

impl<'de> Deserialize<'de> for MostGaussians {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = MostGaussians;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number, or `up to N` for what fits up to that many")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MostGaussians, E> {
                let number = text.strip_prefix("up to ").and_then(|number| number.parse().ok());
                number
                    .map(MostGaussians::UpTo)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<MostGaussians, E> {
                u32::try_from(value)
                    .map(MostGaussians::Set)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(value), &self))
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<MostGaussians, E> {
                // `1e6` is a whole number too.
                let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
                is_whole
                    .then_some(MostGaussians::Set(value as u32))
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Float(value), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for MostGaussians {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "MostGaussians".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^up to [0-9]+$" }]
        })
    }
}
