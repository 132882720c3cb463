//! Files that a format names beside itself.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Opens the file that something in `folder` names: it must really lie there or below, or in the store of a mirrored data set around it.
///
/// # Errors
/// `InvalidInput` for one that lies elsewhere, and those of [`crate::open_regular`].
pub fn open_inside(folder: &Path, name: impl AsRef<Path>) -> io::Result<File> {
    super::open(&resolved(folder, name.as_ref())?, true)
}

/// Reads such a file of at most `most_bytes` bytes.
///
/// # Errors
/// Those of [`open_inside`] and of reading, and `FileTooLarge`.
pub fn read_inside(folder: &Path, name: impl AsRef<Path>, most_bytes: u64) -> io::Result<Vec<u8>> {
    super::read_opened(open_inside(folder, name)?, most_bytes)
}

/// True for a name that leads into a folder by itself, links left aside: no `..` and no root.
#[must_use]
pub fn is_inside_name(name: impl AsRef<Path>) -> bool {
    let mut parts = name.as_ref().components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Stores that links of a mirrored data set lead to: `blobs` beside the `snapshots` that it lies in, as Hugging Face's
/// cache has it, and the object folders of git-annex and DVC in the repository around it.
#[must_use]
pub fn stores_of(root: &Path) -> Vec<PathBuf> {
    let blobs = root
        .ancestors()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "snapshots"))
        .filter_map(|folder| Some(folder.parent()?.join("blobs")));
    let objects = root
        .ancestors()
        .flat_map(|folder| [".git/annex/objects", ".dvc/cache"].map(|store| folder.join(store)));
    let all = blobs.chain(objects).filter_map(|store| store.canonicalize().ok());
    all.filter(|store| store.is_dir()).collect()
}

/// True when `..` leads above where the name begins.
fn climbs_out(name: &Path) -> bool {
    let mut depth = 0_usize;
    name.components().any(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            false
        }
        Component::ParentDir => match depth.checked_sub(1) {
            Some(above) => {
                depth = above;
                false
            }
            None => true,
        },
        _ => false,
    })
}

/// Where the file lies, without links.
fn resolved(folder: &Path, name: &Path) -> io::Result<PathBuf> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let outside = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "it lies outside of {}, whose files may name what lies there; copy it there and name the copy",
                folder.display()
            ),
        )
    };
    let root = folder.canonicalize()?;
    // What is elsewhere is not looked for: whether it is there is not revealed.
    if climbs_out(name) || (name.is_absolute() && !name.starts_with(folder) && !name.starts_with(&root)) {
        return Err(outside());
    }
    let found = folder.join(name).canonicalize()?;
    let is_inside = found.starts_with(&root) || stores_of(&root).iter().any(|store| found.starts_with(store));
    if is_inside { Ok(found) } else { Err(outside()) }
}
