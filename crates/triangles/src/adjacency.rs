//! Which triangles each vertex is in.

/// Corners of triangles, row by row of vertices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Where the row of each vertex begins, and the end of all.
    pub starts: Vec<u32>,
    /// Corners, 3 t + k for corner k of triangle t, ascending within a row.
    pub corners: Vec<u32>,
}

impl Adjacency {
    /// Rows of triangles between so many vertices; all indices must be below.
    ///
    /// Takes 4 B per vertex beside the result of 4 B per vertex and 12 B per triangle.
    #[must_use]
    pub fn new(vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let all = triangles.as_flattened();
        let mut starts = vec![0_u32; vertices + 1];
        for &vertex in all {
            starts[vertex as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut next = starts.clone();
        let mut corners = vec![0; all.len()];
        for (&vertex, corner) in all.iter().zip(0..) {
            let next = &mut next[vertex as usize];
            corners[*next as usize] = corner;
            *next += 1;
        }
        Self { starts, corners }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soups::Soup;

    #[test]
    fn rows_are_what_a_search_finds() {
        for seed in 0..10 {
            let soup = Soup::random(30, 50, seed);
            let found = Adjacency::new(30, &soup.triangles);
            for vertex in 0..30_u32 {
                let range = found.starts[vertex as usize] as usize..found.starts[vertex as usize + 1] as usize;
                let wanted: Vec<u32> = (0..150)
                    .filter(|&corner| soup.triangles[corner as usize / 3][corner as usize % 3] == vertex)
                    .collect();
                assert_eq!(found.corners[range], wanted);
            }
        }
        let none = Adjacency::new(0, &[]);
        assert_eq!((none.starts, none.corners), (vec![0], vec![]));
    }
}
