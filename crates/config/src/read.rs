//! A located tree to typed structs, through serde, keeping key paths and places in every error.

use serde::de::{self, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected};
use serde::de::{VariantAccess, Visitor};

use super::error::{At, ConfigError, nearest};
use super::tree::{Entry, Node, Value};

/// Reads `T` from a node that sits at `path` in the profile.
pub(crate) fn read<T: de::DeserializeOwned>(node: &Node) -> Result<T, ConfigError> {
    T::deserialize(Reader(node)).map_err(|fault| fault.into_config_error(&node.at))
}

/// An error on its way up: the path grows at the front, the place is set once by the innermost node.
#[derive(Debug)]
pub(crate) struct Fault {
    path: Vec<String>,
    at: Option<At>,
    what: What,
}

#[derive(Debug)]
enum What {
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    UnknownValue {
        found: String,
        known: &'static [&'static str],
    },
    Type {
        found: String,
        expected: String,
    },
    Range {
        found: String,
        allowed: String,
    },
    Missing {
        key: &'static str,
    },
    Other(String),
}

impl Fault {
    fn new(what: What) -> Self {
        Self {
            path: Vec::new(),
            at: None,
            what,
        }
    }

    fn expected(node: &Node, expected: impl Into<String>) -> Self {
        Self::new(What::Type {
            found: node.value.describe(),
            expected: expected.into(),
        })
        .under(None, &node.at)
    }

    /// Adds the key this error passed through, and the place if none is known yet.
    fn under(mut self, key: Option<&str>, at: &At) -> Self {
        if let Some(key) = key {
            self.path.insert(0, key.to_owned());
        }
        self.at.get_or_insert_with(|| at.clone());
        self
    }

    fn into_config_error(self, root: &At) -> ConfigError {
        let at = self.at.unwrap_or_else(|| root.clone());
        let path = self.path.join(".");
        let below = |key: &str| {
            if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            }
        };
        match self.what {
            What::UnknownKey { key, known } => ConfigError::UnknownKey {
                at,
                key: below(&key),
                known: nearest(&key, known.iter().copied()),
            },
            What::UnknownValue { found, known } => {
                let known = nearest(&found, known.iter().copied());
                ConfigError::UnknownValue {
                    at,
                    key: path,
                    found,
                    known,
                }
            }
            What::Type { found, expected } => ConfigError::Type {
                at,
                key: path,
                found,
                expected,
            },
            What::Range { found, allowed } => ConfigError::Range {
                at,
                key: path,
                found,
                allowed,
            },
            What::Missing { key } => ConfigError::Missing { at, key: below(key) },
            What::Other(message) => ConfigError::Syntax {
                at,
                message: format!("`{path}`: {message}"),
            },
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.what)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(What::Other(message.to_string()))
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(What::Type {
            found: words(found),
            expected: expected.to_string(),
        })
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(What::Type {
            found: words(found),
            expected: expected.to_string(),
        })
    }
    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(What::Type {
            found: format!("a list of {found}"),
            expected: expected.to_string(),
        })
    }
    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownValue {
            found: found.to_owned(),
            known,
        })
    }
    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownKey {
            key: key.to_owned(),
            known,
        })
    }
    fn missing_field(key: &'static str) -> Self {
        Self::new(What::Missing { key })
    }
}

fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("the text `{text}`"),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a block of keys".to_owned(),
        other => other.to_string(),
    }
}

#[derive(Clone, Copy)]
struct Reader<'a>(&'a Node);

