//! The text part of a file.

use std::fmt;

use crate::Scalar;

/// Longest header that is read, bytes.
pub const MAX_HEADER_BYTES: usize = 64 << 10;
/// Most properties of an element.
const MAX_PROPERTIES: usize = 1024;
/// Most characters of a bad line that are repeated.
const SHOWN: usize = 60;
/// What every file begins with.
const MAGIC: &[u8] = b"ply";

const NO_MAGIC: &str = "no \"ply\" at the start";
const NO_ELEMENT: &str = "a property before any element";
const NO_MEANING: &str = "a line that means nothing";
const NO_TYPE: &str = "an unknown type, PLY has char to double";
/// What some editors put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line per row.
    Ascii,
    /// Numbers one after the other, lowest byte first.
    LittleEndian,
    /// Numbers one after the other, highest byte first.
    BigEndian,
}

impl Format {
    /// The word in the header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::LittleEndian => "binary_little_endian",
            Self::BigEndian => "binary_big_endian",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let all = [Self::Ascii, Self::LittleEndian, Self::BigEndian];
        all.into_iter().find(|format| format.name() == name)
    }
}

/// A named number of a row, or a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name, unlike that of any other property of the element.
    pub name: String,
    /// Type of the number, or of a list's numbers.
    pub scalar: Scalar,
    /// Type of the length, for a list.
    pub list: Option<Scalar>,
    /// Bytes from the row's start, where no list comes before.
    pub offset: usize,
}

impl Property {
    /// Its number in a little-endian row without lists, rounded to f32.
    ///
    /// # Panics
    /// When the row is shorter than its element's stride.
    #[must_use]
    #[inline]
    pub fn read(&self, row: &[u8]) -> f32 {
        self.scalar.read(row, self.offset) as f32
    }
}

/// A block of rows with the same properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name; the first element of a name is the one that counts.
    pub name: String,
    /// Rows announced.
    pub count: u64,
    /// Bytes of a binary row, without its lists.
    pub stride: usize,
    /// In the order of a row.
    pub properties: Vec<Property>,
}

impl Element {
    /// An element without properties.
    #[must_use]
    pub fn new(name: &str, count: u64) -> Self {
        Self {
            name: name.to_owned(),
            count,
            stride: 0,
            properties: Vec::new(),
        }
    }

    /// The same with more properties of one type.
    #[must_use]
    pub fn with<N: Into<String>>(mut self, scalar: Scalar, names: impl IntoIterator<Item = N>) -> Self {
        for name in names {
            self.push(name.into(), scalar, None);
        }
        self
    }

    /// The same with one more property, a list of numbers with their count in front.
    #[must_use]
    pub fn with_list(mut self, count: Scalar, scalar: Scalar, name: &str) -> Self {
        self.push(name.to_owned(), scalar, Some(count));
        self
    }

    fn push(&mut self, name: String, scalar: Scalar, list: Option<Scalar>) {
        let offset = self.stride;
        self.stride += if list.is_none() { scalar.bytes() } else { 0 };
        self.properties.push(Property {
            name,
            scalar,
            list,
            offset,
        });
    }

    /// The property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Bytes of all binary rows without their lists; `u64::MAX` when there are more.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.stride as u64)
    }

    /// Turns a big-endian row without lists into a little-endian one.
    pub fn swap(&self, row: &mut [u8]) {
        for Property { scalar, offset, .. } in &self.properties {
            if let Some(number) = row.get_mut(*offset..offset + scalar.bytes()) {
                number.reverse();
            }
        }
    }

    /// Fewest bytes of a row: empty lists, and in text a character and a separator per property.
    #[must_use]
    pub fn least_row_bytes(&self, format: Format) -> u64 {
        let least = |property: &Property| match format {
            Format::Ascii => 2,
            _ => property.list.unwrap_or(property.scalar).bytes() as u64,
        };
        self.properties.iter().map(least).sum()
    }
}

/// Why a header is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub what: &'static str,
    /// How it begins, without control characters; empty where the line is not to blame.
    pub text: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.is_empty() {
            true => f.write_str(self.what),
            false => write!(f, "{}: `{}`", self.what, self.text),
        }
    }
}

impl std::error::Error for BadLine {}

/// A header. Its [`Display`](fmt::Display) is the header as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How rows are stored.
    pub format: Format,
    /// Text of the lines `comment` and `obj_info`.
    pub comments: Vec<String>,
    /// In the order of the file.
    pub elements: Vec<Element>,
}

