//! Meshes: PLY with faces, and OBJ. Those of GLB are read in [`super::glb`].
//!
//! The library for meshes reads more and says more of what is wrong; its readers would double the page. What it writes is
//! read here the same, which the tests hold.

use kiln_ply::{Element, Format, Header, Scalar};

use crate::number::parse;
use crate::ply::Refusal;
use crate::surface::{Corner, Surface};

/// Properties of a vertex by the place of their value: position, normal, colour, texture coordinates.
const SLOTS: [(&str, usize); 18] = [
    ("x", 0),
    ("y", 1),
    ("z", 2),
    ("nx", 3),
    ("ny", 4),
    ("nz", 5),
    ("red", 6),
    ("green", 7),
    ("blue", 8),
    ("diffuse_red", 6),
    ("diffuse_green", 7),
    ("diffuse_blue", 8),
    ("s", 9),
    ("t", 10),
    ("u", 9),
    ("v", 10),
    ("texture_u", 9),
    ("texture_v", 10),
];
/// Names of the list of a polygon's vertices.
const LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];

/// Says that a face names what is not there.
pub(super) fn nowhere() -> Refusal {
    "the mesh is damaged: a face names a vertex that is not there".to_owned()
}

/// Numbers of a PLY file, in bytes or in words.
enum Source<'a> {
    Bytes(&'a [u8]),
    Words(std::str::SplitAsciiWhitespace<'a>),
}

impl Source<'_> {
    fn next(&mut self, scalar: Scalar) -> Result<f64, Refusal> {
        let found = match self {
            Self::Bytes(rest) => rest.split_at_checked(scalar.bytes()).map(|(now, behind)| {
                *rest = behind;
                scalar.read(now, 0)
            }),
            Self::Words(words) => words.next().and_then(parse),
        };
        found.ok_or_else(|| super::cut("PLY"))
    }
}

/// Reads a PLY file with faces, text or little-endian.
pub(super) fn read_ply(bytes: &[u8]) -> Result<Surface, Refusal> {
    let header = Header::parse(bytes).map_err(|bad| format!("line {} of the PLY file: {bad}", bad.line))?;
    let (header, length) = header.ok_or_else(|| super::cut("PLY"))?;
    let body = &bytes[length..];
    let text;
    let mut source = match header.format {
        Format::LittleEndian => Source::Bytes(body),
        Format::BigEndian => return Err("the PLY file is big-endian; Blender or MeshLab write others".to_owned()),
        Format::Ascii => {
            text = String::from_utf8_lossy(body);
            Source::Words(text.split_ascii_whitespace())
        }
    };
    let mut out = Surface::default();
    let mut vertices = Vec::new();
    for element in &header.elements {
        match element.name.as_str() {
            "vertex" => vertices = read_vertices(&mut source, element, &mut out)?,
            _ => read_faces(&mut source, element, &vertices, &mut out)?,
        }
    }
    Ok(out)
}

fn read_vertices(source: &mut Source<'_>, element: &Element, out: &mut Surface) -> Result<Vec<Corner>, Refusal> {
    let slots: Vec<(Scalar, Option<usize>, f32)> = element
        .properties
        .iter()
        .map(|property| {
            let slot = SLOTS
                .iter()
                .find(|(name, _)| *name == property.name)
                .map(|(_, slot)| *slot);
            let full = match property.scalar {
                Scalar::U8 => 255.0,
                Scalar::U16 => 65_535.0,
                _ => 1.0,
            };
            (
                property.scalar,
                slot,
                if slot.is_some_and(|slot| (6..9).contains(&slot)) {
                    full
                } else {
                    1.0
                },
            )
        })
        .collect();
    let has = |slot: usize| slots.iter().any(|(_, known, _)| *known == Some(slot));
    (out.has_colors, out.has_uvs) = (has(6), has(9));
    if element.properties.iter().any(|property| property.list.is_some()) || !(0..3).all(has) {
        return Err("the vertices of the PLY file have no place".to_owned());
    }
    let mut vertices = Vec::new();
    for _ in 0..element.count {
        let Corner { color: [r, g, b], .. } = Corner::default();
        let mut values = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, r, g, b, 0.0, 1.0];
        for (scalar, slot, full) in &slots {
            let value = source.next(*scalar)? as f32;
            if let Some(slot) = slot {
                values[*slot] = value / full;
            }
        }
        let [x, y, z, nx, ny, nz, r, g, b, u, v] = values;
        vertices.push(Corner {
            position: [x, y, z],
            uv: [u, 1.0 - v],
            color: [r, g, b],
            normal: [nx, ny, nz],
        });
    }
    Ok(vertices)
}

