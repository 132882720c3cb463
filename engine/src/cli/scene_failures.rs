//! Exit codes and hints of data sets that cannot be used.

use std::io::ErrorKind;
use std::path::Path;

use super::{Exit, Failure};
use crate::jobs::kinds::{instead_of_points, instead_of_scene, of_film};
use crate::jobs::shell::{MAKE_FOLDER, word};
use kiln_scene::SceneError;

impl Failure for SceneError {
    fn exit(&self) -> Exit {
        Exit::Data
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoPoses {
                root, folder, database, ..
            } => Some(by_colmap(root, folder, database.as_deref())),
            Self::Film { path } => Some(of_film(path)),
            Self::PartOfScene { scene, .. } => Some(format!("name the data set: `kiln train {}`", word(scene))),
            Self::Io { reason, .. } if reason.kind() == ErrorKind::PermissionDenied => {
                let how = match cfg!(windows) {
                    true => "`icacls` shows the permissions and changes them",
                    false => "`ls -l` shows the permissions, `chmod` and `chown` change it",
                };
                Some(format!("this user may not read it: {how}"))
            }
            Self::HoldOutList { .. } => Some(
                "`--hold-out N` holds out every Nth view, N from 2; a file names the views to hold out, one a line, and lies in the \
                 scene's folder or where the command is typed"
                    .to_owned(),
            ),
            Self::ScenesBelow { first, .. } => Some(format!("name one of them, for example {}", word(first))),
            Self::NotAFolder { path } => Some(instead_of_scene(path)),
            Self::Malformed { path, .. } => instead_of_points(path),
            _ => None,
        }
    }
}

/// How poses come to photos in `folder`, for the scene in `root`.
fn by_colmap(root: &Path, folder: &Path, database: Option<&Path>) -> String {
    let (scene, photos) = (word(root), word(folder));
    // a line of a message ends in no dot
    let images = match folder.strip_prefix(root) {
        Ok(name) if name == Path::new("images") || name == Path::new("input") => String::new(),
        Ok(name) if !name.as_os_str().is_empty() => format!(" -i {}", word(name)),
        _ => " -i ./".to_owned(),
    };
    let found = root.join("database.db");
    let file = word(database.unwrap_or(&found));
    let matching = match database {
        Some(_) => String::new(),
        None => format!(
            "  colmap feature_extractor --database_path {file} --image_path {photos}\n  \
             colmap exhaustive_matcher --database_path {file}\n"
        ),
    };
    let sparse = word(&root.join("sparse"));
    let gpu = match database {
        Some(_) => "",
        // No flag is known to all versions.
        None => {
            "; without CUDA and without a display the first two want `--SiftExtraction.use_gpu 0` and `--SiftMatching.use_gpu 0`, \
             from COLMAP 4 on `--FeatureExtraction.use_gpu 0` and `--FeatureMatching.use_gpu 0`"
        }
    };
    format!(
        "`kiln train {scene} --colmap` runs COLMAP and trains on what it finds; by hand:\n{matching}  {MAKE_FOLDER} {sparse}\n  \
         colmap mapper --database_path {file} --image_path {photos} --output_path {sparse}\n  \
         kiln train {scene}{images}\n\
         the guide `photos-to-splats` explains them{gpu}"
    )
}
