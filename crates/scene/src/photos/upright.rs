//! What is done to a file's picture before anything else: turned upright, then undistorted, or kept as its fisheye took it.
//!
//! Owns two rules. A file may be a uniformly scaled copy of what its camera took; any other size is an error. The
//! orientation that a camera wrote into a file is applied only where the sizes ask for it: when the file's sides are
//! those of its camera exchanged, and the orientation exchanges them. Many programs that find camera poses ignore
//! orientations, so pictures whose sides already agree are left as they are stored.

use std::path::Path;
use std::sync::Arc;

use image::DynamicImage;
use image::metadata::Orientation;

use super::header::Header;
use super::kept::Kept;
use super::rectify::Rectification;
use crate::formats::lens::{Distortion, Focal, Lens};
use crate::resolution::MOST_ENLARGED;
use crate::{Intrinsics, SceneError, Undistort};

/// What is done to a file's picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upright {
    /// Width and height of the file's picture, pixels.
    pub(crate) file_px: (u32, u32),
    /// Bytes of a pixel of it as the decoder gives it.
    pub(crate) pixel_bytes: u32,
    /// How it is turned.
    pub(crate) turn: Orientation,
    /// How it is then undistorted.
    pub(crate) lens: Option<Arc<Rectification>>,
    /// The fisheye that it is rendered through instead.
    pub(crate) kept: Option<Arc<Kept>>,
}

impl Upright {
    /// True when the picture is used as it is stored.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.is_turned() && self.lens.is_none()
    }

    /// True when the picture is turned.
    pub(crate) fn is_turned(&self) -> bool {
        self.turn != Orientation::NoTransforms
    }

    /// Size of the turned picture, pixels.
    pub(crate) fn turned_px(&self) -> (u32, u32) {
        turned(self.file_px, self.turn)
    }

    /// Turns a decoded picture.
    pub(crate) fn turn(&self, picture: &mut DynamicImage) {
        picture.apply_orientation(self.turn);
    }

    /// The place in the stored picture, pixels, of a place in the turned and undistorted one.
    pub(crate) fn stored_place(&self, place: [f64; 2]) -> [f64; 2] {
        let [x, y] = self.lens.as_ref().map_or(place, |lens| lens.source_of(place));
        let [width, height] = [self.file_px.0, self.file_px.1].map(f64::from);
        match self.turn {
            Orientation::NoTransforms => [x, y],
            Orientation::Rotate90 => [y, height - x],
            Orientation::Rotate180 => [width - x, height - y],
            Orientation::Rotate270 => [width - y, x],
            Orientation::FlipHorizontal => [width - x, y],
            Orientation::FlipVertical => [x, height - y],
            Orientation::Rotate90FlipH => [y, x],
            Orientation::Rotate270FlipH => [width - y, height - x],
        }
    }

    /// A direction in the turned picture that had these parts along x and y in the stored one.
    pub(crate) fn turned_direction(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        match self.turn {
            Orientation::NoTransforms => [x, y],
            Orientation::Rotate90 => [-y, x],
            Orientation::Rotate180 => [-x, -y],
            Orientation::Rotate270 => [y, -x],
            Orientation::FlipHorizontal => [-x, y],
            Orientation::FlipVertical => [x, -y],
            Orientation::Rotate90FlipH => [y, x],
            Orientation::Rotate270FlipH => [-y, -x],
        }
    }

    /// Undistorts rows of a turned picture, `C` bytes a pixel.
    pub(crate) fn undistort<const C: usize>(&self, pixels: Vec<u8>) -> Vec<u8> {
        match &self.lens {
            Some(lens) => lens.resample::<C>(&pixels),
            None => pixels,
        }
    }
}

impl Upright {
    /// Turns and undistorts a mask of the file's size, one byte a pixel; the result is 255 where at least half of what
    /// comes together counts, else 0.
    pub(crate) fn mask(&self, values: Vec<u8>) -> Vec<u8> {
        let (width, height) = self.file_px;
        let Some(plane) = image::GrayImage::from_raw(width, height, values) else {
            return Vec::new();
        };
        let mut picture = DynamicImage::from(plane);
        self.turn(&mut picture);
        let mut values = self.undistort::<1>(picture.into_luma8().into_raw());
        for value in &mut values {
            *value = if *value >= 128 { u8::MAX } else { 0 };
        }
        if let Some(shown) = self.shown() {
            for (value, shown) in values.iter_mut().zip(shown) {
                *value = (*value).min(shown);
            }
        }
        values
    }

