//! GLB (binary glTF 2.0) with the extension `KHR_gaussian_splatting`.
//!
//! The primitives that have the extension are read, one after the other, as the nodes of the file lie: transformations
//! of nodes are not applied, because a turned splat has turned harmonics. A file without the extension is named a mesh.

use super::gltf::turned;
use super::{Collected, cut, float, word};
use crate::json::{self, Value};
use crate::math::unit_quat;
use crate::ply::{Filter, MIP_KERNEL, Refusal};
use crate::splat::{REST_MAX, Splat, rest_count};

const EXTENSION: &str = "KHR_gaussian_splatting";
const JSON_CHUNK: u32 = 0x4e4f_534a;
const BINARY_CHUNK: u32 = 0x004e_4942;
/// glTF's numbers for the types of components.
const BYTE: u64 = 5120;
const UNSIGNED_BYTE: u64 = 5121;
const SHORT: u64 = 5122;
const UNSIGNED_SHORT: u64 = 5123;
const FLOAT: u64 = 5126;

pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let short = || cut("GLB");
    let (mut document, mut binary) = (None, None);
    let mut at = 12;
    while at < bytes.len() {
        let length = word(bytes, at).ok_or_else(short)? as usize;
        let kind = word(bytes, at + 4).ok_or_else(short)?;
        let chunk = bytes
            .get(at + 8..)
            .and_then(|rest| rest.get(..length))
            .ok_or_else(short)?;
        match kind {
            JSON_CHUNK if document.is_none() => document = Some(chunk),
            BINARY_CHUNK if binary.is_none() => binary = Some(chunk),
            _ => {}
        }
        at += 8 + length.next_multiple_of(4);
    }
    let text = std::str::from_utf8(document.ok_or_else(short)?).map_err(|_| "the GLB file is damaged".to_owned())?;
    let gltf = json::parse(text.trim_end()).map_err(|e| format!("the text of the GLB file is {e}"))?;
    let primitives: Vec<&Value> = gltf
        .items("meshes")
        .iter()
        .flat_map(|mesh| mesh.items("primitives"))
        .filter(|primitive| primitive.get("extensions").and_then(|all| all.get(EXTENSION)).is_some())
        .collect();
    if primitives.is_empty() {
        return Err(format!(
            "the GLB file has no {EXTENSION}: it is a mesh, and splats and points are opened"
        ));
    }
    let file = File {
        gltf: &gltf,
        binary: binary.ok_or_else(short)?,
    };
    let sets = primitives.iter().map(|primitive| Set::new(&file, primitive));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    let count = sets.iter().map(|set| set.mean.count).sum();
    let degree = sets.iter().map(|set| set.degree).max().unwrap_or(0);
    // What the exporter says of the filter stands at the mesh.
    let extras = gltf
        .items("meshes")
        .iter()
        .find_map(|mesh| mesh.get("extras"))
        .unwrap_or(&Value::Null);
    let filter = if extras.text("renderMode") == Some("mip") {
        Filter::Mip(extras.number("kernelSize").map_or(MIP_KERNEL, |size| size as f32))
    } else {
        Filter::Classic
    };
    let mut out = Collected::new(count, degree, filter, extras.whole("iteration"))?;
    for set in &sets {
        for index in 0..set.mean.count {
            out.push(&turned(set.splat(index)));
        }
    }
    Ok(out.end())
}

struct File<'a> {
    gltf: &'a Value,
    binary: &'a [u8],
}

/// An accessor: numbers of one attribute.
struct Numbers<'a> {
    bytes: &'a [u8],
    stride: usize,
    component: u64,
    count: usize,
}

