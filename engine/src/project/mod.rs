//! A scene in blocks: the project folder, what `kiln split` writes, and what `kiln merge` makes of trained blocks.
//!
//! Owns every path below the folder. Promises that files appear whole, that `project.json` and `done.json` come last, and that
//! each command finds out by digests what is done already. Refuses what does not belong together: a scene that changed, files
//! that the index does not list, models of another split.
//!
//! ```text
//! project.json  blocks.txt  settings/
//! blocks/b0007/{block.json, sparse/0, hold_out.txt, masks/, run/, done.json}
//! merged/{point_cloud.ply, point_cloud.index.json}
//! ```

mod cut;
mod error;
mod folder;
mod lock;
mod masks;
mod merge;
mod progress;
mod records;
mod split;
mod status;
mod write;

pub use cut::{Cutting, ToCut, half_names};
pub use error::ProjectError;
pub use folder::{BLOCKS, BlockFolder, DONE, PROJECT, ProjectFolder, evaluation_path, merged_path};
pub use lock::FolderLock;
pub use merge::{MergeReport, MergeRequest, index_path, merge, trained_since};
pub use records::{
    Area, BlockEntry, BlockRecord, Done, FileRecord, Ground, InputFile, MergedBlock, MergedBorder, MergedChunk,
    MergedIndex, Photo, PlanRecord, ProjectRecord, SceneRecord, SettingsRecord, SplitOptions, TypedSetting, VERSION,
};
pub use split::{Capacity, Cut, Survey};
pub use status::{BlockState, BlockStatus, Overview, ProjectStatus, project_overview, project_status};
pub(crate) use status::{last_step, project_overview_by};
pub use write::{Draft, block_name, prepare, scene_record, settings_record};
