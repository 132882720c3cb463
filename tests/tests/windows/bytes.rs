//! Every verb that writes gives the same bytes.

use std::path::Path;
use std::process::Command;

use kiln_tests::runs::{self, Scratch};

use super::program::{Both, digests, done, kiln_exe};

/// Runs a command with both programs, each with a folder of its own for what it writes, and compares these.
fn compared(prepare: impl Fn(&mut Command, &Path)) -> usize {
    let scratch = Scratch::new("windows-verb");
    let folders = [(runs::kiln(), "linux"), (kiln_exe(), "windows")].map(|(mut command, name)| {
        let folder = scratch.join(name);
        std::fs::create_dir(&folder).expect("a folder");
        prepare(&mut command, &folder);
        done(&mut command);
        digests(&folder)
    });
    assert_eq!(folders[0], folders[1]);
    assert!(!folders[0].is_empty());
    folders[0].len()
}

#[test]
fn a_run_has_the_same_bytes() {
    let both = Both::runs();
    let [linux, windows] = [both.linux(), both.windows()].map(|run| digests(&run));
    assert_eq!(linux, windows);
    for wanted in [
        "point_cloud/iteration_40/point_cloud_raw.ply",
        "cameras.json",
        "input.ply",
    ] {
        assert!(linux.contains_key(Path::new(wanted)), "{wanted} is not in {linux:?}");
    }
    // Figures of evaluations are numbers for people too, and the same ones.
    let figures = |run: &Path| runs::json(&run.join("eval/iteration_40/metrics.json"))["test"]["mean"].clone();
    assert_eq!(figures(&both.linux()), figures(&both.windows()));
}

#[test]
fn a_run_goes_on_from_a_checkpoint_of_the_other_system() {
    let both = Both::runs();
    let scratch = Scratch::new("windows-resume");
    let models = [(runs::kiln(), both.windows()), (kiln_exe(), both.linux())].map(|(mut command, from)| {
        let to = scratch.join(from.file_name().expect("a name").to_str().expect("text"));
        let copied = Command::new("cp").arg("-r").arg(&from).arg(&to).status();
        assert!(copied.expect("cp").success());
        // Where the scene is, the other system names otherwise: the command is the one that Kiln prints for a scene that moved.
        command.arg("train").arg(runs::scene()).arg("--output").arg(&to);
        command.arg("--config").arg(to.join("config.resolved.yaml"));
        done(command.args(["--resume", "--iterations", "60"]));
        runs::raw_model(&to, 60)
    });
    assert_eq!(models[0], models[1]);
}

#[test]
fn evaluations_have_the_same_bytes() {
    let model = Both::runs().linux().join("point_cloud/iteration_40/point_cloud.ply");
    let [linux, windows, again] = [runs::kiln(), kiln_exe(), kiln_exe()].map(|mut command| {
        command.arg("eval").arg(&model).arg(runs::scene());
        done(command.args(["--json", "--allow-cpu", "--set", "dataset.resolution=48"])).stdout
    });
    let text = String::from_utf8_lossy(&linux);
    assert!(text.contains("\"psnr_image\"") && text.contains("\"views\""), "{text}");
    assert_eq!(text, String::from_utf8_lossy(&windows));
    assert!(windows == again);
}

/// Into the run, with pictures of its views.
#[test]
fn evaluations_of_a_run_have_the_same_bytes() {
    let scratch = Scratch::new("windows-eval");
    let folders = [(runs::kiln(), "linux"), (kiln_exe(), "windows")].map(|(mut command, name)| {
        let run = scratch.join(name);
        let copied = Command::new("cp")
            .arg("-r")
            .arg(Both::runs().linux())
            .arg(&run)
            .status();
        assert!(copied.expect("cp").success());
        std::fs::remove_dir_all(run.join("eval")).expect("a folder");
        done(command.arg("eval").arg(&run).arg("--write"));
        let figures = std::fs::read(run.join("eval/iteration_40/metrics.json")).expect("figures");
        (digests(&run.join("eval")), figures)
    });
    assert!(!folders[0].0.is_empty() && folders[0] == folders[1], "{folders:?}");
}

