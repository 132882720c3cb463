//! Writing.

use std::io::Write;

use kiln_ply::{Element, Format, Header, Scalar, origin_comment};

use super::Values;
use crate::{Error, Mesh};

/// Writes a mesh, binary with the lowest byte first: `x y z` and, where there are any, `nx ny nz` as `float`, `red green
/// blue` as `uchar`; faces as lists of three `int`. Texture coordinates have no place in it.
///
/// `comments` go into the header, a line each, and `origin X Y Z` where the mesh's origin is not zero.
///
/// # Errors
/// [`Error::Io`]; [`Error::TooMany`] beyond 2^31 vertices, which `int` cannot name.
pub fn write(mesh: &Mesh, comments: &[String], out: &mut dyn Write) -> Result<(), Error> {
    let none = Values {
        comments: comments.to_vec(),
        ..Values::default()
    };
    write_with(mesh, &none, out)
}

/// [`write()`], and after the others the values of each vertex as `float`. Programs that do not know their names see the mesh.
///
/// # Errors
/// Those of [`write()`]; [`Error::Length`] unless each vertex has a value of each name.
pub fn write_with(mesh: &Mesh, more: &Values, out: &mut dyn Write) -> Result<(), Error> {
    let wanted = mesh.positions.len() * more.names.len();
    if more.values.len() != wanted {
        return Err(Error::Length {
            what: "values of vertices",
            found: more.values.len(),
            wanted,
        });
    }
    let most = i32::MAX as usize;
    if mesh.positions.len() > most {
        return Err(Error::TooMany {
            what: "vertices",
            found: mesh.positions.len() as u64,
            most: most as u64,
            hint: "decimate the mesh",
        });
    }
    let mut vertex = Element::new("vertex", mesh.positions.len() as u64).with(Scalar::F32, ["x", "y", "z"]);
    if mesh.normals.is_some() {
        vertex = vertex.with(Scalar::F32, ["nx", "ny", "nz"]);
    }
    if mesh.colors.is_some() {
        vertex = vertex.with(Scalar::U8, ["red", "green", "blue"]);
    }
    vertex = vertex.with(Scalar::F32, more.names.iter().cloned());
    let face = Element::new("face", mesh.triangles.len() as u64).with_list(Scalar::U8, Scalar::I32, "vertex_indices");
    let header = Header {
        format: Format::LittleEndian,
        // A line break would end the comment.
        comments: more
            .comments
            .iter()
            .map(|line| line.replace(['\n', '\r'], " "))
            .chain(origin_comment(mesh.origin))
            .collect(),
        elements: vec![vertex, face],
    };
    write!(out, "{header}")?;
    let mut row = Vec::with_capacity(64);
    for vertex in 0..mesh.positions.len() {
        row.clear();
        let normal = mesh.normals.as_ref().map(|normals| normals[vertex]);
        for value in [mesh.positions[vertex]].into_iter().chain(normal).flatten() {
            row.extend(value.to_le_bytes());
        }
        row.extend(
            mesh.colors
                .as_ref()
                .map(|colors| colors[vertex].map(byte))
                .iter()
                .flatten(),
        );
        let own = vertex * more.names.len()..(vertex + 1) * more.names.len();
        row.extend(more.values[own].iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&row)?;
    }
    for triangle in &mesh.triangles {
        row.clear();
        row.push(3);
        row.extend(triangle.iter().flat_map(|vertex| vertex.to_le_bytes()));
        out.write_all(&row)?;
    }
    Ok(())
}

/// A colour from 0 to 1 in 255 steps.
fn byte(color: f32) -> u8 {
    (color.clamp(0.0, 1.0) * 255.0).round() as u8
}
