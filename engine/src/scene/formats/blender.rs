//! Blender / NeRF-synthetic data sets: `transforms_train.json`, `transforms_test.json`, RGBA images.
//!
//! Owns the change of axes: the files hold camera-to-world matrices with OpenGL axes (x right, y up, z backward),
//! the engine wants world-to-camera with y down and z forward. There are no points.

use std::path::Path;

use serde::Deserialize;

use super::json;
use super::lens::{Distortion, Focal, Lens};
use super::pairing::is_photo;
use super::posed::{PosedImage, from_opengl, safe_name};
use crate::scene::SceneError;

/// The file that marks such a data set.
pub(in crate::scene) const TRAIN_FILE: &str = "transforms_train.json";
/// The held-out frames; optional.
pub(in crate::scene) const TEST_FILE: &str = "transforms_test.json";

#[derive(Deserialize)]
struct Transforms {
    /// Horizontal field of view, radians.
    camera_angle_x: f64,
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    file_path: String,
    #[serde(deserialize_with = "json::pose")]
    transform_matrix: Vec<[f64; 4]>,
}

/// Reads the frames of one transforms file. Names get `.png` where they have no image extension.
pub(in crate::scene) fn read(path: &Path) -> Result<Vec<PosedImage>, SceneError> {
    let transforms: Transforms = json::read(path, "expected camera_angle_x and frames as NeRF-synthetic has them")?;
    let lens = Lens {
        model: "SIMPLE_PINHOLE",
        size: None,
        focal: Focal::AngleX(transforms.camera_angle_x),
        centre: None,
        distortion: Distortion::None,
    };
    if !lens.is_sane() {
        let remedy = "it is the horizontal field of view in radians, between 0 and pi";
        let found = transforms.camera_angle_x.to_string();
        return Err(SceneError::malformed(path, "camera_angle_x", found, remedy));
    }
    let mut images = Vec::with_capacity(transforms.frames.len());
    for (index, frame) in transforms.frames.iter().enumerate() {
        let Some((rotation, translation)) = from_opengl(&frame.transform_matrix) else {
            let found = "a transform_matrix that is not a finite rotation and translation";
            return Err(SceneError::malformed(
                path,
                format!("frame {index}"),
                found,
                "export the cameras again",
            ));
        };
        let mut name = safe_name(path, &frame.file_path)?;
        if !is_photo(Path::new(&name)) {
            name.push_str(".png");
        }
        images.push(PosedImage {
            name,
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
    use crate::scene::scratch::Scratch;

    fn transforms(angle: &str, path: &str, matrix: &str) -> String {
        format!(r#"{{"camera_angle_x": {angle}, "frames": [{{"file_path": {path:?}, "transform_matrix": {matrix}}}]}}"#)
    }

    const LOOK: &str = "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3],[0,0,0,1]]";

    #[test]
    fn axes_are_flipped_and_the_pose_inverted() {
        let folder = Scratch::new();
        let file = folder.write(TRAIN_FILE, transforms("0.7", "./train/r_0", LOOK));
        let images = read(&file).unwrap();
        assert_eq!(images[0].name, "train/r_0.png");
        // a camera at (2, -5, 3) that looks along +y with z up
        assert_eq!(images[0].rotation, [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]);
        assert_eq!(images[0].translation, [-2.0, 3.0, 5.0]);
        let file = folder.write(TEST_FILE, transforms("0.7", "a.JPG", LOOK));
        assert_eq!(read(&file).unwrap()[0].name, "a.JPG");
    }

    #[test]
    fn bad_files_are_named() {
        let folder = Scratch::new();
        let fails = |text: String, needle: &str| {
            let message = read(&folder.write(TRAIN_FILE, text)).unwrap_err().to_string();
            assert!(message.contains(TRAIN_FILE) && message.contains(needle), "{message}");
        };
        fails("{\"frames\": []}".into(), "camera_angle_x");
        fails(transforms("0.7", "a", LOOK)[..60].into(), "line 1");
        fails(transforms("NaN", "a", LOOK), "line 1");
        fails(transforms("0", "a", LOOK), "field of view");
        fails(transforms("0.7", "../a", LOOK), "leaves the image folder");
        fails(transforms("0.7", "/a", LOOK), "leaves the image folder");
        fails(transforms("0.7", "a", "[[1,0,0,0],[0,1,0,0]]"), "three or four rows");
        fails(transforms("0.7", "a", "[[1,0,0],[0,1,0],[0,0,1]]"), "line 1");
        fails(
            transforms("0.7", "a", "[[2,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
            "frame 0",
        );
        fails(
            transforms("0.7", "a", "[[-1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
            "frame 0",
        );
        fails(
            transforms("0.7", "a", "[[1,0,0,1e39],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
            "frame 0",
        );
        fails("[".repeat(100_000), "line 1");
    }
}
