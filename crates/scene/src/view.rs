//! One image of a scene and how it was taken.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::depths::DepthMap;
use super::formats::posed::PosedImage;
use super::normals::NormalMap;
use super::photos::header::Header;
use super::photos::upright::{Planner, Upright};
use super::{Camera, Intrinsics, SceneError, SeenPoint};

/// The part of a scene a view belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Trained on.
    Train,
    /// Held out.
    Test,
}

impl Split {
    /// `train` or `test`, as files and records spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Test => "test",
        }
    }
}

/// A view by its place in `SceneIndex::train` or `SceneIndex::test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId {
    /// Which list.
    pub split: Split,
    /// Position in that list.
    pub index: usize,
}

/// What happens to an image's alpha channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpha {
    /// Colours are used as they are stored.
    Ignore,
    /// Colours are blended over the background with alpha before anything else.
    Composite,
    /// Colours are used as they are stored; pixels less than half opaque are masked.
    Mask,
}

/// The mask of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskFile {
    /// The file.
    pub path: PathBuf,
    /// Its width and height, pixels; the same aspect ratio as the image.
    pub size_px: (u32, u32),
}

/// One posed image.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Relative path of the image, `/` separated; views are sorted by it.
    pub name: String,
    /// Stem for output files: unique in the scene also where case does not count, safe in any file system.
    pub id: String,
    /// Where the image file is.
    pub image_path: PathBuf,
    /// The camera at training resolution.
    pub camera: Camera,
    /// Width of the picture before it is resized, pixels: the file's, after turning it upright and undistorting it.
    pub source_width: u32,
    /// Height of that picture, pixels.
    pub source_height: u32,
    /// Intrinsics at that size.
    pub intrinsics: Intrinsics,
    /// The camera that took it, by its place in the scene's list.
    pub taken_by: usize,
    /// Light that its photo took as the camera wrote it into the file, thousandths of a stop.
    pub milli_stops: Option<i32>,
    /// Factors of red, green and blue by which its photo is brighter than those around it, as far as that is known; 1 = it is not.
    pub gains: [f32; 3],
    /// The camera is far from all others, and does not count for where the scene is and how large.
    pub is_stray: bool,
    /// How alpha is handled.
    pub alpha: Alpha,
    /// What is done to the file's picture first.
    pub(super) upright: Upright,
    /// The file that says which pixels count.
    pub mask: Option<MaskFile>,
    /// What is known of the photo's depths; only of training views, where maps are asked for.
    pub depth: Option<DepthMap>,
    /// And of the normals of what it shows; likewise.
    pub normal: Option<NormalMap>,
    /// Points of the sparse model that the photo shows, inside of it; empty unless asked for, and in test views.
    pub seen: Arc<[SeenPoint]>,
}

impl View {
    /// A view of a file, still at that resolution and without an output stem. `upright` plans what is done to pictures of
    /// this size that such a lens took; it may remember its answers.
    pub(super) fn new(
        posed: PosedImage,
        path: PathBuf,
        header: Header,
        alpha: Alpha,
        upright: &mut Planner,
    ) -> Result<Self, SceneError> {
        let (upright, intrinsics, (width, height)) = upright.plan(&posed.lens, &path, header)?;
        let camera = Camera {
            width_px: width,
            height_px: height,
            fx: intrinsics.fx as f32,
            fy: intrinsics.fy as f32,
            cx: intrinsics.cx as f32,
            cy: intrinsics.cy as f32,
            rotation: posed.rotation.map(|row| row.map(|value| value as f32)),
            translation: posed.translation.map(|value| value as f32),
            lens: upright.kept.as_ref().map(|kept| kept.lens),
        };
        Ok(Self {
            name: posed.name,
            id: String::new(),
            image_path: path,
            camera,
            source_width: width,
            source_height: height,
            intrinsics,
            taken_by: 0,
            milli_stops: header.milli_stops,
            gains: [1.0; 3],
            is_stray: false,
            alpha,
            upright,
            mask: None,
            depth: None,
            normal: None,
            seen: Arc::default(),
        })
    }

