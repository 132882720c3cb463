//! Sets the machine up: installs what is missing, or says how.
//!
//! Owns: every call of the package manager. Promises: says what it installs
//! before it does, asks for no password, and ends with exit code 9 and the
//! exact command where it may not install. Refuses: any system without `apt-get`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::system::{Need, has_lavapipe};

/// Makes sure that every need is met as far as files show.
pub fn ensure(needs: &[Need]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        eprintln!("set-up: only Debian and Ubuntu are known; expecting a Vulkan driver to be there");
        return Ok(());
    }
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    if missing.is_empty() {
        eprintln!("set-up: nothing is missing");
        return Ok(());
    }
    for need in &missing {
        eprintln!(
            "set-up: {} is missing; package `{}` brings it",
            need.title(),
            need.package()
        );
    }
    install(&missing)
}

/// Asks the built program whether a device answers; brings Mesa's CPU driver when none does.
pub fn ensure_device(kiln: &Path) -> Result<()> {
    if doctor(kiln)? || !cfg!(target_os = "linux") {
        return Ok(());
    }
    if has_lavapipe() {
        eprintln!("set-up: Mesa's CPU driver is installed, so nothing more can be set up here");
        return Ok(());
    }
    eprintln!(
        "set-up: no Vulkan driver answers; package `{}` brings a CPU driver",
        Need::Driver.package()
    );
    install(&[Need::Driver])?;
    if doctor(kiln)? {
        return Ok(());
    }
    Err(Failure::set_up(
        "Mesa's drivers are installed and still no Vulkan device answers\n\
         hint: see what `kiln doctor` prints, and whether VK_DRIVER_FILES or VK_ICD_FILENAMES hides the driver",
    ))
}

/// Whether `kiln doctor` finds a device it can use.
fn doctor(kiln: &Path) -> Result<bool> {
    let status = Command::new(kiln).arg("doctor").stdout(Stdio::inherit()).status();
    let status = status.map_err(|e| Failure::io("run", kiln, e))?;
    if !status.success() {
        eprintln!("set-up: `kiln doctor` ended with {status}");
    }
    Ok(status.success())
}

fn install(missing: &[Need]) -> Result<()> {
    let packages: Vec<&str> = missing.iter().map(|need| need.package()).collect();
    let by_hand = format!("sudo apt-get update && sudo apt-get install -y {}", packages.join(" "));
    let Some(prefix) = privilege() else {
        return Err(Failure::set_up(format!(
            "a package is missing, and installing needs root or passwordless sudo on Debian or Ubuntu\n\
             hint: run this, then the same task again:\n  {by_hand}"
        )));
    };
    eprintln!("set-up: installing {}", packages.join(", "));
    let install = [&["install", "-y", "--no-install-recommends"], packages.as_slice()].concat();
    for args in [&["update"], install.as_slice()] {
        let mut words = prefix
            .iter()
            .copied()
            .chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        let mut command = Command::new(words.next().unwrap_or("env"));
        let status = command.args(words).args(args).stdin(Stdio::null()).status();
        let done = status.is_ok_and(|status| status.success());
        // A package index that cannot be refreshed may still hold the package.
        if !done && args[0] == "install" {
            return Err(Failure::set_up(format!(
                "apt-get failed\nhint: run this by hand:\n  {by_hand}"
            )));
        }
    }
    match missing.iter().find(|need| !need.is_met()) {
        None => Ok(()),
        Some(need) => Err(Failure::set_up(format!(
            "package `{}` is installed, but {} is still not found\n\
             hint: an environment variable (VK_DRIVER_FILES, VK_ICD_FILENAMES, VK_LAYER_PATH, PATH) may hide it",
            need.package(),
            need.title()
        ))),
    }
}

/// The words in front of `apt-get`: none for root, sudo where it asks nothing; `None` when it may not run.
fn privilege() -> Option<&'static [&'static str]> {
    if !quiet("apt-get", &["--version"]) {
        return None;
    }
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    quiet("sudo", &["-n", "true"]).then_some(&["sudo", "-n"])
}

fn quiet(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
