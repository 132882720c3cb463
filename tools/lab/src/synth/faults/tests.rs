//! Scenes with faults, against their truth.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kiln_scene::{SceneIndex, SceneOptions};
use sha2::Digest as _;

use super::super::tests::scratch;
use super::super::{Synthetic, SyntheticKind};
use super::{ExifKind, Faults};

/// A small scene of solids with faults, and its folder.
fn faulty(name: &str, faults: Faults) -> (Synthetic, PathBuf) {
    let root = scratch(name);
    let made = Synthetic {
        kind: SyntheticKind::Solids,
        gaussians: 20,
        size_px: [96, 72],
        views: 9,
        seed: 4,
        samples: 2,
        truth: 50,
        faults,
        ..Synthetic::default()
    };
    made.write(&root).unwrap();
    (made, root)
}

fn truth_of(root: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(root.join("truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&text).unwrap();
    truth["photos"].as_array().unwrap().clone()
}

/// Every file below a folder, by its name there.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

fn pixels(path: &Path) -> Vec<u8> {
    image::open(path).unwrap().into_bytes()
}

/// Photos as they were before there were faults: digests of their pixels.
#[test]
fn without_faults_photos_are_what_they_were() {
    let (_, root) = faulty("plain", Faults::default());
    let made = files(&root);
    let folders: BTreeSet<&Path> = made
        .keys()
        .filter_map(|path| path.iter().next())
        .map(Path::new)
        .collect();
    let names = ["depths", "images", "normals", "sparse", "truth.ply"];
    assert_eq!(folders, names.iter().map(Path::new).collect());
    let mut digest = sha2::Sha256::new();
    for view in 0..9 {
        digest.update(pixels(&root.join(format!("images/view_{view:04}.png"))));
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "2135707eff9fc049b0d42138ff9332e3f1ad68f66e3c8d681f67a8543b900f29");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn faults_are_the_same_for_a_seed_and_leave_all_but_the_photos() {
    let all = Faults {
        movers: Some(0.1),
        drift: Some(0.5),
        exif: ExifKind::True,
        vignetting: Some(0.3),
        response: Some(1.1),
        blur: Some(0.25),
    };
    let ((_, first), (_, second), (_, plain)) = (
        faulty("all-a", all),
        faulty("all-b", all),
        faulty("all-plain", Faults::default()),
    );
    let (made, again, plain_files) = (files(&first), files(&second), files(&plain));
    assert_eq!(made, again);
    for (path, bytes) in &plain_files {
        let kept = made[path] == *bytes;
        assert_eq!(kept, !path.starts_with("images"), "{}", path.display());
        if path.starts_with("images") {
            let clean = Path::new("clean").join(path.file_name().unwrap());
            assert_eq!(made[&clean], *bytes, "{}", path.display());
        }
    }
    let blurred = truth_of(&first)
        .iter()
        .filter(|photo| !photo["blur_px"].is_null())
        .count();
    assert_eq!(blurred, 2, "a quarter of seven");
    // what the engine reads of such a folder is the photos alone
    let scene = SceneIndex::load(&first, &SceneOptions::default()).unwrap();
    assert_eq!(scene.views().count(), 9);
    assert!(scene.train.iter().all(|view| view.mask.is_none()));
    let clean = SceneOptions {
        images: Some("clean".to_owned()),
        ..SceneOptions::default()
    };
    let clean = SceneIndex::load(&first, &clean).unwrap();
    assert!(
        clean
            .views()
            .all(|(_, view)| view.image_path.starts_with(first.join("clean")))
    );
    for root in [first, second, plain] {
        std::fs::remove_dir_all(root).unwrap();
    }
}

#[test]
fn a_photo_is_what_its_camera_makes_of_the_clean_one() {
    let (made, root) = faulty(
        "drift",
        Faults {
            drift: Some(0.5),
            vignetting: Some(0.4),
            response: Some(1.2),
            ..Faults::default()
        },
    );
    let from_srgb = |v: f64| {
        if v <= 0.04045 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    };
    let to_srgb = |v: f64| {
        if v <= 0.003_130_8 {
            12.92 * v
        } else {
            1.055 * v.powf(1.0 / 2.4) - 0.055
        }
    };
    let mut darkest = f64::INFINITY;
    for photo in truth_of(&root) {
        let name = photo["name"].as_str().unwrap();
        let gains: Vec<f64> = photo["gains"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        darkest = darkest.min(gains[1]);
        let (found, clean) = (
            pixels(&root.join("images").join(name)),
            pixels(&root.join("clean").join(name)),
        );
        for (i, (found, clean)) in found.iter().zip(&clean).enumerate() {
            let at = [(i / 3) % 96, i / 3 / 96].map(|at| at as f64 + 0.5);
            let r2 = ((at[0] - 48.0).powi(2) + (at[1] - 36.0).powi(2)) / (48.0_f64.powi(2) + 36.0_f64.powi(2));
            // the clean photo is rounded, by half a level at most
            let byte = |clean: f64| {
                let light = gains[i % 3] * (1.0 - 0.4 * r2) * from_srgb(clean.clamp(0.0, 255.0) / 255.0);
                255.0 * to_srgb(light.min(1.0)).powf(1.2)
            };
            let range = byte(f64::from(*clean) - 0.5) - 0.51..byte(f64::from(*clean) + 0.5) + 0.51;
            assert!(range.contains(&f64::from(*found)), "{name} {i}: {found} of {range:?}");
        }
        let header = std::fs::read(root.join("images").join(name)).unwrap();
        assert!(header.windows(4).any(|four| four == b"eXIf"), "{name}");
        let light = photo["exif"]["seconds"].as_f64().unwrap() * photo["exif"]["iso"].as_f64().unwrap();
        assert!((light - gains[1]).abs() < 1e-9, "{name}: {light}");
    }
    assert!(darkest < 0.8 && made.faults.movers.is_none() && !root.join("movers").exists());
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn figures_show_in_the_share_that_is_asked_for_and_in_no_photo_that_is_held_out() {
    let share = 0.12;
    let (_, root) = faulty(
        "movers",
        Faults {
            movers: Some(share),
            ..Faults::default()
        },
    );
    let (mut sum, mut masks) = (0.0, BTreeSet::new());
    for (view, photo) in truth_of(&root).iter().enumerate() {
        let name = photo["name"].as_str().unwrap();
        let [found, clean] = ["images", "clean"].map(|part| pixels(&root.join(part).join(name)));
        let mask = pixels(&root.join("movers").join(name));
        for (pixel, still) in mask.iter().enumerate() {
            let rgb = 3 * pixel..3 * pixel + 3;
            assert!(*still < 255 || found[rgb.clone()] == clean[rgb], "{name} {pixel}");
        }
        let shown = mask.iter().map(|still| 1.0 - f64::from(*still) / 255.0).sum::<f64>() / mask.len() as f64;
        assert!(
            (shown - photo["movers"].as_f64().unwrap()).abs() < 2e-3,
            "{name}: {shown}"
        );
        if view % 8 == 0 {
            assert!(photo["held_out"] == true && found == clean && shown == 0.0, "{name}");
        } else {
            assert!((shown - share).abs() < 0.02 && found != clean, "{name}: {shown}");
            sum += shown / 7.0;
            masks.insert(mask);
        }
    }
    assert!((sum - share).abs() < 0.005 && masks.len() == 7, "{sum}");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn exif_says_nothing_or_something_else_where_it_is_asked_to() {
    let with = |exif, name| {
        let faults = Faults {
            drift: Some(0.4),
            exif,
            ..Faults::default()
        };
        let (_, root) = faulty(name, faults);
        let truth = truth_of(&root);
        std::fs::remove_dir_all(root).unwrap();
        truth
    };
    assert!(
        with(ExifKind::None, "exif-none")
            .iter()
            .all(|photo| photo["exif"].is_null())
    );
    let apart = |photos: &[serde_json::Value]| {
        let apart = photos
            .iter()
            .map(|photo| (photo["exif"]["stops"].as_f64().unwrap() - photo["stops"].as_f64().unwrap()).abs());
        apart.fold(0.0, f64::max)
    };
    assert!(apart(&with(ExifKind::True, "exif-true")) < 1e-12);
    assert!(apart(&with(ExifKind::Lies, "exif-lies")) > 0.3);
}

#[test]
fn sheets_have_no_faults() {
    let made = Synthetic {
        faults: Faults {
            drift: Some(0.5),
            ..Faults::default()
        },
        ..Synthetic::default()
    };
    let refused = made.write(&scratch("refused")).unwrap_err().to_string();
    assert!(refused.contains("--kind solids"), "{refused}");
}
