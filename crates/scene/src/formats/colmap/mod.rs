//! COLMAP sparse models, binary or text.
//!
//! Owns the choice among several models, and the meaning of `cameras`, `images` and `points3D`: lenses of every model,
//! poses, points. Promises that nothing is allocated for a count the file cannot back.

mod binary;
pub(crate) mod subset;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::lens::{self, Focal, Lens};
use super::points_ply::{self, Cloud};
use super::posed::{PosedImage, fits_f32, listed_name, rotation_of};
use crate::fence::Fence;
use crate::origin;
use crate::seen::{self, PointRecord, Seen};
use crate::{Point, SceneError, WidePoint};

/// Where models are looked for, as messages say it.
pub(crate) const MARKER: &str = "sparse/0/cameras.bin, sparse/cameras.bin or another folder of sparse (or .txt)";
/// The folder of models.
pub(crate) const SPARSE: &str = "sparse";
/// A point cloud in place of the model's own points.
const CLOUD: &str = "points3D.ply";
/// Most folders in it that are looked at.
const MAX_MODELS: usize = 10_000;

/// A model as its files describe it.
#[derive(Debug)]
pub(crate) struct Model {
    /// The file that named the images, for messages.
    pub(crate) images_file: PathBuf,
    pub(crate) images: Vec<PosedImage>,
    pub(crate) points: Vec<Point>,
    /// What poses and points are relative to.
    pub(crate) origin: [f64; 3],
    /// What is worth a word about the points.
    pub(crate) notices: Vec<String>,
    /// True when there is no points file at all.
    pub(crate) points_missing: bool,
    /// Points that photos show, by the photo's name.
    pub(crate) seen: BTreeMap<String, Seen>,
}

/// The folder of the model under `root`, if there is one, and a notice when there was a choice.
///
/// The model with most images is taken; among equals `sparse/0`, then the first by name, then `sparse` itself.
pub(crate) fn find(root: &Path) -> Option<(PathBuf, Option<String>)> {
    find_in(root, &root.join(SPARSE))
}

/// Places where other tools leave models: beside the images, where Nerfstudio has COLMAP work, and before images are
/// undistorted. The notice names the place.
pub(crate) fn find_elsewhere(root: &Path) -> Option<(PathBuf, String)> {
    let places = ["", "colmap/sparse", "colmap", "distorted/sparse", "distorted"];
    let (folder, notice) = places.iter().find_map(|place| find_in(root, &root.join(place)))?;
    let reported = notice.unwrap_or_else(|| format!("poses are taken from {}", folder.display()));
    Some((folder, reported))
}

/// The same among `sparse` and the folders in it.
fn find_in(root: &Path, sparse: &Path) -> Option<(PathBuf, Option<String>)> {
    let entries = std::fs::read_dir(sparse).ok()?;
    let names = entries.flatten().take(MAX_MODELS).map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = names
        .chain([sparse.to_owned()])
        .filter(|folder| is_model(folder))
        .collect();
    folders.sort_by_key(|folder| (*folder == *sparse, *folder != sparse.join("0"), folder.clone()));
    if folders.len() < 2 {
        return Some((folders.pop()?, None));
    }
    let counts: Vec<Option<u64>> = folders.iter().map(|folder| count_images(folder)).collect();
    // of equals, max_by_key gives the last
    let (best, _) = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
    let name = |folder: &Path| match folder.strip_prefix(root) {
        Ok(name) => name.to_string_lossy().replace('\\', "/"),
        Err(_) => folder.display().to_string(),
    };
    let reported = folders.iter().zip(&counts).take(8).map(|(folder, count)| match count {
        Some(count) => format!("{} with {count} images", name(folder)),
        None => format!("{}, whose images cannot be counted", name(folder)),
    });
    let reported = reported.collect::<Vec<_>>().join("; ");
    let notice = format!("{} models: {reported}; {} is used", folders.len(), name(&folders[best]));
    Some((folders.swap_remove(best), Some(notice)))
}

pub(super) fn is_model(folder: &Path) -> bool {
    let file = |kind: &str| folder.join(format!("cameras.{kind}")).is_file();
    file("bin") || file("txt")
}

