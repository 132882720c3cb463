//! Compressed PLY; [`super::super::compressed_ply`] says what is in it.

use std::io::{BufRead, Read, Seek};

use kiln_ply::{Element, Format, Property, Reader, Scalar};

use super::super::super::{PlyComments, PlyError};
use super::super::compressed_ply::{CHUNK, RANGES, WORDS};
use super::{logit, with_largest};
use crate::gaussians::ply_names::{SH_REST_PREFIX, degree_of_rest_values, rest_slot};
use crate::gaussians::{Gaussians, init};

/// Reads a model; `None` of PLY files of any other kind, and of files that are none.
pub(super) fn read(file: impl BufRead + Seek) -> Result<Option<(Gaussians, PlyComments)>, PlyError> {
    let mut reader = Reader::new(file);
    let Ok(header) = reader.header() else { return Ok(None) };
    let element = |name: &str| header.elements.iter().find(|element| element.name == name);
    let (Some(chunk), Some(vertex)) = (element("chunk"), element("vertex")) else {
        return Ok(None);
    };
    let Some(words) = properties(vertex, WORDS) else {
        return Ok(None);
    };
    if header.format != Format::LittleEndian {
        return Err(PlyError::Format(header.format.name()));
    }
    for element in &header.elements {
        if element.properties.iter().any(|property| property.list.is_some()) {
            return Err(PlyError::List(element.name.clone()));
        }
    }
    let count = u32::try_from(vertex.count).map_err(|_| PlyError::TooMany(vertex.count))? as usize;
    if chunk.count != count.div_ceil(CHUNK) as u64 {
        let found = format!("{} chunks for {count} Gaussians", chunk.count);
        return Err(PlyError::Damaged(found));
    }
    let columns = Ranges::find(chunk)?;
    let start = reader.offset();
    let mut file = reader.into_inner();
    let size = file.seek(std::io::SeekFrom::End(0)).map_err(PlyError::Io)?;
    let data = header
        .elements
        .iter()
        .map(|element| u128::from(element.count) * element.stride as u128);
    let needed = u128::from(start) + data.sum::<u128>();
    if needed > u128::from(size) {
        return Err(PlyError::Truncated { needed, size });
    }
    file.seek(std::io::SeekFrom::Start(start)).map_err(PlyError::Io)?;
    let (mut ranges, mut model) = (Vec::new(), Gaussians::default());
    for (at, element) in header.elements.iter().enumerate() {
        // Columns are those of the first element of a name, so that others of that name are passed over.
        let first = header.elements.iter().position(|other| other.name == element.name) == Some(at);
        match element.name.as_str() {
            _ if !first => rows(&mut file, element, |_, _| Ok(()))?,
            "chunk" => rows(&mut file, element, |_, row| {
                ranges.push(columns.of(row));
                Ok(())
            })?,
            "vertex" => rows(&mut file, element, |at, row| {
                let ranges = ranges.get(at / CHUNK).ok_or_else(|| {
                    PlyError::Damaged("its Gaussians come before the ranges of their chunks".to_owned())
                })?;
                append(
                    &mut model,
                    words.each_ref().map(|word| word.scalar.read(row, word.offset) as u32),
                    ranges,
                );
                Ok(())
            })?,
            "sh" => {
                let of_file = of_harmonics(element)?;
                model.sh_degree = degree_of_rest_values(of_file.len()).unwrap_or(0);
                rows(&mut file, element, |_, row| {
                    model
                        .sh_rest
                        .extend(of_file.iter().map(|value| harmonic(row[value.offset])));
                    Ok(())
                })?;
            }
            _ => rows(&mut file, element, |_, _| Ok(()))?,
        }
    }
    if model.sh_rest.len() != count * 3 * model.rest_coefficients() {
        return Err(PlyError::Damaged(
            "it has not as many coefficients as Gaussians".to_owned(),
        ));
    }
    model.filter_3d = vec![0.0; count];
    Ok(Some((model, PlyComments::of(&header.comments))))
}

/// Passes every row of an element with its number to `take`.
fn rows(
    file: &mut impl Read,
    element: &Element,
    mut take: impl FnMut(usize, &[u8]) -> Result<(), PlyError>,
) -> Result<(), PlyError> {
    if element.stride == 0 {
        // Rows of nothing may be as many as a header likes.
        return Ok(());
    }
    let mut row = vec![0; element.stride];
    for at in 0..usize::try_from(element.count).unwrap_or(usize::MAX) {
        file.read_exact(&mut row).map_err(PlyError::Io)?;
        take(at, &row)?;
    }
    Ok(())
}

