//! `kiln train --recipe sugar` from the first step to the picture: what each stage leaves, what goes on after a kill, what is
//! refused before the first step.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::Command;
#[cfg(unix)]
use std::time::{Duration, Instant};

use kiln::export::read_ply;
use kiln_mesh::Mesh;
use kiln_tests::runs::{self, Scratch, json, outcome};
use kiln_tests::setup::fault;
use serde_json::Value;

/// All four stages on pictures 80 pixels wide.
const TINY: [(&str, &str); 24] = [
    ("dataset.resolution", "80"),
    ("schedule.iterations", "60"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("schedule.checkpoint", "[8, 30]"),
    ("sugar.start", "20"),
    ("memory.max_gaussians", "6000"),
    (
        "strategy.densify",
        "{ from: 2, until: 18, every: 8, grad_threshold: 0.002 }",
    ),
    ("losses.2.from", "40"),
    ("regularizers.0.from", "21"),
    ("regularizers.0.until", "38"),
    ("regularizers.1.from", "40"),
    ("regularizers.1.samples", "2000"),
    ("regularizers.1.k", "8"),
    ("regularizers.1.rebuild", "10"),
    ("regularizers.1.prune", "0.05"),
    ("fault.points", "20000"),
    ("fault.poisson_depth", "5"),
    ("mesh.decimate", "{ triangles: 400 }"),
    ("bound.per_triangle", "3"),
    ("bound.iterations", "30"),
    ("eval.lpips", "false"),
    ("eval.views_logged", "1"),
    ("train.deterministic", "true"),
];
const STAGES: [&str; 4] = ["coarse", "extract", "refine", "texture"];

fn command(run: &Path, settings: &[&[(&str, &str)]]) -> Command {
    let mut command = runs::kiln();
    command.arg("train").arg(runs::scene()).arg("-o").arg(run);
    command.args(["--profile", "cpu", "--recipe", "sugar", "--quiet"]);
    settings
        .iter()
        .copied()
        .for_each(|settings| add(&mut command, settings));
    command
}

/// Adds settings, faults as such.
fn add(command: &mut Command, settings: &[(&str, &str)]) {
    for (key, value) in settings {
        match fault(key) {
            Some(name) => command.args(["--fault", &format!("{name}={value}")]),
            None => command.args(["--set", &format!("{key}={value}")]),
        };
    }
}

fn resume(run: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = runs::kiln();
    command.args(["train", "--resume", "-o"]).arg(run);
    command.args(["--fault", "points=20000", "--fault", "poisson_depth=5"]);
    for (key, value) in settings {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command
}

fn mesh(path: PathBuf) -> Mesh {
    kiln_mesh::ply::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

/// Stages of a run by name.
fn stages(run: &Path) -> BTreeMap<String, Value> {
    let record = json(&run.join("run.json"));
    let rows = record["stages"].as_array().cloned().unwrap_or_default();
    rows.into_iter()
        .map(|row| (row["stage"].as_str().unwrap().to_owned(), row))
        .collect()
}

/// What is left in the end, and does not depend on the clock.
fn left(run: &Path) -> Vec<Vec<u8>> {
    let files = [
        "coarse.ply",
        "mesh/mesh.ply",
        "bound.ply",
        "refined/mesh/mesh.ply",
        "refined/mesh/mesh.obj",
        "refined/mesh/mesh.png",
        "refined/mesh/mesh.glb",
    ];
    files.iter().map(|file| fs::read(run.join(file)).unwrap()).collect()
}

/// Every stage's files and figures; a run that is over repeats nothing, and of other settings only what depends on them. The
/// coarse model alone gives the mesh that it gave, and splats on triangles look in any viewer as they did in training.
#[test]
fn a_run_ends_with_splats_on_a_mesh_and_its_picture() {
    let scratch = Scratch::new("stages");
    let run = scratch.join("run");
    let output = command(&run, &[&TINY]).arg("--json").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "stage")
        .map(|line| line["stage"].as_str().unwrap())
        .collect();
    assert_eq!(told, STAGES);
    assert_eq!(lines.last().unwrap()["type"], "end");

    let record = json(&run.join("run.json"));
    assert_eq!(record["status"], "done");
    let rows = stages(&run);
    for name in STAGES {
        let row = &rows[name];
        assert!(row["done"] == true && row["seconds"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["device_bytes"].as_u64().unwrap() > 1 << 20, "{row}");
        for file in row["files"].as_array().unwrap() {
            assert!(run.join(file.as_str().unwrap()).is_file(), "{file}");
        }
    }
    // What a mesh allocated is what its report planned, and a picture has its own.
    let report = json(&run.join("mesh/report.json"));
    assert_eq!(rows["extract"]["device_bytes"], report["memory"]["device_bytes"]);
    let report = json(&run.join("refined/mesh/report.json"));
    let bytes = [&report["memory"]["device_bytes"], &report["texture"]["device_bytes"]].map(|n| n.as_u64().unwrap());
    assert_eq!(rows["texture"]["device_bytes"].as_u64(), bytes.into_iter().max());

    // As many Gaussians as triangles times three; the file opens with as many.
    let start = mesh(run.join("mesh/mesh.ply"));
    let moved = mesh(run.join("refined/mesh/mesh.ply"));
    let triangles = moved.triangles().len();
    assert!(triangles > 50 && triangles <= 400, "{triangles}");
    assert_eq!(start.triangles().len(), triangles);
    let (bound, _) = read_ply(&run.join("bound.ply")).unwrap();
    assert_eq!(bound.len(), 3 * triangles);
    assert!(start.positions() != moved.positions());
    let (models, _) = tobj::load_obj(run.join("refined/mesh/mesh.obj"), &tobj::LoadOptions::default()).unwrap();
    assert_eq!(models[0].mesh.indices.len(), 3 * triangles);
    assert!(models[0].mesh.texcoords.iter().all(|uv| (0.0..=1.0).contains(uv)));
    let glb = gltf::Gltf::open(run.join("refined/mesh/mesh.glb")).unwrap();
    assert_eq!((glb.meshes().count(), glb.images().count()), (1, 1));

    // In any viewer as in training, to a step of 8 bits.
    let pictures = scratch.join("pictures");
    let mut render = runs::kiln();
    render.arg("render").arg(run.join("bound.ply")).arg(runs::scene());
    render.args(["-r", "80", "--allow-cpu", "-q", "-o"]).arg(&pictures);
    let (code, said) = outcome(&mut render);
    assert_eq!(code, Some(0), "{said}");
    let mut compared = 0;
    for entry in fs::read_dir(run.join("refined/eval/iteration_30/render/test")).unwrap() {
        let path = entry.unwrap().path();
        let trained = image::open(&path).unwrap().into_rgb8();
        let drawn = image::open(pictures.join(path.file_name().unwrap()))
            .unwrap()
            .into_rgb8();
        let apart = trained
            .as_raw()
            .iter()
            .zip(drawn.as_raw())
            .map(|(a, b)| a.abs_diff(*b))
            .max();
        assert!(
            trained.dimensions() == drawn.dimensions() && apart <= Some(1),
            "{path:?}: {apart:?}"
        );
        compared += 1;
    }
    assert!(compared > 0);

    // Nothing is left to do.
    let before = left(&run);
    let (code, said) = outcome(&mut resume(&run, &[]));
    assert_eq!(code, Some(0), "{said}");
    for name in &STAGES[1..] {
        assert!(said.contains(&format!("stage {name:<8} is over already")), "{said}");
    }
    assert!(left(&run) == before && !said.contains("first step"), "{said}");

    // The coarse model is enough, in a run of its own.
    let alone = scratch.join("alone");
    let from = format!("{:?}", run.display().to_string());
    let own = [
        ("sugar.from", from.as_str()),
        ("sugar.stages", "[extract, refine]"),
        ("bound.iterations", "2"),
    ];
    let (code, said) = outcome(&mut command(&alone, &[&TINY, &own]));
    assert_eq!(code, Some(0), "{said}");
    assert!(fs::read(alone.join("mesh/mesh.ply")).unwrap() == before[1]);
    assert_eq!(json(&alone.join("run.json"))["iterations"]["total"], 0);
    assert!(!alone.join("point_cloud").exists() && stages(&alone).len() == 2);

    // A longer refinement goes on from its checkpoint, and its picture is made again.
    let (code, said) = outcome(&mut resume(&run, &[("bound.iterations", "33")]));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("stage extract  is over already"), "{said}");
    let resumed = runs::events(&run.join("refined"), "resume");
    assert_eq!(
        resumed.last().unwrap()["detail"]["checkpoint"],
        "checkpoints/checkpoint_00000029.kiln"
    );
    assert!(run.join("refined/point_cloud/iteration_33/mesh.ply").is_file());
    let after = left(&run);
    assert!(after[..2] == before[..2] && after[2] != before[2] && after[3] != before[3]);
}

#[cfg(unix)]
fn wait_for(child: &mut Child, what: &str, is_there: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_there() && Instant::now() < end && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(3));
    }
    assert!(is_there(), "{what} never came");
}

