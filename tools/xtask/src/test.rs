//! `cargo xtask test`: everything that must hold before a change lands.
//!
//! Owns: the list of checks and their order, cheapest first. Promises: no
//! device is a failure, and the time table comes even when a step fails.
//! Refuses: skipping.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::steps::{self, Steps};
use crate::system::{Need, has_bookworm_backports};
use crate::{foreign, ray, setup, shaders, viewer};

const USAGE: &str = "usage: cargo xtask test [--quick | --full]
  sets up what is missing, then checks manifests, format, lints and runs every test
  --quick  only manifests, format, lints, unit tests with all CPU twins, imports and links, and one training
           step on the device: for every save while working, not enough to land
  --full   also the slow rounds, and on Debian 12 the device tests on a newer Mesa";

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Quick,
    All,
    Full,
}

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let extent = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Extent::All,
        ["--quick"] => Extent::Quick,
        ["--full"] => Extent::Full,
        ["--help" | "-h"] => {
            crate::say(USAGE);
            return Ok(());
        }
        _ => return Err(Failure::usage(USAGE)),
    };
    let mut steps = Steps::default();
    let result = checks(root, extent, &mut steps);
    steps.report();
    result
}

fn checks(root: &Path, extent: Extent, steps: &mut Steps) -> Result<()> {
    let needs = [
        Need::Loader,
        Need::Driver,
        Need::ValidationLayer,
        Need::SpirvVal,
        Need::Browser,
        Need::PythonVenv,
    ];
    steps.time("set-up", || setup::ensure(&needs))?;
    steps.time("shader manifest", || shaders::verify(root))?;
    steps.time("viewer manifest", || viewer::verify(root))?;

    steps.run("format", steps::cargo(root, &["fmt", "--all", "--check"]), false)?;
    for helper in ["tools/shaderc", "tools/wasm-bindgen"] {
        let manifest = format!("{helper}/Cargo.toml");
        let format = ["fmt", "--manifest-path", &manifest, "--check"];
        steps.run(&format!("format of {helper}"), steps::cargo(root, &format), false)?;
    }
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.run("clippy", steps::cargo(root, &clippy), false)?;
    if extent == Extent::Quick {
        return quick(root, steps);
    }

    // Tests start the program itself. One build for it and them: alone it would be built with fewer features of what it depends on,
    // and all of that twice.
    let all = ["build", "--workspace", "--all-targets"];
    steps.run("build", steps::cargo(root, &all), false)?;
    let kiln = steps::kiln("debug")?;
    steps.time("device", || setup::ensure_device(&kiln))?;

    if cfg!(target_os = "linux") {
        foreign::ensure(root, steps)?;
    }
    let shaders = compiled_shaders(root)?;
    let command = |args: Vec<String>| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = steps::cargo(root, &args);
        if let Some(folder) = &shaders {
            command.env(SHADER_CACHE, folder);
        }
        if extent == Extent::Full {
            command.env("KILN_FULL", "1");
        }
        command
    };
    steps.run_tests("tests", commands(root)?.into_iter().map(command).collect())?;
    if cfg!(target_os = "linux") {
        let mut tests = ray::tests(root, steps)?;
        tests.env("KILN", &kiln);
        if extent == Extent::Full {
            tests.env("KILN_FULL", "1");
        }
        if let Some(folder) = &shaders {
            tests.env(SHADER_CACHE, folder);
        }
        steps.run("tests of kiln-ray", tests, false)?;
    }
    if extent == Extent::Full && has_bookworm_backports() {
        let mesa = steps::cargo(root, &["run", "--quiet", "-p", "kiln-lab", "--", "mesa"]);
        steps.run_tests("tests on a newer Mesa", vec![mesa])?;
    }
    Ok(())
}

