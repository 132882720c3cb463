//! Tells the engine which commit it is built from: `KILN_COMMIT` in the environment, else git's answer, else `unknown`.
//! Optimised builds carry the LPIPS weights, so that an installed program needs no other file; the others would only
//! grow by them, and find them in the source tree.
//!
//! Needs nothing: without git, or outside a checkout of this repository, the build goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Relative to the folder of this crate, where build scripts run.
const WEIGHTS: &str = "assets/lpips_vgg_f16.safetensors";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KILN_COMMIT");
    let commit = std::env::var("KILN_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = commit.or_else(from_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=KILN_COMMIT={commit}");
    println!("cargo::rustc-check-cfg=cfg(kiln_weights_inside)");
    println!("cargo::rerun-if-changed={WEIGHTS}");
    if Path::new(WEIGHTS).is_file() && std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rustc-cfg=kiln_weights_inside");
    }
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
