//! Scenes in blocks: split, trained, merged, and what is said where something does not belong together.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod cut;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln::export::{PlyComments, PlyFlavor, file_digest, write_ply};
use kiln_tests::runs::{self, Scratch, json, outcome};
use kiln_tests::scenes::Scene;
use kiln_tests::schema::problem;
use serde_json::{Value, json};

/// A copy of the bundled scene.
fn copy_of_scene(scratch: &Scratch) -> PathBuf {
    let scene = scratch.join("scene");
    for folder in ["sparse/0", "images"] {
        fs::create_dir_all(scene.join(folder)).unwrap();
        for entry in fs::read_dir(runs::scene().join(folder)).unwrap().flatten() {
            fs::copy(entry.path(), scene.join(folder).join(entry.file_name())).unwrap();
        }
    }
    scene
}

fn split(scene: &Path, project: &Path, more: &[&str]) -> Command {
    split_into(scene, project, ["2", "5"], more)
}

fn split_into(scene: &Path, project: &Path, blocks: [&str; 2], more: &[&str]) -> Command {
    let mut command = split_nowhere(scene, blocks, more);
    command.arg("-o").arg(project);
    command
}

fn split_nowhere(scene: &Path, [blocks, min_views]: [&str; 2], more: &[&str]) -> Command {
    let mut command = runs::kiln();
    command.arg("split").arg(scene);
    command.args([
        "--profile",
        "cpu",
        "-r",
        "40",
        "--blocks",
        blocks,
        "--min-views",
        min_views,
    ]);
    command.args([
        "--set",
        "init.background=0",
        "--set",
        "eval.lpips=false",
        "--max-gaussians",
        "6000",
    ]);
    command.args(["--iterations", "8", "--set", "train.deterministic=true"]);
    command.args(more);
    command
}

