//! `project.json`, `block.json`, `done.json` and the index of a merged model.

use kiln_blocks::Rect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of all of them.
pub const VERSION: u32 = 1;

/// `project.json`: a scene and how it was cut. Written last by `kiln split`, which replaces an entry of `blocks` by two when it cuts
/// a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectRecord {
    /// Version of this format; 1.
    pub version: u32,
    /// What was split.
    pub scene: SceneRecord,
    /// Settings of the blocks' runs, as they were typed.
    pub settings: SettingsRecord,
    /// How it was to be split.
    pub options: SplitOptions,
    /// The plane that blocks lie in.
    pub ground: Ground,
    /// What the demand is spread over, world units in the plane.
    pub bounds: Area,
    /// Gaussians of the whole scene, as far as can be said before.
    pub gaussians: u64,
    /// Blocks that a training view is in, on average.
    pub views_used: f64,
    /// Held-out views, which no block trains on.
    pub test_views: Vec<String>,
    /// The blocks.
    pub blocks: Vec<BlockEntry>,
}

/// The scene of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SceneRecord {
    /// Its folder.
    pub path: String,
    /// The folder that names of photos are relative to.
    pub images: String,
    /// The folder of its sparse model.
    pub sparse: String,
    /// The files of that model.
    pub model: Vec<FileRecord>,
    /// Its photos, sorted by name.
    pub photos: Vec<Photo>,
    /// What coordinates here, of the blocks and of the merged model are relative to, in those of the sparse model; absent where that is
    /// zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 3]>,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRecord {
    /// Name, relative to the folder of the record that lists it, `/` separated.
    pub name: String,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// A photo as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Photo {
    /// Name, `/` separated.
    pub name: String,
    /// Size of its file.
    pub bytes: u64,
}

/// Settings of runs as they were typed; files are copies in `settings`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsRecord {
    /// Memory profile that blocks fit.
    pub profile: Option<InputFile>,
    /// Training recipe.
    pub recipe: Option<InputFile>,
    /// Configuration file.
    pub file: Option<InputFile>,
    /// Settings by flags and `--set`, in their order.
    pub typed: Vec<TypedSetting>,
    /// What every step number is multiplied by; null = by a block's number of views.
    pub steps_scaler: Option<f64>,
}

/// A shipped file by its name, or the text of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputFile {
    /// A shipped one.
    Shipped(String),
    /// One of the project: name and SHA-256 of the copy.
    Copied(FileRecord),
}

/// A typed setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TypedSetting {
    /// Key path.
    pub key: String,
    /// Value as YAML.
    pub value: String,
    /// The flag.
    pub flag: String,
}

/// The options of `kiln split`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitOptions {
    /// Gaussians of the whole scene; null = by the surface that photos show.
    pub gaussians: Option<u64>,
    /// Blocks; null = as many as the profile asks for.
    pub blocks: Option<u32>,
    /// Margin of a block, as a part of its longer side.
    pub margin: f64,
    /// Fewest training views of a block.
    pub min_views: u32,
    /// Most training views of a block.
    pub max_views: u32,
    /// What is up; null = as the photos say.
    pub up: Option<[f64; 3]>,
}

impl Default for SplitOptions {
    fn default() -> Self {
        Self {
            gaussians: None,
            blocks: None,
            margin: 0.05,
            min_views: 30,
            max_views: 1500,
            up: None,
        }
    }
}

/// Axes in the plane, and up: unit vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ground {
    /// The axes in the plane.
    pub axes: [[f64; 3]; 2],
    /// Away from the ground.
    pub up: [f64; 3],
}

/// A half-open box in the plane; null is infinity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Area {
    /// Smallest coordinates, which are inside.
    pub min: [Option<f64>; 2],
    /// Largest coordinates, which are not.
    pub max: [Option<f64>; 2],
}

/// A block of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockEntry {
    /// Name of its folder.
    pub name: String,
    /// SHA-256 of its `block.json`.
    pub digest: String,
}

/// `block.json`: what a block is trained on and what it answers for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRecord {
    /// Version of this format; 1.
    pub version: u32,
    /// Name of the folder.
    pub name: String,
    /// What is kept of its model.
    pub core: Area,
    /// World units around it that are trained too.
    pub margin: f64,
    /// Gaussians that the core is to get.
    pub demand: u64,
    /// Training views.
    pub train_views: Vec<String>,
    /// Held-out views that show mostly this block, on which it is evaluated.
    pub test_views: Vec<String>,
    /// What every step number is multiplied by.
    pub steps_scaler: Option<f64>,
    /// Most Gaussians, where the whole scene's are set or the block is part of one that was cut.
    pub max_gaussians: Option<u64>,
    /// The scene's photos are read at their own size, whatever the resolution asked for: they lie there divided already.
    pub divided: bool,
    /// The plan of its run, under the project's profile.
    pub planned: PlanRecord,
    /// Its files.
    pub files: Vec<FileRecord>,
}

