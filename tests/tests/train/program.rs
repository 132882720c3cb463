//! The `kiln` program: signals, exit codes, and what it says when something is wrong.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;
#[cfg(unix)]
use std::process::Stdio;
#[cfg(unix)]
use std::time::{Duration, Instant};

use kiln_tests::runs::{self, EVENTFUL, Scratch, json, outcome, train_command};

/// Half a million Gaussians from the first step on, and room for a tenth of them.
const TOO_MUCH: [&str; 4] = [
    "--set",
    "memory.cap_gib=0.0625",
    "--set",
    "init={ kind: random_box, count: 500000 }",
];

/// Runs a command that must end with `code` and say all of `words`.
fn refused(command: &mut Command, code: i32, words: &[&str]) {
    let (found, text) = outcome(command);
    assert_eq!(found, Some(code), "{text}");
    assert!(text.lines().any(|line| line.starts_with("error: ")), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

fn plan(scene: &Path, arguments: &[&str]) -> Command {
    let mut command = runs::kiln();
    command.arg("plan").arg(scene).args(arguments);
    command
}

/// The table's figures, for programs.
#[test]
fn a_plan_is_had_as_json() {
    let output = plan(&runs::scene(), &["--profile", "cpu", "-r", "4", "--json"])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |key: &str| found.pointer(key).and_then(serde_json::Value::as_u64).unwrap();
    assert!(number("/device_bytes") <= number("/budget/cap_bytes"));
    assert!(number("/capacities/n_cap") > 0 && number("/image_host_bytes") > 0);
    assert_eq!(found["residency"], "device");
    assert!(found["arena_uses"].as_array().unwrap().len() > 2, "{found}");
    // More Gaussians than anything could hold: what helps is fewer of them.
    let mut command = plan(
        &runs::scene(),
        &["--profile", "cpu", "--set", "memory.max_gaussians=1000000000"],
    );
    let (code, text) = outcome(&mut command);
    assert_eq!(code, Some(6), "{text}");
    assert!(
        text.contains("--max-gaussians") && !text.contains("--resolution"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_signal_saves_and_ends_with_its_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new("signal");
        let root = scratch.join("run");
        let long = [("schedule.iterations", "100000"), ("schedule.checkpoint", "[10]")];
        let mut command = train_command(&root, &[EVENTFUL, &long]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let first = root.join("checkpoints/checkpoint_00000010.kiln");
        let end = Instant::now() + Duration::from_secs(120);
        while !first.exists() && Instant::now() < end && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let kill = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let run = json(&root.join("run.json"));
        assert_eq!(run["status"], "interrupted");
        let done = run["iterations"]["done"].as_u64().unwrap();
        assert!(done >= 10);
        let saved = runs::checkpoints(&root);
        assert!(
            saved.last().unwrap().ends_with(format!("checkpoint_{done:08}.kiln")),
            "{saved:?}"
        );
        let saves = runs::events(&root, "save");
        assert_eq!(saves.last().unwrap()["it"], done);
    }
}

#[test]
fn a_run_from_the_command_line_ends_well_and_is_not_overwritten() {
    let scratch = Scratch::new("program");
    let root = scratch.join("run");
    let brief = [("schedule.iterations", "6")];
    let (code, text) = outcome(&mut train_command(&root, &[EVENTFUL, &brief]));
    assert_eq!((code, text.as_str()), (Some(0), ""), "--quiet says nothing");
    assert_eq!(json(&root.join("run.json"))["status"], "done");
    let before = fs::read(root.join("run.json")).unwrap();
    refused(
        &mut train_command(&root, &[EVENTFUL, &brief]),
        7,
        &["already holds a run", "6 of 6", "--resume", "-o"],
    );
    assert_eq!(fs::read(root.join("run.json")).unwrap(), before);
    let mut longer = train_command(&root, &[EVENTFUL, &[("schedule.iterations", "9")]]);
    assert_eq!(outcome(longer.arg("--resume")).0, Some(0));
    assert_eq!(json(&root.join("run.json"))["iterations"]["done"], 9);
    let mut other = train_command(&root, &[EVENTFUL, &[("schedule.iterations", "9"), ("train.seed", "3")]]);
    refused(other.arg("--resume"), 4, &["does not belong to this run", "train.seed"]);
}

#[test]
fn what_is_wrong_is_named_with_its_exit_code() {
    let scratch = Scratch::new("wrong");
    let root = scratch.join("run");
    let nowhere = scratch.join("nowhere");
    let train = |arguments: &[&str]| {
        let mut command = runs::kiln();
        command
            .arg("train")
            .arg(runs::scene())
            .arg("-o")
            .arg(&root)
            .args(arguments);
        command
    };
    let mut missing = runs::kiln();
    missing
        .arg("train")
        .arg(&nowhere)
        .arg("-o")
        .arg(&root)
        .args(["--profile", "cpu"]);
    refused(&mut missing, 4, &[&nowhere.display().to_string()]);
    refused(&mut train(&["--profile", "12gb"]), 3, &["12gb", "16gb"]);
    refused(&mut train(&["--profile", "cpu", "--recipe", "mop"]), 3, &["mop", "mip"]);
    refused(
        &mut train(&["--profile", "cpu", "--set", "train.sede=1"]),
        3,
        &["sede", "seed"],
    );
    refused(
        &mut train(&["--profile", "cpu", "--set", "model.sh_degree=4"]),
        3,
        &["model.sh_degree", "4", "0 to 3"],
    );
    refused(
        &mut train(&["--profile", "cpu", "--set", "nonsense"]),
        2,
        &["nonsense", "key"],
    );
    refused(
        train(&["--profile", "cpu"]).args(TOO_MUCH),
        6,
        &[
            "needs",
            "Gaussians",
            "64.0 MiB",
            "each of these fits",
            "memory.cap_gib=",
            "--max-gaussians ",
        ],
    );
    refused(
        &mut train(&["--profile", "cpu", "--set", "device.select=99"]),
        5,
        &["device.select", "99"],
    );
    assert!(!root.exists(), "nothing is written for a run that cannot start");

    // A file where the folder should be: not writable for anybody.
    fs::write(&root, b"").unwrap();
    refused(
        &mut train(&["--profile", "cpu", "-r", "80"]),
        7,
        &[&root.display().to_string()],
    );
    fs::remove_file(&root).unwrap();
    read_only(&scratch, &root);
}

/// A folder without write permission, unless this is the superuser, who may write anyway.
#[cfg(unix)]
fn read_only(scratch: &Scratch, root: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(root).unwrap();
    fs::set_permissions(root, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(root.join("probe"), b"").is_err() {
        let mut command = runs::kiln();
        command.arg("train").arg(runs::scene()).arg("-o").arg(root.join("run"));
        refused(
            command.args(["--profile", "cpu", "-r", "80"]),
            7,
            &[&root.display().to_string()],
        );
    }
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!scratch.join("run/run").exists());
}

#[cfg(not(unix))]
fn read_only(_scratch: &Scratch, _root: &Path) {}

/// A machine with a card would train; these hold where the only device is a CPU driver, and `doctor` says which.
#[test]
fn cpu_drivers_need_permission() {
    // Nothing to refuse where every device is a card.
    let Some(index) = runs::cpu_device(runs::kiln().args(["doctor", "--json"])) else {
        return;
    };
    let scratch = Scratch::new("permission");
    for profile in ["auto", "8gb"] {
        let mut command = runs::kiln();
        command
            .arg("train")
            .arg(runs::scene())
            .arg("-o")
            .arg(scratch.join("run"));
        command.args(["--profile", profile, "--set", &format!("device.select={index}")]);
        refused(&mut command, 5, &["CPU driver", "--allow-cpu", "--profile cpu"]);
    }
    assert!(!scratch.join("run").exists());
}

#[test]
fn plans_for_every_card_are_printed() {
    for (profile, cap_mib) in [("8gb", "7168.0"), ("16gb", "14848.0"), ("24gb", "22528.0")] {
        let output = plan(&runs::scene(), &["--profile", profile]).output().unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for word in [
            "Gaussians",
            "visible records",
            "intersections",
            "persistent",
            "arena",
            "images",
            "upload",
            "device total",
            "cap",
            "verdict: fits",
            cap_mib,
        ] {
            assert!(table.contains(word), "`{word}` is not in:\n{table}");
        }
    }
    let explained = plan(&runs::scene(), &["--profile", "8gb", "--explain"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&explained.stdout).contains("model/geometry[0]"));
    refused(
        plan(&runs::scene(), &["--profile", "8gb"]).args(TOO_MUCH),
        6,
        &["cap", "each of these fits", "memory.cap_gib=", "--max-gaussians "],
    );
    refused(
        &mut plan(
            &runs::scene(),
            &["--profile", "8gb", "--set", "memory.max_gaussians=50000000"],
        ),
        6,
        &["50000", "--max-gaussians 8568832"],
    );
}
