//! Compressed PLY: chunks of 256 splats with ranges of their own, 16 bytes a splat in them, and a byte a further SH coefficient.
//!
//! Element `chunk`: smallest and largest position, logarithm of scale and (in newer files) colour. Element `vertex`: four words;
//! positions and scales in 11, 10 and 11 bits between those, the rotation as the place of its largest component in two
//! bits and the three others in ten each, colour and opacity in a byte each. Element `sh`: bytes, channel after channel,
//! steps of 1/32 from -4 to 4. A file is read record after record, in any number of pieces.

use kiln_ply::{Element, Format, Header, Property, Scalar};

use crate::error::plain;
use crate::splat::{REST_MAX, with_largest};
use crate::{Error, Opacity, SH_C0, Splat, rest_count};

/// Splats that share ranges.
pub const CHUNK: usize = 256;
/// Names of the ranges of a chunk.
pub const RANGES: [&str; 18] = [
    "min_x",
    "min_y",
    "min_z",
    "max_x",
    "max_y",
    "max_z", //
    "min_scale_x",
    "min_scale_y",
    "min_scale_z",
    "max_scale_x",
    "max_scale_y",
    "max_scale_z", //
    "min_r",
    "min_g",
    "min_b",
    "max_r",
    "max_g",
    "max_b",
];
/// Names of the words of a splat.
pub const WORDS: [&str; 4] = ["packed_position", "packed_rotation", "packed_scale", "packed_color"];

/// What an element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Ranges,
    Splats,
    Harmonics,
    Other,
}

/// Rows of an element that are still to come.
#[derive(Debug)]
struct Rows {
    part: Part,
    stride: usize,
    left: u64,
}

/// What a record holds.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    /// Nothing of a splat.
    Nothing,
    /// The next splat, without its harmonics.
    Splat(Splat),
    /// The harmonics of the next splat, which come in the same order.
    Harmonics([[f32; 3]; REST_MAX]),
}

/// Reads a file whose header is known.
#[derive(Debug)]
pub struct CompressedPly {
    /// In the order of the file.
    rows: Vec<Rows>,
    at: usize,
    /// Of [`RANGES`], all or all but those of colours, which then span 0 to 1.
    columns: Vec<Property>,
    words: [Property; 4],
    /// Bytes from the start of a row to the coefficients, `[coefficient][channel]`.
    harmonics: Vec<usize>,
    ranges: Vec<[f32; 18]>,
    n_read: usize,
    count: u32,
    degree: u32,
}

impl CompressedPly {
    /// Recognises a compressed file; `None` for any other.
    ///
    /// # Errors
    /// [`Error`] where its header makes no sense.
    pub fn new(header: &Header) -> Result<Option<Self>, Error> {
        let element = |name: &str| header.elements.iter().find(|element| element.name == name);
        let (Some(chunk), Some(vertex)) = (element("chunk"), element("vertex")) else {
            return Ok(None);
        };
        let Some(words) = WORDS
            .map(|name| vertex.property(name).cloned())
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .and_then(|words| <[Property; 4]>::try_from(words).ok())
        else {
            return Ok(None);
        };
        if header.format != Format::LittleEndian {
            return Err(Error::Format(header.format.name()));
        }
        let has_list = |element: &&Element| element.properties.iter().any(|property| property.list.is_some());
        if let Some(list) = header.elements.iter().find(has_list) {
            return Err(Error::List(plain(&list.name)));
        }
        let count = u32::try_from(vertex.count).map_err(|_| Error::TooMany(vertex.count))?;
        if chunk.count < u64::from(count).div_ceil(CHUNK as u64) {
            let found = format!("{} chunks for {count} Gaussians", chunk.count);
            return Err(Error::Damaged(found));
        }
        // Older writers have no ranges of colours.
        let has_colours = RANGES[12..].iter().any(|name| chunk.property(name).is_some());
        let names = &RANGES[..if has_colours { 18 } else { 12 }];
        let columns = names.iter().map(|name| chunk.property(name).cloned());
        let columns = columns.collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| Error::Missing("of the ranges of its chunks".to_owned()))?;
        let sh = element("sh");
        let harmonics = sh.map_or_else(|| Ok(Vec::new()), of_harmonics)?;
        let degree = (0..=3).find(|degree| 3 * rest_count(*degree) == harmonics.len());
        if !harmonics.is_empty() && sh.is_some_and(|sh| sh.count != vertex.count) {
            return Err(Error::damaged("it has not as many coefficients as Gaussians"));
        }
        let mut rows: Vec<Rows> = Vec::new();
        for element in &header.elements {
            let part = match element.name.as_str() {
                "chunk" => Part::Ranges,
                "vertex" => Part::Splats,
                "sh" => Part::Harmonics,
                _ => Part::Other,
            };
            // Columns are those of the first element of a name, so that others of that name are passed over.
            let is_first = !rows.iter().any(|rows| rows.part == part);
            rows.push(Rows {
                part: if is_first { part } else { Part::Other },
                stride: element.stride,
                left: element.count,
            });
        }
        let place = |part: Part| rows.iter().position(|rows| rows.part == part);
        if count > 0 && place(Part::Splats) < place(Part::Ranges) {
            return Err(Error::damaged("its Gaussians come before the ranges of their chunks"));
        }
        Ok(Some(Self {
            rows,
            at: 0,
            columns,
            words,
            harmonics,
            ranges: Vec::new(),
            n_read: 0,
            count,
            degree: degree.unwrap_or(0),
        }))
    }

    /// Splats.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// SH degree, 0 to 3.
    #[must_use]
    pub const fn degree(&self) -> u32 {
        self.degree
    }

    /// Bytes of the next record; `None` after the last.
    #[must_use]
    pub fn stride(&self) -> Option<usize> {
        // Rows of nothing may be as many as a header likes.
        let mut rows = self.rows[self.at..].iter();
        rows.find(|rows| rows.left > 0 && rows.stride > 0)
            .map(|rows| rows.stride)
    }

    /// Takes a record of [`Self::stride`] bytes.
    ///
    /// # Panics
    /// When it is shorter.
    pub fn read(&mut self, record: &[u8]) -> Record {
        while self
            .rows
            .get(self.at)
            .is_some_and(|rows| rows.left == 0 || rows.stride == 0)
        {
            self.at += 1;
        }
        let Some(rows) = self.rows.get_mut(self.at) else {
            return Record::Nothing;
        };
        rows.left -= 1;
        match rows.part {
            Part::Ranges => {
                // Ranges that are not finite give Gaussians that cannot be drawn.
                let end = |at: usize| match self.columns.get(at) {
                    Some(property) => property.read(record),
                    None => (at % 6 / 3) as f32,
                };
                // A row may be of fewer bytes than what is kept of it: those that no splat has are not kept.
                if self.ranges.len() < (self.count as usize).div_ceil(CHUNK) {
                    self.ranges.push(std::array::from_fn(end));
                }
                Record::Nothing
            }
            Part::Splats => {
                let ranges = self.ranges.get(self.n_read / CHUNK).unwrap_or(&[f32::NAN; 18]);
                self.n_read += 1;
                Record::Splat(splat(self.words.each_ref().map(|word| bits(word, record)), ranges))
            }
            Part::Harmonics => {
                let mut rest = [[0.0; 3]; REST_MAX];
                for (value, at) in rest.as_flattened_mut().iter_mut().zip(&self.harmonics) {
                    *value = harmonic(record[*at]);
                }
                Record::Harmonics(rest)
            }
            Part::Other => Record::Nothing,
        }
    }
}