/// How many images a model registers; `None` when its list cannot be read.
fn count_images(folder: &Path) -> Option<u64> {
    let binary = folder.join("images.bin");
    if folder.join("cameras.bin").is_file() {
        return binary::count_images(&binary).ok();
    }
    let images = text::images(&folder.join("images.txt"), 0).ok()?;
    Some(images.len() as u64)
}

/// Reads the model in `folder`; binary files win over text files, and where there are no points a cloud beside them is taken. With a
/// fence, its files must be inside. Keeps at most `most_seen` of the points that each photo shows. Poses and points are relative to the
/// origin, which is chosen unless `given`.
pub(crate) fn read(
    folder: &Path,
    fence: &Fence,
    most_seen: usize,
    given: Option<[f64; 3]>,
) -> Result<Model, SceneError> {
    let extension = if folder.join("cameras.bin").is_file() {
        "bin"
    } else {
        "txt"
    };
    let file = |stem: &str| folder.join(format!("{stem}.{extension}"));
    let (cameras_file, images_file, points_file) = (file("cameras"), file("images"), file("points3D"));
    let points_missing = !points_file.exists();
    for file in [&cameras_file, &images_file, &points_file] {
        fence.check(file)?;
    }
    let (cameras, images, points) = if extension == "bin" {
        (
            binary::cameras(&cameras_file)?,
            binary::images(&images_file, most_seen)?,
            if points_missing {
                Vec::new()
            } else {
                binary::points(&points_file)?
            },
        )
    } else {
        (
            text::cameras(&cameras_file)?,
            text::images(&images_file, most_seen)?,
            if points_missing {
                Vec::new()
            } else {
                text::points(&points_file)?
            },
        )
    };
    let cameras = camera_table(&cameras_file, cameras)?;
    let most_seen = seen::most_of(most_seen, images.len());
    let (mut images, listed) = pose_images(&images_file, &cameras_file, &cameras, images)?;
    check_point_ids(&points_file, &points)?;
    let cloud_file = folder.join(CLOUD);
    let cloud = match points_missing && cloud_file.is_file() {
        true => Some(cloud(&cloud_file, fence)?),
        false => None,
    };
    let places: Vec<[f64; 3]> = match &cloud {
        Some(cloud) => cloud.points.iter().map(|point| point.position).collect(),
        None => points.iter().map(|record| record.point.position).collect(),
    };
    let origin = origin::take_off(given, &mut [&mut images], places.into_iter());
    let seen = if most_seen > 0 {
        seen::resolve(listed, &points, most_seen, origin)
    } else {
        BTreeMap::new()
    };
    let points_missing = points_missing && cloud.is_none();
    let (points, notices) = match cloud {
        Some(Cloud { points, notices }) => (points, notices),
        None => (points.into_iter().map(|record| record.point).collect(), Vec::new()),
    };
    Ok(Model {
        images_file,
        images,
        points: points.iter().map(|point| point.from(origin)).collect(),
        origin,
        notices,
        points_missing,
        seen,
    })
}

/// The cloud in place of a model's points.
fn cloud(path: &Path, fence: &Fence) -> Result<Cloud, SceneError> {
    fence.check(path)?;
    let mut cloud = points_ply::read(path)?;
    let taken = format!(
        "points are taken from {}: the model has no points of its own",
        path.display()
    );
    cloud.notices.insert(0, taken);
    Ok(cloud)
}

/// A camera model's name and its number of parameters, or the error that names the model.
fn known_model(path: &Path, camera: u32, name: &str) -> Result<(&'static str, usize), SceneError> {
    lens::model(name).ok_or_else(|| SceneError::CameraModel {
        path: path.to_owned(),
        camera: camera.to_string(),
        model: name.chars().take(60).collect(),
    })
}

/// A camera record: id, size in pixels and lens parameters in the file's order.
struct CameraRecord {
    id: u32,
    model: &'static str,
    width: u64,
    height: u64,
    params: Vec<f64>,
}

/// An image record without its keypoints.
struct ImageRecord {
    id: u32,
    quat: [f64; 4],
    translation: [f64; 3],
    camera: u32,
    name: String,
    /// Ids of the points that it shows, as many as are wanted.
    seen: Vec<u64>,
}

const EXPORT_AGAIN: &str = "export the model again";

