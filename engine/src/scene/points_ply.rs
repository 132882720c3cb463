//! Coloured points from PLY files: what scanners, sparse models and 3D Gaussian Splatting files hold in common.
//!
//! Owns the reading of the `vertex` element of ASCII and binary files of either byte order: `x, y, z`; colours from
//! `red, green, blue` (bytes, or floats from 0 to 1), else from the degree-0 coefficients `f_dc_0..2` of a Gaussian
//! splatting file, else grey. Other properties are passed over, lists too. Nothing is allocated for a count that the
//! file's size cannot back.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{Point, SceneError};

/// Longest line read, bytes.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// Most header lines read.
const MAX_LINES: u64 = 4096;
/// Most properties of an element.
const MAX_PROPERTIES: usize = 1024;
/// Degree-0 spherical harmonic, `1 / (2 sqrt(pi))`.
const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Colour of points that have none.
const GREY: [u8; 3] = [128; 3];

const EXPORT_AGAIN: &str = "export the points again";

/// Reads the points of a file; a file without points is an error.
///
/// # Errors
/// [`SceneError`] naming the file and what is wrong.
pub fn read_points(path: &Path) -> Result<Vec<Point>, SceneError> {
    let io = |action| move |e| SceneError::io(path, action, e);
    let file = File::open(path).map_err(io("open"))?;
    let size = file.metadata().map_err(io("inspect"))?.len();
    let mut ply = Ply {
        reader: BufReader::with_capacity(1 << 16, file),
        path,
        offset: 0,
        lines: 0,
    };
    let header = ply.header()?;
    let vertex = header.elements.iter().position(|element| element.name == "vertex");
    let (before, vertex) = match vertex {
        Some(index) => (&header.elements[..index], &header.elements[index]),
        None => return Err(ply.bad("header", "no element \"vertex\"")),
    };
    let columns = Columns::find(vertex).map_err(|found| ply.bad("header", found))?;
    // the least a row can take: a character and a separator a value in text, and empty lists
    let row_bytes: u64 = match header.format {
        Format::Ascii => 2 * vertex.properties.len() as u64,
        _ => vertex.properties.iter().map(Property::least_bytes).sum(),
    };
    let fits = size.saturating_sub(ply.offset).saturating_add(1) / row_bytes.max(1);
    if vertex.count > fits {
        return Err(SceneError::Count {
            path: path.to_owned(),
            what: "vertices",
            count: vertex.count,
            fits,
            file_bytes: size,
        });
    }
    if vertex.count == 0 {
        return Err(ply.bad("header", "no vertices"));
    }
    let mut row = Vec::new();
    // Rows of an element without properties have no bytes, so a header could ask for any number of them.
    let has_rows = |element: &&Element| header.format == Format::Ascii || !element.properties.is_empty();
    for element in before.iter().filter(has_rows) {
        for _ in 0..element.count {
            ply.row(header.format, element, &mut row)?;
        }
    }
    let mut points = Vec::with_capacity(usize::try_from(vertex.count).unwrap_or(0));
    for index in 0..vertex.count {
        ply.row(header.format, vertex, &mut row)?;
        let point = columns.point(&row);
        if !super::posed::fits_f32(&point.0) {
            let found = format!("the position {:?}; positions must be finite", point.0);
            return Err(ply.bad(&format!("vertex {index}"), &found));
        }
        points.push(Point {
            position: point.0.map(|value| value as f32),
            color: point.1,
        });
    }
    Ok(points)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Ascii,
    Little,
    Big,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scalar {
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

    const fn bytes(self) -> u64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

struct Property {
    name: String,
    /// Type of the count, for a list.
    list: Option<Scalar>,
    scalar: Scalar,
}

impl Property {
    fn least_bytes(&self) -> u64 {
        self.list.unwrap_or(self.scalar).bytes()
    }
}

struct Element {
    name: String,
    count: u64,
    properties: Vec<Property>,
}

struct Header {
    format: Format,
    elements: Vec<Element>,
}

/// Where position and colour are among a row's values.
struct Columns {
    position: [usize; 3],
    color: Option<([usize; 3], ColorKind)>,
}

#[derive(Clone, Copy)]
enum ColorKind {
    Bytes,
    Unit,
    Harmonic,
}

impl Columns {
    fn find(vertex: &Element) -> Result<Self, &'static str> {
        let column = |name: &str| vertex.properties.iter().position(|property| property.name == name);
        let all = |names: [&str; 3]| {
            let found = names.map(column);
            found
                .iter()
                .all(Option::is_some)
                .then(|| found.map(Option::unwrap_or_default))
        };
        let color = match (all(["red", "green", "blue"]), all(["f_dc_0", "f_dc_1", "f_dc_2"])) {
            (Some(rgb), _) if vertex.properties[rgb[0]].scalar.is_float() => Some((rgb, ColorKind::Unit)),
            (Some(rgb), _) => Some((rgb, ColorKind::Bytes)),
            (None, Some(dc)) => Some((dc, ColorKind::Harmonic)),
            (None, None) => None,
        };
        let position = all(["x", "y", "z"]).ok_or("a vertex without x, y and z")?;
        Ok(Self { position, color })
    }

    fn point(&self, row: &[f64]) -> ([f64; 3], [u8; 3]) {
        let byte = |value: f64| value.round().clamp(0.0, 255.0) as u8;
        let color = self.color.map_or(GREY, |(columns, kind)| {
            columns.map(|column| match kind {
                ColorKind::Bytes => byte(row[column]),
                ColorKind::Unit => byte(row[column] * 255.0),
                ColorKind::Harmonic => byte((row[column] * SH_C0 + 0.5) * 255.0),
            })
        });
        (self.position.map(|column| row[column]), color)
    }
}

/// A file read forwards.
struct Ply<'a> {
    reader: BufReader<File>,
    path: &'a Path,
    offset: u64,
    lines: u64,
}

