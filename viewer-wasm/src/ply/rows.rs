//! Splats as rows of named numbers: what trainers write.

use kiln_ply::{Element, Header, Property, Scalar};

use super::Refusal;
use super::header::element;
use crate::splat::{Parameters, REST_MAX, Splat, constant_of, rest_count};

/// Logarithm of the third scale of flat splats, beside the smaller of the others.
const FLAT: f32 = -6.907_755;

type Field = (Scalar, usize);

/// Where each value of a splat lies in a record.
#[derive(Debug)]
pub(super) struct Rows {
    stride: usize,
    count: u32,
    left: u32,
    degree: u32,
    before: u64,
    mean: [Field; 3],
    quat: [Field; 4],
    /// Two of flat splats, or three.
    log_scale: Vec<Field>,
    opacity: Field,
    filter_3d: Option<Field>,
    dc: [Field; 3],
    /// What a colour of 1 is stored as, where colours stand in the place of coefficients.
    full_color: Option<f32>,
    /// Channel-major, as the file has them.
    rest: Vec<Field>,
}

impl Rows {
    pub(super) fn new(header: &Header) -> Result<Self, Refusal> {
        let Some((vertex, before)) = element(header, "vertex")? else {
            return Err("the PLY file has no element `vertex`".to_owned());
        };
        let count = u32::try_from(vertex.count).map_err(|_| super::too_large(vertex.bytes()))?;
        let mean = fields(vertex, ["x", "y", "z"])?;
        let n_rest = (0..)
            .take_while(|i| vertex.property(&format!("f_rest_{i}")).is_some())
            .count();
        let degree = (0..=3)
            .rev()
            .find(|&degree| 3 * rest_count(degree) <= n_rest)
            .unwrap_or(0);
        // A file of a higher degree keeps its own spacing between the channels.
        let per_channel = n_rest / 3;
        let mut rest = Vec::new();
        for channel in 0..3 {
            for k in 0..rest_count(degree) {
                let name = format!("f_rest_{}", channel * per_channel + k);
                rest.push(field(vertex, &name)?);
            }
        }
        // Other writers have colours that look the same from everywhere, and 2D Gaussian Splatting no third scale.
        let has_color = vertex.property("f_dc_0").is_none() && vertex.property("red").is_some() && n_rest == 0;
        let dc = if has_color {
            ["red", "green", "blue"]
        } else {
            ["f_dc_0", "f_dc_1", "f_dc_2"]
        };
        let dc = fields(vertex, dc)?;
        let n_scales = if vertex.property("scale_2").is_some() { 3 } else { 2 };
        let scales = ["scale_0", "scale_1", "scale_2"].into_iter().take(n_scales);
        Ok(Self {
            stride: vertex.stride,
            count,
            left: count,
            degree,
            before,
            mean,
            quat: fields(vertex, ["rot_0", "rot_1", "rot_2", "rot_3"])?,
            log_scale: scales.map(|name| field(vertex, name)).collect::<Result<_, _>>()?,
            opacity: field(vertex, "opacity")?,
            filter_3d: vertex.property("filter_3D").map(place),
            dc,
            full_color: has_color.then_some(match dc[0].0 {
                Scalar::U8 => 255.0,
                Scalar::U16 => 65_535.0,
                _ => 1.0,
            }),
            rest,
        })
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn degree(&self) -> u32 {
        self.degree
    }

    /// Bytes of the elements that come first.
    pub(super) fn bytes_before(&self) -> u64 {
        self.before
    }

    pub(super) fn stride(&self) -> Option<usize> {
        (self.left > 0).then_some(self.stride)
    }

    /// The splat of a record; `None` when a value is not a number.
    pub(super) fn read(&mut self, record: &[u8]) -> Option<Splat> {
        self.left -= 1;
        let value = |(scalar, at): Field| scalar.read(record, at) as f32;
        let per_channel = self.rest.len() / 3;
        let mut rest = [[0.0; 3]; REST_MAX];
        for (k, coefficient) in rest.iter_mut().take(per_channel).enumerate() {
            *coefficient = std::array::from_fn(|channel| value(self.rest[channel * per_channel + k]));
        }
        let parameters = Parameters {
            mean: self.mean.map(value),
            quat: self.quat.map(value),
            log_scale: match self.log_scale[..] {
                [a, b, c] => [a, b, c].map(value),
                [a, b] => {
                    let [a, b] = [a, b].map(value);
                    // A thousandth of the smaller one; NaN stays what it is.
                    [a, b, a + (b - a).min(0.0) + FLAT]
                }
                _ => [f32::NAN; 3],
            },
            logit_opacity: value(self.opacity),
            filter_3d: self.filter_3d.map_or(0.0, value),
            dc: match self.full_color {
                Some(full) => self.dc.map(|field| constant_of(value(field) / full)),
                None => self.dc.map(value),
            },
            rest,
        };
        parameters.splat()
    }
}

fn place(property: &Property) -> Field {
    (property.scalar, property.offset)
}

fn field(element: &Element, name: &str) -> Result<Field, Refusal> {
    let found = element.property(name).map(place);
    found.ok_or_else(|| format!("the PLY file has no property `{name}`, so it holds no splats"))
}

fn fields<const N: usize>(element: &Element, names: [&str; N]) -> Result<[Field; N], Refusal> {
    let mut found = [(Scalar::F32, 0); N];
    for (field_of, name) in found.iter_mut().zip(names) {
        *field_of = field(element, name)?;
    }
    Ok(found)
}
