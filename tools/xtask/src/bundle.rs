//! `viewer-wasm/dist/manifest.json`: what the checked-in bundle was made from.
//!
//! Owns: the file's shape and what counts as a source. Promises: sorted entries and one form per content. Refuses:
//! unknown versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::sha256;

const VERSION: u32 = 1;
/// Crates whose versions reach the module.
const CRATES: [&str; 4] = ["wasm-bindgen", "wasm-bindgen-futures", "js-sys", "web-sys"];

/// Hashes by path or name.
pub type Hashes = BTreeMap<String, String>;

/// Folders of the project's own crates that reach it.
const OWN_CRATES: [&str; 2] = ["formats", "ply"];

/// What a bundle was made from, and what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    /// Each source, relative to the root; `Cargo.lock` and `Cargo.toml` stand for the parts that reach the module.
    pub sources: Hashes,
    /// Each file of the bundle.
    pub files: Hashes,
    /// Versions of the compiler and of what makes the bindings.
    pub made_by: String,
}

/// The viewer's folder.
pub fn viewer(root: &Path) -> PathBuf {
    root.join("viewer-wasm")
}

fn dist(root: &Path) -> PathBuf {
    viewer(root).join("dist")
}

/// Hashes of everything that reaches the bundle.
pub fn sources(root: &Path) -> Result<Hashes> {
    let mut found = Hashes::new();
    let mut pending = vec![viewer(root).join("src"), viewer(root).join("page")];
    let mut files = vec![viewer(root).join("Cargo.toml")];
    for name in OWN_CRATES {
        let own = root.join("crates").join(name);
        pending.push(own.join("src"));
        files.push(own.join("Cargo.toml"));
    }
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| Failure::io("list", &folder, e))? {
            let path = entry.map_err(|e| Failure::io("list", &folder, e))?.path();
            if path.is_dir() {
                pending.push(path)
            } else {
                files.push(path)
            }
        }
    }
    for path in files {
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        found.insert(name, sha256(text(&path)?.as_bytes()));
    }
    let lock = text(&root.join("Cargo.lock"))?;
    found.insert("Cargo.lock".to_owned(), sha256(locked(&lock).as_bytes()));
    let workspace = text(&root.join("Cargo.toml"))?;
    found.insert("Cargo.toml".to_owned(), sha256(profile(&workspace).as_bytes()));
    Ok(found)
}

/// Line ends are normalised so that a checkout with CRLF has the same hash.
fn text(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))?;
    Ok(text.replace("\r\n", "\n"))
}

/// Entries of the crates that reach the module.
fn locked(lock: &str) -> String {
    let named = |entry: &&str| {
        CRATES
            .iter()
            .any(|name| entry.contains(&format!("name = \"{name}\"\n")))
    };
    lock.split("[[package]]\n").filter(named).collect()
}

/// The build profile of the module.
fn profile(workspace: &str) -> String {
    let lines = workspace.lines().skip_while(|line| *line != "[profile.viewer]");
    let body: Vec<&str> = lines
        .enumerate()
        .take_while(|(at, line)| *at == 0 || !line.starts_with('['))
        .map(|l| l.1)
        .collect();
    body.join("\n").trim_end().to_owned()
}

/// Names of the files in a folder, sorted, without the manifest.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| Failure::io("list", folder, e))? {
        let name = entry.map_err(|e| Failure::io("list", folder, e))?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.retain(|name| name != "manifest.json");
    names.sort();
    Ok(names)
}

/// Reads the manifest.
pub fn load(root: &Path) -> Result<Manifest> {
    let path = dist(root).join("manifest.json");
    let found = fs::read_to_string(&path).map_err(|e| Failure::io("read", &path, e))?;
    parse(&found).ok_or_else(|| {
        Failure::new(format!(
            "{} is not a version 1 manifest; run `cargo xtask viewer`",
            path.display()
        ))
    })
}

