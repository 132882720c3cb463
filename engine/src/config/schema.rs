//! The JSON Schema of configuration files, for editors.

use serde_json::Value;

use super::profile::Profile;

/// Schema of a configuration file, pretty-printed with a final newline.
///
/// A file may leave out every key but `version` (layers below supply them), so nothing else is required.
#[must_use]
pub fn schema_json() -> String {
    let mut schema = schemars::schema_for!(Profile).to_value();
    relax(&mut schema);
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

/// Drops `required` everywhere except where it says that a plugin needs its `kind`.
fn relax(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("required").is_some_and(|required| *required != serde_json::json!(["kind"])) {
                map.remove("required");
            }
            map.values_mut().for_each(relax);
        }
        Value::Array(items) => items.iter_mut().for_each(relax),
        _ => {}
    }
}
