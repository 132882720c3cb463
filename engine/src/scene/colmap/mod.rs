//! COLMAP sparse models, binary or text.
//!
//! Owns the meaning of `cameras`, `images` and `points3D`: pinhole lenses with their principal points, poses, points.
//! Promises that nothing is allocated for a count the file cannot back. Refuses lenses with distortion: the images
//! must be undistorted first, because the rasteriser projects straight lines to straight lines.

mod binary;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::posed::{Lens, PosedImage, fits_f32, rotation_of, safe_name};
use super::{Point, SceneError};

/// Sub-folders searched for a model, best first.
pub(super) const MODEL_FOLDERS: [&str; 2] = ["sparse/0", "sparse"];

/// A model as its files describe it.
#[derive(Debug)]
pub(super) struct Model {
    /// The file that named the images, for messages.
    pub(super) images_file: PathBuf,
    pub(super) images: Vec<PosedImage>,
    pub(super) points: Vec<Point>,
    /// True when there is no points file at all.
    pub(super) points_missing: bool,
}

/// The folder of the model under `root`, if there is one.
pub(super) fn find(root: &Path) -> Option<PathBuf> {
    MODEL_FOLDERS.iter().map(|folder| root.join(folder)).find(|folder| {
        ["bin", "txt"]
            .iter()
            .any(|kind| folder.join(format!("cameras.{kind}")).is_file())
    })
}

/// Reads the model in `folder`; binary files win over text files.
pub(super) fn read(folder: &Path) -> Result<Model, SceneError> {
    let extension = if folder.join("cameras.bin").is_file() {
        "bin"
    } else {
        "txt"
    };
    let file = |stem: &str| folder.join(format!("{stem}.{extension}"));
    let (cameras_file, images_file, points_file) = (file("cameras"), file("images"), file("points3D"));
    let points_missing = !points_file.exists();
    let (cameras, images, points) = if extension == "bin" {
        (
            binary::cameras(&cameras_file)?,
            binary::images(&images_file)?,
            if points_missing {
                Vec::new()
            } else {
                binary::points(&points_file)?
            },
        )
    } else {
        (
            text::cameras(&cameras_file)?,
            text::images(&images_file)?,
            if points_missing {
                Vec::new()
            } else {
                text::points(&points_file)?
            },
        )
    };
    let cameras = camera_table(&cameras_file, cameras)?;
    let images = pose_images(&images_file, &cameras_file, &cameras, images)?;
    check_point_ids(&points_file, &points)?;
    let points = points.into_iter().map(|(_, point)| point).collect();
    Ok(Model {
        images_file,
        images,
        points,
        points_missing,
    })
}

/// Lens models by COLMAP's numbers; the first two are read.
const LENS_MODELS: [&str; 11] = [
    "SIMPLE_PINHOLE",
    "PINHOLE",
    "SIMPLE_RADIAL",
    "RADIAL",
    "OPENCV",
    "OPENCV_FISHEYE",
    "FULL_OPENCV",
    "FOV",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
    "THIN_PRISM_FISHEYE",
];

/// How many parameters a lens model has, or the error that names the model.
fn parameter_count(path: &Path, camera: u32, model: &str) -> Result<usize, SceneError> {
    match model {
        "SIMPLE_PINHOLE" => Ok(3),
        "PINHOLE" => Ok(4),
        _ => Err(SceneError::CameraModel {
            path: path.to_owned(),
            camera,
            model: model.chars().take(60).collect(),
        }),
    }
}

/// A camera record: id, size in pixels and lens parameters in the file's order.
struct CameraRecord {
    id: u32,
    width: u64,
    height: u64,
    params: Vec<f64>,
}

/// An image record without its observations.
struct ImageRecord {
    id: u32,
    quat: [f64; 4],
    translation: [f64; 3],
    camera: u32,
    name: String,
}

/// Largest lens length that is not nonsense, pixels; it stays finite at any training resolution.
const MAX_LENS_PX: f64 = 1e9;

const EXPORT_AGAIN: &str = "export the model again";

