//! Runs that are killed, interrupted or started again, as people meet them: nothing that was reached is lost, and the way on is
//! the command that was printed.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::runs::{self, Scratch, json, outcome};

const PATIENCE: Duration = Duration::from_secs(240);

/// `kiln train` of the bundled scene, named from its parent folder, into `output`, at a size at which a step takes no time.
fn train(scene: &str, folder: &Path, output: &Path, more: &[&str]) -> Command {
    let mut command = runs::kiln();
    command.current_dir(folder).args(["train", scene, "-o"]).arg(output);
    command.args("--allow-cpu -r 40 --max-gaussians 6000 --set eval.lpips=false".split_whitespace());
    command.args(more);
    command
}

/// The bundled scene by the folder that it is in and its name there.
fn bundled() -> (PathBuf, String) {
    let scene = runs::scene();
    let name = scene.file_name().unwrap().to_str().unwrap().to_owned();
    (scene.parent().unwrap().to_owned(), name)
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until `is_there` has something.
fn wait_for<T>(what: &str, is_there: impl Fn() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = is_there() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    signal_times(child, name, 1);
}

/// Sends a signal so often, at once.
fn signal_times(child: &Child, name: &str, times: usize) {
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .arg(format!("-{name}"))
            .args(vec![&id; times])
            .status()
            .unwrap()
            .success()
    );
}

/// Exit code and standard error of a child, once it has ended.
fn end(child: Child) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// Iteration of the newest checkpoint of a run.
fn checkpoint(run: &Path) -> Option<u32> {
    let names = fs::read_dir(run.join("checkpoints")).ok()?.flatten();
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name().to_str()?.strip_prefix("checkpoint_")?.to_owned();
        name.strip_suffix(".kiln")?.parse().ok()
    };
    names.filter_map(number).max()
}

/// Waits until a run has something to save. The metrics have rows before the first step, and the row of a step is there a moment
/// before a signal is heard: a second step follows both.
fn wait_for_steps(run: &Path) {
    let steps = || {
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
        text.matches(r#"{"type":"train""#).count()
    };
    wait_for("a second step", || (steps() >= 2).then_some(()));
}

fn said(command: &str, run: &Path) -> String {
    let output = runs::kiln().arg(command).arg(run).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_killed_run_goes_on_from_minutes_ago_by_its_folder_alone() {
    let scratch = Scratch::new("killed");
    let (folder, scene) = bundled();
    let run = scratch.join("run");
    let often = "--iterations 100000 --set schedule.checkpoint_minutes=0.002";
    let child = start(train(&scene, &folder, &run, &often.split(' ').collect::<Vec<_>>()));
    wait_for("a second checkpoint", || checkpoint(&run).filter(|it| *it > 2));
    assert!(said("inspect", &run).contains("status     running"));
    signal(&child, "KILL");
    assert_eq!(end(child).0, None);
    let reached = checkpoint(&run).unwrap();
    let told = said("inspect", &run);
    assert!(told.contains("status     stopped without ending"), "{told}");
    // Elsewhere, with nothing but the folder and a new end.
    let mut resume = runs::kiln();
    let total = (reached + 2).to_string();
    resume
        .current_dir(scratch.join("."))
        .args(["train", "--resume", "--iterations", &total, "-o"]);
    let (code, text) = outcome(resume.arg(&run));
    assert_eq!(code, Some(0), "{text}");
    let record = json(&run.join("run.json"));
    assert_eq!(
        (&record["status"], &record["iterations"]["done"]),
        (&"done".into(), &(reached + 2).into())
    );
}

#[test]
fn a_run_killed_before_its_first_checkpoint_starts_over_or_makes_way() {
    let scratch = Scratch::new("early");
    let (folder, scene) = bundled();
    let run = scratch.join("run");
    let child = start(train(&scene, &folder, &run, &["--iterations", "100000"]));
    wait_for_steps(&run);
    signal(&child, "KILL");
    end(child);
    assert_eq!(checkpoint(&run), None);
    let (code, text) = outcome(&mut train(&scene, &folder, &run, &["--iterations", "3"]));
    assert_eq!(code, Some(7), "{text}");
    for part in [
        "stopped without ending",
        "`--resume` goes on with it",
        "`--overwrite` deletes it",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let mut resume = runs::kiln();
    let (code, text) = outcome(resume.args(["train", "--resume", "--iterations", "3", "-o"]).arg(&run));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(json(&run.join("run.json"))["status"], "done");
    fs::write(run.join("note.txt"), "mine").unwrap();
    let again = ["--iterations", "2", "--overwrite"];
    let (code, text) = outcome(&mut train(&scene, &folder, &run, &again));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(json(&run.join("run.json"))["iterations"]["total"], 2);
    assert_eq!(
        fs::read_to_string(run.join("note.txt")).unwrap(),
        "mine",
        "only what a run writes goes"
    );
}

#[test]
fn two_signals_at_once_save_a_checkpoint_and_a_model() {
    let scratch = Scratch::new("twice");
    let (folder, scene) = bundled();
    let run = scratch.join("run");
    let child = start(train(&scene, &folder, &run, &["--iterations", "100000"]));
    wait_for_steps(&run);
    signal_times(&child, "TERM", 2);
    let (code, text) = end(child);
    assert_eq!(code, Some(143), "{text}");
    let reached = checkpoint(&run).unwrap();
    let wanted = format!(
        "interrupted after {reached} iterations; `kiln train --resume -o {}`",
        run.display()
    );
    assert!(text.contains(&wanted), "{text}");
    let record = json(&run.join("run.json"));
    assert_eq!(
        (&record["status"], &record["plys"][0]["iteration"]),
        (&"interrupted".into(), &reached.into())
    );
    let (code, text) = outcome(runs::kiln().args(["export", "--format", "spz"]).arg(&run));
    assert_eq!(code, Some(0), "{text}");
}
