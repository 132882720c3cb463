//! Blocks of which a name says all: `cull: unseen` stands for `cull: { kind: unseen }`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A block that may be written as the value of one of its keys; the others have their defaults then.
pub(super) trait Named: Sized {
    /// What the name is read as.
    type Name: for<'de> Deserialize<'de>;
    /// What an error calls it.
    const EXPECTED: &'static str;

    /// The block with this name and defaults.
    fn named(name: Self::Name) -> Self;

    /// The block with its keys.
    ///
    /// # Errors
    /// Those of its keys.
    fn block<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Reads a name or a block.
///
/// # Errors
/// Those of either.
pub(super) fn read<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Either<T>(PhantomData<T>);
    impl<'de, T: Named> Visitor<'de> for Either<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }
        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            T::Name::deserialize(StrDeserializer::new(name)).map(T::named)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::block(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Either(PhantomData))
}

/// Schema of a block that may be a name: one of `names`, or any text where there are none.
pub(super) fn or_name(schema: &mut schemars::Schema, names: &[&str]) {
    let name = match names {
        [] => serde_json::json!({ "type": "string" }),
        names => serde_json::json!({ "enum": names }),
    };
    let block = std::mem::take(schema).to_value();
    *schema = schemars::json_schema!({ "anyOf": [name, block] });
}
