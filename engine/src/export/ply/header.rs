//! The text part of a PLY file.

use std::io::{BufRead, Read};

use super::{PlyComments, PlyError, RenderMode};

/// Longest header line read, bytes.
const MAX_LINE_BYTES: u64 = 4096;
/// Most header lines read.
const MAX_LINES: usize = 4096;

/// Before the render mode's name; other trainers and converters know this comment.
pub(super) const RENDER_MODE: &str = "SplatRenderMode:";
/// Before the degree of spherical harmonics.
pub(super) const SH_DEGREE: &str = "SH degree:";
/// Before the variance of the screen-space filter.
pub(super) const KERNEL_SIZE: &str = "Kernel size:";
/// Before the iteration; other writers put their own name where ours is.
pub(super) const ITERATION: &str = "at iteration";

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

    /// The little-endian value at the start of `bytes`, which must be long enough.
    pub(super) fn read(self, bytes: &[u8]) -> f32 {
        fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
            std::array::from_fn(|index| bytes[index])
        }
        match self {
            Self::I8 => f32::from(i8::from_le_bytes(head(bytes))),
            Self::U8 => f32::from(bytes[0]),
            Self::I16 => f32::from(i16::from_le_bytes(head(bytes))),
            Self::U16 => f32::from(u16::from_le_bytes(head(bytes))),
            Self::I32 => i32::from_le_bytes(head(bytes)) as f32,
            Self::U32 => u32::from_le_bytes(head(bytes)) as f32,
            Self::F32 => f32::from_le_bytes(head(bytes)),
            Self::F64 => f64::from_le_bytes(head(bytes)) as f32,
        }
    }
}

/// A property of the vertex element.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) scalar: Scalar,
    /// Byte offset in a vertex.
    pub(super) offset: usize,
}

/// What a header announces.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// Bytes of the header itself.
    pub(super) bytes: u64,
    /// Bytes of elements that come before the vertices.
    pub(super) skip_bytes: u64,
    pub(super) vertices: u64,
    /// Bytes of a vertex.
    pub(super) stride: usize,
    pub(super) properties: Vec<Property>,
    pub(super) comments: PlyComments,
}

/// An element as the header lists it.
#[derive(Debug)]
struct Element {
    name: String,
    count: u64,
    stride: usize,
    has_list: bool,
    properties: Vec<Property>,
}

/// Reads up to and including `end_header`.
pub(super) fn read(reader: &mut impl BufRead) -> Result<Header, PlyError> {
    let mut lines = HeaderLines {
        reader,
        bytes: 0,
        number: 0,
    };
    if lines.next()? != "ply" {
        return Err(PlyError::Header {
            line: 1,
            found: "no \"ply\" at the start".to_owned(),
        });
    }
    let mut comments = PlyComments::default();
    let mut elements: Vec<Element> = Vec::new();
    let mut has_format = false;
    loop {
        let line = lines.next()?;
        let bad = |found: &str| PlyError::Header {
            line: lines.number,
            found: format!("{found}: {line:?}"),
        };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["format", "binary_little_endian", "1.0"] => has_format = true,
            ["format", format, ..] => {
                return Err(PlyError::Format(format.chars().take(60).collect()));
            }
            ["comment" | "obj_info", ..] => read_comment(line.trim_start_matches("comment").trim(), &mut comments),
            ["element", name, count] => {
                let count = count.parse().map_err(|_| bad("an element count that is no number"))?;
                let (name, properties) = (name.to_owned(), Vec::new());
                elements.push(Element {
                    name,
                    count,
                    stride: 0,
                    has_list: false,
                    properties,
                });
            }
            ["property", "list", _, _, _] => {
                elements
                    .last_mut()
                    .ok_or_else(|| bad("a property before any element"))?
                    .has_list = true;
            }
            ["property", scalar, name] => {
                let scalar = Scalar::parse(scalar).ok_or_else(|| bad("an unknown type"))?;
                let element = elements
                    .last_mut()
                    .ok_or_else(|| bad("a property before any element"))?;
                if element.properties.iter().any(|property| property.name == name) {
                    return Err(bad("a property that was there before"));
                }
                element.properties.push(Property {
                    name: name.to_owned(),
                    scalar,
                    offset: element.stride,
                });
                element.stride += scalar.bytes();
            }
            ["end_header"] => break,
            [] => {}
            _ => return Err(bad("a line that means nothing")),
        }
    }
    let bytes = lines.bytes;
    if !has_format {
        return Err(PlyError::Format("no format line".to_owned()));
    }
    let vertex = elements
        .iter()
        .position(|element| element.name == "vertex")
        .ok_or(PlyError::NoVertices)?;
    let mut skip_bytes = 0_u64;
    for element in &elements[..=vertex] {
        if element.has_list {
            return Err(PlyError::List(element.name.clone()));
        }
        if element.name != "vertex" {
            let size = element.count.checked_mul(element.stride as u64);
            let total = size.and_then(|size| skip_bytes.checked_add(size));
            skip_bytes = total.ok_or(PlyError::TooMany(element.count))?;
        }
    }
    let Element {
        count,
        stride,
        properties,
        ..
    } = elements.swap_remove(vertex);
    Ok(Header {
        bytes,
        skip_bytes,
        vertices: count,
        stride,
        properties,
        comments,
    })
}

fn read_comment(comment: &str, comments: &mut PlyComments) {
    if let Some(mode) = comment.strip_prefix(RENDER_MODE) {
        comments.render_mode = [RenderMode::Default, RenderMode::Mip]
            .into_iter()
            .find(|m| m.name() == mode.trim());
    } else if let Some(size) = comment.strip_prefix(KERNEL_SIZE) {
        comments.kernel_size = size
            .trim()
            .parse()
            .ok()
            .filter(|size: &f32| size.is_finite() && *size >= 0.0);
    } else if let Some((_, iteration)) = comment.split_once(ITERATION) {
        comments.iteration = iteration.trim().parse().ok();
    }
}

struct HeaderLines<'a, R> {
    reader: &'a mut R,
    bytes: u64,
    number: usize,
}

impl<R: BufRead> HeaderLines<'_, R> {
    fn next(&mut self) -> Result<String, PlyError> {
        self.number += 1;
        let line = self.number;
        if line > MAX_LINES {
            return Err(PlyError::Header {
                line,
                found: "no end_header".to_owned(),
            });
        }
        let mut text = Vec::new();
        let read = self
            .reader
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut text)
            .map_err(PlyError::Io)?;
        self.bytes += read as u64;
        if text.pop() != Some(b'\n') {
            let found = if read as u64 == MAX_LINE_BYTES {
                "an endless line"
            } else {
                "the end of the file"
            };
            return Err(PlyError::Header {
                line,
                found: found.to_owned(),
            });
        }
        let text = String::from_utf8_lossy(&text);
        Ok(text.trim().to_owned())
    }
}
