//! `cameras.json`: every view's camera, for viewers and for rendering again.
//!
//! The shape is the one the published 3DGS trainer writes (`id, img_name, width, height, position, rotation, fy, fx`,
//! rotation camera-to-world as rows) plus `cx`, `cy` and `split`. Sizes and lengths are in pixels at training
//! resolution; `img_name` is the stem that evaluation images carry.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ExportError, write_atomic};
use crate::scene::{Camera, SceneIndex, View};

/// One camera of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CameraRecord {
    /// Position in the file, training views first.
    pub id: usize,
    /// Stem of the view's output files.
    pub img_name: String,
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// Camera centre in world space.
    pub position: [f32; 3],
    /// Camera-to-world rotation, rows.
    pub rotation: [[f32; 3]; 3],
    /// Vertical focal length, pixels.
    pub fy: f32,
    /// Horizontal focal length, pixels.
    pub fx: f32,
    /// Horizontal principal point, pixels; the first pixel's centre is at 0.5.
    pub cx: f32,
    /// Vertical principal point, pixels.
    pub cy: f32,
    /// `train` or `test`.
    pub split: String,
}

impl CameraRecord {
    fn new(id: usize, split: &str, view: &View) -> Self {
        let camera = &view.camera;
        Self {
            id,
            img_name: view.id.clone(),
            width: camera.width_px,
            height: camera.height_px,
            position: camera.position(),
            rotation: transposed(camera.rotation),
            fy: camera.fy,
            fx: camera.fx,
            cx: camera.cx,
            cy: camera.cy,
            split: split.to_owned(),
        }
    }

    /// The camera this record describes.
    #[must_use]
    pub fn camera(&self) -> Camera {
        let rotation = transposed(self.rotation);
        let dot = |row: [f32; 3]| row.iter().zip(self.position).map(|(a, b)| a * b).sum::<f32>();
        Camera {
            width_px: self.width,
            height_px: self.height,
            fx: self.fx,
            fy: self.fy,
            cx: self.cx,
            cy: self.cy,
            rotation,
            translation: rotation.map(|row| -dot(row)),
        }
    }
}

fn transposed(matrix: [[f32; 3]; 3]) -> [[f32; 3]; 3] {
    std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
}

/// The records of a scene's views, training views first.
#[must_use]
pub fn camera_records(scene: &SceneIndex) -> Vec<CameraRecord> {
    let views = scene.views().enumerate();
    views
        .map(|(number, (id, view))| CameraRecord::new(number, id.split.name(), view))
        .collect()
}

/// Writes `cameras.json`, one camera a line.
///
/// # Errors
/// [`ExportError`] when the file cannot be written.
pub fn write_cameras(path: &Path, scene: &SceneIndex) -> Result<(), ExportError> {
    write_atomic(path, |file| {
        let records = camera_records(scene);
        for (index, record) in records.iter().enumerate() {
            file.write_all(if index == 0 { b"[\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *file, record)?;
        }
        file.write_all(b"\n]\n")
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::SceneOptions;
    use crate::scene::scratch::Scratch;

    #[test]
    fn file_holds_every_camera_and_gives_it_back() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        let folder = Scratch::new();
        let path = folder.path().join("cameras.json");
        write_cameras(&path, &scene).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<CameraRecord> = serde_json::from_str(&text).unwrap();
        assert_eq!((records.len(), text.lines().count()), (40, 42));
        assert_eq!(
            (records[0].split.as_str(), records[0].img_name.as_str()),
            ("train", "view_001")
        );
        assert_eq!((records[35].split.as_str(), records[35].id), ("test", 35));
        for (record, (_, view)) in records.iter().zip(scene.views()) {
            let camera = record.camera();
            assert_eq!(
                (camera.rotation, camera.fx, camera.cy),
                (view.camera.rotation, view.camera.fx, view.camera.cy)
            );
            for (a, b) in camera.translation.iter().zip(view.camera.translation) {
                assert!((a - b).abs() < 1e-5);
            }
        }
    }
}
