//! JSON in the order and on the lines that people compare: a row per line, so that a changed row is a changed line.

use serde_json::Value;

/// An object on one line with its keys in this order.
pub(super) fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> String {
    text(entries.into_iter().map(|(key, value)| (key, value.to_string())))
}

/// The same of values that are JSON text already.
pub(super) fn text<'a>(entries: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let entries = entries.into_iter();
    let entries: Vec<String> = entries
        .map(|(key, value)| format!("{}: {value}", Value::from(key)))
        .collect();
    format!("{{{}}}", entries.join(", "))
}

/// A list below a key of the file: an object per line.
pub(super) fn list(objects: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = objects.map(|object| format!("\n    {object}")).collect();
    match lines.is_empty() {
        true => "[]".to_owned(),
        false => format!("[{}\n  ]", lines.join(",")),
    }
}

/// A figure: a whole one without a point, none or one that JSON lacks as `null`.
pub(super) fn figure(value: Option<f64>) -> Value {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number that an i64 holds")]
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => (value as i64).into(),
        value => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_figures_are_short() {
        let figures = [Some(90.0), Some(0.25), Some(f64::NAN), None].map(figure);
        let line = object(["z", "a", "m", "b"].into_iter().zip(figures));
        assert_eq!(line, r#"{"z": 90, "a": 0.25, "m": null, "b": null}"#);
        assert_eq!(list([].into_iter()), "[]");
        assert_eq!(list([line].into_iter()).lines().count(), 3);
    }
}
