//! A block in two: what the halves are, what a killed cut leaves, and what is refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use kiln_tests::runs::{self, Scratch, json, outcome};
use serde_json::Value;

use super::{block, check, copy_of_scene, copy_tree, kiln, names, pretend, printed, refused, split, texts};

/// Least and largest coordinates; infinite where there is no end.
type Core = [[f64; 2]; 2];

fn core(project: &Path, name: &str) -> Core {
    let record = json(&block(project, name).join("block.json"));
    let side = |of: &str, at: usize, none: f64| record["core"][of][at].as_f64().unwrap_or(none);
    let corner = |of: &str, none: f64| [0, 1].map(|at| side(of, at, none));
    [corner("min", f64::NEG_INFINITY), corner("max", f64::INFINITY)]
}

fn has([min, max]: &Core, place: [f64; 2]) -> bool {
    (0..2).all(|axis| min[axis] <= place[axis] && place[axis] < max[axis])
}

fn listed(project: &Path) -> Vec<String> {
    let index = json(&project.join("project.json"));
    let names: Vec<String> = index["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["name"].as_str().unwrap().to_owned())
        .collect();
    let list = fs::read_to_string(project.join("blocks.txt")).unwrap();
    assert_eq!(list.lines().collect::<Vec<_>>(), names);
    names
}

fn cut(project: &Path, name: &str) -> std::process::Command {
    let mut command = runs::kiln();
    command.arg("split").arg(block(project, name));
    command
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

fn without(root: &Path, files: Vec<(PathBuf, Vec<u8>)>) -> Vec<(PathBuf, Vec<u8>)> {
    let inside = |path: PathBuf| path.strip_prefix(root).unwrap().to_owned();
    files.into_iter().map(|(path, bytes)| (inside(path), bytes)).collect()
}

#[test]
fn halves_take_the_place_of_their_block() {
    let scratch = Scratch::new("cut");
    let project = scratch.join("project");
    printed(&mut split(&runs::scene(), &project, &[]));
    let before = json(&project.join("project.json"));
    let whole = json(&block(&project, "b0000").join("block.json"));
    let other = core(&project, "b0001");
    let copy = scratch.join("copy");
    copy_tree(&project, &copy);
    let said = printed(&mut cut(&project, "b0000"));
    assert!(said.contains("3 blocks for"), "{said}");
    // The halves, and nothing of other blocks: a node's copy need not have them.
    let told = |said: &str| {
        said.lines()
            .skip(1)
            .map(|line| line[..6].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&said), ["b0000a", "b0000b"]);
    assert_eq!(told(&printed(&mut cut(&project, "b0000"))), ["b0000a", "b0000b"]);
    assert_eq!(listed(&project), ["b0000a", "b0000b", "b0001"]);
    assert_eq!(names(&project.join("blocks")), ["b0000a", "b0000b", "b0001"]);
    assert_eq!(
        names(&project),
        ["blocks", "blocks.txt", "hold_out.txt", "project.json"]
    );

    // Nothing else of the project changed.
    let mut after = check("project", &project.join("project.json"));
    assert_eq!(after["blocks"][2], before["blocks"][1]);
    let (used, used_before) = (after["views_used"].as_f64(), before["views_used"].as_f64());
    assert!(used > used_before, "{used:?} {used_before:?}");
    for key in ["blocks", "views_used"] {
        after[key] = before[key].clone();
    }
    assert_eq!(after, before);

    // What was the block's is that of the halves, and takes less memory.
    let halves = ["b0000a", "b0000b"].map(|name| check("block", &block(&project, name).join("block.json")));
    let sum = |key: &str| halves.iter().map(|half| half[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("demand"), whole["demand"].as_u64().unwrap());
    let mut views = BTreeSet::new();
    for (half, name) in halves.iter().zip(["b0000a", "b0000b"]) {
        let folder = block(&project, name);
        let (train, test) = (texts(&half["train_views"]), texts(&half["test_views"]));
        assert!(train.len() >= 5 && train.is_subset(&texts(&whole["train_views"])));
        assert!(test.is_subset(&texts(&whole["test_views"])));
        assert_eq!(names(&folder.join("masks")).len(), train.len() + test.len());
        let (planned, of_whole) = (&half["planned"], &whole["planned"]);
        for key in ["gaussians", "device_bytes"] {
            assert!(planned[key].as_u64() < of_whole[key].as_u64(), "{planned} {of_whole}");
        }
        assert!(half["margin"].as_f64() <= whole["margin"].as_f64());
        let plan: Value = serde_json::from_str(&printed(&mut kiln("plan", &folder, &["--json"]))).unwrap();
        assert_eq!(plan["capacities"]["n_limit"], planned["gaussians"]);
        views.extend(train);
    }
    assert_eq!(views, texts(&whole["train_views"]));

    // Another cut of the same block gives the same bytes.
    printed(&mut cut(&copy, "b0000"));
    assert!(without(&copy, files(&copy)) == without(&project, files(&project)));

    // Quarters; every place of the plane is in one core.
    printed(&mut cut(&project, "b0000b"));
    assert_eq!(listed(&project), ["b0000a", "b0000ba", "b0000bb", "b0001"]);
    let cores: Vec<Core> = listed(&project).iter().map(|name| core(&project, name)).collect();
    assert_eq!(cores[3], other);
    let mut places = Vec::new();
    let mut state = 9_u64;
    for _ in 0..100_000 {
        places.push([0, 1].map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 40.0
        }));
    }
    // On the lines, and where they cross.
    let sides = |axis: usize| cores.iter().flat_map(move |core| [core[0][axis], core[1][axis]]);
    let lines = [0, 1].map(|axis| {
        sides(axis)
            .filter(|side| side.is_finite())
            .chain([0.1])
            .collect::<Vec<_>>()
    });
    for x in &lines[0] {
        places.extend(lines[1].iter().map(|y| [*x, *y]));
    }
    for place in places {
        assert_eq!(cores.iter().filter(|core| has(core, place)).count(), 1, "{place:?}");
    }

    // The project goes on as any other.
    printed(&mut split(&runs::scene(), &project, &[]));
    refused(
        &mut kiln("train", &block(&project, "b0000"), &[]),
        4,
        &["was cut into b0000a, b0000ba, b0000bb"],
    );
    printed(&mut kiln("train", &block(&project, "b0000a"), &["-q"]));
    refused(&mut cut(&project, "b0000a"), 7, &["is trained"]);
    for (name, seed) in [("b0000ba", 2), ("b0000bb", 3), ("b0001", 4)] {
        pretend(&project, name, seed, 3000);
    }
    let status = printed(&mut kiln("status", &project, &[]));
    assert!(status.contains("4 of 4 blocks done"), "{status}");
}

#[test]
fn a_killed_cut_loses_nothing_and_is_ended_by_the_same_command() {
    let scratch = Scratch::new("killed-cut");
    let fresh = scratch.join("fresh");
    printed(&mut split(&runs::scene(), &fresh, &[]));
    let expected = scratch.join("expected");
    copy_tree(&fresh, &expected);
    printed(&mut cut(&expected, "b0000"));
    let expected = without(&expected, files(&expected));
    let ends = |project: &Path, how: &str| {
        // Whoever looks at it finds a project, of two blocks or of three.
        let said = printed(&mut kiln("status", project, &[]));
        assert!(
            said.contains("of 2 blocks") || said.contains("of 3 blocks"),
            "{how}: {said}"
        );
        printed(&mut cut(project, "b0000"));
        assert!(without(project, files(project)) == expected, "{how}");
        assert!(!project.join(".split").exists(), "{how}");
    };

    // Halves among the blocks and no index that lists them, one of them not whole.
    let early = scratch.join("early");
    copy_tree(&fresh, &early);
    fs::create_dir_all(early.join(".split/blocks/b0000b/sparse")).unwrap();
    fs::create_dir_all(block(&early, "b0000a")).unwrap();
    fs::write(block(&early, "b0000a").join("block.json"), "{").unwrap();
    ends(&early, "before the index");
    // The index, and neither the list nor the end of the block.
    let late = scratch.join("late");
    copy_tree(&fresh, &late);
    printed(&mut cut(&late, "b0000"));
    copy_tree(&block(&fresh, "b0000"), &block(&late, "b0000"));
    fs::copy(fresh.join("blocks.txt"), late.join("blocks.txt")).unwrap();
    fs::create_dir_all(late.join(".split/gone/run")).unwrap();
    ends(&late, "after the index");

    for round in 0..6 {
        let project = scratch.join(&format!("killed-{round}"));
        copy_tree(&fresh, &project);
        let mut child = cut(&project, "b0000")
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(40 * (round + 1)));
        child.kill().unwrap();
        child.wait().unwrap();
        ends(&project, &format!("killed after {} ms", 40 * (round + 1)));
    }
}

