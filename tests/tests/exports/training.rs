//! Exporters of a profile: files for viewers beside the model, at every save.

use std::fs;

use kiln_tests::runs::{self, EVENTFUL, Scratch, json, rows};

use crate::exports::spz_reader;

#[test]
fn a_run_leaves_the_files_it_was_asked_for() {
    let scratch = Scratch::new("exporters");
    let root = scratch.join("run");
    let brief = [
        ("schedule.iterations", "6"),
        (
            "exporters",
            "[{ kind: ply }, { kind: compressed_ply, sh_degree: 1 }, { kind: spz, version: 4, max_splats: 300 }, \
             { kind: glb, crop: [900, 900, 900, 901, 901, 901] }]",
        ),
        ("sinks", "[{ kind: metrics_jsonl }]"),
    ];
    let profile = runs::profile(&root, &[EVENTFUL, &brief]);
    runs::train(profile, None, &kiln::run::interrupt::Interrupt::unattached()).expect("a run");
    let run = json(&root.join("run.json"));
    assert_eq!(run["status"], "done");
    let folder = "point_cloud/iteration_6";
    let listed = |name: &str| {
        let files = run["files"].as_array().expect("files");
        files
            .iter()
            .any(|file| file.as_str() == Some(&format!("{folder}/{name}")))
    };
    assert!(listed("point_cloud.compressed.ply") && listed("point_cloud.spz") && !listed("point_cloud.glb"));
    let compressed = fs::read(root.join(folder).join("point_cloud.compressed.ply")).expect("the file");
    let header = String::from_utf8_lossy(&compressed[..2000]).into_owned();
    assert!(
        header.contains("f_rest_8\n") && !header.contains("f_rest_9\n"),
        "{header}"
    );
    let spz = fs::read(root.join(folder).join("point_cloud.spz")).expect("the file");
    let (header, splats) = spz_reader::read(&spz);
    assert_eq!((header.version, header.sh_degree, splats.len()), (4, 3, 300));
    // A box beside the scene leaves nothing to write: a warning, and the run goes on.
    assert!(!root.join(folder).join("point_cloud.glb").exists());
    let metrics = rows(&root.join("metrics.jsonl"));
    let told = |words: &str| metrics.iter().any(|row| row.to_string().contains(words));
    assert!(told("point_cloud.glb is not written: no Gaussian lies in the crop box"));
    assert!(told("point_cloud.spz"), "the save names its files");
}
