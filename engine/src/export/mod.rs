//! Files a run leaves behind, and those that models are handed out in: PLY, SPZ, GLB, JSON, PNG, all written through
//! one atomic writer.
//!
//! Promises that a reader never sees half a file under its final name ([`AtomicFile`]), and that an [`ExportError`]
//! distinguishes a full disk from a folder that may not be written to.

mod atomic;
mod camera_path;
mod cameras;
mod delivery;
mod digest;
mod disk;
mod error;
mod json;
mod links;
mod ply;

pub use atomic::{AtomicFile, make_folder, write_atomic};
pub(crate) use atomic::{remove_left_of, remove_leftovers, temporary_name, write_atomic_on};
pub use camera_path::read_camera_path;
pub use cameras::{
    CameraRecord, CamerasError, camera_records, camera_records_at, read_camera_records, read_cameras, write_cameras,
};
pub use delivery::{
    Chosen, Cut, Delivered, DeliveryError, FileError, FileSummary, Format, ModelFile, SpzVersion, Stop, check_model,
    deliver, deliver_levels, model_origin, read_model, read_model_file, summarize_file,
};
pub(crate) use digest::digest_of_file;
pub use digest::{digest_of, file_digest};
pub(crate) use disk::disk_of_process;
#[cfg(test)]
pub(crate) use disk::simulated;
pub use disk::{Disk, DiskFile, RealDisk, install_disk};
pub use error::ExportError;
pub use json::write_json;
pub(crate) use json::{milliseconds, null_as_nan};
pub(crate) use links::{refuse_link, refuse_links_below};
pub use ply::{
    Fused, MeanOpacity, Notes, PlyComments, PlyError, PlyFlavor, PlyParts, PlySummary, PlyWriter, RenderMode, Spread,
    fuse, read_ply, summarize_ply, write_ply, write_points,
};