fn camera_table(path: &Path, records: Vec<CameraRecord>) -> Result<BTreeMap<u32, Lens>, SceneError> {
    let mut table = BTreeMap::new();
    for CameraRecord {
        id,
        width,
        height,
        params,
    } in records
    {
        let lens = match params[..] {
            [f, cx, cy] => Lens::Pinhole {
                width,
                height,
                fx: f,
                fy: f,
                cx,
                cy,
            },
            [fx, fy, cx, cy] => Lens::Pinhole {
                width,
                height,
                fx,
                fy,
                cx,
                cy,
            },
            _ => {
                let found = format!("{} lens parameters", params.len());
                return Err(SceneError::malformed(path, format!("camera {id}"), found, EXPORT_AGAIN));
            }
        };
        let sides = 1..=u64::from(super::resolution::MAX_SIDE_PX);
        if !sides.contains(&width) || !sides.contains(&height) {
            let found = format!("a size of {width}x{height} pixels");
            return Err(SceneError::malformed(path, format!("camera {id}"), found, EXPORT_AGAIN));
        }
        let focal = &params[..params.len() - 2];
        let sane = |value: &f64| value.abs() <= MAX_LENS_PX;
        if !params.iter().all(sane) || focal.iter().any(|&f| f <= 0.0) {
            let found = format!("lens parameters {params:?}");
            return Err(SceneError::malformed(path, format!("camera {id}"), found, EXPORT_AGAIN));
        }
        if table.insert(id, lens).is_some() {
            return Err(SceneError::Duplicate {
                path: path.to_owned(),
                what: "camera",
                id: id.to_string(),
            });
        }
    }
    Ok(table)
}

fn pose_images(
    path: &Path,
    cameras_file: &Path,
    cameras: &BTreeMap<u32, Lens>,
    records: Vec<ImageRecord>,
) -> Result<Vec<PosedImage>, SceneError> {
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut images = Vec::with_capacity(records.len());
    for record in records {
        let at = || {
            format!(
                "image {} ({})",
                record.id,
                record.name.chars().take(200).collect::<String>()
            )
        };
        let name = safe_name(path, &record.name)?;
        if !ids.insert(record.id) {
            return Err(SceneError::Duplicate {
                path: path.to_owned(),
                what: "image id",
                id: record.id.to_string(),
            });
        }
        if !names.insert(name.clone()) {
            return Err(SceneError::Duplicate {
                path: path.to_owned(),
                what: "image name",
                id: name,
            });
        }
        let Some(&lens) = cameras.get(&record.camera) else {
            let found = format!("camera {} is not in {}", record.camera, cameras_file.display());
            return Err(SceneError::malformed(path, at(), found, EXPORT_AGAIN));
        };
        let pose = rotation_of(record.quat).filter(|_| fits_f32(&record.translation));
        let Some(rotation) = pose else {
            let found = format!("the pose {:?} {:?}", record.quat, record.translation);
            return Err(SceneError::malformed(
                path,
                at(),
                found,
                "poses must be finite, export the model again",
            ));
        };
        images.push(PosedImage {
            name,
            rotation,
            translation: record.translation,
            lens,
        });
    }
    Ok(images)
}

/// Turns a point's record into a [`Point`], refusing values that are not finite.
fn point(path: &Path, id: u64, position: [f64; 3], color: [u8; 3]) -> Result<(u64, Point), SceneError> {
    if !fits_f32(&position) {
        let found = format!("the position {position:?}");
        let remedy = "points must be finite, export the model again";
        return Err(SceneError::malformed(path, format!("point {id}"), found, remedy));
    }
    Ok((
        id,
        Point {
            position: position.map(|value| value as f32),
            color,
        },
    ))
}

/// Points get ids in whatever order the file has; a sorted copy finds repeats in little memory.
fn check_point_ids(path: &Path, points: &[(u64, Point)]) -> Result<(), SceneError> {
    let mut ids: Vec<u64> = points.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(SceneError::Duplicate {
            path: path.to_owned(),
            what: "point",
            id: pair[0].to_string(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
