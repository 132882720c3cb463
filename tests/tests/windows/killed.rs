//! A run that is killed at any moment goes on to the bytes of one that was not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::runs::{self, EVENTFUL, Scratch};

use super::program::{done, helper, kiln_exe, named, output, wine};

/// A short run with all that happens in a long one, and its checkpoints.
const SMALL: &[(&str, &str)] = &[
    ("dataset.resolution", "24"),
    ("schedule.iterations", "44"),
    ("schedule.checkpoint", "[9, 14, 27, 32]"),
    ("memory.max_gaussians", "4500"),
];
const LAST: u32 = 44;

fn train<'a>(command: &'a mut Command, to: &Path) -> &'a mut Command {
    command.arg("train").arg(runs::scene()).arg("--output").arg(to);
    command.args(["--profile", "cpu"]);
    for (key, value) in EVENTFUL.iter().chain(SMALL) {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command
}

/// Kills a program by its process, as `kill -9` does, as soon as a file is there.
fn kill_at(file: &Path, command: &mut Command) {
    let mut child = command.stdout(Stdio::null()).spawn().expect("a program");
    let start = Instant::now();
    while !file.exists() {
        let state = child.try_wait().expect("a state");
        assert!(state.is_none(), "it ended before {}", file.display());
        assert!(start.elapsed() < Duration::from_secs(240), "no {}", file.display());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a process");
    assert!(!child.wait().expect("its end").success());
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new("windows-killed");
    let [whole, cut] = ["whole", "cut"].map(|name| scratch.join(name));
    done(train(&mut runs::kiln(), &whole));
    let checkpoint = |iteration: u32| cut.join(format!("checkpoints/checkpoint_{iteration:08}.kiln"));
    kill_at(&checkpoint(9), train(&mut kiln_exe(), &cut));
    // The system's own call ends the second part, from another program.
    let mut second = wine("end.exe");
    second.arg(named(&checkpoint(27))).arg(named(&helper("kiln.exe")));
    let ended = output(second.args(["train", "--resume", "--output"]).arg(&cut));
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let state = || runs::json(&cut.join("run.json"))["status"].clone();
    assert_eq!(state(), "running", "it was not asked");
    done(kiln_exe().args(["train", "--resume", "--output"]).arg(&cut));
    assert_eq!(state(), "done");
    assert!(
        runs::raw_model(&whole, LAST) == runs::raw_model(&cut, LAST),
        "the models differ"
    );
}
