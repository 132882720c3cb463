//! What lies in an archive beside the program: texts, pages, completions, settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};

/// Texts of the root that every archive has.
const TEXTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];
/// Folders and files that every archive has under the names they have here.
const COPIED: [&str; 11] = [
    "docs/README.md",
    "docs/clusters.md",
    "docs/guide",
    "docs/images",
    "docs/meshes.md",
    "docs/notebook",
    "configs/default.yaml",
    "configs/profiles",
    "configs/recipes",
    "configs/schema",
    "configs/schema.json",
];
/// Shells, as `kiln completions` calls them, and the names their files have.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "kiln.bash"),
    ("zsh", "_kiln"),
    ("fish", "kiln.fish"),
    ("powershell", "kiln.ps1"),
];
/// Licences of what is inside the program.
pub(crate) const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// Makes the folder that archives are copies of, except for their program; `kiln` runs on this machine.
///
/// # Errors
/// When the program fails or a file cannot be written.
pub(crate) fn common(root: &Path, kiln: &Path, third_party: &str, folder: &Path) -> Result<()> {
    for name in ["completions", "man"] {
        make(&folder.join(name))?;
    }
    for name in TEXTS {
        copy(&root.join(name), &folder.join(name))?;
    }
    for name in COPIED {
        copy(&root.join(name), &folder.join(name))?;
    }
    copy(&root.join("engine/assets/README.md"), &folder.join("docs/weights.md"))?;
    write(&folder.join(THIRD_PARTY), third_party.as_bytes())?;
    for (shell, name) in SHELLS {
        write(
            &folder.join("completions").join(name),
            &said(kiln, &["completions", shell])?,
        )?;
    }
    let man = folder.join("man");
    said(kiln, &["man", "-o", &man.to_string_lossy()])?;
    Ok(())
}

/// What a program prints.
pub(crate) fn said(program: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|e| Failure::io("run", program, e))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!(
        "`{} {}` ended with {}: {}",
        program.display(),
        args.join(" "),
        output.status,
        said.trim()
    )))
}

/// Makes a folder and those above it.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| Failure::io("make", folder, e))
}

/// An empty folder, whatever was there.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|e| Failure::io("remove", folder, e))?;
    }
    make(folder)
}

/// Writes a file into a folder that may not be there yet.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        make(folder)?;
    }
    fs::write(path, bytes).map_err(|e| Failure::io("write", path, e))
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))
}

/// Copies a file, or a folder with all it holds.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        make(to)?;
        for name in names(from)? {
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        make(folder)?;
    }
    fs::copy(from, to).map_err(|e| Failure::io("copy", from, e))?;
    Ok(())
}

/// Names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|e| Failure::io("list", folder, e))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Failure::io("list", folder, e))?;
        names.push(PathBuf::from(entry.file_name()));
    }
    names.sort();
    Ok(names)
}
