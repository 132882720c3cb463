//! Streamed SOG: a folder of chunks in levels of detail, which appears whole or not at all.
//!
//! The crate `kiln-sog` owns levels and layout. Files are written into a hidden folder beside the wanted one, which gets its
//! name when the last of them is safe.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use kiln_sog::levels::Cloud;
use kiln_sog::{Error, write_streamed};

use super::super::{ExportError, PlyComments, RenderMode, disk_of_process, make_folder, write_atomic};
use super::{Chosen, DeliveryError, sog};

/// The hidden folder, removed when dropped before it has its name.
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Writes the folder, and gives the Gaussians of each level.
pub(super) fn write(path: &Path, chosen: &Chosen<'_>, comments: PlyComments) -> Result<Vec<u64>, DeliveryError> {
    if path.exists() {
        return Err(DeliveryError::Exists { path: path.to_owned() });
    }
    let refused = |source| DeliveryError::from(ExportError::new(path, source));
    let name = path
        .file_name()
        .ok_or_else(|| refused(std::io::ErrorKind::InvalidFilename.into()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-0.tmp", std::process::id()));
    let hidden = Hidden(path.with_file_name(hidden));
    make_folder(&hidden.0)?;
    let centres: Vec<[f32; 3]> = (0..chosen.len()).map(|index| chosen.mean(index)).collect();
    let mut gather = |members: &[u32]| {
        let mut cloud = Cloud::new(chosen.sh_degree());
        members.iter().for_each(|&member| cloud.push(chosen, member as usize));
        Ok::<Cloud, Error>(cloud)
    };
    // an error of a write knows its file, which the crate's errors do not
    let mut failed = None;
    let mut put = |name: &str, bytes: &[u8]| {
        write_atomic(&hidden.0.join(name), |file| file.write_all(bytes)).map_err(|error| {
            failed = Some(error);
            Error::Io(std::io::ErrorKind::Other.into())
        })
    };
    let antialiased = comments.render_mode == Some(RenderMode::Mip);
    let written = write_streamed(&centres, chosen.sh_degree(), antialiased, &mut gather, &mut put);
    let counts = match (written, failed) {
        (Ok(counts), _) => counts,
        (Err(_), Some(error)) => return Err(error.into()),
        (Err(error), None) => return Err(sog::named(path, error)),
    };
    let disk = disk_of_process();
    disk.rename(&hidden.0, path).map_err(refused)?;
    let above = path.parent().filter(|folder| *folder != Path::new(""));
    disk.sync_folder(above.unwrap_or(Path::new("."))).map_err(refused)?;
    Ok(counts)
}