/// Columns of those names.
fn properties<const N: usize>(element: &Element, names: [&str; N]) -> Option<[Property; N]> {
    let found: Option<Vec<Property>> = names.iter().map(|name| element.property(name).cloned()).collect();
    found?.try_into().ok()
}

/// The bytes of further coefficients, in the engine's order.
fn of_harmonics(element: &Element) -> Result<Vec<Property>, PlyError> {
    let values = element.properties.len();
    let mut found = vec![None; values];
    for index in 0..values {
        let property = element.property(&format!("{SH_REST_PREFIX}{index}"));
        found[rest_slot(index, (values / 3).max(1)).min(values - 1)] =
            property.filter(|property| property.scalar == Scalar::U8).cloned();
    }
    let found: Option<Vec<Property>> = found.into_iter().collect();
    found
        .filter(|found| degree_of_rest_values(found.len()).is_some())
        .ok_or(PlyError::RestCount(values))
}

/// Where the ranges of a chunk stand; older writers have none of colours, which then span 0 to 1.
struct Ranges {
    geometry: [Property; 12],
    colours: Option<[Property; 6]>,
}

/// Smallest and largest position, logarithm of scale and colour of a chunk.
type Spans = [[[f64; 3]; 2]; 3];

impl Ranges {
    fn find(chunk: &Element) -> Result<Self, PlyError> {
        let (geometry, colours) = RANGES.split_at(12);
        let names = |names: &[&'static str]| names.to_vec();
        let geometry = names(geometry)
            .try_into()
            .ok()
            .and_then(|names| properties(chunk, names));
        Ok(Self {
            geometry: geometry.ok_or_else(|| PlyError::Missing("of the ranges of its chunks".to_owned()))?,
            colours: names(colours)
                .try_into()
                .ok()
                .and_then(|names| properties(chunk, names)),
        })
    }

    /// Ranges that are not finite give Gaussians that cannot be drawn.
    fn of(&self, row: &[u8]) -> Spans {
        let three = |properties: &[Property]| -> [f64; 3] {
            std::array::from_fn(|axis| {
                properties
                    .get(axis)
                    .map_or(f64::NAN, |property| property.read(row).into())
            })
        };
        let [low, high, low_scale, high_scale] = [0, 3, 6, 9].map(|first| three(&self.geometry[first..first + 3]));
        let colours = match &self.colours {
            Some(colours) => [three(&colours[..3]), three(&colours[3..])],
            None => [[0.0; 3], [1.0; 3]],
        };
        [[low, high], [low_scale, high_scale], colours]
    }
}

fn append(model: &mut Gaussians, [position, rotation, scale, colour]: [u32; 4], [means, scales, colours]: &Spans) {
    let [r, g, b, opacity] = colour.to_be_bytes();
    let between = |[low, high]: &[[f64; 3]; 2], share: [f64; 3]| -> [f32; 3] {
        std::array::from_fn(|axis| (low[axis] + (high[axis] - low[axis]) * share[axis]) as f32)
    };
    let others =
        [20, 10, 0].map(|shift| (f64::from(rotation >> shift & 1023) / 1023.0 - 0.5) * std::f64::consts::SQRT_2);
    let colour = between(colours, [r, g, b].map(|byte| f64::from(byte) / 255.0));
    model.means.push(between(means, shares_11_10_11(position)));
    model
        .quats
        .push(with_largest((rotation >> 30) as usize, others).map(|value| value as f32));
    model.log_scales.push(between(scales, shares_11_10_11(scale)));
    model.logit_opacities.push(logit(opacity));
    model
        .sh0
        .push(colour.map(|value| ((f64::from(value) - 0.5) / init::SH_C0) as f32));
}

fn shares_11_10_11(word: u32) -> [f64; 3] {
    [
        f64::from(word >> 21) / 2047.0,
        f64::from(word >> 11 & 1023) / 1023.0,
        f64::from(word & 2047) / 2047.0,
    ]
}

/// The middle of a step.
fn harmonic(step: u8) -> f32 {
    ((f32::from(step) + 0.5) / 256.0 - 0.5) * 8.0
}
