//! Reading.

use serde_json::Value;

use super::{FLOAT, UNSIGNED_INT, UNSIGNED_SHORT};
use crate::vector::{V3, cross, dot, narrow, unit, wide};
use crate::{Error, Mesh};

const FORMAT: &str = "GLB";
const UNSIGNED_BYTE: u32 = 5121;
/// Primitive mode of separate triangles (glTF 2.0, 5.24.4).
const TRIANGLES: u64 = 4;
/// Extensions that change nothing that is read here.
const HARMLESS: [&str; 1] = ["KHR_materials_unlit"];
/// Most nodes between a scene and a mesh.
const MOST_DEPTH: usize = 64;
/// Most bytes of vertices and triangles per byte of the file: nodes may share meshes, and a small file could ask for any number.
const MOST_REPEATED: usize = 64;
/// Most bytes of the description, each of which takes up to 16 in memory.
const MOST_JSON: usize = 8 << 20;
/// Bytes that a primitive takes of the room however small it is: nodes that share many empty ones take time.
const LEAST_PRIMITIVE: usize = 64;
/// Bytes of vertices and triangles that any file may ask for.
const LEAST_ROOM: usize = 1 << 24;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// All meshes of the scene as one, placed as their nodes say.
    pub mesh: Mesh,
    /// Bytes of the picture (PNG or JPEG) that colours the surface.
    pub picture: Option<Vec<u8>>,
}

/// Reads the triangles of a file's scene: positions, normals, the first texture coordinates and colours where every part has
/// them, and the picture of the base colour. Colours are encoded as photos are.
///
/// # Errors
/// [`Error::Content`] for what is no GLB file, damaged, or uses what is not read: files beside it, compression, several
/// pictures; and what [`Mesh`] refuses.
pub fn read(bytes: &[u8]) -> Result<Read, Error> {
    read_from(bytes, [0.0; 3])
}

/// [`read()`] of a mesh whose positions are wanted relative to `origin`: nodes place them in the coordinates of a data set.
///
/// # Errors
/// Those of [`read()`].
pub fn read_from(bytes: &[u8], origin: [f64; 3]) -> Result<Read, Error> {
    let file = File::new(bytes)?;
    if let Some(name) = list(&file.json, "extensionsRequired")
        .iter()
        .filter_map(Value::as_str)
        .find(|name| !HARMLESS.contains(name))
    {
        return Err(content(
            format!("it needs the extension {name}"),
            "write it without compression and extensions",
        ));
    }
    let mut parts = Parts {
        seen: vec![false; list(&file.json, "nodes").len()],
        room: bytes.len().saturating_mul(MOST_REPEATED).max(LEAST_ROOM),
        ..Parts::default()
    };
    let scene = file.json["scene"].as_u64().unwrap_or(0);
    let [x, y, z] = origin.map(|value| 0.0 - value);
    let from = [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]];
    for node in list(at(&file.json, "scenes", scene)?, "nodes") {
        file.node(whole(node)?, &from, 0, &mut parts)?;
    }
    let mut mesh = Mesh::new(parts.positions, parts.triangles)?.with_origin(origin);
    if parts.with_normals {
        mesh = mesh.with_normals(parts.normals)?;
    }
    if parts.with_colors {
        mesh = mesh.with_colors(parts.colors)?;
    }
    if parts.with_uvs {
        mesh = mesh.with_uvs(parts.uvs)?;
    }
    let picture = match parts.images[..] {
        [] => None,
        [image] => Some(file.image(image)?),
        ref several => {
            return Err(content(
                format!("{} pictures colour it", several.len()),
                "join them into one",
            ));
        }
    };
    Ok(Read { mesh, picture })
}

/// What is gathered of all meshes.
#[derive(Default)]
struct Parts {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    colors: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
    uvs: Vec<[[f32; 2]; 3]>,
    images: Vec<u64>,
    /// Nodes that were visited: they form trees (glTF 2.0, 3.5.2), so none is visited twice.
    seen: Vec<bool>,
    /// Bytes that more vertices and triangles may take.
    room: usize,
    with_normals: bool,
    with_colors: bool,
    with_uvs: bool,
}

