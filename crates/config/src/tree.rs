//! YAML text to a tree that remembers where every value came from, and layering of trees.
//!
//! Refuses what a profile does not need and a hostile file likes: more than 1 MiB, deep nesting, anchors, aliases,
//! merge keys, tags, tabs, duplicate keys, several documents.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy, Spanned};

use super::error::{At, ConfigError};

/// Largest configuration text, bytes.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// Deepest nesting of maps and lists.
pub(super) const MAX_DEPTH: usize = 16;
/// Most values and keys in one text; keeps the cost of layering bounded.
const MAX_NODES: usize = 20_000;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) node: Node,
}

impl Value {
    /// How an error calls this value.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => format!("{value}"),
            Self::Int(value) => format!("{value}"),
            Self::Float(value) => format!("{value}"),
            Self::Text(text) if text.chars().count() > 64 => "a long text".to_owned(),
            Self::Text(text) => format!("the text `{text}`"),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a block of keys".to_owned(),
        }
    }
}

impl Value {
    /// The value in one line, as a person would write it.
    pub(crate) fn plain(&self) -> String {
        let list = |parts: Vec<String>, [open, close]: [&str; 2]| format!("{open}{}{close}", parts.join(", "));
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => list(items.iter().map(|item| item.value.plain()).collect(), ["[", "]"]),
            Self::Map(entries) => {
                let entry = |entry: &Entry| format!("{}: {}", entry.key, entry.node.value.plain());
                list(entries.iter().map(entry).collect(), ["{ ", " }"])
            }
            other => other.describe(),
        }
    }
}

impl Node {
    /// Parses YAML text; `source` is the file or flag that errors name.
    pub(crate) fn parse(text: &str, source: &str) -> Result<Self, ConfigError> {
        let size = text.len() as u64;
        if size > MAX_BYTES {
            return Err(ConfigError::TooLarge {
                file: source.to_owned(),
                found: size,
                allowed: MAX_BYTES,
            });
        }
        let source: Arc<str> = source.into();
        if let Some(line) = text.lines().position(|line| line.contains('\t')) {
            return Err(syntax(
                &source,
                line as u64 + 1,
                "tab character; indent and align with spaces",
            ));
        }
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_depth: MAX_DEPTH,
                flow_nesting_limit: MAX_DEPTH,
                max_documents: 1,
                max_nodes: MAX_NODES,
                max_anchors: 0,
                max_aliases: 0,
                max_merge_keys: 0,
            },
            duplicate_keys: DuplicateKeyPolicy::Error,
            merge_keys: MergeKeyPolicy::Error,
            strict_booleans: true,
            reject_unsupported_tags: true,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            with_snippet: false,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
            Ok(raw) => Ok(Self::locate(raw, &source)),
            Err(error) => {
                let line = error.location().map_or(0, |location| location.line());
                Err(syntax(&source, line, &refusal(&error)))
            }
        }
    }

    fn locate(raw: Spanned<Raw>, source: &Arc<str>) -> Self {
        let at = place(source, raw.referenced.line());
        let value = match raw.value {
            Raw::Scalar(value) => value,
            Raw::List(items) => Value::List(items.into_iter().map(|item| Self::locate(item, source)).collect()),
            Raw::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| Entry {
                        key_at: place(source, key.referenced.line()),
                        key: key.value,
                        node: Self::locate(node, source),
                    })
                    .collect(),
            ),
        };
        Self { at, value }
    }

    /// An empty map.
    pub(crate) fn empty(source: &str) -> Self {
        Self {
            at: At::whole(source),
            value: Value::Map(Vec::new()),
        }
    }

    /// A map nested along `path` around `value`, as `--set` and flags write it.
    pub(crate) fn nested(path: &str, value: Value, source: &str) -> Self {
        let at = At::whole(source);
        path.rsplit('.').fold(Self { at: at.clone(), value }, |node, key| Self {
            at: at.clone(),
            value: Value::Map(vec![Entry {
                key: key.to_owned(),
                key_at: at.clone(),
                node,
            }]),
        })
    }

    /// The value of a key, when this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
            Value::List(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        }
    }

    /// Removes a key of a map and returns it.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let index = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(index))
    }

    /// Place of the deepest existing node along a path.
    pub(crate) fn place_of(&self, path: &[String]) -> At {
        let mut node = self;
        for key in path {
            match node.get(key) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.at.clone()
    }

    /// Lays `over` on top: maps merge key by key, everything else replaces. A plugin whose `kind` changes is replaced
    /// whole, because the old plugin's options mean nothing to the new one. A map with decimal keys addresses the
    /// items of a list (`--set losses.0.weight=0.7`).
    pub(crate) fn overlay(&mut self, over: Self) {
        self.lay(over, "");
    }

    /// Makes a name a block where keys of the block are laid over it: `--set losses.0.weight=0.7` over `[l1, dssim]`.
    fn name_to_block(&mut self, key: &str, over: &Self) {
        let Some((_, name)) = NAMED.iter().find(|(named, _)| *named == key) else {
            return;
        };
        if matches!(self.value, Value::Text(_)) && matches!(over.value, Value::Map(_)) {
            let node = self.clone();
            self.value = Value::Map(vec![Entry {
                key: (*name).to_owned(),
                key_at: self.at.clone(),
                node,
            }]);
        }
    }

    /// `key` is that of the node, [`ITEM`] in a list, and empty at the top.
    fn lay(&mut self, over: Self, key: &str) {
        self.name_to_block(key, &over);
        let is_plugin = !SAME_FOR_ALL_KINDS.contains(&key);
        match (&mut self.value, over.value) {
            (Value::Map(below), Value::Map(above)) if !(is_plugin && kind_changes(below, &above)) => {
                for entry in above {
                    match below.iter_mut().find(|existing| existing.key == entry.key) {
                        Some(existing) => {
                            existing.key_at = entry.key_at;
                            existing.node.lay(entry.node, &entry.key);
                        }
                        None => below.push(entry),
                    }
                }
            }
            (Value::List(below), Value::Map(above)) if addresses_items(below.len(), &above) => {
                for entry in above {
                    if let Some(item) = entry.key.parse::<usize>().ok().and_then(|index| below.get_mut(index)) {
                        item.lay(entry.node, ITEM);
                    }
                }
                return;
            }
            (_, value) => self.value = value,
        }
        self.at = over.at;
    }
}

