//! Reading.

use std::io::BufRead;

use kiln_ply::{Element, Format, MAX_LIST_ITEMS, Reader, origin_of};

use super::Values;
use crate::mesh::finite;
use crate::polygon::triangulate;
use crate::vector::wide;
use crate::{Error, Mesh};

const FORMAT: &str = "PLY";
/// Names of the list of a polygon's vertices.
const LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];
/// Room taken on a header's word, rows.
const ROOM: u64 = 1 << 16;

/// Reads a mesh, text or binary of either byte order: positions, faces of any number of vertices (cut into triangles), and
/// where they are there normals (`nx ny nz`) and colours (`red green blue`, `uchar` of 255 or floats of 1).
///
/// A file without faces is a mesh without triangles: a set of points.
///
/// # Errors
/// [`Error::Ply`], [`Error::Content`], and what [`Mesh`] refuses.
pub fn read(input: impl BufRead) -> Result<Mesh, Error> {
    Ok(read_with(input, |_| false, None)?.0)
}

/// [`read()`] of a mesh whose positions are wanted relative to `origin`: they are those of a data set, or relative to what a comment
/// `origin X Y Z` says.
///
/// # Errors
/// Those of [`read()`].
pub fn read_from(input: impl BufRead, origin: [f64; 3]) -> Result<Mesh, Error> {
    Ok(read_with(input, |_| false, Some(origin))?.0)
}

/// [`read()`], or [`read_from()`] an origin, and the values of those properties of vertices that `wanted` names, in the order of the file.
///
/// # Errors
/// Those of [`read()`]; [`Error::NotFinite`] for such values.
pub fn read_with(
    input: impl BufRead,
    wanted: impl Fn(&str) -> bool,
    from: Option<[f64; 3]>,
) -> Result<(Mesh, Values), Error> {
    let mut reader = Reader::new(input);
    let header = reader.header()?;
    let own = origin_of(&header.comments).unwrap_or_default();
    let origin = from.unwrap_or(own);
    let step = std::array::from_fn(|axis| own[axis] - origin[axis]);
    let mut vertices = None;
    let mut triangles = Vec::new();
    for element in &header.elements {
        match element.name.as_str() {
            "vertex" if vertices.is_none() => {
                vertices = Some(Vertices::read(&mut reader, header.format, element, &wanted, step)?);
            }
            "face" if vertices.is_none() => {
                return Err(content(
                    "faces come before the vertices".to_owned(),
                    "write the vertices first",
                ));
            }
            "face" if triangles.is_empty() => {
                let positions = vertices
                    .as_ref()
                    .map_or(&[][..], |vertices: &Vertices| &vertices.positions);
                triangles = faces(&mut reader, header.format, element, positions)?;
            }
            "tristrips" => {
                return Err(content(
                    "triangles are stored as strips".to_owned(),
                    "write them as faces",
                ));
            }
            _ => reader.pass_over(header.format, element)?,
        }
    }
    let vertices =
        vertices.ok_or_else(|| content("no element vertex".to_owned(), "name a file of points or a mesh"))?;
    let mut mesh = Mesh::new(vertices.positions, triangles)?.with_origin(origin);
    if let Some(normals) = vertices.normals {
        mesh = mesh.with_normals(normals)?;
    }
    if let Some(colors) = vertices.colors {
        mesh = mesh.with_colors(colors)?;
    }
    finite("value of vertex", vertices.more.values.as_chunks::<1>().0).map_err(|error| match error {
        Error::NotFinite { what, index } => Error::NotFinite {
            what,
            index: index / vertices.more.names.len().max(1),
        },
        other => other,
    })?;
    let comments = header.comments;
    Ok((
        mesh,
        Values {
            comments,
            ..vertices.more
        },
    ))
}

fn content(found: String, hint: &'static str) -> Error {
    Error::Content {
        format: FORMAT,
        found,
        hint,
    }
}

/// Rows of the element `vertex`.
struct Vertices {
    positions: Vec<[f32; 3]>,
    normals: Option<Vec<[f32; 3]>>,
    colors: Option<Vec<[f32; 3]>>,
    more: Values,
}

