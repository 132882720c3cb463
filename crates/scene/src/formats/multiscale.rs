//! Multi-scale Blender data sets: `metadata.json` beside folders of RGBA images at several sizes.
//!
//! The file has one object a split with parallel lists: `file_path`, `cam2world` (OpenGL axes), `focal`, `width`,
//! `height`, `label`. Training uses the full-size images only, those with label 0 or, where labels are missing, those
//! whose name ends in `d0`; testing uses all sizes. A `val` split is passed over. There are no points.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::json;
use super::lens::{Distortion, Focal, Lens};
use super::posed::{PosedImage, from_opengl, safe_name};
use crate::SceneError;
use crate::view::without_extension;

/// The file that marks such a data set.
pub(crate) const FILE: &str = "metadata.json";

const EXPORT_AGAIN: &str = "write the data set again";

#[derive(Deserialize)]
struct Set {
    file_path: Vec<String>,
    cam2world: Vec<Pose>,
    focal: Vec<f64>,
    width: Vec<f64>,
    height: Vec<f64>,
    label: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Pose(#[serde(deserialize_with = "json::pose")] Vec<[f64; 4]>);

/// Images of the training split at full size, and of the test split if there is one.
pub(crate) fn read(path: &Path) -> Result<(Vec<PosedImage>, Option<Vec<PosedImage>>), SceneError> {
    let expected = "expected the lists file_path, cam2world, focal, width and height for each split";
    let mut sets: BTreeMap<String, Option<Set>> = json::read(path, expected)?;
    let mut take = |name: &str| sets.remove(name).flatten();
    let train = take("train").ok_or_else(|| SceneError::malformed(path, "train", "no such split", EXPORT_AGAIN))?;
    let test = take("test");
    let train = images(path, "train", &train, true)?;
    let test = test.map(|set| images(path, "test", &set, false)).transpose()?;
    Ok((train, test))
}

fn images(path: &Path, name: &str, set: &Set, full_size_only: bool) -> Result<Vec<PosedImage>, SceneError> {
    let count = set.file_path.len();
    let labels = set.label.as_ref().map_or(count, Vec::len);
    for (what, len) in [
        ("cam2world", set.cam2world.len()),
        ("focal", set.focal.len()),
        ("width", set.width.len()),
        ("height", set.height.len()),
        ("label", labels),
    ] {
        if len != count {
            let found = format!("{len} entries where file_path has {count}");
            return Err(SceneError::malformed(
                path,
                format!("{name}.{what}"),
                found,
                EXPORT_AGAIN,
            ));
        }
    }
    let mut images = Vec::with_capacity(count);
    for (index, file) in set.file_path.iter().enumerate() {
        let image = safe_name(path, file)?;
        let full_size = match &set.label {
            Some(labels) => labels[index] == 0.0,
            None => without_extension(&image).ends_with("d0"),
        };
        if full_size_only && !full_size {
            continue;
        }
        let damaged = |what: &str, found: String| {
            SceneError::malformed(path, format!("{name}.{what}[{index}]"), found, EXPORT_AGAIN)
        };
        let (rotation, translation) = from_opengl(&set.cam2world[index].0).ok_or_else(|| {
            damaged(
                "cam2world",
                "a matrix that is not a finite rotation and translation".to_owned(),
            )
        })?;
        let side = |what: &str, value: f64| {
            let limit = f64::from(crate::resolution::MAX_SIDE_PX);
            let whole = value >= 1.0 && value <= limit && value.fract() == 0.0;
            whole
                .then_some(value as u64)
                .ok_or_else(|| damaged(what, value.to_string()))
        };
        let lens = Lens {
            model: "SIMPLE_PINHOLE",
            size: Some([side("width", set.width[index])?, side("height", set.height[index])?]),
            focal: Focal::Pixels([set.focal[index]; 2]),
            centre: None,
            distortion: Distortion::None,
        };
        if !lens.is_sane() {
            return Err(damaged("focal", set.focal[index].to_string()));
        }
        images.push(PosedImage {
            name: image,
            rotation,
            translation,
            lens,
        });
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    const LOOK: &str = "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3],[0,0,0,1]]";

    fn set(names: &[&str], label: &str) -> String {
        let list = |value: &str| vec![value; names.len()].join(",");
        format!(
            r#"{{"file_path":{names:?},"cam2world":[{}],"focal":[{}],"width":[{}],"height":[{}]{label},"near":[{}]}}"#,
            list(LOOK),
            list("500.5"),
            list("80"),
            list("60"),
            list("2")
        )
    }

    #[test]
    fn training_takes_full_size_and_testing_all() {
        let folder = Scratch::new();
        let names = ["train/r_0_d0.png", "train/r_0_d1.png", "train/r_1_d0.png"];
        let by_name = format!(
            r#"{{"train":{},"test":{},"val":null}}"#,
            set(&names, ""),
            set(&["test/r_0_d3.png"], "")
        );
        let (train, test) = read(&folder.write(FILE, by_name)).unwrap();
        let names_of = |images: &[PosedImage]| images.iter().map(|i| i.name.clone()).collect::<Vec<_>>();
        assert_eq!(names_of(&train), ["train/r_0_d0.png", "train/r_1_d0.png"]);
        assert_eq!(names_of(&test.unwrap()), ["test/r_0_d3.png"]);
        assert_eq!(train[0].translation, [-2.0, 3.0, 5.0]);
        assert_eq!(train[0].lens.focal, Focal::Pixels([500.5; 2]));
        let by_label = format!(r#"{{"train":{}}}"#, set(&names, r#","label":[0,1,2]"#));
        let (train, test) = read(&folder.write(FILE, by_label)).unwrap();
        assert_eq!(
            (names_of(&train), test.is_none()),
            (vec!["train/r_0_d0.png".to_owned()], true)
        );
    }

    #[test]
    fn damage_is_named() {
        let folder = Scratch::new();
        let fails = |text: String, needle: &str| {
            let message = read(&folder.write(FILE, text)).unwrap_err().to_string();
            assert!(
                message.contains(FILE) && message.contains(needle),
                "{needle}: {message}"
            );
        };
        let train = |text: String| format!(r#"{{"train":{text}}}"#);
        let good = set(&["a_d0.png"], "");
        fails("{}".into(), "train");
        fails("[1, 2]".into(), "line 1");
        fails(train(good.replace("[80]", "[80, 80]")), "width: 2 entries");
        fails(train(good.replace("[80]", "[80.5]")), "width[0]: 80.5");
        fails(train(good.replace("[80]", "[1e12]")), "width[0]");
        fails(train(good.replace("500.5", "-1")), "focal[0]");
        fails(train(good.replace("500.5", "\"x\"")), "line 1");
        fails(train(good.replace("[1,0,0,2]", "[3,0,0,2]")), "cam2world[0]");
        fails(train(good.replace("a_d0", "../a_d0")), "leaves the image folder");
    }
}
