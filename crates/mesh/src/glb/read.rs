//! Reading.

mod accessor;
mod file;
mod parts;
mod placement;

use serde_json::Value;

use self::file::{File, at, content, list, whole};
use self::parts::Parts;
use self::placement::Placement;
use crate::{Error, Mesh};

/// Extensions that change nothing that is read here.
const HARMLESS: [&str; 1] = ["KHR_materials_unlit"];
/// Most bytes of vertices and triangles per byte of the file: nodes may share meshes, and a small file could ask for any number.
const MOST_REPEATED: usize = 64;
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
    let from = Placement::relative_to(origin);
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

#[cfg(test)]
mod tests;
