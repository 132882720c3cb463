//! What was found in a data set, as values that can be printed or written.

use serde::{Deserialize, Serialize};

use super::{FEW_PHOTOS, SceneError, SceneIndex, View, exposures, photo_bytes};

/// Suggested widths stay at or below this, pixels; what `dataset.resolution: -1` does too.
const COMFORTABLE_WIDTH_PX: u32 = 1600;

/// Everything that is known of a data set before training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneReport {
    /// `colmap`, `blender`, `multiscale` or `nerfstudio`.
    pub kind: String,
    /// The data set's folder.
    pub root: String,
    /// The folder or file that lists the images.
    pub model: String,
    /// The folder that image names are relative to.
    pub images: String,
    /// Cameras, in the order of their first image.
    pub cameras: Vec<CameraReport>,
    /// Images that are listed; those that training has no use for, such as smaller scales, do not count.
    pub images_listed: usize,
    /// Listed images that are there and can be decoded.
    pub images_found: usize,
    /// Names of those that are not, sorted.
    pub images_missing: Vec<String>,
    /// Names of those that are there and cannot be decoded, sorted.
    #[serde(default)]
    pub images_undecodable: Vec<String>,
    /// Names of those that are left out because their cameras are far from all others, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images_far: Vec<String>,
    /// Views trained on.
    pub train_views: usize,
    /// Views held out.
    pub test_views: usize,
    /// Sizes that images are trained at, most frequent first.
    pub training_sizes: Vec<SizeReport>,
    /// Memory of all images at training resolution, bytes.
    pub image_bytes: u64,
    /// Points to start from.
    pub points: usize,
    /// Smallest and largest coordinates of the points, world units; absent without points.
    pub points_box: Option<[[f32; 3]; 2]>,
    /// Smallest and largest coordinates of the cameras, world units.
    pub cameras_box: [[f32; 3]; 2],
    /// Scene extent: 1.1 times the largest distance of a training camera from their mean, those far from all others left out, world units.
    pub extent: f32,
    /// What coordinates are relative to, in those of the data set; absent where that is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<[f64; 3]>,
    /// Images that a mask belongs to.
    pub masked_images: usize,
    /// Largest share of an image's area that undistortion loses, 0 to 1; absent without distortion.
    pub largest_crop: Option<f64>,
    /// By how much photos differ in exposure, see [`exposures`]: standard deviation of a natural logarithm, 0.1 = by some 10 %;
    /// absent when that is not known.
    #[serde(default)]
    pub exposure_spread: Option<f64>,
    /// And in white balance: that of red or blue over green, whichever differs more.
    #[serde(default)]
    pub white_balance_spread: Option<f64>,
    /// Share of the brightness in the middle that is missing in the corners; absent when that is not known or not certain.
    #[serde(default)]
    pub vignetting: Option<f64>,
    /// What is odd but usable.
    pub warnings: Vec<String>,
    /// What was chosen where there was a choice.
    pub notices: Vec<String>,
    /// `dataset.resolution` that keeps images as they are or brings the widest to 1600 pixels or less: 1, 2, 4 or 8.
    pub suggested_resolution: i32,
    /// Profile that usually suits a scene of this size: `8gb`, `16gb` or `24gb`; one that this machine has room for where its
    /// devices are known.
    pub suggested_profile: String,
}

/// A camera and the images it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CameraReport {
    /// The camera model's name.
    pub model: String,
    /// Width and height of its image files, upright, pixels.
    pub file_px: [u32; 2],
    /// Width and height after undistortion, pixels.
    pub source_px: [u32; 2],
    /// Images.
    pub images: usize,
    /// Share of a file's area that undistortion loses, 0 to 1; absent without distortion and for images that stay as they are.
    pub crop: Option<f64>,
    /// A fisheye whose images stay as they are.
    #[serde(default)]
    pub kept: bool,
}

/// A training size and how many images have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeReport {
    /// Width and height, pixels.
    pub px: [u32; 2],
    /// Images.
    pub images: usize,
}

