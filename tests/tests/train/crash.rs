//! Training that is killed and goes on ends in the bytes of training that was not; a full disk costs nothing.
//!
//! Five rounds here; `cargo lab crash --rounds N` for more, with other seeds.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiln::export::install_disk;
use kiln::record::run_folder::{RunRecord, record_path};
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_scene::SplitMix64;
use kiln_tests::child::{ROLE, role};
use kiln_tests::kill::KillingDisk;
use kiln_tests::runs::{self, EVENTFUL, Scratch, json};
use serde_json::{Value, json as row};

/// A run of 44 steps on small images, with densifications, prunes, resets and degree raises, that saves often.
const SMALL: &[(&str, &str)] = &[
    ("dataset.resolution", "40"),
    ("schedule.iterations", "44"),
    ("schedule.save", "[20]"),
    ("memory.max_gaussians", "4500"),
    ("diagnose.validation", "false"),
];
const LAST: u32 = 44;
/// Checkpoints after iterations that are known beforehand.
const LISTED: &[(&str, &str)] = &[("schedule.checkpoint", "[5, 9, 14, 18, 23, 27, 32, 36, 41]")];

const TEST: &str = "train::crash::killed_runs_go_on_to_the_same_bytes";
/// Where a child trains, whether it goes on, and the file operation at which it dies.
const FOLDER: &str = "KILN_CRASH_FOLDER";
const RESUME: &str = "KILN_CRASH_RESUME";
const DIE_AT: &str = "KILN_CRASH_DIE_AT";
/// Milliseconds between checkpoints that come by the clock, as in runs by default; without it they are [`LISTED`].
const INTERVAL: &str = "KILN_CRASH_INTERVAL_MS";
/// A file that gets a line of JSON for every round.
const LOG: &str = "KILN_CRASH_LOG";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a child does: train, and say how many file operations it took.
fn train_as_child() {
    let root = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let disk = KillingDisk::new(number(DIE_AT));
    let countdown = disk.countdown();
    assert!(install_disk(Arc::new(disk)));
    let resume = number(RESUME).map(|_| ResumeFrom::Latest);
    let mut settings = match number(INTERVAL) {
        None => runs::profile(&root, &[EVENTFUL, SMALL, LISTED]),
        Some(_) => runs::profile(&root, &[EVENTFUL, SMALL]),
    };
    if let Some(ms) = number(INTERVAL) {
        settings.schedule.checkpoint_minutes = ms as f64 / 60e3;
    }
    let end = runs::train(settings, resume, &Interrupt::unattached()).unwrap();
    assert_eq!(end.iterations, LAST);
    fs::write(calls_file(&root), countdown.calls().to_string()).unwrap();
}

fn calls_file(root: &Path) -> PathBuf {
    root.with_extension("calls")
}

fn start(root: &Path, resume: bool, die_at: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(ROLE, "train")
        .env(FOLDER, root)
        .stdout(Stdio::null())
        .stderr(fs::File::create(root.with_extension("errors")).unwrap());
    if resume {
        command.env(RESUME, "1");
    }
    if let Some(at) = die_at {
        command.env(DIE_AT, at.to_string());
    }
    command.spawn().unwrap()
}

/// Lets a child end; true when it came to the end of training.
fn ended(root: &Path, mut child: Child) -> bool {
    let status = child.wait().unwrap();
    let errors = fs::read_to_string(root.with_extension("errors")).unwrap();
    // Killed, or done; a child that fails in any other way has met something it should not.
    assert!(status.success() || status.code().is_none(), "{status}: {errors}");
    status.success()
}

/// What must hold at any moment, whoever was killed: the index is whole and true, and once there was a sound checkpoint
/// there always is one.
fn assert_whole(root: &Path, had_checkpoint: &mut bool) {
    if let Ok(record) = RunRecord::read(&record_path(root)) {
        for ply in &record.plys {
            assert_eq!(ply.damage(root), None, "{}", ply.path);
        }
    } else {
        assert!(!record_path(root).exists(), "run.json is damaged");
    }
    let has_checkpoint = kiln::train::checkpoint::open(&root.join("checkpoints")).is_ok();
    assert!(has_checkpoint || !*had_checkpoint, "the checkpoints are lost");
    *had_checkpoint = has_checkpoint;
}

