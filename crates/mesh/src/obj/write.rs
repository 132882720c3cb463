//! Writing.

use std::io::Write;

use crate::wedges::Wedges;
use crate::{Error, Mesh};

/// Names of what lies beside an OBJ file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Material<'a> {
    /// The material's name in both files.
    pub name: &'a str,
    /// File name of the material library, beside the OBJ file.
    pub library: &'a str,
    /// File name of the picture that colours the surface, beside them.
    pub texture: &'a str,
}

impl Material<'_> {
    /// Names that a line of either file can hold.
    fn check(&self) -> Result<(), Error> {
        for (setting, name) in [
            ("material name", self.name),
            ("material library", self.library),
            ("texture file", self.texture),
        ] {
            // Readers split at spaces.
            if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return Err(Error::setting(setting, format!("{name:?}"), "a name without spaces"));
            }
        }
        Ok(())
    }
}

/// Writes the OBJ file: `v` (with colours behind the position where there are any, as most readers know them), `vt` with
/// its origin in the lower left corner as the format has it, `vn`, and `f`; a comment `# origin X Y Z` where the mesh's is not zero.
///
/// # Errors
/// [`Error::Io`]; [`Error::Setting`] for a name with spaces.
pub fn write(mesh: &Mesh, material: Option<Material<'_>>, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(material) = material {
        material.check()?;
        writeln!(out, "mtllib {}", material.library)?;
    }
    if let Some(origin) = kiln_ply::origin_comment(mesh.origin) {
        writeln!(out, "# {origin}")?;
    }
    for (vertex, [x, y, z]) in mesh.positions.iter().enumerate() {
        match &mesh.colors {
            Some(colors) => {
                let [r, g, b] = colors[vertex];
                writeln!(out, "v {x} {y} {z} {r} {g} {b}")?;
            }
            None => writeln!(out, "v {x} {y} {z}")?,
        }
    }
    let wedges = mesh.uvs.is_some().then(|| Wedges::new(mesh));
    for [u, v] in wedges.iter().flat_map(|wedges| &wedges.uvs) {
        writeln!(out, "vt {u} {}", 1.0 - v)?;
    }
    for [x, y, z] in mesh.normals.iter().flatten() {
        writeln!(out, "vn {x} {y} {z}")?;
    }
    if let Some(material) = material {
        writeln!(out, "usemtl {}", material.name)?;
    }
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        out.write_all(b"f")?;
        for (k, vertex) in triangle.iter().map(|vertex| vertex + 1).enumerate() {
            match (&wedges, &mesh.normals) {
                (None, None) => write!(out, " {vertex}")?,
                (None, Some(_)) => write!(out, " {vertex}//{vertex}")?,
                (Some(wedges), None) => write!(out, " {vertex}/{}", wedges.of_corner[t][k] + 1)?,
                (Some(wedges), Some(_)) => write!(out, " {vertex}/{}/{vertex}", wedges.of_corner[t][k] + 1)?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes the material library: one material without shading, coloured by the picture.
///
/// # Errors
/// As [`write()`].
pub fn write_material(material: Material<'_>, out: &mut dyn Write) -> Result<(), Error> {
    material.check()?;
    let Material { name, texture, .. } = material;
    // Illumination 0: the colour as it is.
    write!(
        out,
        "newmtl {name}\nKa 1 1 1\nKd 1 1 1\nKs 0 0 0\nd 1\nillum 0\nmap_Kd {texture}\n"
    )?;
    Ok(())
}
