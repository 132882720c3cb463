//! `mesh`: how a model becomes a triangle mesh.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plugins::Checker;

/// `mesh`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// How the surface is found.
    pub method: MeshMethod,
    /// Where there are voxels: auto = bounded where the training cameras look inward at nearly all of the model, else contracted.
    pub space: MeshSpace,
    /// Side of a voxel, world units; in contracted space of one in its ball. Null = what a pixel covers at the median depth.
    pub voxel: Option<f32>,
    /// Box of bounded space, `[x0, y0, z0, x1, y1, z1]`, world units; null = around what the cameras look at.
    #[serde(rename = "box")]
    pub bounds: Option<[f64; 6]>,
    /// Largest depth that counts, world units; null = no limit.
    pub far: Option<f32>,
    /// What the depth of a pixel is.
    pub depth: MeshDepth,
    /// Distance from a surface at which voxels still hear of it, voxels; 2 to 16.
    pub truncation: f32,
    /// Views that must have seen all corners of a cell before there may be a triangle in it; 1 to 100.
    pub min_views: u32,
    /// Under `poisson`: density of the model at which points lie, 0.01 to 0.99; null = points where pixels have their
    /// `depth`.
    pub level: Option<f32>,
    /// Under `poisson`: points that are taken of all views; 1000 to 1 000 000 000.
    pub points: u32,
    /// Under `poisson`: the finest lattice has 2 to the power of this cells along a side; 5 to 11. Null = at most 10, as
    /// deep as points lie densely enough for and memory has room for.
    pub poisson_depth: Option<u32>,
    /// Under `poisson`: share of the vertices, those where points are thinnest, that are cut off; 0 to 0.99, 0 leaves the surface
    /// closed.
    pub density_quantile: f32,
    /// Under `poisson`: move every vertex to the point nearest to it in the end, as SuGaR does; for surfaces that a quantile has cut,
    /// because vertices far from all points go to the rims of what was seen.
    #[serde(default)]
    pub project: bool,
    /// Under `poisson`: reconstruct what lies in `box`, or without one within a scene's extent of the cameras' middle along each
    /// axis, and what lies around it one after the other, as SuGaR does: the cells of the first are as fine as its size allows.
    #[serde(default)]
    pub split: bool,
    /// Take ragged borders off in the end, as SuGaR's post-processing does; null = none.
    #[serde(default)]
    pub peel: Option<Peel>,
    /// Keep so many pieces, those with the most triangles; null = all that `min_triangles` leaves.
    pub pieces: Option<u32>,
    /// Drop pieces of fewer triangles, and those below a thousandth of the largest one.
    pub min_triangles: u32,
    /// Drop triangles that no training view sees.
    pub cull_unseen: bool,
    /// Fill holes of at most so many edges; 0 to 1000, 0 = none.
    pub fill_holes: u32,
    /// Fewer triangles for nearly the same surface: `{ triangles: N }`, `{ vertices: N }` or `{ error: VOXELS }`; null = all,
    /// but with a picture in charts at most one for 64 of its texels.
    pub decimate: Option<Decimate>,
    /// A picture over the surface, taken from the photos; for the formats that can hold one (obj, glb).
    pub texture: MeshTexture,
    /// Files that are written.
    pub formats: Vec<MeshFormat>,
}

/// `mesh.method`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshMethod {
    /// Depth of all views into voxels: what views see, open elsewhere.
    Fusion,
    /// Screened Poisson reconstruction through the pixels of all views: closed, also where nobody looked.
    Poisson,
    /// None is found: the mesh that the model is bound to, as its run left it.
    Bound,
}

/// `mesh.texture`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshTexture {
    /// How it is laid out.
    pub kind: TextureKind,
    /// Texels along the side of the picture, under `charts`; 16 to 16384.
    #[serde(default = "side")]
    pub size: u32,
    /// Texels along the side of a square, under `squares`; 5 to 64.
    #[serde(default = "square")]
    pub square: u32,
}

const fn side() -> u32 {
    4096
}

const fn square() -> u32 {
    8
}

/// `mesh.texture.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextureKind {
    /// Regions of the surface, flattened and packed.
    Charts,
    /// A square for every two triangles.
    Squares,
    /// No picture: colours per vertex.
    None,
}

/// `mesh.space`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshSpace {
    /// By what the cameras look at.
    Auto,
    /// A box with equal voxels.
    Bounded,
    /// All of the world: equal voxels in a ball, ever larger ones outside.
    Contracted,
}

