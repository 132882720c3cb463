//! `kiln-lab mesa`: tests on a newer CPU driver than the system's, without installing it.
//!
//! Owns: a folder in the target folder with a newer Mesa from Debian's backports. Promises: nothing of the system
//! changes; the packages come by `apt-get` with lists and settings of their own, are unpacked and not installed, and
//! only the tests started here see them. Refuses: systems on which those packages do not run.
//!
//! Mesa 22.3, which Debian 12 has, reports no memory budget. Mesa 25 does, so the paths of the budget are tested against a
//! driver and not only against a simulation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use xtask::failure::{Failure, Result};
use xtask::steps::{self, Steps};
use xtask::system::{DEBIAN_KEYRING, has_bookworm_backports};

/// Where in the archive the packages are.
const SUITE: &str = "bookworm-backports main";
/// The driver, and what it needs newer than the system has it.
const PACKAGES: [&str; 3] = ["mesa-vulkan-drivers", "libdrm2", "libdrm-amdgpu1"];
/// Test programs that find more on this driver than on the old one.
const PROGRAMS: [&str; 3] = ["train", "device", "vulkan"];
/// Which tests of them, by a part of their names.
const TESTS: [&str; 5] = [
    "guard::",
    "step::",
    "bands::",
    "deterministic::",
    "training_passes_every_check",
];

/// Nothing to choose.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Fetches Mesa 25 from Debian's backports into the target folder, installs nothing, and runs on it the \
                        tests of budgets, of steps and of whole runs. Needs Debian 12."
)]
pub struct Arguments {}

/// Fetches the driver unless it is there, and runs the tests on it.
///
/// # Errors
/// [`Failure`] on another system, when a package cannot be fetched, and when a test fails.
pub fn run(root: &Path, _: &Arguments) -> Result<()> {
    let mut steps = Steps::default();
    let result = checks(root, &mut steps);
    steps.report();
    result
}

fn checks(root: &Path, steps: &mut Steps) -> Result<()> {
    if !has_bookworm_backports() {
        return Err(Failure::new(
            "the newer Mesa comes from the backports of Debian 12, and this is another system\n\
             hint: run the device tests on the system's own driver with `cargo xtask test`",
        ));
    }
    let kiln = steps::kiln("debug")?;
    let target = kiln.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    let folder = target.join("mesa");
    let manifest = folder.join("lvp_icd.json");
    if !manifest.is_file() {
        steps.time("newer Mesa", || fetch(&folder, &manifest))?;
    }
    let mut args = vec!["test", "--workspace", "--no-fail-fast"];
    for program in &PROGRAMS {
        args.extend(["--test", program]);
    }
    args.push("--");
    args.extend(TESTS);
    let mut tests = steps::cargo(root, &args);
    // The older name of the variable too, for loaders that do not know the newer one.
    tests
        .env("VK_DRIVER_FILES", &manifest)
        .env("VK_ICD_FILENAMES", &manifest);
    tests.env("LD_LIBRARY_PATH", libraries(&folder));
    steps.run_tests("tests on the newer Mesa", tests)
}

fn libraries(folder: &Path) -> PathBuf {
    folder.join("root/usr/lib/x86_64-linux-gnu")
}

/// Brings the packages and writes a manifest that names the driver among them.
fn fetch(folder: &Path, manifest: &Path) -> Result<()> {
    let at = |name: &str| folder.join(name);
    for name in ["lists/partial", "archives/partial", "packages", "root"] {
        fs::create_dir_all(at(name)).map_err(|e| Failure::new(format!("{}: {e}", at(name).display())))?;
    }
    let write =
        |path: &Path, text: String| fs::write(path, text).map_err(|e| Failure::new(format!("{}: {e}", path.display())));
    write(
        &at("sources.list"),
        format!("deb [signed-by={DEBIAN_KEYRING}] {} {SUITE}\n", archive()?),
    )?;
    write(&at("apt.conf"), settings(folder))?;
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(args)
            .env("APT_CONFIG", at("apt.conf"))
            .current_dir(at("packages"));
        finish(command)
    };
    apt(&["--quiet", "update"])?;
    let mut download = vec!["--quiet", "download", "--target-release", "bookworm-backports"];
    download.extend(PACKAGES);
    apt(&download)?;
    for entry in fs::read_dir(at("packages"))
        .map_err(|e| Failure::new(e.to_string()))?
        .flatten()
    {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(entry.path()).arg(at("root"));
        finish(unpack)?;
    }
    let library = libraries(folder).join("libvulkan_lvp.so");
    if !library.is_file() {
        return Err(Failure::new(format!("the packages have no {}", library.display())));
    }
    write(manifest, driver_manifest(&library))
}

/// The archive that this system takes its packages from.
fn archive() -> Result<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)"]);
    command.args(["Created-By: Packages", "Codename: bookworm"]);
    let output = command
        .output()
        .map_err(|e| Failure::new(format!("`apt-get` did not start: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().map(str::to_owned);
    first.ok_or_else(|| Failure::new("`apt-get indextargets` names no archive of Debian 12: run `apt-get update`"))
}

/// Settings with which `apt-get` reads and writes nothing of the system but its keys and the list of installed packages.
fn settings(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    format!(
        "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\nDir::State::lists \"{}\";\n\
         Dir::Cache::archives \"{}\";\nDir::Cache::pkgcache \"\";\nDir::Cache::srcpkgcache \"\";\n",
        at("sources.list"),
        at("lists"),
        at("archives")
    )
}

fn driver_manifest(library: &Path) -> String {
    format!(
        "{{\"file_format_version\": \"1.0.0\", \"ICD\": {{\"library_path\": \"{}\", \"api_version\": \"1.4.305\"}}}}\n",
        library.display()
    )
}

fn finish(mut command: Command) -> Result<()> {
    let text = format!("{command:?}");
    let status = command
        .status()
        .map_err(|e| Failure::new(format!("`{text}` did not start: {e}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{text}` ended with {status}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_stays_in_its_folder() {
        let text = settings(Path::new("/build/target/mesa"));
        let paths: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert!(
            paths
                .iter()
                .all(|path| path.is_empty() || *path == "/dev/null" || path.starts_with("/build/target/mesa/")),
            "{paths:?}"
        );
        assert_eq!(paths.len(), 6);
    }

    #[test]
    fn the_manifest_names_the_library() {
        let text = driver_manifest(Path::new("/a/libvulkan_lvp.so"));
        assert!(text.contains("\"library_path\": \"/a/libvulkan_lvp.so\""), "{text}");
    }
}
