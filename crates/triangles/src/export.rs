//! The model as a mesh for files.

use kiln_mesh::Mesh;

use crate::Error;

/// Degree-0 spherical harmonic, 1 / (2 sqrt(pi)).
const SH_C0: f64 = 0.282_094_791_773_878_14;

/// A mesh with the colours of degree 0, `0.5 + C0 sh0` between 0 and 1, encoded as photos are: what the model shows on average
/// from all sides. Vertices keep their numbers.
///
/// # Errors
/// [`Error::Mesh`] for positions or colours that are not finite, indices out of range, another number of colours.
pub fn mesh(positions: Vec<[f32; 3]>, sh0: &[[f32; 3]], triangles: Vec<[u32; 3]>) -> Result<Mesh, Error> {
    let color = |sh0: &[f32; 3]| sh0.map(|x| (0.5 + SH_C0 * f64::from(x)).clamp(0.0, 1.0) as f32);
    Ok(Mesh::new(positions, triangles)?.with_colors(sh0.iter().map(color).collect())?)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::soups::Soup;

    #[test]
    fn colors_are_those_of_degree_0() {
        let soup = Soup::strip(1);
        let sh0 = [[0.0, 1.0, -1.0], [9.0, -9.0, 0.5], [0.0; 3]];
        let found = mesh(soup.positions.clone(), &sh0, soup.triangles.clone()).unwrap();
        let colors = found.colors().unwrap();
        assert_eq!(colors[0], [0.5, 0.782_094_8, 0.217_905_21]);
        assert_eq!(colors[1][..2], [1.0, 0.0]);
        assert_eq!(found.triangles(), soup.triangles);
        assert!(mesh(soup.positions.clone(), &sh0[..2], soup.triangles.clone()).is_err());
        let odd = [[f32::NAN; 3]; 3];
        assert!(mesh(soup.positions, &odd, soup.triangles).is_err());
    }
}