/// `mesh.depth`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshDepth {
    /// Where the pixel's ray meets the blended plane of the Gaussians.
    Plane,
    /// Where half the light is blocked.
    Median,
    /// Mean depth of the Gaussians' centres by their blending weights.
    Expected,
}

/// `mesh.formats`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshFormat {
    /// Binary PLY with normals and colours per vertex.
    Ply,
    /// Wavefront OBJ, with material library and picture, or colours per vertex.
    Obj,
    /// Binary glTF, with the picture inside, or colours per vertex.
    Glb,
}

impl MeshFormat {
    /// All, in the order of their names in help texts.
    pub const ALL: [Self; 3] = [Self::Ply, Self::Obj, Self::Glb];

    /// The word in a profile, and the ending of the file's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::Obj => "obj",
            Self::Glb => "glb",
        }
    }
}

/// `mesh.peel`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Peel {
    /// Times that the triangles with an open edge go; 1 to 1000.
    pub rounds: u32,
    /// Density of the model above which those come back, at their centres; 0 to 1000.
    pub density: f32,
}

impl Default for Peel {
    fn default() -> Self {
        Self {
            rounds: 5,
            density: 0.1,
        }
    }
}

/// `mesh.decimate`: one of the three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decimate {
    /// To at most so many triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u32>,
    /// To at most so many vertices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<u32>,
    /// As far as no collapse costs more than this, voxels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f32>,
}

impl Mesh {
    /// Ranges.
    pub(super) fn check(&self, c: &mut Checker) {
        if let Some(voxel) = self.voxel {
            c.positive("voxel", voxel.into(), 1e9);
        }
        if let Some(bounds) = self.bounds {
            let shown = format!("{bounds:?}");
            c.require("box", crate::plugins::is_box(&bounds), shown, || {
                "six finite numbers, the smallest corner and then a larger one".to_owned()
            });
            let is_contracted = self.space == MeshSpace::Contracted;
            c.require("box", !is_contracted, "given", || {
                "null, because `mesh.space` is contracted and has no box".to_owned()
            });
        }
        if let Some(far) = self.far {
            c.positive("far", far.into(), 1e9);
        }
        c.range("truncation", self.truncation, 2.0..=16.0);
        c.range("min_views", self.min_views, 1..=100);
        if let Some(level) = self.level {
            c.range("level", level, 0.01..=0.99);
        }
        c.range("points", self.points, 1000..=1_000_000_000);
        if let Some(depth) = self.poisson_depth {
            c.range("poisson_depth", depth, 5..=11);
        }
        c.range("density_quantile", self.density_quantile, 0.0..=0.99);
        if let Some(peel) = self.peel {
            c.within("peel", |c| {
                c.range("rounds", peel.rounds, 1..=1000);
                c.range("density", peel.density, 0.0..=1000.0);
            });
        }
        if let Some(pieces) = self.pieces {
            c.range("pieces", pieces, 1..=1_000_000);
        }
        c.range("min_triangles", self.min_triangles, 0..=1_000_000_000);
        c.range("fill_holes", self.fill_holes, 0..=1000);
        if let Some(decimate) = self.decimate {
            let given = [
                decimate.triangles.is_some(),
                decimate.vertices.is_some(),
                decimate.error.is_some(),
            ];
            let count = given.into_iter().filter(|given| *given).count();
            c.require("decimate", count == 1, format!("{count} targets"), || {
                "one of `triangles`, `vertices` and `error`".to_owned()
            });
            c.within("decimate", |c| {
                if let Some(n) = decimate.triangles {
                    c.range("triangles", n, 1..=u32::MAX / 3);
                }
                if let Some(n) = decimate.vertices {
                    c.range("vertices", n, 3..=u32::MAX / 3);
                }
                if let Some(error) = decimate.error {
                    c.range("error", error, 0.0..=1000.0);
                }
            });
        }
        c.within("texture", |c| {
            c.range("size", self.texture.size, 16..=16_384);
            c.range("square", self.texture.square, 5..=64);
        });
        let formats = &self.formats;
        c.require("formats", !formats.is_empty(), "empty", || {
            "at least one of ply, obj, glb".to_owned()
        });
        let twice = formats
            .iter()
            .enumerate()
            .any(|(i, format)| formats[..i].contains(format));
        c.require("formats", !twice, "one format twice", || "each format once".to_owned());
    }
}