impl SceneReport {
    /// Describes a data set that was read, without looking at its photos.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        let views = || scene.views().map(|(_, view)| view);
        let found = scene.train.len() + scene.test.len();
        let cameras = scene.cameras.iter().map(|camera| CameraReport {
            model: camera.model.to_owned(),
            file_px: camera.file_px.into(),
            source_px: camera.source_px.into(),
            images: camera.images,
            crop: camera.lost.map(rounded),
            kept: camera.is_kept(),
        });
        let crops = scene.cameras.iter().filter_map(|camera| camera.lost.map(rounded));
        let points = scene.points.iter().map(|point| point.position);
        let parts = scene.parts();
        Self {
            kind: scene.kind.name().to_owned(),
            root: scene.root.display().to_string(),
            model: scene.model.display().to_string(),
            images: scene.images.display().to_string(),
            cameras: cameras.collect(),
            images_listed: found + scene.missing.len() + scene.undecodable.len() + scene.strays.len(),
            images_found: found,
            images_missing: scene.missing.clone(),
            images_undecodable: scene.undecodable.clone(),
            images_far: scene.strays.clone(),
            train_views: scene.train.len(),
            test_views: scene.test.len(),
            training_sizes: sizes(views()),
            image_bytes: views().map(|view| photo_bytes(view.pixels(), parts)).sum(),
            points: scene.points.len(),
            points_box: bounds(points),
            cameras_box: bounds(views().map(|view| view.camera.position())).unwrap_or_default(),
            extent: scene.extent,
            origin: (scene.origin != [0.0; 3]).then_some(scene.origin),
            masked_images: views().filter(|view| view.mask.is_some()).count(),
            largest_crop: crops.reduce(f64::max),
            exposure_spread: None,
            white_balance_spread: None,
            vignetting: None,
            warnings: scene.warnings.clone(),
            notices: scene.notices.clone(),
            suggested_resolution: suggested_resolution(views().map(|view| view.source_width).max().unwrap_or(0)),
            suggested_profile: suggested_profile(found, scene.points.len(), views().map(View::pixels).sum()).to_owned(),
        }
    }

    /// Adds what the photos say, of which some are decoded.
    ///
    /// # Errors
    /// [`SceneError::Io`] when the system refuses threads to decode with.
    pub fn with_photos(self, scene: &SceneIndex) -> Result<Self, SceneError> {
        let Some(found) = exposures(scene, FEW_PHOTOS)? else {
            return Ok(self);
        };
        let [red, blue] = found.white_balance.map(|difference| difference.spread);
        Ok(Self {
            exposure_spread: Some(rounded(found.brightness.spread)),
            white_balance_spread: Some(rounded(red.max(blue))),
            vignetting: found.vignetting.map(|corner| rounded(1.0 - corner.exp())),
            ..self
        })
    }
}

/// Four digits: more would say more than is known.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn sizes<'a>(views: impl Iterator<Item = &'a View>) -> Vec<SizeReport> {
    let mut counts = std::collections::BTreeMap::<[u32; 2], usize>::new();
    for view in views {
        *counts.entry([view.camera.width_px, view.camera.height_px]).or_default() += 1;
    }
    let mut sizes: Vec<SizeReport> = counts
        .into_iter()
        .map(|(px, images)| SizeReport { px, images })
        .collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(size.images));
    sizes
}

fn bounds(points: impl Iterator<Item = [f32; 3]>) -> Option<[[f32; 3]; 2]> {
    points.fold(None, |bounds, point| {
        let [low, high] = bounds.unwrap_or([point; 2]);
        let pick = |best: fn(f32, f32) -> f32, a: [f32; 3]| std::array::from_fn(|axis| best(a[axis], point[axis]));
        Some([pick(f32::min, low), pick(f32::max, high)])
    })
}

fn suggested_resolution(widest_px: u32) -> i32 {
    let fits = |divisor: &i32| widest_px <= COMFORTABLE_WIDTH_PX * divisor.unsigned_abs();
    [1, 2, 4].into_iter().find(fits).unwrap_or(8)
}

/// Pixels of all photos together up to which a model stays small.
const SMALL_PIXELS: u64 = 64_000_000;

