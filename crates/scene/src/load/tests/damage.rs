//! Photos that cannot be opened or decoded.

use super::*;

#[cfg(unix)]
#[test]
fn what_cannot_be_opened_is_named() {
    use std::os::unix::fs::symlink;
    // a file where the scene's folder should be
    let folder = Scratch::new();
    let file = folder.write("scene", "not a folder");
    let error = load(&file, &all_views()).unwrap_err().to_string();
    assert!(error.ends_with("scene is a file, and a scene is a folder"), "{error}");
    // a link to nothing in its place
    symlink(folder.path().join("absent"), folder.path().join("dangling")).unwrap();
    let error = load(&folder.path().join("dangling"), &all_views())
        .unwrap_err()
        .to_string();
    assert!(error.contains("dangling"), "{error}");
    // a file where the image folder should be
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    folder.write("images", "not a folder");
    let error = message(&folder);
    assert!(
        error.contains("none of its 1 images is there") && error.contains("images is not a folder"),
        "{error}"
    );
    // a dangling image counts as missing
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png", "b.png"]);
    grey(&folder, "images/b.png", 40, 30);
    symlink(folder.path().join("absent.png"), folder.path().join("images/a.png")).unwrap();
    let scene = load(folder.path(), &all_views()).unwrap();
    assert_eq!(scene.missing, ["a.png"]);
    // a folder where an image or a model file should be
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    folder.write("images/a.png/x", "");
    assert!(message(&folder).contains("a.png (it is a folder)"));
    std::fs::remove_file(folder.path().join("sparse/0/images.txt")).unwrap();
    folder.write("sparse/0/images.txt/x", "");
    let error = message(&folder);
    assert!(error.contains("images.txt: it is a folder"), "{error}");
    // a model without its list of images
    std::fs::remove_dir_all(folder.path().join("sparse/0/images.txt")).unwrap();
    let error = message(&folder);
    assert!(error.contains("cannot open") && error.contains("images.txt"), "{error}");
}

#[test]
fn whatever_cannot_be_decoded_is_named_and_left_out() {
    let folder = Scratch::new();
    let names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"];
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &names);
    let whole = jpeg_with_orientation(40, 30, 0);
    folder.write("images/a.jpg", &whole);
    folder.write("images/b.jpg", "");
    folder.write("images/c.jpg", "a text");
    folder.write("images/d.jpg", &whole[..20]);
    folder.write("images/e.jpg/x", "");
    let scene = load(folder.path(), &all_views()).unwrap();
    assert_eq!(scene.train.len(), 1);
    assert_eq!(scene.undecodable, ["b.jpg", "c.jpg", "d.jpg", "e.jpg"]);
    let reported = scene
        .warnings
        .iter()
        .find(|warning| warning.contains("cannot be decoded"))
        .unwrap();
    assert!(
        reported.starts_with("4 of 5 images in ") && reported.contains("b.jpg (the file is empty)"),
        "{reported}"
    );
    assert!(
        reported.contains("and 1 more; PNG, JPEG, WebP, TIFF and EXR are read"),
        "{reported}"
    );
    // none is left
    std::fs::remove_file(folder.path().join("images/a.jpg")).unwrap();
    folder.write("images/a.jpg", &whole[..20]);
    let error = message(&folder);
    assert!(
        error.contains("none of its 5 images can be decoded: a.jpg ("),
        "{error}"
    );
}

/// A named pipe among the images would be waited for until somebody writes.
#[cfg(target_os = "linux")]
#[test]
fn pipes_among_the_images_are_left_out_at_once() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png", "b.png"]);
    grey(&folder, "images/a.png", 40, 30);
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("images/b.png"))
        .status();
    assert!(made.unwrap().success());
    let scene = load(folder.path(), &all_views()).unwrap();
    assert_eq!(scene.undecodable, ["b.png"]);
}

/// Cut behind its header, a JPEG is found out when it is decoded: nobody trains on the grey that decoders fill in.
#[test]
fn cut_jpeg_files_are_no_photos() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 320 240 300 300 160 120", &["a.jpg", "b.jpg"]);
    let whole = jpeg_with_orientation(320, 240, 0);
    folder.write("images/a.jpg", &whole);
    folder.write("images/b.jpg", &whole[..whole.len() / 2]);
    let scene = load(folder.path(), &all_views()).unwrap();
    let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    assert!(store.get(ViewId { split, index: 0 }).is_ok());
    let error = store.get(ViewId { split, index: 1 }).unwrap_err().to_string();
    assert!(
        error.contains("b.jpg: the file ends before its picture does"),
        "{error}"
    );
}
