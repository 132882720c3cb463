//! Coloured points from PLY files: what scanners, sparse models and 3D Gaussian Splatting files hold in common.
//!
//! Owns the reading of the `vertex` element of ASCII and binary files of either byte order: `x, y, z`; colours from
//! `red, green, blue`, `r, g, b` or `diffuse_red, ...`, numbers of any type, else from the degree-0 coefficients `f_dc_0..2` of a
//! Gaussian splatting file, else grey. Other properties are passed over, lists too. Points that are nowhere are left out and
//! counted. Nothing is allocated for a count that the file's size cannot back.

use std::io::BufReader;
use std::path::Path;

use kiln_files::open_filled;
use kiln_ply::{Element, Error, Reader, Scalar, origin_of};

use super::posed::fits_f32;
use crate::{Point, SceneError, WidePoint};

/// Degree-0 spherical harmonic, `1 / (2 sqrt(pi))`.
const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Colour of points that have none.
const GREY: [u8; 3] = [128; 3];
/// Names of colours, the first that are there count.
const COLORS: [[&str; 3]; 3] = [
    ["red", "green", "blue"],
    ["diffuse_red", "diffuse_green", "diffuse_blue"],
    ["r", "g", "b"],
];
/// The largest float that may still be one of a colour from 0 to 1, a bright one.
const MOST_UNIT: f32 = 2.0;

const EXPORT_AGAIN: &str = "export the points again";

/// The points of a file.
#[derive(Debug)]
pub(crate) struct Cloud {
    /// In the scene's coordinates, in the order of the file; never empty.
    pub(crate) points: Vec<WidePoint>,
    /// What is worth a word.
    pub(crate) notices: Vec<String>,
}

/// Reads the points of a file, relative to `origin`, and what is worth a word about them; a file without points is an error.
///
/// A header comment `origin X Y Z` says what the file's own coordinates are relative to; without one they are the scene's.
///
/// # Errors
/// [`SceneError`] naming the file and what is wrong.
pub fn read_points(path: &Path, origin: [f64; 3]) -> Result<(Vec<Point>, Vec<String>), SceneError> {
    let Cloud { points, notices } = read(path)?;
    Ok((points.iter().map(|point| point.from(origin)).collect(), notices))
}

/// Reads the points of a file; a file without points is an error.
///
/// # Errors
/// [`SceneError`] naming the file and what is wrong.
pub(crate) fn read(path: &Path) -> Result<Cloud, SceneError> {
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
    let file = open_filled(path).map_err(io("open"))?;
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
    let from = origin_of(&header.comments).unwrap_or_default();
    let mut row = Vec::new();
    let count = usize::try_from(vertex.count).unwrap_or(0);
    let (mut points, mut colors) = (Vec::with_capacity(count), Vec::new());
    for _ in 0..vertex.count {
        ply.row(header.format, vertex, &mut row).map_err(refused)?;
        let position = columns.position.map(|column| row[column]);
        if !fits_f32(&position) {
            continue;
        }
        points.push(WidePoint {
            position: std::array::from_fn(|axis| position[axis] + from[axis]),
            color: GREY,
        });
        if let Some((columns, _)) = columns.color {
            colors.push(columns.map(|column| row[column] as f32));
        }
    }
    if points.is_empty() {
        let found = "no vertex with a finite position";
        return Err(bad("vertices".to_owned(), found));
    }
    let mut notices = Vec::new();
    let left_out = vertex.count - points.len() as u64;
    if left_out > 0 {
        notices.push(format!(
            "{left_out} of {} points in {} are left out: their positions are not finite",
            vertex.count,
            path.display()
        ));
    }
    match columns.color {
        Some((_, kind)) => {
            let scale = kind.scale(&colors);
            for (point, color) in points.iter_mut().zip(&colors) {
                point.color = color.map(|value| kind.byte(value, scale));
            }
        }
        None => notices.push(format!("the points in {} have no colours and are grey", path.display())),
    }
    Ok(Cloud { points, notices })
}

/// Where position and colour are among a row's values.
struct Columns {
    position: [usize; 3],
    color: Option<([usize; 3], ColorKind)>,
}

/// What numbers a file has for colours.
#[derive(Clone, Copy, PartialEq)]
enum ColorKind {
    /// Integers of 8 bits, whatever the sign is said to be.
    Bytes,
    /// Larger integers.
    Integers,
    Floats,
    Harmonic,
}

impl ColorKind {
    /// What the numbers of a file are multiplied by to be bytes. Types do not say it: integers of 16 bits hold 0 to 255 as well as 0 to
    /// 65535, floats 0 to 1 as well as 0 to 255; the largest number decides.
    fn scale(self, colors: &[[f32; 3]]) -> f32 {
        let most = colors.iter().flatten().copied().fold(0.0, f32::max);
        match self {
            Self::Bytes | Self::Harmonic => 1.0,
            Self::Floats if most <= MOST_UNIT => 255.0,
            Self::Floats | Self::Integers if most <= 255.0 => 1.0,
            Self::Floats | Self::Integers if most <= 65_535.0 => 255.0 / 65_535.0,
            Self::Floats | Self::Integers => 255.0 / most,
        }
    }

    fn byte(self, value: f32, scale: f32) -> u8 {
        let value = f64::from(value);
        let value = match self {
            Self::Bytes if value < 0.0 => value + 256.0,
            Self::Harmonic => (value * SH_C0 + 0.5) * 255.0,
            _ => value * f64::from(scale),
        };
        // NaN becomes 0.
        value.round().clamp(0.0, 255.0) as u8
    }
}