    /// Moves the camera to another resolution; the field of view and the pose stay.
    pub(super) fn set_size(&mut self, (width, height): (u32, u32)) {
        let (x, y) = (
            f64::from(width) / f64::from(self.source_width),
            f64::from(height) / f64::from(self.source_height),
        );
        let Intrinsics { fx, fy, cx, cy } = self.intrinsics;
        let camera = &mut self.camera;
        (camera.width_px, camera.height_px) = (width, height);
        (camera.fx, camera.fy) = ((fx * x) as f32, (fy * y) as f32);
        (camera.cx, camera.cy) = ((cx * x) as f32, (cy * y) as f32);
    }

    /// Width and height of the file's picture as it is stored, pixels.
    #[must_use]
    pub const fn stored_px(&self) -> (u32, u32) {
        self.upright.file_px
    }

    /// The place in the stored picture, pixels, of a place in the one of `source_width` and `source_height`, which is turned
    /// upright and undistorted.
    #[must_use]
    pub fn stored_place(&self, place: [f64; 2]) -> [f64; 2] {
        self.upright.stored_place(place)
    }

    /// Pixels at training resolution.
    #[must_use]
    pub fn pixels(&self) -> u64 {
        u64::from(self.camera.width_px) * u64::from(self.camera.height_px)
    }
}

/// Gives every view a stem for output files: the file's stem where it is unique, else the whole path.
pub(super) fn assign_ids(views: &mut [View]) {
    let mut taken = BTreeSet::new();
    for view in views {
        let path = without_extension(&view.name);
        let stem = path.rsplit('/').next().unwrap_or(path);
        let mut id = file_safe(stem);
        if taken.contains(&id.to_lowercase()) {
            id = file_safe(path);
        }
        let base = id.clone();
        let mut suffix = 2;
        while !taken.insert(id.to_lowercase()) {
            id = format!("{base}_{suffix}");
            suffix += 1;
        }
        view.id = id;
    }
}

/// A name without the extension of its last part.
pub fn without_extension(name: &str) -> &str {
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[start..].rfind('.') {
        Some(dot) if dot > 0 => &name[..start + dot],
        _ => name,
    }
}

/// Longest stem given to an output file, characters; file systems stop at 255 bytes.
const MAX_STEM_CHARS: usize = 60;

/// Text as the stem of an output file: separators and odd characters become `_`, long ones keep their end.
pub fn file_safe(text: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '_'
        }
    };
    let skip = text.chars().count().saturating_sub(MAX_STEM_CHARS);
    let stem: String = text.chars().skip(skip).map(safe).collect();
    // a leading dot would hide the file
    if stem.starts_with('.') {
        format!("_{stem}")
    } else {
        stem
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::formats::lens::{Distortion, Focal, Lens};

    fn view(name: &str) -> View {
        let lens = Lens {
            model: "PINHOLE",
            size: Some([400, 300]),
            focal: Focal::Pixels([500.0, 510.0]),
            centre: Some([190.0, 160.0]),
            distortion: Distortion::None,
        };
        let posed = PosedImage {
            name: name.into(),
            rotation: [[0.0; 3]; 3],
            translation: [0.0; 3],
            lens,
        };
        let header = Header::of_size(400, 300);
        View::new(posed, name.into(), header, Alpha::Ignore, &mut Planner::default()).unwrap()
    }

    #[test]
    fn intrinsics_follow_the_resolution() {
        let mut view = view("a.png");
        view.set_size((100, 76));
        let camera = &view.camera;
        assert_eq!((camera.width_px, camera.height_px), (100, 76));
        assert_eq!(
            (camera.fx, camera.fy, camera.cx, camera.cy),
            (125.0, 129.2, 47.5, 160.0 * 76.0 / 300.0)
        );
        assert_eq!(view.pixels(), 7_600);
    }

    #[test]
    fn output_stems_are_unique() {
        let names = [
            "a/1.jpg",
            "b/1.jpg",
            "b/1.png",
            "B_1.jpg",
            ".x.png",
            "sp ace:.png",
            "v1.2.png",
        ];
        let mut views: Vec<View> = names.iter().map(|name| view(name)).collect();
        assign_ids(&mut views);
        let ids: Vec<&str> = views.iter().map(|view| view.id.as_str()).collect();
        assert_eq!(ids, ["1", "b_1", "b_1_2", "B_1_3", "_.x", "sp_ace_", "v1.2"]);
    }
}
