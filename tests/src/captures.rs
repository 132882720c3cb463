//! Captures as people bring them, made from the bundled scene: its COLMAP model read, changed and written again in the
//! layouts of other programs. [`train`] trains one for some steps and reads what came out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::runs::{self, Scratch, outcome};

/// A camera of the model: COLMAP's number of its kind, size in pixels, parameters.
#[derive(Clone, Debug)]
pub struct ModelCamera {
    /// COLMAP's number.
    pub id: u32,
    /// Number of the camera model, 1 for PINHOLE.
    pub model: u32,
    /// Width and height, pixels.
    pub size_px: [u64; 2],
    /// In COLMAP's order.
    pub parameters: Vec<f64>,
}

/// A posed photo: world to camera.
#[derive(Clone, Debug)]
pub struct ModelImage {
    /// COLMAP's number.
    pub id: u32,
    /// Rotation w, x, y, z.
    pub quaternion: [f64; 4],
    /// Translation.
    pub translation: [f64; 3],
    /// Number of its camera.
    pub camera: u32,
    /// Name below the folder of photos.
    pub name: Vec<u8>,
    /// Keypoints: x, y, number of the point or -1.
    pub keypoints: Vec<(f64, f64, i64)>,
}

/// A point of the sparse model.
#[derive(Clone, Debug)]
pub struct ModelPoint {
    /// COLMAP's number.
    pub id: u64,
    /// World units.
    pub position: [f64; 3],
    /// sRGB.
    pub color: [u8; 3],
    /// Reprojection error, pixels.
    pub error: f64,
    /// Image number and place among its keypoints.
    pub track: Vec<(u32, u32)>,
}

/// A COLMAP model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Cameras in file order.
    pub cameras: Vec<ModelCamera>,
    /// Photos in file order.
    pub images: Vec<ModelImage>,
    /// Points in file order.
    pub points: Vec<ModelPoint>,
}

/// Numbers of parameters by camera model.
const PARAMETERS: [usize; 18] = [3, 4, 4, 5, 8, 8, 12, 5, 4, 5, 12, 16, 4, 5, 3, 4, 6, 2];

/// Little-endian values, one after the other.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().expect("a whole model");
        self.0 = rest;
        *head
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }

    fn f64s<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.f64())
    }

    fn name(&mut self) -> Vec<u8> {
        let end = self.0.iter().position(|byte| *byte == 0).expect("a name that ends");
        let name = self.0[..end].to_vec();
        self.0 = &self.0[end + 1..];
        name
    }
}

impl Model {
    /// The model of the bundled scene: one PINHOLE camera of 256 x 192, 40 photos.
    ///
    /// # Panics
    /// When it is damaged.
    #[must_use]
    pub fn bundled() -> Self {
        let read = |name: &str| fs::read(runs::scene().join("sparse/0").join(name)).expect("the bundled scene");
        let bytes = read("cameras.bin");
        let mut at = Bytes(&bytes);
        let cameras = (0..at.u64())
            .map(|_| {
                let (id, model, size_px) = (at.u32(), at.u32(), [at.u64(), at.u64()]);
                let parameters = (0..PARAMETERS[model as usize]).map(|_| at.f64()).collect();
                ModelCamera {
                    id,
                    model,
                    size_px,
                    parameters,
                }
            })
            .collect();
        let bytes = read("images.bin");
        let mut at = Bytes(&bytes);
        let images = (0..at.u64())
            .map(|_| ModelImage {
                id: at.u32(),
                quaternion: at.f64s(),
                translation: at.f64s(),
                camera: at.u32(),
                name: at.name(),
                keypoints: (0..at.u64()).map(|_| (at.f64(), at.f64(), at.u64() as i64)).collect(),
            })
            .collect();
        let bytes = read("points3D.bin");
        let mut at = Bytes(&bytes);
        let points = (0..at.u64())
            .map(|_| ModelPoint {
                id: at.u64(),
                position: at.f64s(),
                color: at.take(),
                error: at.f64(),
                track: (0..at.u64()).map(|_| (at.u32(), at.u32())).collect(),
            })
            .collect();
        Self {
            cameras,
            images,
            points,
        }
    }