impl Vertices {
    fn read(
        reader: &mut Reader<impl BufRead>,
        format: Format,
        element: &Element,
        wanted: impl Fn(&str) -> bool,
        step: [f64; 3],
    ) -> Result<Self, Error> {
        let place = |name: &str| {
            element
                .properties
                .iter()
                .position(|p| p.name == name && p.list.is_none())
        };
        let places = |names: [&str; 3]| {
            let [a, b, c] = names.map(place);
            Some([a?, b?, c?])
        };
        let position = places(["x", "y", "z"]).ok_or_else(|| {
            content(
                "vertices without x, y and z".to_owned(),
                "name a file of points or a mesh",
            )
        })?;
        let (normal, color) = (places(["nx", "ny", "nz"]), places(["red", "green", "blue"]));
        // Whole numbers are shares of their type's largest value.
        let unit = color.map(|[red, ..]| match element.properties[red].scalar {
            scalar if scalar.is_float() => 1.0,
            scalar => 2.0_f64.powi(8 * scalar.bytes() as i32) - 1.0,
        });
        let more: Vec<usize> = (0..element.properties.len())
            .filter(|&place| {
                let property = &element.properties[place];
                property.list.is_none() && wanted(&property.name)
            })
            .collect();
        let room = element.count.min(ROOM) as usize;
        let list = |wanted: bool| wanted.then(|| Vec::with_capacity(room));
        let mut read = Self {
            positions: Vec::with_capacity(room),
            normals: list(normal.is_some()),
            colors: list(color.is_some()),
            more: Values {
                names: more
                    .iter()
                    .map(|&place| element.properties[place].name.clone())
                    .collect(),
                ..Values::default()
            },
        };
        let mut row = Vec::new();
        for _ in 0..element.count {
            reader.row(format, element, &mut row)?;
            let take = |places: [usize; 3]| places.map(|place| row[place] as f32);
            read.positions
                .push(std::array::from_fn(|axis| (row[position[axis]] + step[axis]) as f32));
            read.more.values.extend(more.iter().map(|&place| row[place] as f32));
            if let (Some(normals), Some(normal)) = (&mut read.normals, normal) {
                normals.push(take(normal));
            }
            if let (Some(colors), Some(color), Some(unit)) = (&mut read.colors, color, unit) {
                colors.push(color.map(|place| (row[place] / unit) as f32));
            }
        }
        Ok(read)
    }
}

/// Rows of the element `face`, cut into triangles.
fn faces(
    reader: &mut Reader<impl BufRead>,
    format: Format,
    element: &Element,
    positions: &[[f32; 3]],
) -> Result<Vec<[u32; 3]>, Error> {
    let list = element
        .properties
        .iter()
        .position(|p| p.list.is_some() && LISTS.contains(&p.name.as_str()));
    let Some(list) = list else {
        return Err(content(
            "faces without the list vertex_indices".to_owned(),
            "write each face as a list of its vertices",
        ));
    };
    let mut triangles = Vec::with_capacity(element.count.min(ROOM) as usize);
    let (mut row, mut items) = (Vec::new(), Vec::new());
    for face in 0..element.count {
        reader.row_with_lists(format, element, &mut row, &mut items)?;
        let length = row[list];
        if !(3.0..=MAX_LIST_ITEMS as f64).contains(&length) {
            return Err(content(
                format!("face {face} has {length} vertices"),
                "remove it, or write it as triangles",
            ));
        }
        // Lists before it come first among the items.
        let before = element
            .properties
            .iter()
            .zip(&row)
            .take(list)
            .filter(|(p, _)| p.list.is_some());
        let from: usize = before
            .map(|(_, &length)| length.clamp(0.0, MAX_LIST_ITEMS as f64) as usize)
            .sum();
        let polygon = items.get(from..from + length as usize).unwrap_or_default();
        let index = |&vertex: &f64| match vertex >= 0.0 && vertex < positions.len() as f64 && vertex.fract() == 0.0 {
            true => Ok(vertex as u32),
            false => Err(Error::Index {
                triangle: face as usize,
                vertex: vertex as i64,
                vertices: positions.len(),
            }),
        };
        let polygon: Vec<u32> = polygon.iter().map(index).collect::<Result<_, _>>()?;
        if let [a, b, c] = polygon[..] {
            triangles.push([a, b, c]);
            continue;
        }
        let corners: Vec<_> = polygon.iter().map(|&vertex| wide(positions[vertex as usize])).collect();
        triangles.extend(triangulate(&corners).into_iter().map(|t| t.map(|i| polygon[i])));
    }
    Ok(triangles)
}
