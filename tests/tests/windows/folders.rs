//! Locks of folders, and files that another program holds.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::runs::{self, Scratch};

use super::program::{SHORT, done, kiln_exe, named, wine};

/// A run that takes minutes; it ends with the value.
pub(super) struct Running {
    pub(super) child: Child,
    /// What it prints.
    pub(super) log: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a run in a folder and waits until it has taken some steps.
pub(super) fn long_run(output: &Path) -> Running {
    let log = output.with_extension("log");
    let mut command = kiln_exe();
    command
        .arg("train")
        .arg(runs::scene())
        .arg("--output")
        .arg(output)
        .args(SHORT);
    command.args(["--iterations", "100000"]).stdout(Stdio::null());
    command.stderr(File::create(&log).expect("a file"));
    let mut running = Running {
        child: command.spawn().expect("kiln"),
        log,
    };
    let start = Instant::now();
    let has_begun =
        || std::fs::read_to_string(output.join("metrics.jsonl")).is_ok_and(|rows| rows.contains("\"train\""));
    while !has_begun() {
        let text = || std::fs::read_to_string(&running.log).unwrap_or_default();
        assert!(
            start.elapsed() < Duration::from_secs(240),
            "no step was taken: {}",
            text()
        );
        assert!(
            running.child.try_wait().expect("a state").is_none(),
            "it ended: {}",
            text()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    running
}

fn status(run: &Path) -> String {
    let output = done(kiln_exe().arg("inspect").arg(run));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find(|line| line.starts_with("status"))
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_folder_has_one_writer_and_a_killed_run_is_known_as_one() {
    let scratch = Scratch::new("windows-lock");
    let output = scratch.join("run");
    let mut first = long_run(&output);
    let mut second = kiln_exe();
    second
        .arg("train")
        .arg(runs::scene())
        .arg("--output")
        .arg(&output)
        .args(SHORT);
    let refused = super::program::output(second.args(["--iterations", "40", "--overwrite"]));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(7), "{text}");
    assert!(text.contains("another process is writing to"), "{text}");
    assert!(status(&output).contains("running"), "{}", status(&output));
    first.child.kill().expect("a process");
    first.child.wait().expect("its end");
    assert!(
        status(&output).contains("stopped without ending"),
        "{}",
        status(&output)
    );
    // What a killed writer left goes when the folder is written to again.
    let left = output.join(".run.json.4294967295-00ff.tmp");
    std::fs::write(&left, "half").expect("a file");
    done(
        kiln_exe()
            .arg("train")
            .arg(runs::scene())
            .arg("--output")
            .arg(&output)
            .args(SHORT)
            .args(["--iterations", "40", "--overwrite"]),
    );
    assert!(!left.exists());
}

/// Has a file open as a scanner does, for so long.
fn held(path: &Path, milliseconds: u32) -> Child {
    let mut command: Command = wine("hold.exe");
    let mut child = command
        .args([named(path), milliseconds.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a program");
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("standard output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    assert_eq!(line.trim_end(), "held", "{}", path.display());
    child
}

#[test]
fn a_file_that_is_held_is_tried_again_and_then_named() {
    let scratch = Scratch::new("windows-held");
    let (model, out) = (scratch.join("model.ply"), scratch.join("model.spz"));
    let run = super::program::Both::runs().linux();
    std::fs::copy(run.join("point_cloud/iteration_40/point_cloud.ply"), &model).expect("a model");
    let export = || {
        let mut command = kiln_exe();
        command.arg("export").arg(&model).arg("--output").arg(&out);
        super::program::output(&mut command)
    };
    assert!(export().status.success());
    let mut scanner = held(&out, 1000);
    let after = export();
    assert!(after.status.success(), "{}", String::from_utf8_lossy(&after.stderr));
    scanner.wait().expect("its end");
    let mut editor = held(&out, 30_000);
    let refused = export();
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(7), "{text}");
    assert!(text.contains("another program has it open"), "{text}");
    editor.kill().expect("a process");
    editor.wait().expect("its end");
    assert!(export().status.success());
    let left = std::fs::read_dir(scratch.join("")).expect("a folder").count();
    assert_eq!(left, 2, "the model and its export");
}