impl Ply<'_> {
    fn bad(&self, at: &str, found: &str) -> SceneError {
        SceneError::malformed(self.path, at, found, EXPORT_AGAIN)
    }

    fn line(&mut self) -> Result<String, SceneError> {
        let mut text = Vec::new();
        let read = (&mut self.reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut text);
        let read = read.map_err(|e| SceneError::io(self.path, "read", e))? as u64;
        self.offset += read;
        self.lines += 1;
        let at = format!("line {}", self.lines);
        if read == MAX_LINE_BYTES && text.last() != Some(&b'\n') {
            return Err(self.bad(&at, "an endless line"));
        }
        if read == 0 {
            return Err(self.bad(&at, "the end of the file"));
        }
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    fn header(&mut self) -> Result<Header, SceneError> {
        if self.line()? != "ply" {
            return Err(self.bad("line 1", "no \"ply\" at the start"));
        }
        let (mut format, mut elements) = (None, Vec::<Element>::new());
        loop {
            let line = self.line()?;
            let at = format!("line {}", self.lines);
            let short: String = line.chars().take(60).collect();
            let bad = |what: &str| self.bad(&at, &format!("{what}: {short:?}"));
            if self.lines > MAX_LINES {
                return Err(bad("no end_header"));
            }
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words[..] {
                ["format", "ascii", _] => format = Some(Format::Ascii),
                ["format", "binary_little_endian", _] => format = Some(Format::Little),
                ["format", "binary_big_endian", _] => format = Some(Format::Big),
                ["comment" | "obj_info", ..] | [] => {}
                ["element", name, count] => elements.push(Element {
                    name: name.to_owned(),
                    count: count.parse().map_err(|_| bad("an element count that is no number"))?,
                    properties: Vec::new(),
                }),
                ["property", ref kind @ .., name] => {
                    let scalar = |name: &str| Scalar::parse(name).ok_or_else(|| bad("an unknown type"));
                    let (list, scalar) = match *kind {
                        ["list", count, value] => (Some(scalar(count)?), scalar(value)?),
                        [value] => (None, scalar(value)?),
                        _ => return Err(bad("a line that means nothing")),
                    };
                    let element = elements.last_mut();
                    let element = element.ok_or_else(|| bad("a property before any element"))?;
                    if element.properties.len() >= MAX_PROPERTIES {
                        return Err(bad("too many properties"));
                    }
                    element.properties.push(Property {
                        name: name.to_owned(),
                        list,
                        scalar,
                    });
                }
                ["end_header"] => break,
                _ => return Err(bad("a line that means nothing")),
            }
        }
        let format = format.ok_or_else(|| self.bad("header", "no known format line"))?;
        Ok(Header { format, elements })
    }

    /// The values of the next row, one a property; a list counts as its length.
    fn row(&mut self, format: Format, element: &Element, row: &mut Vec<f64>) -> Result<(), SceneError> {
        row.clear();
        if format == Format::Ascii {
            let line = self.line()?;
            let mut words = line.split_ascii_whitespace();
            for property in &element.properties {
                let word = words.next();
                let value = word.and_then(|word| word.parse::<f64>().ok()).ok_or_else(|| {
                    let found = match word {
                        Some(word) => format!("{:?} for {}", word.chars().take(60).collect::<String>(), property.name),
                        None => format!("no value for {}", property.name),
                    };
                    self.bad(&format!("line {}", self.lines), &found)
                })?;
                if property.list.is_some() {
                    let items = words.by_ref().take(value.clamp(0.0, MAX_LINE_BYTES as f64) as usize);
                    items.for_each(drop);
                }
                row.push(value);
            }
            return Ok(());
        }
        for property in &element.properties {
            let value = self.value(format, property.least_scalar())?;
            if property.list.is_some() {
                let bytes = value.max(0.0) as u64 * property.scalar.bytes();
                let skipped = io::copy(&mut (&mut self.reader).take(bytes), &mut io::sink());
                if skipped.map_err(|e| SceneError::io(self.path, "read", e))? < bytes {
                    return Err(self.truncated(bytes));
                }
                self.offset += bytes;
            }
            row.push(value);
        }
        Ok(())
    }

    fn truncated(&self, needed: u64) -> SceneError {
        SceneError::Truncated {
            path: self.path.to_owned(),
            what: "a vertex property",
            offset: self.offset,
            needed,
            available: 0,
        }
    }

    fn value(&mut self, format: Format, scalar: Scalar) -> Result<f64, SceneError> {
        let bytes = scalar.bytes() as usize;
        let mut raw = [0; 8];
        match self.reader.read_exact(&mut raw[..bytes]) {
            Ok(()) => self.offset += bytes as u64,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(self.truncated(bytes as u64)),
            Err(e) => return Err(SceneError::io(self.path, "read", e)),
        }
        if format == Format::Big {
            raw[..bytes].reverse();
        }
        let [a, b, c, d, ..] = raw;
        Ok(match scalar {
            Scalar::I8 => i8::from_le_bytes([a]).into(),
            Scalar::U8 => a.into(),
            Scalar::I16 => i16::from_le_bytes([a, b]).into(),
            Scalar::U16 => u16::from_le_bytes([a, b]).into(),
            Scalar::I32 => i32::from_le_bytes([a, b, c, d]).into(),
            Scalar::U32 => u32::from_le_bytes([a, b, c, d]).into(),
            Scalar::F32 => f32::from_le_bytes([a, b, c, d]).into(),
            Scalar::F64 => f64::from_le_bytes(raw),
        })
    }
}

