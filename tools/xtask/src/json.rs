//! JSON to be written: keys keep the order they were given in.
//!
//! Owns: the form of files that people commit. Promises: one form per content, an object of plain values on one line so
//! that a changed row is a changed line. Refuses: numbers that JSON does not have; they become `null`.

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `null`
    Null,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// A text.
    pub(crate) fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    /// An object of these entries.
    pub(crate) fn object<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// The text of a file, with its last line end.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    /// Whether it holds values that hold values.
    fn is_deep(&self) -> bool {
        let holds = |value: &Self| matches!(value, Self::List(_) | Self::Object(_));
        match self {
            Self::List(list) => list.iter().any(holds),
            Self::Object(entries) => entries.iter().any(|(_, value)| holds(value)),
            _ => false,
        }
    }

    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Self::Number(value) if value.is_finite() => *text += &value.to_string(),
            Self::Null | Self::Number(_) => *text += "null",
            Self::Text(value) => quote(text, value),
            Self::List(list) => {
                let entries = list.iter().map(|value| (None, value));
                self.between(text, depth, ['[', ']'], entries);
            }
            Self::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| (Some(key.as_str()), value));
                self.between(text, depth, ['{', '}'], entries);
            }
        }
    }

    fn between<'a>(
        &self,
        text: &mut String,
        depth: usize,
        [open, close]: [char; 2],
        entries: impl Iterator<Item = (Option<&'a str>, &'a Self)>,
    ) {
        // Up to two levels of files are spread out; rows and what is in them stay on their line.
        let spread = self.is_deep() && depth < 2;
        let line = |text: &mut String, depth: usize| {
            text.push('\n');
            *text += &"  ".repeat(depth);
        };
        text.push(open);
        for (index, (key, value)) in entries.enumerate() {
            if index > 0 {
                *text += if spread { "," } else { ", " };
            }
            if spread {
                line(text, depth + 1);
            }
            if let Some(key) = key {
                quote(text, key);
                *text += ": ";
            }
            value.write(text, depth + 1);
        }
        if spread {
            line(text, depth);
        }
        text.push(close);
    }
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => *text += "\\\"",
            '\\' => *text += "\\\\",
            c if u32::from(c) < 32 => *text += &format!("\\u{:04x}", u32::from(c)),
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn rows_are_lines_and_the_order_is_kept() {
        let row = |n: f64| {
            Json::object([
                ("z", Json::Number(n)),
                ("a", Json::object([("mean", Json::Number(0.5))])),
            ])
        };
        let file = Json::object([
            ("version", Json::Number(1.0)),
            ("rows", Json::List(vec![row(1.0), row(f64::NAN)])),
        ]);
        let wanted = "{\n  \"version\": 1,\n  \"rows\": [\n    {\"z\": 1, \"a\": {\"mean\": 0.5}},\n    \
                      {\"z\": null, \"a\": {\"mean\": 0.5}}\n  ]\n}\n";
        assert_eq!(file.print(), wanted);
    }

    #[test]
    fn texts_are_read_back() {
        let text = "say \"x\\y\"\n\tü";
        let read: tinyjson::JsonValue = Json::text(text).print().parse().unwrap();
        assert_eq!(read.get::<String>().unwrap(), text);
    }
}