/// Where the coefficients lie in a row, by their names, or one after the other where they have others.
fn of_harmonics(element: &Element) -> Result<Vec<usize>, Error> {
    let values = element.properties.len();
    let is_degree = (0..=3).any(|degree| 3 * rest_count(degree) == values);
    if !is_degree || element.stride != values {
        return Err(Error::RestCount(values));
    }
    let named = (0..values).map(|index| Some(element.property(&format!("f_rest_{index}"))?.offset));
    let named: Vec<usize> = named.collect::<Option<_>>().unwrap_or_else(|| (0..values).collect());
    // The file has channel after channel.
    Ok((0..values)
        .map(|place| named[place % 3 * (values / 3) + place / 3])
        .collect())
}

fn bits(word: &Property, record: &[u8]) -> u32 {
    match word.scalar {
        Scalar::U32 | Scalar::I32 | Scalar::F32 => u32::from_le_bytes(std::array::from_fn(|i| record[word.offset + i])),
        other => other.read(record, word.offset) as u32,
    }
}

fn splat([position, rotation, scale, colour]: [u32; 4], ranges: &[f32; 18]) -> Splat {
    let between = |first: usize, share: [f64; 3]| -> [f32; 3] {
        std::array::from_fn(|axis| {
            let [low, high] = [0, 3].map(|end| f64::from(ranges[first + end + axis]));
            (low + (high - low) * share[axis]) as f32
        })
    };
    let others =
        [20, 10, 0].map(|shift| (f64::from(rotation >> shift & 1023) / 1023.0 - 0.5) * std::f64::consts::SQRT_2);
    let [r, g, b, opacity] = colour.to_be_bytes();
    let colour = between(12, [r, g, b].map(|byte| f64::from(byte) / 255.0));
    Splat {
        mean: between(0, shares_11_10_11(position)),
        quat: with_largest((rotation >> 30) as usize, others).map(|value| value as f32),
        log_scale: between(6, shares_11_10_11(scale)),
        opacity: Opacity::Steps(opacity),
        sh0: colour.map(|value| ((f64::from(value) - 0.5) / SH_C0) as f32),
        rest: [[0.0; 3]; REST_MAX],
    }
}

fn shares_11_10_11(word: u32) -> [f64; 3] {
    [
        f64::from(word >> 21) / 2047.0,
        f64::from(word >> 11 & 1023) / 1023.0,
        f64::from(word & 2047) / 2047.0,
    ]
}

/// The middle of a step; of the first and the last, which hold all that lies beyond, the end.
fn harmonic(step: u8) -> f32 {
    match step {
        0 => -4.0,
        255 => 4.0,
        _ => ((f32::from(step) + 0.5) / 256.0 - 0.5) * 8.0,
    }
}
