//! What is gathered of all meshes, node by node.

use serde_json::Value;

use super::file::{File, at, content, damaged, list, whole};
use super::placement::Placement;
use crate::Error;

/// Primitive mode of separate triangles (glTF 2.0, 5.24.4).
const TRIANGLES: u64 = 4;
/// Most nodes between a scene and a mesh.
const MOST_DEPTH: usize = 64;
/// Bytes that a primitive takes of the room however small it is: nodes that share many empty ones take time.
const LEAST_PRIMITIVE: usize = 64;

/// What is gathered of all meshes.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) colors: Vec<[f32; 3]>,
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) uvs: Vec<[[f32; 2]; 3]>,
    pub(super) images: Vec<u64>,
    /// Nodes that were visited: they form trees (glTF 2.0, 3.5.2), so none is visited twice.
    pub(super) seen: Vec<bool>,
    /// Bytes that more vertices and triangles may take.
    pub(super) room: usize,
    pub(super) with_normals: bool,
    pub(super) with_colors: bool,
    pub(super) with_uvs: bool,
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

    /// Adds the triangles of a primitive.
    fn add(&mut self, vertices: Vertices, indices: &[u32], placement: &Placement) -> Result<(), Error> {
        let first = u32::try_from(self.positions.len()).map_err(|_| damaged("it has too many vertices"))?;
        let Vertices {
            positions,
            normals,
            colors,
            uvs,
        } = vertices;
        let is_first = self.triangles.is_empty();
        for (kept, found) in [
            (&mut self.with_normals, normals.is_some()),
            (&mut self.with_colors, colors.is_some()),
            (&mut self.with_uvs, uvs.is_some()),
        ] {
            *kept = found && (is_first || *kept);
        }
        let count = positions.len();
        if let Some(index) = indices.iter().find(|index| **index as usize >= count) {
            return Err(Error::Index {
                triangle: self.triangles.len(),
                vertex: (*index).into(),
                vertices: count,
            });
        }
        // What a placement mirrors is inside out.
        let mirrored = placement.mirrors();
        for corners in indices.as_chunks::<3>().0 {
            let corners = if mirrored {
                [corners[0], corners[2], corners[1]]
            } else {
                *corners
            };
            self.triangles.push(corners.map(|index| first + index));
            self.uvs
                .push(corners.map(|index| uvs.as_ref().map_or([0.0; 2], |uvs| uvs[index as usize])));
        }
        let none = || vec![[0.0; 3]; count];
        self.positions.extend(positions.iter().map(|p| placement.place(*p)));
        self.normals
            .extend(normals.unwrap_or_else(none).into_iter().map(placement.turn()));
        self.colors.extend(colors.unwrap_or_else(none));
        Ok(())
    }
}

/// What a primitive has of each vertex.
struct Vertices {
    positions: Vec<[f32; 3]>,
    normals: Option<Vec<[f32; 3]>>,
    colors: Option<Vec<[f32; 3]>>,
    uvs: Option<Vec<[f32; 2]>>,
}

impl Vertices {
    /// Those of a primitive with these attributes.
    fn of(file: &File<'_>, attributes: &Value) -> Result<Self, Error> {
        let vectors = |name: &str, length: usize| -> Result<Option<Vec<f32>>, Error> {
            match attributes.get(name) {
                Some(accessor) => file.numbers(whole(accessor)?, length).map(Some),
                None => Ok(None),
            }
        };
        let triples = |values: Vec<f32>| -> Vec<[f32; 3]> { values.as_chunks().0.to_vec() };
        let positions = vectors("POSITION", 3)?.ok_or_else(|| damaged("triangles without positions"))?;
        let positions = triples(positions);
        let normals = vectors("NORMAL", 3)?.map(triples);
        let colors = match attributes.get("COLOR_0") {
            Some(accessor) => Some(file.colors(whole(accessor)?)?),
            None => None,
        };
        let uvs = vectors("TEXCOORD_0", 2)?.map(|values| values.as_chunks::<2>().0.to_vec());
        let count = positions.len();
        for (what, found) in [
            ("normals", normals.as_ref().map(Vec::len)),
            ("colours", colors.as_ref().map(Vec::len)),
            ("texture coordinates", uvs.as_ref().map(Vec::len)),
        ] {
            if let Some(found) = found.filter(|found| *found != count) {
                return Err(damaged(format!("{found} {what} for {count} positions")));
            }
        }
        Ok(Self {
            positions,
            normals,
            colors,
            uvs,
        })
    }
}

impl File<'_> {
    /// Gathers the meshes of a node and of those in it.
    pub(super) fn node(&self, index: u64, above: &Placement, depth: usize, parts: &mut Parts) -> Result<(), Error> {
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
        let placement = above.join(&Placement::of(node)?);
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
        let vertices = Vertices::of(self, &primitive["attributes"])?;
        let count = vertices.positions.len();
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
        parts.add(vertices, &indices, placement)?;
        if let Some(image) = self
            .picture_of(primitive)?
            .filter(|image| !parts.images.contains(image))
        {
            parts.images.push(image);
        }
        Ok(())
    }
}
