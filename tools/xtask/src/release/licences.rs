//! Licences of what is compiled into the program and into the viewer that it carries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::targets;
use super::tree::{names, read};
use crate::failure::{Failure, Result};
use crate::{sha256, steps};

/// The viewer inside the program, and what it is compiled for.
const VIEWER: (&str, &str) = ("kiln-viewer", "wasm32-unknown-unknown");
/// How the names of files with licences begin, in small letters.
const BEGINNINGS: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];
/// Source files that begin like it.
const SOURCES: [&str; 3] = ["rs", "toml", "py"];

/// The answer of `cargo metadata`, as far as it is read.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
    /// None for a package of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Metadata {
    /// Of the workspace, with what one target needs.
    pub(crate) fn of(root: &Path, triple: &str) -> Result<Self> {
        let mut command = steps::cargo(
            root,
            &[
                "metadata",
                "--format-version",
                "1",
                "--locked",
                "--filter-platform",
                triple,
            ],
        );
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| Failure::new(format!("cannot start `{}`: {e}", steps::line(&command))))?;
        serde_json::from_slice(&output.stdout)
            .map_err(|e| Failure::new(format!("cannot read what `{}` prints: {e}", steps::line(&command))))
    }

    /// Version and address of the project.
    pub(crate) fn project(&self) -> Option<(&str, Option<&str>)> {
        let own = self
            .packages
            .iter()
            .find(|package| package.name == "kiln" && package.source.is_none());
        own.map(|package| (package.version.as_str(), package.repository.as_deref()))
    }

    /// Packages of others that end up in the package `name`.
    fn inside(&self, name: &str) -> Vec<&Package> {
        let of_name = self
            .packages
            .iter()
            .filter(|package| package.name == name && package.source.is_none());
        let mut pending: Vec<&str> = of_name.map(|package| package.id.as_str()).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            let used = node.into_iter().flat_map(|node| &node.deps);
            let compiled_in = used.filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            pending.extend(compiled_in.map(|dependency| dependency.pkg.as_str()));
        }
        let is_inside = |package: &&Package| package.source.is_some() && seen.contains(package.id.as_str());
        self.packages.iter().filter(is_inside).collect()
    }
}

/// The text of `THIRD-PARTY.txt`: every package once, then every text once with the packages that it belongs to.
///
/// # Errors
/// When cargo does not answer, a text cannot be read, or a package names no licence.
pub(crate) fn third_party(root: &Path) -> Result<String> {
    let mut rows = BTreeSet::new();
    let mut texts: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    let programs = targets::ALL.map(|target| ("kiln", target.triple()));
    for (shipped, triple) in programs.into_iter().chain([VIEWER]) {
        for package in Metadata::of(root, triple)?.inside(shipped) {
            let title = format!("{} {}", package.name, package.version);
            let Some(licence) = &package.license else {
                return Err(Failure::new(format!("package {title} names no licence")));
            };
            let address = package.repository.as_deref().unwrap_or("-");
            if !rows.insert(format!("{title}: {licence}, {address}")) {
                continue;
            }
            for path in files(&package.manifest_path)? {
                let text = read(&path)?;
                let entry = texts
                    .entry(sha256(text.trim().as_bytes()))
                    .or_insert_with(|| (text, BTreeSet::new()));
                entry.1.insert(title.clone());
            }
        }
    }
    Ok(page(&rows, texts.into_values().collect()))
}

/// Files with licences beside a manifest, and in the folders there: sources in other languages have their own.
fn files(manifest: &Path) -> Result<Vec<PathBuf>> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    let all = names(folder)?.into_iter().map(|name| folder.join(name));
    for path in all {
        if path.is_dir() {
            found.extend(
                names(&path)?
                    .into_iter()
                    .map(|name| path.join(name))
                    .filter(|path| is_licence(path)),
            );
        } else if is_licence(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_source = path
        .extension()
        .is_some_and(|e| SOURCES.iter().any(|source| e == *source));
    path.is_file() && !is_source && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn page(rows: &BTreeSet<String>, mut texts: Vec<(String, BTreeSet<String>)>) -> String {
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    let mut page = "What others wrote and this program contains, beside Rust's standard library (MIT OR Apache-2.0, whose texts are in LICENSE-MIT and \
                    LICENSE-APACHE) and, on Windows, the runtime of mingw-w64 (public domain and ZPL 2.1) and libgcc (GPL 3 with the runtime library \
                    exception).\n\n"
        .to_owned();
    for row in rows {
        let _ = writeln!(page, "{row}");
    }
    for (text, packages) in texts {
        let list: Vec<&str> = packages.iter().map(String::as_str).collect();
        let _ = write!(page, "\n{}\n{}\n\n{}\n", "=".repeat(100), list.join(", "), text.trim());
    }
    page
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn what_is_compiled_in_is_listed_with_its_text_and_what_builds_is_not() {
        let text = third_party(&crate::root()).unwrap();
        for package in ["ash ", "zstd-sys ", "windows-sys ", "wasm-bindgen ", "clap "] {
            assert!(
                text.lines()
                    .any(|line| line.starts_with(package) && line.contains(": ")),
                "{package}"
            );
        }
        for builder in ["cc ", "wgpu "] {
            assert!(
                !text
                    .lines()
                    .any(|line| line.starts_with(builder) && line.contains(": ")),
                "{builder}"
            );
        }
        // Of the library in C, which lies in a folder of its package.
        assert!(text.contains("Meta Platforms"), "zstd's own text is missing");
    }

    #[test]
    fn equal_texts_stand_once() {
        let rows = BTreeSet::from(["a 1: MIT, -".to_owned(), "b 2: MIT, -".to_owned()]);
        let names = BTreeSet::from(["a 1".to_owned(), "b 2".to_owned()]);
        let page = page(&rows, vec![("MIT text\n".to_owned(), names)]);
        assert_eq!(page.matches("MIT text").count(), 1);
        assert!(page.contains("\na 1, b 2\n"), "{page}");
    }
}
