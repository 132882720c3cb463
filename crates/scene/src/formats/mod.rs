//! Readers of capture formats: COLMAP, Blender, Nerfstudio, multiscale Blender, PLY points; lenses and poses as they state them.

pub(super) mod beside;
pub(super) mod colmap;
pub(super) mod json;
pub(super) mod lens;
pub(super) mod multiscale;
pub(super) mod pairing;
pub(super) mod points_ply;
pub(super) mod posed;
pub(super) mod transforms;
pub(super) mod unknown;
