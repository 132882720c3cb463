//! `cargo xtask windows`: builds the program for Windows, and runs it under Wine.
//!
//! Owns: `target/windows`: the build, Wine's prefix and a display without a screen. Promises: what the tests start is built from these
//! sources. Refuses: judging what Wine does not have: memory under pressure, a watchdog, windows that are closed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::failure::{Failure, Result};
use crate::setup;
use crate::steps::{self, Steps};
use crate::system::Need;
use crate::viewer::Compiler;

const USAGE: &str = "usage: cargo xtask windows
  sets up mingw, Wine and a display without a screen, builds the program for Windows, runs it and unit tests under Wine and
  compares what it writes with what the program of this system writes (the first build takes minutes)";

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Compiles libraries in C, and the little that stands in for Windows.
const C_COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// What Wine 8 lacks, a program that holds a file as scanners do, and one that ends others.
const HELPERS: [(&str, &[&str]); 3] = [
    ("bcryptprimitives.dll", &["-shared", "bcryptprimitives.c", "-ladvapi32"]),
    ("hold.exe", &["hold.c"]),
    ("end.exe", &["end.c"]),
];
/// Crates of which unit tests run under Wine too: what asks the system, what opens files, and what reads the formats of viewers.
const UNIT: [&str; 3] = ["kiln-system", "kiln-files", "kiln-formats"];
/// The same where there is time to build them for Windows too: what reads settings and scenes, and the engine.
const MORE_UNIT: [&str; 3] = ["kiln-config", "kiln-scene", "kiln"];
/// Tests of the engine that are nothing but arithmetic, or want a validation layer.
const SKIPPED: [&str; 3] = [
    "eval::lpips::",
    "plan::remedies::",
    "train::checkpoint::tests::damage_at_any_byte_is_found",
];
/// Names the folder with the program and its helpers to the tests.
pub const FOLDER: &str = "KILN_WINDOWS";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--help" | "-h"] => {
            crate::say(USAGE);
            return Ok(());
        }
        _ => return Err(Failure::usage(USAGE)),
    }
    let mut steps = Steps::default();
    let result = alone(root, &mut steps);
    steps.report();
    result
}

fn alone(root: &Path, steps: &mut Steps) -> Result<()> {
    steps.time("set-up", || setup::ensure(&[Need::Loader, Need::Driver]))?;
    let wine = Wine::ensure(root, steps)?;
    for command in wine.preparation(root, true)? {
        steps.run("program for Windows", command, false)?;
    }
    let mut tests = steps::cargo(root, &["test", "--workspace", "--test", "windows"]);
    wine.settings(&mut tests);
    steps.run_tests("tests", tests)
}

/// Wine on a display of its own, for as long as this lives.
#[derive(Debug)]
pub struct Wine {
    prefix: PathBuf,
    folder: PathBuf,
    display: Child,
    stays: Option<Child>,
    number: String,
}

