//! Files of a textured mesh.

use std::io;
use std::path::{Path, PathBuf};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use kiln_mesh::{glb, obj};

use super::Textured;
use crate::export::{ExportError, write_atomic};
use crate::mesh::raster::Texture;

/// Writes `folder/STEM.obj` with `STEM.mtl` and `STEM.png` beside it, or `folder/STEM.glb` with the picture inside; gives the
/// paths, the mesh first. Each file appears whole or not at all, and the mesh last.
///
/// # Errors
/// [`ExportError`] when the folder cannot be written.
pub fn write_textured(
    textured: &Textured,
    folder: &Path,
    stem: &str,
    binary: bool,
) -> Result<Vec<PathBuf>, ExportError> {
    let Textured { mesh, texture, .. } = textured;
    let path = |ending: &str| folder.join(format!("{stem}.{ending}"));
    if binary {
        let mut png = Vec::new();
        let glb = path("glb");
        encode(texture, &mut png).map_err(|error| ExportError::new(&glb, error))?;
        write_atomic(&glb, |out| {
            glb::write(mesh, Some(glb::Texture { png: &png }), out).map_err(into_io)
        })?;
        return Ok(vec![glb]);
    }
    let (mesh_file, library, picture) = (path("obj"), path("mtl"), path("png"));
    let names = [&library, &picture].map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    let material = obj::Material {
        name: "surface",
        library: &names[0],
        texture: &names[1],
    };
    write_atomic(&picture, |out| encode(texture, out))?;
    write_atomic(&library, |out| obj::write_material(material, out).map_err(into_io))?;
    write_atomic(&mesh_file, |out| obj::write(mesh, Some(material), out).map_err(into_io))?;
    Ok(vec![mesh_file, library, picture])
}

fn encode(texture: &Texture, out: &mut dyn io::Write) -> io::Result<()> {
    PngEncoder::new_with_quality(out, CompressionType::Default, FilterType::Adaptive)
        .write_image(texture.rgb(), texture.side(), texture.side(), ExtendedColorType::Rgb8)
        .map_err(io::Error::other)
}

fn into_io(error: kiln_mesh::Error) -> io::Error {
    match error {
        kiln_mesh::Error::Io(error) => error,
        other => io::Error::other(other),
    }
}