/// What the items of a list go by where keys have names.
const ITEM: &str = "[]";

/// Blocks that may be written as the value of one of their keys, and this key.
const NAMED: [(&str, &str); 7] = [
    ("init", "kind"),
    ("strategy", "kind"),
    ("optimizer", "kind"),
    ("cull", "kind"),
    ("texture", "kind"),
    ("normals", "path"),
    (ITEM, "kind"),
];

/// Blocks with a `kind` among keys that every kind has.
const SAME_FOR_ALL_KINDS: [&str; 2] = ["dataset", "model"];

fn kind_changes(below: &[Entry], above: &[Entry]) -> bool {
    let kind = |entries: &[Entry]| entries.iter().find(|e| e.key == "kind").map(|e| e.node.value.clone());
    match (kind(below), kind(above)) {
        (Some(old), Some(new)) => old != new,
        _ => false,
    }
}

fn addresses_items(len: usize, above: &[Entry]) -> bool {
    !above.is_empty()
        && above
            .iter()
            .all(|entry| entry.key.parse::<usize>().is_ok_and(|index| index < len))
}

fn place(source: &Arc<str>, line: u64) -> At {
    At {
        source: source.clone(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
    }
}

fn syntax(source: &Arc<str>, line: u64, message: &str) -> ConfigError {
    ConfigError::Syntax {
        at: place(source, line),
        message: message.to_owned(),
    }
}

/// Our words for what the parser refused.
fn refusal(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    use serde_saphyr::budget::BudgetBreach;
    match error.without_snippet() {
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. } => {
                "anchors and aliases (`&`, `*`) are not allowed; write the value out".to_owned()
            }
            BudgetBreach::MergeKeys { .. } => merge_key(),
            BudgetBreach::Depth { .. } => format!("nested deeper than {MAX_DEPTH} levels"),
            BudgetBreach::Documents { .. } => one_document(),
            BudgetBreach::Nodes { .. } => format!("more than {MAX_NODES} keys and values"),
            _ => "more YAML than a profile can need".to_owned(),
        },
        Error::MergeKeyNotAllowed { .. } => merge_key(),
        Error::MultipleDocuments { .. } => one_document(),
        Error::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("the key `{key}` appears twice in one block"),
            None => "a key appears twice in one block".to_owned(),
        },
        other => {
            // The parser appends its own position; ours follows in parentheses.
            let text = other.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("not valid YAML: {}", first.split(" at line ").next().unwrap_or(first))
        }
    }
}

fn merge_key() -> String {
    "merge keys (`<<`) are not allowed; write the values out".to_owned()
}

fn one_document() -> String {
    "more than one YAML document in the file".to_owned()
}

