//! What a surface loses before it is written, and the colours that it has then.

use kiln_mesh::{Mesh, clean, cull, holes, pieces, spread};

use super::MeshError;
use super::log::Log;
use super::report::{Dropped, MeshStage};
use kiln_config;

/// Pieces below this share of the largest one go.
const LEAST_SHARE: f64 = 0.001;

/// Colours the mesh and takes out what `options` say; `seen` are the colours of the vertices that some view sees.
pub(super) fn cleaned(
    options: &kiln_config::Mesh,
    mesh: Mesh,
    seen: &[Option<[f32; 3]>],
    log: &mut Log<'_>,
) -> Result<(Mesh, Dropped), MeshError> {
    let mut dropped = Dropped::default();
    let colors = spread::colors(seen, mesh.triangles());
    let mut mesh = mesh.with_colors(colors)?;
    log.end(MeshStage::Color, Some(&mesh))?;
    log.tell(MeshStage::Clean, 0, 1)?;
    if options.method.culls_unseen() {
        let is_seen = |vertex: u32| seen.get(vertex as usize).is_some_and(Option::is_some);
        let faces: Vec<bool> = mesh.triangles().iter().map(|t| t.iter().any(|&v| is_seen(v))).collect();
        (mesh, dropped.unseen) = cull::unseen(mesh, &faces)?;
    }
    let keep = match options.pieces {
        Some(most) => pieces::Keep::Largest(most as usize),
        None => pieces::Keep::AtLeast {
            triangles: options.min_triangles,
            share: if options.min_triangles > 0 { LEAST_SHARE } else { 0.0 },
        },
    };
    (mesh, dropped.pieces) = pieces::keep(mesh, keep)?;
    if options.fill_holes > 0 {
        let (filled, report) = holes::fill(mesh, options.fill_holes as usize);
        (mesh, dropped.holes_filled) = (filled, report.filled);
    }
    if mesh.triangles().is_empty() {
        return Err(MeshError::NothingLeft {
            pieces: dropped.pieces,
            unseen: dropped.unseen,
        });
    }
    Ok((clean::unreferenced(mesh).0, dropped))
}
