//! Arrays of NumPy: one number a pixel or three, in a `.npy` file.
//!
//! Reads little-endian floats of 16, 32 and 64 bits and unsigned integers of 8, 16 and 32, by rows or by columns: rows and columns, and for three
//! numbers a pixel a third side of 3, behind them or, plane by plane, before them; a side of 1 may come first. Refuses everything
//! else by name.

use exr::prelude::f16;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read, bytes.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// A file's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) size_px: (u32, u32),
    /// The type's name, such as `<f4`.
    kind: Kind,
    /// Numbers of a pixel.
    channels: u32,
    /// Sides of the array where its columns come first.
    by_columns: Option<Vec<usize>>,
    /// The planes follow each other, instead of a pixel's numbers.
    planar: bool,
    /// Where the numbers begin.
    start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F16,
    F32,
    F64,
    U8,
    U16,
    U32,
}

impl Kind {
    const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::U16 => 2,
            Self::F32 | Self::U32 => 4,
            Self::F64 => 8,
        }
    }
}

impl Header {
    /// Reads the start of a file with one number a pixel, or three.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn read(bytes: &[u8], channels: u32) -> Result<Self, String> {
        let cut = || "its header is cut short".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or("it is no NumPy array")?;
        let (length, rest, before) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest, 10),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest, 12),
            [1..=3, ..] | [] => return Err(cut()),
            [version, ..] => return Err(format!("its format is version {version}, 1 to 3 are read")),
        };
        if length > MOST_HEADER_BYTES {
            return Err(format!("its header has {length} bytes"));
        }
        let text = std::str::from_utf8(rest.get(..length).ok_or_else(cut)?).map_err(|_| "its header is no text")?;
        let value = |key: &str| {
            text.split_once(&format!("'{key}':"))
                .map(|(_, after)| after.trim_start())
        };
        let quoted = value("descr").and_then(|after| after.strip_prefix('\'')?.split('\'').next());
        let kind = match quoted.unwrap_or("a structure") {
            "<f2" => Kind::F16,
            "<f4" => Kind::F32,
            "<f8" => Kind::F64,
            "|u1" => Kind::U8,
            "<u2" => Kind::U16,
            "<u4" => Kind::U32,
            other => {
                return Err(format!(
                    "it holds {other}; floats and unsigned integers are read, little-endian"
                ));
            }
        };
        let order = value("fortran_order").unwrap_or_default();
        let by_columns = order.starts_with("True");
        if !by_columns && !order.starts_with("False") {
            return Err("its header does not say whether its rows or its columns come first".to_owned());
        }
        let shape = value("shape").and_then(|after| after.strip_prefix('(')?.split(')').next());
        let sides: Option<Vec<u32>> = shape
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|side| !side.is_empty())
            .map(|side| side.parse().ok())
            .collect();
        let sides = sides.unwrap_or_default();
        let (size_px, planar) = match (channels, &sides[..]) {
            (1, &[height, width] | &[1, height, width] | &[height, width, 1])
            | (3, &[height, width, 3] | &[1, height, width, 3]) => ((width, height), false),
            (3, &[3, height, width] | &[1, 3, height, width]) => ((width, height), true),
            _ => {
                return Err(format!(
                    "its shape is ({}); rows and columns{} are read",
                    shape.unwrap_or_default(),
                    if channels == 1 { "" } else { " of three numbers" }
                ));
            }
        };
        Ok(Self {
            size_px,
            channels,
            by_columns: by_columns.then(|| sides.iter().map(|side| *side as usize).collect()),
            planar,
            kind,
            start: before + length,
        })
    }

    /// The largest number of a type of whole ones.
    pub(super) const fn most(&self) -> Option<f32> {
        match self.kind {
            Kind::U8 => Some(255.0),
            Kind::U16 => Some(65_535.0),
            Kind::U32 => Some(4_294_967_295.0),
            Kind::F16 | Kind::F32 | Kind::F64 => None,
        }
    }

    /// The numbers of a whole file, those of a pixel together.
    ///
    /// # Errors
    /// When there are not as many as the header says.
    pub(super) fn values(&self, bytes: &[u8]) -> Result<Vec<f32>, String> {
        let (width, height) = self.size_px;
        let pixels = width as usize * height as usize;
        let size = pixels.checked_mul(self.kind.bytes() * self.channels as usize);
        let data = bytes.get(self.start..).and_then(|data| data.get(..size?));
        let data = data.ok_or("the file ends before its numbers do; copy it again")?;
        let values: Vec<f32> = match self.kind {
            Kind::U8 => data.iter().map(|value| f32::from(*value)).collect(),
            Kind::U16 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| f32::from(u16::from_le_bytes(*b)))
                .collect(),
            Kind::U32 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| u32::from_le_bytes(*b) as f32)
                .collect(),
            Kind::F16 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| f16::from_le_bytes(*b).to_f32())
                .collect(),
            Kind::F32 => data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Kind::F64 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| f64::from_le_bytes(*b) as f32)
                .collect(),
        };
        let values = match &self.by_columns {
            Some(sides) => by_rows(&values, sides),
            None => values,
        };
        if !self.planar {
            return Ok(values);
        }
        let pixel = |at: usize| [0, 1, 2].map(|plane| values[plane * pixels + at]);
        Ok((0..pixels).flat_map(pixel).collect())
    }
}

