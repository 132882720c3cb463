//! Coloured points from PLY files: what scanners, sparse models and 3D Gaussian Splatting files hold in common.
//!
//! Owns the reading of the `vertex` element of ASCII and binary files of either byte order: `x, y, z`; colours from
//! `red, green, blue` (bytes, or floats from 0 to 1), else from the degree-0 coefficients `f_dc_0..2` of a Gaussian
//! splatting file, else grey. Other properties are passed over, lists too. Nothing is allocated for a count that the
//! file's size cannot back.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use kiln_ply::{Element, Error, Reader};

use crate::scene::{Point, SceneError};

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
    let bad = |at: String, found: &str| SceneError::malformed(path, at, found, EXPORT_AGAIN);
    let refused = |e| match e {
        Error::Io(e) => SceneError::io(path, "read", e),
        Error::Line { line, found } => bad(format!("line {line}"), &found),
        Error::Truncated { offset, needed } => SceneError::Truncated {
            path: path.to_owned(),
            what: "a vertex property",
            offset,
            needed,
            available: 0,
        },
    };
    let file = File::open(path).map_err(io("open"))?;
    let size = file.metadata().map_err(io("inspect"))?.len();
    let mut ply = Reader::new(BufReader::with_capacity(1 << 16, file));
    let header = ply.header().map_err(refused)?;
    let vertex = header.elements.iter().position(|element| element.name == "vertex");
    let Some(vertex) = vertex else {
        return Err(bad("header".to_owned(), "no element \"vertex\""));
    };
    let (before, vertex) = (&header.elements[..vertex], &header.elements[vertex]);
    let columns = Columns::find(vertex).map_err(|found| bad("header".to_owned(), found))?;
    let row_bytes = vertex.least_row_bytes(header.format);
    let fits = size.saturating_sub(ply.offset()).saturating_add(1) / row_bytes.max(1);
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
        return Err(bad("header".to_owned(), "no vertices"));
    }
    for element in before {
        ply.pass_over(header.format, element).map_err(refused)?;
    }
    let mut row = Vec::new();
    let mut points = Vec::with_capacity(usize::try_from(vertex.count).unwrap_or(0));
    for index in 0..vertex.count {
        ply.row(header.format, vertex, &mut row).map_err(refused)?;
        let point = columns.point(&row);
        if !crate::scene::formats::posed::fits_f32(&point.0) {
            let found = format!("the position {:?}; positions must be finite", point.0);
            return Err(bad(format!("vertex {index}"), &found));
        }
        points.push(Point {
            position: point.0.map(|value| value as f32),
            color: point.1,
        });
    }
    Ok(points)
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

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
        fails(format!("ply\ncomment {}", "x".repeat(1 << 20)), "within 64 KiB");
        fails(format!("ply\n{}", "comment\n".repeat(5000)), "end_header");
    }
}
