//! Compiles the commit into the engine: `KILN_COMMIT` in the environment, in optimised builds else git's answer, else `unknown`.
//! Development builds do not ask git: the whole engine would be compiled again after each commit. Figures come from optimised ones.
//! Lists the files of the viewer's page, which are embedded.
//! Compiles this crate's folder in, where builds of a checkout find the LPIPS weights: `KILN_ENGINE_FOLDER` in the environment replaces it, and
//! releases leave it empty, so that they hold no path of the machine they were built on.
//!
//! Needs nothing: without git, or outside a checkout of this repository, the build goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KILN_COMMIT");
    let commit = std::env::var("KILN_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = std::env::var_os("PROFILE").is_some_and(|profile| profile == "release");
    let of_git = || is_release.then(from_git).flatten();
    let commit = commit.or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=KILN_COMMIT={commit}");
    println!("cargo::rerun-if-env-changed=KILN_ENGINE_FOLDER");
    let folder = ["KILN_ENGINE_FOLDER", "CARGO_MANIFEST_DIR"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    println!("cargo::rustc-env=KILN_ENGINE_FOLDER={}", folder.unwrap_or_default());
    if let Err(error) = list_page() {
        println!("cargo::error=the viewer's page cannot be embedded: {error}");
    }
}

/// Writes `viewer_assets.rs`: the files of `viewer-wasm/page` and those built into `viewer-wasm/dist`, each with its brotli version
/// when `dist` has it. Without `dist` the list is empty, and `kiln view` says what to do.
fn list_page() -> io::Result<()> {
    let variable = |name| std::env::var_os(name).ok_or_else(|| io::Error::other(format!("{name} is not set")));
    let viewer = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../viewer-wasm");
    let (dist, mut files) = (viewer.join("dist"), BTreeMap::new());
    for folder in ["page", "dist"] {
        println!("cargo::rerun-if-changed=../viewer-wasm/{folder}");
        if dist.is_dir() {
            for entry in fs::read_dir(viewer.join(folder))? {
                let entry = entry?;
                files.extend(entry.file_name().into_string().map(|name| (name, entry.path())));
            }
        }
    }
    let include = |path: &PathBuf| format!("include_bytes!({path:?})");
    let mut rows = String::new();
    for (name, path) in files.iter().filter(|(name, _)| is_of_page(name)) {
        let brotli = match files.get(&format!("{name}.br")) {
            Some(compressed) => format!("Some({})", include(compressed)),
            None => "None".to_owned(),
        };
        rows += &format!(
            "    Asset {{ name: {name:?}, bytes: {}, brotli: {brotli} }},\n",
            include(path)
        );
    }
    let list = format!("const ASSETS: &[Asset] = &[\n{rows}];\n");
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("viewer_assets.rs"), list)
}

/// Files that a browser asks for; the folder also has records of how they were made.
fn is_of_page(name: &str) -> bool {
    ["html", "js", "wasm", "css", "svg"]
        .iter()
        .any(|extension| name.ends_with(&format!(".{extension}")))
}

fn from_git() -> Option<String> {
    let crate_folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let root = crate_folder.parent()?.canonicalize().ok()?;
    // A copy inside another project's checkout must not take that project's commit.
    let top = git(&root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    // The log of HEAD grows with every commit and checkout. A path that is not there would rebuild each time.
    let log = root.join(git(&root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.is_file() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&root, &["rev-parse", "HEAD"])
}

fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty() && !text.contains('\n')).then(|| text.to_owned())
}
