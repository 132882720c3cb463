//! The mesh itself, checked once when it is made.

use crate::Error;
use crate::vector::{V3, add, double_area, narrow, norm, scale, unit, wide};

/// Most vertices: the last u32 stands for none.
const MAX_VERTICES: usize = u32::MAX as usize - 1;
/// Most triangles: their corners are numbered in u32.
const MAX_TRIANGLES: usize = (u32::MAX / 3) as usize - 1;

/// Triangles with shared vertices.
///
/// Indices are in range and all numbers finite; triangles may be degenerate, doubled, or none. Attributes that are there
/// have a value for every vertex (normals, colours) or triangle (texture coordinates).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) normals: Option<Vec<[f32; 3]>>,
    pub(crate) colors: Option<Vec<[f32; 3]>>,
    pub(crate) uvs: Option<Vec<[[f32; 2]; 3]>>,
    pub(crate) origin: [f64; 3],
}

impl Mesh {
    /// A mesh without attributes: positions in scene units, and per triangle three vertices, counter-clockwise seen from
    /// outside.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::NotFinite`], [`Error::TooMany`].
    pub fn new(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Result<Self, Error> {
        let hint = "split the mesh";
        for (what, found, most) in [
            ("vertices", positions.len(), MAX_VERTICES),
            ("triangles", triangles.len(), MAX_TRIANGLES),
        ] {
            if found > most {
                let (found, most) = (found as u64, most as u64);
                return Err(Error::TooMany {
                    what,
                    found,
                    most,
                    hint,
                });
            }
        }
        finite("position", &positions)?;
        let vertices = positions.len();
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices) {
                return Err(Error::Index {
                    triangle,
                    vertex: vertex.into(),
                    vertices,
                });
            }
        }
        Ok(Self {
            positions,
            triangles,
            ..Self::default()
        })
    }

    /// The same with a normal for each vertex, of length 1 or 0.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`].
    pub fn with_normals(mut self, normals: Vec<[f32; 3]>) -> Result<Self, Error> {
        same_length("normals", normals.len(), self.positions.len())?;
        finite("normal", &normals)?;
        self.normals = Some(normals);
        Ok(self)
    }

    /// The same with a colour for each vertex: red, green and blue from 0 to 1, encoded as photos are (sRGB).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`].
    pub fn with_colors(mut self, colors: Vec<[f32; 3]>) -> Result<Self, Error> {
        same_length("colors", colors.len(), self.positions.len())?;
        finite("color", &colors)?;
        self.colors = Some(colors);
        Ok(self)
    }

    /// The same with its vertices elsewhere, and without normals.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`].
    pub fn with_positions(mut self, positions: Vec<[f32; 3]>) -> Result<Self, Error> {
        same_length("positions", positions.len(), self.positions.len())?;
        finite("position", &positions)?;
        self.positions = positions;
        self.normals = None;
        Ok(self)
    }

    /// The same with texture coordinates for each corner of each triangle: shares of the picture's width and height from
    /// its upper left corner.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`].
    pub fn with_uvs(mut self, uvs: Vec<[[f32; 2]; 3]>) -> Result<Self, Error> {
        same_length("texture coordinates", uvs.len(), self.triangles.len())?;
        finite("texture coordinate", uvs.as_flattened())?;
        self.uvs = Some(uvs);
        Ok(self)
    }

    /// The same with positions that are relative to `origin`, as files of it will say; nothing moves.
    #[must_use]
    pub fn with_origin(mut self, origin: [f64; 3]) -> Self {
        self.origin = origin;
        self
    }

    /// What the positions are relative to, as the file says that they come from; zero for meshes made of others.
    #[must_use]
    pub fn origin(&self) -> [f64; 3] {
        self.origin
    }

    /// The same with normals of its own: the mean of the triangles around a vertex, weighted by their area; 0 where they
    /// have none.
    #[must_use]
    pub fn with_own_normals(mut self) -> Self {
        let mut sums = vec![[0.0; 3]; self.positions.len()];
        for &corners in &self.triangles {
            let [a, b, c] = self.corners(corners);
            let area = double_area(a, b, c);
            for vertex in corners {
                let sum: &mut V3 = &mut sums[vertex as usize];
                *sum = add(*sum, area);
            }
        }
        self.normals = Some(
            sums.into_iter()
                .map(|sum| narrow(unit(sum).unwrap_or_default()))
                .collect(),
        );
        self
    }

    /// The same after half a turn about x, normals too: y and z point the other way.
    #[must_use]
    pub fn turned_about_x(mut self) -> Self {
        for [_, y, z] in self.positions.iter_mut().chain(self.normals.iter_mut().flatten()) {
            // 0 - x has no -0, which files would show.
            (*y, *z) = (0.0 - *y, 0.0 - *z);
        }
        let [_, y, z] = &mut self.origin;
        (*y, *z) = (0.0 - *y, 0.0 - *z);
        self
    }

    /// Positions of the vertices, scene units.
    #[must_use]
    pub fn positions(&self) -> &[[f32; 3]] {
        &self.positions
    }

    /// Vertices of the triangles.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Normals of the vertices.
    #[must_use]
    pub fn normals(&self) -> Option<&[[f32; 3]]> {
        self.normals.as_deref()
    }

    /// Colours of the vertices, 0 to 1, encoded as photos are.
    #[must_use]
    pub fn colors(&self) -> Option<&[[f32; 3]]> {
        self.colors.as_deref()
    }

    /// Texture coordinates of the triangles' corners.
    #[must_use]
    pub fn uvs(&self) -> Option<&[[[f32; 2]; 3]]> {
        self.uvs.as_deref()
    }

    /// Lower and upper corner of the box around all vertices; `None` without any.
    #[must_use]
    pub fn bounds(&self) -> Option<[[f32; 3]; 2]> {
        bounds(&self.positions)
    }

    /// Area of all triangles, squared scene units.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.triangles.iter().map(|&corners| self.triangle_area(corners)).sum()
    }

    /// Volume inside, cubic scene units, negative when the inside is out; means something for closed meshes only.
    #[must_use]
    pub fn volume(&self) -> f64 {
        let origin = self.bounds().map_or([0.0; 3], |[low, _]| wide(low));
        let six_times = |&corners: &[u32; 3]| {
            let [a, b, c] = self.corners(corners).map(|p| crate::vector::sub(p, origin));
            crate::vector::dot(a, crate::vector::cross(b, c))
        };
        self.triangles.iter().map(six_times).sum::<f64>() / 6.0
    }

    /// Positions of a triangle's corners.
    pub(crate) fn corners(&self, triangle: [u32; 3]) -> [V3; 3] {
        triangle.map(|vertex| wide(self.positions[vertex as usize]))
    }

    pub(crate) fn triangle_area(&self, triangle: [u32; 3]) -> f64 {
        let [a, b, c] = self.corners(triangle);
        0.5 * norm(double_area(a, b, c))
    }

    /// The mesh of the triangles that `keep` names; vertices stay.
    pub(crate) fn keep_triangles(mut self, mut keep: impl FnMut(usize) -> bool) -> Self {
        let mut kept = 0;
        for triangle in 0..self.triangles.len() {
            if keep(triangle) {
                self.triangles[kept] = self.triangles[triangle];
                if let Some(uvs) = &mut self.uvs {
                    uvs[kept] = uvs[triangle];
                }
                kept += 1;
            }
        }
        self.triangles.truncate(kept);
        if let Some(uvs) = &mut self.uvs {
            uvs.truncate(kept);
        }
        self
    }

    /// The mesh after vertex v has become `new_of[v]`, where attributes of the lowest v are taken for each.
    pub(crate) fn merge_vertices(mut self, new_of: &[u32], count: usize) -> Self {
        let mut first = vec![u32::MAX; count];
        for (&new, old) in new_of.iter().zip(0..) {
            let first = &mut first[new as usize];
            if *first == u32::MAX {
                *first = old;
            }
        }
        for vertex in self.triangles.as_flattened_mut() {
            *vertex = new_of[*vertex as usize];
        }
        self.take_vertices(&first);
        self
    }

    /// Takes the attributes of these vertices, in this order; indices are left as they are.
    pub(crate) fn take_vertices(&mut self, order: &[u32]) {
        let taken = |all: &[[f32; 3]]| -> Vec<[f32; 3]> { order.iter().map(|&vertex| all[vertex as usize]).collect() };
        let all = [Some(&mut self.positions), self.normals.as_mut(), self.colors.as_mut()];
        for all in all.into_iter().flatten() {
            *all = taken(all);
        }
    }
}