    /// True when some pixels of the undistorted picture may have nothing in the file's, or no ray of a fisheye arrives at some.
    pub(crate) fn shows_empty(&self) -> bool {
        self.lens.as_ref().is_some_and(|lens| lens.has_empty) || self.kept.as_ref().is_some_and(|kept| kept.has_empty)
    }

    /// 255 for each pixel of the undistorted picture that the file's has something for, and of a kept one that a ray arrives at, else
    /// 0; `None` where all are.
    pub(crate) fn shown(&self) -> Option<Vec<u8>> {
        let lens = self.lens.as_ref().filter(|lens| lens.has_empty);
        let kept = self.kept.as_ref().filter(|kept| kept.has_empty);
        lens.map(|lens| lens.shown()).or_else(|| kept.map(|kept| kept.shown()))
    }
}

/// Plans views, remembering lenses: undistortion is planned once for all pictures of a camera.
#[derive(Debug, Default)]
pub(crate) struct Planner {
    /// How much of bent pictures is shown.
    undistort: Undistort,
    known: Vec<(Lens, (u32, u32), Plan)>,
}

/// What becomes of the pictures of a lens.
#[derive(Clone, Debug)]
enum Plan {
    Undistorted(Arc<Rectification>),
    Kept(Arc<Kept>),
}

impl Planner {
    /// One that remembers nothing yet.
    pub(crate) fn new(undistort: Undistort) -> Self {
        Self {
            undistort,
            known: Vec::new(),
        }
    }

    /// What is done to a file's picture, and camera and size of the result.
    pub(crate) fn plan(
        &mut self,
        lens: &Lens,
        path: &Path,
        header: Header,
    ) -> Result<(Upright, Intrinsics, (u32, u32)), SceneError> {
        let file_px = (header.width, header.height);
        let (mut size_px, mut turn) = (file_px, Orientation::NoTransforms);
        if !fits(lens, size_px) {
            let upright = turned(file_px, header.orientation);
            if upright == file_px || !fits(lens, upright) {
                return Err(mismatch(lens, path, file_px));
            }
            (size_px, turn) = (upright, header.orientation);
        }
        let intrinsics = intrinsics(lens, size_px);
        let mut upright = Upright {
            file_px,
            pixel_bytes: header.pixel_bytes,
            turn,
            lens: None,
            kept: None,
        };
        if lens.distortion == Distortion::None {
            return Ok((upright, intrinsics, size_px));
        }
        let plan = self.lens(lens, intrinsics, size_px);
        let plan = plan.ok_or_else(|| SceneError::Distortion {
            path: path.to_owned(),
            model: lens.model,
        })?;
        let (pinhole, size_px) = match &plan {
            Plan::Undistorted(plan) => (plan.pinhole, plan.size_px),
            Plan::Kept(_) => (intrinsics, size_px),
        };
        match plan {
            Plan::Undistorted(plan) => upright.lens = Some(plan),
            Plan::Kept(kept) => upright.kept = Some(kept),
        }
        Ok((upright, pinhole, size_px))
    }

    fn lens(&mut self, lens: &Lens, intrinsics: Intrinsics, size_px: (u32, u32)) -> Option<Plan> {
        let known = self.known.iter().rev();
        let same = known.into_iter().find(|(other, px, _)| other == lens && *px == size_px);
        if let Some((_, _, plan)) = same {
            return Some(plan.clone());
        }
        let is_fisheye = matches!(lens.distortion, Distortion::Fisheye { .. });
        let plan = match is_fisheye && self.undistort == Undistort::ExceptFisheye {
            true => Plan::Kept(Arc::new(Kept::plan(lens.distortion, intrinsics, size_px)?)),
            false => {
                let plan = Rectification::plan(lens.distortion, intrinsics, size_px, self.undistort);
                Plan::Undistorted(Arc::new(plan?))
            }
        };
        self.known.push((*lens, size_px, plan.clone()));
        Some(plan)
    }
}

fn turned((width, height): (u32, u32), turn: Orientation) -> (u32, u32) {
    match turn {
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH => {
            (height, width)
        }
        _ => (width, height),
    }
}

/// True when a picture may be a uniformly scaled copy of the camera's.
fn fits(lens: &Lens, (width, height): (u32, u32)) -> bool {
    let Some([camera_width, camera_height]) = lens.size else {
        return true;
    };
    is_scaled_copy((width.into(), height.into()), (camera_width, camera_height))
}

