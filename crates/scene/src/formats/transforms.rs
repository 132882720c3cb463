//! The files `transforms.json`, `transforms_train.json` and `transforms_test.json`: posed frames with their lenses, as Nerfstudio,
//! instant-ngp, Blender scripts and phone apps write them.
//!
//! Lens values (`fl_x, fl_y, cx, cy, w, h, k1..k4, p1, p2`, `camera_angle_x`, `camera_model`) stand at the top for all
//! frames or in a frame for that one. Poses are camera-to-world with OpenGL axes. `applied_transform` and `applied_scale` need no
//! action: they say how the exporter moved the world, and poses and points of `ply_file_path` are moved already. Keys that are neither
//! read nor known to change nothing are named. Python writes poses that were not found as `NaN` and `Infinity`, which is no JSON: such
//! frames are left out and named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::json::{self, Pose};
use super::lens::{Distortion, Focal, Lens};
use super::pairing::{ENDINGS, is_photo};
use super::posed::{PosedImage, from_opengl, safe_name};
use crate::SceneError;
use crate::error::listed;

/// The file that marks a data set of Nerfstudio and instant-ngp.
pub(crate) const FILE: &str = "transforms.json";
/// The file that marks a data set as NeRF-synthetic's.
pub(crate) const TRAIN_FILE: &str = "transforms_train.json";
/// Its held-out frames; optional.
pub(crate) const TEST_FILE: &str = "transforms_test.json";
/// Its frames for validation, which are not read.
pub(crate) const VAL_FILE: &str = "transforms_val.json";

/// Keys that change nothing of what a frame shows: bounds and scales of other programs' volumes, figures about the capture.
const HARMLESS: [&str; 33] = [
    "aabb",
    "aabb_scale",
    "applied_scale",
    "applied_transform",
    "blur_score",
    "camera_angle_y",
    "camera_id",
    "center_point",
    "colmap_camera_id",
    "colmap_im_id",
    "colmap_image_id",
    "date",
    "device",
    "enable_depth_loading",
    "fps",
    "frame_id",
    "frame_number",
    "id",
    "image_id",
    "index",
    "integer_depth_scale",
    "motion_blur_score",
    "n_extra_learnable_dims",
    "name",
    "offset",
    "orientation_override",
    "render_aabb",
    "rotation",
    "scale",
    "sharpness",
    "time",
    "timestamp",
    "up",
];
/// Camera models without distortion.
const STRAIGHT: [&str; 2] = ["SIMPLE_PINHOLE", "PINHOLE"];
/// Most unknown keys that are named.
const MOST_KEYS: usize = 32;
/// Most characters of one.
const MOST_CHARS: usize = 40;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Frames with a pose, in file order.
    pub(crate) images: Vec<PosedImage>,
    /// Names of images that the file holds out; `None` when it names none.
    pub(crate) held_out: Option<BTreeSet<String>>,
    /// Names of images that the file's lists leave out: of no list, or for validation beside a list for tests.
    pub(crate) unused: BTreeSet<String>,
    /// Relative path of the points, safe to join to the folder.
    pub(crate) points: Option<String>,
    /// Relative paths of masks by the name of their image, safe to join to the folder.
    pub(crate) masks: BTreeMap<String, String>,
    /// What is to be said of the file: what of it is not read.
    pub(crate) notices: Vec<String>,
    /// And what is wrong with it.
    pub(crate) warnings: Vec<String>,
}

/// An object of the file: the whole, or a frame. What is not asked for is passed over, so that memory follows from what is read.
#[derive(Default)]
struct Record {
    lens: LensKeys,
    frames: Option<Vec<Record>>,
    file_path: Option<String>,
    pose: Option<Pose>,
    mask_path: Option<String>,
    depth_path: Option<String>,
    ply_path: Option<String>,
    /// Lists of file names for training, tests and validation.
    lists: [Option<Vec<String>>; 3],
    others: BTreeSet<String>,
}

