//! Compiles the commit into the engine: `KILN_COMMIT` in the environment, in optimised builds else git's answer, else `unknown`.
//! Development builds do not ask git: the whole engine would be compiled again after each commit. Figures come from optimised ones.
//! Lists the files of the viewer's page, which are embedded.
//! Optimised builds carry the LPIPS weights, so that an installed program needs no other file; the others would only
//! grow by them, and find them in the source tree.
//!
//! Needs nothing: without git, or outside a checkout of this repository, the build goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Relative to the folder of this crate, where build scripts run.
const WEIGHTS: &str = "assets/lpips_vgg_f16.safetensors";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KILN_COMMIT");
    let commit = std::env::var("KILN_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = std::env::var_os("PROFILE").is_some_and(|profile| profile == "release");
    let of_git = || is_release.then(from_git).flatten();
    let commit = commit.or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=KILN_COMMIT={commit}");
    println!("cargo::rustc-check-cfg=cfg(kiln_weights_inside)");
    println!("cargo::rerun-if-changed={WEIGHTS}");
    if Path::new(WEIGHTS).is_file() && is_release {
        println!("cargo::rustc-cfg=kiln_weights_inside");
    }
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