/// What of the tests tells most in the least time.
fn quick(root: &Path, steps: &mut Steps) -> Result<()> {
    let kinds: [(&str, &[&str]); 3] = [
        ("unit tests", &["--lib"]),
        ("imports and links", &["--test", "imports"]),
        ("a step on the device", &["--test", "gpu", QUICK_STEP]),
    ];
    for (name, args) in kinds {
        // Of the whole workspace, as all tests are: a package by itself is built anew.
        let args = [&["test", "--workspace"], args].concat();
        steps.run(name, steps::cargo(root, &args), false)?;
    }
    Ok(())
}

/// The device test that compares a whole training step with its twin.
const QUICK_STEP: &str = "step::plain_scene_in_all_variants";

/// Test programs that take long, the longest first. Within a program one test at a time has the device, so another program runs
/// beside it.
const LONG: [&str; 12] = [
    "gpu",
    "train",
    "vulkan_checks",
    "mesh",
    "view_browser",
    "documents",
    "lost_devices",
    "meshes",
    "command_line",
    "exports",
    "memory",
    "stored_models",
];

/// Names the folder in which Mesa's CPU driver keeps the shaders that it has compiled.
const SHADER_CACHE: &str = "MESA_SHADER_CACHE_DIR";

/// A place for compiled shaders, unless one is named already: every test program compiles the same ones, and without a home folder
/// the driver has no place of its own.
fn compiled_shaders(root: &Path) -> Result<Option<PathBuf>> {
    if std::env::var_os(SHADER_CACHE).is_some() {
        return Ok(None);
    }
    let folder = root.join("target/compiled-shaders");
    fs::create_dir_all(&folder).map_err(|e| Failure::io("make", &folder, e))?;
    Ok(Some(folder))
}

/// Arguments of `cargo` for all tests, what takes long first.
fn commands(root: &Path) -> Result<Vec<Vec<String>>> {
    let folder = root.join("tests/tests");
    let mut others = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|e| Failure::io("read", &folder, e))? {
        let path = entry.map_err(|e| Failure::io("read", &folder, e))?.path();
        let is_program = path.extension().is_some_and(|kind| kind == "rs") || path.join("main.rs").is_file();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if is_program && !LONG.contains(&name.as_str()) {
            others.push(name);
        }
    }
    others.sort();
    let args = |kinds: &[&str], programs: &[String]| {
        let first = ["test", "--workspace", "--no-fail-fast"].iter().chain(kinds);
        let mut args: Vec<String> = first.map(|arg| (*arg).to_owned()).collect();
        args.extend(programs.iter().flat_map(|name| ["--test".to_owned(), name.clone()]));
        args
    };
    let mut all: Vec<Vec<String>> = LONG.iter().map(|name| args(&[], &[(*name).to_owned()])).collect();
    // Unit tests take about as long as the second of them.
    all.insert(2, args(&["--lib", "--bins"], &[]));
    all.push(args(&[], &others));
    all.push(args(&["--doc"], &[]));
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn every_test_program_runs_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let manifest = fs::read_to_string(root.join("tests/Cargo.toml")).unwrap();
        assert!(!manifest.contains("[[test]]"), "programs are found by their place");
        let commands = commands(&root).unwrap();
        let all: Vec<&String> = commands.iter().flatten().collect();
        for name in LONG.into_iter().chain(["hostile_input"]) {
            let path = root.join("tests/tests").join(name);
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{name}");
            assert_eq!(all.iter().filter(|arg| *arg == &name).count(), 1, "{name}");
        }
        for kind in ["--lib", "--bins", "--doc"] {
            assert_eq!(all.iter().filter(|arg| **arg == kind).count(), 1, "{kind}");
        }
        // Programs of other packages would be left out.
        for package in [
            "crates/mesh",
            "crates/ply",
            "engine",
            "viewer-wasm",
            "tools/lab",
            "tools/xtask",
        ] {
            assert!(
                !root.join(package).join("tests").exists(),
                "{package} has tests of its own"
            );
        }
    }
}
