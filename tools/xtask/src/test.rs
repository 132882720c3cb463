//! `cargo xtask test`: everything that must hold before a change lands.
//!
//! Owns: the list of checks and their order, cheapest first. Promises: no
//! device is a failure, and the time table comes even when a step fails.
//! Refuses: skipping.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::steps::{self, Steps};
use crate::system::Need;
use crate::{mesa, setup, shaders, viewer};

const USAGE: &str = "usage: cargo xtask test [--full]
  sets up what is missing, then checks manifests, format, lints and runs every test
  --full   also the slow rounds, and on Debian 12 the device tests on a newer Mesa";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let full = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--full"] => true,
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(());
        }
        _ => return Err(Failure::usage(USAGE)),
    };
    let mut steps = Steps::default();
    let result = checks(root, full, &mut steps);
    steps.report();
    result
}

fn checks(root: &Path, full: bool, steps: &mut Steps) -> Result<()> {
    let needs = [
        Need::Loader,
        Need::Driver,
        Need::ValidationLayer,
        Need::SpirvVal,
        Need::Browser,
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

    // Tests start the program itself, so it is built although no test target asks for it.
    steps.run("build", steps::cargo(root, &["build", "-p", "kiln"]), false)?;
    let kiln = steps::kiln("debug")?;
    steps.time("device", || setup::ensure_device(&kiln))?;
    steps.run(
        "build tests",
        steps::cargo(root, &["test", "--workspace", "--no-run"]),
        false,
    )?;

    let mut tests = steps::cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    if full {
        tests.env("KILN_FULL", "1");
    }
    steps.run_tests("tests", tests)?;
    if full && mesa::is_possible() {
        mesa::checks(root, steps)?;
    }
    Ok(())
}
