//! What was made, stage by stage: `report.json`.

use kiln_mesh::topology::Topology;
use serde::Serialize;

use super::texture::Textured;
use super::{PoissonRow, Space, StageSizes, Up};
use crate::config;

/// Parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeshStage {
    /// Views give points.
    Points,
    /// Points become triangles.
    Reconstruct,
    /// Views mark the bricks near what they see.
    Touch,
    /// Views go into the voxels.
    Integrate,
    /// Voxels become triangles.
    March,
    /// Views colour the vertices.
    Color,
    /// What no view sees and what hangs alone goes; holes are filled.
    Clean,
    /// Triangles become fewer.
    Decimate,
    /// Vertices move to points.
    Project,
    /// Ragged borders go.
    Peel,
    /// Photos colour the texture.
    Texture,
    /// Files are written.
    Write,
}

impl MeshStage {
    /// The word in progress lines and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Reconstruct => "reconstruct",
            Self::Touch => "touch",
            Self::Integrate => "integrate",
            Self::March => "march",
            Self::Color => "color",
            Self::Clean => "clean",
            Self::Decimate => "decimate",
            Self::Project => "project",
            Self::Peel => "peel",
            Self::Texture => "texture",
            Self::Write => "write",
        }
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshProgress {
    /// Which.
    pub stage: MeshStage,
    /// Items done: views of a slab, or parts of a thousand.
    pub done: u32,
    /// Items in all.
    pub total: u32,
}

/// An event of the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeshEvent {
    /// A stage moves on.
    Progress(MeshProgress),
    /// A stage is over.
    Stage(StageRow),
}

/// A stage that is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StageRow {
    /// Which.
    pub stage: MeshStage,
    /// Bricks near surfaces, once they are known.
    pub bricks: u64,
    /// Points of the surface, once they are known.
    pub points: u64,
    /// How long it took.
    #[serde(serialize_with = "crate::export::milliseconds")]
    pub seconds: f64,
    /// Vertices after it; 0 before there are any.
    pub vertices: u64,
    /// Triangles after it; 0 before there are any.
    pub triangles: u64,
}

/// What was dropped on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Triangles that no training view sees.
    pub unseen: usize,
    /// Pieces too small.
    pub pieces: usize,
    /// Holes filled.
    pub holes_filled: usize,
    /// Triangles that projection folded: with equal vertices, there twice, or beyond two at an edge.
    pub projected: usize,
    /// Triangles of ragged borders.
    pub peeled: usize,
}

/// The surface that there is at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Surface {
    /// Vertices of triangles.
    pub vertices: u64,
    /// Triangles.
    pub triangles: u64,
    /// Triangles that hang together by vertices.
    pub pieces: u64,
    /// Edges with one triangle.
    pub open_edges: u64,
    /// Edges with more than two.
    pub non_manifold_edges: u64,
    /// Edges whose two triangles disagree about which side is out.
    pub flipped_edges: u64,
    /// Vertices whose triangles are not one fan.
    pub non_manifold_vertices: u64,
    /// Triangles with two equal vertices, which no other count has.
    pub degenerate: u64,
    /// Vertices - edges + triangles.
    pub euler: i64,
}

impl From<Topology> for Surface {
    fn from(t: Topology) -> Self {
        Self {
            vertices: t.vertices,
            triangles: t.triangles,
            pieces: t.pieces,
            open_edges: t.open_edges,
            non_manifold_edges: t.non_manifold_edges,
            flipped_edges: t.flipped_edges,
            non_manifold_vertices: t.non_manifold_vertices,
            degenerate: t.degenerate,
            euler: t.euler,
        }
    }
}

/// The picture over the surface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TextureRow {
    /// Texels along its side.
    pub side: u32,
    /// Charts or squares.
    pub parts: u32,
    /// Share of it that triangles cover.
    pub fill: f64,
    /// Share of that which photos show.
    pub seen: f64,
    /// Times that the photos went by.
    pub batches: u32,
    /// Device bytes that it took, after those of `memory` were given back.
    pub device_bytes: u64,
}

impl From<&Textured> for TextureRow {
    fn from(made: &Textured) -> Self {
        Self {
            side: made.texture.side(),
            parts: made.parts,
            fill: made.fill,
            seen: made.seen,
            batches: made.batches,
            device_bytes: made.device_bytes,
        }
    }
}

/// `report.json`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeshReport {
    /// The program that made it.
    pub kiln: &'static str,
    /// File of the model.
    pub model: String,
    /// SHA-256 of that file.
    pub model_sha256: String,
    /// The settings.
    pub settings: config::Mesh,
    /// SHA-256 of the settings as JSON.
    pub settings_sha256: String,
    /// SHA-256 of the names of the views, one a line.
    pub views_sha256: String,
    /// The device.
    pub device: String,
    /// Where there were voxels.
    pub space: Space,
    /// Training views that depth was taken from.
    pub views: usize,
    /// Of all drawings of views, those that were made in bands.
    pub views_in_bands: u32,
    /// Bricks near surfaces.
    pub bricks: usize,
    /// Slabs that they went by in.
    pub slabs: usize,
    /// Points and what was made of them; none where there were voxels.
    pub poisson: Option<PoissonRow>,
    /// What was planned and allocated.
    pub memory: StageSizes,
    /// What happened, in order.
    pub stages: Vec<StageRow>,
    /// What was dropped.
    pub dropped: Dropped,
    /// What is left.
    pub surface: Surface,
    /// The largest error of decimation, world units, in contracted space as in its ball; none where there was none.
    pub decimation_error: Option<f32>,
    /// The picture over the surface; none where no file holds one.
    pub texture: Option<TextureRow>,
    /// Which way is up in the files.
    pub up: Up,
    /// Files beside this one.
    pub files: Vec<String>,
}

impl MeshReport {
    /// Device bytes that were allocated, at most at once.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        let texture = self.texture.map_or(0, |row| row.device_bytes);
        self.memory.device_bytes.max(texture)
    }
}
