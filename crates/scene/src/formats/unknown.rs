//! What a path holds that is no data set: photos without poses, a film, a folder of data sets.

use std::io;
use std::path::{Path, PathBuf};

use super::beside::{count_photos, is_made, is_of_system};
use super::{colmap, multiscale, pairing, transforms};
use crate::SceneError;
use crate::error::listed;

/// Endings of films.
const FILMS: [&str; 6] = ["mp4", "mov", "m4v", "avi", "mkv", "webm"];
/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;
/// Names of a folder that a message is made from.
const MOST_NAMES: usize = 1000;
/// COLMAP's database.
const DATABASE: &str = "database.db";

/// Why `root` is not a data set, in which `looked_for` was not found.
pub(crate) fn explain(root: &Path, looked_for: &str) -> SceneError {
    if let Some(error) = refused(root, &|folder| std::fs::read_dir(folder).map(drop)) {
        return error;
    }
    if let Some(other) = other_thing(root) {
        return other;
    }
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries.flatten().take(MOST_NAMES),
        Err(e) => return SceneError::io(root, "open the data set", e),
    };
    let mut names: Vec<String> = entries.map(|entry| name(&entry.path())).collect();
    names.sort();
    SceneError::UnknownKind {
        root: root.to_owned(),
        looked_for: looked_for.to_owned(),
        found: match names.is_empty() {
            true => "an empty folder".to_owned(),
            false => listed(&names),
        },
    }
}

/// The first folder of a data set that `look` is not let into: what is in it may be all that there is to find.
pub(crate) fn refused(root: &Path, look: &dyn Fn(&Path) -> io::Result<()>) -> Option<SceneError> {
    let folders = ["", colmap::SPARSE, "sparse/0"].map(|name| root.join(name));
    folders.into_iter().find_map(|folder| {
        let denied = look(&folder)
            .err()
            .filter(|e| e.kind() == io::ErrorKind::PermissionDenied);
        denied.map(|e| SceneError::io(&folder, "open", e))
    })
}

/// The error of a folder of COLMAP models, or of one model in it, whose data set is the folder around it.
pub(crate) fn sparse_of_scene(path: &Path) -> Option<SceneError> {
    let sparse = path
        .ancestors()
        .take(2)
        .find(|folder| folder.ends_with(colmap::SPARSE))?;
    // Another model of the folder than the one that its data set is read with is meant, and with `-i` it can be trained.
    let taken = sparse.parent().and_then(colmap::find).map(|(model, _)| model);
    let is_another = colmap::is_model(path) && taken.is_some_and(|model| model != path);
    // Exports of one folder have photos beside the model, whatever they are called.
    part_of(path, sparse).filter(|_| !is_another && count_photos(path) == 0)
}

/// The error of a folder `path` that is, or lies in, the folder `part` of a data set.
fn part_of(path: &Path, part: &Path) -> Option<SceneError> {
    let scene = part.parent()?;
    let scene = if scene.as_os_str().is_empty() {
        Path::new(".")
    } else {
        scene
    };
    is_data_set(scene).then(|| SceneError::PartOfScene {
        path: path.to_owned(),
        scene: scene.to_owned(),
    })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What `root` is instead, where people often name it.
fn other_thing(root: &Path) -> Option<SceneError> {
    if root.is_file() && has_ending(root, &FILMS) {
        return Some(SceneError::Film { path: root.to_owned() });
    }
    if root.is_file() {
        return Some(SceneError::NotAFolder { path: root.to_owned() });
    }
    let entries = std::fs::read_dir(root).ok()?.flatten().take(MOST_ENTRIES);
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| !is_of_system(path))
        .collect();
    entries.sort();
    let scenes: Vec<&PathBuf> = entries.iter().filter(|path| is_data_set(path)).collect();
    if let Some(first) = scenes.first() {
        return Some(SceneError::ScenesBelow {
            root: root.to_owned(),
            first: first.to_path_buf(),
            scenes: listed(&scenes.iter().map(|path| name(path)).collect::<Vec<_>>()),
        });
    }
    if entries.iter().any(|path| pairing::is_photo(path))
        && let Some(part) = part_of(root, root)
    {
        return Some(part);
    }
    let below = entries.iter().filter(|path| path.is_dir()).cloned();
    let counted = std::iter::once(root.to_owned())
        .chain(below)
        .map(|folder| ((count_photos(&folder), !is_made(&folder)), folder))
        .filter(|((photos, _), _)| *photos > 0);
    // the first of the largest, folders of masks and the like last
    let key = |(photos, is_own): (usize, bool)| (is_own, photos);
    let best = counted.reduce(|best, next| if key(next.0) > key(best.0) { next } else { best });
    if let Some(((photos, _), folder)) = best {
        return Some(SceneError::NoPoses {
            root: root.to_owned(),
            photos,
            folder,
            database: Some(root.join(DATABASE)).filter(|file| file.is_file()),
        });
    }
    let film = entries
        .into_iter()
        .find(|path| path.is_file() && has_ending(path, &FILMS))?;
    Some(SceneError::Film { path: film })
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending.to_lowercase().as_str()))
}

fn is_data_set(folder: &Path) -> bool {
    let markers = [transforms::TRAIN_FILE, multiscale::FILE, transforms::FILE];
    folder.is_dir() && (colmap::find(folder).is_some() || markers.iter().any(|marker| folder.join(marker).is_file()))
}
