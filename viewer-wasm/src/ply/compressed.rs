//! Compressed PLY: 16 bytes a splat in chunks of 256 with their own ranges, and a byte a further SH coefficient.
//!
//! `chunk` gives for each 256 splats the smallest and largest position, logarithm of scale and (in newer files) colour.
//! `vertex` has four words: position in 11, 10, 11 bits between those; the rotation's three other components in 10 bits
//! each with the index of the largest in the top two; scale like position; colour and opacity in a byte each. `sh`
//! follows after all of them.

use kiln_ply::{Element, Format, Header};

use super::header::element;
use super::{Batch, Refusal};
use crate::math::unit_quat;
use crate::pack::{push_geometry, push_sh};
use crate::splat::{REST_MAX, SH_C0, Splat, rest_count};

/// Splats that share a chunk's ranges.
const CHUNK: u64 = 256;
/// Position, rotation, scale and colour of a splat.
const WORDS: [&str; 4] = ["packed_position", "packed_rotation", "packed_scale", "packed_color"];

/// Ranges of a chunk: smallest and largest of each axis.
#[derive(Clone, Copy, Debug)]
struct Ranges {
    mean: [[f32; 3]; 2],
    log_scale: [[f32; 3]; 2],
    colour: [[f32; 3]; 2],
}

/// The three elements of a file, and how far they are read.
#[derive(Debug)]
pub(super) struct Compressed {
    /// `chunk`, `vertex` and, with harmonics, `sh`.
    elements: Vec<Element>,
    /// Bytes from a vertex' start to its position, rotation, scale and colour.
    words: [usize; 4],
    count: u32,
    degree: u32,
    ranges: Vec<Ranges>,
    /// Vertices and rows of harmonics read.
    read: [u32; 2],
}

