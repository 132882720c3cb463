//! GLB (binary glTF 2.0) with the extension `KHR_gaussian_splatting`.
//!
//! The primitives that have the extension are read, one after the other, as the nodes of the file lie: transformations
//! of nodes are not applied, because a turned splat has turned harmonics. A file without the extension is a mesh.

use kiln_formats::Error;
use kiln_formats::glb::{self, EXTENSION, Json, Numbers, Set};

use super::{Collected, cut, float, word};
use crate::json::{self, Value};
use crate::math::{Mat3, Vec3, add, cross, mat_mul, mat_vec, normalized_or, pow, rotation_of, unit_quat};
use crate::ply::{Filter, MIP_KERNEL, Refusal};
use crate::surface::{Corner, Surface};

const JSON_CHUNK: u32 = 0x4e4f_534a;
const BINARY_CHUNK: u32 = 0x004e_4942;
/// glTF's numbers for the types of components.
const BYTE: u64 = 5120;
const UNSIGNED_BYTE: u64 = 5121;
const SHORT: u64 = 5122;
const UNSIGNED_SHORT: u64 = 5123;
const UNSIGNED_INT: u64 = 5125;
const FLOAT: u64 = 5126;
/// Primitive mode of separate triangles.
const TRIANGLES: u64 = 4;
/// Most corners: a file may name one mesh again and again.
const MOST_CORNERS: usize = 30_000_000;

/// Whether a file says that it uses the extension.
pub(super) fn holds_splats(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1 << 20)];
    head.windows(EXTENSION.len())
        .any(|window| window == EXTENSION.as_bytes())
}

/// The text of a file, and its numbers.
fn open(bytes: &[u8]) -> Result<(Value, &[u8]), Refusal> {
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
    glb::check_required(&gltf).map_err(|e| e.to_string())?;
    Ok((gltf, binary.ok_or_else(short)?))
}

/// Reads the triangles of a file's scene, placed as their nodes say.
pub(super) fn read_mesh(bytes: &[u8]) -> Result<Surface, Refusal> {
    let (gltf, binary) = open(bytes)?;
    let file = File { gltf: &gltf, binary };
    let mut out = Surface::default();
    let scene = gltf.items("scenes").get(gltf.whole("scene").unwrap_or(0) as usize);
    let roots = scene.map_or(&[][..], |scene| scene.items("nodes"));
    let mut open: Vec<(&Value, Placed)> = roots.iter().map(|node| (node, Placed::default())).collect();
    // The nodes are a tree: none is met twice.
    let mut left = gltf.items("nodes").len();
    while let Some((index, outer)) = open.pop() {
        let at = |key: &str, index: Option<f64>| index.and_then(|index| gltf.items(key).get(index as usize));
        let node = at("nodes", index.as_number()).zip(left.checked_sub(1));
        let (node, rest) = node.ok_or_else(|| "the GLB file is damaged: a node leads nowhere".to_owned())?;
        left = rest;
        let placed = Placed::of(node).within(&outer);
        if let Some(mesh) = at("meshes", node.number("mesh")) {
            for primitive in mesh.items("primitives") {
                file.triangles(primitive, &placed, &mut out)?;
            }
        }
        open.extend(node.items("children").iter().map(|child| (child, placed)));
    }
    Ok(out)
}

pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let (gltf, binary) = open(bytes)?;
    let mut numbers = Numbers::new(binary.len() as u64);
    let sets = glb::primitives(&gltf).map(|(primitive, about, _)| {
        let set = Set::new(&gltf, primitive, &mut numbers);
        set.map_err(|e| match glb::packed(about) {
            Some(_) => Error::Required(glb::SPZ_EXTENSION.into()).to_string(),
            None => e.to_string(),
        })
    });
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    if sets.is_empty() {
        return Err(format!(
            "no part of the GLB file is of {EXTENSION}, though it names that"
        ));
    }
    let count = sets.iter().map(Set::count).sum::<u64>() as usize;
    let degree = sets.iter().map(Set::degree).max().unwrap_or(0);
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
    let fetch = |first: u64, length: u64, bytes: &mut Vec<u8>| {
        bytes.clear();
        let rest = binary.get(first as usize..);
        bytes.extend_from_slice(
            rest.and_then(|rest| rest.get(..length as usize))
                .ok_or_else(|| cut("GLB"))?,
        );
        Ok::<(), Refusal>(())
    };
    for set in &sets {
        set.splats(fetch, |splat| out.take(splat))?;
    }
    Ok(out.end())
}