impl<'a> File<'a> {
    /// The attribute of a primitive, `n` numbers a splat.
    fn attribute(&self, primitive: &Value, name: &str, n: usize) -> Result<Option<Numbers<'a>>, Refusal> {
        let index = primitive.get("attributes").and_then(|all| all.whole(name));
        let Some(index) = index else {
            return Ok(None);
        };
        let damaged = || format!("the GLB file is damaged: {name} leads nowhere");
        let accessor = self.gltf.items("accessors").get(index as usize).ok_or_else(damaged)?;
        let view = accessor.whole("bufferView").ok_or_else(damaged)?;
        let view = self.gltf.items("bufferViews").get(view as usize).ok_or_else(damaged)?;
        let component = accessor.whole("componentType").ok_or_else(damaged)?;
        let size = match component {
            FLOAT => 4,
            SHORT | UNSIGNED_SHORT => 2,
            BYTE | UNSIGNED_BYTE => 1,
            _ => return Err(damaged()),
        };
        let number = |of: &Value, key: &str| usize::try_from(of.whole(key).unwrap_or(0)).ok();
        let place = |of: &Value| number(of, "byteOffset");
        let stride = number(view, "byteStride")
            .filter(|stride| *stride > 0)
            .unwrap_or(size * n);
        let count = number(accessor, "count").ok_or_else(damaged)?;
        let start = place(view)
            .zip(place(accessor))
            .and_then(|(a, b)| a.checked_add(b))
            .ok_or_else(damaged)?;
        let length = count
            .checked_sub(1)
            .map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(size * n));
        let bytes = self
            .binary
            .get(start..)
            .and_then(|rest| rest.get(..length?))
            .ok_or_else(|| cut("GLB"))?;
        Ok(Some(Numbers {
            bytes,
            stride,
            component,
            count,
        }))
    }
}

impl Numbers<'_> {
    /// The numbers of a splat; whole ones are shares of their type's largest.
    fn read<const N: usize>(&self, index: usize) -> [f32; N] {
        let at = index * self.stride;
        let byte = |i: usize| self.bytes.get(at + i).copied().unwrap_or_default();
        let pair = |i: usize| [byte(2 * i), byte(2 * i + 1)];
        std::array::from_fn(|i| match self.component {
            FLOAT => float(self.bytes, at + 4 * i).unwrap_or(f32::NAN),
            UNSIGNED_SHORT => f32::from(u16::from_le_bytes(pair(i))) / 65_535.0,
            SHORT => (f32::from(i16::from_le_bytes(pair(i))) / 32_767.0).max(-1.0),
            UNSIGNED_BYTE => f32::from(byte(i)) / 255.0,
            _ => (f32::from(byte(i).cast_signed()) / 127.0).max(-1.0),
        })
    }
}

/// The attributes of one primitive.
struct Set<'a> {
    degree: u32,
    mean: Numbers<'a>,
    quat: Numbers<'a>,
    scale: Numbers<'a>,
    opacity: Numbers<'a>,
    /// The constant coefficient first.
    sh: Vec<Numbers<'a>>,
}

impl<'a> Set<'a> {
    fn new(file: &File<'a>, primitive: &Value) -> Result<Self, Refusal> {
        let need = |name: &str, n: usize| {
            let found = file.attribute(primitive, name, n)?;
            found.ok_or_else(|| format!("the GLB file has no {name}"))
        };
        let mut sh = Vec::new();
        let mut degree = 0;
        'degrees: for each in 0..=3_u32 {
            let mut orders = Vec::new();
            for order in 0..=2 * each {
                let name = format!("{EXTENSION}:SH_DEGREE_{each}_COEF_{order}");
                match file.attribute(primitive, &name, 3)? {
                    Some(numbers) => orders.push(numbers),
                    None if each == 0 => return Err(format!("the GLB file has no {name}")),
                    None => break 'degrees,
                }
            }
            sh.extend(orders);
            degree = each;
        }
        let set = Self {
            degree,
            mean: need("POSITION", 3)?,
            quat: need(&format!("{EXTENSION}:ROTATION"), 4)?,
            scale: need(&format!("{EXTENSION}:SCALE"), 3)?,
            opacity: need(&format!("{EXTENSION}:OPACITY"), 1)?,
            sh,
        };
        let others = [&set.quat, &set.scale, &set.opacity].into_iter().chain(&set.sh);
        let uneven = others.map(|numbers| numbers.count).any(|count| count != set.mean.count);
        if uneven {
            return Err("the GLB file is damaged: its attributes have different lengths".to_owned());
        }
        Ok(set)
    }

    fn splat(&self, index: usize) -> Splat {
        let [x, y, z, w] = self.quat.read(index);
        let scale: [f32; 3] = self.scale.read(index);
        let [opacity] = self.opacity.read(index);
        let mut rest = [[0.0; 3]; REST_MAX];
        for (slot, numbers) in rest.iter_mut().zip(&self.sh[1..]).take(rest_count(self.degree)) {
            *slot = numbers.read(index);
        }
        Splat {
            mean: self.mean.read(index),
            quat: unit_quat([w, x, y, z]).unwrap_or([f32::NAN; 4]),
            log_scale: scale.map(f32::ln),
            opacity,
            dc: self.sh[0].read(index),
            rest,
        }
    }
}