impl Parts {
    /// Takes room for the vertices and triangles of a primitive.
    fn take_room(&mut self, bytes: usize) -> Result<(), Error> {
        self.room = self.room.checked_sub(bytes).ok_or_else(|| {
            content(
                "its nodes and primitives repeat the same numbers more often than a file of its size may ask for",
                "write each mesh once, without instances",
            )
        })?;
        Ok(())
    }
}

/// Rows of a placement: a turn or stretch, and a step.
type Placement = [[f64; 4]; 3];

struct File<'a> {
    json: Value,
    binary: &'a [u8],
}

fn content(found: impl Into<String>, hint: &'static str) -> Error {
    Error::Content {
        format: FORMAT,
        found: found.into(),
        hint,
    }
}

fn damaged(found: impl Into<String>) -> Error {
    content(found, "write it again")
}

/// A list of an object; empty where there is none.
fn list<'v>(object: &'v Value, name: &str) -> &'v [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}

fn at<'v>(json: &'v Value, name: &str, index: u64) -> Result<&'v Value, Error> {
    let found = usize::try_from(index)
        .ok()
        .and_then(|index| list(json, name).get(index));
    found.ok_or_else(|| damaged(format!("{name} has no entry {index}")))
}

fn whole(value: &Value) -> Result<u64, Error> {
    value.as_u64().ok_or_else(|| damaged("an index is no whole number"))
}