/// The plan of a block's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// Gaussians that the model may grow to.
    pub gaussians: u32,
    /// Device memory that it takes.
    pub device_bytes: u64,
    /// Device memory that the profile allows.
    pub cap_bytes: u64,
}

/// `done.json`: a trained block. Written last by `kiln train`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Version of this format; 1.
    pub version: u32,
    /// SHA-256 of the `block.json` that was trained.
    pub block: String,
    /// Settings typed for this block alone.
    pub typed: Vec<TypedSetting>,
    /// Its model, relative to the block's folder.
    pub model: FileRecord,
    /// Gaussians of the model.
    pub gaussians: u32,
    /// Iterations of the run.
    pub iterations: u32,
    /// Mean PSNR over its test views, dB; null without any.
    pub test_psnr: Option<f64>,
    /// Seconds from the start of the run that finished it.
    pub seconds: f64,
    /// The device.
    pub device: String,
}

/// The index beside a merged model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedIndex {
    /// Version of this format; 1.
    pub version: u32,
    /// The model, its name relative to the index.
    pub model: FileRecord,
    /// Bytes of the model.
    pub bytes: u64,
    /// Gaussians of the model.
    pub gaussians: u64,
    /// SHA-256 of the `project.json` it belongs to.
    pub project: String,
    /// What of each block is in it.
    pub blocks: Vec<MergedBlock>,
    /// Where blocks touch.
    pub borders: Vec<MergedBorder>,
    /// Consecutive Gaussians that lie together.
    pub chunks: Vec<MergedChunk>,
}

/// A block in a merged model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergedBlock {
    /// Its name.
    pub name: String,
    /// SHA-256 of its model.
    pub sha256: String,
    /// Gaussians of its model.
    pub trained: u64,
    /// Those in its core.
    pub kept: u64,
}

/// A border between two blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedBorder {
    /// The block below and the block above.
    pub blocks: [String; 2],
    /// The axis of the plane that it stands on, 0 or 1.
    pub axis: usize,
    /// Its coordinate there.
    pub at: f64,
    /// From where to where it runs on the other axis.
    pub along: [f64; 2],
    /// Training views that both blocks share.
    pub shared_views: usize,
    /// How far from it Gaussians were counted, world units.
    pub width: f64,
    /// Gaussians a square unit below and above.
    pub density: [f64; 2],
}

/// Consecutive Gaussians of a merged model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedChunk {
    /// The first of them.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Box of their centres: smallest and largest corner.
    pub centers: [[f32; 3]; 2],
    /// Box of all that is within three standard deviations of a centre.
    pub reach: [[f32; 3]; 2],
}

impl From<&Rect> for Area {
    fn from(rect: &Rect) -> Self {
        let finite = |side: f64| side.is_finite().then_some(side);
        Self {
            min: rect.min.map(finite),
            max: rect.max.map(finite),
        }
    }
}

impl From<&Area> for Rect {
    fn from(area: &Area) -> Self {
        Self {
            min: area.min.map(|side| side.unwrap_or(f64::NEG_INFINITY)),
            max: area.max.map(|side| side.unwrap_or(f64::INFINITY)),
        }
    }
}

impl From<&kiln_blocks::Ground> for Ground {
    fn from(ground: &kiln_blocks::Ground) -> Self {
        Self {
            axes: ground.axes,
            up: ground.up,
        }
    }
}

impl From<&Ground> for kiln_blocks::Ground {
    fn from(ground: &Ground) -> Self {
        Self {
            axes: ground.axes,
            up: ground.up,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::generate::SchemaSettings;

    use super::*;

    fn schema<T: JsonSchema>(title: &str) -> String {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut schema = generator.into_root_schema_for::<T>().to_value();
        schema["title"] = title.into();
        format!("{schema:#}\n")
    }

    #[test]
    fn the_checked_in_schemas_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema");
        for (name, text) in [
            ("project", schema::<ProjectRecord>("Kiln project.json")),
            ("block", schema::<BlockRecord>("Kiln blocks/NAME/block.json")),
            ("done", schema::<Done>("Kiln blocks/NAME/done.json")),
            ("merged", schema::<MergedIndex>("The index of a merged model of Kiln")),
        ] {
            let path = folder.join(format!("{name}.schema.json"));
            if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
                let _ = std::fs::write(&path, &text);
            }
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                found == text,
                "{name}.schema.json is stale: KILN_BLESS=1 cargo test -p kiln records"
            );
        }
    }
}
