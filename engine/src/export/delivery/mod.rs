//! Model files to hand out: compressed PLY, SPZ, SOG, GLB, folders with levels, and PLY of a part of a model; and models read out of them again.
//!
//! Owns the choice of Gaussians ([`Chosen`]) and the layouts of the formats. In every file the 3D filter is folded into
//! opacity and scale. Promises that memory beside the model stays small, whatever its size: a few words a Gaussian for
//! the choice and its order, and a block of output. `docs/guide/export.md` states layouts and errors.

mod axes;
mod chosen;
mod compressed_ply;
mod contribution;
mod cut;
mod error;
mod folder;
mod format;
mod glb;
mod morton;
mod partition;
mod ply;
mod quantize;
mod read;
mod sog;
mod source;
mod spz;
mod stop;
mod streamed;
mod summary;
mod tile;
mod tiles;

pub use chosen::Chosen;
pub use cut::Cut;
pub use error::DeliveryError;
pub use format::{Delivered, Format, deliver, deliver_levels};
pub use read::{ModelFile, check_model, model_origin, read_model, read_model_file};
pub use spz::SpzVersion;
pub use stop::Stop;
pub use summary::{FileError, FileSummary, summarize_file};