impl<'a> File<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let word = |at: usize| -> Option<u32> {
            let word = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes(word.try_into().ok()?))
        };
        if bytes.get(..4) != Some(b"glTF") {
            return Err(content("it does not begin as GLB files do", "name a GLB file"));
        }
        if word(4) != Some(2) {
            return Err(content("it is not of version 2", "write it as glTF 2.0"));
        }
        let (mut json, mut binary, mut at) = (None, &[][..], 12);
        while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
            let chunk = bytes.get(at + 8..).and_then(|rest| rest.get(..length as usize));
            let chunk = chunk.ok_or_else(|| damaged("it ends inside a chunk"))?;
            match &kind.to_le_bytes() {
                b"JSON" if json.is_none() => json = Some(chunk),
                b"BIN\0" if binary.is_empty() => binary = chunk,
                _ => {}
            }
            at += 8 + length as usize;
        }
        let json = json.ok_or_else(|| damaged("it has no description"))?;
        if json.len() > MOST_JSON {
            return Err(content(
                format!("its description has {} bytes, at most {MOST_JSON} are read", json.len()),
                "write fewer, larger meshes",
            ));
        }
        let json = serde_json::from_slice(json).map_err(|e| damaged(format!("its description: {e}")))?;
        Ok(Self { json, binary })
    }

    fn node(&self, index: u64, above: &Placement, depth: usize, parts: &mut Parts) -> Result<(), Error> {
        if depth > MOST_DEPTH {
            return Err(damaged("its nodes lie too deep in each other"));
        }
        let node = at(&self.json, "nodes", index)?;
        let seen = usize::try_from(index).ok().and_then(|index| parts.seen.get_mut(index));
        if seen.is_none_or(|seen| std::mem::replace(seen, true)) {
            let found = format!("node {index} lies in two nodes, or in itself");
            return Err(content(
                found,
                "write each node once: nodes form trees, and meshes may be shared",
            ));
        }
        let placement = join(above, &placement(node)?);
        if let Some(mesh) = node.get("mesh") {
            for primitive in list(at(&self.json, "meshes", whole(mesh)?)?, "primitives") {
                parts.take_room(LEAST_PRIMITIVE)?;
                self.primitive(primitive, &placement, parts)?;
            }
        }
        list(node, "children")
            .iter()
            .try_for_each(|child| self.node(whole(child)?, &placement, depth + 1, parts))
    }

    fn primitive(&self, primitive: &Value, placement: &Placement, parts: &mut Parts) -> Result<(), Error> {
        let mode = primitive.get("mode").map_or(Ok(TRIANGLES), whole)?;
        // Points and lines are no surface.
        if mode < TRIANGLES {
            return Ok(());
        }
        if mode > TRIANGLES {
            return Err(content(
                "triangles are stored as strips or fans",
                "write them one by one",
            ));
        }
        let attributes = &primitive["attributes"];
        let vectors = |name: &str, length: usize| -> Result<Option<Vec<f32>>, Error> {
            match attributes.get(name) {
                Some(accessor) => self.numbers(whole(accessor)?, length).map(Some),
                None => Ok(None),
            }
        };
        let positions = vectors("POSITION", 3)?.ok_or_else(|| damaged("triangles without positions"))?;
        let triples = |values: Vec<f32>| -> Vec<[f32; 3]> { values.as_chunks().0.to_vec() };
        let positions = triples(positions);
        let first = u32::try_from(parts.positions.len()).map_err(|_| damaged("it has too many vertices"))?;
        let count = positions.len();
        let same = |what: &str, found: usize| match found == count {
            true => Ok(()),
            false => Err(damaged(format!("{found} {what} for {count} positions"))),
        };
        let is_first = parts.triangles.is_empty();
        let normals = vectors("NORMAL", 3)?.map(triples);
        let colors = match attributes.get("COLOR_0") {
            Some(accessor) => Some(self.colors(whole(accessor)?)?),
            None => None,
        };
        let uvs = vectors("TEXCOORD_0", 2)?.map(|values| values.as_chunks::<2>().0.to_vec());
        for (what, found) in [
            ("normals", normals.as_ref().map(Vec::len)),
            ("colours", colors.as_ref().map(Vec::len)),
            ("texture coordinates", uvs.as_ref().map(Vec::len)),
        ] {
            found.map_or(Ok(()), |found| same(what, found))?;
        }
        for (kept, found) in [
            (&mut parts.with_normals, normals.is_some()),
            (&mut parts.with_colors, colors.is_some()),
            (&mut parts.with_uvs, uvs.is_some()),
        ] {
            *kept = found && (is_first || *kept);
        }
        let indices = match primitive.get("indices") {
            Some(accessor) => self.indices(whole(accessor)?)?,
            None => (0..u32::try_from(count).unwrap_or(u32::MAX)).collect(),
        };
        // Three vectors a vertex; corners and their texture coordinates.
        parts.take_room(
            count
                .saturating_mul(36)
                .saturating_add(indices.len().saturating_mul(12)),
        )?;
        if let Some(index) = indices.iter().find(|index| **index as usize >= count) {
            return Err(Error::Index {
                triangle: parts.triangles.len(),
                vertex: (*index).into(),
                vertices: count,
            });
        }
        // What a placement mirrors is inside out.
        let turns = placement.map(|row| [row[0], row[1], row[2]]);
        let mirrored = dot(turns[0], cross(turns[1], turns[2])) < 0.0;
        for corners in indices.as_chunks::<3>().0 {
            let corners = if mirrored {
                [corners[0], corners[2], corners[1]]
            } else {
                *corners
            };
            parts.triangles.push(corners.map(|index| first + index));
            parts
                .uvs
                .push(corners.map(|index| uvs.as_ref().map_or([0.0; 2], |uvs| uvs[index as usize])));
        }
        let place = |p: &[f32; 3]| narrow(placement.map(|row| dot([row[0], row[1], row[2]], wide(*p)) + row[3]));
        parts.positions.extend(positions.iter().map(place));
        // Normals turn by the cofactors of what positions turn by.
        let cofactors = [
            cross(turns[1], turns[2]),
            cross(turns[2], turns[0]),
            cross(turns[0], turns[1]),
        ];
        let sign = if mirrored { -1.0 } else { 1.0 };
        let turn = |n: [f32; 3]| -> [f32; 3] {
            let turned: V3 = cofactors.map(|row| sign * dot(row, wide(n)));
            narrow(unit(turned).unwrap_or_default())
        };
        let none = || vec![[0.0; 3]; count];
        parts.normals.extend(normals.unwrap_or_else(none).into_iter().map(turn));
        parts.colors.extend(colors.unwrap_or_else(none));
        if let Some(image) = self
            .picture_of(primitive)?
            .filter(|image| !parts.images.contains(image))
        {
            parts.images.push(image);
        }
        Ok(())
    }

    /// The picture that colours a primitive.
    fn picture_of(&self, primitive: &Value) -> Result<Option<u64>, Error> {
        let Some(material) = primitive.get("material") else {
            return Ok(None);
        };
        let material = at(&self.json, "materials", whole(material)?)?;
        match &material["pbrMetallicRoughness"]["baseColorTexture"]["index"] {
            Value::Null => Ok(None),
            texture => whole(&at(&self.json, "textures", whole(texture)?)?["source"]).map(Some),
        }
    }

    fn image(&self, index: u64) -> Result<Vec<u8>, Error> {
        match at(&self.json, "images", index)?.get("bufferView") {
            Some(view) => Ok(self.view(whole(view)?)?.to_vec()),
            None => Err(content("its picture lies in another file", "write it as one GLB file")),
        }
    }

    /// Bytes of a buffer view.
    fn view(&self, index: u64) -> Result<&'a [u8], Error> {
        let view = at(&self.json, "bufferViews", index)?;
        let buffer = at(&self.json, "buffers", whole(&view["buffer"])?)?;
        if view["buffer"].as_u64() != Some(0) || buffer.get("uri").is_some() {
            return Err(content("its numbers lie in another file", "write it as one GLB file"));
        }
        let offset = view["byteOffset"].as_u64().unwrap_or(0);
        let length = whole(&view["byteLength"])?;
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let bytes = range.and_then(|(from, length)| self.binary.get(from..from.checked_add(length)?));
        bytes.ok_or_else(|| damaged(format!("buffer view {index} lies beyond its end")))
    }

    /// Entries of an accessor, as raw bytes of `length` components each, and its component type.
    fn raw(&self, index: u64, lengths: &[usize]) -> Result<(Vec<&'a [u8]>, u32, usize), Error> {
        let accessor = at(&self.json, "accessors", index)?;
        if accessor.get("sparse").is_some() {
            return Err(content("an accessor is sparse", "write it without"));
        }
        let length = match accessor["type"].as_str() {
            Some("SCALAR") => 1,
            Some("VEC2") => 2,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => 0,
        };
        let component = u32::try_from(whole(&accessor["componentType"])?).unwrap_or(0);
        let bytes = match component {
            UNSIGNED_BYTE => 1,
            UNSIGNED_SHORT => 2,
            UNSIGNED_INT | FLOAT => 4,
            _ => 0,
        };
        if !lengths.contains(&length) || bytes == 0 {
            return Err(damaged(format!(
                "accessor {index} is not of the kind that its use wants"
            )));
        }
        let count = usize::try_from(whole(&accessor["count"])?).unwrap_or(usize::MAX);
        let view_index = accessor.get("bufferView");
        let view_index = whole(view_index.ok_or_else(|| damaged(format!("accessor {index} has no bytes")))?)?;
        let view = self.view(view_index)?;
        let own = length * bytes;
        let stride = at(&self.json, "bufferViews", view_index)?["byteStride"].as_u64();
        let stride = stride.and_then(|s| usize::try_from(s).ok()).unwrap_or(own).max(1);
        let first = usize::try_from(accessor["byteOffset"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
        let end = count.checked_sub(1).map(|last| {
            let last = last.checked_mul(stride)?.checked_add(first)?;
            last.checked_add(own)
        });
        match end {
            None => Ok((Vec::new(), component, length)),
            Some(Some(end)) if end <= view.len() => {
                let entry = |i: usize| &view[first + i * stride..][..own];
                Ok(((0..count).map(entry).collect(), component, length))
            }
            Some(_) => Err(damaged(format!("accessor {index} lies beyond its buffer view"))),
        }
    }

    /// Numbers of vectors of `length`; whole ones are shares of their type's largest value.
    fn numbers(&self, index: u64, length: usize) -> Result<Vec<f32>, Error> {
        let (entries, component, _) = self.raw(index, &[length])?;
        Ok(entries
            .into_iter()
            .flat_map(|entry| components(entry, component))
            .collect())
    }

    /// Colours, encoded as photos are.
    fn colors(&self, index: u64) -> Result<Vec<[f32; 3]>, Error> {
        let (entries, component, _) = self.raw(index, &[3, 4])?;
        let color = |entry: &[u8]| {
            let mut values = components(entry, component);
            [0; 3].map(|_| code(values.next().unwrap_or(0.0)))
        };
        Ok(entries.into_iter().map(color).collect())
    }

    fn indices(&self, index: u64) -> Result<Vec<u32>, Error> {
        let (entries, component, _) = self.raw(index, &[1])?;
        let number = |entry: &[u8]| {
            let mut word = [0; 4];
            word[..entry.len()].copy_from_slice(entry);
            u32::from_le_bytes(word)
        };
        match component {
            FLOAT => Err(damaged("indices are not whole numbers")),
            _ => Ok(entries.into_iter().map(number).collect()),
        }
    }
}

fn components(entry: &[u8], component: u32) -> impl Iterator<Item = f32> {
    let bytes = match component {
        UNSIGNED_BYTE => 1,
        UNSIGNED_SHORT => 2,
        _ => 4,
    };
    entry.chunks_exact(bytes).map(move |value| {
        let mut word = [0; 4];
        word[..bytes].copy_from_slice(value);
        match component {
            UNSIGNED_BYTE => f32::from(word[0]) / 255.0,
            UNSIGNED_SHORT => u32::from_le_bytes(word) as f32 / 65535.0,
            UNSIGNED_INT => u32::from_le_bytes(word) as f32,
            _ => f32::from_le_bytes(word),
        }
    })
}

/// The sRGB code of a share of full light (IEC 61966-2-1), both 0 to 1.
fn code(light: f32) -> f32 {
    let light = light.clamp(0.0, 1.0);
    match light <= 0.003_130_8 {
        true => 12.92 * light,
        false => 1.055 * light.powf(1.0 / 2.4) - 0.055,
    }
}

/// Where a node lies in the one above it: its matrix, or its turn, stretch and step.
fn placement(node: &Value) -> Result<Placement, Error> {
    let numbers = |name: &str, usual: &[f64]| -> Result<Vec<f64>, Error> {
        let Some(found) = node.get(name) else {
            return Ok(usual.to_vec());
        };
        let values: Option<Vec<f64>> = found
            .as_array()
            .and_then(|list| list.iter().map(Value::as_f64).collect());
        values
            .filter(|values| values.len() == usual.len())
            .ok_or_else(|| damaged(format!("a node's {name} has not {} numbers", usual.len())))
    };
    if node.get("matrix").is_some() {
        // Column by column.
        let m = numbers("matrix", &[0.0; 16])?;
        return Ok([0, 1, 2].map(|row| [m[row], m[4 + row], m[8 + row], m[12 + row]]));
    }
    let (t, s) = (numbers("translation", &[0.0; 3])?, numbers("scale", &[1.0; 3])?);
    let q = numbers("rotation", &[0.0, 0.0, 0.0, 1.0])?;
    let [x, y, z, w] = [q[0], q[1], q[2], q[3]];
    let turn = [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ];
    let row = |i: usize| [turn[i][0] * s[0], turn[i][1] * s[1], turn[i][2] * s[2], t[i]];
    Ok([row(0), row(1), row(2)])
}

/// One placement inside another.
fn join(outer: &Placement, inner: &Placement) -> Placement {
    outer.map(|row| {
        let column = |k: usize| (0..3).map(|i| row[i] * inner[i][k]).sum::<f64>();
        [column(0), column(1), column(2), column(3) + row[3]]
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Texture, write};
    use super::*;
    use crate::shapes;

    fn written(mesh: &Mesh, texture: Option<Texture<'_>>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(mesh, texture, &mut bytes).unwrap();
        bytes
    }

    /// A file of this description and these numbers.
    fn with_numbers(json: &str, binary: &[u8]) -> Vec<u8> {
        let mut json = json.as_bytes().to_vec();
        json.resize(json.len().next_multiple_of(4), b' ');
        let words = |out: &mut Vec<u8>, words: &[u32]| out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        let mut out = b"glTF".to_vec();
        words(&mut out, &[2, 0, json.len() as u32]);
        out.extend(b"JSON");
        out.extend(&json);
        words(&mut out, &[binary.len() as u32]);
        out.extend(b"BIN\0");
        out.extend(binary);
        out
    }

    #[test]
    fn what_was_written_is_read() {
        let sphere = shapes::sphere(6, 1.5).with_own_normals();
        let plain = read(&written(&sphere, None)).unwrap();
        assert_eq!(
            (plain.mesh.positions(), plain.mesh.triangles()),
            (sphere.positions(), sphere.triangles())
        );
        assert_eq!(plain.picture, None);
        let colors: Vec<[f32; 3]> = sphere.positions().iter().map(|p| p.map(|x| 0.5 + 0.3 * x)).collect();
        let colored = sphere.clone().with_colors(colors.clone()).unwrap();
        let back = read(&written(&colored, None)).unwrap().mesh;
        for (a, b) in back.colors().unwrap().as_flattened().iter().zip(colors.as_flattened()) {
            assert!((a - b.clamp(0.0, 1.0)).abs() < 5e-4, "{a} {b}");
        }
        let uvs = vec![[[0.0, 0.25], [1.0, 0.5], [0.125, 1.0]]; sphere.triangles().len()];
        let mapped = sphere.with_uvs(uvs.clone()).unwrap();
        let png = b"\x89PNG and so on";
        let back = read(&written(&mapped, Some(Texture { png }))).unwrap();
        assert_eq!(back.mesh.uvs().unwrap(), uvs);
        assert_eq!(back.picture.unwrap(), png);
    }

    #[test]
    fn nodes_place_turn_and_mirror() {
        let numbers: Vec<u8> = [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
            .concat()
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let json = |nodes: &str| {
            format!(
                r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{nodes}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}},
                {{"mode":0,"attributes":{{"POSITION":0}}}}]}}],"accessors":[{{"bufferView":0,"componentType":5126,"count":3,
                "type":"VEC3"}}],"bufferViews":[{{"buffer":0,"byteLength":36}}],"buffers":[{{"byteLength":36}}]}}"#
            )
        };
        let mesh = |nodes: &str| read(&with_numbers(&json(nodes), &numbers)).map(|read| read.mesh);
        // A quarter turn about z inside a step and a stretch.
        let turned = r#"{"translation":[0,0,5],"scale":[2,2,2],"children":[1]},
            {"rotation":[0,0,0.70710678118654752,0.70710678118654752],"mesh":0}"#;
        let found = mesh(turned).unwrap();
        for (a, b) in found
            .positions()
            .iter()
            .zip([[0.0, 0.0, 5.0], [0.0, 2.0, 5.0], [-2.0, 0.0, 5.0]])
        {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?}");
        }
        assert_eq!(found.triangles(), [[0, 1, 2]]);
        let mirrored = r#"{"matrix":[-1,0,0,0,0,1,0,0,0,0,1,0,3,0,0,1],"mesh":0}"#;
        let found = mesh(mirrored).unwrap();
        assert_eq!(
            (found.positions()[1], found.triangles()),
            ([2.0, 0.0, 0.0], &[[0, 2, 1]][..])
        );
        // Children that are their own parents, or those of two.
        let chain: Vec<String> = (1..=40)
            .map(|next| format!(r#"{{"children":[{next},{next}]}}"#))
            .collect();
        for nodes in [r#"{"children":[0]}"#.to_owned(), chain.join(",") + ",{}"] {
            let said = mesh(&nodes).unwrap_err().to_string();
            assert!(said.contains("lies in two nodes"), "{said}");
        }
        let deep: Vec<String> = (1..=70).map(|next| format!(r#"{{"children":[{next}]}}"#)).collect();
        let said = mesh(&(deep.join(",") + ",{}")).unwrap_err().to_string();
        assert!(said.contains("too deep"), "{said}");
    }

    #[test]
    fn shared_meshes_are_repeated_as_often_as_the_file_is_long() {
        let numbers = vec![0; 12 * 3000];
        let instances = |nodes: usize| {
            let all: Vec<String> = (0..nodes).map(|node| node.to_string()).collect();
            let each = vec![r#"{"mesh":0}"#; nodes].join(",");
            let all = all.join(",");
            let json = format!(
                r#"{{"scenes":[{{"nodes":[{all}]}}],"nodes":[{each}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
                "accessors":[{{"bufferView":0,"componentType":5126,"count":3000,"type":"VEC3"}}],
                "bufferViews":[{{"buffer":0,"byteLength":36000}}],"buffers":[{{"byteLength":36000}}]}}"#
            );
            with_numbers(&json, &numbers)
        };
        assert_eq!(read(&instances(100)).unwrap().mesh.positions().len(), 300_000);
        let said = read(&instances(1000)).unwrap_err().to_string();
        assert!(said.contains("without instances"), "{said}");
        // Primitives that give nothing take time.
        let each = vec![r#"{"mesh":0}"#; 1000].join(",");
        let all: Vec<String> = (0..1000).map(|node| node.to_string()).collect();
        let points = vec![r#"{"mode":0}"#; 300].join(",");
        let all = all.join(",");
        let json =
            format!(r#"{{"scenes":[{{"nodes":[{all}]}}],"nodes":[{each}],"meshes":[{{"primitives":[{points}]}}]}}"#);
        let said = read(&with_numbers(&json, &[])).unwrap_err().to_string();
        assert!(said.contains("without instances"), "{said}");
    }

    #[test]
    fn damage_is_named_and_never_believed() {
        let whole = written(&shapes::sphere(4, 1.0).with_own_normals(), None);
        for cut in (0..whole.len()).step_by(7) {
            read(&whole[..cut]).unwrap_err();
        }
        let said = |json: &str| read(&with_numbers(json, &[0; 36])).unwrap_err().to_string();
        let json = |accessor: &str, view: &str| {
            format!(
                r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
                "accessors":[{accessor}],"bufferViews":[{view}],"buffers":[{{"byteLength":36}}]}}"#
            )
        };
        let accessor =
            |count: &str| format!(r#"{{"bufferView":0,"componentType":5126,"count":{count},"type":"VEC3"}}"#);
        let view = r#"{"buffer":0,"byteLength":36}"#;
        assert!(said(&json(&accessor("4"), view)).contains("beyond its buffer view"));
        assert!(said(&json(&accessor("18446744073709551615"), view)).contains("beyond its buffer view"));
        assert!(said(&json(&accessor("3"), r#"{"buffer":0,"byteLength":37}"#)).contains("beyond its end"));
        assert!(said(&json(&accessor("3"), r#"{"buffer":1,"byteLength":36}"#)).contains("no entry 1"));
        assert!(said(&json(&accessor("3").replace("VEC3", "MAT4"), view)).contains("not of the kind"));
        assert!(said("{").contains("description"));
        assert!(said(&" ".repeat(MOST_JSON + 4)).contains("at most 8388608 are read"));
        assert!(said(r#"{"extensionsRequired":["KHR_draco_mesh_compression"]}"#).contains("KHR_draco"));
        assert!(read(b"ply\n").unwrap_err().to_string().contains("does not begin"));
    }
}
