//! Folders from elsewhere are full of links to a folder that is nobody's business: no command reads from it, writes into it or removes
//! anything of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kiln_tests::projects::MadeProject;
use kiln_tests::runs::{Scratch, kiln};

const SECRET: &str = "SECRET 4711";

/// All that lies in a folder, with the bytes of files and when each was last written.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            if kind.is_dir() {
                folders.push(path.clone());
            }
            let bytes = if kind.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            found.insert(path, (bytes, kind.modified().unwrap()));
        }
    }
    found
}

/// Puts a link in the place of whatever there is.
fn link(to: &Path, at: PathBuf) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&at);
    let _ = fs::remove_dir_all(&at);
    symlink(to, at).unwrap();
}

#[test]
fn nothing_happens_to_a_folder_that_links_lead_to() {
    let scratch = Scratch::new("canary");
    let canary = scratch.join("canary");
    for name in [
        "kept",
        "run.json",
        "project.json",
        "runs/a/run.json",
        "merged/point_cloud.ply",
        "0_0/means_l.webp",
    ] {
        let path = canary.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, SECRET).unwrap();
    }
    let before = listing(&canary);
    let kept = canary.join("kept");

    let project = MadeProject::new(
        &scratch.join("shown/city"),
        &[("b0000", [[None; 2]; 2]), ("b0001", [[None; 2]; 2])],
    );
    project.done("b0000");
    project.done("b0001");
    let model = project
        .block("b0000")
        .join("run/point_cloud/iteration_40/point_cloud.ply");
    let run = project.block("b0001").join("run");
    let merged = project.root.join("merged");
    for name in [
        ".point_cloud.ply.merge",
        ".point_cloud.ply.1-0.tmp",
        ".point_cloud.ply.4294967295-0.tmp",
    ] {
        link(&canary, merged.join(name));
    }
    for name in ["point_cloud.ply", "point_cloud.index.json", "evaluation.json"] {
        link(&kept, merged.join(name));
    }
    let (out, site) = (scratch.join("out"), scratch.join("site"));
    for name in ["a.spz", "a.sog", "a.glb", "a.compressed.ply", ".a.spz.1-0.tmp"] {
        link(&kept, out.join(name));
    }
    for name in ["streamed", ".streamed.1-0.tmp"] {
        link(&canary, out.join(name));
    }
    for (to, name) in [
        (&canary, "runs"),
        (&kept, "index.html"),
        (&kept, "runs.json"),
        (&kept, "kiln-export.json"),
    ] {
        link(to, site.join(name));
    }
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let export = |name: &str, more: &[&str]| {
        let line = [
            "export".to_owned(),
            path(&model),
            "-o".to_owned(),
            path(&out.join(name)),
        ];
        line.into_iter()
            .chain(more.iter().map(|word| (*word).to_owned()))
            .collect::<Vec<_>>()
    };
    let commands = [
        vec!["merge".to_owned(), path(&project.root)],
        export("a.spz", &[]),
        export("a.sog", &[]),
        export("a.glb", &[]),
        export("a.compressed.ply", &[]),
        export("streamed", &["--format", "streamed-sog"]),
        vec![
            "view".to_owned(),
            path(&scratch.join("shown")),
            "--export".to_owned(),
            path(&site),
        ],
    ];
    let check = |line: &[String]| {
        let output = kiln().args(line).output().unwrap();
        let said = [output.stdout, output.stderr]
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat();
        assert!(
            output.status.code().is_some() && !said.contains(SECRET),
            "{line:?}: {said}"
        );
        assert!(
            listing(&canary) == before,
            "{line:?} changed what it has no business with: {said}"
        );
        said
    };
    for line in &commands {
        let said = check(line);
        println!("{line:?}: {said}");
    }
    // What is read of a folder that was sent.
    for name in ["run.json", "metrics.jsonl", "memory.jsonl", "cameras.json", "env.json"] {
        link(&canary.join("run.json"), run.join(name));
    }
    link(&canary, run.join("checkpoints"));
    link(&canary.join("project.json"), project.block("b0000").join("done.json"));
    for line in [
        ["status".to_owned(), path(&project.root)],
        ["inspect".to_owned(), path(&run)],
    ] {
        check(&line);
    }
    let last = &commands[commands.len() - 1];
    check(last);
    // Nothing of it was brought along either.
    for folder in [&out, &site, &merged] {
        for (path, (bytes, _)) in listing(folder) {
            assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", path.display());
        }
    }
}
