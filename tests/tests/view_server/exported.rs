//! Static exports against what is served.

use std::fs;
use std::path::Path;

use kiln_tests::runs::{self, Scratch, outcome};
use kiln_tests::view::View;

use super::{SECRET, runs_with_traps};

#[test]
fn an_export_holds_the_same_files() {
    let scratch = Scratch::new("export");
    let root = runs_with_traps(&scratch);
    let output = scratch.join("site");
    let export = |output: &Path| outcome(runs::kiln().arg("view").arg(&root).arg("--export").arg(output));
    let (code, text) = export(&output);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let view = View::start(&root);
    let index = view.get("/runs.json", &[]).body;
    assert_eq!(fs::read(output.join("runs.json")).unwrap(), index);
    assert_eq!(String::from_utf8_lossy(&index), r#"["runs/a","runs/sweep/b c"]"#);
    let mut files = Vec::new();
    let mut folders = vec![output.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.strip_prefix(&output).unwrap().to_str().unwrap().to_owned())
        .collect();
    for name in [
        "index.html",
        "boot.js",
        "kiln_viewer_bg.wasm",
        "runs/a/run.json",
        "runs/a/point_cloud/iteration_40/point_cloud.ply",
        "runs/a/eval/gt/test/test_view.png",
        "runs/sweep/b c/metrics.jsonl",
    ] {
        assert!(names.iter().any(|own| own == name), "{name} is missing: {names:?}");
    }
    for (file, name) in files.iter().zip(&names) {
        let bytes = fs::read(file).unwrap();
        assert!(!fs::symlink_metadata(file).unwrap().is_symlink());
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{name}");
        if name != "kiln-export.json" {
            let reply = view.get(&format!("/{}", name.replace(' ', "%20")), &[]);
            assert_eq!(reply.status, 200, "{name}");
            // What made a run is left out of exports where it names this machine.
            let is_index = name.ends_with("/run.json");
            assert!(is_index || reply.body == bytes, "{name}");
        }
    }
    assert_eq!(export(&output).0, Some(0), "an earlier export is replaced");
    let (code, text) = export(&scratch.join("outside"));
    assert_eq!(code, Some(7));
    assert!(text.contains("no earlier export"), "{text}");
    assert_eq!(fs::read_to_string(scratch.join("outside/secret.txt")).unwrap(), SECRET);
}