/// Lower and upper corner of the box around points; `None` without any.
pub(crate) fn bounds(points: &[[f32; 3]]) -> Option<[[f32; 3]; 2]> {
    let (&first, rest) = points.split_first()?;
    Some(rest.iter().fold([first; 2], |[low, high], p| {
        [
            std::array::from_fn(|i| low[i].min(p[i])),
            std::array::from_fn(|i| high[i].max(p[i])),
        ]
    }))
}

fn same_length(what: &'static str, found: usize, wanted: usize) -> Result<(), Error> {
    match found == wanted {
        true => Ok(()),
        false => Err(Error::Length { what, found, wanted }),
    }
}

/// Every number of a list is one.
pub(crate) fn finite<const N: usize>(what: &'static str, values: &[[f32; N]]) -> Result<(), Error> {
    match values.iter().position(|value| value.iter().any(|x| !x.is_finite())) {
        Some(index) => Err(Error::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// The middle of a triangle.
pub(crate) fn centre([a, b, c]: [V3; 3]) -> V3 {
    scale(add(a, add(b, c)), 1.0 / 3.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn files_say_what_positions_are_relative_to() {
        use crate::{glb, obj, ply};
        let origin = [448_262.0, 5_411_932.0, 311.5];
        let near = shapes::sphere(2, 1.0);
        let far = near.clone().with_origin(origin);
        let shifted = [origin[0] - 2.0, origin[1], origin[2]];
        let (mut as_ply, mut as_obj, mut as_glb) = (Vec::new(), Vec::new(), Vec::new());
        ply::write(&far, &[], &mut as_ply).unwrap();
        obj::write(&far, None, &mut as_obj).unwrap();
        glb::write(&far, None, &mut as_glb).unwrap();
        assert_eq!(ply::read(&as_ply[..]).unwrap(), far);
        assert_eq!(obj::read(&as_obj[..]).unwrap(), far);
        for from in [origin, shifted] {
            let step = (origin[0] - from[0]) as f32;
            for read in [
                ply::read_from(&as_ply[..], from).unwrap(),
                obj::read_from(&as_obj[..], from).unwrap(),
                glb::read_from(&as_glb, from).unwrap().mesh,
            ] {
                assert_eq!(read.origin(), from);
                let pairs = read.positions().iter().zip(near.positions());
                assert!(pairs.clone().count() == near.positions().len());
                for (a, b) in pairs {
                    assert!(
                        (a[0] - b[0] - step).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-6,
                        "{a:?} {b:?}"
                    );
                }
            }
        }
        // Without a word they are those of the data set; text and doubles have all digits.
        let text = "v 448262.03125 5411932.5 311\nv 448263 5411932 311\nv 448262 5411933 311\nf 1 2 3\n";
        let read = obj::read_from(text.as_bytes(), origin).unwrap();
        assert_eq!(read.positions()[0], [0.031_25, 0.5, -0.5]);
        for format in [&as_ply[..200.min(as_ply.len())], &as_obj[..60]] {
            assert!(String::from_utf8_lossy(format).contains("origin 448262 5411932 311.5"));
        }
        let mut plain = Vec::new();
        glb::write(&near, None, &mut plain).unwrap();
        assert!(!String::from_utf8_lossy(&plain).contains("translation"));
        assert_eq!(far.turned_about_x().origin(), [448_262.0, -5_411_932.0, -311.5]);
    }

    #[test]
    fn damage_is_named() {
        let square = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let said = |e: Result<Mesh, Error>| e.unwrap_err().to_string();
        assert!(said(Mesh::new(square.clone(), vec![[0, 1, 2], [0, 3, 1]])).contains("triangle 1 names vertex 3"));
        let mut bad = square.clone();
        bad[2][1] = f32::NAN;
        assert!(said(Mesh::new(bad, vec![])).contains("position 2 is not finite"));
        let mesh = Mesh::new(square, vec![[0, 1, 2]]).unwrap();
        assert!(said(mesh.clone().with_normals(vec![[0.0; 3]; 2])).contains("2 normals for 3"));
        assert!(said(mesh.clone().with_positions(vec![[0.0; 3]; 2])).contains("2 positions for 3"));
        assert!(said(mesh.clone().with_positions(vec![[f32::NAN; 3]; 3])).contains("position 0"));
        assert!(said(mesh.clone().with_colors(vec![[f32::INFINITY; 3]; 3])).contains("color 0"));
        assert!(said(mesh.clone().with_uvs(vec![])).contains("0 texture coordinates for 1"));
        assert!(said(mesh.with_uvs(vec![[[0.0; 2], [0.0; 2], [f32::NAN, 0.0]]])).contains("texture coordinate 2"));
        assert_eq!(Mesh::new(vec![], vec![]).unwrap().bounds(), None);
    }

    #[test]
    fn area_volume_and_normals_of_a_sphere() {
        let sphere = shapes::sphere(64, 2.0).with_own_normals();
        assert!((sphere.area() / (16.0 * std::f64::consts::PI) - 1.0).abs() < 0.01);
        assert!((sphere.volume() / (32.0 / 3.0 * std::f64::consts::PI) - 1.0).abs() < 0.01);
        for (p, n) in sphere.positions().iter().zip(sphere.normals().unwrap()) {
            let cosine: f32 = p.iter().zip(n).map(|(p, n)| p * n / 2.0).sum();
            assert!(cosine > 0.99, "{p:?} {n:?}");
        }
    }
}
