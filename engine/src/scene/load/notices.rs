//! What is said of photos while a data set is read: sizes, files that are left out, what undistortion does.

use std::io::ErrorKind;

use crate::scene::camera_use::CameraUse;
use crate::scene::error::{SHOWN, listed};
use crate::scene::view::View;
use crate::scene::{Resolution, SceneError};

/// Training images narrower than this draw a warning, pixels.
const TINY_WIDTH_PX: u32 = 32;
/// Share of a fisheye's picture from which on its loss is worth a word.
const MUCH: f64 = 0.05;

/// Photos whose files cannot be used, with the reason of each.
#[derive(Default)]
pub(super) struct Unreadable {
    photos: Vec<(String, String)>,
    /// The system let none of them be read.
    refused: bool,
}

impl Unreadable {
    /// Takes a photo that cannot be used.
    pub(super) fn push(&mut self, name: String, error: &SceneError) {
        let is_refused = matches!(error, SceneError::Io { reason, .. } if reason.kind() == ErrorKind::PermissionDenied);
        self.refused = is_refused && (self.photos.is_empty() || self.refused);
        self.photos.push((name, error.short()));
    }

    /// Sorts by name.
    pub(super) fn sort(&mut self) {
        self.photos.sort();
    }

    pub(super) fn len(&self) -> usize {
        self.photos.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.photos.is_empty()
    }

    /// What cannot be done with them: `decoded`, or `read`.
    pub(super) const fn what(&self) -> &'static str {
        if self.refused { "read" } else { "decoded" }
    }

    /// The first few with their reasons, and what to do.
    pub(super) fn reported(&self) -> String {
        let reported: Vec<String> = self
            .photos
            .iter()
            .map(|(name, why)| format!("{name} ({why})"))
            .collect();
        let remedy = match self.refused {
            true => "give this user the right to read them",
            false => "PNG, JPEG, WebP, TIFF and EXR are read, save or copy them again",
        };
        format!("{}; {remedy}", listed(&reported))
    }

    /// Their names.
    pub(super) fn names(self) -> impl Iterator<Item = String> {
        self.photos.into_iter().map(|(name, _)| name)
    }
}

/// What is odd about the sizes that photos are trained at.
pub(super) fn odd_sizes(views: &[View], resolution: Resolution) -> Vec<String> {
    let tiny = views.iter().find(|view| view.camera.width_px < TINY_WIDTH_PX);
    let tiny = tiny.map(|view| {
        let (width, height) = (view.camera.width_px, view.camera.height_px);
        format!(
            "{} is trained at only {width}x{height} pixels; is the resolution meant?",
            view.name
        )
    });
    let enlarged = match resolution {
        Resolution::Width(width) => views.iter().filter(|view| view.source_width < width).collect(),
        Resolution::Auto | Resolution::Divide(_) => Vec::new(),
    };
    let enlarged = enlarged.first().map(|view| {
        format!(
            "{} of {} photos are enlarged to the width asked for, such as {} of {} px; `-r 1` trains on photos as they are",
            enlarged.len(),
            views.len(),
            view.name,
            view.source_width
        )
    });
    tiny.into_iter().chain(enlarged).collect()
}

/// That `count` of `all` cameras, which `reported` names, are far from the others, which are within `reach`.
pub(super) fn stray_warning(count: usize, all: usize, reach: f64, reported: &str) -> String {
    let stand = if count == 1 { "stands" } else { "stand" };
    format!(
        "{count} of {all} cameras {stand} far from all others, which are within {reach:.4} of their middle: {reported}"
    )
}

/// That no photo shows any of `points` sparse points.
pub(super) fn no_points_seen(points: usize) -> String {
    format!(
        "no training picture contains any of the {points} sparse points; check that poses and points are of one model, and \
         that the poses are not inverted"
    )
}

/// How many photos are turned, if any is.
pub(super) fn turned_notice<'v>(views: impl Iterator<Item = &'v View>) -> Option<String> {
    let turned = views.filter(|view| view.upright.is_turned()).count();
    (turned > 0).then(|| {
        format!(
            "{turned} of the images are turned as their EXIF orientation says, because their cameras' sizes ask for it"
        )
    })
}

/// What undistortion did to each camera, and in short to those after the first few; how to lose less of fisheyes.
pub(super) fn crop_notices(cameras: &[CameraUse]) -> Vec<String> {
    let mut lossy: Vec<(&CameraUse, f64)> = cameras.iter().filter_map(|c| Some((c, c.lost?))).collect();
    lossy.sort_by_key(|(camera, _)| std::cmp::Reverse(camera.images));
    let mut notices: Vec<String> = lossy
        .iter()
        .take(SHOWN)
        .map(|(camera, lost)| {
            let images = if camera.images == 1 { "image" } else { "images" };
            format!(
                "camera {} {}x{} ({} {images}): undistorted to {}x{}, {:.1} % of a picture are lost at the edges",
                camera.model,
                camera.file_px.0,
                camera.file_px.1,
                camera.images,
                camera.source_px.0,
                camera.source_px.1,
                100.0 * lost
            )
        })
        .collect();
    let rest = lossy.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let most = rest.iter().map(|(_, lost)| *lost).fold(0.0, f64::max);
        notices.push(format!(
            "{} more cameras: undistorted, at most {:.1} % of a picture are lost at the edges",
            rest.len(),
            100.0 * most
        ));
    }
    if lossy.iter().any(|(camera, lost)| camera.is_fisheye && *lost >= MUCH) {
        let remedy = "`dataset.undistort: auto` leaves fisheyes as they are where nothing needs pinholes; elsewhere `whole` keeps more of them";
        notices.push(remedy.to_owned());
    }
    notices
}
