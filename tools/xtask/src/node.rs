//! JSON that was read, with the place it comes from.
//!
//! Promises: a message about a missing or odd value names the file and where in it. Refuses: nothing but what is no JSON.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use tinyjson::JsonValue;

use crate::failure::{Failure, Result};

/// A JSON value and where it comes from, for messages.
pub(crate) struct Node {
    value: JsonValue,
    place: String,
}

impl Node {
    /// Reads a file.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))?;
        Self::parse(&text, path.display().to_string())
    }

    /// Reads a file with one value a line.
    pub(crate) fn lines(path: &Path) -> Result<Vec<Self>> {
        let text = fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))?;
        let place = |number: usize| format!("{}, line {}", path.display(), number + 1);
        let lines = text.lines().enumerate();
        lines.map(|(number, line)| Self::parse(line, place(number))).collect()
    }

    /// Reads a text; `place` is what messages call it.
    pub(crate) fn parse(text: &str, place: String) -> Result<Self> {
        match text.parse() {
            Ok(value) => Ok(Self { value, place }),
            Err(error) => Err(Failure::new(format!("{place} is no JSON: {error}"))),
        }
    }

    fn missing(&self, key: &str) -> Failure {
        Failure::new(format!("{} has no `{key}` of the kind that is expected", self.place))
    }

    fn at(&self, key: &str) -> Option<&JsonValue> {
        self.value
            .get::<HashMap<String, JsonValue>>()
            .and_then(|object| object.get(key))
    }

    /// A number by key.
    pub(crate) fn number(&self, key: &str) -> Result<f64> {
        let value = self.at(key).and_then(|value| value.get::<f64>());
        value.copied().ok_or_else(|| self.missing(key))
    }

    /// A number by key; none where it is absent or `null`.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<f64>> {
        match self.at(key) {
            None | Some(JsonValue::Null) => Ok(None),
            Some(_) => self.number(key).map(Some),
        }
    }

    /// A text by key.
    pub(crate) fn text(&self, key: &str) -> Result<String> {
        let value = self.at(key).and_then(|value| value.get::<String>());
        value.cloned().ok_or_else(|| self.missing(key))
    }

    /// An object by key; none where it is absent or `null`.
    pub(crate) fn present(&self, key: &str) -> Option<Self> {
        let value = self.at(key).filter(|value| !matches!(value, JsonValue::Null));
        value.and_then(|_| self.child(key).ok())
    }

    /// Any value by key.
    pub(crate) fn child(&self, key: &str) -> Result<Self> {
        let value = self.at(key).cloned().ok_or_else(|| self.missing(key))?;
        let place = format!("{}, `{key}`", self.place);
        Ok(Self { value, place })
    }

    /// The entries of a list by key.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Self>> {
        self.child(key)?.entries()
    }

    /// The entries of this list.
    pub(crate) fn entries(&self) -> Result<Vec<Self>> {
        let list = self.value.get::<Vec<JsonValue>>();
        let list = list.ok_or_else(|| Failure::new(format!("{} is no list", self.place)))?;
        let node = |(number, value): (usize, &JsonValue)| Self {
            value: value.clone(),
            place: format!("{}, entry {number}", self.place),
        };
        Ok(list.iter().enumerate().map(node).collect())
    }
}