/// Killed or interrupted in each stage, a run goes on there, repeats nothing that is over, and ends with the bytes of one that
/// never paused.
#[cfg(unix)]
#[test]
fn a_kill_in_any_stage_costs_that_stage_at_most() {
    let scratch = Scratch::new("stages-kill");
    let (whole, run) = (scratch.join("whole"), scratch.join("run"));
    let (code, said) = outcome(&mut command(&whole, &[&TINY]));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let begun = |stage: &str| fs::read_to_string(run.join("run.json")).is_ok_and(|text| text.contains(stage));
    let checkpoint = |folder: &str, it: u32| {
        run.join(format!("{folder}checkpoints/checkpoint_{it:08}.kiln"))
            .exists()
    };
    let mut next = command(&run, &[&TINY]);
    for (stage, signal) in STAGES.into_iter().zip(["KILL", "INT", "KILL", "TERM"]) {
        let mut child = next.stderr(std::process::Stdio::null()).spawn().unwrap();
        wait_for(&mut child, stage, || match stage {
            "coarse" => checkpoint("", 30),
            "refine" => checkpoint("refined/", 8),
            _ => begun(&format!("\"{stage}\"")),
        });
        let killed = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let code = child.wait().unwrap().code();
        let wanted = match signal {
            "INT" => Some(130),
            "TERM" => Some(143),
            _ => None,
        };
        assert_eq!(code, wanted, "{stage}");
        let rows = stages(&run);
        assert!(
            rows.get(stage).is_none_or(|row| row["done"] == false),
            "{stage} was over before the signal"
        );
        for over in STAGES.iter().take_while(|name| **name != stage) {
            assert_eq!(rows[*over]["done"], true, "{over} before {stage}");
        }
        if wanted.is_some() {
            assert_eq!(json(&run.join("run.json"))["status"], "interrupted");
        }
        let folder = match stage {
            "extract" => Some(run.join("mesh")),
            "texture" => Some(run.join("refined/mesh")),
            _ => None,
        };
        let files = folder.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        assert_eq!(files.count(), 0, "{stage} left a file");
        next = resume(&run, &[]);
    }
    let (code, said) = outcome(&mut next);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("stage refine   is over already"), "{said}");
    assert!(left(&run) == left(&whole), "pauses show");
    // Four processes, one training each of the two, from their checkpoints on.
    for (folder, from) in [("", 30), ("refined", 8)] {
        let resumed = runs::events(&run.join(folder), "resume");
        let names: Vec<&Value> = resumed.iter().map(|row| &row["detail"]["checkpoint"]).collect();
        assert_eq!(names, [&Value::from(format!("checkpoints/checkpoint_{from:08}.kiln"))]);
    }
}