/// Lens values, wherever they stand.
#[derive(Clone, Default)]
struct LensKeys {
    camera_model: Option<String>,
    is_fisheye: Option<bool>,
    angle_x: Option<f64>,
    focal: [Option<f64>; 2],
    centre: [Option<f64>; 2],
    size: [Option<f64>; 2],
    radial: [Option<f64>; 4],
    tangential: [Option<f64>; 2],
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Record;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
                let mut record = Record::default();
                while let Some(key) = map.next_key::<String>()? {
                    record.take(&key, &mut map)?;
                }
                Ok(record)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl Record {
    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let lens = &mut self.lens;
        match key {
            "camera_model" => lens.camera_model = map.next_value()?,
            "is_fisheye" => lens.is_fisheye = map.next_value()?,
            "camera_angle_x" => lens.angle_x = map.next_value()?,
            "fl_x" => lens.focal[0] = map.next_value()?,
            "fl_y" => lens.focal[1] = map.next_value()?,
            "cx" => lens.centre[0] = map.next_value()?,
            "cy" => lens.centre[1] = map.next_value()?,
            "w" => lens.size[0] = map.next_value()?,
            "h" => lens.size[1] = map.next_value()?,
            "k1" => lens.radial[0] = map.next_value()?,
            "k2" => lens.radial[1] = map.next_value()?,
            "k3" => lens.radial[2] = map.next_value()?,
            "k4" => lens.radial[3] = map.next_value()?,
            "p1" => lens.tangential[0] = map.next_value()?,
            "p2" => lens.tangential[1] = map.next_value()?,
            "frames" => self.frames = map.next_value()?,
            "file_path" => self.file_path = map.next_value()?,
            "transform_matrix" => self.pose = Some(map.next_value()?),
            "mask_path" => self.mask_path = map.next_value()?,
            "depth_file_path" => self.depth_path = map.next_value()?,
            "ply_file_path" => self.ply_path = map.next_value()?,
            "train_filenames" => self.lists[0] = map.next_value()?,
            "test_filenames" => self.lists[1] = map.next_value()?,
            "val_filenames" => self.lists[2] = map.next_value()?,
            other => {
                map.next_value::<IgnoredAny>()?;
                self.note(other);
            }
        }
        Ok(())
    }

    fn note(&mut self, key: &str) {
        // A depth's unit is nothing without the depths, which have a notice of their own.
        let is_known = HARMLESS.contains(&key) || key == "depth_unit_scale_factor";
        if !is_known && self.others.len() < MOST_KEYS {
            self.others.insert(key.chars().take(MOST_CHARS).collect());
        }
    }
}

impl LensKeys {
    /// True for a model without distortion beside values of one.
    fn is_straight_and_bent(&self) -> bool {
        let bent = self.radial.iter().chain(&self.tangential).flatten();
        let is_straight = self
            .camera_model
            .as_ref()
            .is_some_and(|model| STRAIGHT.contains(&&**model));
        is_straight && bent.into_iter().any(|value| *value != 0.0)
    }

    /// These values, and those of `shared` where there is none.
    fn or(&self, shared: &Self) -> Self {
        fn each<const N: usize>(own: [Option<f64>; N], shared: [Option<f64>; N]) -> [Option<f64>; N] {
            std::array::from_fn(|index| own[index].or(shared[index]))
        }
        Self {
            camera_model: self.camera_model.clone().or_else(|| shared.camera_model.clone()),
            is_fisheye: self.is_fisheye.or(shared.is_fisheye),
            angle_x: self.angle_x.or(shared.angle_x),
            focal: each(self.focal, shared.focal),
            centre: each(self.centre, shared.centre),
            size: each(self.size, shared.size),
            radial: each(self.radial, shared.radial),
            tangential: each(self.tangential, shared.tangential),
        }
    }
}

