//! Points with or without colours: what a run begins with, scans, and the corners of meshes.

use kiln_ply::{Element, Header, Property, Scalar};

use super::Refusal;
use super::header::element;
use crate::splat::{REST_MAX, Splat, constant_of};

/// Logarithm of a point's extent: the smallest that is kept, so that its size on the screen is the filter's.
const LOG_SCALE: f32 = -24.0;
/// Colour of points that have none, 0 to 1.
const GREY: f32 = 0.7;
/// What the channels are called.
const COLORS: [[&str; 3]; 3] = [
    ["red", "green", "blue"],
    ["diffuse_red", "diffuse_green", "diffuse_blue"],
    ["r", "g", "b"],
];

/// Where each value of a point lies in a record.
#[derive(Debug)]
pub(super) struct Points {
    stride: usize,
    count: u32,
    left: u32,
    before: u64,
    mean: [Property; 3],
    color: Option<[Property; 3]>,
}

impl Points {
    /// The points of a file; `None` when its rows are splats, or have no place.
    pub(super) fn new(header: &Header) -> Result<Option<Self>, Refusal> {
        let Some((vertex, before)) = element(header, "vertex")? else {
            return Ok(None);
        };
        let splats = ["f_dc_0", "rot_0", "scale_0", "opacity"];
        if splats.iter().any(|name| vertex.property(name).is_some()) {
            return Ok(None);
        }
        let count = u32::try_from(vertex.count).map_err(|_| super::too_large(vertex.bytes()))?;
        Ok(three(vertex, ["x", "y", "z"]).map(|mean| Self {
            stride: vertex.stride,
            count,
            left: count,
            before,
            mean,
            color: COLORS.iter().find_map(|names| three(vertex, *names)),
        }))
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of the elements that come first.
    pub(super) fn bytes_before(&self) -> u64 {
        self.before
    }

    pub(super) fn stride(&self) -> Option<usize> {
        (self.left > 0).then_some(self.stride)
    }

    /// The point of a record as a small, round, opaque splat; `None` when its place is not a number.
    pub(super) fn read(&mut self, record: &[u8]) -> Option<Splat> {
        self.left -= 1;
        let mean = self.mean.each_ref().map(|property| property.read(record));
        let channel = |property: &Property| {
            let full = match property.scalar {
                Scalar::U8 => 255.0,
                Scalar::U16 => 65_535.0,
                _ => 1.0,
            };
            property.read(record) / full
        };
        let color = self
            .color
            .as_ref()
            .map_or([GREY; 3], |color| color.each_ref().map(channel));
        let finite = mean.iter().chain(&color).all(|v| v.is_finite());
        finite.then(|| Splat {
            mean,
            quat: [1.0, 0.0, 0.0, 0.0],
            log_scale: [LOG_SCALE; 3],
            opacity: 1.0,
            dc: color.map(constant_of),
            rest: [[0.0; 3]; REST_MAX],
        })
    }
}

fn three(element: &Element, names: [&str; 3]) -> Option<[Property; 3]> {
    let [a, b, c] = names.map(|name| element.property(name).cloned());
    Some([a?, b?, c?])
}