impl Property {
    /// The type of what stands first: a list starts with its length.
    fn least_scalar(&self) -> Scalar {
        self.list.unwrap_or(self.scalar)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::scratch::Scratch;
    use super::*;

    fn read(bytes: impl AsRef<[u8]>) -> Result<Vec<Point>, SceneError> {
        let folder = Scratch::new();
        read_points(&folder.write("points.ply", bytes))
    }

    const COLOURED: &str = "ply\nformat ascii 1.0\ncomment x\nelement vertex 2\nproperty float x\nproperty float y\n\
        property double z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n1 2 3 255 0 7\n-4 5e-1 6 1 2 3\n3 0 1 1\n";

    #[test]
    fn text_and_both_byte_orders_read_the_same() {
        let expected = [
            Point {
                position: [1.0, 2.0, 3.0],
                color: [255, 0, 7],
            },
            Point {
                position: [-4.0, 0.5, 6.0],
                color: [1, 2, 3],
            },
        ];
        assert_eq!(read(COLOURED).unwrap(), expected);
        assert_eq!(read(COLOURED.replace('\n', "\r\n")).unwrap(), expected);
        let header = "element camera 1\nproperty list uchar short ids\nproperty int n\nelement vertex 2\n\
            property uchar blue\nproperty float y\nproperty float x\nproperty double z\nproperty ushort red\n\
            property uchar green\nend_header\n";
        for big in [false, true] {
            let order = if big { "big" } else { "little" };
            let mut bytes = format!("ply\nformat binary_{order}_endian 1.0\n{header}").into_bytes();
            let mut put = |raw: &[u8]| {
                let mut raw = raw.to_vec();
                if big {
                    raw.reverse();
                }
                bytes.extend(raw);
            };
            put(&[2]);
            [7_i16, 8].iter().for_each(|id| put(&id.to_le_bytes()));
            put(&9_i32.to_le_bytes());
            for point in &expected {
                let [x, y, z] = point.position;
                let [red, green, blue] = point.color;
                put(&[blue]);
                put(&y.to_le_bytes());
                put(&x.to_le_bytes());
                put(&f64::from(z).to_le_bytes());
                put(&u16::from(red).to_le_bytes());
                put(&[green]);
            }
            assert_eq!(read(&bytes).unwrap(), expected, "{order}");
            for cut in 1..30 {
                let message = read(&bytes[..bytes.len() - cut]).unwrap_err().to_string();
                assert!(message.contains("points.ply"), "{message}");
            }
        }
    }

    #[test]
    fn colours_come_from_whatever_there_is() {
        let file = |properties: &str, row: &str| {
            let position = "property float x\nproperty float y\nproperty float z";
            format!("ply\nformat ascii 1.0\nelement vertex 1\n{position}\n{properties}end_header\n0 0 1{row}\n")
        };
        let color = |properties: &str, row: &str| read(file(properties, row)).unwrap()[0].color;
        let floats = |names: [&str; 3]| names.map(|name| format!("property float {name}\n")).concat();
        assert_eq!(color("", ""), [128; 3]);
        assert_eq!(color(&floats(["red", "green", "blue"]), " 0 0.5 2"), [0, 128, 255]);
        // (rgb - 0.5) / C0 of white, grey and beyond black
        let splat = floats(["f_dc_0", "f_dc_1", "f_dc_2"]);
        assert_eq!(color(&splat, " 1.7724539 0 -9"), [255, 128, 0]);
    }

    #[test]
    fn rows_without_bytes_are_not_counted() {
        let header = "ply\nformat binary_little_endian 1.0\nelement nothing 40000000000000000\nelement vertex 1\n\
                      property float x\nproperty float y\nproperty float z\nend_header\n";
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend([1.0f32, 2.0, 3.0].map(f32::to_le_bytes).concat());
        assert_eq!(read(bytes).unwrap()[0].position, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn damage_is_named_and_allocates_nothing() {
        let fails = |text: String, needle: &str| {
            let message = read(text).unwrap_err().to_string();
            assert!(
                message.contains("points.ply") && message.contains(needle),
                "{needle}: {message}"
            );
        };
        let with = |from: &str, to: &str| COLOURED.replace(from, to);
        fails(with("vertex 2", "vertex 18446744073709551615"), "at most");
        fails(with("vertex 2", "vertex 90"), "at most");
        fails(with("vertex 2", "vertex 0"), "no vertices");
        fails(with("vertex 2", "vertex -1"), "no number");
        fails(with("element vertex", "element corner"), "\"vertex\"");
        fails(with("float y", "float w"), "without x, y and z");
        fails(with("float x", "quad x"), "unknown type");
        fails(with("1 2 3", "nan 2 3"), "vertex 0");
        fails(with("1 2 3", "1 2 1e300"), "vertex 0");
        fails(with("1 2 3", "1 two 3"), "\"two\" for y");
        fails(with(" 255 0 7", ""), "no value for red");
        fails(with("ascii", "utf9"), "means nothing");
        fails(with("ply", "plx"), "line 1");
        fails(COLOURED[..70].to_owned(), "line");
        fails(String::new(), "end of the file");
        fails(format!("ply\ncomment {}", "x".repeat(1 << 20)), "endless line");
        fails(format!("ply\n{}", "comment\n".repeat(5000)), "end_header");
    }
}
