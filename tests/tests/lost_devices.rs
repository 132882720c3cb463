//! Devices that misbehave: one that is lost is opened again and the run ends as if nothing had been, one that is lost twice
//! ends the run with a report, one that is silent is reported, and steps are cut so that none keeps it busy for long.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

#[cfg(target_os = "linux")]
use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::process::Command;

use kiln::record::run_folder::REPORT_FILE;
use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::{Device, Instance, RecordOptions, Validation};
use kiln_program::{Class, Program, Tag, TensorTable};
use kiln_tests::gpu::take_turn;
use kiln_tests::runs::{self, EVENTFUL, Scratch, json};
use serde_json::Value;

/// Name of the layer under which devices are lost.
#[cfg(target_os = "linux")]
const LAYER: &str = "VK_LAYER_KILN_lost_device";

const SHORT: &[(&str, &str)] = &[("schedule.iterations", "48"), ("schedule.checkpoint", "[18]")];

/// Trains with the program, as people do: exit code and what it said.
fn train(root: &Path, settings: &[(&str, &str)]) -> (Option<i32>, String) {
    runs::outcome(&mut runs::train_command(root, &[EVENTFUL, SHORT, settings]))
}

/// The model at the end and the checkpoint before it.
fn result(root: &Path) -> (Vec<u8>, (Vec<u8>, Value)) {
    let last = root.join("checkpoints/checkpoint_00000047.kiln");
    (runs::raw_model(root, 48), runs::checkpoint(&last))
}

/// The device is lost behind a checkpoint, or before there is one: the run goes on, and ends with the same bytes.
#[test]
fn a_lost_device_changes_nothing() {
    let scratch = Scratch::new("lost");
    let whole = scratch.join("whole");
    let (code, text) = train(&whole, &[]);
    assert_eq!(code, Some(0), "{text}");
    runs::assert_eventful(&whole, 0, 48, 3);
    for (at, from) in [("27", 18), ("9", 0)] {
        let root = scratch.join(at);
        let (code, text) = train(&root, &[("fault.lose_device_at", at)]);
        assert_eq!(code, Some(0), "{text}");
        assert!(result(&root) == result(&whole), "lost at {at}: another end");

        let lost = runs::events(&root, "device_lost");
        assert_eq!(lost.len(), 1, "{lost:?}");
        let detail = &lost[0]["detail"];
        assert_eq!((&lost[0]["it"], &detail["submit_ms"]), (&from.into(), &50.into()));
        assert_eq!(detail["iteration"].as_u64(), at.parse::<u64>().ok().map(|it| it - 1));
        // Software drivers have their passes marked from the start.
        let place = detail["at"].as_str().unwrap();
        assert!(place.contains(" of `") || place.starts_with('`'), "{place}");
        assert_eq!(runs::events(&root, "resume")[0]["it"], from);
        let run = json(&root.join("run.json"));
        assert_eq!(
            (&run["status"], &run["iterations"]["done"]),
            (&"done".into(), &48.into())
        );
    }
}

/// A folder with the layer of `layers/lost_device.c`, for the Vulkan loader to look into.
#[cfg(target_os = "linux")]
fn layer(scratch: &Scratch) -> PathBuf {
    let folder = scratch.join("layer");
    fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("layers/lost_device.c");
    let built = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-o",
        ])
        .args([folder.join("lost_device.so"), source])
        .status();
    assert!(built.unwrap().success(), "the layer does not build");
    let manifest = serde_json::json!({
        "file_format_version": "1.2.0",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": "./lost_device.so",
            "api_version": "1.2.0",
            "implementation_version": "1",
            "description": "Devices that are lost",
        },
    });
    fs::write(folder.join("lost_device.json"), manifest.to_string()).unwrap();
    folder
}

