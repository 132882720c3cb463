#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::eval::LpipsRange;
use kiln_scratch::Scratch;
use serde_json::Value;

fn scene(name: &str, fingerprint: &str) -> RunScene {
    RunScene {
        name: name.to_owned(),
        path: format!("scenes/{name}"),
        fingerprint: fingerprint.to_owned(),
        train_views: 7,
        test_views: 1,
        origin: None,
    }
}

fn made_by(word: &str) -> MadeBy {
    MadeBy {
        command: vec![word.to_owned()],
        ..MadeBy::default()
    }
}

fn run() -> NewRun {
    NewRun {
        name: "first".to_owned(),
        scene: scene("garden", "00aa"),
        iterations: 30,
        started_unix_s: 5,
        made_by: made_by("train"),
    }
}

fn index(root: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(root.join("run.json")).unwrap()).unwrap()
}

#[test]
fn the_index_follows_the_run() {
    let scratch = Scratch::new();
    let root = scratch.path().join("runs/first");
    let mut folder = RunFolder::create(&root, Existing::Refuse, run()).unwrap();
    let begun = index(&root);
    assert_eq!(begun["status"], "running");
    assert_eq!(begun["iterations"], serde_json::json!({ "done": 0, "total": 30 }));

    for iteration in [20, 10, 20] {
        let path = folder.ply_path(iteration, PlyKind::Fused);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "1234").unwrap();
        folder.add_ply(iteration, PlyKind::Fused, 9).unwrap();
    }
    folder.list(["metrics.jsonl", "memory.jsonl", "metrics.jsonl"]).unwrap();
    folder
        .write_eval(&EvalFile::new(20, 9, 1.0, LpipsRange::ZeroOne))
        .unwrap();
    let now = index(&root);
    let paths: Vec<_> = now["plys"].as_array().unwrap().iter().map(|ply| &ply["path"]).collect();
    assert_eq!(
        paths,
        [
            "point_cloud/iteration_10/point_cloud.ply",
            "point_cloud/iteration_20/point_cloud.ply"
        ]
    );
    assert_eq!(now["plys"][0]["bytes"], 4);
    assert_eq!(now["evals"][0]["path"], "eval/iteration_20/metrics.json");
    assert_eq!(now["files"], serde_json::json!(["memory.jsonl", "metrics.jsonl"]));
    assert_eq!(now["iterations"]["done"], 20);
    assert!(root.join("eval/iteration_20/metrics.json").is_file());

    folder.finish(Status::Stalled, 25, Some("why".to_owned())).unwrap();
    let ended = index(&root);
    assert_eq!(
        (&ended["status"], &ended["message"]),
        (&"stalled".into(), &"why".into())
    );
    assert_eq!(ended["iterations"]["done"], 25);
}

#[test]
fn files_that_are_not_there_are_not_listed() {
    let scratch = Scratch::new();
    let mut folder = RunFolder::create(scratch.path(), Existing::Refuse, run()).unwrap();
    let error = folder.add_ply(10, PlyKind::Raw, 9).unwrap_err();
    assert!(error.to_string().contains("point_cloud_raw.ply"), "{error}");
    assert!(folder.record().plys.is_empty());
}

#[test]
fn a_run_that_ends_without_a_word_has_failed() {
    let scratch = Scratch::new();
    drop(RunFolder::create(scratch.path(), Existing::Refuse, run()).unwrap());
    assert_eq!(index(scratch.path())["status"], "failed");
}

#[test]
fn another_run_in_the_folder_is_kept_unless_asked() {
    let scratch = Scratch::new();
    let root = scratch.path();
    let folder = RunFolder::create(root, Existing::Refuse, run()).unwrap();
    folder.finish(Status::Done, 30, None).unwrap();
    scratch.write("metrics.jsonl", "{}\n");
    scratch.write("eval/iteration_30/metrics.json", "{}");
    scratch.write("notes.txt", "mine");

    let error = RunFolder::create(root, Existing::Refuse, run()).unwrap_err();
    assert!(error.to_string().contains("status done, 30 of 30"), "{error}");

    let mut other = run();
    other.scene = scene("bicycle", "00bb");
    for existing in [Existing::Refuse, Existing::Replace, Existing::Resume] {
        let error = RunFolder::create(root, existing, other.clone()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("holds a run of the scene `garden`, not of `bicycle`; choose another output folder"),
            "{error}"
        );
    }
    assert!(root.join("metrics.jsonl").exists());

    let events = root.join("events.out.tfevents.1750000000.host.7.0");
    fs::write(&events, "").unwrap();
    let folder = RunFolder::create(root, Existing::Replace, run()).unwrap();
    assert!(!events.exists());
    assert!(!root.join("metrics.jsonl").exists() && !root.join("eval").exists());
    assert_eq!(fs::read_to_string(root.join("notes.txt")).unwrap(), "mine");
    assert_eq!(folder.record().iterations.done, 0);
}

#[test]
fn resuming_keeps_what_was_and_rewinds() {
    let scratch = Scratch::new();
    let root = scratch.path();
    assert!(matches!(
        RunFolder::create(root, Existing::Resume, run()),
        Err(RunFolderError::NoRun { .. })
    ));
    let mut folder = RunFolder::create(root, Existing::Refuse, run()).unwrap();
    for iteration in [10, 20] {
        folder
            .write_eval(&EvalFile::new(iteration, 9, 1.0, LpipsRange::ZeroOne))
            .unwrap();
        let (name, path) = folder.delivery_path(iteration, "spz");
        assert_eq!(path, root.join(&name));
        folder.list([name.as_str()]).unwrap();
    }
    folder.finish(Status::Interrupted, 20, None).unwrap();

    let longer = NewRun {
        iterations: 60,
        started_unix_s: 99,
        made_by: made_by("resumed"),
        ..run()
    };
    let mut folder = RunFolder::create(root, Existing::Resume, longer).unwrap();
    let record = folder.record();
    assert_eq!(
        (record.evals.len(), record.started_unix_s, record.status),
        (2, 5, Status::Running)
    );
    assert_eq!(record.iterations, Iterations { done: 20, total: 60 });
    assert_eq!(record.made_by, Some(made_by("train")), "a resumed run keeps its first");
    folder.rewind(15).unwrap();
    assert_eq!(folder.record().evals.len(), 1);
    assert_eq!(folder.record().files, ["point_cloud/iteration_10/point_cloud.spz"]);
    assert_eq!(index(root)["iterations"]["done"], 15);
}

