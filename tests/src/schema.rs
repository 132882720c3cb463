//! Checks a JSON value against a schema of `configs/schema`: the part of JSON Schema 2020-12 that those schemas use. Any
//! other keyword is a problem too, so that no rule goes unchecked.

use serde_json::Value;

/// Why `value` breaks `schema`, which is `root` or a part of it; `None` when it does not.
#[must_use]
pub fn problem(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = match schema {
        Value::Bool(true) => return None,
        Value::Object(map) => map,
        other => return Some(format!("the schema {other} is not an object")),
    };
    schema.iter().find_map(|(keyword, rule)| {
        let valid = |rule: &&Value| problem(root, rule, value).is_none();
        let rules = || rule.as_array().into_iter().flatten();
        let items = value.as_array().map(|items| items.len() as u64);
        let counts = |past: fn(u64, u64) -> bool| items.zip(rule.as_u64()).is_some_and(|(n, r)| past(n, r));
        let beyond = |past: fn(f64, f64) -> bool| value.as_f64().zip(rule.as_f64()).is_some_and(|(v, r)| past(v, r));
        let broken = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => false,
            "$ref" => {
                let target = rule
                    .as_str()
                    .and_then(|path| root.pointer(path.trim_start_matches('#')));
                return match target {
                    Some(target) => problem(root, target, value),
                    None => Some(format!("the schema has no {rule}")),
                };
            }
            "type" => match rule {
                Value::String(name) => !is(value, name),
                _ => !rules().any(|name| name.as_str().is_some_and(|name| is(value, name))),
            },
            "const" => value != rule,
            "enum" => !rules().any(|allowed| allowed == value),
            "minimum" => beyond(|value, least| value < least),
            "maximum" => beyond(|value, most| value > most),
            "minItems" => counts(|n, least| n < least),
            "maxItems" => counts(|n, most| n > most),
            "anyOf" => !rules().any(|rule| valid(&rule)),
            "oneOf" => rules().filter(valid).count() != 1,
            "required" => rules().any(|key| key.as_str().is_none_or(|key| value.get(key).is_none())),
            "properties" => {
                return rule.as_object().into_iter().flatten().find_map(|(key, rule)| {
                    let inner = value.get(key)?;
                    Some(format!("{key}: {}", problem(root, rule, inner)?))
                });
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                return others
                    .filter(|(key, _)| !known.is_some_and(|known| known.contains_key(*key)))
                    .find_map(|(_, inner)| problem(root, rule, inner));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                return items.into_iter().find_map(|item| problem(root, rule, item));
            }
            other => return Some(format!("unknown keyword {other}")),
        };
        broken.then(|| format!("breaks {keyword} {rule}"))
    })
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