fn assert_same_end(whole: &Path, root: &Path, context: &str) {
    assert_eq!(json(&root.join("run.json"))["status"], "done", "{context}");
    for iteration in [20, LAST] {
        let same = runs::raw_model(whole, iteration) == runs::raw_model(root, iteration);
        assert!(same, "{context}: models of {iteration} differ");
    }
    let last = |root: &Path| runs::checkpoint(&root.join(format!("checkpoints/checkpoint_{:08}.kiln", LAST - 1)));
    let (a, b) = (last(whole), last(root));
    assert_eq!(a.1, b.1, "{context}");
    assert!(a.0 == b.0, "{context}: checkpoints differ");
    // Those that are asked for by number stay; of others the last, and by the clock perhaps the one before it.
    let listed: Vec<u32> = LISTED[0]
        .1
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|it| it.parse().ok())
        .collect();
    let iteration = |path: &PathBuf| -> u32 {
        let digits = path.file_stem().unwrap().to_str().unwrap().rsplit('_').next().unwrap();
        digits.parse().unwrap()
    };
    let by_clock = number(INTERVAL).is_some();
    let others = runs::checkpoints(root)
        .iter()
        .map(iteration)
        .filter(|it| by_clock || !listed.contains(it))
        .count();
    assert!(
        others == 1 || by_clock && others == 2,
        "{context}: something was left behind"
    );
}

/// Iteration of the newest sound checkpoint of a run.
fn newest(root: &Path) -> Option<u64> {
    let (open, _) = kiln::train::checkpoint::open(&root.join("checkpoints")).ok()?;
    let name = open.path().file_stem()?.to_str()?;
    name.rsplit('_').next()?.parse().ok()
}

/// Seconds since the newest checkpoint of a run was written.
fn age(root: &Path) -> Option<f64> {
    let newest = runs::checkpoints(root).pop()?;
    let age = fs::metadata(newest).ok()?.modified().ok()?.elapsed().ok()?;
    Some((age.as_secs_f64() * 1e3).round() / 1e3)
}

/// Appends a line to the file that [`LOG`] names.
fn log(line: &Value) {
    let Some(path) = std::env::var_os(LOG) else { return };
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn killed_runs_go_on_to_the_same_bytes() {
    if role().is_some() {
        return train_as_child();
    }
    let rounds = number("KILN_CRASH_ROUNDS").unwrap_or(5);
    let seed = number("KILN_CRASH_SEED").unwrap_or(1);
    let scratch = Scratch::new("killed");
    let whole = scratch.join("whole");
    let begun = Instant::now();
    assert!(ended(&whole, start(&whole, false, None)));
    let (mut seconds, calls) = (
        begun.elapsed().as_secs_f64(),
        fs::read_to_string(calls_file(&whole)).unwrap(),
    );
    let calls: u64 = calls.parse().unwrap();
    runs::assert_eventful(&whole, 0, u64::from(LAST), 3);
    println!("not killed: {seconds:.1} s, {calls} file operations");
    let (mut by_hand, mut injected, mut anew) = (0, 0, 0);
    for round in 0..rounds {
        let mut random = SplitMix64::stream(seed, round);
        let root = scratch.join(&format!("round-{round}"));
        let mut had_checkpoint = false;
        let context = format!("seed {seed}, round {round}");
        let mut kills = Vec::new();
        for attempt in 0.. {
            if !had_checkpoint && root.exists() {
                // Killed before there was anything to go on from.
                fs::remove_dir_all(&root).unwrap();
                anew += u32::from(attempt > 0);
            }
            // Two kills at most, so that a round ends; one in two at a file operation.
            let at = (attempt < 2 && (round + attempt) % 2 == 0).then(|| 1 + random.next_u64() % calls);
            let mut child = start(&root, had_checkpoint, at);
            let begun = Instant::now();
            let mut way = at.map_or(Value::Null, |at| row!({ "operation": at, "of": calls }));
            if attempt < 2 && at.is_none() {
                let after_s = seconds * f64::from(random.next_f32());
                while begun.elapsed().as_secs_f64() < after_s && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(2));
                }
                let _ = child.kill();
                way = row!({ "after_s": (after_s * 1e3).round() / 1e3 });
            }
            let done = ended(&root, child);
            match (done, at) {
                (false, Some(_)) => injected += 1,
                (false, None) => by_hand += 1,
                // The machine is less busy than it was: this is how long a whole training takes now.
                (true, None) if attempt < 2 && !had_checkpoint => seconds = begun.elapsed().as_secs_f64(),
                (true, _) => {}
            }
            if root.exists() {
                assert_whole(&root, &mut had_checkpoint);
            }
            if done {
                break;
            }
            way["newest_checkpoint"] = newest(&root).into();
            if had_checkpoint {
                way["newest_age_s"] = age(&root).into();
            }
            kills.push(way);
        }
        assert_same_end(&whole, &root, &context);
        let mut line = row!({ "seed": seed, "round": round, "kills": kills, "same_bytes": true });
        if let Some(ms) = number(INTERVAL) {
            line["interval_ms"] = ms.into();
        }
        log(&line);
        fs::remove_dir_all(&root).unwrap();
    }
    println!(
        "{rounds} rounds of seed {seed}: killed {by_hand} times at a random moment and {injected} times at a file operation, \
         {anew} times before the first checkpoint; all ended in the same bytes"
    );
    // Every second round begins with a death at a file operation, unless the clock lets it take fewer of them; random moments may
    // come too late.
    let least = if number(INTERVAL).is_some() {
        rounds / 4
    } else {
        rounds / 2
    };
    assert!(injected >= least, "hardly anything was killed");
}