/// Values of an array whose first place goes first, in the order in which its last place does.
fn by_rows(values: &[f32], sides: &[usize]) -> Vec<f32> {
    let found = |mut at: usize| {
        let (mut from, mut stride) = (0, values.len());
        for side in sides.iter().rev() {
            stride /= side;
            from += at % side * stride;
            at /= side;
        }
        values[from]
    };
    (0..values.len()).map(found).collect()
}

#[cfg(test)]
pub(super) mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// A file as NumPy writes it.
    pub(crate) fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + text.len() + 1) % 64 != 0 {
            text.push(' ');
        }
        text.push('\n');
        let length = (text.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, text.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<((u32, u32), Vec<f32>), String> {
        let header = Header::read(bytes, 1)?;
        Ok((header.size_px, header.values(bytes)?))
    }

    #[test]
    fn planes_of_every_type() {
        let wanted = ((3, 2), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let bytes = |each: fn(u8) -> Vec<u8>| (0..6).flat_map(each).collect::<Vec<u8>>();
        for (descr, data) in [
            ("|u1", bytes(|n| vec![n])),
            ("<u2", bytes(|n| u16::from(n).to_le_bytes().into())),
            ("<u4", bytes(|n| u32::from(n).to_le_bytes().into())),
            ("<f2", bytes(|n| f16::from_f32(n.into()).to_le_bytes().into())),
            ("<f4", bytes(|n| f32::from(n).to_le_bytes().into())),
            ("<f8", bytes(|n| f64::from(n).to_le_bytes().into())),
        ] {
            for shape in ["(2, 3)", "(1, 2, 3)", "(2, 3, 1)"] {
                assert_eq!(
                    read(&file(descr, "False", shape, &data)).unwrap(),
                    wanted,
                    "{descr} {shape}"
                );
                let columns = [0, 3, 1, 4, 2, 5].map(|place| place * data.len() / 6);
                let columns: Vec<u8> = columns
                    .iter()
                    .flat_map(|start| &data[*start..start + data.len() / 6])
                    .copied()
                    .collect();
                assert_eq!(
                    read(&file(descr, "True", shape, &columns)).unwrap(),
                    wanted,
                    "{descr} {shape}, by columns"
                );
            }
        }
    }

    #[test]
    fn three_numbers_a_pixel_come_together_or_plane_by_plane() {
        let bytes: Vec<u8> = (0..12_u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        let read_by = |order: &str, shape: &str, bytes: &[u8]| {
            let file = file("<f4", order, shape, bytes);
            let header = Header::read(&file, 3)?;
            Ok::<_, String>((header.size_px, header.values(&file)?))
        };
        let read = |shape: &str| read_by("False", shape, &bytes);
        let together: Vec<f32> = (0..12_u8).map(f32::from).collect();
        for shape in ["(2, 2, 3)", "(1, 2, 2, 3)"] {
            assert_eq!(read(shape).unwrap(), ((2, 2), together.clone()), "{shape}");
        }
        let planes = vec![0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0];
        for shape in ["(3, 2, 2)", "(1, 3, 2, 2)"] {
            assert_eq!(read(shape).unwrap(), ((2, 2), planes.clone()), "{shape}");
        }
        // by columns, the planes come last of what was together, and first of what was planes
        let places = |value: fn(u8, u8, u8) -> u8| {
            let all = (0..12_u8).map(move |at| value(at % 2, at / 2 % 2, at / 4));
            all.flat_map(|n| f32::from(n).to_le_bytes()).collect::<Vec<u8>>()
        };
        let columns = places(|row, column, channel| 6 * row + 3 * column + channel);
        assert_eq!(read_by("True", "(2, 2, 3)", &columns).unwrap(), ((2, 2), together));
        let columns: Vec<u8> = [0_u8, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11]
            .iter()
            .flat_map(|n| f32::from(*n).to_le_bytes())
            .collect();
        assert_eq!(read_by("True", "(3, 2, 2)", &columns).unwrap(), ((2, 2), planes));
        let reported = read("(3, 4)").unwrap_err();
        assert!(
            reported.contains("(3, 4)") && reported.contains("three numbers"),
            "{reported}"
        );
    }

    #[test]
    fn what_is_no_plane_says_why() {
        let fails = |bytes: Vec<u8>, needle: &str| {
            let reported = read(&bytes).unwrap_err();
            assert!(reported.contains(needle), "{reported}");
        };
        let data = [0; 24];
        fails(b"PK".to_vec(), "no NumPy array");
        fails(file(">f4", "False", "(2, 3)", &data), ">f4");
        fails(file("<f4", "maybe", "(2, 3)", &data), "columns");
        fails(file("<f4", "False", "(6,)", &data), "(6,)");
        fails(file("<f4", "False", "(2, 3)", &data[..23]), "ends before");
        fails(file("<f4", "False", "(99999999, 99999999)", &data), "ends before");
        let whole = file("<f4", "False", "(2, 3)", &data);
        for kept in 0..whole.len() {
            assert!(read(&whole[..kept]).is_err(), "{kept}");
        }
    }
}
