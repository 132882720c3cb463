//! Blender / NeRF-synthetic data sets: `transforms_train.json`, `transforms_test.json`, RGBA images.
//!
//! Owns the change of axes: the files hold camera-to-world matrices with OpenGL axes (x right, y up, z backward),
//! the engine wants world-to-camera with y down and z forward. There are no points.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;

use super::SceneError;
use super::posed::{Lens, PosedImage, fits_f32, safe_name};

/// The file that marks such a data set.
pub(super) const TRAIN_FILE: &str = "transforms_train.json";
/// The held-out frames; optional.
pub(super) const TEST_FILE: &str = "transforms_test.json";

/// Largest transforms file read, bytes: about 100 000 frames.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// How far a pose's axes may be from unit length and right angles.
const RIGID_TOLERANCE: f64 = 1e-3;

#[derive(Deserialize)]
struct Transforms {
    /// Horizontal field of view, radians.
    camera_angle_x: f64,
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    file_path: String,
    transform_matrix: [[f64; 4]; 4],
}

/// Reads the frames of one transforms file. Names get `.png` where they have no image extension.
pub(super) fn read(path: &Path) -> Result<Vec<PosedImage>, SceneError> {
    let file = File::open(path).map_err(|e| SceneError::io(path, "open", e))?;
    let bytes = file.metadata().map_err(|e| SceneError::io(path, "inspect", e))?.len();
    if bytes > MAX_JSON_BYTES {
        return Err(SceneError::TooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_JSON_BYTES,
        });
    }
    let transforms: Transforms = serde_json::from_reader(BufReader::new(file)).map_err(|e| {
        let at = format!("line {} column {}", e.line(), e.column());
        SceneError::malformed(
            path,
            at,
            e.to_string(),
            "expected camera_angle_x and frames as NeRF-synthetic has them",
        )
    })?;
    let angle_x = transforms.camera_angle_x;
    if !(angle_x > 1e-4 && angle_x < std::f64::consts::PI - 1e-4) {
        let remedy = "it is the horizontal field of view in radians, between 0 and pi";
        return Err(SceneError::malformed(
            path,
            "camera_angle_x",
            angle_x.to_string(),
            remedy,
        ));
    }
    let mut images = Vec::with_capacity(transforms.frames.len());
    for (index, frame) in transforms.frames.iter().enumerate() {
        let Some((rotation, translation)) = world_to_camera(&frame.transform_matrix) else {
            let found = "a transform_matrix that is not a finite rotation and translation";
            return Err(SceneError::malformed(
                path,
                format!("frame {index}"),
                found,
                "export the cameras again",
            ));
        };
        let mut name = safe_name(path, &frame.file_path)?;
        let extension = Path::new(&name)
            .extension()
            .and_then(|e| e.to_str())
            .map(str::to_ascii_lowercase);
        if !matches!(extension.as_deref(), Some("png" | "jpg" | "jpeg")) {
            name.push_str(".png");
        }
        images.push(PosedImage {
            name,
            rotation,
            translation,
            lens: Lens::FieldOfView { angle_x },
        });
    }
    Ok(images)
}

/// Flips the y and z axes of a camera-to-world matrix and inverts it; `None` when it is not rigid.
fn world_to_camera(matrix: &[[f64; 4]; 4]) -> Option<([[f64; 3]; 3], [f64; 3])> {
    if !matrix.iter().all(|row| fits_f32(row)) {
        return None;
    }
    let flip = [1.0, -1.0, -1.0];
    // the inverse of a rotation is its transpose, so row i of the result is flipped column i
    let rotation: [[f64; 3]; 3] = std::array::from_fn(|axis| std::array::from_fn(|row| flip[axis] * matrix[row][axis]));
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    for a in 0..3 {
        for b in a..3 {
            let want = if a == b { 1.0 } else { 0.0 };
            if (dot(rotation[a], rotation[b]) - want).abs() > RIGID_TOLERANCE {
                return None;
            }
        }
    }
    let [x, y, z] = rotation;
    let cross = [
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    ];
    if dot(cross, z) < 0.0 {
        return None;
    }
    let centre = [matrix[0][3], matrix[1][3], matrix[2][3]];
    Some((rotation, rotation.map(|row| -dot(row, centre))))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::scratch::Scratch;
    use super::*;

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
        fails(transforms("0.7", "a", "[[1,0,0,0],[0,1,0,0],[0,0,1,0]]"), "line 1");
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

    #[test]
    fn huge_files_are_not_read() {
        let folder = Scratch::new();
        let file = folder.write(TRAIN_FILE, "");
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(MAX_JSON_BYTES + 1)
            .unwrap();
        assert!(matches!(read(&file), Err(SceneError::TooLarge { .. })));
    }
}
