//! `docs/guide/settings.md`: every key with its default and what it does, made of the schema and of `configs/default.yaml`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::layers::DEFAULT;
use crate::schema_json;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/settings.md");

const HEAD: &str = "# Settings

<!-- Generated from configs/default.yaml and the schema: KILN_BLESS=1 cargo test -p kiln --lib settings_page -->

Every key of a configuration file. A value comes from, each over the one before: `configs/default.yaml` (the defaults below), the profile
(`--profile`), the recipe (`--recipe`) with its [rules for captures](methods.md#recipes-that-adapt-to-the-capture), your file (`--config`), and
`--set KEY=VALUE`. `kiln profiles show RECIPE` prints the values of a recipe; `kiln profiles schema` prints the schema for editors.
[Recipes](recipes.md) says which recipe suits which capture, [methods](methods.md) how the options work.
";

const TABLE: &str = "\n| key | default | what it does |\n|---|---|---|\n";

struct Page {
    schema: Value,
    text: String,
}

impl Page {
    /// What `schema` refers to, or itself.
    fn followed(&self, schema: &Value) -> Value {
        let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map_or_else(|| schema.clone(), |name| self.schema["$defs"][name].clone())
    }

    /// The object that a value may be, if it may be one: itself, one choice of several, or an entry of a list.
    fn object(&self, schema: &Value) -> Option<(Value, bool)> {
        let schema = self.followed(schema);
        if schema["properties"].is_object() {
            return Some((schema, false));
        }
        if schema["items"].is_object() {
            let entry = self.followed(&schema["items"]);
            return entry["properties"].is_object().then_some((entry, true));
        }
        schema["anyOf"]
            .as_array()?
            .iter()
            .find_map(|choice| self.object(choice))
    }

    /// Names that a value may be, each with what it means.
    fn names(&self, schema: &Value) -> Vec<String> {
        let schema = self.followed(schema);
        let choices = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array());
        choices
            .flatten()
            .filter_map(|choice| {
                let name = choice["const"].as_str()?;
                Some(match choice["description"].as_str() {
                    Some(text) => format!("`{name}`: {}", line(text).trim_end_matches('.')),
                    None => format!("`{name}`"),
                })
            })
            .collect()
    }

    /// Rows of the keys of `object` below `path`; `values` has the defaults, and the schema those that are not there.
    fn rows(&mut self, path: &str, object: &Value, values: Option<&Value>) {
        let Some(keys) = object["properties"].as_object() else {
            return;
        };
        // The kind of a plugin is in the heading.
        for (key, schema) in keys.iter().filter(|(_, schema)| schema["const"].is_null()) {
            let path = format!("{path}{key}");
            let value = values
                .and_then(|values| values.get(key))
                .or_else(|| schema.get("default"));
            let mut what = vec![line(schema["description"].as_str().unwrap_or_default())];
            let names = self.names(schema);
            if !names.is_empty() {
                what.push(format!("{}.", names.join("; ")));
            }
            let below = self.object(schema);
            // A block with a value for each of its keys has no row of its own value.
            let value = value.filter(|value| !value.is_object());
            let shown = value.map(|value| format!("`{}`", value.to_string().replace('"', "")));
            let what = what.join(" ").replace('|', "\\|");
            let _ = writeln!(self.text, "| `{path}` | {} | {what} |", shown.unwrap_or_default());
            if let Some((object, is_list)) = below {
                let inner = format!("{path}{}.", if is_list { "[]" } else { "" });
                let values = values
                    .and_then(|values| values.get(key))
                    .or_else(|| schema.get("default"))
                    .cloned();
                self.rows(&inner, &object, values.as_ref());
            }
        }
    }

    /// A family of plugins: what `kind` may be, and the keys of each.
    fn family(&mut self, key: &str, schema: &Value, value: Option<&Value>) {
        let is_list = schema["items"].is_object();
        let kinds = if is_list {
            &schema["items"]["anyOf"]
        } else {
            &schema["anyOf"]
        };
        if let Some(value) = value {
            let kinds: Vec<&str> = match value {
                Value::Array(entries) => entries.iter().filter_map(|entry| entry["kind"].as_str()).collect(),
                one => one["kind"].as_str().into_iter().collect(),
            };
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            let none = || "none".to_owned();
            let shown = Some(kinds.join(", "))
                .filter(|text| !text.is_empty())
                .unwrap_or_else(none);
            let _ = writeln!(self.text, "\nDefault: {shown}.");
        }
        for kind in kinds.as_array().into_iter().flatten() {
            let name = kind["properties"]["kind"]["const"].as_str().unwrap_or_default();
            let kind = kind.clone();
            let example = if is_list {
                format!("{key}: [{{ kind: {name} }}]")
            } else {
                format!("{key}: {{ kind: {name} }}")
            };
            let about = line(kind["description"].as_str().unwrap_or_default()).replace('|', "\\|");
            let _ = writeln!(self.text, "\n### `{example}`\n\n{}", sentence(&about));
            if kind["properties"].as_object().is_some_and(|keys| keys.len() > 1) {
                self.text.push_str(TABLE);
                let path = if is_list { String::new() } else { format!("{key}.") };
                self.rows(&path, &kind, None);
            }
        }
    }
}

