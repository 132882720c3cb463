//! Families of plugins, and the macro that turns a list of kinds into a family.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use super::Checker;

/// The options of one plugin: every key has a default and a documented range.
pub trait Options: Serialize + DeserializeOwned + JsonSchema + Default {
    /// Reports values out of range; nothing to report by default.
    fn check(&self, _checker: &mut Checker) {}
}

/// One plugin of a family.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name that `kind:` selects.
    pub kind: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// JSON Schema of the options, without `kind`.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// One family: the key it has in a profile and its plugins.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Key in a profile, e.g. `strategy`.
    pub key: &'static str,
    /// The plugins, in the order they are listed to people.
    pub entries: &'static [Entry],
}

/// Options with their kind in front, the way a profile writes them.
#[derive(Serialize)]
pub(super) struct Tagged<'a, T> {
    kind: &'static str,
    #[serde(flatten)]
    options: &'a T,
}

impl<'a, T> Tagged<'a, T> {
    pub(super) fn new(kind: &'static str, options: &'a T) -> Self {
        Self { kind, options }
    }
}

/// Schema of a family: one of its kinds, each with exactly its own keys. `kind` may be left out where a lower layer has it.
pub(super) fn any_of(entries: &[Entry], generator: &mut SchemaGenerator) -> Schema {
    let variants: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| {
            let mut schema = (entry.schema)(generator).to_value();
            schema["description"] = entry.summary.into();
            schema["properties"]["kind"] = serde_json::json!({ "const": entry.kind });
            schema
        })
        .collect();
    if variants.is_empty() {
        return schemars::json_schema!(false);
    }
    schemars::json_schema!({ "anyOf": variants })
}

/// Defines a family: the enum, its registry entries, and (de)serialisation.
///
/// Deserialisation is serde's for an enum; the configuration reader hands it the value of `kind:` as the variant and
/// the other keys as its content, which keeps line numbers that serde's own tagged enums would lose.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident { $($variant:ident($options:ty) = $kind:literal, $summary:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        pub enum $name {
            $(#[doc = $summary] #[serde(rename = $kind)] $variant($options),)*
        }

        impl $name {
            /// The plugins of this family.
            pub const ENTRIES: &'static [$crate::plugins::Entry] = &[
                $($crate::plugins::Entry {
                    kind: $kind,
                    summary: $summary,
                    schema: <$options as schemars::JsonSchema>::json_schema,
                },)*
            ];

            /// The name that selects this plugin.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match *self {
                    $(Self::$variant(_) => $kind,)*
                }
            }

            /// Reports option values out of range.
            pub fn check(&self, checker: &mut $crate::plugins::Checker) {
                // A family without plugins has no arm that uses it.
                let _ = &checker;
                match *self {
                    $(Self::$variant(ref options) => $crate::plugins::Options::check(options, checker),)*
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // As above.
                let _ = &serializer;
                match *self {
                    $(Self::$variant(ref options) => {
                        serde::Serialize::serialize(
                            &$crate::plugins::family::Tagged::new($kind, options),
                            serializer,
                        )
                    })*
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::plugins::family::any_of(Self::ENTRIES, generator)
            }
        }
    };
}
pub(super) use family;
