//! Projects of blocks.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use kiln_tests::http::get;
use kiln_tests::projects::MadeProject;
use kiln_tests::runs::{self, Scratch};
use kiln_tests::view::View;
use serde_json::Value;

use super::{SECRET, assert_tight};

#[test]
fn a_project_is_served_as_kiln_status_says_it() {
    let scratch = Scratch::new("project");
    let folder = scratch.join("served");
    let (half, end) = (Some(20.0), None);
    let project = MadeProject::new(
        &folder.join("city"),
        &[
            ("b0000", [[end, end], [half, end]]),
            ("b0001a", [[half, end], [end, Some(5.0)]]),
            ("b0001b", [[half, Some(5.0)], [end, end]]),
        ],
    );
    project.done("b0000");
    let writer = project.running("b0001a", 160);
    project.merged();
    let view = View::start(&folder);
    let index = |view: &View| -> Value { serde_json::from_slice(&view.get("/projects.json", &[]).body).unwrap() };
    let found = index(&view);
    let (city, blocks) = (&found[0], found[0]["blocks"].as_array().unwrap());
    assert_eq!(
        (
            &city["path"],
            &city["name"],
            &city["merged"],
            city["map"].to_string().as_str()
        ),
        (
            &"runs/city".into(),
            &"city".into(),
            &"runs/city/merged".into(),
            "[1.0,0.5]"
        )
    );
    let mut command = runs::kiln();
    let said = command.arg("status").arg(&project.root).arg("--json").output().unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    for (block, said) in blocks.iter().zip(said["blocks"].as_array().unwrap()) {
        for (key, value) in said.as_object().unwrap() {
            assert_eq!(&block[key], value, "{key} of {block}");
        }
    }
    let shown = |block: &Value| {
        ["state", "area", "run", "half_of"]
            .map(|key| block[key].to_string())
            .join(" ")
    };
    assert_eq!(
        blocks.iter().map(shown).collect::<Vec<_>>(),
        [
            r#""done" [0.0,0.0,0.5,0.5] "runs/city/blocks/b0000/run" null"#,
            r#""running" [0.5,0.375,0.5,0.125] "runs/city/blocks/b0001a/run" "b0001""#,
            r#""waiting" [0.5,0.0,0.5,0.375] null "b0001""#,
        ]
    );
    let running = ["iteration", "iterations", "its", "eta_s", "gaussians"].map(|key| blocks[1][key].as_f64().unwrap());
    assert_eq!(running, [40.0, 160.0, 12.5, 9.6, 5.0].map(|value: f64| value));
    // Runs of blocks and the merged model are runs like others, whose missing files are made.
    let runs: Vec<String> = serde_json::from_slice(&view.get("/runs.json", &[]).body).unwrap();
    assert_eq!(
        runs,
        [
            "runs/city/merged",
            "runs/city/blocks/b0000/run",
            "runs/city/blocks/b0001a/run"
        ]
    );
    let merged = |name: &str| view.get(&format!("/runs/city/merged/{name}"), &[]);
    let record: Value = serde_json::from_slice(&merged("run.json").body).unwrap();
    assert_eq!(
        (
            &record["plys"][0]["gaussians"],
            &record["plys"][0]["iteration"],
            &record["name"]
        ),
        (&5.into(), &40.into(), &"city".into())
    );
    let cameras: Value = serde_json::from_slice(&merged("cameras.json").body).unwrap();
    assert_eq!(cameras.as_array().unwrap().len(), 2, "each once");
    assert_eq!(
        (merged("metrics.jsonl").status, merged("metrics.jsonl").body.len()),
        (200, 0)
    );
    assert_eq!(merged("point_cloud.ply").status, 200);
    for name in ["point_cloud.index.json", "input.ply", "point_cloud.ply/x", ""] {
        assert_eq!(merged(name).status, 404, "{name}");
    }
    for name in [
        "project.json",
        "blocks/b0000/block.json",
        "blocks/b0000/done.json",
        "blocks.txt",
    ] {
        assert_eq!(view.get(&format!("/runs/city/{name}"), &[]).status, 404, "{name}");
    }
    assert_eq!(get(view.address, "/projects.json", &[]).status, 403);

    // What is damaged is said, and the rest is shown.
    fs::write(project.block("b0001b").join("block.json"), "{").unwrap();
    fs::write(project.block("b0000").join("done.json"), "{\"version\": 1").unwrap();
    fs::create_dir(project.block("somebody")).unwrap();
    fs::write(project.root.join("progress.json"), "[").unwrap();
    let found = index(&view);
    let city = &found[0];
    let problem = city["problems"][0].as_str().unwrap();
    assert_eq!(problem, "city/blocks/somebody does not belong to the project");
    let states: Vec<&str> = city["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["damaged", "running", "damaged"]);
    let message = city["blocks"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("cannot read city/blocks/b0000/done.json: "),
        "{message}"
    );
    let (area, none) = (&city["blocks"][0]["area"], &city["blocks"][2]["area"]);
    assert!(area.is_array() && none.is_null(), "{city}");
    // Files of another place are not looked at.
    fs::write(scratch.join("secret.json"), format!("{{\"version\": {SECRET:?}}}")).unwrap();
    fs::remove_file(project.block("b0001b").join("block.json")).unwrap();
    symlink(scratch.join("secret.json"), project.block("b0001b").join("block.json")).unwrap();
    let reply = view.get("/projects.json", &[]);
    assert_tight(&reply, &view, "a link out of the folder");
    assert!(
        reply
            .text()
            .contains("city/blocks/b0001b/block.json: it leads out of the folder"),
        "{}",
        reply.text()
    );
    fs::write(project.root.join("project.json"), "").unwrap();
    assert_eq!(index(&view)[0]["blocks"].as_array().unwrap().len(), 0);
    drop(writer);
}

#[test]
fn another_nodes_training_is_told_by_its_driver() {
    let scratch = Scratch::new("progress");
    let project = MadeProject::new(
        &scratch.join("city"),
        &[("b0000", [[None; 2]; 2]), ("b0001", [[None; 2]; 2])],
    );
    project.done("b0001");
    let row = |name: &str| {
        format!(
            "{{\"name\": {name:?}, \"state\": \"running\", \"iteration\": 7, \"iterations\": 70, \"its\": 3.5, \"eta_s\": 18.0, \
             \"gaussians\": 99, \"attempts\": 1, \"node\": \"n1\", \"message\": null}}"
        )
    };
    let text = format!("{{\"version\": 1, \"blocks\": [{}, {}]}}", row("b0000"), row("b0001"));
    let progress = project.root.join("progress.json");
    fs::write(&progress, text).unwrap();
    // The folder itself is the project, and its address that of the map.
    let view = View::start(&project.root);
    assert!(view.url.ends_with("&tab=runs"), "{}", view.url);
    let states = || {
        let found: Value = serde_json::from_slice(&view.get("/projects.json", &[]).body).unwrap();
        assert_eq!((&found[0]["path"], &found[0]["name"]), (&"runs".into(), &"city".into()));
        let blocks = found[0]["blocks"].as_array().unwrap().clone();
        blocks
            .iter()
            .map(|block| format!("{} {}", block["state"], block["iteration"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(states(), ["\"running\" 7", "\"done\" 40"]);
    // A driver that is not there any more says nothing.
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(&progress)
        .unwrap()
        .set_modified(before)
        .unwrap();
    assert_eq!(states(), ["\"waiting\" 0", "\"done\" 40"]);
    let runs: Vec<String> = serde_json::from_slice(&view.get("/runs.json", &[]).body).unwrap();
    assert_eq!(runs, ["runs/blocks/b0001/run"]);
    assert_eq!(view.get("/runs/blocks/b0001/run/run.json", &[]).status, 200);
}
