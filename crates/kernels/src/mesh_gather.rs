//! Colours that photos show of points on a mesh, gathered: a mean over views in their order, without atomics.

use super::generated::mesh_gather;
use kiln_program::{Groups, Program, Span, fold_groups};

/// Tensors of the pass.
#[derive(Clone, Copy, Debug)]
pub struct GatherIo {
    /// The [`MeshView`](super::mesh_draw::MeshView) of the photo, one sample a pixel.
    pub view: Span,
    /// Position and [`normal_code`], 16 bytes a point.
    pub points: Span,
    /// Drawn inverse depths of the whole picture.
    pub depths: Span,
    /// The [`Photo`](kiln_scene::Photo).
    pub photo: Span,
    /// Colours by weights and weights, 16 bytes a point; added to.
    pub sums: Span,
}

/// Appends the pass for `count` points.
pub fn record(program: &mut Program, io: &GatherIo, count: u32) {
    program.pass(
        &mesh_gather::KERNEL,
        (),
        mesh_gather::Bind {
            view: io.view,
            points: io.points,
            depths: io.depths,
            photo: io.photo,
            sums: io.sums,
        },
        mesh_gather::Push { count },
        Groups::Direct(fold_groups(count.div_ceil(64).max(1))),
    );
}

/// A unit normal in a word, on an octahedron (Cigolle et al. 2014); all bits for none.
#[must_use]
pub fn normal_code(normal: [f32; 3]) -> u32 {
    let sum: f32 = normal.iter().map(|x| x.abs()).sum();
    if sum.is_nan() || sum <= 0.0 {
        return u32::MAX;
    }
    let [mut x, mut y, z] = normal.map(|v| v / sum);
    if z < 0.0 {
        let away = |v: f32, by: f32| (1.0 - by.abs()).copysign(v);
        (x, y) = (away(x, y), away(y, x));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 65534"
    )]
    let [x, y] = [x, y].map(|v| ((v.clamp(-1.0, 1.0) + 1.0) * 32767.0).round() as u32);
    x | y << 16
}
