//! The plugins: what can be chosen by `kind:` in a profile, with typed options.
//!
//! One explicit registry ([`families`]) lists every family and kind in order; there is no link-time collection. A
//! family is an enum with one variant a kind, so code that attaches device passes to a plugin matches on it and the
//! compiler says what is missing. This module holds data only: no Vulkan, no files, no YAML.

mod check;
mod error_guided;
mod exporters;
mod family;
mod init;
mod losses;
mod mcmc;
mod optimizer;
mod registry;
mod regularizers;
mod sinks;
mod strategy;

pub use check::{Checker, Problem};
pub use error_guided::{ErrorGuidedDensify, ErrorGuidedOptions, ErrorGuidedPrune, ErrorGuidedScore};
pub use exporters::{DeliveryOptions, Exporter, PlyOptions, PlyRawOptions, SpzOptions, Subset, corners, is_box};
pub use family::{Entry, Family, Item, Options, names};
pub use init::{
    Init, MeshOptions, ModelOptions, PointsPlyOptions, RandomBoxOptions, RandomFrustumOptions, SfmPointsOptions,
};
pub use losses::*;
pub use mcmc::{McmcDensify, McmcOptions};
pub use optimizer::{AdamOptions, DeferredSh, LearningRates, Optimizer};
pub use registry::families;
pub use regularizers::{DensityOptions, DensityVariant, EntropyOptions, Regularizer, RegularizerOptions};
pub use sinks::{ConsoleOptions, MemoryJsonlOptions, MetricsJsonlOptions, Sink, TensorboardOptions};
pub use strategy::{AdaptiveOptions, Densify, FixedOptions, Prune, Reset, Strategy, Window};

use serde::{Deserialize, Serialize};

/// A number, or `auto` when the engine shall choose it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auto<T> {
    /// Written `auto`.
    #[default]
    Auto,
    /// Written as the number itself.
    Set(T),
}

impl<T: Copy> Auto<T> {
    /// The number, or `default` for `auto`.
    pub fn unwrap_or(self, default: T) -> T {
        match self {
            Self::Auto => default,
            Self::Set(value) => value,
        }
    }

    /// Applies `f` to a set number.
    #[must_use]
    pub fn map(self, f: impl FnOnce(T) -> T) -> Self {
        match self {
            Self::Auto => Self::Auto,
            Self::Set(value) => Self::Set(f(value)),
        }
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<T: TryFrom<u64>> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Auto<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`auto` or a whole number")
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Auto<T>, E> {
                // `1e6` is a whole number to people.
                let wrong = || E::invalid_type(serde::de::Unexpected::Float(value), &self);
                match value.fract() == 0.0 && (0.0..9e15).contains(&value) {
                    true => self.visit_u64(value as u64),
                    false => Err(wrong()),
                }
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Auto<T>, E> {
                if text == "auto" {
                    Ok(Auto::Auto)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
                }
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Auto<T>, E> {
                T::try_from(value)
                    .map(Auto::Set)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(value), &self))
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T> schemars::JsonSchema for Auto<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Auto".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "auto" }, { "type": "integer", "minimum": 0 }] })
    }
}