#[test]
fn pictures_have_the_same_bytes() {
    let model = Both::runs().linux().join("point_cloud/iteration_40/point_cloud.ply");
    let count = compared(|command, folder| {
        command.arg("render").arg(&model).arg(runs::scene());
        command
            .args(["--set", "dataset.resolution=48", "--output"])
            .arg(folder.join("pictures"));
    });
    assert!(count >= 5, "{count}");
}

#[test]
fn every_export_has_the_same_bytes() {
    let model = Both::runs().linux().join("point_cloud/iteration_40/point_cloud.ply");
    for (format, name) in [
        ("ply", "model.ply"),
        ("compressed-ply", "model.compressed.ply"),
        ("spz", "model.spz"),
        ("glb", "model.glb"),
        ("sog", "model.sog"),
        ("streamed-sog", "levels"),
        ("3d-tiles", "tiles"),
    ] {
        compared(|command, folder| {
            command
                .arg("export")
                .arg(&model)
                .args(["--format", format, "--output"])
                .arg(folder.join(name));
        });
    }
}

#[test]
fn meshes_have_the_same_bytes() {
    let run = Both::runs().linux();
    // So short a run has little that holds together.
    let fusion = [
        "--set",
        "mesh.voxel=0.05",
        "--set",
        "mesh.min_triangles=1",
        "--set",
        "mesh.texture.kind=none",
    ];
    let poisson = [
        "--method",
        "poisson",
        "--set",
        "mesh.min_triangles=1",
        "--set",
        "mesh.texture.kind=none",
    ];
    for sets in [fusion, poisson] {
        compared(|command, folder| {
            command
                .arg("mesh")
                .arg(&run)
                .args(["--format", "ply,obj,glb"])
                .args(sets);
            command.arg("--output").arg(folder);
        });
    }
}

#[test]
fn blocks_are_cut_trained_and_merged_to_the_same_bytes() {
    let scratch = Scratch::new("windows-blocks");
    let merged = [(runs::kiln as fn() -> Command, "linux"), (kiln_exe, "windows")].map(|(program, name)| {
        let project = scratch.join(name);
        let mut split = program();
        split.arg("split").arg(runs::scene()).arg("--output").arg(&project);
        done(
            split
                .args(super::program::SHORT)
                .args(["--iterations", "40", "--blocks", "2", "--min-views", "5"]),
        );
        for entry in std::fs::read_dir(project.join("blocks")).expect("blocks") {
            let block = entry.expect("a block").path();
            let mut train = program();
            done(train.arg("train").arg(block));
        }
        let mut merge = program();
        done(merge.arg("merge").arg(&project));
        digests(&project.join("merged"))
    });
    assert_eq!(merged[0], merged[1]);
    assert!(!merged[0].is_empty());
}

#[test]
fn paths_may_be_long_and_of_any_script() {
    let scratch = Scratch::new("windows-paths");
    let long = "a folder with a name of some length, ".repeat(4);
    let output = scratch.join(&format!("ünï 場 it's/{long}/{long}run"));
    assert!(output.as_os_str().len() > 300);
    std::fs::create_dir_all(output.parent().expect("a folder")).expect("a folder");
    // Lines as Windows ends them, and a drive as people type it.
    let settings = scratch.join("my settings.yaml");
    let text =
        "dataset:\r\n  resolution: 24\r\ntrain:\r\n  deterministic: true\r\nmemory:\r\n  max_gaussians: 6000\r\n";
    std::fs::write(&settings, text).expect("a file");
    let scene = format!("z:{}", runs::scene().display());
    let mut train = kiln_exe();
    train
        .args(["train", &scene, "--profile", "cpu", "--config"])
        .arg(&settings);
    done(train.arg("--output").arg(&output).args(["--iterations", "40"]));
    assert_eq!(runs::raw_model(&output, 40), runs::raw_model(&Both::runs().linux(), 40));
    // What it writes down can be read by the other system's program.
    let text = std::fs::read_to_string(output.join("config.resolved.yaml")).expect("settings");
    assert!(!text.contains(r"\\?\"), "{text}");
    let inspected = done(runs::kiln().arg("inspect").arg(&output));
    assert!(String::from_utf8_lossy(&inspected.stdout).contains("40 of 40"));
}