impl Reader<'_> {
    fn whole<T: TryFrom<i128>>(self, least: i128, most: i128) -> Result<T, Fault> {
        let allowed = || match least {
            0 => format!("0 to {most}"),
            _ => format!("{least} to {most}"),
        };
        match self.0.value {
            // `1e4` is a whole number to people.
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                let whole = Node {
                    at: self.0.at.clone(),
                    value: Value::Int(value as i128),
                };
                Reader(&whole).whole(least, most)
            }
            Value::Int(value) => T::try_from(value).map_err(|_| {
                Fault::new(What::Range {
                    found: value.to_string(),
                    allowed: allowed(),
                })
                .under(None, &self.0.at)
            }),
            _ => Err(Fault::expected(self.0, format!("a whole number, {}", allowed()))),
        }
    }

    /// A finite number. Also refuses what becomes infinite in `f32`.
    fn number(self, most: f64) -> Result<f64, Fault> {
        let value = match self.0.value {
            Value::Int(value) => value as f64,
            Value::Float(value) => value,
            _ => return Err(Fault::expected(self.0, "a number")),
        };
        if value.is_finite() && value.abs() <= most {
            return Ok(value);
        }
        let what = What::Range {
            found: value.to_string(),
            allowed: "a finite number".to_owned(),
        };
        Err(Fault::new(what).under(None, &self.0.at))
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit(self.whole::<$type>(<$type>::MIN.into(), <$type>::MAX.into())?)
        })*
    };
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let at = &self.0.at;
        match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Int(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(*value as f64),
            },
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Map(entries) => visitor.visit_map(Entries {
                entries,
                skip_kind: false,
                next: 0,
            }),
        }
        .map_err(|fault| fault.under(None, at))
    }

    whole_numbers! {
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f32(self.number(f32::MAX.into())? as f32)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f64(self.number(f64::MAX)?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Bool(value) => visitor.visit_bool(value),
            _ => Err(Fault::expected(self.0, "true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Text(text) => visitor
                .visit_str(text)
                .map_err(|fault: Fault| fault.under(None, &self.0.at)),
            _ => Err(Fault::expected(
                self.0,
                "a text (in quotes if it looks like something else)",
            )),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::List(items) => visitor
                .visit_seq(Items { items, next: 0 })
                .map_err(|fault| fault.under(None, &self.0.at)),
            _ => Err(Fault::expected(self.0, "a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::List(items) if items.len() == len => self.deserialize_seq(visitor),
            Value::List(items) => {
                let what = What::Type {
                    found: format!("a list of {}", items.len()),
                    expected: format!("{len} values"),
                };
                Err(Fault::new(what).under(None, &self.0.at))
            }
            _ => Err(Fault::expected(self.0, format!("a list of {len} values"))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Map(entries) => visitor
                .visit_map(Entries {
                    entries,
                    skip_kind: false,
                    next: 0,
                })
                .map_err(|fault| fault.under(None, &self.0.at)),
            _ => Err(Fault::expected(self.0, "a block of keys")),
        }
    }

    /// A word is a plain choice, or a plugin with its defaults; a block with `kind` is a plugin, its other keys the plugin's options.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let node = self.0;
        match &node.value {
            Value::Text(word) => visitor
                .visit_enum(Choice {
                    word,
                    at: &node.at,
                    options: None,
                })
                .map_err(|fault: Fault| fault.under(None, &node.at)),
            Value::Map(entries) => {
                let Some(kind) = entries.iter().find(|entry| entry.key == "kind") else {
                    return Err(Fault::new(What::Missing { key: "kind" }).under(None, &node.at));
                };
                let Value::Text(word) = &kind.node.value else {
                    return Err(Fault::expected(&kind.node, "the name of a plugin").under(Some("kind"), &kind.node.at));
                };
                visitor
                    .visit_enum(Choice {
                        word,
                        at: &kind.node.at,
                        options: Some(entries),
                    })
                    .map_err(|fault: Fault| fault.under(None, &node.at))
            }
            _ => Err(Fault::expected(node, "a word")),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct newtype_struct tuple_struct map identifier ignored_any
    }
}

/// An enum's variant name, and the block it stands in when it is a plugin.
struct Choice<'a> {
    word: &'a str,
    at: &'a At,
    options: Option<&'a [Entry]>,
}

impl<'de> EnumAccess<'de> for Choice<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let key = self.options.map(|_| "kind");
        let word: de::value::StrDeserializer<'_, Fault> = self.word.into_deserializer();
        let variant = seed.deserialize(word).map_err(|fault| fault.under(key, self.at))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.options {
            None => Ok(()),
            Some(entries) => match entries.iter().find(|entry| entry.key != "kind") {
                None => Ok(()),
                Some(entry) => Err(Fault::new(What::UnknownKey {
                    key: entry.key.clone(),
                    known: &[],
                })
                .under(None, &entry.key_at)),
            },
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        // A name alone has the default options.
        let map = Entries {
            entries: self.options.unwrap_or_default(),
            skip_kind: true,
            next: 0,
        };
        seed.deserialize(de::value::MapAccessDeserializer::new(map))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Fault> {
        Err(<Fault as de::Error>::custom("a plugin takes named options"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(Entries {
            entries: self.options.unwrap_or_default(),
            skip_kind: true,
            next: 0,
        })
    }
}

struct Items<'a> {
    items: &'a [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let index = self.next.to_string();
        self.next += 1;
        seed.deserialize(Reader(item))
            .map(Some)
            .map_err(|fault| fault.under(Some(&index), &item.at))
    }
}

struct Entries<'a> {
    entries: &'a [Entry],
    skip_kind: bool,
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        if self.skip_kind && self.entries.get(self.next).is_some_and(|entry| entry.key == "kind") {
            self.next += 1;
        }
        let Some(entry) = self.entries.get(self.next) else {
            return Ok(None);
        };
        let key: de::value::StrDeserializer<'_, Fault> = entry.key.as_str().into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|fault| fault.under(None, &entry.key_at))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(entry) = self.entries.get(self.next) else {
            return Err(<Fault as de::Error>::custom("value asked for without a key"));
        };
        self.next += 1;
        seed.deserialize(Reader(&entry.node))
            .map_err(|fault| fault.under(Some(&entry.key), &entry.node.at))
    }
}