/// A rule of thumb: the number of Gaussians that densification ends with grows with what there is to see, which the
/// number of images and of sparse points estimate, and never beyond what their pixels can show.
fn suggested_profile(images: usize, points: usize, pixels: u64) -> &'static str {
    match (images, points) {
        (..=120, ..=40_000) => "8gb",
        _ if pixels <= SMALL_PIXELS => "8gb",
        (..=250, ..=120_000) => "16gb",
        _ => "24gb",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::SceneOptions;
    use kiln_scratch::Scratch;

    #[test]
    fn the_report_tells_what_is_there() {
        let folder = Scratch::new();
        folder.write(
            "sparse/0/cameras.txt",
            "1 PINHOLE 64 48 50 50 32 24\n2 SIMPLE_RADIAL 80 60 60 40 30 -0.1\n",
        );
        let images: String = (0..4)
            .map(|n| format!("{} 1 0 0 0 {n} 0 0 {} v{n}.png\n\n", n + 1, 1 + n / 3))
            .collect();
        folder.write("sparse/0/images.txt", images);
        folder.write("sparse/0/points3D.txt", "1 0 0 5 255 0 0 0.1\n2 -1 2 7 255 0 0 0.1\n");
        folder.write_png("masks/v3.png", 80, 60, 3, &[255; 80 * 60 * 3]);
        folder.write_png("images/v0.png", 64, 48, 3, &[0; 64 * 48 * 3]);
        folder.write_png("images/v1.png", 64, 48, 3, &[0; 64 * 48 * 3]);
        folder.write_png("images/v3.png", 80, 60, 3, &[0; 80 * 60 * 3]);
        let scene = SceneIndex::load(folder.path(), &SceneOptions::default()).unwrap();
        let report = SceneReport::of(&scene);
        assert_eq!(report.kind, "colmap");
        assert!(std::path::Path::new(&report.model).ends_with("sparse/0") && report.images.ends_with("images"));
        assert_eq!((report.images_listed, report.images_found), (4, 3));
        assert_eq!(report.images_missing, ["v2.png"]);
        assert_eq!((report.train_views, report.test_views), (2, 1));
        let pinhole = CameraReport {
            model: "PINHOLE".to_owned(),
            file_px: [64, 48],
            source_px: [64, 48],
            images: 2,
            crop: None,
            kept: false,
        };
        assert_eq!((report.cameras.len(), &report.cameras[0]), (2, &pinhole));
        let radial = &report.cameras[1];
        assert_eq!(
            (radial.model.as_str(), radial.images, radial.crop),
            ("SIMPLE_RADIAL", 1, report.largest_crop)
        );
        assert!(report.largest_crop.unwrap() > 0.0 && radial.source_px[0] > 80);
        assert_eq!(
            report.training_sizes[0],
            SizeReport {
                px: [64, 48],
                images: 2
            }
        );
        let pixels = 2 * 64 * 48 + u64::from(radial.source_px[0] * radial.source_px[1]);
        // masks take a byte a pixel
        assert!((4 * pixels..4 * pixels + 12).contains(&report.image_bytes));
        assert_eq!(
            (report.points, report.points_box),
            (2, Some([[-1.0, 0.0, 5.0], [0.0, 2.0, 7.0]]))
        );
        assert_eq!(report.cameras_box, [[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
        assert_eq!((report.masked_images, report.extent > 0.0), (1, true));
        assert_eq!((report.warnings.len(), report.notices.len()), (2, 1));
        assert_eq!(
            (report.suggested_resolution, report.suggested_profile.as_str()),
            (1, "8gb")
        );
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<SceneReport>(&text).unwrap(), report);
    }

    #[test]
    fn suggestions_follow_size() {
        let widths = [1, 1600, 1601, 3200, 5187, 6400, 9000].map(suggested_resolution);
        assert_eq!(widths, [1, 1, 2, 2, 4, 4, 8]);
        assert_eq!(suggested_profile(40, 3500, 70_000_000), "8gb");
        assert_eq!(suggested_profile(185, 138_766, 300_000_000), "24gb");
        assert_eq!(suggested_profile(200, 50_000, 300_000_000), "16gb");
        // Two hundred pictures of 400 by 400 pixels.
        assert_eq!(suggested_profile(200, 50_000, 32_000_000), "8gb");
    }
}
