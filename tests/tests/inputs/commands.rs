//! What the program says and does when photos have no poses yet, or are gone.

use std::fs;

use kiln_tests::captures::{self, Model, copy_photos};
use kiln_tests::runs::{self, Scratch, outcome};
use serde_json::Value;

/// Flags of the GPU have other names in each of COLMAP's versions.
#[test]
fn commands_for_photos_without_poses_hold_in_every_version_of_colmap() {
    let scratch = Scratch::new("commands-photos");
    copy_photos(&scratch.join("photos"));
    let (code, said) = outcome(
        runs::kiln()
            .args(["plan", "photos", "--profile", "cpu"])
            .current_dir(scratch.join("")),
    );
    assert_eq!(code, Some(4), "{said}");
    let commands: Vec<&str> = said
        .lines()
        .filter(|line| line.trim_start().starts_with("colmap "))
        .collect();
    assert_eq!(commands.len(), 3, "{said}");
    for command in commands {
        let mut flags = command.split_whitespace().filter(|word| word.starts_with("--"));
        assert!(
            flags.all(|flag| ["--database_path", "--image_path", "--output_path"].contains(&flag)),
            "{command}"
        );
    }
}

#[test]
fn a_run_keeps_its_test_views_when_a_photo_is_gone() {
    let scratch = Scratch::new("commands-gone");
    let scene = scratch.join("scene");
    copy_photos(&scene);
    Model::bundled().write(&scene.join("sparse/0"), true);
    let trained = captures::train(&scratch, &scene, 10, &["--max-gaussians", "3000"]);
    fs::remove_file(scene.join("images/view_001.jpg")).unwrap();
    let mut command = runs::kiln();
    let output = command
        .args(["eval", "--allow-cpu", "--json"])
        .arg(&trained.run)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("view_001.jpg"), "{said}");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let psnr = rows.pointer("/test/mean/psnr_image");
    assert!(
        (psnr.unwrap().as_f64().unwrap() - trained.psnr).abs() < 1e-3,
        "{rows} {}",
        trained.psnr
    );
}
