//! `cameras.json`: every view's camera, for viewers and for rendering again.
//!
//! The shape is the one the published 3DGS trainer writes (`id, img_name, width, height, position, rotation, fy, fx`,
//! rotation camera-to-world as rows) plus `cx`, `cy` and `split`. Sizes and lengths are in pixels at training
//! resolution; `img_name` is the stem that evaluation images carry. The shape knows no lens: of a fisheye that was trained through
//! as it is, pose, size, focal lengths and principal point are written, and a reader draws a pinhole.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use kiln_files::read_text;
use serde::{Deserialize, Serialize};

use super::json::unmarked;
use super::{ExportError, write_atomic};
use kiln_scene::math::transpose;
use kiln_scene::{Camera, SceneIndex, View, ViewId, file_safe};

/// Largest file of cameras that is read, bytes: some hundred thousand of them.
const MAX_BYTES: u64 = 64 << 20;
/// Largest image side of a camera that is read, pixels.
const MAX_SIDE_PX: u32 = 16_384;

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
    fn new(id: usize, split: &str, view: &View, camera: &Camera) -> Self {
        Self {
            id,
            img_name: view.id.clone(),
            width: camera.width_px,
            height: camera.height_px,
            position: camera.position(),
            rotation: transpose(camera.rotation),
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
        let rotation = transpose(self.rotation);
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
            lens: None,
        }
    }
}

/// Why a file holds no cameras.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CamerasError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it, and what is expected.
    pub what: String,
}

/// A record as any trainer of this lineage writes it: the published shape has no principal point.
#[derive(Deserialize)]
struct AnyRecord {
    img_name: String,
    width: u32,
    height: u32,
    position: [f32; 3],
    rotation: [[f32; 3]; 3],
    fy: f32,
    fx: f32,
    cx: Option<f32>,
    cy: Option<f32>,
}

/// Reads the records that a run wrote.
///
/// # Errors
/// [`CamerasError`] when the file cannot be read, or holds other records.
pub fn read_camera_records(path: &Path) -> Result<Vec<CameraRecord>, CamerasError> {
    let fail = |what: String| CamerasError {
        path: path.to_owned(),
        what,
    };
    serde_json::from_str(&text_of(path)?).map_err(|e| fail(format!("{e}; the cameras of a run are expected")))
}

fn text_of(path: &Path) -> Result<String, CamerasError> {
    let fail = |what: String| CamerasError {
        path: path.to_owned(),
        what,
    };
    read_text(path, MAX_BYTES).map_err(|e| fail(e.to_string()))
}

/// Reads the cameras of a file in the shape of `cameras.json`, each with a stem for its output file; stems differ from
/// each other. A missing principal point is the image's centre.
///
/// # Errors
/// [`CamerasError`] when the file cannot be read, holds no cameras, or one of them cannot be.
pub fn read_cameras(path: &Path) -> Result<Vec<(String, Camera)>, CamerasError> {
    let fail = |what: String| CamerasError {
        path: path.to_owned(),
        what,
    };
    let records: Vec<AnyRecord> = serde_json::from_str(unmarked(&text_of(path)?)).map_err(|e| {
        fail(format!(
            "{e}; a list of records in the shape of `cameras.json` is expected"
        ))
    })?;
    if records.is_empty() {
        return Err(fail("it holds no camera".to_owned()));
    }
    let mut taken = BTreeSet::new();
    let mut cameras = Vec::with_capacity(records.len());
    for (number, record) in records.into_iter().enumerate() {
        let camera = record
            .camera()
            .map_err(|what| fail(format!("camera {number}: {what}")))?;
        let base = file_safe(&record.img_name);
        let numbered = (2_u32..).map(|n| format!("{base}_{n}"));
        let free = std::iter::once(base.clone()).chain(numbered);
        let stem = free.into_iter().find(|stem| !taken.contains(&stem.to_lowercase()));
        let stem = stem.unwrap_or(base);
        taken.insert(stem.to_lowercase());
        cameras.push((stem, camera));
    }
    Ok(cameras)
}

