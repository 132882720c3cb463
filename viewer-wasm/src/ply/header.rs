//! The text part of a PLY file.

use super::{Filter, Refusal};

/// Longest header that is read, bytes.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Screen-space variance of a Mip model that does not state one, px^2.
const MIP_KERNEL: f32 = 0.1;

/// A number type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number at `at`, which lies inside the record.
    pub(super) fn read(self, record: &[u8], at: usize) -> f32 {
        fn word<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
            std::array::from_fn(|i| record[at + i])
        }
        match self {
            Self::I8 => f32::from(i8::from_le_bytes(word(record, at))),
            Self::U8 => f32::from(record[at]),
            Self::I16 => f32::from(i16::from_le_bytes(word(record, at))),
            Self::U16 => f32::from(u16::from_le_bytes(word(record, at))),
            Self::I32 => i32::from_le_bytes(word(record, at)) as f32,
            Self::U32 => u32::from_le_bytes(word(record, at)) as f32,
            Self::F32 => f32::from_le_bytes(word(record, at)),
            Self::F64 => f64::from_le_bytes(word(record, at)) as f32,
        }
    }
}

/// A named number of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) scalar: Scalar,
    /// Bytes from the record's start.
    pub(super) offset: usize,
}

/// A block of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) stride: usize,
    pub(super) properties: Vec<Property>,
    has_list: bool,
}

impl Element {
    pub(super) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.stride as u64)
    }
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Its own length.
    pub(super) bytes: usize,
    /// Length of the file it announces.
    pub(super) total_bytes: u64,
    pub(super) elements: Vec<Element>,
    comments: Vec<String>,
}

impl Header {
    /// Reads the header that `bytes` begin with; `None` when its end is not there yet.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let magic = b"ply";
        if !bytes.iter().zip(magic).all(|(a, b)| a == b) {
            return Err("this is not a PLY file: it does not begin with `ply`".to_owned());
        }
        let window = &bytes[..bytes.len().min(MAX_HEADER_BYTES)];
        let mark = b"end_header";
        let found = window.windows(mark.len()).position(|part| part == mark);
        let end = found.and_then(|at| Some(at + window[at..].iter().position(|&byte| byte == b'\n')? + 1));
        let Some(end) = end else {
            return if bytes.len() >= MAX_HEADER_BYTES {
                Err("the PLY header has no `end_header` within 64 KiB".to_owned())
            } else {
                Ok(None)
            };
        };
        let mut header = Self {
            bytes: end,
            total_bytes: end as u64,
            elements: Vec::new(),
            comments: Vec::new(),
        };
        let mut has_format = false;
        for line in String::from_utf8_lossy(&bytes[..end]).lines() {
            has_format |= header.line(line)?;
        }
        if !has_format {
            return Err("the PLY header has no `format` line".to_owned());
        }
        for element in &header.elements {
            header.total_bytes = header.total_bytes.saturating_add(element.bytes());
        }
        Ok(Some(header))
    }

    /// Reads a line; says whether it was the format.
    fn line(&mut self, line: &str) -> Result<bool, Refusal> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bad = || format!("the PLY header has a line without meaning: `{}`", line.trim());
        match words[..] {
            [] | ["ply" | "end_header"] => {}
            ["comment" | "obj_info", ..] => {
                let text = line.trim_start();
                let text = text.split_once(char::is_whitespace).map_or("", |(_, text)| text);
                self.comments.push(text.trim().to_owned());
            }
            ["format", "binary_little_endian", _] => return Ok(true),
            ["format", other, ..] => {
                return Err(format!(
                    "the PLY file is `{other}`; only `binary_little_endian` is read"
                ));
            }
            ["element", name, count] => self.elements.push(Element {
                name: name.to_owned(),
                count: count.parse().map_err(|_| bad())?,
                stride: 0,
                properties: Vec::new(),
                has_list: false,
            }),
            ["property", "list", ..] => self.elements.last_mut().ok_or_else(bad)?.has_list = true,
            ["property", scalar, name] => {
                let scalar = Scalar::parse(scalar).ok_or_else(bad)?;
                let element = self.elements.last_mut().ok_or_else(bad)?;
                element.properties.push(Property {
                    name: name.to_owned(),
                    scalar,
                    offset: element.stride,
                });
                element.stride += scalar.bytes();
            }
            _ => return Err(bad()),
        }
        Ok(false)
    }

    /// The element of that name, and the bytes of those before it.
    pub(super) fn element(&self, name: &str) -> Result<Option<(&Element, u64)>, Refusal> {
        let Some(at) = self.elements.iter().position(|element| element.name == name) else {
            return Ok(None);
        };
        if let Some(list) = self.elements[..=at].iter().find(|element| element.has_list) {
            return Err(format!(
                "the PLY element `{}` has a list: this is a mesh, not splats",
                list.name
            ));
        }
        let before = self.elements[..at].iter().map(Element::bytes);
        Ok(Some((&self.elements[at], before.fold(0, u64::saturating_add))))
    }

    /// The comment that starts with `key`, without it.
    fn comment(&self, key: &str) -> Option<&str> {
        let mut found = self.comments.iter().filter_map(|comment| comment.strip_prefix(key));
        found.next().map(str::trim)
    }

    /// The screen-space filter the comments ask for; without a word the published one of 3D Gaussian Splatting.
    pub(super) fn filter(&self) -> Filter {
        let kernel = self.comment("Kernel size:").and_then(crate::number::parse);
        let kernel = kernel
            .map(|size| size as f32)
            .filter(|size| size.is_finite() && *size >= 0.0);
        let mip = self.comment("SplatRenderMode:").is_some_and(|mode| mode == "mip")
            || self.comment("antialiased").is_some_and(|flag| flag == "1");
        if mip {
            Filter::Mip(kernel.unwrap_or(MIP_KERNEL))
        } else {
            Filter::Classic
        }
    }

    /// The training iteration that a comment names.
    pub(super) fn iteration(&self) -> Option<u64> {
        let mut found = self.comments.iter().filter_map(|text| text.split_once("at iteration"));
        found.next().and_then(|(_, number)| number.trim().parse().ok())
    }
}