/// The tree before the source is known.
enum Raw {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }
    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }
    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Null))
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Bool(value)))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value.into())))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value.into())))
    }
    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Int(value)))
    }
    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Scalar(
            i128::try_from(value).map_or(Value::Float(value as f64), Value::Int),
        ))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Float(value)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(Value::Text(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn message(text: &str) -> String {
        Node::parse(text, "f.yaml").unwrap_err().to_string()
    }

    #[test]
    fn keeps_lines_and_types() {
        let node = Node::parse("a: 1\nb:\n  c: [x, 2.5, null, yes, \"7\"]\n", "f.yaml").unwrap();
        assert_eq!(node.get("a").unwrap().value, Value::Int(1));
        let list = node.get("b").unwrap().get("c").unwrap();
        assert_eq!(list.at.to_string(), "f.yaml:3");
        let values: Vec<_> = (0..5)
            .map(|i| list.get(&i.to_string()).unwrap().value.clone())
            .collect();
        let text = |t: &str| Value::Text(t.to_owned());
        assert_eq!(
            values,
            [text("x"), Value::Float(2.5), Value::Null, text("yes"), text("7")]
        );
        let Value::Map(entries) = &node.value else {
            unreachable!()
        };
        assert_eq!(entries[1].key_at.line, 2);
    }

    #[test]
    fn refuses_what_profiles_do_not_need() {
        for (text, expected) in [
            ("a:\n\tb: 1", "tab character; indent and align with spaces (f.yaml:2)"),
            (
                "a: &x 1\n",
                "anchors and aliases (`&`, `*`) are not allowed; write the value out (f.yaml:1)",
            ),
            (
                "a: 1\n<<: {b: 1}\n",
                "merge keys (`<<`) are not allowed; write the values out (f.yaml:2)",
            ),
            (
                "a: 1\nb: 2\na: 3\n",
                "the key `a` appears twice in one block (f.yaml:3)",
            ),
            (
                "a: 1\n---\nb: 1\n",
                "more than one YAML document in the file (f.yaml:2)",
            ),
        ] {
            assert_eq!(message(text), expected, "{text:?}");
        }
        assert!(
            message("a: [1, 2").starts_with("not valid YAML: "),
            "{}",
            message("a: [1, 2")
        );
        assert!(
            message("a: !thing 1").starts_with("not valid YAML: "),
            "{}",
            message("a: !thing 1")
        );
        assert!(message("a: *x").contains("f.yaml:1"), "{}", message("a: *x"));
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let deep = "[".repeat(4000) + &"]".repeat(4000);
        assert!(message(&deep).contains("f.yaml"), "{}", message(&deep));
        let block: String = (0..40).map(|i| format!("{}a:\n", "  ".repeat(i))).collect();
        assert!(
            message(&block).starts_with("nested deeper than 16 levels"),
            "{}",
            message(&block)
        );
        let many: String = (0..30_000).map(|i| format!("k{i}: 1\n")).collect();
        assert!(
            message(&many).starts_with("more than 20000 keys and values (f.yaml:"),
            "{}",
            message(&many)
        );
        let large = "a".repeat(1 << 20) + "a";
        assert_eq!(
            message(&large),
            "the configuration is 1048577 bytes, allowed: at most 1048576 (f.yaml)"
        );
    }

    #[test]
    fn overlay_merges_maps_replaces_lists_and_changed_kinds() {
        let mut base = Node::parse("a: {x: 1, y: 2}\nl: [1, 2]\ns: {kind: adaptive, every: 5}\n", "base").unwrap();
        base.overlay(Node::parse("a: {y: 3}\nl: [9]\ns: {kind: fixed}\n", "over").unwrap());
        assert_eq!(base.get("a").unwrap().get("x").unwrap().at.source.as_ref(), "base");
        assert_eq!(base.get("a").unwrap().get("y").unwrap().value, Value::Int(3));
        assert!(base.get("l").unwrap().get("1").is_none());
        assert!(base.get("s").unwrap().get("every").is_none());
        let mut sections = Node::parse("model: {kind: mip, sh_degree: 3}\n", "base").unwrap();
        sections.overlay(Node::parse("model: {kind: classic}\n", "over").unwrap());
        assert_eq!(
            sections.get("model").unwrap().get("sh_degree").unwrap().value,
            Value::Int(3)
        );
        base.overlay(Node::nested("l.0", Value::Int(4), "--set"));
        assert_eq!(base.get("l").unwrap().get("0").unwrap().value, Value::Int(4));
        base.overlay(Node::nested("a.x", Value::Null, "--set"));
        assert_eq!(
            base.place_of(&["a".to_owned(), "x".to_owned(), "z".to_owned()])
                .to_string(),
            "--set"
        );
    }
}