impl Json for Value {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key).filter(|value| **value != Value::Null)
    }

    fn list(&self) -> &[Self] {
        self.as_items()
    }

    fn count(&self) -> Option<u64> {
        self.as_whole()
    }

    fn word(&self) -> Option<&str> {
        self.as_text()
    }
}

struct File<'a> {
    gltf: &'a Value,
    binary: &'a [u8],
}

/// An accessor: numbers of one attribute.
struct Accessor<'a> {
    bytes: &'a [u8],
    stride: usize,
    component: u64,
    count: usize,
}

impl<'a> File<'a> {
    /// The attribute of a primitive, `n` numbers a splat.
    fn attribute(&self, primitive: &Value, name: &str, n: usize) -> Result<Option<Accessor<'a>>, Refusal> {
        let index = primitive.get("attributes").and_then(|all| all.whole(name));
        index.map(|index| self.numbers(index, name, n)).transpose()
    }

    /// The numbers of an accessor, `n` an item; `name` is what they are.
    fn numbers(&self, index: u64, name: &str, n: usize) -> Result<Accessor<'a>, Refusal> {
        let damaged = || format!("the GLB file is damaged: {name} leads nowhere");
        let accessor = self.gltf.items("accessors").get(index as usize).ok_or_else(damaged)?;
        let view = accessor.whole("bufferView").ok_or_else(damaged)?;
        let view = self.gltf.items("bufferViews").get(view as usize).ok_or_else(damaged)?;
        let component = accessor.whole("componentType").ok_or_else(damaged)?;
        let size = match component {
            FLOAT | UNSIGNED_INT => 4,
            SHORT | UNSIGNED_SHORT => 2,
            BYTE | UNSIGNED_BYTE => 1,
            _ => return Err(damaged()),
        };
        // What lies close together has all components of its type, though fewer are read.
        let width = match accessor.text("type") {
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => n,
        };
        let number = |of: &Value, key: &str| usize::try_from(of.whole(key).unwrap_or(0)).ok();
        let place = |of: &Value| number(of, "byteOffset");
        let stride = number(view, "byteStride")
            .filter(|stride| *stride > 0)
            .unwrap_or(size * width);
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
        Ok(Accessor {
            bytes,
            stride,
            component,
            count,
        })
    }
}

/// Where a node puts what it holds.
#[derive(Clone, Copy)]
struct Placed {
    linear: Mat3,
    shift: Vec3,
}

impl Default for Placed {
    fn default() -> Self {
        Self {
            linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            shift: [0.0; 3],
        }
    }
}

impl Placed {
    fn of(node: &Value) -> Self {
        let listed = |key: &str| -> Vec<f32> {
            let numbers = node.items(key).iter().filter_map(Value::as_number);
            numbers.map(|number| number as f32).collect()
        };
        if let [a, b, c, _, d, e, f, _, g, h, i, _, x, y, z, _] = listed("matrix")[..] {
            return Self {
                linear: [[a, d, g], [b, e, h], [c, f, i]],
                shift: [x, y, z],
            };
        }
        let mut out = Self::default();
        if let [x, y, z, w] = listed("rotation")[..]
            && let Some(unit) = unit_quat([w, x, y, z])
        {
            out.linear = rotation_of(unit);
        }
        if let [x, y, z] = listed("scale")[..] {
            out.linear = out.linear.map(|row| [row[0] * x, row[1] * y, row[2] * z]);
        }
        if let [x, y, z] = listed("translation")[..] {
            out.shift = [x, y, z];
        }
        out
    }

    fn point(&self, point: Vec3) -> Vec3 {
        add(mat_vec(self.linear, point), self.shift)
    }

