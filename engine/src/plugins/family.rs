//! Families of plugins, and the macro that turns a list of kinds into a family.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer, de::DeserializeOwned};

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

/// A plugin as an item of a list.
pub trait Item: Serialize {
    /// The name that selects it.
    fn kind(&self) -> &'static str;

    /// True when no option differs from its default.
    fn is_plain(&self) -> bool;
}

/// Writes a list of plugins, of those without an option of their own the names alone.
///
/// # Errors
/// Those of the writer.
pub fn names<T: Item, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Short<'a, T> {
        Name(&'static str),
        Block(&'a T),
    }
    serializer.collect_seq(list.iter().map(|item| match item.is_plain() {
        true => Short::Name(item.kind()),
        false => Short::Block(item),
    }))
}

/// Schema of a family: the name of one of its kinds, or a block with exactly its own keys. `kind` may be left out where a lower layer has it.
pub(super) fn any_of(entries: &[Entry], generator: &mut SchemaGenerator) -> Schema {
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.kind).collect();
    let blocks = entries.iter().map(|entry| {
        let mut schema = (entry.schema)(generator).to_value();
        schema["description"] = entry.summary.into();
        schema["properties"]["kind"] = serde_json::json!({ "const": entry.kind });
        schema
    });
    let variants: Vec<serde_json::Value> = std::iter::once(serde_json::json!({ "enum": kinds }))
        .chain(blocks)
        .collect();
    if entries.is_empty() {
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

            /// True when no option differs from its default.
            #[must_use]
            pub fn is_plain(&self) -> bool {
                match *self {
                    $(Self::$variant(ref options) => *options == <$options>::default(),)*
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

        impl $crate::plugins::Item for $name {
            fn kind(&self) -> &'static str {
                self.kind()
            }

            fn is_plain(&self) -> bool {
                self.is_plain()
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

/// Options with their defaults and the ranges of those that have one, in one list; `also` is a check besides.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$about:meta])* $field:ident: $type:ty = $default:expr $(, in $range:expr)?;)*
    } $(also $also:expr)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::plugins::Options for $name {
            fn check(&self, checker: &mut $crate::plugins::Checker) {
                $($(checker.range(stringify!($field), self.$field, $range);)?)*
                $(let also: fn(&Self, &mut $crate::plugins::Checker) = $also;
                also(self, checker);)?
            }
        }
    };
}
pub(super) use options;

/// A family whose options have more in common than ranges: each implements `$term`, to which the family leads.
macro_rules! terms {
    ($term:ident $(#[$doc:meta])* $name:ident {
        $($variant:ident($options:ty) = $kind:literal, $summary:literal;)*
    }) => {
        family! { $(#[$doc])* $name { $($variant($options) = $kind, $summary;)* } }

        impl $name {
            /// One of each kind, as it is without options of its own.
            #[must_use]
            pub fn plain() -> Vec<Self> {
                vec![$(Self::$variant(<$options>::default()),)*]
            }
        }

        impl std::ops::Deref for $name {
            type Target = dyn $term;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(options) => options,)*
                }
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$variant(options) => options,)*
                }
            }
        }
    };
}
pub(super) use terms;
