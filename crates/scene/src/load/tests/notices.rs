//! What is said of a data set that people named a little wrong, or whose photos are odd.

use super::*;
use crate::formats::unknown;
use crate::load::notices::Unreadable;

/// A data set of three photos.
fn scene() -> Scratch {
    let folder = Scratch::new();
    let names = ["a.png", "b.png", "c.png"];
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &names);
    for name in names {
        grey(&folder, &format!("images/{name}"), 40, 30);
    }
    folder
}

#[test]
fn a_part_of_a_data_set_names_the_whole() {
    let folder = scene();
    for part in ["images", "sparse", "sparse/0"] {
        let path = folder.path().join(part);
        match load(&path, &all_views()) {
            Err(SceneError::PartOfScene { path: named, scene }) => {
                assert_eq!((named, scene.as_path()), (path, folder.path()));
            }
            other => panic!("{part}: {:?}", other.map(|scene| scene.root)),
        }
    }
    // photos beside the model, in a folder of that name
    let alone = Scratch::new();
    write_model(&alone, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    grey(&alone, "sparse/a.png", 40, 30);
    assert_eq!(load(&alone.path().join("sparse"), &all_views()).unwrap().train.len(), 1);
}

#[test]
fn a_folder_that_may_not_be_read_is_no_reason_for_colmap() {
    let denied = |wanted: &'static str| {
        let look = move |folder: &Path| match folder.ends_with(wanted) {
            true => Err(std::io::ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        };
        unknown::refused(Path::new("garden"), &look).map(|error| error.to_string().replace('\\', "/"))
    };
    assert_eq!(
        denied("sparse").unwrap(),
        "cannot open garden/sparse: permission denied"
    );
    assert!(denied("0").unwrap().starts_with("cannot open garden/sparse/0"));
    assert!(denied("images").is_none());
}

#[test]
fn photos_that_may_not_be_read_are_no_broken_photos() {
    let reported = |kinds: &[std::io::ErrorKind]| {
        let mut unreadable = Unreadable::default();
        for (n, kind) in kinds.iter().enumerate() {
            let error = SceneError::io(Path::new("x"), "open", (*kind).into());
            unreadable.push(format!("{n}.jpg"), &error);
        }
        format!("{}: {}", unreadable.what(), unreadable.reported())
    };
    use std::io::ErrorKind::{InvalidData, PermissionDenied};
    assert_eq!(
        reported(&[PermissionDenied]),
        "read: 0.jpg (permission denied); give this user the right to read them"
    );
    for kinds in [[PermissionDenied, InvalidData], [InvalidData, PermissionDenied]] {
        assert!(reported(&kinds).starts_with("decoded: ") && reported(&kinds).contains("JPEG"));
    }
}

#[test]
fn widths_above_those_of_photos_are_told() {
    let folder = scene();
    let reported = |resolution| {
        let warnings = load(folder.path(), &at(resolution)).unwrap().warnings;
        warnings
            .into_iter()
            .filter(|text| text.contains("enlarged"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reported(Resolution::Width(64)),
        [
            "3 of 3 photos are enlarged to the width asked for, such as a.png of 40 px; `-r 1` trains on photos as they are"
        ]
    );
    for well in [Resolution::Width(40), Resolution::Width(20), Resolution::Auto] {
        assert!(reported(well).is_empty());
    }
}

#[test]
fn all_photos_and_masks_of_another_shape_are_named() {
    let folder = scene();
    grey(&folder, "images/a.png", 30, 40);
    grey(&folder, "images/c.png", 20, 40);
    let error = message(&folder).replace('\\', "/");
    assert!(
        error.contains("images/a.png is 30x40, but its camera is 40x30, which is another aspect ratio, as with 2 photos: a.png, c.png;"),
        "{error}"
    );
    for name in ["a.png", "c.png"] {
        grey(&folder, &format!("images/{name}"), 40, 30);
        grey(&folder, &format!("masks/{name}"), 30, 40);
    }
    let options = SceneOptions {
        masks: crate::MaskChoice::Auto,
        ..all_views()
    };
    let error = load(folder.path(), &options).unwrap_err().to_string();
    assert!(
        error.contains("is another aspect ratio, as with 2 masks: a.png, c.png;"),
        "{error}"
    );
}

#[test]
fn a_list_of_held_out_views_that_is_not_there_is_told() {
    let folder = scene();
    let reported = |file: &str| {
        let options = SceneOptions {
            hold_out: HoldOut::Listed(file.into()),
            ..SceneOptions::default()
        };
        let error = load(folder.path(), &options).unwrap_err().to_string();
        error
            .replace(&folder.path().display().to_string(), "D")
            .replace('\\', "/")
    };
    assert_eq!(
        reported("sparse/0/test.txt"),
        "0 holds out the views that D/sparse/0/test.txt names, and there is no such file"
    );
    assert_eq!(
        reported("absent.txt"),
        "D/absent.txt, which is to name the held-out views, is not there"
    );
}