    /// Moves the world by `shift`, world units.
    pub fn shift(&mut self, shift: [f64; 3]) {
        for image in &mut self.images {
            let r = rotation(image.quaternion);
            for (axis, row) in r.iter().enumerate() {
                image.translation[axis] -= row.iter().zip(shift).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        for point in &mut self.points {
            for (value, by) in point.position.iter_mut().zip(shift) {
                *value += by;
            }
        }
    }

    /// Moves the centre of a photo's camera by `shift`, world units, and forgets its keypoints' points.
    pub fn move_camera(&mut self, image: usize, shift: [f64; 3]) {
        let image = &mut self.images[image];
        let r = rotation(image.quaternion);
        for (axis, row) in r.iter().enumerate() {
            image.translation[axis] -= row.iter().zip(shift).map(|(a, b)| a * b).sum::<f64>();
        }
        for keypoint in &mut image.keypoints {
            keypoint.2 = -1;
        }
        let id = image.id;
        for point in &mut self.points {
            point.track.retain(|(of, _)| *of != id);
        }
    }

    /// Writes `cameras.bin`, `images.bin` and, when `points` is set, `points3D.bin` into `folder`.
    ///
    /// # Panics
    /// When the disk refuses.
    pub fn write(&self, folder: &Path, points: bool) {
        fs::create_dir_all(folder).expect("a folder");
        let mut out = (self.cameras.len() as u64).to_le_bytes().to_vec();
        for camera in &self.cameras {
            out.extend(camera.id.to_le_bytes());
            out.extend(camera.model.to_le_bytes());
            out.extend(camera.size_px.iter().flat_map(|side| side.to_le_bytes()));
            out.extend(camera.parameters.iter().flat_map(|value| value.to_le_bytes()));
        }
        fs::write(folder.join("cameras.bin"), &out).expect("a file");
        out = (self.images.len() as u64).to_le_bytes().to_vec();
        for image in &self.images {
            out.extend(image.id.to_le_bytes());
            let pose = image.quaternion.iter().chain(&image.translation);
            out.extend(pose.flat_map(|value| value.to_le_bytes()));
            out.extend(image.camera.to_le_bytes());
            out.extend(&image.name);
            out.push(0);
            out.extend((image.keypoints.len() as u64).to_le_bytes());
            for (x, y, point) in &image.keypoints {
                out.extend(x.to_le_bytes());
                out.extend(y.to_le_bytes());
                out.extend(point.to_le_bytes());
            }
        }
        fs::write(folder.join("images.bin"), &out).expect("a file");
        if !points {
            return;
        }
        out = (self.points.len() as u64).to_le_bytes().to_vec();
        for point in &self.points {
            out.extend(point.id.to_le_bytes());
            out.extend(point.position.iter().flat_map(|value| value.to_le_bytes()));
            out.extend(point.color);
            out.extend(point.error.to_le_bytes());
            out.extend((point.track.len() as u64).to_le_bytes());
            for (image, place) in &point.track {
                out.extend(image.to_le_bytes());
                out.extend(place.to_le_bytes());
            }
        }
        fs::write(folder.join("points3D.bin"), &out).expect("a file");
    }

    /// The model as `transforms.json` of one pinhole camera, photos below `images/`; a test changes it before it is written.
    ///
    /// # Panics
    /// When a name is no text.
    #[must_use]
    pub fn transforms(&self) -> Value {
        let camera = &self.cameras[0];
        let [fx, fy, cx, cy] = camera.parameters[..] else {
            panic!("a pinhole");
        };
        let frames: Vec<Value> = self.images.iter().map(ModelImage::frame).collect();
        json!({
            "camera_model": "PINHOLE", "fl_x": fx, "fl_y": fy, "cx": cx, "cy": cy,
            "w": camera.size_px[0], "h": camera.size_px[1], "frames": frames,
        })
    }

    /// The points as an ascii PLY with colours of `uchar`.
    #[must_use]
    pub fn points_ply(&self) -> String {
        let mut text = format!("ply\nformat ascii 1.0\nelement vertex {}\n", self.points.len());
        for name in ["x", "y", "z"] {
            let _ = writeln!(text, "property float {name}");
        }
        for name in ["red", "green", "blue"] {
            let _ = writeln!(text, "property uchar {name}");
        }
        text.push_str("end_header\n");
        for point in &self.points {
            let ([x, y, z], [r, g, b]) = (point.position, point.color);
            let _ = writeln!(text, "{x} {y} {z} {r} {g} {b}");
        }
        text
    }
}

impl ModelImage {
    /// The name as text.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.name).expect("a name")
    }

    /// A frame of `transforms.json`: camera to world in OpenGL's axes.
    #[must_use]
    pub fn frame(&self) -> Value {
        let r = rotation(self.quaternion);
        let row = |axis: usize| {
            let centre = -(0..3).map(|k| r[k][axis] * self.translation[k]).sum::<f64>();
            [r[0][axis], -r[1][axis], -r[2][axis], centre]
        };
        json!({
            "file_path": format!("images/{}", self.text()),
            "transform_matrix": [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]],
        })
    }
}