impl AnyRecord {
    fn camera(&self) -> Result<Camera, String> {
        let sides = 1..=MAX_SIDE_PX;
        if !sides.contains(&self.width) || !sides.contains(&self.height) {
            return Err(format!(
                "{} x {} pixels, sides of 1 to {MAX_SIDE_PX} are drawn",
                self.width, self.height
            ));
        }
        let record = CameraRecord {
            id: 0,
            img_name: String::new(),
            width: self.width,
            height: self.height,
            position: self.position,
            rotation: self.rotation,
            fy: self.fy,
            fx: self.fx,
            cx: self.cx.unwrap_or(0.5 * self.width as f32),
            cy: self.cy.unwrap_or(0.5 * self.height as f32),
            split: String::new(),
        };
        let numbers = [record.fx, record.fy, record.cx, record.cy].into_iter();
        let finite = numbers
            .chain(record.position)
            .chain(record.rotation.into_iter().flatten())
            .all(f32::is_finite);
        if !finite || record.fx <= 0.0 || record.fy <= 0.0 {
            return Err("focal lengths must be above 0 and all numbers finite".to_owned());
        }
        Ok(record.camera())
    }
}

/// The records of a scene's views, training views first.
#[must_use]
pub fn camera_records(scene: &SceneIndex) -> Vec<CameraRecord> {
    camera_records_at(scene, |_, camera| camera.clone())
}

/// The same where `place` puts each camera.
#[must_use]
pub fn camera_records_at(scene: &SceneIndex, place: impl Fn(ViewId, &Camera) -> Camera) -> Vec<CameraRecord> {
    let views = scene.views().enumerate();
    views
        .map(|(number, (id, view))| CameraRecord::new(number, id.split.name(), view, &place(id, &view.camera)))
        .collect()
}

/// Writes `cameras.json`, one camera a line.
///
/// # Errors
/// [`ExportError`] when the file cannot be written.
pub fn write_cameras(path: &Path, records: &[CameraRecord]) -> Result<(), ExportError> {
    write_atomic(path, |file| {
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
    use kiln_scene::SceneOptions;
    use kiln_scratch::Scratch;

    #[test]
    fn file_holds_every_camera_and_gives_it_back() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        let folder = Scratch::new();
        let path = folder.path().join("cameras.json");
        write_cameras(&path, &camera_records(&scene)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<CameraRecord> = serde_json::from_str(&text).unwrap();
        assert_eq!((records.len(), text.lines().count()), (40, 42));
        let marked = folder.write("marked.json", format!("\u{feff}{text}"));
        assert_eq!(read_cameras(&marked).unwrap(), read_cameras(&path).unwrap());
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
        let read = read_cameras(&path).unwrap();
        let written = records.iter().map(|record| (record.img_name.clone(), record.camera()));
        assert!(read.into_iter().eq(written));
    }

    #[test]
    fn cameras_of_other_trainers_and_damaged_ones() {
        let folder = Scratch::new();
        let path = folder.path().join("cameras.json");
        let record = |name: &str, width: i64, fx: f32| {
            format!(
                r#"{{"id": 0, "img_name": "{name}", "width": {width}, "height": 10, "position": [1, 2, 3],
                "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "fy": 20, "fx": {fx}}}"#
            )
        };
        let read = |text: String| {
            std::fs::write(&path, text).unwrap();
            read_cameras(&path)
        };
        let list = [record("../a", 16, 20.0), record("a", 16, 20.0), record("A", 16, 20.0)];
        let cameras = read(format!("[{}]", list.join(","))).unwrap();
        let stems: Vec<_> = cameras.iter().map(|(stem, _)| stem.as_str()).collect();
        assert_eq!(stems, ["_.._a", "a", "A_2"]);
        let camera = &cameras[0].1;
        assert_eq!(
            (camera.cx, camera.cy, camera.translation),
            (8.0, 5.0, [-1.0, -2.0, -3.0])
        );
        for bad in [
            String::new(),
            "[]".to_owned(),
            format!("[{}]", record("a", 0, 20.0)),
            format!("[{}]", record("a", 1 << 20, 20.0)),
            format!("[{}]", record("a", -1, 20.0)),
            format!("[{}]", record("a", 16, 0.0)),
            format!("[{}]", record("a", 16, 20.0).replace("[1, 2, 3]", "[1, 2, 1e39]")),
        ] {
            let text = read(bad.clone()).unwrap_err().to_string();
            assert!(text.contains("cameras.json"), "{bad}: {text}");
        }
    }
}
