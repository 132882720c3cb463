//! Camera poses by COLMAP, run as a program of its own.
//!
//! Owns the three steps (features, matches, a sparse model), their log and their progress. What COLMAP makes lies beside
//! the run, in `RUN-colmap`, and is used again by the next run of that name. Photos are read where they are. Promises to report every step,
//! and to end COLMAP when a signal comes.

mod colmap;

use std::path::{Path, PathBuf};

use colmap::{Colmap, LOG, found};

use super::news::{Listener, News};
use super::{JobError, Settings};
use crate::record::run_folder::{Which, place};
use crate::run::interrupt::{Interrupt, Signal};
use kiln_config::{Override, Profile};
use kiln_scene::{SceneError, SceneIndex};

/// COLMAP could not be used.
#[derive(Debug, thiserror::Error)]
pub enum PosesError {
    /// It is not installed.
    #[error("`--colmap` runs the program `colmap`, and none is on PATH")]
    Absent,
    /// A step failed.
    #[error("COLMAP's {step} failed ({status}): {said}")]
    Failed {
        /// The step.
        step: &'static str,
        /// How it ended.
        status: String,
        /// Its last words.
        said: String,
        /// All of them.
        log: PathBuf,
    },
    /// It ended well without a model.
    #[error("COLMAP found no camera poses for the {photos} photos in {}", folder.display())]
    NoModel {
        /// Photos.
        photos: usize,
        /// Their folder.
        folder: PathBuf,
        /// What it said.
        log: PathBuf,
    },
    /// A file or a program that the system refuses.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// The refused action.
        action: &'static str,
        /// What it concerns.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A signal came.
    #[error("interrupted in COLMAP's {step}; the same command goes on")]
    Interrupted {
        /// The step.
        step: &'static str,
        /// By what.
        signal: Signal,
    },
}

/// Runs COLMAP on the photos that `settings` name, unless they have camera poses; gives the settings with the scene that
/// COLMAP made.
///
/// # Errors
/// [`PosesError`], or the [`SceneError`] of what is no folder of photos.
pub(super) fn with_poses(
    mut settings: Settings,
    profile: &Profile,
    listen: &mut Listener<'_>,
    interrupt: &Interrupt,
) -> Result<Settings, JobError> {
    let root = Settings::scene(profile)?;
    let (folder, photos) = match SceneIndex::detect(&root) {
        Ok(_) => {
            let root = root.display();
            listen(News::Note(&format!("{root} has camera poses; COLMAP is not run")));
            return Ok(settings);
        }
        Err(SceneError::NoPoses { folder, photos, .. }) => (folder, photos),
        Err(error) => return Err(error.into()),
    };
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let scene = absolute(&root);
    let name = scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = beside(&place(&profile.run, &name, Which::First));
    if SceneIndex::detect(&made).is_ok() {
        let made = made.display();
        listen(News::Note(&format!("camera poses of {made}, which COLMAP made before")));
    } else {
        let colmap = Colmap {
            program: found().ok_or(PosesError::Absent)?,
            made: made.clone(),
            photos: absolute(&folder),
            interrupt,
        };
        colmap.run(photos, listen)?;
        SceneIndex::detect(&made).map_err(|_| PosesError::NoModel {
            photos,
            folder: folder.clone(),
            log: made.join(LOG),
        })?;
    }
    let mut set = vec![("dataset.path", absolute(&made)), ("dataset.images", absolute(&folder))];
    // What lies beside the photos is meant still.
    let masks = ["masks", "mask"].map(|name| scene.join(name));
    if let Some(masks) = masks.into_iter().find(|folder| folder.is_dir())
        && profile.dataset.masks == "auto"
    {
        set.push(("dataset.masks", masks));
    }
    if profile.run.name.is_none() && profile.run.output.is_none() {
        set.push(("run.name", PathBuf::from(&name)));
    }
    let overrides = &mut settings.inputs.overrides;
    overrides.retain(|old| set.iter().all(|(key, _)| old.key != *key));
    let text = |(key, value): (&str, PathBuf)| Override::text(key, &value.display().to_string(), "--colmap");
    overrides.extend(set.into_iter().map(text));
    Ok(settings)
}

/// Where COLMAP works for a run: `RUN-colmap`.
fn beside(run: &Path) -> PathBuf {
    let mut name = run.file_name().unwrap_or_default().to_os_string();
    name.push("-colmap");
    run.with_file_name(name)
}
