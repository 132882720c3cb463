//! Links in folders that Kiln fills: none is followed.
//!
//! A run, a project or a site may come from another machine. A link in it would lead what is written, or removed, to a place that the
//! command does not name, so it ends the work before anything is written.

use std::fs;
use std::io;
use std::path::Path;

use super::ExportError;

/// Checks that `path` is no link, and that no folder between it and `root` is one. `root` itself may be: its path is the user's own.
///
/// # Errors
/// [`ExportError`] that names the link.
pub(crate) fn refuse_link(root: &Path, path: &Path) -> Result<(), ExportError> {
    for part in path
        .ancestors()
        .take_while(|part| *part != root && part.starts_with(root))
    {
        if fs::symlink_metadata(part).is_ok_and(|found| found.is_symlink()) {
            return Err(link(part));
        }
    }
    Ok(())
}

/// Checks that `path` is no link, and that nothing in it is one when it is a folder. What is not there is fine.
///
/// # Errors
/// [`ExportError`] that names the link, or the folder that cannot be read.
pub(crate) fn refuse_links_below(path: &Path) -> Result<(), ExportError> {
    let mut folders = Vec::new();
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => return Err(link(path)),
        Ok(found) if found.is_dir() => folders.push(path.to_owned()),
        _ => {}
    }
    while let Some(folder) = folders.pop() {
        let fail = |error| ExportError::new(&folder, error);
        for entry in fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_symlink() {
                return Err(link(&entry.path()));
            }
            if kind.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

fn link(path: &Path) -> ExportError {
    let reason =
        "it is a link, and Kiln follows no link in what it writes; remove it, or put what it leads to in its place";
    ExportError::new(path, io::Error::other(reason))
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::os::unix::fs::symlink;

    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn links_below_the_root_are_refused_and_the_root_may_be_one() {
        let folder = Scratch::new();
        folder.write("real/eval/a.png", "");
        let root = folder.path().join("root");
        symlink(folder.path().join("real"), &root).unwrap();
        let file = root.join("eval/a.png");
        refuse_link(&root, &file).unwrap();
        refuse_link(&root, &root.join("new/file")).unwrap();
        refuse_links_below(&root.join("eval")).unwrap();
        refuse_links_below(&root.join("missing")).unwrap();
        symlink("/nowhere", root.join("eval/deep")).unwrap();
        for error in [
            refuse_link(&root, &root.join("eval/deep/file")).unwrap_err(),
            refuse_link(&root, &root.join("eval/deep")).unwrap_err(),
            refuse_links_below(&root.join("eval")).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains("eval/deep: it is a link"), "{text}");
        }
        assert!(refuse_links_below(&root).is_err(), "asked for itself");
    }
}