/// The driver's own word for it: `VK_ERROR_DEVICE_LOST` from a submission, or from a wait for one. The device is destroyed as
/// a lost one, another is opened, and the run ends with the same bytes.
#[cfg(target_os = "linux")]
#[test]
fn what_a_driver_says_of_a_lost_device_is_understood() {
    let scratch = Scratch::new("lost-layer");
    let layers = layer(&scratch);
    let whole = scratch.join("whole");
    let (code, text) = train(&whole, &[]);
    assert_eq!(code, Some(0), "{text}");
    for way in ["submit:1", "submit:100", "wait:180", "submit:230"] {
        let root = scratch.join(way);
        let mut command = runs::train_command(&root, &[EVENTFUL, SHORT]);
        command
            .env("VK_ADD_LAYER_PATH", &layers)
            .env("VK_INSTANCE_LAYERS", LAYER);
        let (code, text) = runs::outcome(command.env("KILN_LOSE_AT", way));
        assert_eq!(code, Some(0), "{way}: {text}");
        assert_eq!(runs::events(&root, "device_lost").len(), 1, "{way}: nothing was lost");
        assert!(result(&root) == result(&whole), "{way}: another end");
    }
    // A mesh is made in one go: what was lost is reported, no file is there by half, and another go gives it.
    let mesh = |folder: &Path, ways: &[&str]| {
        let mut command = runs::kiln();
        command.arg("mesh").arg(&whole).arg("-o").arg(folder);
        command.args(["--allow-cpu", "--set", "mesh.voxel=0.2"]);
        for way in ways {
            command
                .env("VK_ADD_LAYER_PATH", &layers)
                .env("VK_INSTANCE_LAYERS", LAYER)
                .env("KILN_LOSE_AT", way);
        }
        runs::outcome(&mut command)
    };
    let folder = scratch.join("mesh");
    let (code, text) = mesh(&folder, &["submit:6"]);
    assert_eq!(code, Some(70), "{text}");
    assert!(text.contains("lost") && text.contains("hint: "), "{text}");
    let files = fs::read_dir(&folder).into_iter().flatten();
    assert_eq!(files.count(), 0, "a lost device left a file");
    let (code, text) = mesh(&folder, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(folder.join("mesh.ply").is_file());
}

/// The second loss ends the run with its own exit code and a report; `--resume` goes on from the checkpoint.
#[test]
fn a_device_that_is_lost_twice_ends_the_run() {
    let scratch = Scratch::new("lost-twice");
    let root = scratch.join("run");
    let twice = ("fault.lose_device_at", "21,30");
    let (code, text) = train(&root, &[twice]);
    assert_eq!(code, Some(70), "{text}");
    assert!(
        text.contains("lost after 20 iterations at `") && text.contains("and again after 29 iterations at `"),
        "{text}"
    );
    assert!(
        text.contains(REPORT_FILE) && text.contains("hint: `--resume`"),
        "{text}"
    );

    let report = json(&root.join(REPORT_FILE));
    let losses = report["losses"].as_array().unwrap();
    let of = |key: &str| {
        losses
            .iter()
            .map(|loss| loss[key].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("iteration"), [20, 29]);
    assert_eq!(of("submit_ms"), [100, 50], "submissions were halved");
    assert!(!report["device"].as_str().unwrap().is_empty());
    let run = json(&root.join("run.json"));
    assert_eq!(run["status"], "failed");
    assert!(run["files"].as_array().unwrap().contains(&REPORT_FILE.into()));
    assert!(run["message"].as_str().unwrap().contains("lost"), "{run}");

    // The report says how long submissions were: those of the next session are half as long, and shorter yet after its own loss.
    let mut again = runs::train_command(&root, &[EVENTFUL, SHORT, &[("fault.lose_device_at", "20")]]);
    let (code, text) = runs::outcome(again.arg("--resume"));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(runs::events(&root, "resume").last().unwrap()["it"], 18);
    let lost = runs::events(&root, "device_lost");
    assert_eq!(lost.last().unwrap()["detail"]["submit_ms"], 12, "{lost:?}");
}

/// A device that finishes nothing for longer than is set is reported by pass, on the console at once and in the
/// metrics.
#[test]
fn silence_is_told_by_pass() {
    let scratch = Scratch::new("silence");
    let root = scratch.join("run");
    // Two milliseconds are long enough for a pass over a whole picture to be silent.
    let settings = [
        ("dataset.resolution", "1"),
        ("schedule.iterations", "4"),
        ("fault.silence_ms", "2"),
    ];
    let mut command = runs::train_command(&root, &[EVENTFUL, &settings]);
    command.env_remove("TERM");
    let (code, text) = runs::outcome(&mut command);
    assert_eq!(code, Some(0), "{text}");
    let told = runs::events(&root, "silence");
    assert!(!told.is_empty());
    for row in &told {
        let at = row["detail"]["at"].as_str().unwrap();
        assert!(row["detail"]["seconds"].as_f64().unwrap() >= 0.002);
        assert!(at.starts_with('`'), "{at}");
    }
    let named = |pass: &str| {
        told.iter()
            .any(|row| row["detail"]["at"].as_str().unwrap().contains(pass))
    };
    assert!(named("rasterize") || named("loss") || named("update"), "{told:?}");
    assert_eq!(text, "", "the program was asked to be quiet");
}

/// A program of many slow commands ends up in submissions that are short, and computes the same.
#[test]
fn slow_programs_are_cut() {
    take_turn();
    let instance = std::sync::Arc::new(Instance::new(Validation::Synchronization).unwrap());
    let caps = instance.devices().unwrap().remove(0);
    let device = Device::open(&instance, caps).unwrap();
    device.limit_submissions(5);
    device.mark_passes(true);
    let mut table = TensorTable::default();
    let views = ["a", "b"].map(|name| table.add(name, Class::Persistent, Tag::Other, 4 << 20));
    let mut program = Program::new("slow");
    program.fill(views[0], 7);
    for k in 0..40 {
        program.copy(views[k % 2], views[(k + 1) % 2]);
    }
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).unwrap();
    // Whatever it is for: a step, an evaluation or a mesh.
    let options = RecordOptions::default();
    let compiled = gpu.compile(&program, options).unwrap();
    assert_eq!(compiled.parts(), 8, "careful at first");
    for _ in 0..40 {
        gpu.run_compiled(&compiled).unwrap();
        assert_eq!(gpu.read::<u32>(&views[0], 1 << 20).unwrap(), vec![7; 1 << 20]);
    }
    let slow = compiled.parts();
    assert!(slow > 1, "40 copies of 4 MiB take longer than 5 ms");
    kiln_tests::gpu::assert_valid(&device);

    // The same with time enough is one submission.
    device.limit_submissions(60_000);
    let compiled = gpu.compile(&program, options).unwrap();
    for _ in 0..4 {
        gpu.run_compiled(&compiled).unwrap();
    }
    assert_eq!(compiled.parts(), 1);
}
