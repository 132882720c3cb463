//! Data sets.

use std::io::ErrorKind;
use std::sync::Arc;

use super::{complete, golden, path, system};
use kiln_scene::{MapKind, SceneError};

#[test]
fn data_sets() {
    let images = || path("garden/sparse/0/images.bin");
    let errors = vec![
        SceneError::Io {
            path: path("garden"),
            action: "open",
            reason: Arc::new(system(ErrorKind::PermissionDenied)),
        },
        SceneError::UnknownKind {
            root: path("garden"),
            looked_for: "sparse/, transforms_train.json, metadata.json, transforms.json".to_owned(),
            found: "input, notes.txt".to_owned(),
        },
        SceneError::NoPoses {
            root: path("my garden"),
            photos: 120,
            folder: path("my garden/input"),
            database: None,
        },
        SceneError::NoPoses {
            root: path("garden"),
            photos: 1,
            folder: path("garden"),
            database: Some(path("garden/database.db")),
        },
        SceneError::NotAFolder {
            path: path("garden/images/1.jpg"),
        },
        SceneError::NotAFolder { path: path("1.jpg") },
        SceneError::Film {
            path: path("garden.mp4"),
        },
        SceneError::PartOfScene {
            path: path("garden/images"),
            scene: path("garden"),
        },
        SceneError::ScenesBelow {
            root: path("scenes"),
            first: path("scenes/chair"),
            scenes: "chair, lego, plush and 2 more".to_owned(),
        },
        SceneError::Truncated {
            path: images(),
            what: "a name",
            offset: 4096,
            needed: 64,
            available: 3,
        },
        SceneError::Count {
            path: images(),
            what: "images",
            count: 18_446_744_073_709_551_615,
            fits: 12,
            file_bytes: 900,
        },
        SceneError::Malformed {
            path: path("garden/sparse/0/images.txt"),
            at: "line 7".to_owned(),
            found: "9 fields".to_owned(),
            remedy: "export the model again",
        },
        SceneError::TooLarge {
            path: path("garden/transforms.json"),
            bytes: 5_000_000_000,
            limit: 1_073_741_824,
        },
        SceneError::CameraModel {
            path: path("garden/sparse/0/cameras.bin"),
            camera: "3".to_owned(),
            model: "number 99".to_owned(),
        },
        SceneError::Distortion {
            path: path("garden/images/1.jpg"),
            model: "OPENCV",
        },
        SceneError::LinkOut {
            path: path("garden/images/1.jpg"),
            target: path("/home/me/secret.jpg"),
        },
        SceneError::UnsafeName {
            path: images(),
            name: "../../etc/passwd".to_owned(),
        },
        SceneError::Duplicate {
            path: images(),
            what: "image",
            id: "7".to_owned(),
        },
        SceneError::HoldOutList {
            path: path("garden/sparse/0/test.txt"),
            asked_zero: true,
        },
        SceneError::HoldOutList {
            path: path("garden/tests.txt"),
            asked_zero: false,
        },
        SceneError::NoViews {
            path: path("garden/images"),
            why: "none of the 40 images is there; look at the folder's name".to_owned(),
        },
        SceneError::SizeMismatch {
            path: path("garden/images/1.jpg"),
            width: 840,
            height: 1297,
            camera_width: 1297,
            camera_height: 840,
            all: Vec::new(),
        },
        SceneError::SizeMismatch {
            path: path("garden/images/1.jpg"),
            width: 840,
            height: 1297,
            camera_width: 1297,
            camera_height: 840,
            all: (1..8).map(|n| format!("{n}.jpg")).collect(),
        },
        SceneError::MaskSize {
            mask: path("garden/masks/1.png"),
            mask_px: (640, 640),
            image: path("garden/images/1.jpg"),
            image_px: (1297, 840),
            all: vec!["1.jpg".to_owned(), "2.jpg".to_owned()],
        },
        SceneError::AllMasked {
            path: path("garden/images/1.jpg"),
        },
        SceneError::NoMasks {
            folder: path("garden/masks"),
            images: 185,
            looked_for: "1.png, 1.jpg.png".to_owned(),
        },
        SceneError::NoMaps {
            kind: MapKind::Depth,
            folder: path("garden/depths"),
            images: 162,
            looked_for: "1.png, 1.exr, 1.npy".to_owned(),
        },
        SceneError::Map {
            kind: MapKind::Depth,
            path: path("garden/depths/1.png"),
            detail: "the median point is 40 % off".to_owned(),
        },
        SceneError::NoMaps {
            kind: MapKind::Normal,
            folder: path("garden/normals"),
            images: 162,
            looked_for: "1.png, 1.exr, 1.npy".to_owned(),
        },
        SceneError::Map {
            kind: MapKind::Normal,
            path: path("garden/normals/1.png"),
            detail: "97 % of its normals point away from the camera in the axes `opengl`; set dataset.normals.axes to opencv".to_owned(),
        },
        SceneError::Image {
            path: path("garden/images/1.jpg"),
            detail: "the file ends early".to_owned(),
        },
        SceneError::Resolution(0),
        SceneError::Resolution(3),
        SceneError::NoSuchView("test", 9),
    ];
    let examples = complete!(
        SceneError,
        errors,
        [
            Io,
            UnknownKind,
            NoPoses,
            NotAFolder,
            Film,
            PartOfScene,
            ScenesBelow,
            Truncated,
            Count,
            Malformed,
            TooLarge,
            CameraModel,
            Distortion,
            LinkOut,
            UnsafeName,
            Duplicate,
            HoldOutList,
            NoViews,
            SizeMismatch,
            MaskSize,
            AllMasked,
            NoMasks,
            NoMaps,
            Map,
            Image,
            Resolution,
            NoSuchView,
        ]
    );
    golden("scene", examples);
}
