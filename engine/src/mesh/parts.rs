//! What lies in a box and what lies around it, reconstructed one after the other (SuGaR): the box has cells as fine as a cube of its
//! size allows, whatever is far away.

use std::ops::ControlFlow;

use kiln_mesh::poisson::{Options, Surface, reconstruct};
use kiln_mesh::{Error, Mesh, clean};

use super::MeshError;

type Box3 = [[f32; 3]; 2];

/// The surfaces of both parts as one mesh.
pub(super) struct Parts {
    pub(super) mesh: Mesh,
    /// Depths of the finest lattices, inside and around; none of a part without a surface.
    pub(super) depths: [Option<u32>; 2],
    pub(super) blocks: u64,
    pub(super) bytes: u64,
}

fn is_in([low, high]: Box3, p: [f32; 3]) -> bool {
    (0..3).all(|i| (low[i]..=high[i]).contains(&p[i]))
}

/// Reconstructs both parts. What surrounds the box closes over it where there are no points; that goes, and inside, what reaches out
/// goes. Normals of the points in the box are lost.
///
/// # Errors
/// [`MeshError::Poisson`] when memory is short or neither part has a surface; [`MeshError::Stopped`].
pub(super) fn surface(
    points: &[[f32; 3]],
    normals: &mut [[f32; 3]],
    bounds: Box3,
    options: &Options,
    progress: &mut dyn FnMut(f32) -> ControlFlow<()>,
) -> Result<Parts, MeshError> {
    let inner = Options {
        bounds: Some(bounds),
        ..*options
    };
    let inside = found(reconstruct(points, normals, None, &inner, &mut |part| {
        progress(0.5 * part)
    }))?;
    for (point, normal) in points.iter().zip(normals.iter_mut()) {
        if is_in(bounds, *point) {
            // Points without a normal are left out.
            *normal = [0.0; 3];
        }
    }
    let around = found(reconstruct(points, normals, None, options, &mut |part| {
        progress(0.5 + 0.5 * part)
    }))?;
    let (inside, around) = match (inside, around) {
        (Err(error), Err(_)) => return Err(MeshError::Poisson(error)),
        (inside, around) => (inside.ok(), around.ok()),
    };
    let parts = [inside.as_ref(), around.as_ref()].map(|part| part.map(|found| [found.blocks, found.bytes]));
    let of = |which: usize| parts.iter().flatten().map(move |part| part[which]);
    Ok(Parts {
        depths: [inside.as_ref(), around.as_ref()].map(|part| part.map(|found| found.depth)),
        blocks: of(0).sum(),
        bytes: of(1).max().unwrap_or(0),
        mesh: joined(inside.map(|part| part.mesh), around.map(|part| part.mesh), bounds)?,
    })
}

/// A part that has too few points for a surface is no error yet.
fn found(made: Result<Surface, Error>) -> Result<Result<Surface, Error>, MeshError> {
    match made {
        Err(Error::Stopped) => Err(MeshError::Stopped),
        Err(error @ Error::Unfit { .. }) => Ok(Err(error)),
        Err(other) => Err(MeshError::Poisson(other)),
        Ok(surface) => Ok(Ok(surface)),
    }
}

fn joined(inside: Option<Mesh>, around: Option<Mesh>, bounds: Box3) -> Result<Mesh, MeshError> {
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    if let Some(mesh) = inside {
        positions.extend_from_slice(mesh.positions());
        triangles.extend_from_slice(mesh.triangles());
    }
    if let Some(mesh) = around {
        let first = u32::try_from(positions.len()).unwrap_or(u32::MAX);
        let at = |vertex: u32| mesh.positions().get(vertex as usize).copied().unwrap_or_default();
        let reaches_in = |triangle: &[u32; 3]| {
            let corners = triangle.map(at);
            is_in(
                bounds,
                [0, 1, 2].map(|i| (corners[0][i] + corners[1][i] + corners[2][i]) / 3.0),
            )
        };
        let kept = mesh.triangles().iter().filter(|triangle| !reaches_in(triangle));
        triangles.extend(kept.map(|triangle| triangle.map(|vertex| first.saturating_add(vertex))));
        positions.extend_from_slice(mesh.positions());
    }
    let mesh = Mesh::new(positions, triangles).map_err(MeshError::Poisson)?;
    Ok(clean::unreferenced(mesh).0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use kiln_mesh::poisson::Depth;

    use super::*;

    /// Points on a sphere, and their normals.
    fn sphere(count: u32, radius: f32) -> impl Iterator<Item = ([f32; 3], [f32; 3])> {
        (0..count).map(move |i| {
            let z = 1.0 - (2.0 * i as f32 + 1.0) / count as f32;
            let (azimuth, side) = (i as f32 * 2.399_963, (1.0 - z * z).sqrt());
            let normal = [side * azimuth.cos(), side * azimuth.sin(), z];
            (normal.map(|x| radius * x), normal)
        })
    }

    fn parts(points: impl Iterator<Item = ([f32; 3], [f32; 3])>) -> Result<Parts, MeshError> {
        let (points, mut normals): (Vec<_>, Vec<_>) = points.unzip();
        let options = Options {
            depth: Depth::Exactly(5),
            density_quantile: 0.0,
            ..Options::default()
        };
        let mut last = 0.0;
        let mut progress = |part: f32| {
            assert!(part >= last, "{part} after {last}");
            last = part;
            ControlFlow::Continue(())
        };
        surface(&points, &mut normals, [[-1.0; 3], [1.0; 3]], &options, &mut progress)
    }

    #[test]
    fn a_ball_in_the_box_is_as_fine_as_without_a_wall_around() {
        let found = parts(sphere(4000, 0.5).chain(sphere(4000, 8.0))).unwrap();
        assert_eq!(found.depths, [Some(5); 2]);
        let far = |p: &&[f32; 3]| p.iter().map(|x| x * x).sum::<f32>().sqrt() > 1.0;
        let off = |p: &[f32; 3], radius: f32| (p.iter().map(|x| x * x).sum::<f32>().sqrt() - radius).abs();
        let positions = found.mesh.positions();
        let ball = positions
            .iter()
            .filter(|p| !far(p))
            .map(|p| off(p, 0.5))
            .fold(0.0, f32::max);
        let wall = positions.iter().filter(far).map(|p| off(p, 8.0)).fold(0.0, f32::max);
        assert!(ball < 0.02 && wall < 0.4, "{ball} {wall}");
        assert!(positions.iter().filter(|p| !far(p)).count() > 1000);
    }

    #[test]
    fn a_part_without_points_is_left_out() {
        assert_eq!(parts(sphere(3000, 0.5)).unwrap().depths, [Some(5), None]);
        assert_eq!(parts(sphere(3000, 5.0)).unwrap().depths, [None, Some(5)]);
        assert!(matches!(parts(sphere(0, 5.0)), Err(MeshError::Poisson(_))));
    }
}