/// Reads the file. A name without an image extension gets the first of those that is there.
///
/// # Errors
/// [`SceneError`] for what is damaged, unsafe or of a camera model that is not read, with the frame.
pub(crate) fn read(path: &Path) -> Result<Frames, SceneError> {
    let file: Record = json::read(path, "expected frames with file_path and transform_matrix")?;
    let root = path.parent().unwrap_or(Path::new("."));
    let Some(records) = &file.frames else {
        let remedy = "expected frames with file_path and transform_matrix";
        return Err(SceneError::malformed(path, "the file", "no list `frames`", remedy));
    };
    let mut frames = Frames::default();
    let (mut others, mut depths, mut poseless) = (BTreeMap::<String, usize>::new(), Vec::new(), Vec::new());
    let mut straight = 0;
    for key in &file.others {
        others.insert(key.clone(), 0);
    }
    for (index, record) in records.iter().enumerate() {
        let at = || format!("frame {index}");
        let missing = |key: &str| SceneError::malformed(path, at(), format!("no {key}"), "export the cameras again");
        let name = image_name(
            path,
            root,
            record.file_path.as_deref().ok_or_else(|| missing("file_path"))?,
        )?;
        for key in &record.others {
            *others.entry(key.clone()).or_default() += 1;
        }
        let pose = match record.pose.as_ref().ok_or_else(|| missing("transform_matrix"))? {
            Pose::Unknown => {
                poseless.push(name);
                continue;
            }
            Pose::Known(matrix) => from_opengl(matrix),
        };
        let Some((rotation, translation)) = pose else {
            let found = "a transform_matrix that is not a finite rotation and translation";
            return Err(SceneError::malformed(path, at(), found, "export the cameras again"));
        };
        if let Some(mask) = record.mask_path.as_deref().filter(|mask| !mask.is_empty()) {
            frames.masks.insert(name.clone(), safe_name(path, mask)?);
        }
        let lens_keys = record.lens.or(&file.lens);
        straight += usize::from(lens_keys.is_straight_and_bent());
        depths.extend(record.depth_path.as_deref().filter(|depth| !depth.is_empty()));
        frames.images.push(PosedImage {
            name,
            rotation,
            translation,
            lens: lens(path, &at(), &lens_keys)?,
        });
    }
    let ply = file.ply_path.as_deref().filter(|name| !name.is_empty());
    frames.points = ply.map(|name| safe_name(path, name)).transpose()?;
    frames.lists(path, root, &file.lists)?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    if !poseless.is_empty() && frames.images.is_empty() {
        let found = format!("no pose of any of its {} frames (NaN or Infinity)", records.len());
        return Err(SceneError::malformed(
            path,
            "the file",
            found,
            "export the cameras again",
        ));
    }
    if !poseless.is_empty() {
        frames.warnings.push(format!(
            "{} of {} frames in {file_name} have no pose (NaN or Infinity) and are left out: {}",
            poseless.len(),
            records.len(),
            listed(&poseless)
        ));
    }
    if straight > 0 {
        frames.warnings.push(format!(
            "{straight} frames in {file_name} have a distortion (k1 to k4, p1, p2) that is not used: their camera_model is one without; leave it out or \
             make it OPENCV unless the photos are undistorted already"
        ));
    }
    if let Some(first) = depths.first() {
        let folder = Path::new(first).parent().map(|folder| folder.display().to_string());
        let folder = folder
            .filter(|folder| !folder.is_empty())
            .unwrap_or_else(|| ".".to_owned());
        frames.notices.push(format!(
            "{file_name} names depth maps for {} frames (`depth_file_path`); `--depths {folder}` trains on them",
            depths.len()
        ));
    }
    if !others.is_empty() {
        let named: Vec<String> = others
            .iter()
            .map(|(key, count)| match count {
                0 => format!("`{key}`"),
                count => format!("`{key}` of {count} frames"),
            })
            .collect();
        frames
            .notices
            .push(format!("{file_name} has keys that are not read: {}", named.join(", ")));
    }
    Ok(frames)
}

impl Frames {
    /// Takes the file's lists of names.
    fn lists(&mut self, path: &Path, root: &Path, lists: &[Option<Vec<String>>; 3]) -> Result<(), SceneError> {
        let known: BTreeSet<&str> = self.images.iter().map(|image| image.name.as_str()).collect();
        let mut strangers = Vec::new();
        let mut names = |list: &Option<Vec<String>>| -> Result<Option<BTreeSet<String>>, SceneError> {
            let Some(list) = list.as_ref().filter(|list| !list.is_empty()) else {
                return Ok(None);
            };
            let mut names = BTreeSet::new();
            for name in list {
                let name = image_name(path, root, name)?;
                match known.contains(&*name) {
                    true => names.insert(name),
                    false => {
                        strangers.push(name);
                        false
                    }
                };
            }
            Ok(Some(names))
        };
        let (train, test, val) = (names(&lists[0])?, names(&lists[1])?, names(&lists[2])?);
        if !strangers.is_empty() {
            self.warnings.push(format!(
                "{} names in the lists of the data set are of no frame: {}",
                strangers.len(),
                listed(&strangers)
            ));
        }
        let in_list =
            |list: &Option<BTreeSet<String>>, name: &str| list.as_ref().is_some_and(|list| list.contains(name));
        // Without a list for tests those for validation are the tests.
        let is_spare =
            |name: &str| test.is_some() && in_list(&val, name) && !in_list(&test, name) && !in_list(&train, name);
        let is_unlisted = |name: &str| train.is_some() && ![&train, &test, &val].iter().any(|list| in_list(list, name));
        let (mut spare, mut unlisted) = (Vec::new(), Vec::new());
        for image in &self.images {
            if is_spare(&image.name) {
                spare.push(image.name.clone());
            } else if is_unlisted(&image.name) {
                unlisted.push(image.name.clone());
            }
        }
        for (names, what) in [
            (
                &spare,
                "are for validation alone (`val_filenames` beside `test_filenames`)",
            ),
            (&unlisted, "are in none of the lists"),
        ] {
            if !names.is_empty() {
                let (count, names) = (names.len(), listed(names));
                self.notices
                    .push(format!("{count} frames {what} and are not used: {names}"));
            }
        }
        self.unused = spare.into_iter().chain(unlisted).collect();
        self.held_out = test.or(val);
        Ok(())
    }
}