/// A text in one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text that begins with a capital and ends with a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

fn page() -> String {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let defaults: Value = serde_saphyr::from_str(DEFAULT.text).unwrap();
    // The order of the file: what is looked for first stands first.
    let order = DEFAULT
        .text
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let order: Vec<&str> = order.filter_map(|line| line.split(':').next()).collect();
    let keys = schema["properties"].as_object().unwrap().clone();
    let mut page = Page {
        schema,
        text: HEAD.to_owned(),
    };
    let others = keys.keys().map(String::as_str).filter(|key| !order.contains(key));
    for key in order.iter().copied().chain(others) {
        let schema = &keys[key];
        let about = schema["description"].as_str().map(str::to_owned);
        let about = about.or_else(|| page.followed(schema)["description"].as_str().map(str::to_owned));
        let _ = writeln!(
            page.text,
            "\n## `{key}`\n\n{}",
            sentence(&line(&about.unwrap_or_default()))
        );
        let families = crate::plugins::families();
        if families.iter().any(|family| family.key == key) {
            page.family(key, schema, defaults.get(key));
        } else if let Some((object, is_list)) = page.object(schema) {
            page.text.push_str(TABLE);
            page.rows(
                &format!("{key}{}.", if is_list { "[]" } else { "" }),
                &object,
                defaults.get(key),
            );
        }
    }
    page.text
}

#[test]
fn settings_page_is_up_to_date() {
    let made = page();
    if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(PAGE, &made).unwrap();
    }
    assert!(
        std::fs::read_to_string(PAGE).unwrap_or_default() == made,
        "docs/guide/settings.md is stale: KILN_BLESS=1 cargo test -p kiln --lib settings_page"
    );
}

/// Every key of the default file, and what it does, is on the page.
#[test]
fn settings_page_has_every_key() {
    let text = page();
    let defaults: Value = serde_saphyr::from_str(DEFAULT.text).unwrap();
    let mut seen = 0;
    for (section, keys) in defaults.as_object().unwrap() {
        assert!(text.contains(&format!("\n## `{section}`\n\n")), "{section}");
        let is_family = crate::plugins::families().iter().any(|family| family.key == section);
        for key in keys
            .as_object()
            .into_iter()
            .flat_map(|keys| keys.keys())
            .filter(|_| !is_family)
        {
            let row = text
                .lines()
                .find(|line| line.starts_with(&format!("| `{section}.{key}` |")));
            let what = row.and_then(|row| row.rsplit(" | ").next());
            assert!(what.is_some_and(|what| what.len() > 8), "{section}.{key}: {row:?}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} keys");
}

/// Paths of all keys below `schema`.
fn keys(page: &Page, path: &str, schema: &Value, found: &mut Vec<String>) {
    let schema = page.followed(schema);
    let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array());
    for choice in choices.flatten() {
        keys(page, path, choice, found);
    }
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}{key}");
        keys(page, &format!("{path}."), schema, found);
        found.push(path);
    }
}

/// Words in code of a page that begin as a section of the settings does, followed by a full stop and a name.
fn named(text: &str, sections: &[&str]) -> Vec<String> {
    let code = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let words = code.flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')));
    let is_file = |word: &str| {
        [".json", ".jsonl", ".ply", ".yaml", ".md", ".py"]
            .iter()
            .any(|end| word.ends_with(end))
    };
    words
        .map(|word| word.trim_matches('.'))
        .filter(|word| {
            word.split_once('.')
                .is_some_and(|(section, _)| sections.contains(&section))
                && !is_file(word)
        })
        .map(str::to_owned)
        .collect()
}

/// Keys that the guide names exist.
#[test]
fn pages_name_keys_that_exist() {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let page = Page {
        schema: schema.clone(),
        text: String::new(),
    };
    let mut known = Vec::new();
    keys(&page, "", &schema, &mut known);
    let sections: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|key| !key.contains('.'))
        .collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_dir(root.join("docs/guide")).unwrap();
    let pages = guide.map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for path in pages.chain([root.join("README.md"), root.join("docs/meshes.md")]) {
        for key in named(&std::fs::read_to_string(&path).unwrap(), &sections) {
            // An entry of a list has a number in its path.
            let is_entry = key.split('.').any(|part| part.parse::<u32>().is_ok());
            let is_placeholder = key.contains(|c: char| c.is_ascii_uppercase());
            assert!(
                is_entry || is_placeholder || known.contains(&key),
                "{} names `{key}`",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} keys");
}