impl Wine {
    /// Installs what is missing and starts a display.
    ///
    /// # Errors
    /// When something cannot be installed, or no display starts.
    pub fn ensure(root: &Path, steps: &mut Steps) -> Result<Self> {
        steps.time("set-up for Windows", || {
            setup::ensure(&[Need::Mingw, Need::Wine, Need::Display])?;
            // Where the compiler is rustup's; others bring sources.
            let _ = Command::new("rustup")
                .args(["target", "add", TARGET])
                .current_dir(root)
                .status();
            let target = root.join("target").join("windows");
            std::fs::create_dir_all(&target).map_err(|e| Failure::io("make", &target, e))?;
            // Without a display Wine's Vulkan is that of 1.0.
            let mut display = Command::new("Xvfb")
                .args(["-displayfd", "1", "-nolisten", "tcp"])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| Failure::set_up(format!("cannot start Xvfb: {e}")))?;
            let mut number = String::new();
            if let Some(out) = display.stdout.as_mut() {
                let _ = BufReader::new(out).read_line(&mut number);
            }
            let number = format!(":{}", number.trim());
            let mut wine = Self {
                prefix: target.join("wine"),
                folder: target.join(TARGET).join("debug"),
                display,
                stays: None,
                number,
            };
            std::fs::create_dir_all(&wine.prefix).map_err(|e| Failure::io("make", &wine.prefix, e))?;
            // Between two programs it waits, and ends by itself where nobody ends it.
            wine.quietly("wineserver", &["-p600"])?;
            wine.quietly("wineboot", &["--init"])?;
            wine.stays = Some(wine.stay()?);
            Ok(wine)
        })
    }

    /// Runs a program of Wine's whose children outlive it, and would hold the pipes of whoever started it.
    fn quietly(&self, program: &str, args: &[&str]) -> Result<()> {
        let mut command = Command::new(program);
        self.settings(&mut command);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::new(format!("`{}` ended with {status}", steps::line(&command)))),
            Err(e) => Err(Failure::set_up(format!("cannot start {program}: {e}"))),
        }
    }

    /// Starts a program that stays until the end: without any, Wine ends its services, and the next program starts them anew with the pipes
    /// of whoever started that.
    fn stay(&self) -> Result<Child> {
        let mut command = Command::new("wine");
        self.settings(&mut command);
        command.args(["explorer.exe", "/desktop=kiln,64x64"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
            .spawn()
            .map_err(|e| Failure::set_up(format!("cannot start wine: {e}")))
    }

    /// What builds the program and its helpers, and runs unit tests that need no device, in this order; all of these with `whole`, which
    /// takes a minute of two cores more after a change of the engine.
    ///
    /// # Errors
    /// When no compiler here can build for Windows.
    pub fn preparation(&self, root: &Path, whole: bool) -> Result<Vec<Command>> {
        let mut build = cargo(root)?;
        build.args(["build", "--locked", "-p", "kiln", "--target", TARGET]);
        let mut commands = vec![build];
        for (name, args) in HELPERS {
            let mut command = Command::new(C_COMPILER);
            command
                .current_dir(root.join("tests/windows"))
                .args(["-O2", "-s", "-o"])
                .arg(self.folder.join(name))
                .args(args);
            commands.push(command);
        }
        // In one command: packages by themselves are built with other features of what they depend on.
        let more = MORE_UNIT.iter().filter(|_| whole);
        let mut unit = cargo(root)?;
        unit.args(["test", "--locked", "--lib", "--target", TARGET]);
        unit.args(UNIT.iter().chain(more).flat_map(|name| ["-p", name]));
        unit.arg("--").args(SKIPPED.iter().flat_map(|name| ["--skip", name]));
        self.settings(&mut unit);
        // Programs of tests lie below the folder with the library that Wine lacks.
        let folder = format!("Z:{}", self.folder.display().to_string().replace('/', "\\"));
        unit.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine")
            .env("WINEPATH", folder);
        commands.push(unit);
        Ok(commands)
    }

    /// Lets a command and what it starts find program, prefix and display.
    pub fn settings(&self, command: &mut Command) {
        command
            .env(FOLDER, &self.folder)
            .env("WINEPREFIX", &self.prefix)
            .env("WINEARCH", "win64")
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
            .env("DISPLAY", &self.number);
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        // Ends all programs of this prefix. There is nothing to be done about what does not end.
        let _ = self.quietly("wineserver", &["-k"]);
        if let Some(stays) = &mut self.stays {
            let _ = stays.kill();
            let _ = stays.wait();
        }
        let _ = self.display.kill();
        let _ = self.display.wait();
    }
}

/// Cargo for Windows, without optimisation: the program trains for some steps only, and what it computes is the same.
fn cargo(root: &Path) -> Result<Command> {
    let compiler = Compiler::find(TARGET)?;
    let mut command = Command::new(&compiler.cargo);
    command
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.join("target").join("windows"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("RUSTC", &compiler.rustc);
    if compiler.std_source.is_some() {
        command
            .env_remove("RUSTUP_TOOLCHAIN")
            .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
            .env("RUSTC_BOOTSTRAP", "1");
    }
    Ok(command)
}