impl Columns {
    fn find(vertex: &Element) -> Result<Self, &'static str> {
        let column = |name: &str| {
            let mut names = vertex.properties.iter();
            names.position(|property| property.name.eq_ignore_ascii_case(name))
        };
        let all = |names: [&str; 3]| {
            let found = names.map(column);
            found
                .iter()
                .all(Option::is_some)
                .then(|| found.map(Option::unwrap_or_default))
        };
        let kind = |columns: [usize; 3]| {
            let scalars = columns.map(|column| vertex.properties[column].scalar);
            if scalars.iter().any(|scalar| scalar.is_float()) {
                ColorKind::Floats
            } else if scalars.iter().all(|scalar| matches!(scalar, Scalar::U8 | Scalar::I8)) {
                ColorKind::Bytes
            } else {
                ColorKind::Integers
            }
        };
        let named = COLORS.into_iter().find_map(all).map(|columns| (columns, kind(columns)));
        let harmonic = || all(["f_dc_0", "f_dc_1", "f_dc_2"]).map(|columns| (columns, ColorKind::Harmonic));
        let position = all(["x", "y", "z"]).ok_or("a vertex without x, y and z")?;
        Ok(Self {
            position,
            color: named.or_else(harmonic),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    fn read(bytes: impl AsRef<[u8]>) -> Result<Vec<Point>, SceneError> {
        reported(bytes, [0.0; 3]).map(|(points, _)| points)
    }

    fn reported(bytes: impl AsRef<[u8]>, origin: [f64; 3]) -> Result<(Vec<Point>, Vec<String>), SceneError> {
        let folder = Scratch::new();
        read_points(&folder.write("points.ply", bytes), origin)
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
        let typed = |kind: &str, names: [&str; 3]| names.map(|name| format!("property {kind} {name}\n")).concat();
        for names in [
            ["red", "green", "blue"],
            ["r", "g", "b"],
            ["diffuse_red", "diffuse_green", "diffuse_blue"],
        ] {
            for (kind, row, bytes) in [
                ("uchar", " 0 128 255", [0, 128, 255]),
                ("char", " 0 -128 -1", [0, 128, 255]),
                ("ushort", " 0 128 255", [0, 128, 255]),
                ("ushort", " 0 32896 65535", [0, 128, 255]),
                ("int", " 0 128 255", [0, 128, 255]),
                ("uint", " 0 32896 65535", [0, 128, 255]),
                ("double", " 0 0.5 1", [0, 128, 255]),
                ("float", " 0 128 255", [0, 128, 255]),
                ("float", " nan 0.5 1", [0, 128, 255]),
            ] {
                assert_eq!(color(&typed(kind, names), row), bytes, "{kind} {names:?}");
            }
        }
    }

    #[test]
    fn what_is_left_out_or_made_up_is_named() {
        let (points, notices) = reported(COLOURED.replace("1 2 3 255", "nan 2 3 255"), [0.0; 3]).unwrap();
        assert_eq!((points.len(), points[0].position), (1, [-4.0, 0.5, 6.0]));
        assert!(notices[0].contains("1 of 2 points"), "{notices:?}");
        let (points, _) = reported(COLOURED.replace("1 2 3 255", "1 2 1e300 255"), [0.0; 3]).unwrap();
        assert_eq!(points.len(), 1);
        let (_, notices) = reported(COLOURED, [0.0; 3]).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        let (_, notices) = reported(COLOURED.replace("uchar red", "uchar Rot"), [0.0; 3]).unwrap();
        assert!(notices[0].contains("no colours"), "{notices:?}");
    }

    #[test]
    fn positions_of_millions_keep_their_last_digits() {
        let origin = [448_262.0, 5_411_932.0, 311.0];
        let file = "ply\nformat ascii 1.0\nelement vertex 1\nproperty double x\nproperty double y\nproperty double z\nend_header\n";
        let far = format!("{file}448262.03125 5411932.015625 311.5\n");
        assert_eq!(
            reported(&far, origin).unwrap().0[0].position,
            [0.031_25, 0.015_625, 0.5]
        );
        // What is relative already says to what.
        let near =
            format!("{file}0.03125 0.015625 0.5\n").replace("element", "comment origin 448262 5411932 311\nelement");
        assert_eq!(
            reported(&near, origin).unwrap().0[0].position,
            [0.031_25, 0.015_625, 0.5]
        );
        assert_eq!(
            reported(&near, [0.0; 3]).unwrap().0[0].position,
            [448_262.03, 5_411_932.0, 311.5]
        );
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
        let nowhere = with("1 2 3 255", "nan 2 3 255").replace("-4 5e-1 6", "0 inf 0");
        fails(nowhere, "no vertex with a finite position");
        fails(with("1 2 3", "1 two 3"), "\"two\" for y");
        fails(with(" 255 0 7", ""), "no value for red");
        fails(with("ascii", "utf9"), "means nothing");
        fails(with("ply", "plx"), "line 1");
        fails(COLOURED[..70].to_owned(), "line");
        fails(String::new(), "it is an empty file");
        fails("ply\n".to_owned(), "end of the file");
        fails(format!("ply\ncomment {}", "x".repeat(1 << 20)), "within 64 KiB");
        fails(format!("ply\n{}", "comment\n".repeat(5000)), "end_header");
    }
}
