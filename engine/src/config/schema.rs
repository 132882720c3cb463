//! The JSON Schema of configuration files, for editors.

use serde_json::Value;

use super::profile::Profile;

/// Schema of a configuration file, pretty-printed with a final newline.
///
/// A file may leave out every key but `version`, because the layers below supply them.
#[must_use]
pub fn schema_json() -> String {
    let mut schema = schemars::schema_for!(Profile).to_value();
    relax(&mut schema);
    require_kinds(&mut schema);
    schema["title"] = "Kiln configuration".into();
    schema["required"] = serde_json::json!(["version"]);
    schema["properties"]["version"] = serde_json::json!({
        "const": 1,
        "description": "Version of this format; always 1.",
    });
    schema["properties"]["extends"] = serde_json::json!({
        "type": "string",
        "description": "Base of this file: `profiles/NAME`, `recipes/NAME` or a file beside it; one level.",
    });
    format!("{schema:#}\n")
}

/// Drops `required` everywhere and writes f32 defaults with their shortest digits.
fn relax(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("required");
            map.values_mut().for_each(relax);
        }
        Value::Array(items) => items.iter_mut().for_each(relax),
        Value::Number(number) if number.is_f64() => {
            let wide = number.as_f64().unwrap_or_default();
            let narrow = wide as f32;
            if f64::from(narrow) == wide
                && let Ok(short) = narrow.to_string().parse::<f64>()
                && let Some(short) = serde_json::Number::from_f64(short)
            {
                *number = short;
            }
        }
        _ => {}
    }
}

/// List items always say their `kind`: lists replace the layer below.
fn require_kinds(schema: &mut Value) {
    for family in crate::plugins::families() {
        let kinds = schema.pointer_mut(&format!("/properties/{}/items/anyOf", family.key));
        for kind in kinds.and_then(Value::as_array_mut).into_iter().flatten() {
            kind["required"] = serde_json::json!(["kind"]);
        }
    }
}