/// True when a picture of size `a` can be a uniformly scaled one of size `b`: each side of the smaller one was rounded by
/// less than a pixel of its own, and it is not so much larger that nobody would have use for it.
pub(crate) fn is_scaled_copy(a: (u64, u64), b: (u64, u64)) -> bool {
    if a.0 > MOST_ENLARGED.saturating_mul(b.0) {
        return false;
    }
    let aspect = b.1 as f64 / b.0 as f64;
    let off_px = (a.0 as f64 * aspect - a.1 as f64).abs() / (a.0 as f64 / b.0 as f64).max(1.0);
    a == b || off_px < 1.0 + aspect
}

fn mismatch(lens: &Lens, path: &Path, (width, height): (u32, u32)) -> SceneError {
    let [camera_width, camera_height] = lens.size.unwrap_or_default();
    SceneError::SizeMismatch {
        path: path.to_owned(),
        width,
        height,
        camera_width,
        camera_height,
        all: Vec::new(),
    }
}

/// Intrinsics in pixels of a picture of this size.
fn intrinsics(lens: &Lens, (width, height): (u32, u32)) -> Intrinsics {
    let (w, h) = (f64::from(width), f64::from(height));
    let (x, y) = match lens.size {
        Some([camera_width, camera_height]) => (w / camera_width as f64, h / camera_height as f64),
        None => (1.0, 1.0),
    };
    let (fx, fy) = match lens.focal {
        Focal::Pixels([fx, fy]) => (fx * x, fy * y),
        Focal::AngleX(angle) => {
            let focal = 0.5 * w / (0.5 * angle).tan();
            (focal, focal)
        }
    };
    let (cx, cy) = match lens.centre {
        Some([cx, cy]) => (cx * x, cy * y),
        None => (0.5 * w, 0.5 * h),
    };
    Intrinsics { fx, fy, cx, cy }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const LENS: Lens = Lens {
        model: "PINHOLE",
        size: Some([1297, 840]),
        focal: Focal::Pixels([961.0, 962.0]),
        centre: Some([648.5, 420.0]),
        distortion: Distortion::None,
    };

    fn plan(lens: &Lens, header: Header) -> Result<(Upright, Intrinsics, (u32, u32)), SceneError> {
        Planner::default().plan(lens, Path::new("x.jpg"), header)
    }

    #[test]
    fn scaled_files_are_accepted_and_others_refused() {
        let (_, half, _) = plan(&LENS, Header::of_size(648, 420)).unwrap();
        assert!((half.fx - 961.0 * 648.0 / 1297.0).abs() < 1e-9 && (half.cy - 210.0).abs() < 1e-9);
        assert!(plan(&LENS, Header::of_size(5187, 3361)).is_ok());
        let error = plan(&LENS, Header::of_size(840, 1297)).unwrap_err().to_string();
        assert!(
            error.contains("x.jpg") && error.contains("840x1297") && error.contains("1297x840"),
            "{error}"
        );
        assert!(plan(&LENS, Header::of_size(1297, 843)).is_err());
        assert!(plan(&LENS, Header::of_size(20_752, 13_440)).is_ok());
        let error = plan(&LENS, Header::of_size(22_049, 14_280)).unwrap_err().to_string();
        assert!(error.contains("more than 16 times as large"), "{error}");
    }

    #[test]
    fn files_are_turned_only_when_the_sizes_ask_for_it() {
        let tagged = |width, height, orientation| Header {
            orientation,
            ..Header::of_size(width, height)
        };
        let turn = |header| plan(&LENS, header).unwrap().0.turn;
        assert_eq!(turn(tagged(840, 1297, Orientation::Rotate90)), Orientation::Rotate90);
        assert_eq!(turn(tagged(420, 648, Orientation::Rotate270)), Orientation::Rotate270);
        assert_eq!(
            turn(tagged(1297, 840, Orientation::Rotate90)),
            Orientation::NoTransforms
        );
        assert_eq!(
            turn(tagged(1297, 840, Orientation::Rotate180)),
            Orientation::NoTransforms
        );
        assert!(plan(&LENS, tagged(840, 1297, Orientation::Rotate180)).is_err());
        let unsized_lens = Lens { size: None, ..LENS };
        let (upright, _, size) = plan(&unsized_lens, tagged(840, 1297, Orientation::Rotate90)).unwrap();
        assert_eq!((upright.is_nothing(), size), (true, (840, 1297)));
    }

    #[test]
    fn a_field_of_view_takes_the_size_of_the_file() {
        let lens = Lens {
            size: None,
            focal: Focal::AngleX(1.0),
            centre: None,
            ..LENS
        };
        let (_, camera, _) = plan(&lens, Header::of_size(20, 10)).unwrap();
        assert!((camera.fx - 10.0 / 0.5_f64.tan()).abs() < 1e-12 && camera.fx == camera.fy);
        assert_eq!((camera.cx, camera.cy), (10.0, 5.0));
    }

    /// Every pixel of a turned picture is where it came from.
    #[test]
    fn places_are_those_of_turned_pixels() {
        let stored = image::RgbImage::from_fn(4, 3, |x, y| image::Rgb([x as u8, y as u8, 0]));
        for tag in 1..=8 {
            let turn = Orientation::from_exif(tag).unwrap();
            let upright = Upright {
                file_px: (4, 3),
                pixel_bytes: 3,
                turn,
                lens: None,
                kept: None,
            };
            let mut picture = DynamicImage::from(stored.clone());
            upright.turn(&mut picture);
            for (x, y, pixel) in picture.into_rgb8().enumerate_pixels() {
                let [column, row] = upright.stored_place([f64::from(x) + 0.5, f64::from(y) + 0.5]);
                assert_eq!([column as u8, row as u8], [pixel.0[0], pixel.0[1]], "{turn:?}");
            }
        }
    }

    #[test]
    fn undistortion_is_planned_once_for_a_camera() {
        let lens = Lens {
            distortion: crate::formats::lens::distortion("SIMPLE_RADIAL", &[-0.05]),
            ..LENS
        };
        let mut planner = Planner::default();
        let mut of = |lens: &Lens| {
            let (upright, ..) = planner
                .plan(lens, Path::new("x.jpg"), Header::of_size(1297, 840))
                .unwrap();
            upright.lens.unwrap()
        };
        assert!(Arc::ptr_eq(&of(&lens), &of(&lens)));
        let other = Lens {
            distortion: crate::formats::lens::distortion("SIMPLE_RADIAL", &[0.05]),
            ..lens
        };
        assert!(!Arc::ptr_eq(&of(&lens), &of(&other)));
        let nonsense = Lens {
            distortion: crate::formats::lens::distortion("SIMPLE_RADIAL", &[-1e6]),
            ..lens
        };
        let error = planner
            .plan(&nonsense, Path::new("x.jpg"), Header::of_size(1297, 840))
            .unwrap_err();
        assert!(error.to_string().contains("PINHOLE"), "{error}");
    }

    #[test]
    fn fisheyes_may_stay_as_they_are() {
        let of = |model: &str, coefficients: &[f64]| Lens {
            distortion: crate::formats::lens::distortion(model, coefficients),
            ..LENS
        };
        let fisheyes = [
            of("OPENCV_FISHEYE", &[0.03, -0.01, 0.002, -0.0005]),
            of("SIMPLE_RADIAL_FISHEYE", &[0.05]),
            of("RADIAL_FISHEYE", &[-0.03, 0.01]),
            of(
                "THIN_PRISM_FISHEYE",
                &[0.02, -0.01, 1e-3, 2e-3, 0.004, -0.001, 1e-3, -1e-3],
            ),
        ];
        let mut planner = Planner::new(Undistort::ExceptFisheye);
        let mut plan = |lens: &Lens, px| planner.plan(lens, Path::new("x.jpg"), Header::of_size(px, px * 840 / 1297));
        for lens in fisheyes {
            let (upright, intrinsics, size) = plan(&lens, 1297).unwrap();
            assert_eq!((size, intrinsics.fx, intrinsics.cy), ((1297, 840), 961.0, 420.0));
            let kept = upright.kept.as_ref().unwrap();
            assert!(upright.lens.is_none() && upright.is_nothing() && upright.shown().is_none());
            assert!((30.0..60.0).contains(&kept.lens.reach.to_degrees()), "{kept:?}");
            let (half, intrinsics, size) = plan(&lens, 648).unwrap();
            assert_eq!((size, (intrinsics.fx - 480.13).abs() < 0.01), ((648, 419), true));
            let same = half.kept.unwrap().lens;
            assert_eq!((same.radial, same.prism), (kept.lens.radial, kept.lens.prism));
            assert!((same.reach - kept.lens.reach).abs() < 2e-3, "{same:?}");
        }
        for lens in [of("SIMPLE_RADIAL", &[-0.05]), of("FOV", &[0.9])] {
            let inside = Planner::default().plan(&lens, Path::new("x.jpg"), Header::of_size(1297, 840));
            assert_eq!(plan(&lens, 1297).unwrap(), inside.unwrap());
        }
        let nonsense = of("OPENCV_FISHEYE", &[-1e6]);
        assert!(plan(&nonsense, 1297).unwrap_err().to_string().contains("x.jpg"));
    }
}