#[test]
fn folders_that_are_not_runs_are_refused() {
    let scratch = Scratch::new();
    scratch.write("a/point_cloud/x", "");
    let error = RunFolder::create(&scratch.path().join("a"), Existing::Replace, run()).unwrap_err();
    assert!(
        error.to_string().contains("holds `point_cloud` but no run.json"),
        "{error}"
    );
    for (text, reason) in [
        ("", "EOF"),
        ("{\"schema_version\":2}", "schema_version is 2"),
        ("{\"schema_version\":1}", "missing field"),
    ] {
        scratch.write("b/run.json", text);
        let error = RunFolder::create(&scratch.path().join("b"), Existing::Replace, run()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    scratch.write("file", "");
    assert!(matches!(
        RunFolder::create(&scratch.path().join("file/below"), Existing::Refuse, run()),
        Err(RunFolderError::Write(_))
    ));
}

#[cfg(unix)]
#[test]
fn two_writers_do_not_share_a_folder() {
    let scratch = Scratch::new();
    let folder = RunFolder::create(scratch.path(), Existing::Refuse, run()).unwrap();
    let error = RunFolder::create(scratch.path(), Existing::Replace, run()).unwrap_err();
    assert!(matches!(error, RunFolderError::Busy { .. }), "{error}");
    drop(folder);
    assert!(RunFolder::create(scratch.path(), Existing::Replace, run()).is_ok());
}

#[test]
fn unused_names_are_numbered() {
    let scratch = Scratch::new();
    let root = scratch.path();
    assert_eq!(RunFolder::unused(root, "run"), root.join("run"));
    fs::create_dir(root.join("run")).unwrap();
    fs::create_dir(root.join("run-2")).unwrap();
    assert_eq!(RunFolder::unused(root, "run"), root.join("run-3"));
}

#[test]
fn scenes_are_told_apart_by_their_views() {
    let load = |scale: f64| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let scene = SceneIndex::load(&root, &kiln_scene::SceneOptions::default()).unwrap();
        scene.rescaled(scale)
    };
    let mut scene = load(1.0);
    let described = RunScene::of(&scene);
    assert_eq!(
        (described.name.as_str(), described.train_views, described.test_views),
        ("stilllife", 35, 5)
    );
    assert_eq!(described.fingerprint.len(), 16);
    assert_eq!(RunScene::of(&load(2.0)).fingerprint, described.fingerprint);
    let held_out = scene.test.remove(0);
    scene.train.push(held_out);
    assert_eq!(RunScene::of(&scene).fingerprint, described.fingerprint);
    scene.train.pop();
    assert_ne!(RunScene::of(&scene).fingerprint, described.fingerprint);
}

/// A killed process leaves half a file under a temporary name; the next one of the run removes it, and only that.
#[test]
fn leftovers_of_a_killed_process_go_when_the_run_goes_on() {
    let scratch = Scratch::new();
    let root = scratch.path();
    drop(RunFolder::create(root, Existing::Refuse, run()).unwrap());
    let half = scratch.write("checkpoints/.checkpoint_00000010.kiln.4242-7.tmp", "half");
    let mine = scratch.write("checkpoints/.mine.tmp", "mine");
    RunFolder::create(root, Existing::Refuse, run()).unwrap_err();
    let folder = RunFolder::create(root, Existing::Resume, run()).unwrap();
    assert!(!half.exists() && mine.exists());
    // Nobody else's temporary files go while this run is under way.
    let half = scratch.write("checkpoints/.checkpoint_00000020.kiln.4242-8.tmp", "half");
    RunFolder::create(root, Existing::Resume, run()).unwrap_err();
    assert!(half.exists());
    folder.finish(Status::Done, 30, None).unwrap();
}

/// A run that somebody sends may hold links.
#[cfg(unix)]
#[test]
fn what_leads_out_of_a_run_by_a_link_is_not_written_to() {
    let (scratch, theirs) = (Scratch::new(), Scratch::new());
    let root = scratch.path().join("run");
    drop(RunFolder::create(&root, Existing::Refuse, run()).unwrap());
    for (name, target) in [
        ("eval", "folder"),
        ("metrics.jsonl", "file"),
        ("point_cloud/iteration_1", "folder"),
    ] {
        theirs.write("folder/kept", "theirs");
        let to = theirs.write("file", "theirs");
        let place = root.join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to.with_file_name(target), &place).unwrap();
        for refused in [
            RunFolder::create(&root, Existing::Resume, run()).err(),
            RunFolder::create(&root, Existing::Replace, run()).err(),
            RunFolder::reopen(&root, &scene("garden", "00aa")).err(),
        ] {
            let text = refused.unwrap().to_string();
            assert!(text.contains(&format!("{name}: it is a link")), "{text}");
        }
        assert_eq!(fs::read_to_string(theirs.path().join("folder/kept")).unwrap(), "theirs");
        fs::remove_file(place).unwrap();
    }
    RunFolder::create(&root, Existing::Resume, run()).unwrap();
}