    fn within(&self, outer: &Self) -> Self {
        Self {
            linear: mat_mul(outer.linear, self.linear),
            shift: outer.point(self.shift),
        }
    }

    /// A normal stays upright on what is stretched.
    fn normal(&self, normal: Vec3) -> Vec3 {
        let [a, b, c] = self.linear;
        normalized_or(mat_vec([cross(b, c), cross(c, a), cross(a, b)], normal), [0.0; 3])
    }
}

impl File<'_> {
    fn triangles(&self, primitive: &Value, placed: &Placed, out: &mut Surface) -> Result<(), Refusal> {
        if primitive.whole("mode").unwrap_or(TRIANGLES) != TRIANGLES {
            return Ok(());
        }
        let places = self.attribute(primitive, "POSITION", 3)?;
        let places =
            places.ok_or_else(|| "the GLB file has no POSITION; compressed meshes are not opened".to_owned())?;
        let normals = self.attribute(primitive, "NORMAL", 3)?;
        let uvs = self.attribute(primitive, "TEXCOORD_0", 2)?;
        let colors = self.attribute(primitive, "COLOR_0", 3)?;
        let order = primitive.whole("indices");
        let order = order.map(|index| self.numbers(index, "indices", 1)).transpose()?;
        let count = order.as_ref().map_or(places.count, |order| order.count);
        let corner = |at: usize| {
            let at = order.as_ref().map_or(at, |order| order.whole(at));
            let mut corner = Corner {
                position: placed.point(places.read(at)),
                ..Corner::default()
            };
            corner.uv = uvs.as_ref().map_or(corner.uv, |uvs| uvs.read(at));
            corner.normal = normals
                .as_ref()
                .map_or(corner.normal, |normals| placed.normal(normals.read(at)));
            corner.color = colors
                .as_ref()
                .map_or(corner.color, |colors| colors.read(at).map(encoded));
            (at < places.count).then_some(corner)
        };
        for first in (0..count / 3).map(|triangle| 3 * triangle) {
            let [a, b, c] = [0, 1, 2].map(|k| corner(first + k).ok_or_else(super::mesh::nowhere));
            out.push([a?, b?, c?]);
            if out.positions.len() > MOST_CORNERS * 3 {
                return Err("the mesh has more than ten million triangles".to_owned());
            }
        }
        out.has_uvs |= uvs.is_some();
        out.has_colors |= colors.is_some();
        if out.picture.is_none() {
            out.picture = self.picture(primitive);
        }
        Ok(())
    }

    /// Bytes of the picture that colours a primitive.
    fn picture(&self, primitive: &Value) -> Option<Vec<u8>> {
        let at = |key: &str, index: u64| self.gltf.items(key).get(index as usize);
        let material = at("materials", primitive.whole("material")?)?;
        let texture = material
            .get("pbrMetallicRoughness")?
            .get("baseColorTexture")?
            .whole("index")?;
        let image = at("images", at("textures", texture)?.whole("source")?)?;
        let view = at("bufferViews", image.whole("bufferView")?)?;
        let start = view.whole("byteOffset").unwrap_or(0) as usize;
        let bytes = self.binary.get(start..)?.get(..view.whole("byteLength")? as usize)?;
        Some(bytes.to_vec())
    }
}

/// A share of light as photos are encoded (sRGB).
fn encoded(linear: f32) -> f32 {
    if linear <= 0.003_130_8 {
        12.92 * linear
    } else {
        1.055 * pow(linear.into(), 1.0 / 2.4) as f32 - 0.055
    }
}

impl Accessor<'_> {
    /// A whole number.
    fn whole(&self, index: usize) -> usize {
        let at = index * self.stride;
        match self.component {
            UNSIGNED_INT => word(self.bytes, at).map_or(usize::MAX, |word| word as usize),
            UNSIGNED_SHORT => self
                .bytes
                .get(at..at + 2)
                .map_or(usize::MAX, |two| usize::from(two[0]) | usize::from(two[1]) << 8),
            _ => self.bytes.get(at).map_or(usize::MAX, |byte| usize::from(*byte)),
        }
    }

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