fn kiln(command: &str, path: &Path, more: &[&str]) -> Command {
    let mut kiln = runs::kiln();
    kiln.arg(command).arg(path).args(more);
    kiln
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must end with `code` and say all of `words`.
fn refused(command: &mut Command, code: i32, words: &[&str]) {
    let (found, text) = outcome(command);
    assert_eq!(found, Some(code), "{text}");
    assert!(text.contains("error: ") && text.contains("hint: "), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

fn block(project: &Path, name: &str) -> PathBuf {
    project.join("blocks").join(name)
}

/// Names of a folder's entries, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn texts(value: &Value) -> BTreeSet<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Names of views without their endings.
fn stems(names: &Value) -> BTreeSet<String> {
    let stem = |name: String| Path::new(&name).file_stem().unwrap().to_str().unwrap().to_owned();
    texts(names).into_iter().map(stem).collect()
}

/// Names of the test views of an evaluation.
fn views_of(evaluation: &Value) -> BTreeSet<String> {
    let views = evaluation["test"]["views"].as_array().unwrap();
    views
        .iter()
        .map(|view| view["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Makes a block look trained, with a model of `count` Gaussians.
fn pretend(project: &Path, name: &str, seed: u32, count: u32) {
    let folder = block(project, name);
    fs::create_dir_all(folder.join("run")).unwrap();
    let model = Scene {
        seed,
        count,
        sh_degree: 1,
        ..Scene::default()
    }
    .model();
    let path = folder.join("run/model.ply");
    write_ply(&path, &model, PlyFlavor::Fused, PlyComments::default()).unwrap();
    let done = json!({
        "version": 1, "block": file_digest(&folder.join("block.json")).unwrap(), "typed": [],
        "model": { "name": "run/model.ply", "sha256": file_digest(&path).unwrap() },
        "gaussians": count, "iterations": 8, "test_psnr": null, "seconds": 1.0, "device": "none",
    });
    fs::write(folder.join("done.json"), done.to_string()).unwrap();
}

fn check(schema: &str, file: &Path) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema");
    let (schema, value) = (json(&folder.join(format!("{schema}.schema.json"))), json(file));
    if let Some(problem) = problem(&schema, &schema, &value) {
        assert_eq!(problem, "", "{value}");
    }
    value
}

#[test]
fn a_split_is_planned_and_done_once() {
    let scratch = Scratch::new("split");
    let project = scratch.join("project");
    let said = printed(&mut split(&runs::scene(), &project, &["--plan-only"]));
    assert!(said.starts_with("2 blocks for ") && !project.exists(), "{said}");
    // Nothing is written, so no folder is asked for.
    let nowhere = |more: &[&str]| split_nowhere(&runs::scene(), ["2", "5"], more);
    let here = scratch.join("here");
    fs::create_dir(&here).unwrap();
    assert_eq!(printed(nowhere(&["--plan-only"]).current_dir(&here)), said);
    assert!(names(&here).is_empty());
    refused(&mut nowhere(&[]), 2, &["no folder is given", "-o PROJECT"]);
    printed(&mut split(&runs::scene(), &project, &[]));
    assert_eq!(
        names(&project),
        ["blocks", "blocks.txt", "hold_out.txt", "project.json"]
    );
    assert_eq!(
        fs::read_to_string(project.join("blocks.txt")).unwrap(),
        "b0000\nb0001\n"
    );
    let index = check("project", &project.join("project.json"));
    let held_out = texts(&index["test_views"]);
    assert_eq!(held_out.len(), 5);
    let mut trained = BTreeSet::new();
    let mut demand = 0;
    for name in ["b0000", "b0001"] {
        let folder = block(&project, name);
        let record = check("block", &folder.join("block.json"));
        let views = texts(&record["train_views"]);
        let tests = texts(&record["test_views"]);
        assert!(views.is_disjoint(&held_out) && tests.is_subset(&held_out) && views.len() >= 5);
        demand += record["demand"].as_u64().unwrap();
        let shown = views.len() + tests.len();
        assert_eq!(names(&folder.join("masks")).len(), shown, "a mask for each photo");
        let planned = &record["planned"];
        assert!(planned["device_bytes"].as_u64() <= planned["cap_bytes"].as_u64());
        // What the block says of its plan is what its run will take.
        let plan: Value = serde_json::from_str(&printed(&mut kiln("plan", &folder, &["--json"]))).unwrap();
        assert_eq!(plan["capacities"]["n_limit"], planned["gaussians"]);
        trained.extend(views);
    }
    assert_eq!(demand, index["gaussians"].as_u64().unwrap());
    assert_eq!(trained.len(), 35, "every training view is in a block");
    let before = fs::read(project.join("project.json")).unwrap();
    printed(&mut split(&runs::scene(), &project, &[]));
    assert_eq!(fs::read(project.join("project.json")).unwrap(), before);
    let other = &mut split(&runs::scene(), &project, &["--margin", "0.2"]);
    refused(other, 7, &["was split in another way", "options"]);
    refused(&mut split(&runs::scene(), &project, &["--seed", "5"]), 7, &["settings"]);

    // Elsewhere nothing is left behind, and what is there stays.
    let full = scratch.join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("letter.txt"), "dear").unwrap();
    refused(&mut split(&runs::scene(), &full, &[]), 7, &["letter.txt"]);
    assert_eq!(names(&full), ["letter.txt"]);
    let none = scratch.join("none");
    let many = &mut split_into(&runs::scene(), &none, ["3", "36"], &[]);
    refused(many, 6, &["have 36 training views each", "--blocks"]);
    let large = &mut split(&runs::scene(), &none, &["--gaussians", "50M"]);
    refused(large, 6, &["2 blocks hold", "--gaussians"]);
    assert!(!none.exists());
    let mut unnamed = runs::kiln();
    unnamed.arg("split").arg(runs::scene()).arg("-o").arg(&none);
    refused(&mut unnamed, 2, &["no memory profile", "--profile 8gb"]);
}

#[test]
fn what_does_not_belong_to_a_project_is_named() {
    let scratch = Scratch::new("foreign");
    let (scene, project) = (copy_of_scene(&scratch), scratch.join("project"));
    let held_out = ["--hold-out", "5"];
    let masks_off = [&held_out[..], &["--set", "dataset.masks=off"]].concat();
    printed(&mut split(&scene, &project, &masks_off));
    let [first, second] = ["b0000", "b0001"].map(|name| block(&project, name));
    assert!(!first.join("masks").exists());
    refused(
        &mut kiln("merge", &project, &[]),
        4,
        &["2 of 2 blocks are not trained: b0000, b0001", "kiln train"],
    );
    refused(&mut kiln("merge", &scene, &[]), 4, &["holds no project", "kiln split"]);
    refused(
        &mut kiln("train", &first, &["-o", "elsewhere"]),
        2,
        &["--output", "block"],
    );

    let stray = project.join("blocks/notes");
    fs::write(&stray, "mine").unwrap();
    refused(
        &mut kiln("status", &project, &[]),
        4,
        &["notes does not belong to the project"],
    );
    fs::remove_file(&stray).unwrap();

    let away = scratch.join("away");
    fs::rename(&second, &away).unwrap();
    refused(&mut kiln("merge", &project, &[]), 4, &["b0001 is missing"]);
    refused(&mut kiln("train", &away, &[]), 4, &["without its project"]);
    refused(&mut kiln("train", &second, &[]), 4, &["b0001 is missing"]);
    let unknown = second.with_file_name("b0009");
    refused(
        &mut kiln("train", &unknown, &[]),
        4,
        &["has no block b0009", "kiln status"],
    );
    fs::rename(&away, &second).unwrap();

    // A block without its index is no scene.
    let index = first.join("block.json");
    fs::rename(&index, first.join("aside.json")).unwrap();
    for command in ["train", "plan"] {
        refused(
            &mut kiln(command, &first, &[]),
            4,
            &["block.json", "is not there any more"],
        );
    }
    fs::rename(first.join("aside.json"), &index).unwrap();

    // A photo of the block, the scene's model, the block's own files, the block itself.
    let record = json(&first.join("block.json"));
    let photo = scene.join("images").join(record["train_views"][0].as_str().unwrap());
    for file in [
        photo,
        scene.join("sparse/0/points3D.bin"),
        first.join("sparse/0/images.bin"),
        first.join("block.json"),
    ] {
        let before = fs::read(&file).unwrap();
        fs::write(&file, [&before[..], b" "].concat()).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        refused(&mut kiln("train", &first, &[]), 4, &[name, "changed after the split"]);
        fs::write(&file, before).unwrap();
    }
    refused(&mut split(&scene, &project, &held_out), 7, &["settings"]);

    pretend(&project, "b0000", 1, 3000);
    pretend(&project, "b0001", 2, 3000);
    let merged = project.join("merged/point_cloud.ply");
    // No file may be as large as the model: nothing is left, and with room it works.
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "bash"]);
    limited.arg(runs::kiln().get_program()).arg("merge").arg(&project);
    refused(&mut limited, 7, &["has no room for"]);
    assert!(
        names(&project.join("merged")).is_empty(),
        "{:?}",
        names(&project.join("merged"))
    );
    printed(&mut kiln("merge", &project, &[]));
    let bytes = fs::read(&merged).unwrap();
    let index = check("merged", &project.join("merged/point_cloud.index.json"));
    let kept: u64 = index["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["kept"].as_u64().unwrap())
        .sum();
    assert_eq!(index["gaussians"].as_u64(), Some(kept));
    assert!(kept > 100 && kept < 6000, "{kept}");
    assert_eq!(index["model"]["sha256"].as_str(), Some(&*file_digest(&merged).unwrap()));
    assert_eq!(
        names(&project.join("merged")),
        ["point_cloud.index.json", "point_cloud.ply"]
    );

    // The whole is looked at by the views that no block trained on.
    let evaluated = printed(&mut kiln("eval", &project, &["--json", "-q", "--write"]));
    let evaluated: Value = serde_json::from_str(&evaluated).unwrap();
    assert_eq!(
        views_of(&evaluated),
        stems(&json(&project.join("project.json"))["test_views"])
    );
    let unseen = json(&project.join("project.json"))["test_views"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let photo = scene.join("images").join(unseen);
    let before = fs::read(&photo).unwrap();
    fs::write(&photo, [&before[..], b" "].concat()).unwrap();
    refused(&mut kiln("eval", &project, &[]), 4, &["changed after the split"]);
    fs::write(&photo, before).unwrap();
    fs::remove_file(project.join("merged/point_cloud.ply")).unwrap();
    printed(&mut kiln("merge", &project, &[]));
    assert!(
        !project.join("merged/evaluation.json").exists(),
        "figures of another model"
    );

    let list = project.join("hold_out.txt");
    let before = fs::read(&list).unwrap();
    fs::write(&list, "nobody.jpg\n").unwrap();
    refused(
        &mut kiln("eval", &project, &[]),
        4,
        &["hold_out.txt does not list", "delete it"],
    );
    fs::remove_file(&list).unwrap();
    printed(&mut kiln("eval", &project, &["-q"]));
    assert_eq!(fs::read(&list).unwrap(), before);

    // Other commands take what is merged, too.
    let path = printed(&mut kiln("export", &project, &["--format", "spz", "-q"]));
    assert_eq!(Path::new(path.trim()), project.join("merged/point_cloud.spz"));
    let planned = printed(&mut kiln(
        "mesh",
        &project,
        &["--dry-run", "-q", "--set", "mesh.voxel=0.5"],
    ));
    assert!(planned.contains("verdict: fits"), "{planned}");
    fs::remove_file(path.trim()).unwrap();

    // Again, elsewhere and in less memory: the same bytes. A damaged one is made again.
    let (_, said) = outcome(&mut kiln("merge", &project, &[]));
    assert!(said.contains("was there already"), "{said}");
    let elsewhere = scratch.join("city.ply");
    printed(&mut kiln(
        "merge",
        &project,
        &["--memory-mib", "16", "-o", elsewhere.to_str().unwrap()],
    ));
    assert_eq!(fs::read(&elsewhere).unwrap(), bytes);
    fs::write(&merged, b"half a file").unwrap();
    printed(&mut kiln("merge", &project, &[]));
    assert_eq!(fs::read(&merged).unwrap(), bytes);

    let model = second.join("run/model.ply");
    let before = fs::read(&model).unwrap();
    fs::copy(first.join("run/model.ply"), &model).unwrap();
    fs::remove_file(&merged).unwrap();
    refused(
        &mut kiln("merge", &project, &[]),
        4,
        &["b0001/run/model.ply", "is not the model"],
    );
    fs::write(&model, "a foreign file").unwrap();
    refused(&mut kiln("merge", &project, &[]), 4, &["model.ply: line 1"]);
    fs::write(&model, before).unwrap();
    fs::copy(first.join("done.json"), second.join("done.json")).unwrap();
    refused(&mut kiln("merge", &project, &[]), 4, &["done.json", "another split"]);
    assert!(!merged.exists());
}

#[test]
fn blocks_are_ordinary_runs_in_any_order() {
    let scratch = Scratch::new("blocks");
    let mut merged = Vec::new();
    for (name, order) in [("a", ["b0000", "b0001"]), ("b", ["b0001", "b0000"])] {
        let project = scratch.join(name);
        printed(&mut split(&runs::scene(), &project, &[]));
        let first = block(&project, order[0]);
        if name == "a" {
            // Somebody else is at it.
            fs::create_dir(first.join("run")).unwrap();
            let held = fs::File::open(first.join("run")).unwrap();
            held.lock().unwrap();
            let (code, said) = outcome(&mut kiln("train", &first, &["-q"]));
            assert!(code == Some(7) && said.contains("another process is writing"), "{said}");
            drop(held);
            // A run that is stopped goes on by itself: its checkpoint is what another would start from.
            printed(&mut kiln("train", &first, &["-q", "--set", "schedule.checkpoint=[4]"]));
            fs::remove_file(first.join("done.json")).unwrap();
            let other = block(&project, order[1]);
            copy_tree(&first.join("run"), &other.join("run"));
            refused(&mut kiln("train", &other, &["-q"]), 4, &["another scene"]);
            fs::remove_dir_all(other.join("run")).unwrap();
            printed(&mut kiln("train", &first, &["-q", "--overwrite"]));
        } else {
            printed(&mut kiln("train", &first, &["-q"]));
        }
        let status: Value = serde_json::from_str(&printed(&mut kiln("status", &project, &["--json"]))).unwrap();
        let state = |at: usize| status["blocks"][at]["state"].as_str().unwrap().to_owned();
        let expected = if name == "a" {
            ["done", "waiting"]
        } else {
            ["waiting", "done"]
        };
        assert_eq!([state(0), state(1)], expected);
        assert_eq!(status["views_without_block"], json!([]));
        refused(&mut kiln("merge", &project, &[]), 4, &["1 of 2 blocks are not trained"]);
        for command in ["eval", "mesh"] {
            let words = ["has no merged model", "kiln merge"];
            refused(&mut kiln(command, &project, &[]), 4, &words);
        }
        let unmerged = &mut kiln("export", &project, &["--format", "spz"]);
        refused(unmerged, 4, &["has no merged model", "kiln merge"]);
        printed(&mut kiln("train", &block(&project, order[1]), &["-q"]));

        check("done", &first.join("done.json"));
        // Once more is nothing to do, unless it is to be done in another way.
        let done = fs::read(first.join("done.json")).unwrap();
        let (code, said) = outcome(&mut kiln("train", &first, &[]));
        assert!(code == Some(0) && said.contains("is trained"), "{said}");
        refused(
            &mut kiln("train", &first, &["--seed", "9"]),
            7,
            &["is trained, with", "--overwrite"],
        );
        assert_eq!(fs::read(first.join("done.json")).unwrap(), done);
        let path = printed(&mut kiln("merge", &project, &["-q"]));
        merged.push(fs::read(path.trim()).unwrap());
    }
    // The whole is looked at as any model is, with the scene and the settings of the project.
    let project = scratch.join("a");
    let evaluated = printed(&mut kiln("eval", &project, &["--json", "-q", "--write"]));
    let evaluated: Value = serde_json::from_str(&evaluated).unwrap();
    assert_eq!(check("eval", &project.join("merged/evaluation.json")), evaluated);
    let held_out = stems(&json(&project.join("project.json"))["test_views"]);
    assert_eq!(views_of(&evaluated), held_out);
    assert_eq!(evaluated["test"]["views"][0]["width"], 40);
    let pictures = scratch.join("pictures");
    let shown = printed(&mut kiln("render", &project, &["-q", "-o", pictures.to_str().unwrap()]));
    assert_eq!(shown.lines().count(), held_out.len());
    assert!(merged[0] == merged[1], "who came first cannot be seen");
    assert!(merged[0].len() > 10_000);
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