/// `kiln train` that may not make files larger than `kib`: what a full disk or quota looks like, without being root.
#[cfg(unix)]
fn limited(mut command: Command, kib: u64) -> (Option<i32>, String) {
    let mut shell = Command::new("sh");
    let program = command.get_program().to_owned();
    shell
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", kib * 2))
        .arg(program)
        .args(command.get_args());
    command = shell;
    runs::outcome(&mut command)
}

/// Files below a folder that were being written.
#[cfg(unix)]
fn half_written(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(half_written(&path));
        } else if path.extension().is_some_and(|ending| ending == "tmp") {
            found.push(path);
        }
    }
    found
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing_and_is_told() {
    let scratch = Scratch::new("full");
    let [whole, root] = ["whole", "full"].map(|name| scratch.join(name));
    let command = |root: &Path, settings: &[(&str, &str)]| {
        let mut command = runs::train_command(
            root,
            &[EVENTFUL, SMALL, &[("schedule.checkpoint", "[9, 18]")], settings],
        );
        command.arg("--allow-cpu");
        command
    };
    let (code, text) = runs::outcome(&mut command(&whole, &[]));
    assert_eq!(code, Some(0), "{text}");
    // Up to a first checkpoint with all the room there is.
    let until = [("schedule.iterations", "10"), ("exporters", "[]")];
    let (code, text) = runs::outcome(&mut command(&root, &until));
    assert_eq!(code, Some(0), "{text}");
    let first = root.join("checkpoints/checkpoint_00000009.kiln");
    let (before, size) = (fs::read(&first).unwrap(), fs::metadata(&first).unwrap().len());

    // Too little for a model: the run ends, says why, and what was there still is.
    let (code, text) = limited(
        {
            let mut c = command(&root, &[]);
            c.arg("--resume");
            c
        },
        200,
    );
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("no space left to write") && text.contains(".ply"),
        "{text}"
    );
    assert_eq!(fs::read(&first).unwrap(), before);
    assert_eq!(json(&root.join("run.json"))["status"], "failed");
    assert_eq!(runs::checkpoints(&root).len(), 1, "half a file was left behind");
    assert!(half_written(&root).is_empty(), "half a file was left behind");

    // Enough for models, not for a checkpoint: the run goes on to its end without one.
    let (code, text) = limited(
        {
            let mut c = command(&root, &[]);
            c.arg("--resume");
            c
        },
        size / 2048,
    );
    assert_eq!(code, Some(0), "{text}");
    let warnings = runs::events(&root, "warning");
    let told = |name: &str| {
        warnings.iter().any(|row| {
            let text = row["detail"]["message"].as_str().unwrap();
            text.contains(name) && text.contains("no space left") && text.contains("training goes on")
        })
    };
    assert!(
        told("checkpoint_00000018") && told("checkpoint_00000043"),
        "{warnings:?}"
    );
    assert_eq!(fs::read(&first).unwrap(), before);
    assert!(
        runs::raw_model(&whole, LAST) == runs::raw_model(&root, LAST),
        "models differ"
    );

    // With room again the run can be taken up where its last checkpoint is.
    let (code, text) = runs::outcome(command(&root, &[]).arg("--resume"));
    assert_eq!(code, Some(0), "{text}");
    assert_same_end(&whole, &root, "after a full disk");
}