impl Header {
    /// Reads the header that `bytes` begin with; gives its length, too. `None` while more bytes are needed.
    ///
    /// # Errors
    /// The first line that makes no sense, as soon as it is there; a header above [`MAX_HEADER_BYTES`].
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, BadLine> {
        let bad = |line, what, text: &str| BadLine {
            line,
            what,
            // A file from elsewhere must not write to terminals.
            text: text.chars().filter(|c| !c.is_control()).take(SHOWN).collect(),
        };
        if bytes.len() < BYTE_ORDER_MARK.len() && !bytes.is_empty() && BYTE_ORDER_MARK.starts_with(bytes) {
            return Ok(None);
        }
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        // Said before the first line is whole: what is no PLY file may have no lines.
        if !text.iter().zip(MAGIC).all(|(a, b)| a == b) {
            return Err(bad(1, NO_MAGIC, ""));
        }
        let window = &text[..text.len().min(MAX_HEADER_BYTES)];
        let (mut format, mut line, mut end) = (None, 1, bytes.len() - text.len());
        let mut header = Self {
            format: Format::Ascii,
            comments: Vec::new(),
            elements: Vec::new(),
        };
        for raw in window.split_inclusive(|&byte| byte == b'\n') {
            if raw.last() != Some(&b'\n') {
                break;
            }
            end += raw.len();
            let text = String::from_utf8_lossy(raw.trim_ascii());
            let read = match (line, &*text) {
                (1, "ply") => Ok(()),
                (1, _) => Err(NO_MAGIC),
                (_, "end_header") => match format {
                    Some(format) => return Ok(Some((Self { format, ..header }, end))),
                    None => Err("no format line before it"),
                },
                (_, text) => header.line(text, &mut format),
            };
            read.map_err(|what| bad(line, what, &text))?;
            line += 1;
        }
        if window.len() == MAX_HEADER_BYTES {
            return Err(bad(line, "no end_header within 64 KiB", ""));
        }
        Ok(None)
    }

    /// Takes a line between the first and the last.
    fn line(&mut self, text: &str, format: &mut Option<Format>) -> Result<(), &'static str> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words[..] {
            [] => {}
            [word @ ("comment" | "obj_info"), ..] => self.comments.push(text[word.len()..].trim_ascii().to_owned()),
            ["format", name, "1.0"] => *format = Some(Format::parse(name).ok_or(NO_MEANING)?),
            ["element", name, count] => {
                let count = count.parse().map_err(|_| "an element count that is no number")?;
                self.elements.push(Element::new(name, count));
            }
            ["property", ref types @ .., name] => {
                let scalar = |name: &str| Scalar::parse(name).ok_or(NO_TYPE);
                let (list, scalar) = match *types {
                    [value] => (None, scalar(value)?),
                    ["list", length, value] => (Some(scalar(length)?), scalar(value)?),
                    _ => return Err(NO_MEANING),
                };
                let element = self.elements.last_mut().ok_or(NO_ELEMENT)?;
                if element.property(name).is_some() {
                    return Err("a property that was there before");
                }
                if element.properties.len() >= MAX_PROPERTIES {
                    return Err("too many properties");
                }
                element.push(name.to_owned(), scalar, list);
            }
            _ => return Err(NO_MEANING),
        }
        Ok(())
    }

    /// The element of that name, and the bytes of those before it (`u64::MAX` when there are more).
    ///
    /// # Errors
    /// The first element up to it that has a list: its rows have no fixed size.
    pub fn fixed(&self, name: &str) -> Result<Option<(&Element, u64)>, &Element> {
        let Some(at) = self.elements.iter().position(|element| element.name == name) else {
            return Ok(None);
        };
        let (before, element) = (&self.elements[..at], &self.elements[at]);
        let has_list = |element: &&Element| element.properties.iter().any(|property| property.list.is_some());
        if let Some(list) = before.iter().chain([element]).find(has_list) {
            return Err(list);
        }
        let bytes = before.iter().map(Element::bytes).fold(0, u64::saturating_add);
        Ok(Some((element, bytes)))
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "ply\nformat {} 1.0", self.format.name())?;
        for comment in &self.comments {
            writeln!(f, "comment {comment}")?;
        }
        for Element {
            name,
            count,
            properties,
            ..
        } in &self.elements
        {
            writeln!(f, "element {name} {count}")?;
            for Property { name, scalar, list, .. } in properties {
                f.write_str("property ")?;
                if let Some(length) = list {
                    write!(f, "list {} ", length.name())?;
                }
                writeln!(f, "{} {name}", scalar.name())?;
            }
        }
        writeln!(f, "end_header")
    }
}
