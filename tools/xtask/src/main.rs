//! The `xtask` program: picks the verb, prints the failure, sets the exit code.

use std::process::ExitCode;

use xtask::failure::Failure;
use xtask::{advisories, demo, foreign, ray, release, root, say, shaders, test, viewer, windows};

const USAGE: &str = "usage: cargo xtask VERB
  demo        set up this machine, build, train the bundled scene
  test        set up this machine, run every check and test
  ray         run the tests of tools/ray on two Ray nodes
  foreign     have programs of others read what Kiln writes
  shaders     compile the shaders, or check them: see `cargo xtask shaders --help`
  viewer      build the viewer's bundle, or check it: see `cargo xtask viewer --help`
  windows     build the program for Windows, and run it under Wine
  release     build what people install, and try it on bare systems: see `cargo xtask release --help`
  advisories  compare locked versions with known advisories";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.split_first() {
        Some((verb, rest)) => match verb.as_str() {
            "advisories" => advisories::run(&root(), rest),
            "demo" => demo::run(&root(), rest),
            "test" => test::run(&root(), rest),
            "ray" => ray::run(&root(), rest),
            "release" => release::run(&root(), rest),
            "foreign" => foreign::run(&root(), rest),
            "shaders" => shaders::run(&root(), rest),
            "viewer" => viewer::run(&root(), rest),
            "windows" => windows::run(&root(), rest),
            "--help" | "-h" | "help" => {
                say(USAGE);
                Ok(())
            }
            other => Err(Failure::usage(format!("unknown verb `{other}`\n{USAGE}"))),
        },
        None => Err(Failure::usage(USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}
