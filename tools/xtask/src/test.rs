//! `cargo xtask test`: everything that must hold before a change lands.
//!
//! Owns: the list of checks and their order, cheapest first. Promises: no
//! device is a failure, and the time table comes even when a step fails.
//! Refuses: skipping.

mod jobs;
mod lanes;
mod programs;
mod times;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::steps::{self, Steps};
use crate::system::{Need, has_bookworm_backports};
use crate::windows::Wine;
use crate::{foreign, ray, setup, shaders, viewer};
use jobs::Job;
use times::Times;

const USAGE: &str = "usage: cargo xtask test [--quick | --full | --only NAME,...]
  sets up what is missing, then checks manifests, format, lints and runs every test; seconds per test go to
  target/test-times.json
  --quick  only manifests, format, lints, unit tests with all CPU twins, imports and links, and one training
           step on the device: for every save while working, not enough to land
  --full   also the slow rounds, the engine's unit tests under Wine, and on Debian 12 the device tests on a newer Mesa
  --only   only these test programs, `unit` for unit tests and those of documentation, `ray` for tools/ray; no lints";

/// What `--only` calls all unit tests, and the tests of tools/ray.
const UNIT: &str = "unit";
const RAY: &str = "ray";

/// How much is run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Extent {
    Quick,
    All,
    Full,
    Only(Vec<String>),
}

impl Extent {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::Only(names) => names.iter().any(|found| found == name),
            _ => true,
        }
    }
}

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let extent = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Extent::All,
        ["--quick"] => Extent::Quick,
        ["--full"] => Extent::Full,
        ["--only", names] => Extent::Only(names.split(',').map(str::to_owned).collect()),
        ["--help" | "-h"] => {
            crate::say(USAGE);
            return Ok(());
        }
        _ => return Err(Failure::usage(USAGE)),
    };
    let mut steps = Steps::default();
    let result = checks(root, &extent, &mut steps);
    steps.report();
    result
}

fn checks(root: &Path, extent: &Extent, steps: &mut Steps) -> Result<()> {
    let needs = [
        Need::Loader,
        Need::Driver,
        Need::ValidationLayer,
        Need::SpirvVal,
        Need::Browser,
        Need::PythonVenv,
    ];
    steps.time("set-up", || setup::ensure(&needs))?;
    if let Extent::Only(_) = extent {
        return all_tests(root, extent, Vec::new(), steps);
    }
    steps.time("shader manifest", || shaders::verify(root))?;
    steps.time("viewer manifest", || viewer::verify(root))?;

    steps.run("format", steps::cargo(root, &["fmt", "--all", "--check"]), false)?;
    for helper in ["tools/shaderc", "tools/wasm-bindgen"] {
        let manifest = format!("{helper}/Cargo.toml");
        let format = ["fmt", "--manifest-path", &manifest, "--check"];
        steps.run(&format!("format of {helper}"), steps::cargo(root, &format), false)?;
    }
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let clippy = steps::cargo(root, &clippy);
    if *extent == Extent::Quick {
        steps.run("clippy", clippy, false)?;
        return quick(root, steps);
    }
    // Nothing else needs what clippy finds, so it goes beside the tests.
    all_tests(root, extent, vec![clippy], steps)
}

