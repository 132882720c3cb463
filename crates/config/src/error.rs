//! Errors of the configuration layer: each names the key, what was found, what is allowed, and the file and line.

use std::fmt;
use std::sync::Arc;

use super::moved::{instead_of, instead_of_value};

/// Where a value was written: a file and a line, or a command-line flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// File path, shipped name (`recipes/mip`) or flag (`--set`).
    pub source: Arc<str>,
    /// Line in the file, from 1; 0 for flags and for whole files.
    pub line: u32,
}

impl At {
    /// A place without a line.
    #[must_use]
    pub fn whole(source: &str) -> Self {
        Self {
            source: source.into(),
            line: 0,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.source),
            line => write!(f, "{}:{line}", self.source),
        }
    }
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {file}: {source}")]
    Read {
        /// Path as given.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than any profile needs to be.
    #[error("the configuration is {found} bytes, allowed: at most {allowed} ({file})")]
    TooLarge {
        /// Path or flag.
        file: String,
        /// Size in bytes.
        found: u64,
        /// Limit in bytes.
        allowed: u64,
    },
    /// Not YAML, or YAML that profiles refuse (tabs, anchors, merge keys, duplicate keys, tags, deep nesting).
    #[error("{message} ({at})")]
    Syntax {
        /// Place.
        at: At,
        /// What is wrong.
        message: String,
    },
    /// A key that does not exist.
    #[error("unknown key `{key}` ({at})")]
    UnknownKey {
        /// Place of the key.
        at: At,
        /// Full key path.
        key: String,
        /// Keys that exist there, nearest first; or the paths of those that have this name elsewhere.
        known: Vec<String>,
    },
    /// A plugin kind or word value that does not exist.
    #[error("`{key}` is `{found}`, which does not exist ({at})")]
    UnknownValue {
        /// Place of the value.
        at: At,
        /// Full key path.
        key: String,
        /// The value.
        found: String,
        /// Values that exist, nearest first.
        known: Vec<String>,
    },
    /// A value of the wrong type.
    #[error("`{key}` is {found}, expected {expected} ({at})")]
    Type {
        /// Place of the value.
        at: At,
        /// Full key path.
        key: String,
        /// What was there.
        found: String,
        /// What should be there.
        expected: String,
    },
    /// A value outside its range.
    #[error("`{key}` is {found}, allowed: {allowed} ({at})")]
    Range {
        /// Place of the value.
        at: At,
        /// Full key path.
        key: String,
        /// The value.
        found: String,
        /// The range.
        allowed: String,
    },
    /// A key without which nothing can be done.
    #[error("`{key}` is missing ({at})")]
    Missing {
        /// The file or block.
        at: At,
        /// Full key path.
        key: String,
    },
    /// A profile or recipe name that is not shipped.
    #[error("no {what} is named `{found}`")]
    UnknownName {
        /// `profile` or `recipe`.
        what: &'static str,
        /// The name.
        found: String,
        /// Shipped names, nearest first.
        known: Vec<String>,
    },
    /// The base of a file has a base itself.
    #[error("`extends` goes one level only, but the extended file extends another ({at})")]
    ExtendsTwice {
        /// Place of the second `extends`.
        at: At,
    },
    /// A recipe stands on something that is no shipped recipe.
    #[error("a recipe extends `recipes/NAME`, and this one names `{found}` ({at})")]
    RecipeBase {
        /// Place of the `extends`.
        at: At,
        /// What it names.
        found: String,
    },
    /// The resolved profile cannot be written as YAML.
    #[error("cannot write the resolved profile as YAML: {message}")]
    Write {
        /// What the writer said.
        message: String,
    },
}

impl ConfigError {
    /// What to do next, when there is something more to say than the message does.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, .. } if let Some(instead) = instead_of(key) => Some(instead.to_owned()),
            Self::UnknownKey { known, .. } if !known.is_empty() && known.iter().all(|path| path.contains('.')) => {
                Some(format!("the key is `{}`", known.join("` or `")))
            }
            Self::UnknownKey { known, .. } if known.is_empty() => Some("no keys exist there".to_owned()),
            Self::UnknownKey { known, .. } => Some(format!("known keys, nearest first: {}", known.join(", "))),
            Self::UnknownValue { key, found, .. } if let Some(instead) = instead_of_value(key, found) => {
                Some(instead.to_owned())
            }
            Self::UnknownValue { known, .. } => Some(format!("known, nearest first: {}", known.join(", "))),
            Self::UnknownName { what, known, .. } => {
                let known = known.join(", ");
                Some(format!(
                    "shipped, nearest first: {known}; a path to a {what} file must end in .yaml or .yml"
                ))
            }
            Self::Read { .. } => Some("check the path; `kiln profiles list` shows what is shipped".to_owned()),
            _ => None,
        }
    }
}

/// `known`, the ones most like `found` first; ties keep their order.
pub fn nearest(found: &str, known: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut known: Vec<String> = known.into_iter().map(Into::into).collect();
    known.sort_by_cached_key(|candidate| edit_distance(found, candidate));
    known
}

/// Levenshtein distance over characters. Bounded work: only the first 64 characters count.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("adaptive", "adaptive_abs", 4),
            ("same", "same", 0),
        ] {
            assert_eq!(edit_distance(a, b), d, "{a} {b}");
        }
        assert_eq!(nearest("savee", ["test", "save", "path"]), ["save", "path", "test"]);
    }
}
