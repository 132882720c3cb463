//! JSON as the run folder uses it.
//!
//! Small on purpose: a document becomes a [`Value`], numbers are 64-bit floats, keys keep their order. Refuses what
//! nests deeper than [`MAX_DEPTH`], so that a hostile file cannot exhaust the stack.

/// Most brackets inside each other.
const MAX_DEPTH: u32 = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key; `None` too when this is no object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A number under a key; null and absent are `None`.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Self::as_number)
    }

    /// A whole number under a key.
    pub(crate) fn whole(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(Self::as_whole)
    }

    pub(crate) fn as_whole(&self) -> Option<u64> {
        self.as_number().filter(|v| *v >= 0.0 && *v < 9e15).map(|v| v as u64)
    }

    /// A text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_text)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items under a key; none when it is no array.
    pub(crate) fn items(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::as_items)
    }

    pub(crate) fn as_items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Every leaf with its path, `a.b.0` style, in order.
    pub(crate) fn leaves(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        self.collect_leaves(String::new(), &mut out);
        out
    }

    fn collect_leaves(&self, path: String, out: &mut Vec<(String, String)>) {
        let below = |name: &str| {
            if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            }
        };
        match self {
            Self::Object(fields) => fields
                .iter()
                .for_each(|(name, value)| value.collect_leaves(below(name), out)),
            Self::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.collect_leaves(below(&index.to_string()), out);
                }
            }
            leaf => out.push((path, leaf.plain())),
        }
    }

    /// A leaf as people read it.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Null => "-".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(value) => value.clone(),
            Self::Array(items) => items.iter().map(Self::plain).collect::<Vec<_>>().join(", "),
            Self::Object(fields) => {
                let parts: Vec<_> = fields
                    .iter()
                    .map(|(name, value)| format!("{name} {}", value.plain()))
                    .collect();
                parts.join(", ")
            }
        }
    }
}

/// Where and why a document is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// Byte.
    pub(crate) at: usize,
    /// What was expected.
    pub(crate) expected: &'static str,
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not valid JSON: {} expected at byte {}", self.expected, self.at)
    }
}

/// Reads a document.
///
/// # Errors
/// [`JsonError`] at the first byte that does not fit.
pub(crate) fn parse(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.space();
    if reader.at == text.len() {
        Ok(value)
    } else {
        reader.fail("the end")
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn fail<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        Err(JsonError { at: self.at, expected })
    }

    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    /// Skips space, then takes `byte` if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        self.space();
        match self.peek() {
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return self.fail("less nesting");
                }
                let value = if self.eat(b'[') { self.array() } else { self.object() };
                self.depth -= 1;
                value
            }
            b'"' => self.string().map(Value::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                self.fail("a value")
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return self.fail("`,` or `]`");
            }
        }
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        self.at += 1;
        let mut fields = Vec::new();
        if self.eat(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            self.space();
            if self.peek() != b'"' {
                return self.fail("a key");
            }
            let key = self.string()?;
            if !self.eat(b':') {
                return self.fail("`:`");
            }
            fields.push((key, self.value()?));
            if self.eat(b'}') {
                return Ok(Value::Object(fields));
            }
            if !self.eat(b',') {
                return self.fail("`,` or `}`");
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .take_while(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        let (digits, _) = rest.split_at(length.count());
        match crate::number::parse(digits) {
            Some(number) => {
                self.at += digits.len();
                Ok(Value::Number(number))
            }
            None => self.fail("a number"),
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.find(['"', '\\']) else {
                return self.fail("the end of a text");
            };
            out.push_str(&rest[..stop]);
            self.at += stop + 1;
            if rest.as_bytes()[stop] == b'"' {
                return Ok(out);
            }
            let escape = self.peek();
            self.at += 1;
            out.push(match escape {
                b'"' | b'\\' | b'/' => escape as char,
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => self.unicode()?,
                _ => return self.fail("an escape"),
            });
        }
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let mut code = self.hex4()?;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex4()?;
            code = 0x1_0000 + ((code - 0xd800) << 10) + low.wrapping_sub(0xdc00).min(0x3ff);
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4);
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.fail("four hexadecimal digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn documents_of_every_kind_are_read() {
        let value =
            parse(" {\"a\": [1, -2.5e3, null, true], \"b\": {\"c\": \"x\\n\\u00e9\\ud83d\\ude00\\\"\"}} ").unwrap();
        assert_eq!(value.items("a")[1].as_number(), Some(-2500.0));
        assert_eq!(value.get("b").unwrap().text("c"), Some("x\né😀\""));
        assert_eq!(value.number("a"), None);
        let leaves = value.leaves();
        assert_eq!(leaves[0], ("a.0".to_owned(), "1".to_owned()));
        assert_eq!((leaves.len(), leaves[4].0.as_str()), (5, "b.c"));
        assert_eq!(value.get("a").unwrap().plain(), "1, -2500, -, true");
        assert_eq!(parse("[]").unwrap(), Value::Array(vec![]));
    }

    #[test]
    fn what_is_not_json_is_an_error_with_its_place() {
        for bad in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{a: 1}",
            "nul",
            "\"x",
            "1 2",
            "\"\\x\"",
            "\"\\u12\"",
            "-",
            "[1 2]",
            "{\"a\":1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(
            parse("[1, x]").unwrap_err().to_string(),
            "not valid JSON: a value expected at byte 4"
        );
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep).unwrap_err().expected, "less nesting");
        assert!(parse("\"é\\").is_err());
    }
}