/// Builds everything, then runs all tests with `lints` beside them.
fn all_tests(root: &Path, extent: &Extent, lints: Vec<Command>, steps: &mut Steps) -> Result<()> {
    // Tests start the program itself. One build for it and them: alone it would be built with fewer features of what it depends on,
    // and all of that twice.
    let mut programs = programs::build(root, steps)?;
    if let Extent::Only(names) = extent {
        let known: Vec<&str> = programs.iter().map(programs::Program::group).chain([RAY]).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Failure::usage(format!("no tests are called `{name}`\n{USAGE}")));
        }
        programs.retain(|program| extent.has(program.group()));
    }
    let kiln = steps::kiln("debug")?;
    steps.time("device", || setup::ensure_device(&kiln))?;

    let shaders = compiled_shaders(root)?;
    let has_windows = programs.iter().any(|program| program.name == WINDOWS);
    let wine = has_windows.then(|| Wine::ensure(root, steps)).transpose()?;
    let settings = |command: &mut Command| {
        command.env(KILN, &kiln);
        if std::env::var_os(DRIVER_THREADS).is_none() {
            command.env(DRIVER_THREADS, "1");
        }
        if let Some(folder) = &shaders {
            command.env(SHADER_CACHE, folder);
        }
        if *extent == Extent::Full {
            command.env("KILN_FULL", "1");
        }
        if let Some(wine) = &wine {
            wine.settings(command);
        }
    };
    let file = root.join("target/test-times.json");
    let mut times = Times::read(&file);
    let mut all = jobs::of(&programs, &times, settings);
    if let (Some(wine), Some(job)) = (&wine, all.iter_mut().find(|job| job.program == WINDOWS)) {
        job.commands
            .splice(0..0, wine.preparation(root, *extent == Extent::Full)?);
        job.seconds += BUILD_FOR_WINDOWS_S;
    }
    // In one job with the lints: they wait for the same lock of cargo.
    let mut by_cargo = lints;
    if extent.has(UNIT) {
        by_cargo.push(steps::cargo(root, &["test", "--workspace", "--doc"]));
    }
    if !by_cargo.is_empty() {
        all.push(Job::other("lints and tests of documentation", BY_CARGO_S, by_cargo));
    }
    if cfg!(target_os = "linux") && extent.has("host") {
        foreign::ensure(root, steps)?;
    }
    if cfg!(target_os = "linux") && extent.has(RAY) {
        let mut tests = ray::tests(root, steps)?;
        settings(&mut tests);
        all.push(Job::other("tests of kiln-ray", RAY_S, vec![tests]));
    }
    let mut measured = Times::default();
    let outcome = steps.time("tests", || lanes::run(all, &mut measured));
    times.replace(&measured);
    times.write(&file)?;
    for line in measured.report() {
        eprintln!("{line}");
    }
    outcome?;
    if *extent == Extent::Full && has_bookworm_backports() {
        let mesa = steps::cargo(root, &["run", "--quiet", "-p", "kiln-lab", "--", "mesa"]);
        steps.run_tests("tests on a newer Mesa", mesa)?;
    }
    Ok(())
}

/// The tests that find most in the least time.
fn quick(root: &Path, steps: &mut Steps) -> Result<()> {
    let kinds: [(&str, &[&str]); 3] = [
        ("unit tests", &["--lib"]),
        ("imports and links", &["--test", "sources"]),
        ("a step on the device", &["--test", "device", QUICK_STEP]),
    ];
    for (name, args) in kinds {
        // Of the whole workspace, as all tests are: a package by itself is built anew.
        let args = [&["test", "--workspace"], args].concat();
        steps.run(name, steps::cargo(root, &args), false)?;
    }
    Ok(())
}

/// The device test that compares a whole training step with its twin.
const QUICK_STEP: &str = "gpu::step::plain_scene_in_all_variants";

/// Runs the program for Windows, which is built beside other tests.
const WINDOWS: &str = "windows";
/// About how long that takes after a change.
const BUILD_FOR_WINDOWS_S: f64 = 200.0;

/// About how long lints and tests of documentation take, and kiln-ray's: the longest jobs go first.
const BY_CARGO_S: f64 = 150.0;
const RAY_S: f64 = 80.0;

/// Names the program that tests start.
const KILN: &str = "KILN";
/// How many threads Mesa's CPU driver has: there are as many jobs as cores already.
const DRIVER_THREADS: &str = "LP_NUM_THREADS";
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Files of integration tests are found by what declares them, so one that nothing declares would never run.
    #[test]
    fn every_file_of_tests_is_a_program_or_in_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let folder = root.join("tests");
        let (mut programs, mut modules) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && manifest.contains(&format!("path = \"tests/{name}.rs\"")) {
                programs.push(fs::read_to_string(&path).unwrap());
            } else {
                assert!(path.is_file() || path.join("mod.rs").is_file(), "{name}");
                modules.push(name);
            }
        }
        assert!(programs.len() > 5 && modules.len() > 20, "{programs:?} {modules:?}");
        for name in modules {
            let line = format!("mod {name};");
            let declared = programs.iter().filter(|text| text.lines().any(|found| found == line));
            assert_eq!(declared.count(), 1, "{name}");
        }
    }

    #[test]
    fn hosted_jobs_run_every_program_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let jobs = fs::read_to_string(root.join(".github/workflows/test.yml")).unwrap();
        let lists = jobs.split("--only ").skip(1);
        let mut run: Vec<&str> = lists
            .flat_map(|rest| rest.split_whitespace().next().unwrap().split(','))
            .collect();
        run.sort_unstable();
        let manifest = fs::read_to_string(root.join("tests/Cargo.toml")).unwrap();
        let paths = manifest.split("path = \"tests/").skip(1);
        let programs = paths.map(|rest| rest.split_once(".rs").unwrap().0);
        let mut want: Vec<&str> = programs.chain([UNIT, RAY]).collect();
        want.sort_unstable();
        assert_eq!(run, want);
    }
}