/// What no stage can do is known before the first step, with the key that helps; what they take is in the plan.
#[test]
fn stages_are_planned_before_the_first_step() {
    let scratch = Scratch::new("stages-plan");
    let run = scratch.join("run");
    let many = [
        ("mesh.decimate", "{ triangles: 3000000 }"),
        ("memory.max_gaussians", "up to 4000000"),
        ("bound.per_triangle", "1"),
    ];
    for (code, settings, words) in [
        (6, &many[..], &["3000000 triangles", "mesh.decimate", "fits"][..]),
        (
            3,
            &[("mesh.decimate", "{ triangles: 3000 }")],
            &["memory.max_gaussians", "bound.per_triangle"],
        ),
        (3, &[("mesh.decimate", "null")], &["mesh.decimate", "refine"]),
        (
            3,
            &[("sugar.stages", "[coarse, refine]")],
            &["sugar.stages", "without a gap"],
        ),
        (3, &[("sugar.stages", "[extract]")], &["sugar.stages", "sugar.from"]),
        (3, &[("train.refine_poses", "{}")], &["train.refine_poses", "refine"]),
        (3, &[("mesh.method", "bound")], &["mesh.method", "sugar.stages"]),
    ] {
        let (found, said) = outcome(&mut command(&run, &[&TINY, settings]));
        assert_eq!(found, Some(code), "{settings:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{settings:?}: {said}");
        assert!(!run.exists(), "{settings:?} left a folder");
    }
    let mut plan = runs::kiln();
    plan.arg("plan")
        .arg(runs::scene())
        .args(["--profile", "cpu", "--recipe", "sugar"]);
    add(&mut plan, &TINY);
    let output = plan.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "stage extract",
        "stage refine, of 400 triangles with 1200 Gaussians",
        "stage texture",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
