//! Image files under another ending than the poses give them.
//!
//! Tools rename photos: `000.jpg` of a model is `000.JPG` or `000.png` in the folder, and some models name them without any
//! ending. Owns the search for such a file: the same folder and stem, where case and ending may differ, when exactly one file
//! answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Endings of files that are photos, in small letters; the usual ones first.
pub(in crate::scene) const ENDINGS: [&str; 7] = ["png", "jpg", "jpeg", "webp", "tif", "tiff", "exr"];
/// Most files of a folder that are listed.
const MOST_FILES: usize = 1_000_000;

/// Folders that were listed: stems in small letters with the names of their files.
#[derive(Default)]
pub(in crate::scene) struct Pairing {
    folders: BTreeMap<PathBuf, BTreeMap<String, Vec<String>>>,
}

impl Pairing {
    /// The one photo that `path`, which is not there, may mean.
    pub(in crate::scene) fn find(&mut self, path: &Path) -> Option<PathBuf> {
        // a name without the ending of a photo has none, whatever dots are in it
        let stem = if is_photo(path) {
            path.file_stem()
        } else {
            path.file_name()
        };
        let (folder, stem) = (path.parent()?, stem?.to_str()?);
        let known = self
            .folders
            .entry(folder.to_owned())
            .or_insert_with(|| photos_of(folder));
        match &known.get(&stem.to_lowercase())?[..] {
            [name] => Some(folder.join(name)),
            _ => None,
        }
    }
}

/// True for a name with the ending of a photo.
pub(in crate::scene) fn is_photo(name: &Path) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_lowercase().as_str()))
}

fn photos_of(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut photos = BTreeMap::<String, Vec<String>>::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for name in entries.take(MOST_FILES).map(|entry| entry.file_name()) {
        let name = Path::new(&name);
        let texts = (name.file_stem().and_then(|stem| stem.to_str()), name.to_str());
        if let ((Some(stem), Some(name)), true) = (texts, is_photo(name)) {
            photos.entry(stem.to_lowercase()).or_default().push(name.to_owned());
        }
    }
    photos
}
