//! Opening files that are served: what was checked is what is opened, whatever replaces it meanwhile.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens the file that `path`, relative and without links, names below `folder`. Follows no link on the way, waits for nobody, and
/// looks at what it opened: a pipe, a device or a folder is none.
///
/// # Errors
/// When there is no file, when a part of the path is a link or leads upwards, or when the system refuses.
pub(super) fn open_below(folder: &Path, path: &Path) -> io::Result<File> {
    let file = descend(folder, path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// From folder to folder, each opened relative to the one above it. A link at the end of any step is an error of the system.
#[cfg(unix)]
fn descend(folder: &Path, path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open, openat};
    use std::path::Component;

    // A pipe without a writer, or a file that somebody holds, would let its reader wait.
    let file = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut at = open(folder, file | OFlags::DIRECTORY, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = match parts.peek() {
            Some(_) => file | OFlags::DIRECTORY,
            None => file,
        };
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at.into())
}

/// Elsewhere links need rights that people do not have, and pipes are no files.
#[cfg(not(unix))]
fn descend(folder: &Path, path: &Path) -> io::Result<File> {
    File::open(folder.join(path))
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn only_files_that_lie_there() {
        let (folder, outside) = (Scratch::new(), Scratch::new());
        folder.write("a/b/file", "x");
        outside.write("file", "secret");
        symlink(outside.path(), folder.path().join("out")).unwrap();
        symlink(outside.path().join("file"), folder.path().join("a/link")).unwrap();
        symlink("b", folder.path().join("a/within")).unwrap();
        let pipe = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(pipe.unwrap().success());
        let open = |path: &str| open_below(folder.path(), Path::new(path));
        assert!(open("a/b/file").is_ok());
        // Links of any kind: whoever calls has resolved those that are meant.
        for path in [
            "out/file",
            "a/link",
            "a/within/file",
            "pipe",
            "a",
            "",
            "a/../a/b/file",
            "/etc/passwd",
            "none",
        ] {
            assert!(open(path).is_err(), "{path}");
        }
        symlink(folder.path(), outside.path().join("root")).unwrap();
        assert!(open_below(&outside.path().join("root"), Path::new("a/b/file")).is_err());
    }
}