/// A camera, or the name of its model where photos through it cannot be read.
type Cameras = BTreeMap<u32, Result<Lens, &'static str>>;

fn camera_table(path: &Path, records: Vec<CameraRecord>) -> Result<Cameras, SceneError> {
    let mut table = BTreeMap::new();
    for record in records {
        let CameraRecord { id, width, height, .. } = record;
        let damaged = |found| SceneError::malformed(path, format!("camera {id}"), found, EXPORT_AGAIN);
        let sides = 1..=u64::from(crate::resolution::MAX_SIDE_PX);
        if !sides.contains(&width) || !sides.contains(&height) {
            return Err(damaged(format!("a size of {width}x{height} pixels")));
        }
        // Only a photo through it makes it an error.
        let lens = match lens::is_computed(record.model, record.coefficients()) {
            true => Ok(lens_of(&record).ok_or_else(|| damaged(format!("lens parameters {:?}", record.params)))?),
            false => Err(record.model),
        };
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

impl CameraRecord {
    /// How many focal lengths it has.
    fn focals(&self) -> usize {
        match self.model {
            "PINHOLE"
            | "OPENCV"
            | "OPENCV_FISHEYE"
            | "FULL_OPENCV"
            | "FOV"
            | "THIN_PRISM_FISHEYE"
            | "RAD_TAN_THIN_PRISM_FISHEYE"
            | "DIVISION"
            | "FISHEYE"
            | "EUCM" => 2,
            _ => 1,
        }
    }

    /// What follows focal lengths and principal point.
    fn coefficients(&self) -> &[f64] {
        self.params.get(self.focals() + 2..).unwrap_or_default()
    }
}

/// The lens of a record; `None` when its parameters cannot be those of a lens.
fn lens_of(record: &CameraRecord) -> Option<Lens> {
    let (focal, rest) = record.params.split_at_checked(record.focals())?;
    let focal = [*focal.first()?, *focal.last()?];
    let &centre = rest.first_chunk()?;
    let lens = Lens {
        model: record.model,
        size: Some([record.width, record.height]),
        focal: Focal::Pixels(focal),
        centre: Some(centre),
        distortion: lens::distortion(record.model, record.coefficients()),
    };
    lens.is_sane().then_some(lens)
}

fn pose_images(
    path: &Path,
    cameras_file: &Path,
    cameras: &Cameras,
    records: Vec<ImageRecord>,
) -> Result<(Vec<PosedImage>, Listed), SceneError> {
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut images = Vec::with_capacity(records.len());
    let mut listed = Vec::new();
    for record in records {
        let at = || {
            format!(
                "image {} ({})",
                record.id,
                record.name.chars().take(200).collect::<String>()
            )
        };
        let name = listed_name(path, &record.name)?;
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
        let lens = lens.map_err(|model| SceneError::CameraModel {
            path: cameras_file.to_owned(),
            camera: record.camera.to_string(),
            model: model.to_owned(),
        })?;
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
        if !record.seen.is_empty() {
            listed.push((name.clone(), record.seen));
        }
        images.push(PosedImage {
            name,
            rotation,
            translation: record.translation,
            lens,
        });
    }
    Ok((images, listed))
}

/// Ids of points by the name of the photo that lists them.
type Listed = Vec<(String, Vec<u64>)>;

/// The record of a point, refusing positions that are not finite.
fn point(
    path: &Path,
    id: u64,
    position: [f64; 3],
    color: [u8; 3],
    error_px: f64,
    track: u64,
) -> Result<PointRecord, SceneError> {
    if !fits_f32(&position) {
        let found = format!("the position {position:?}");
        let remedy = "points must be finite, export the model again";
        return Err(SceneError::malformed(path, format!("point {id}"), found, remedy));
    }
    Ok(PointRecord {
        id,
        point: WidePoint { position, color },
        error_px,
        track: u32::try_from(track).unwrap_or(u32::MAX),
    })
}

/// Points get ids in whatever order the file has; a sorted copy finds repeats in little memory.
fn check_point_ids(path: &Path, points: &[PointRecord]) -> Result<(), SceneError> {
    let mut ids: Vec<u64> = points.iter().map(|record| record.id).collect();
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
