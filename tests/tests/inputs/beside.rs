//! What lies beside the data of a scene and has nothing to do with it is not taken; what a person could have meant is named.

use std::fs;
use std::path::Path;

use kiln_scene::{SceneError, SceneIndex, SceneOptions};
use kiln_tests::captures::{Model, copy_photos};
use kiln_tests::runs::{self, Scratch};

/// A file of the bundled scene.
fn bundled(name: &str) -> Vec<u8> {
    fs::read(runs::scene().join(name)).unwrap()
}

fn put(scene: &Path, name: &str, bytes: &[u8]) {
    let path = scene.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn load(scene: &Path) -> SceneIndex {
    SceneIndex::load(scene, &SceneOptions::default()).unwrap()
}

/// What is read of a scene.
fn read(scene: &SceneIndex) -> impl PartialEq + std::fmt::Debug {
    let views = scene
        .views()
        .map(|(id, view)| (id, view.image_path.clone(), view.camera.clone(), view.mask.clone()));
    (views.collect::<Vec<_>>(), scene.points.clone(), scene.extent)
}

#[test]
fn files_that_are_none_of_the_data_are_not_taken() {
    let scratch = Scratch::new("beside");
    let scene = scratch.join("scene");
    copy_photos(&scene);
    Model::bundled().write(&scene.join("sparse/0"), true);
    let plain = load(&scene);
    assert!(plain.warnings.is_empty() && plain.notices.is_empty());
    let photo = bundled("images/view_001.jpg");
    let few = {
        let mut model = Model::bundled();
        model.images.truncate(5);
        model
    };
    let transforms = few.transforms().to_string();
    // Files and what is said of them, nothing where nobody could have meant them.
    let cases: [(&[&str], &[u8], &[&str]); 14] = [
        (
            &[
                ".DS_Store",
                "images/.DS_Store",
                "images/Thumbs.db",
                "images/desktop.ini",
                "sparse/0/.DS_Store",
            ],
            b"x",
            &[],
        ),
        (
            &[
                "__MACOSX/images/._view_001.jpg",
                "images/._view_001.jpg",
                "sparse/0/._cameras.bin",
            ],
            b"\0\x05\x16\x07",
            &[],
        ),
        (
            &[
                "images/@eaDir/view_001.jpg/SYNOPHOTO_THUMB_M.jpg",
                "@eaDir/view_001.jpg",
                ".thumbnails/view_001.jpg",
            ],
            &photo,
            &[],
        ),
        (
            &[
                "thumbnails/view_001.jpg",
                "images/thumbs/view_001.jpg",
                "images/view_999.jpg",
                "images/old/view_001.jpg",
            ],
            &photo,
            &[],
        ),
        (
            &[
                "readme.txt",
                "images/list.txt",
                "film.mp4",
                "images/film.MOV",
                "images/view_001.xmp",
                "a.blend",
                "a.psx",
            ],
            b"x",
            &[],
        ),
        (
            &[
                "sparse/0/cameras.txt.bak",
                "sparse/0/images.bin~",
                "sparse/0/points3D.bin.orig",
                "sparse/backup.zip",
            ],
            b"x",
            &[],
        ),
        (
            &[
                "sparse/0/project.ini",
                "sparse/0/rigs.bin.old",
                "database.db",
                "sparse/0/points3D.las",
                "config.json",
            ],
            b"x",
            &[],
        ),
        (&["images_2/view_001.jpg"], &photo, &[]),
        (
            &[
                "input/view_001.jpg",
                "frames/view_001.jpg",
                "depths/view_001.png",
                "normals/view_001.png",
            ],
            &photo,
            &[],
        ),
        (
            &["masks.txt", "masks/.DS_Store", "masks/._view_001.png"],
            b"x",
            &["no file in", "masks"],
        ),
        (
            &["transforms.json"],
            transforms.as_bytes(),
            &["transforms.json is there too, and not read", "sparse/0"],
        ),
        (
            &["transforms_train.json", "transforms.json"],
            b"{}",
            &["transforms_train.json, transforms.json"],
        ),
        (&["masks/other.png"], &photo, &["no file in", "masks"]),
        (
            &["images/view_001_Mask.gif", "images/dynamic_mask_view_001.png"],
            &photo,
            &["called masks", "dynamic_mask"],
        ),
    ];
    for (files, bytes, said) in cases {
        for file in files {
            put(&scene, file, bytes);
        }
        let found = load(&scene);
        assert!(read(&found) == read(&plain), "{files:?}");
        let told = [found.warnings, found.notices].concat();
        assert_eq!(told.len(), usize::from(!said.is_empty()), "{files:?}: {told:?}");
        for words in said {
            assert!(told[0].contains(words), "{files:?}: {told:?}");
        }
        for file in files {
            fs::remove_file(scene.join(file)).unwrap();
        }
        for folder in ["masks", "images_2"] {
            let _ = fs::remove_dir(scene.join(folder));
        }
    }
    // A second model with fewer photos, and one with as many: the first is read, and the choice named.
    for count in [5, 40] {
        let mut other = Model::bundled();
        other.images.truncate(count);
        other.shift([1.0, 0.0, 0.0]);
        other.write(&scene.join("sparse/1"), true);
        let found = load(&scene);
        assert!(read(&found) == read(&plain));
        assert!(
            found.notices[0].contains("2 models: sparse/0 with 40 images"),
            "{:?}",
            found.notices
        );
    }
}

#[test]
fn the_folder_of_photos_is_that_of_the_photos() {
    let photo = bundled("images/view_001.jpg");
    for (beside, folder, photos) in [
        ("__MACOSX/._NAME", "images", 3),
        ("@eaDir/NAME", "images", 3),
        ("depths/NAME", "images", 3),
        ("Masks/NAME", "images", 3),
        ("images/NAME_mask.png", "images", 3),
        ("images/._NAME", "images", 3),
        ("images_2/NAME", "images", 3),
        ("images/thumbs/NAME", "images", 3),
    ] {
        let scratch = Scratch::new("beside-none");
        let root = scratch.join("scene");
        for n in 0..3 {
            put(&root, &format!("images/{n}.jpg"), &photo);
        }
        // more of them than photos
        for n in 0..5 {
            put(
                &root,
                &beside
                    .replace("NAME_", &format!("{}_", n % 3))
                    .replace("NAME", &format!("{n}.jpg")),
                &photo,
            );
        }
        let Err(SceneError::NoPoses {
            folder: found,
            photos: count,
            ..
        }) = SceneIndex::detect(&root)
        else {
            unreachable!("photos have no poses: {beside}")
        };
        assert_eq!((found, count), (root.join(folder), photos), "{beside}");
    }
}

/// COLMAP takes every picture below a folder for a photo.
#[cfg(unix)]
#[test]
fn colmap_gets_the_photos_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("beside-colmap");
    let (photos, bin) = (scratch.join("photos"), scratch.join("bin"));
    let photo = bundled("images/view_001.jpg");
    for name in ["a.jpg", "b.jpg", "a_mask.png", "._b.jpg", ".thumbs/a.jpg"] {
        put(&photos, name, &photo);
    }
    put(&bin, "colmap", b"#!/bin/sh\necho \"$@\" >> \"$KILN_ASKED\"\n");
    fs::set_permissions(bin.join("colmap"), fs::Permissions::from_mode(0o755)).unwrap();
    let (asked, path) = (scratch.join("asked"), std::env::var("PATH").unwrap());
    let mut command = runs::kiln();
    command
        .args(["train", "--colmap", "--allow-cpu", "--profile", "cpu"])
        .arg(&photos);
    command.arg("-o").arg(scratch.join("run"));
    command
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("KILN_ASKED", &asked);
    let (_, said) = runs::outcome(&mut command);
    assert!(
        said.contains("3 other pictures in ") && said.contains("found no camera poses for the 2 photos"),
        "{said}"
    );
    let list = scratch.join("run-colmap/photos.txt");
    assert_eq!(fs::read_to_string(&list).unwrap(), "a.jpg\nb.jpg\n");
    let asked = fs::read_to_string(asked).unwrap();
    let wanted = format!("--image_list_path {}", list.display());
    assert!(
        asked.contains("feature_extractor") && asked.contains(&wanted),
        "{asked}"
    );
}
