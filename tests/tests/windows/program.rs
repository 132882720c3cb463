//! The two programs, and a run of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use kiln::export::file_digest;
use kiln_tests::runs::{self, Scratch};

/// Settings of a short run.
pub(crate) const SHORT: &[&str] = &[
    "--profile",
    "cpu",
    "--set",
    "train.deterministic=true",
    "--set",
    "dataset.resolution=24",
    "--set",
    "memory.max_gaussians=6000",
];

/// Files of a run that name when, where and by what it was made.
const OF_ITS_OWN: [&str; 9] = [
    ".kiln.lock",
    "config.resolved.yaml",
    "env.json",
    "memory.jsonl",
    "metrics.json",
    "metrics.jsonl",
    "point_cloud.index.json",
    "report.json",
    "run.json",
];

/// A file beside the program for Windows.
pub(crate) fn helper(name: &str) -> PathBuf {
    let folder = std::env::var_os(xtask::windows::FOLDER);
    let folder = folder
        .unwrap_or_else(|| panic!("no program for Windows: `cargo xtask windows` builds it and runs these tests"));
    Path::new(&folder).join(name)
}

/// A program for Windows.
pub(crate) fn wine(name: &str) -> Command {
    let mut command = Command::new("wine");
    // What Wine starts for the first program of a kind outlives it with its standard error, and would hold a pipe open.
    command.arg(helper(name)).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// The program for Windows.
pub(crate) fn kiln_exe() -> Command {
    wine("kiln.exe")
}

/// Runs a command. What it prints goes through files: see [`wine`].
pub(crate) fn output(command: &mut Command) -> Output {
    let scratch = Scratch::new("windows-output");
    let paths = ["out", "err"].map(|name| scratch.join(name));
    let [out, err] = paths.each_ref().map(|path| fs::File::create(path).expect("a file"));
    let status = command.stdout(out).stderr(err).status().expect("a program");
    let [stdout, stderr] = paths.map(|path| fs::read(path).expect("text"));
    Output { status, stdout, stderr }
}

/// Stops unless the command ends well.
pub(crate) fn done(command: &mut Command) -> Output {
    let output = output(command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    output
}

/// Trains for 40 steps.
fn train(mut command: Command, output: &Path) {
    command
        .arg("train")
        .arg(runs::scene())
        .arg("--output")
        .arg(output)
        .args(SHORT);
    done(command.args(["--iterations", "40"]));
}

/// A run that both programs made, and where.
pub(crate) struct Both {
    scratch: Scratch,
    /// Removes that folder when this process is gone: what is static is never dropped.
    _remover: Child,
}

impl Both {
    /// Made once.
    pub(crate) fn runs() -> &'static Self {
        static BOTH: OnceLock<Both> = OnceLock::new();
        BOTH.get_or_init(|| {
            let scratch = Scratch::new("windows");
            train(runs::kiln(), &scratch.join("linux"));
            train(kiln_exe(), &scratch.join("windows"));
            Self {
                _remover: remover(&scratch.join("")),
                scratch,
            }
        })
    }

    /// That of this system's program.
    pub(crate) fn linux(&self) -> PathBuf {
        self.scratch.join("linux")
    }

    /// That of the program for Windows.
    pub(crate) fn windows(&self) -> PathBuf {
        self.scratch.join("windows")
    }
}

/// Waits until its input ends, which this process alone holds, and removes a folder.
fn remover(folder: &Path) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "cat; rm -rf -- \"$0\""]).arg(folder);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("a shell")
}

/// A path as programs of Windows have it: the drive before the last is this system.
pub(crate) fn named(path: &Path) -> String {
    format!("Z:{}", path.display().to_string().replace('/', "\\"))
}

/// Digests of all files below a folder that do not say when, where and by what they were made.
pub(crate) fn digests(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(&inside).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if !OF_ITS_OWN.contains(&name.as_str())
                && !name.starts_with("events.out.tfevents")
                && !name.ends_with(".kiln")
            {
                let relative = path.strip_prefix(folder).expect("inside").to_owned();
                found.insert(relative, file_digest(&path).expect("a digest"));
            }
        }
    }
    found
}
