//! Removal of what no view sees.

use crate::{Error, Mesh};

/// Drops triangles that are not seen and share no vertex with one that is, and says how many. Vertices stay.
///
/// The ring around what is seen stays because a triangle may be seen between the samples of all views.
///
/// # Errors
/// [`Error::Length`] unless `seen` says it of each triangle.
pub fn unseen(mesh: Mesh, seen: &[bool]) -> Result<(Mesh, usize), Error> {
    if seen.len() != mesh.triangles.len() {
        return Err(Error::Length {
            what: "marks of seen triangles",
            found: seen.len(),
            wanted: mesh.triangles.len(),
        });
    }
    let mut near = vec![false; mesh.positions.len()];
    for (triangle, _) in mesh.triangles.iter().zip(seen).filter(|(_, seen)| **seen) {
        triangle.iter().for_each(|&vertex| near[vertex as usize] = true);
    }
    let keep: Vec<bool> = mesh
        .triangles
        .iter()
        .map(|triangle| triangle.iter().any(|&vertex| near[vertex as usize]))
        .collect();
    let dropped = keep.iter().filter(|&&keep| !keep).count();
    Ok((mesh.keep_triangles(|triangle| keep[triangle]), dropped))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn a_ring_around_what_is_seen_stays() {
        let square = shapes::square(9);
        let count = square.triangles().len();
        // One triangle amid the square: its three vertices have six triangles each.
        let mut seen = vec![false; count];
        seen[2 * (4 * 9 + 4)] = true;
        let (left, dropped) = unseen(square.clone(), &seen).unwrap();
        assert_eq!((left.triangles().len(), dropped), (13, count - 13));
        assert_eq!(unseen(square.clone(), &vec![true; count]).unwrap(), (square.clone(), 0));
        assert_eq!(unseen(square.clone(), &vec![false; count]).unwrap().1, count);
        assert!(unseen(square, &[]).is_err());
    }
}
