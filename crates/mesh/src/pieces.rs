//! Pieces: triangles that hang together by vertices.

use crate::sets::Sets;
use crate::{Error, Mesh};

/// What triangles belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Piece of each triangle; pieces are numbered in the order of their first triangles.
    pub of_triangle: Vec<u32>,
    /// Triangles of each piece.
    pub sizes: Vec<u32>,
}

/// Which pieces stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// Those of at least so many triangles, and of at least such a share of the largest one's.
    AtLeast {
        /// Triangles.
        triangles: u32,
        /// Share of the largest piece, 0 to 1.
        share: f64,
    },
    /// The n with the most triangles, the earlier of equal ones.
    Largest(usize),
}

/// The pieces of a mesh.
#[must_use]
pub fn find(mesh: &Mesh) -> Pieces {
    let mut sets = Sets::new(mesh.positions.len() as u32);
    for &[a, b, c] in &mesh.triangles {
        sets.join(a, b);
        sets.join(a, c);
    }
    let mut piece_of_root = vec![u32::MAX; mesh.positions.len()];
    let mut sizes = Vec::new();
    let piece = |&[vertex, ..]: &[u32; 3]| {
        let piece = &mut piece_of_root[sets.root(vertex) as usize];
        if *piece == u32::MAX {
            *piece = sizes.len() as u32;
            sizes.push(0);
        }
        sizes[*piece as usize] += 1;
        *piece
    };
    let of_triangle = mesh.triangles.iter().map(piece).collect();
    Pieces { of_triangle, sizes }
}

/// Drops pieces, and says how many. Vertices stay; [`crate::clean::unreferenced`] drops them.
///
/// # Errors
/// [`Error::Setting`] for a share outside 0 to 1, and for no piece at all.
pub fn keep(mesh: Mesh, keep: Keep) -> Result<(Mesh, usize), Error> {
    let pieces = find(&mesh);
    let stays: Vec<bool> = match keep {
        Keep::AtLeast { triangles, share } => {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::setting("share of the largest piece", share, "from 0 to 1"));
            }
            let largest = pieces.sizes.iter().max().map_or(0.0, |&largest| f64::from(largest));
            let stays = |&size: &u32| size >= triangles && f64::from(size) >= share * largest;
            pieces.sizes.iter().map(stays).collect()
        }
        Keep::Largest(0) => return Err(Error::setting("number of pieces", 0, "at least 1")),
        Keep::Largest(n) => {
            let mut order: Vec<usize> = (0..pieces.sizes.len()).collect();
            order.sort_by_key(|&piece| std::cmp::Reverse(pieces.sizes[piece]));
            let mut stays = vec![false; order.len()];
            order.iter().take(n).for_each(|&piece| stays[piece] = true);
            stays
        }
    };
    let dropped = stays.iter().filter(|&&stays| !stays).count();
    let mesh = mesh.keep_triangles(|triangle| stays[pieces.of_triangle[triangle] as usize]);
    Ok((mesh, dropped))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn small_pieces_go() {
        let (small, large) = (shapes::sphere(3, 0.1), shapes::sphere(10, 1.0));
        let scene = shapes::both(&shapes::both(&small, &large), &shapes::moved(&small, [5.0; 3]));
        let n = small.triangles().len() as u32;
        let pieces = find(&scene);
        assert_eq!(pieces.sizes, [n, large.triangles().len() as u32, n]);
        assert_eq!((pieces.of_triangle[0], pieces.of_triangle[n as usize]), (0, 1));
        let left = |rule| {
            let (mesh, dropped) = keep(scene.clone(), rule).unwrap();
            (find(&mesh).sizes.len(), dropped)
        };
        let at_least = |triangles, share| Keep::AtLeast { triangles, share };
        assert_eq!(left(at_least(n, 0.0)), (3, 0));
        assert_eq!(left(at_least(n + 1, 0.0)), (1, 2));
        assert_eq!(left(at_least(0, 0.5)), (1, 2));
        assert_eq!(left(at_least(u32::MAX, 0.0)), (0, 3));
        assert_eq!(left(Keep::Largest(1)), (1, 2));
        assert_eq!(left(Keep::Largest(2)), (2, 1));
        assert_eq!(left(Keep::Largest(9)), (3, 0));
        let (two, _) = keep(scene.clone(), Keep::Largest(2)).unwrap();
        assert_eq!(two.triangles()[0], scene.triangles()[0], "the earlier of equal ones");
        assert!(keep(scene.clone(), Keep::Largest(0)).is_err());
        assert!(keep(scene, at_least(0, f64::NAN)).is_err());
        assert_eq!(keep(Mesh::default(), Keep::Largest(1)).unwrap().1, 0);
    }
}