#[test]
fn what_is_no_block_to_cut_is_refused() {
    let scratch = Scratch::new("uncut");
    let (scene, project) = (copy_of_scene(&scratch), scratch.join("project"));
    printed(&mut split(&scene, &project, &[]));
    let first = block(&project, "b0000");
    let before = without(&project, files(&project));
    refused(&mut cut(&project, "b0009"), 4, &["has no block b0009", "kiln status"]);
    let whole = &[
        "is split already",
        "kiln split",
        "blocks/b0000",
        "kiln status",
        "kiln merge",
    ];
    refused(&mut kiln("split", &project, &[]), 2, whole);
    for (flag, value) in [
        ("--profile", "8gb"),
        ("-o", "elsewhere"),
        ("--min-views", "2"),
        ("--seed", "5"),
    ] {
        let word = if flag == "-o" { "--output" } else { flag };
        refused(cut(&project, "b0000").args([flag, value]), 2, &[word, "b0000"]);
    }
    // Somebody is about to train it, or trains it by the name of its run.
    let held = fs::File::open(&first).unwrap();
    held.lock_shared().unwrap();
    refused(&mut cut(&project, "b0000"), 7, &["another process is writing", "b0000"]);
    drop(held);
    fs::create_dir(first.join("run")).unwrap();
    let held = fs::File::open(first.join("run")).unwrap();
    held.lock().unwrap();
    refused(
        &mut cut(&project, "b0000"),
        7,
        &["another process is writing", "b0000/run"],
    );
    drop(held);
    fs::remove_dir(first.join("run")).unwrap();
    // And while it is cut nobody trains it.
    let held = fs::File::open(&first).unwrap();
    held.lock().unwrap();
    let (code, said) = outcome(&mut kiln("train", &first, &["-q"]));
    assert!(code == Some(7) && said.contains("another process is writing"), "{said}");
    drop(held);

    let record = json(&first.join("block.json"));
    let photo = scene.join("images").join(record["train_views"][0].as_str().unwrap());
    for file in [
        photo,
        scene.join("sparse/0/points3D.bin"),
        first.join("sparse/0/images.bin"),
    ] {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, [&bytes[..], b" "].concat()).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        refused(&mut cut(&project, "b0000"), 4, &[name, "changed after the split"]);
        fs::write(&file, bytes).unwrap();
    }
    let few = scratch.join("few");
    printed(&mut super::split_into(&runs::scene(), &few, ["2", "35"], &[]));
    let mut name = "b0000".to_owned();
    while outcome(&mut cut(&few, &name)).0 == Some(0) {
        name.push('a');
    }
    let before_it = without(&few, files(&few));
    refused(
        &mut cut(&few, &name),
        6,
        &[&format!("{name} has"), "fewer than 35 or no area"],
    );
    assert_eq!(without(&few, files(&few)), before_it);
    assert_eq!(without(&project, files(&project)), before);
    pretend(&project, "b0000", 1, 500);
    refused(&mut cut(&project, "b0000"), 7, &["is trained"]);
}