/// Reads faces, or passes over another element.
fn read_faces(
    source: &mut Source<'_>,
    element: &Element,
    vertices: &[Corner],
    out: &mut Surface,
) -> Result<(), Refusal> {
    let mut polygon = Vec::new();
    for _ in 0..element.count {
        for property in &element.properties {
            let Some(count) = property.list else {
                source.next(property.scalar)?;
                continue;
            };
            polygon.clear();
            let corners = LISTS.contains(&property.name.as_str());
            for _ in 0..source.next(count)? as u64 {
                let value = source.next(property.scalar)?;
                if corners {
                    polygon.push(*vertices.get(value as usize).ok_or_else(nowhere)?);
                }
            }
            out.push_polygon(&polygon);
        }
    }
    Ok(())
}

/// Reads an OBJ file: positions with or without colours, texture coordinates, normals, faces of any number of corners.
pub(super) fn read_obj(bytes: &[u8]) -> Result<Surface, Refusal> {
    let text = String::from_utf8_lossy(bytes);
    let mut out = Surface::default();
    let (mut positions, mut uvs, mut normals) = (Vec::new(), Vec::new(), Vec::new());
    let mut polygon = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some((word, rest)) = line.split_once(|c: char| c.is_ascii_whitespace()) else {
            continue;
        };
        let numbers = || {
            let mut values = [0.0; 6];
            let mut count = 0;
            for (slot, word) in values.iter_mut().zip(rest.split_ascii_whitespace()) {
                *slot = parse(word).ok_or_else(|| format!("line {} of the OBJ file holds no numbers", at + 1))? as f32;
                count += 1;
            }
            Ok::<_, Refusal>((values, count))
        };
        match word {
            "v" => {
                let ([x, y, z, r, g, b], count) = numbers()?;
                let mut corner = Corner {
                    position: [x, y, z],
                    ..Corner::default()
                };
                if count == 6 {
                    corner.color = [r, g, b];
                    out.has_colors = true;
                }
                positions.push(corner);
            }
            "vt" => {
                let ([u, v, ..], _) = numbers()?;
                uvs.push([u, 1.0 - v]);
            }
            "vn" => {
                let ([x, y, z, ..], _) = numbers()?;
                normals.push([x, y, z]);
            }
            "f" => {
                polygon.clear();
                for corner in rest.split_ascii_whitespace() {
                    let mut parts = corner.split('/');
                    let mut index = |count: usize| -> Result<Option<usize>, Refusal> {
                        let Some(word) = parts.next().filter(|word| !word.is_empty()) else {
                            return Ok(None);
                        };
                        // From 1, or from the end with a sign.
                        let index: i64 = word.parse().map_err(|_| nowhere())?;
                        let at = if index < 0 { count as i64 + index } else { index - 1 };
                        usize::try_from(at)
                            .ok()
                            .filter(|at| *at < count)
                            .map(Some)
                            .ok_or_else(nowhere)
                    };
                    let mut corner: Corner = positions[index(positions.len())?.ok_or_else(nowhere)?];
                    if let Some(uv) = index(uvs.len())? {
                        corner.uv = uvs[uv];
                        out.has_uvs = true;
                    }
                    if let Some(normal) = index(normals.len())? {
                        corner.normal = normals[normal];
                    }
                    polygon.push(corner);
                }
                out.push_polygon(&polygon);
            }
            "mtllib" if out.library.is_none() => out.library = Some(rest.trim().to_owned()),
            _ => {}
        }
    }
    Ok(out)
}

/// The pictures that a material library colours surfaces with, in its order.
pub(crate) fn pictures(library: &str) -> Vec<String> {
    let lines = library.lines().filter_map(|line| line.trim().strip_prefix("map_Kd "));
    // Options with their numbers come before the name.
    let name = |rest: &str| match rest.trim().starts_with('-') {
        true => rest.rsplit(char::is_whitespace).next().unwrap_or_default().to_owned(),
        false => rest.trim().to_owned(),
    };
    lines.map(name).collect()
}