impl Compressed {
    /// Recognises a compressed file and takes its elements; `None` for any other.
    pub(super) fn new(header: &mut Header) -> Result<Option<Self>, Refusal> {
        let (Some((chunk, before)), Some((vertex, _))) = (element(header, "chunk")?, element(header, "vertex")?) else {
            return Ok(None);
        };
        if vertex.property(WORDS[0]).is_none() {
            return Ok(None);
        }
        if header.format != Format::LittleEndian {
            let found = header.format.name();
            return Err(format!(
                "the compressed PLY is `{found}`, and only little-endian ones are opened"
            ));
        }
        let names: Vec<&str> = header.elements.iter().map(|element| element.name.as_str()).collect();
        if before != 0 || !matches!(names[..], ["chunk", "vertex"] | ["chunk", "vertex", "sh"]) {
            let found = names.join(", ");
            return Err(format!(
                "the compressed PLY has the elements {found}; chunk, vertex, sh are expected"
            ));
        }
        let mut words = [0; 4];
        for (word, name) in words.iter_mut().zip(WORDS) {
            let property = vertex.property(name);
            let property = property.ok_or_else(|| format!("the compressed PLY has no property `{name}`"))?;
            *word = property.offset;
        }
        let sized = vertex.properties.iter().all(|p| p.scalar.bytes() == 4);
        if !sized || chunk.property("min_x").is_none() || chunk.property("max_scale_z").is_none() {
            return Err("the compressed PLY lacks ranges of its chunks or packs its words in another size".to_owned());
        }
        if chunk.count < vertex.count.div_ceil(CHUNK) {
            let (chunks, splats) = (chunk.count, vertex.count);
            return Err(format!(
                "the compressed PLY has {chunks} chunks for {splats} splats; 256 share one"
            ));
        }
        let sh = element(header, "sh")?.map(|(element, _)| element);
        let n_rest = sh.map_or(0, |sh| sh.properties.len());
        let degree = (0..=3).rev().find(|&degree| 3 * rest_count(degree) == n_rest);
        let bytes = sh.is_none_or(|sh| sh.stride == n_rest && sh.count == vertex.count);
        let (Some(degree), true) = (degree, bytes) else {
            return Err("the harmonics of the compressed PLY are not 9, 24 or 45 bytes for every splat".to_owned());
        };
        let count = u32::try_from(vertex.count).map_err(|_| super::too_large(vertex.bytes()))?;
        let mut elements = std::mem::take(&mut header.elements);
        elements.truncate(if degree > 0 { 3 } else { 2 });
        Ok(Some(Self {
            elements,
            words,
            count,
            degree,
            ranges: Vec::new(),
            read: [0; 2],
        }))
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn degree(&self) -> u32 {
        self.degree
    }

    pub(super) fn stride(&self) -> Option<usize> {
        let read = [self.ranges.len() as u64, self.read[0].into(), self.read[1].into()];
        let mut rows = self.elements.iter().zip(read);
        rows.find(|(element, read)| *read < element.count)
            .map(|(element, _)| element.stride)
    }

    /// Takes a record. A splat that is not a number keeps its place, unseen, because its harmonics come later; says
    /// whether this was one.
    pub(super) fn read(&mut self, record: &[u8], batch: &mut Batch) -> bool {
        if (self.ranges.len() as u64) < self.elements[0].count {
            self.ranges.push(ranges(&self.elements[0], record));
            return false;
        }
        if self.read[0] == self.count {
            self.read[1] += 1;
            push_sh(&self.harmonics(record), self.degree, &mut batch.sh);
            return false;
        }
        let range = self.ranges[(u64::from(self.read[0]) / CHUNK) as usize];
        self.read[0] += 1;
        let splat = self.splat(record, &range);
        let drawn = splat.unwrap_or(UNSEEN);
        push_geometry(&drawn, &mut batch.geometry);
        splat.is_none()
    }

    fn splat(&self, record: &[u8], range: &Ranges) -> Option<Splat> {
        let words = self.words;
        let [position, rotation, scale, colour] =
            words.map(|at| u32::from_le_bytes(std::array::from_fn(|i| record[at + i])));
        let [r, g, b, opacity] = [24, 16, 8, 0].map(|shift| unit(colour >> shift, 8));
        let dc = between(range.colour, [r, g, b]).map(|v| (v - 0.5) / SH_C0);
        let splat = Splat {
            mean: between(range.mean, units_11_10_11(position)),
            quat: unpacked(rotation)?,
            log_scale: between(range.log_scale, units_11_10_11(scale)),
            opacity,
            dc,
            rest: UNSEEN.rest,
        };
        let values = splat.mean.iter().chain(&splat.log_scale).chain(&splat.dc);
        values.into_iter().all(|v| v.is_finite()).then_some(splat)
    }

    fn harmonics(&self, record: &[u8]) -> Splat {
        let per_channel = rest_count(self.degree);
        let mut splat = UNSEEN;
        for (k, coefficient) in splat.rest.iter_mut().take(per_channel).enumerate() {
            *coefficient = std::array::from_fn(|channel| harmonic(record[channel * per_channel + k]));
        }
        splat
    }
}

/// A splat that draws nothing.
const UNSEEN: Splat = Splat {
    mean: [0.0; 3],
    quat: [1.0, 0.0, 0.0, 0.0],
    log_scale: [-24.0; 3],
    opacity: 0.0,
    dc: [0.0; 3],
    rest: [[0.0; 3]; REST_MAX],
};

fn ranges(chunk: &Element, record: &[u8]) -> Ranges {
    let read = |name: &str, otherwise: f32| {
        let property = chunk.property(name);
        property.map_or(otherwise, |property| property.read(record))
    };
    let pair = |names: [&str; 3]| {
        [("min_", 0.0), ("max_", 1.0)]
            .map(|(end, otherwise)| names.map(|name| read(&format!("{end}{name}"), otherwise)))
    };
    Ranges {
        mean: pair(["x", "y", "z"]),
        log_scale: pair(["scale_x", "scale_y", "scale_z"]),
        colour: pair(["r", "g", "b"]),
    }
}

fn unit(word: u32, bits: u32) -> f32 {
    let all = (1_u32 << bits) - 1;
    (word & all) as f32 / all as f32
}

fn units_11_10_11(word: u32) -> [f32; 3] {
    [unit(word >> 21, 11), unit(word >> 11, 10), unit(word, 11)]
}

fn between([low, high]: [[f32; 3]; 2], share: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|i| low[i] * (1.0 - share[i]) + high[i] * share[i])
}

fn unpacked(word: u32) -> Option<[f32; 4]> {
    let part = |shift: u32| (unit(word >> shift, 10) - 0.5) * std::f32::consts::SQRT_2;
    let small = [part(20), part(10), part(0)];
    let largest = (1.0 - small.iter().map(|v| v * v).sum::<f32>()).max(0.0).sqrt();
    let at = (word >> 30) as usize;
    let mut rest = small.into_iter();
    unit_quat(std::array::from_fn(|i| {
        if i == at { largest } else { rest.next().unwrap_or(0.0) }
    }))
}

/// Coefficients lie between -4 and 4; the outermost steps mean the ends.
fn harmonic(byte: u8) -> f32 {
    let share = match byte {
        0 => 0.0,
        255 => 1.0,
        _ => (f32::from(byte) + 0.5) / 256.0,
    };
    (share - 0.5) * 8.0
}
