//! Files of stages: models handed out under names of their own, and digests by which a stage is known to be over.

use std::io;
use std::path::{Path, PathBuf};

use kiln_files::open_regular;

use super::super::JobError;
use super::{Chain, Work};
use crate::export::{ExportError, digest_of, file_digest, write_atomic};
use crate::record::run_folder::{PlyKind, RunFolder, name_inside};
use crate::run::Location;
use kiln_config::Profile;

impl Chain {
    /// Hands the last model of the run in `from` out under a name of its own, and lists it.
    pub(super) fn hand_out(
        &self,
        folder: &mut RunFolder,
        from: &Path,
        name: &str,
        work: &mut Work,
    ) -> Result<(), JobError> {
        self.hand_out_from(from, name, work)?;
        Ok(folder.list(work.files.iter().map(String::as_str))?)
    }

    /// The same without a list: where the profile writes models for viewers.
    pub(super) fn hand_out_from(&self, from: &Path, name: &str, work: &mut Work) -> Result<(), JobError> {
        let fused = model(from)?.with_file_name(PlyKind::Fused.file_name());
        if !fused.is_file() {
            return Ok(());
        }
        let path = self.root.join(name);
        write_atomic(&path, |file| io::copy(&mut open_regular(&fused)?, file).map(drop))?;
        work.files.push(name.to_owned());
        Ok(())
    }

    /// A path below the run folder as its index has it.
    pub(super) fn name(&self, path: &Path) -> String {
        name_inside(&self.root, path)
    }
}

/// The file of the last model in a run, or the file itself.
pub(super) fn model(target: &Path) -> Result<PathBuf, JobError> {
    Ok(Location::find(target, None)?.ply)
}

/// Digest of a file.
pub(super) fn digest(path: &Path) -> Result<String, JobError> {
    Ok(file_digest(path).map_err(|error| ExportError::new(path, error))?)
}

/// Digest of what a mesh is made from: files, and what settings say of the surface and the views.
pub(super) fn made_by(sources: &[String], profile: &Profile) -> Result<String, JobError> {
    let data = &profile.dataset;
    let views = (
        &data.images,
        data.resolution,
        &data.hold_out,
        &data.masks,
        data.undistort,
    );
    let settings = serde_json::to_string(&(&profile.mesh, views));
    let settings = settings.map_err(|error| ExportError::new(Path::new("run.json"), error.into()))?;
    let text = format!("{} {settings}", sources.join(" "));
    Ok(digest_of(text.as_bytes()))
}
