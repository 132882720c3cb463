//! Ragged borders are peeled off.

use crate::edges::Edges;
use crate::mesh::centre;
use crate::vector::narrow;
use crate::{Error, Mesh};

/// Takes off the triangles with an open edge, `rounds` times, and then puts back those at whose centre the model is
/// denser than `threshold` (SuGaR's optional post-processing, Guedon and Lepetit 2024; its values are 5 and 0.1). Says how
/// many are gone.
///
/// `density` gives the density of the model at each of some points; it is called once.
///
/// # Errors
/// [`Error::Setting`] for a threshold that is no number; [`Error::Length`] when `density` gives another number of values.
pub fn borders(
    mesh: Mesh,
    rounds: u32,
    threshold: f32,
    density: impl FnOnce(&[[f32; 3]]) -> Vec<f32>,
) -> Result<(Mesh, usize), Error> {
    if threshold.is_nan() {
        return Err(Error::setting("density threshold", threshold, "a number"));
    }
    let edges = Edges::new(&mesh);
    let mut peeled = vec![false; mesh.triangles.len()];
    let mut order: Vec<u32> = Vec::new();
    for _ in 0..rounds {
        let from = order.len();
        for edge in edges.iter(&mesh.triangles) {
            let mut left = edge
                .corners
                .iter()
                .map(|&corner| corner / 3)
                .filter(|&t| !peeled[t as usize]);
            if let (Some(triangle), None) = (left.next(), left.next()) {
                order.push(triangle);
            }
        }
        if order.len() == from {
            break;
        }
        for &triangle in &order[from..] {
            peeled[triangle as usize] = true;
        }
    }
    order.sort_unstable();
    order.dedup();
    let centres: Vec<[f32; 3]> = order
        .iter()
        .map(|&triangle| narrow(centre(mesh.corners(mesh.triangles[triangle as usize]))))
        .collect();
    let densities = density(&centres);
    if densities.len() != order.len() {
        return Err(Error::Length {
            what: "densities",
            found: densities.len(),
            wanted: order.len(),
        });
    }
    let mut gone = order.len();
    for (triangle, density) in order.into_iter().zip(densities) {
        if density > threshold {
            peeled[triangle as usize] = false;
            gone -= 1;
        }
    }
    Ok((mesh.keep_triangles(|triangle| !peeled[triangle]), gone))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn thin_borders_go_and_dense_ones_stay() {
        let square = shapes::square(8);
        let left = |rounds, density: fn(&[f32; 3]) -> f32| {
            let (mesh, gone) = borders(square.clone(), rounds, 0.1, |points| {
                points.iter().map(density).collect()
            })
            .unwrap();
            assert_eq!(mesh.triangles().len() + gone, square.triangles().len());
            (mesh, gone)
        };
        assert_eq!(left(0, |_| 0.0).1, 0);
        // Every quad of the border has an open edge, in the corners of the square on both triangles or one.
        let (one, gone) = left(1, |_| 0.0);
        assert!((28..=32).contains(&gone), "{gone}");
        assert!(one.triangles().len() > 90);
        assert!(left(5, |_| 0.0).1 > gone);
        assert_eq!(left(99, |_| 0.0).0.triangles().len(), 0);
        assert_eq!(left(99, |_| 0.2).1, 0);
        let (half, _) = left(99, |p| if p[0] > 0.5 { 0.2 } else { 0.1 });
        assert_eq!(half.triangles().len(), 64);
        let sphere = shapes::sphere(5, 1.0);
        let (same, gone) = borders(sphere.clone(), 5, 0.1, |points| vec![0.0; points.len()]).unwrap();
        assert_eq!((same, gone), (sphere.clone(), 0));
        assert!(borders(sphere, 1, f32::NAN, |_| vec![]).is_err());
        assert!(borders(square, 1, 0.1, |_| vec![]).is_err());
    }
}
