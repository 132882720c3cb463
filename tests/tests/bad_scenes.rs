//! The `kiln` program and data sets that are damaged, hostile or unusual: exit 4, the file named, nothing written; and
//! where the first Gaussians come from.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use kiln_tests::runs::{self, Scratch, outcome};

/// A copy of the bundled scene that may be damaged.
fn copy(scratch: &Scratch) -> PathBuf {
    let scene = scratch.join("scene");
    for folder in ["sparse/0", "images"] {
        fs::create_dir_all(scene.join(folder)).unwrap();
        for entry in fs::read_dir(runs::scene().join(folder)).unwrap().flatten() {
            fs::copy(entry.path(), scene.join(folder).join(entry.file_name())).unwrap();
        }
    }
    scene
}

/// Training `scene` must end with exit 4 and all of `words`, and leave no run folder.
fn refused(scratch: &Scratch, scene: &Path, arguments: &[&str], words: &[&str]) {
    let root = scratch.join("run");
    let mut command = runs::kiln();
    command
        .arg("train")
        .arg(scene)
        .arg("-o")
        .arg(&root)
        .args(["--profile", "cpu", "-r", "80"]);
    let (code, text) = outcome(command.args(arguments));
    assert_eq!(code, Some(4), "{words:?}: {text}");
    let said = text.lines().any(|line| line.starts_with("error: "));
    assert!(said && !text.contains("panicked"), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    assert!(!root.exists(), "{words:?} left a run folder");
}

fn patch(file: &Path, at: usize, bytes: &[u8]) {
    let mut data = fs::read(file).unwrap();
    data[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(file, data).unwrap();
}

#[test]
fn damaged_models_end_with_exit_4() {
    type Damage = fn(&Path);
    let cases: [(Damage, &[&str]); 10] = [
        (
            |scene| {
                let file = scene.join("sparse/0/points3D.bin");
                let bytes = fs::read(&file).unwrap();
                fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
            },
            &["points3D.bin", "at most"],
        ),
        (
            |scene| patch(&scene.join("sparse/0/images.bin"), 0, &u64::MAX.to_le_bytes()),
            &["images.bin", "at most"],
        ),
        // a count of 8 bytes, then id and model of the first camera
        (
            |scene| patch(&scene.join("sparse/0/cameras.bin"), 12, &99_u32.to_le_bytes()),
            &["cameras.bin", "number 99", "SIMPLE_PINHOLE"],
        ),
        // a count and the id of the first image, then its rotation
        (
            |scene| patch(&scene.join("sparse/0/images.bin"), 12, &f64::NAN.to_le_bytes()),
            &["images.bin", "finite"],
        ),
        // a count and the id of the first point, then its position
        (
            |scene| patch(&scene.join("sparse/0/points3D.bin"), 16, &f64::NAN.to_le_bytes()),
            &["points3D.bin", "finite"],
        ),
        (
            |scene| fs::remove_dir_all(scene.join("images")).unwrap(),
            &["images.bin", "none of its 40 images"],
        ),
        (
            |scene| {
                for entry in fs::read_dir(scene.join("images")).unwrap().flatten() {
                    fs::write(entry.path(), "no image").unwrap();
                }
            },
            &[
                "none of its 40 images can be decoded",
                "view_000.jpg (",
                "and 37 more",
                "PNG, JPEG, WebP, TIFF and EXR are read",
            ],
        ),
        (
            |scene| fs::remove_file(scene.join("sparse/0/images.bin")).unwrap(),
            &["cannot open", "images.bin"],
        ),
        (
            |scene| fs::remove_dir_all(scene.join("sparse")).unwrap(),
            &[
                "holds no camera poses, only 40 photos",
                "--colmap",
                "colmap feature_extractor",
                "colmap mapper",
            ],
        ),
        (
            |scene| {
                fs::remove_dir_all(scene.join("sparse")).unwrap();
                fs::remove_dir_all(scene.join("images")).unwrap();
            },
            &[
                "an empty folder",
                "sparse/0/cameras.bin",
                "transforms_train.json",
                "metadata.json",
                "transforms.json",
            ],
        ),
    ];
    for (damage, words) in cases {
        let scratch = Scratch::new("bad");
        let scene = copy(&scratch);
        damage(&scene);
        refused(&scratch, &scene, &[], words);
    }
}

#[cfg(unix)]
#[test]
fn links_and_names_out_of_the_scene_end_with_exit_4() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new("bad");
    let scene = copy(&scratch);
    let photo = scene.join("images/view_007.jpg");
    fs::rename(&photo, scratch.join("elsewhere.jpg")).unwrap();
    symlink(scratch.join("elsewhere.jpg"), &photo).unwrap();
    refused(
        &scratch,
        &scene,
        &[],
        &["outside of the data set", "add --set dataset.follow_links=true"],
    );
    let file = scene.join("sparse/0/images.bin");
    let bytes = fs::read(&file).unwrap();
    let at = bytes.windows(12).position(|name| name == b"view_000.jpg").unwrap();
    patch(&file, at, b"../w_000.jpg");
    refused(&scratch, &scene, &[], &["images.bin", "../w_000.jpg"]);
}

#[test]
fn damaged_json_and_point_files_end_with_exit_4() {
    let scratch = Scratch::new("bad");
    let scene = scratch.join("frames");
    fs::create_dir_all(&scene).unwrap();
    let json = scene.join("transforms.json");
    for (text, word) in [
        (format!("{{\"aabb\": {}", "[".repeat(3_000_000)), "EOF while parsing"),
        ("[1, 2]".to_owned(), "line 1"),
        ("{\"frames\": \"none\"}".to_owned(), "line 1"),
        ("{\"frames\": []}".to_owned(), "lists no images"),
        (String::new(), "it is an empty file"),
    ] {
        fs::write(&json, text).unwrap();
        refused(&scratch, &scene, &[], &["transforms.json", word]);
    }
    let points = scratch.join("points.ply");
    let path = points.display().to_string();
    fs::write(&points, "ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n").unwrap();
    refused(
        &scratch,
        &runs::scene(),
        &["--init-ply", &path],
        &["points.ply", "4000000000"],
    );
    fs::remove_file(&points).unwrap();
    refused(
        &scratch,
        &runs::scene(),
        &["--init-ply", &path],
        &["cannot open", "points.ply"],
    );
}

#[test]
fn the_first_gaussians_come_from_where_they_should() {
    let scratch = Scratch::new("init");
    let scene = copy(&scratch);
    let initial = |arguments: &[&str]| {
        let mut command = runs::kiln();
        command
            .arg("plan")
            .arg(&scene)
            .args(["--profile", "cpu", "-r", "80"])
            .args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, rest) = text.split_once("(initial ").unwrap();
        rest.split_once(')').unwrap().0.parse::<u32>().unwrap()
    };
    assert_eq!(initial(&[]), 7000);
    assert_eq!(initial(&["--set", "init.background=0"]), 3500);
    assert_eq!(initial(&["--set", "init.background=100"]), 3600);
    let points = scratch.join("points.ply");
    let rows = "0 0 0 1 2 3\n1 0 0 4 5 6\n0 1 0 7 8 9\n";
    let header = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
        property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n";
    fs::write(&points, format!("{header}{rows}")).unwrap();
    let of_file = ["--init-ply", &points.display().to_string()];
    assert_eq!(initial(&of_file), 3003);
    assert_eq!(initial(&[&of_file[..], &["--set", "init.background=0"]].concat()), 3);
    assert_eq!(initial(&["--set", "init={ kind: random_frustum, count: 700 }"]), 700);
    let most = ["--max-gaussians", "8000"];
    assert_eq!(initial(&most), 5500, "a quarter of the capacity");
    let much = [&most[..], &["--set", "init.background=5000"]].concat();
    let root = scratch.join("run");
    let mut command = runs::kiln();
    command
        .arg("train")
        .arg(&scene)
        .arg("-o")
        .arg(&root)
        .args(["--profile", "cpu"]);
    let (code, text) = outcome(command.args(much));
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("`init.background` is 5000: with 3500 other points"),
        "{text}"
    );
    assert!(
        text.contains("`memory.max_gaussians`, 8000") && !root.exists(),
        "{text}"
    );
    fs::remove_file(scene.join("sparse/0/points3D.bin")).unwrap();
    assert_eq!(initial(&[]), 100_000);
}
