//! The JSON Schema of configuration files, for editors.

use serde_json::Value;

use super::profile::Profile;

/// Schema of a configuration file, pretty-printed with a final newline.
///
/// A file may leave out every key, because the layers below supply them.
#[must_use]
pub fn schema_json() -> String {
    let mut schema = schemars::schema_for!(Profile).to_value();
    relax(&mut schema);
    require_kinds(&mut schema);
    schema["title"] = "Kiln configuration".into();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("required");
    }
    schema["properties"]["version"] = serde_json::json!({
        "const": 1,
        "description": "Version of this format; always 1, also where it is left out.",
    });
    schema["properties"]["extends"] = serde_json::json!({
        "type": "string",
        "description": "Base of this file: `profiles/NAME`, `recipes/NAME` or a file beside it; of a recipe: `recipes/NAME`.",
    });
    schema["properties"]["adapt"] = adapt();
    format!("{schema:#}\n")
}

/// The list of rules, in recipes only.
fn adapt() -> Value {
    let number = |description: &str, most: Option<u32>| {
        let mut schema = serde_json::json!({ "type": "number", "minimum": 0, "description": description });
        if let Some(most) = most {
            schema["maximum"] = most.into();
        }
        schema
    };
    serde_json::json!({
        "type": "array",
        "description": "In recipes: what is set for scenes that were taken in a certain way. Later rules win, and whatever is set by hand wins over all.",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["when", "set", "why"],
            "properties": {
                "when": {
                    "type": "object",
                    "additionalProperties": false,
                    "minProperties": 1,
                    "description": "Conditions; all must hold.",
                    "properties": {
                        "photos_below": number("Fewer training views than this.", None),
                        "photos_from": number("At least so many training views.", None),
                        "points_below": number("The sparse model has fewer points; below 1: the first Gaussians are random.", None),
                        "points_from": number("The sparse model has at least so many points.", None),
                        "background_below": number("A smaller share of the sparse points lies beyond the cameras.", Some(1)),
                        "background_from": number("At least this share of the sparse points lies beyond the cameras.", Some(1)),
                        "overlap_below": number("A sparse point falls into fewer training pictures on average.", None),
                        "overlap_from": number("A sparse point falls into at least so many training pictures on average.", None),
                        "iterations_below": number("A shorter run than this.", None),
                        "iterations_from": number("A run of at least so many iterations.", None),
                    },
                },
                "set": {
                    "type": "object",
                    "minProperties": 1,
                    "description": "Settings as nested blocks or key paths, e.g. `optimizer.lr.means: 0.0003`.",
                },
                "why": { "type": "string", "description": "Printed when the rule changes something." },
            },
        },
    })
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
        // The first are the names alone.
        for kind in kinds.and_then(Value::as_array_mut).into_iter().flatten().skip(1) {
            kind["required"] = serde_json::json!(["kind"]);
        }
    }
}