fn image_name(file: &Path, root: &Path, name: &str) -> Result<String, SceneError> {
    let name = safe_name(file, name)?;
    if is_photo(Path::new(&name)) {
        return Ok(name);
    }
    let with = |extension: &str| format!("{name}.{extension}");
    let there = ENDINGS.map(with).into_iter();
    let mut there = there.filter(|name| {
        let path: PathBuf = root.join(name);
        path.is_file()
    });
    Ok(there.next().unwrap_or_else(|| with("png")))
}

fn lens(path: &Path, at: &str, keys: &LensKeys) -> Result<Lens, SceneError> {
    let damaged = |found: String| SceneError::malformed(path, at, found, "export the cameras again");
    let fisheye = keys.is_fisheye.unwrap_or(false);
    let usual = if fisheye { "OPENCV_FISHEYE" } else { "OPENCV" };
    let model = keys.camera_model.as_deref().unwrap_or(usual);
    let radial = keys.radial.map(Option::unwrap_or_default);
    let tangential = keys.tangential.map(Option::unwrap_or_default);
    let (model, distortion) = match model {
        model if STRAIGHT.contains(&model) => ("PINHOLE", Distortion::None),
        "OPENCV" | "PERSPECTIVE" | "SIMPLE_RADIAL" | "RADIAL" => {
            ("OPENCV", Distortion::polynomial(radial, [0.0; 3], tangential))
        }
        "OPENCV_FISHEYE" | "FISHEYE" => {
            let distortion = Distortion::Fisheye {
                radial,
                tangential: [0.0; 2],
                prism: [0.0; 2],
            };
            ("OPENCV_FISHEYE", distortion)
        }
        other => {
            return Err(SceneError::CameraModel {
                path: path.to_owned(),
                camera: format!("of {at}"),
                model: other.chars().take(60).collect(),
            });
        }
    };
    let side = |name: &str, value: f64| {
        let limit = f64::from(crate::resolution::MAX_SIDE_PX);
        let whole = value >= 1.0 && value <= limit && value.fract() == 0.0;
        whole
            .then_some(value as u64)
            .ok_or_else(|| damaged(format!("{name} = {value}")))
    };
    let size = match keys.size {
        [Some(w), Some(h)] => Some([side("w", w)?, side("h", h)?]),
        _ => None,
    };
    let focal = match (keys.focal, keys.angle_x) {
        ([Some(x), y], _) => Focal::Pixels([x, y.unwrap_or(x)]),
        ([None, Some(y)], _) => Focal::Pixels([y, y]),
        ([None, None], Some(angle)) => Focal::AngleX(angle),
        ([None, None], None) => return Err(damaged("neither fl_x nor camera_angle_x".to_owned())),
    };
    let centre = match keys.centre {
        [Some(cx), Some(cy)] => Some([cx, cy]),
        _ => None,
    };
    let lens = Lens {
        model,
        size,
        focal,
        centre,
        distortion,
    };
    match (lens.is_sane(), focal) {
        (true, _) => Ok(lens),
        (false, Focal::AngleX(angle)) if !(angle > 0.0 && angle < std::f64::consts::PI) => {
            let remedy = "it is the horizontal field of view in radians, between 0 and pi";
            Err(SceneError::malformed(
                path,
                at,
                format!("camera_angle_x = {angle}"),
                remedy,
            ))
        }
        _ => Err(damaged(format!("lens values {focal:?} {centre:?} {distortion:?}"))),
    }
}

#[cfg(test)]
mod tests;