/// Puts a fresh bundle and its manifest into the place of the last.
pub fn replace(root: &Path, fresh: &Path, manifest: &Manifest) -> Result<()> {
    let path = fresh.join("manifest.json");
    fs::write(&path, print(manifest)).map_err(|e| Failure::io("write", &path, e))?;
    let dist = dist(root);
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|e| Failure::io("remove", &dist, e))?;
    }
    fs::create_dir_all(&dist).map_err(|e| Failure::io("create", &dist, e))?;
    for entry in fs::read_dir(fresh).map_err(|e| Failure::io("list", fresh, e))? {
        let from = entry.map_err(|e| Failure::io("list", fresh, e))?.path();
        let to = dist.join(from.file_name().unwrap_or_default());
        fs::copy(&from, &to).map_err(|e| Failure::io("copy", &from, e))?;
    }
    Ok(())
}

/// Everything that is wrong between sources, manifest and bundle; empty when all is current.
pub fn problems(root: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let mut list = differences(&manifest.sources, &sources(root)?, "source");
    let folder = dist(root);
    let mut files = Hashes::new();
    for name in names(&folder)? {
        let path = folder.join(&name);
        let bytes = fs::read(&path).map_err(|e| Failure::io("read", &path, e))?;
        files.insert(name, sha256(&bytes));
    }
    list.extend(differences(&manifest.files, &files, "file of the bundle"));
    Ok(list)
}

fn differences(wanted: &Hashes, found: &Hashes, what: &str) -> Vec<String> {
    let gone = wanted.keys().filter(|name| !found.contains_key(*name));
    let gone = gone.map(|name| format!("{name}: in the manifest, but there is no such {what}"));
    let other = found.iter().filter_map(|(name, hash)| match wanted.get(name) {
        None => Some(format!("{name}: a {what} that the manifest does not list")),
        Some(known) if known != hash => Some(format!("{name}: this {what} changed since")),
        Some(_) => None,
    });
    gone.chain(other).collect()
}

fn print(manifest: &Manifest) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let block = |hashes: &Hashes| {
        let rows: Vec<_> = hashes
            .iter()
            .map(|(name, hash)| format!("    {}: {}", quoted(name), quoted(hash)))
            .collect();
        rows.join(",\n")
    };
    format!(
        "{{\n  \"version\": {VERSION},\n  \"made_by\": {},\n  \"sources\": {{\n{}\n  }},\n  \"files\": {{\n{}\n  }}\n}}\n",
        quoted(&manifest.made_by),
        block(&manifest.sources),
        block(&manifest.files)
    )
}

fn parse(text: &str) -> Option<Manifest> {
    #[derive(Deserialize)]
    struct File {
        version: u32,
        #[serde(flatten)]
        manifest: Manifest,
    }
    let file: File = serde_json::from_str(text).ok()?;
    (file.version == VERSION).then_some(file.manifest)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let hashes = |name: &str| Hashes::from([(name.to_owned(), "00".to_owned())]);
        let manifest = Manifest {
            sources: hashes("viewer-wasm/src/\"x\".rs"),
            files: hashes("a.js"),
            made_by: "rustc 1; wasm-bindgen 2".to_owned(),
        };
        let text = print(&manifest);
        assert_eq!(parse(&text).unwrap(), manifest);
        assert_eq!(parse(&text.replace("\"version\": 1", "\"version\": 2")), None);
    }

    #[test]
    fn changed_missing_and_new_files_are_named() {
        let hashes = |rows: &[(&str, &str)]| rows.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let wanted: Hashes = hashes(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let found: Hashes = hashes(&[("a", "1"), ("b", "9"), ("d", "4")]);
        let list = differences(&wanted, &found, "source");
        assert_eq!(list.len(), 3);
        assert!(list[0].starts_with("c: in the manifest") && list[1].starts_with("b: this source changed"));
        assert!(list[2].starts_with("d: a source that"));
    }

    #[test]
    fn only_what_reaches_the_module_counts_of_shared_files() {
        let lock = "version = 4\n\n[[package]]\nname = \"ash\"\nversion = \"1\"\n\n[[package]]\nname = \"web-sys\"\nversion = \"2\"\n";
        assert_eq!(locked(lock), "name = \"web-sys\"\nversion = \"2\"\n");
        let workspace = "[profile.dev]\nx = 1\n\n[profile.viewer]\nlto = true\n\n[profile.release]\ny = 1\n";
        assert_eq!(profile(workspace), "[profile.viewer]\nlto = true");
    }
}
