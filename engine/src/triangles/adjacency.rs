//! Which triangles have a vertex.

/// Rows of all vertices behind one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// First entry of every vertex's row, and one past the last of all.
    pub starts: Vec<u32>,
    /// Three times a triangle plus which of its corners the vertex is; rows ascend.
    pub corners: Vec<u32>,
}

impl Adjacency {
    /// That of `triangles` over `n_vertices` vertices; corners beyond them are in no row.
    #[must_use]
    pub fn new(n_vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut starts = vec![0_u32; n_vertices + 1];
        let corners = triangles.as_flattened();
        for &v in corners {
            if let Some(count) = starts.get_mut(v as usize + 1).filter(|_| (v as usize) < n_vertices) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut rows = vec![0; sum as usize];
        for (corner, &v) in (0..).zip(corners) {
            let Some(at) = next.get_mut(v as usize).filter(|_| (v as usize) < n_vertices) else {
                continue;
            };
            if let Some(place) = rows.get_mut(*at as usize) {
                *place = corner;
            }
            *at += 1;
        }
        Self { starts, corners: rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_and_have_every_corner_once() {
        let found = Adjacency::new(5, &[[0, 1, 2], [2, 1, 4], [4, 2, 0]]);
        assert_eq!(found.starts, [0, 2, 4, 7, 7, 9]);
        assert_eq!(found.corners, [0, 8, 1, 4, 2, 3, 7, 5, 6]);
        assert_eq!(Adjacency::new(0, &[]).starts, [0]);
    }
}
