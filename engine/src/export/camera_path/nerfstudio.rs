//! Camera paths as nerfstudio's viewer writes them: a camera for every frame.

use std::path::Path;

use serde::Deserialize;

use super::super::json::unmarked;
use super::{MAX_BYTES, MAX_FRAMES, MAX_SIDE_PX, Vec3};
use kiln_scene::Camera;
use kiln_scene::math::{Mat3, dot, sub, transpose};

/// What of such a file says how a frame is seen; the rest is the viewer's own.
#[derive(Deserialize)]
pub(super) struct File {
    render_width: u32,
    render_height: u32,
    #[serde(default)]
    camera_type: Option<String>,
    camera_path: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    camera_to_world: Matrix,
    /// Vertical field of view, degrees.
    fov: f64,
}

/// Four rows of four numbers; axes of the camera are right, up, backwards.
#[derive(Deserialize)]
#[serde(untagged)]
enum Matrix {
    Flat(Vec<f64>),
    Rows(Vec<Vec<f64>>),
}

/// How nerfstudio moved a scene before it trained it: `p' = scale (R p + t)`.
#[derive(Deserialize)]
struct Moved {
    /// R and t, three rows of four.
    transform: [[f64; 4]; 3],
    scale: f64,
}

/// File beside a path that says how the scene was moved.
const MOVED: &str = "dataparser_transforms.json";

impl File {
    /// Cameras of all frames in the world of the photos' poses. They are taken as they are where no `dataparser_transforms.json`
    /// lies beside `path`.
    pub(super) fn cameras(&self, path: &Path) -> Result<Vec<Camera>, String> {
        let size = [self.render_width, self.render_height];
        if size.iter().any(|side| !(1..=MAX_SIDE_PX).contains(side)) {
            return Err(format!(
                "`render_width` x `render_height` is {} x {} pixels, sides of 1 to {MAX_SIDE_PX} are drawn",
                size[0], size[1]
            ));
        }
        if let Some(kind) = self.camera_type.as_deref().filter(|kind| *kind != "perspective") {
            return Err(format!("`camera_type` is `{kind}`, only `perspective` is drawn"));
        }
        if !(1..=MAX_FRAMES).contains(&self.camera_path.len()) {
            return Err(format!(
                "`camera_path` has {} frames, allowed: 1 to {MAX_FRAMES}",
                self.camera_path.len()
            ));
        }
        let moved = Moved::beside(path)?;
        let frames = self.camera_path.iter().enumerate();
        frames
            .map(|(number, frame)| {
                let camera = frame.camera(size, moved.as_ref());
                camera.map_err(|what| format!("frame {number} of `camera_path`: {what}"))
            })
            .collect()
    }
}

impl Moved {
    fn beside(path: &Path) -> Result<Option<Self>, String> {
        let file = path.with_file_name(MOVED);
        let text = match kiln_files::read_text(&file, MAX_BYTES) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("{}: {e}", file.display())),
        };
        let moved: Self = serde_json::from_str(unmarked(&text)).map_err(|e| format!("{}: {e}", file.display()))?;
        let rotation = moved.transform.map(|[x, y, z, _]| [x, y, z]);
        if !(moved.scale > 0.0 && moved.scale.is_finite() && is_rotation(rotation)) {
            return Err(format!(
                "{}: `transform` must be a rotation and a shift, and `scale` above 0",
                file.display()
            ));
        }
        Ok(Some(moved))
    }
}

impl Frame {
    fn camera(&self, [width_px, height_px]: [u32; 2], moved: Option<&Moved>) -> Result<Camera, String> {
        let flat: Vec<f64> = match &self.camera_to_world {
            Matrix::Flat(numbers) => numbers.clone(),
            Matrix::Rows(rows) if rows.iter().all(|row| row.len() == 4) => rows.concat(),
            Matrix::Rows(_) => Vec::new(),
        };
        let Some(rows) = flat.first_chunk::<12>().filter(|_| matches!(flat.len(), 12 | 16)) else {
            return Err("`camera_to_world` must have 3 or 4 rows of 4 numbers".to_owned());
        };
        let row = |r: usize| -> [f64; 4] { std::array::from_fn(|c| rows[4 * r + c]) };
        let rows = [row(0), row(1), row(2)];
        let mut position: Vec3 = rows.map(|row| row[3]);
        let mut to_world: Mat3<f64> = rows.map(|[right, up, back, _]| [right, -up, -back]);
        if !is_rotation(to_world) || !position.iter().all(|v| (*v as f32).is_finite()) {
            return Err("`camera_to_world` must be a rotation and a finite position".to_owned());
        }
        if let Some(moved) = moved {
            let back = transpose(moved.transform.map(|[x, y, z, _]| [x, y, z]));
            let shifted = sub(position.map(|v| v / moved.scale), moved.transform.map(|row| row[3]));
            position = back.map(|row| dot(row, shifted));
            let columns = transpose(to_world).map(|column| back.map(|row| dot(row, column)));
            to_world = transpose(columns);
        }
        if !(self.fov > 0.0 && self.fov < 180.0) {
            return Err(format!("`fov` is {} degrees, allowed: above 0, below 180", self.fov));
        }
        let focal = (0.5 * f64::from(height_px) / (0.5 * self.fov).to_radians().tan()) as f32;
        let rotation = transpose(to_world);
        Ok(Camera {
            width_px,
            height_px,
            fx: focal,
            fy: focal,
            cx: 0.5 * width_px as f32,
            cy: 0.5 * height_px as f32,
            rotation: rotation.map(|row| row.map(|v| v as f32)),
            translation: rotation.map(|row| -dot(row, position) as f32),
            lens: None,
        })
    }
}

/// Whether rows are orthonormal, to a thousandth, and right-handed.
fn is_rotation(m: Mat3<f64>) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
    let products = (0..3).all(|a| (a..3).all(|b| near(dot(m[a], m[b]), f64::from(u8::from(a == b)))));
    products && dot(kiln_scene::math::cross(m[0], m[1]), m[2]) > 0.0
}
