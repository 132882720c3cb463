//! What lies beside photos in a folder and is none: thumbnails and files that systems keep for themselves, masks, copies of another size.
//!
//! Owns the names. Data sets that list their photos need none of this; it is for folders that are searched for photos.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::pairing::{Tree, is_photo};

/// What programs put behind the name of a photo to call its mask.
pub(crate) const MASK_ENDS: [&str; 3] = ["_mask", ".mask", "-mask"];
/// Folders that systems and viewers keep for themselves, in small letters; those whose names begin with a dot come to them.
const OF_SYSTEMS: [&str; 8] = [
    "__macosx",
    "@eadir",
    "#recycle",
    "$recycle.bin",
    "lost+found",
    "thumbnails",
    "thumbnail",
    "thumbs",
];
/// Folders of pictures that are made from photos.
const MADE: [&str; 10] = [
    "mask",
    "masks",
    "depth",
    "depths",
    "normal",
    "normals",
    "segmentation",
    "semantics",
    "sparse",
    "undistorted_masks",
];
/// Copies of another size begin so.
const COPIES: &str = "images_";
/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// True for the name of a file or folder that a system or viewer keeps for itself.
pub(crate) fn is_of_system(path: &Path) -> bool {
    let name = name(path);
    name.starts_with('.') || OF_SYSTEMS.contains(&&*name)
}

/// True for the name of a folder of pictures that are made from photos.
pub(crate) fn is_made(folder: &Path) -> bool {
    let name = name(folder);
    MADE.contains(&&*name)
        || name
            .strip_prefix(COPIES)
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// How many photos lie right in a folder.
pub(crate) fn count_photos(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.take(MOST_ENTRIES).map(|entry| entry.path());
    let photos: Vec<PathBuf> = paths
        .filter(|path| is_photo(path) && !is_of_system(path) && path.is_file())
        .collect();
    photos.len() - masks_among(&photos).len()
}

/// Photos below a folder, and other pictures there: masks, thumbnails and the like, whose names a program that is handed the folder would
/// take for photos. Both relative to it, sorted.
#[must_use]
pub fn photos_below(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let all: Vec<PathBuf> = Tree::with_all(folder).photos().map(Path::to_owned).collect();
    let is_other = |path: &PathBuf| {
        let mut folders = path.ancestors().skip(1).filter(|folder| folder.file_name().is_some());
        is_of_system(path) || folders.any(|folder| is_of_system(folder) || is_made(folder))
    };
    let (mut others, photos): (Vec<PathBuf>, Vec<PathBuf>) = all.into_iter().partition(is_other);
    let masks = masks_among(&photos);
    let (masks, photos): (Vec<PathBuf>, Vec<PathBuf>) = photos.into_iter().partition(|path| masks.contains(path));
    others.extend(masks);
    others.sort();
    (photos, others)
}

/// Those that are masks of others by their names.
fn masks_among(photos: &[PathBuf]) -> BTreeSet<PathBuf> {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    let known: BTreeSet<String> = photos
        .iter()
        .flat_map(|photo| [lower(photo), lower(&photo.with_extension(""))])
        .collect();
    let is_mask = |photo: &&PathBuf| {
        let stem = lower(&photo.with_extension(""));
        MASK_ENDS
            .iter()
            .any(|end| stem.strip_suffix(end).is_some_and(|base| known.contains(base)))
    };
    photos.iter().filter(is_mask).cloned().collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn photos_are_told_from_what_lies_beside_them() {
        let folder = Scratch::new();
        let photos = ["a.jpg", "b.v2.JPG", "left/c.png", "mask.png", "x_mask.png"];
        let others = [
            "._a.jpg",
            "@eaDir/a.jpg/SYNOFILE_THUMB_M.jpg",
            ".thumbnails/a.jpg",
            "Thumbs/a.jpg",
            "__MACOSX/._a.jpg",
            "a_mask.png",
            "a.jpg.mask.png",
            "b.v2-Mask.png",
            "images_2/a.jpg",
            "left/c.mask.png",
            "masks/a.png",
        ];
        for name in photos.iter().chain(&others) {
            folder.write(name, []);
        }
        for name in ["Thumbs.db", "a.txt", "film.mp4", "images_2/readme.md"] {
            folder.write(name, []);
        }
        let (found, beside) = photos_below(folder.path());
        assert_eq!(found, photos.map(PathBuf::from));
        let mut others = others.map(PathBuf::from);
        others.sort();
        assert_eq!(beside, others);
        assert_eq!(count_photos(folder.path()), 4);
    }
}
