//! The connected surface that takes the place of all triangles.

use kiln_mesh::restricted::{self, Found, Options};
use kiln_mesh::{Mesh, Progress};

use crate::triangles::renamed;
use crate::{Error, Limits, Triangles};

/// What takes the place of all triangles. Their maxima begin anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connected {
    /// Vertices that stay, by their old numbers, ascending; a vertex's new number is its place here. Each has a triangle.
    pub vertices: Vec<u32>,
    /// All triangles, by new numbers.
    pub triangles: Vec<[u32; 3]>,
    /// What was found on the way.
    pub found: Found,
}

impl Connected {
    /// What a user should know of it; none when nothing is odd.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Found {
            triangles, left_out, ..
        } = self.found;
        (left_out > 0).then(|| {
            format!(
                "the connected surface has {triangles} triangles and there is room for {}: the {left_out} faintest are left out; a higher \
                 memory cap, or fewer vertices, would keep them",
                triangles - left_out
            )
        })
    }
}

impl Triangles<'_> {
    /// Connects the vertices along the surface that the triangles are now (see [`restricted`]). Vertices that are not on it go.
    /// Beyond the limit those are left out that go through the faintest triangles.
    ///
    /// # Errors
    /// [`Error::Mesh`]: more memory than the limit, vertices that are not finite or lie in a plane, stopped.
    /// [`Error::Unconnected`] where nothing is.
    pub fn connect(&self, limits: &Limits, progress: Progress<'_>) -> Result<Connected, Error> {
        let brightness: Vec<f32> = self.triangles.iter().map(|&t| self.opacity(t) as f32).collect();
        let options = Options {
            most_triangles: limits.triangles,
            brightness: &brightness,
            memory_bytes: limits.memory_bytes,
            orient: limits.orient,
        };
        let mesh = Mesh::new(self.positions.to_vec(), self.triangles.to_vec())?;
        let (mesh, found) = restricted::surface(mesh, &options, progress)?;
        if mesh.triangles().is_empty() {
            return Err(Error::Unconnected {
                triangles: self.triangles.len(),
            });
        }
        let mut triangles = mesh.triangles().to_vec();
        Ok(Connected {
            vertices: renamed(self.positions.len(), &mut triangles),
            triangles,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::ops::ControlFlow;

    use super::*;
    use crate::soups::{Soup, uniform};

    const LIMITS: Limits = Limits {
        vertices: u32::MAX,
        triangles: u32::MAX,
        memory_bytes: u64::MAX,
        orient: true,
    };

    fn on(_: f32) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A closed lumpy surface whose triangles share no vertex, and a point that nobody has.
    fn loose() -> Soup {
        let tetrahedron = [[0.0, 0.0, 0.0], [3.0, 0.1, 0.2], [0.2, 3.0, 0.1], [0.1, 0.3, 3.0]];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let mut soup = Soup::new(tetrahedron.to_vec(), faces.to_vec());
        for _ in 0..3 {
            let all: Vec<u32> = (0..soup.triangles.len() as u32).collect();
            let split = soup.read().split(&all, [u32::MAX; 2]);
            let mut flat = soup.positions.as_flattened().to_vec();
            crate::rows::append_means(&mut flat, 3, &split.ends);
            soup = Soup::new(
                flat.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect(),
                split.triangles,
            );
        }
        for (v, p) in (0..).zip(&mut soup.positions) {
            *p = [0, 1, 2].map(|axis| p[axis as usize] + 0.02 * (uniform(9, 3 * v + axis) - 0.5));
        }
        let corners: Vec<u32> = soup.triangles.iter().flatten().copied().collect();
        let mut positions: Vec<[f32; 3]> = corners.iter().map(|&v| soup.positions[v as usize]).collect();
        positions.push([0.7, 0.7, 0.7]);
        let count = corners.len() as u32 / 3;
        Soup::new(positions, (0..count).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect())
    }

    #[test]
    fn loose_triangles_become_one_piece() {
        let soup = loose();
        let found = soup.read().connect(&LIMITS, &mut on).unwrap();
        // A closed surface of 4 * 64 triangles has 130 vertices.
        assert!((120..=130).contains(&found.vertices.len()), "{}", found.vertices.len());
        assert!(found.vertices.is_sorted() && found.warning().is_none());
        let positions = found.vertices.iter().map(|&v| soup.positions[v as usize]).collect();
        let mesh = Mesh::new(positions, found.triangles.clone()).unwrap();
        let report = kiln_mesh::topology::report(&mesh);
        assert_eq!((report.pieces, report.flipped_edges), (1, 0), "{report}");
        assert_eq!(report.vertices, found.vertices.len() as u64);
    }

    #[test]
    fn room_is_kept_and_said() {
        let soup = loose();
        let all = soup.read().connect(&LIMITS, &mut on).unwrap();
        let few = soup
            .read()
            .connect(
                &Limits {
                    triangles: 100,
                    ..LIMITS
                },
                &mut on,
            )
            .unwrap();
        assert_eq!(few.triangles.len(), 100);
        let warning = few.warning().unwrap();
        let left = all.triangles.len() - 100;
        assert!(
            warning.contains(&format!("room for 100: the {left} faintest")),
            "{warning}"
        );
    }

    #[test]
    fn what_cannot_be_connected_is_said() {
        let flat = Soup::strip(9);
        let error = flat.read().connect(&LIMITS, &mut on).unwrap_err();
        assert!(error.to_string().contains("lie in a plane"), "{error}");
        let error = loose()
            .read()
            .connect(
                &Limits {
                    memory_bytes: 1000,
                    ..LIMITS
                },
                &mut on,
            )
            .unwrap_err();
        assert!(matches!(error, Error::Mesh(kiln_mesh::Error::Memory { .. })), "{error}");
        let mut odd = loose();
        odd.positions[5][1] = f32::INFINITY;
        let error = odd.read().connect(&LIMITS, &mut on).unwrap_err();
        assert!(error.to_string().contains("position 5"), "{error}");
        // One tetrahedron has no dual edge.
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let single = Soup::new(corners.to_vec(), vec![[0, 1, 2]]);
        let error = single.read().connect(&LIMITS, &mut on).unwrap_err();
        assert!(matches!(error, Error::Unconnected { triangles: 1 }), "{error}");
    }
}