/// Rotation matrix of a quaternion w, x, y, z of any length.
#[must_use]
pub fn rotation(quaternion: [f64; 4]) -> [[f64; 3]; 3] {
    let length = quaternion.iter().map(|value| value * value).sum::<f64>().sqrt();
    let [w, x, y, z] = quaternion.map(|value| value / length);
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

/// Copies the bundled photos into `folder/images`.
///
/// # Panics
/// When the disk refuses.
pub fn copy_photos(folder: &Path) {
    let images = folder.join("images");
    fs::create_dir_all(&images).expect("a folder");
    for entry in fs::read_dir(runs::scene().join("images"))
        .expect("the bundled scene")
        .flatten()
    {
        fs::copy(entry.path(), images.join(entry.file_name())).expect("a photo");
    }
}

/// What a short training of a capture left.
#[derive(Debug)]
pub struct Trained {
    /// Mean over test views of the last evaluation's PSNR, dB.
    pub psnr: f64,
    /// All that the program printed on standard error.
    pub printed: String,
    /// The run folder.
    pub run: PathBuf,
}

/// Trains `scene` for `iterations` steps of recipe `mip` at a quarter of its size, as a test of its input: 15.5 dB after 200 and 11.8 dB after
/// 60 steps where the bundled scene is read rightly. `arguments` come last.
///
/// # Panics
/// When the run does not end well.
#[must_use]
pub fn train(scratch: &Scratch, scene: &Path, iterations: u32, arguments: &[&str]) -> Trained {
    let run = scratch.join(&format!("run-{iterations}"));
    let mut command = runs::kiln();
    command.arg("train").arg(scene).arg("-o").arg(&run);
    command.args(["--profile", "cpu", "--allow-cpu", "-r", "4", "--recipe", "mip"]);
    command.args(["--set", "eval.lpips=false", "--iterations", &iterations.to_string()]);
    let (code, printed) = outcome(command.args(arguments));
    assert_eq!(code, Some(0), "{printed}");
    let rows = runs::rows(&run.join("metrics.jsonl"));
    let mut evaluations = rows.iter().filter(|row| row["type"] == "eval" && row["set"] == "test");
    let psnr = evaluations
        .next_back()
        .and_then(|row| row["psnr_image"].as_f64())
        .expect("an evaluation");
    Trained { psnr, printed, run }
}
