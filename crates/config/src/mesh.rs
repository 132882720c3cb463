//! `mesh`: how a model becomes a triangle mesh.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::named::{self, Named};
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
    /// How fine voxels, lattice and picture are that nothing else sets.
    pub quality: MeshQuality,
    /// Views that must have seen all corners of a cell before there may be a triangle in it; 1 to 100.
    pub min_views: u32,
    /// Take ragged borders off in the end, as SuGaR's post-processing does; null = none.
    pub peel: Option<Peel>,
    /// Keep so many pieces, those with the most triangles; null = all that `min_triangles` leaves.
    pub pieces: Option<u32>,
    /// Drop pieces of fewer triangles, and those below a thousandth of the largest one.
    pub min_triangles: u32,
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
    /// Screened Poisson reconstruction through a level of the model's density, open where no view looks and where points are thinnest.
    Poisson,
    /// The same through the depths of pixels: for models whose Gaussians are not flat.
    PoissonDepths,
    /// The same as `poisson` with nothing cut off: closed, for printing.
    Closed,
    /// SuGaR's: `poisson` in two parts, what lies in `box`, or without one within a scene's extent of the cameras' middle along each
    /// axis, and what lies around it; then every vertex moves to the point nearest to it.
    Sugar,
    /// None is found: the mesh that the model is bound to, as its run left it.
    Bound,
}

impl MeshMethod {
    /// True where points are reconstructed from.
    #[must_use]
    pub const fn is_poisson(self) -> bool {
        matches!(self, Self::Poisson | Self::PoissonDepths | Self::Closed | Self::Sugar)
    }

    /// Density of the model at which points lie (SuGaR's surface level); none where they are the depths of pixels.
    #[must_use]
    pub const fn level(self) -> Option<f32> {
        match self {
            Self::Poisson | Self::Closed | Self::Sugar => Some(0.3),
            Self::Fusion | Self::PoissonDepths | Self::Bound => None,
        }
    }

    /// Share of the vertices, those where points are thinnest, that are cut off.
    #[must_use]
    pub const fn density_quantile(self) -> f32 {
        match self {
            Self::Closed => 0.0,
            _ => 0.1,
        }
    }

    /// True where triangles go that no training view sees.
    #[must_use]
    pub const fn culls_unseen(self) -> bool {
        !matches!(self, Self::Closed)
    }
}

/// `mesh.quality`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshQuality {
    /// Voxels twice as large, 2 million points and 256 cells a side, pictures of 2048 texels a side.
    Draft,
    /// Voxels of a pixel at the median depth, 10 million points and 1024 cells a side, pictures of 4096 texels a side.
    Default,
    /// Voxels half as large, 40 million points and 2048 cells a side, pictures of 8192 texels a side.
    Fine,
}

impl MeshQuality {
    /// Side of a voxel that no key sets, over that of quality `default`.
    #[must_use]
    pub const fn voxel_scale(self) -> f64 {
        match self {
            Self::Draft => 2.0,
            Self::Default => 1.0,
            Self::Fine => 0.5,
        }
    }

    /// Points that a reconstruction takes of all views.
    #[must_use]
    pub const fn points(self) -> u32 {
        match self {
            Self::Draft => 2_000_000,
            Self::Default => 10_000_000,
            Self::Fine => 40_000_000,
        }
    }

    /// A reconstruction's finest lattice has at most 2 to the power of this cells along a side.
    #[must_use]
    pub const fn poisson_depth(self) -> u32 {
        match self {
            Self::Draft => 8,
            Self::Default => 10,
            Self::Fine => 11,
        }
    }

    /// Texels along the side of a picture in charts.
    const fn texels(self) -> u32 {
        match self {
            Self::Draft => 2048,
            Self::Default => 4096,
            Self::Fine => 8192,
        }
    }
}

/// `mesh.texture`: its name alone where `size` is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = or_kind)]
pub struct MeshTexture {
    /// How it is laid out.
    pub kind: TextureKind,
    /// Texels along the side of the picture, under `charts`; 16 to 16384, null = by `quality`.
    pub size: Option<u32>,
}

fn or_kind(schema: &mut schemars::Schema) {
    named::or_name(schema, &["charts", "squares", "none"]);
}

impl Named for MeshTexture {
    type Name = TextureKind;
    const EXPECTED: &'static str = "charts, squares, none or a block of keys";

    fn named(kind: TextureKind) -> Self {
        Self { kind, size: None }
    }

    fn block<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for MeshTexture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::read(deserializer)
    }
}

impl Serialize for MeshTexture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.size {
            None => self.kind.serialize(serializer),
            Some(_) => Self::serialize(self, serializer),
        }
    }
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
    /// Texels along the side of a picture in charts.
    #[must_use]
    pub fn texels(&self) -> u32 {
        self.texture.size.unwrap_or(self.quality.texels())
    }

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
        c.range("min_views", self.min_views, 1..=100);
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
            c.range("size", self.texels(), 16..=16_384);
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
