//! Files read forwards.

use std::io::{self, BufRead, Read as _};
use std::{error, fmt};

use crate::header::{BadLine, Element, Format, Header, MAX_HEADER_BYTES};
use crate::{Property, Scalar};

/// Longest row of text, bytes.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// Most numbers of a list that are kept.
pub const MAX_LIST_ITEMS: u64 = 1 << 16;
/// Most characters of a bad word that are repeated.
const SHOWN: usize = 60;

/// Why a file is not read on.
#[derive(Debug)]
pub enum Error {
    /// The input failed.
    Io(io::Error),
    /// A line of the header, or a row of text, makes no sense.
    Line {
        /// Its number in the file, from 1.
        line: u64,
        /// What is wrong with it.
        found: String,
    },
    /// The file ends inside a binary row.
    Truncated {
        /// Bytes before what is missing.
        offset: u64,
        /// Bytes that should follow.
        needed: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => write!(f, "cannot be read: {e}"),
            Self::Line { line, found } => write!(f, "line {line}: {found}"),
            Self::Truncated { offset, needed } => {
                write!(f, "it is truncated: {needed} bytes should follow the first {offset}")
            }
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl From<BadLine> for Error {
    fn from(bad: BadLine) -> Self {
        Self::Line {
            line: bad.line,
            found: bad.to_string(),
        }
    }
}

/// A file, its header first.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    offset: u64,
    lines: u64,
}

impl<R: BufRead> Reader<R> {
    /// A file whose first byte `input` gives next.
    pub const fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            lines: 0,
        }
    }

    /// Bytes read.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// What the rest of the file is read from.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// Bytes that are left, blanks and ends of lines aside, to the end of the input.
    ///
    /// # Errors
    /// Those of the input.
    pub fn text_left(&mut self) -> io::Result<u64> {
        let mut left = 0;
        loop {
            let block = self.input.fill_buf()?;
            if block.is_empty() {
                return Ok(left);
            }
            left += block.iter().filter(|byte| !byte.is_ascii_whitespace()).count() as u64;
            let bytes = block.len();
            self.input.consume(bytes);
        }
    }

    /// Reads up to and including `end_header`.
    ///
    /// # Errors
    /// [`Error::Line`] and [`Error::Io`].
    pub fn header(&mut self) -> Result<Header, Error> {
        let mut text = Vec::new();
        loop {
            let before = text.len();
            let mut room = (&mut self.input).take((MAX_HEADER_BYTES - before) as u64);
            let read = room.read_until(b'\n', &mut text)?;
            self.offset += read as u64;
            self.lines += 1;
            if read == 0 || text[before..].trim_ascii() == b"end_header" {
                break;
            }
        }
        let header = Header::parse(&text)?;
        header.map(|(header, _)| header).ok_or_else(|| Error::Line {
            line: self.lines,
            found: "the end of the file before end_header".to_owned(),
        })
    }

    /// Passes over all rows of an element.
    ///
    /// # Errors
    /// Those of [`Self::row`].
    pub fn pass_over(&mut self, format: Format, element: &Element) -> Result<(), Error> {
        // Binary rows without properties have no bytes, so a header could ask for any number of them.
        if format != Format::Ascii && element.properties.is_empty() {
            return Ok(());
        }
        let mut row = Vec::new();
        (0..element.count).try_for_each(|_| self.row(format, element, &mut row))
    }

    /// Reads the next row into `row`: one value per property, its length for a list.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn row(&mut self, format: Format, element: &Element, row: &mut Vec<f64>) -> Result<(), Error> {
        self.read_row(format, element, row, None)
    }

    /// As [`Self::row`], and the items of its lists into `items`, one list after the other. Of each list the first
    /// [`MAX_LIST_ITEMS`] are kept; its length in `row` says how many there were.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn row_with_lists(
        &mut self,
        format: Format,
        element: &Element,
        row: &mut Vec<f64>,
        items: &mut Vec<f64>,
    ) -> Result<(), Error> {
        items.clear();
        self.read_row(format, element, row, Some(items))
    }

    fn read_row(
        &mut self,
        format: Format,
        element: &Element,
        row: &mut Vec<f64>,
        mut items: Option<&mut Vec<f64>>,
    ) -> Result<(), Error> {
        row.clear();
        if format == Format::Ascii {
            return self.text_row(element, row, items);
        }
        for property in &element.properties {
            let Some(length) = property.list else {
                row.push(self.value(format, property.scalar)?);
                continue;
            };
            let length = self.value(format, length)?;
            let mut left = length.max(0.0) as u64;
            if let Some(items) = items.as_deref_mut() {
                let kept = left.min(MAX_LIST_ITEMS);
                for _ in 0..kept {
                    items.push(self.value(format, property.scalar)?);
                }
                left -= kept;
            }
            let bytes = left.saturating_mul(property.scalar.bytes() as u64);
            let passed = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
            if passed < bytes {
                return Err(self.truncated(bytes));
            }
            self.offset += bytes;
            row.push(length);
        }
        Ok(())
    }

    fn value(&mut self, format: Format, scalar: Scalar) -> Result<f64, Error> {
        let mut raw = [0; 8];
        let raw = &mut raw[..scalar.bytes()];
        match self.input.read_exact(raw) {
            Ok(()) => self.offset += raw.len() as u64,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(self.truncated(raw.len() as u64)),
            Err(e) => return Err(Error::Io(e)),
        }
        if format == Format::BigEndian {
            raw.reverse();
        }
        Ok(scalar.read(raw, 0))
    }

    const fn truncated(&self, needed: u64) -> Error {
        Error::Truncated {
            offset: self.offset,
            needed,
        }
    }

    fn text_row(
        &mut self,
        element: &Element,
        row: &mut Vec<f64>,
        mut kept: Option<&mut Vec<f64>>,
    ) -> Result<(), Error> {
        let mut text = Vec::new();
        let read = loop {
            text.clear();
            let read = (&mut self.input).take(MAX_LINE_BYTES).read_until(b'\n', &mut text)? as u64;
            self.offset += read;
            self.lines += 1;
            // An empty line is no row of anything.
            if read == 0 || element.properties.is_empty() || !text.trim_ascii().is_empty() {
                break read;
            }
        };
        let bad = |found: String| Error::Line {
            line: self.lines,
            found,
        };
        if read == MAX_LINE_BYTES && text.last() != Some(&b'\n') {
            return Err(bad("an endless line".to_owned()));
        }
        if read == 0 {
            return Err(bad("the end of the file".to_owned()));
        }
        let text = String::from_utf8_lossy(&text);
        let mut words = text.split_ascii_whitespace();
        for Property { name, list, .. } in &element.properties {
            let mut value = || {
                let word = words.next().ok_or_else(|| bad(format!("no value for {name}")))?;
                word.parse::<f64>().ok().or_else(|| not_a_number(word)).ok_or_else(|| {
                    let shown: String = word.chars().take(SHOWN).collect();
                    bad(format!("{shown:?} for {name}"))
                })
            };
            let first = value()?;
            if list.is_some() {
                let count = first.clamp(0.0, MAX_LINE_BYTES as f64) as usize;
                match kept.as_deref_mut() {
                    // A line has fewer numbers than `MAX_LIST_ITEMS`.
                    Some(kept) => {
                        for _ in 0..count {
                            kept.push(value()?);
                        }
                    }
                    None => words.by_ref().take(count).for_each(drop),
                }
            }
            row.push(first);
        }
        Ok(())
    }
}

/// NaN and infinities as C libraries print them that Rust does not read.
fn not_a_number(word: &str) -> Option<f64> {
    let word = word.to_ascii_lowercase();
    let (sign, size) = match word.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, word.as_str()),
    };
    match size {
        "nan(ind)" | "nan(snan)" | "1.#qnan" | "1.#snan" | "1.#ind" => Some(f64::NAN),
        "1.#inf" => Some(sign * f64::INFINITY),
        _ => None,
    }
}
