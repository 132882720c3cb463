//! A data set's views and points, without pixels: what a run is planned from.
//!
//! Owns what is known of a data set once it is read. Promises train views that are not empty, finite poses, and images
//! that exist with the size it states.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::options::{SceneKind, SceneOptions};
use super::strays::Middle;
use super::view::{Split, View, ViewId};
use super::{Camera, CameraUse, Near, PhotoParts, Point, Resolution, SceneError, SeenPoint, load, split};

/// Poses, sizes and points of a data set.
#[derive(Clone, Debug)]
pub struct SceneIndex {
    /// What kind of data set it is.
    pub kind: SceneKind,
    /// Its folder.
    pub root: PathBuf,
    /// Views to train on, sorted by name; never empty.
    pub train: Vec<View>,
    /// Held-out views, sorted by name.
    pub test: Vec<View>,
    /// Points of the sparse model or point cloud in file order; empty when there are none.
    pub points: Vec<Point>,
    /// What coordinates are relative to, in those of the data set; zero unless they are so large that f32 cannot hold them.
    pub origin: [f64; 3],
    /// 1.1 times the largest distance of a training camera from their mean, those far from all others left out, world units; above 0.
    pub extent: f32,
    /// How near things are to the training cameras.
    pub near: Near,
    /// What is odd but usable, for the user to read.
    pub warnings: Vec<String>,
    /// True when some view's pixels may be masked; all its photos then carry a mask.
    pub masked: bool,
    /// What was chosen where there was a choice, and what undistortion cost, for the user to read.
    pub notices: Vec<String>,
    /// The folder or file that lists the images.
    pub model: PathBuf,
    /// The folder that image names are relative to.
    pub images: PathBuf,
    /// Names of listed images that are not there, sorted.
    pub missing: Vec<String>,
    /// Names of listed images whose files cannot be decoded by what their headers say, sorted.
    pub undecodable: Vec<String>,
    /// Names of images left out because their cameras are far from all others and show nothing of the scene, sorted.
    pub strays: Vec<String>,
    /// The cameras that took the images, in the order of their first image.
    pub cameras: Vec<CameraUse>,
    pub(super) resolution: Resolution,
}

impl SceneIndex {
    /// The kind of data set in `root`, without reading it.
    ///
    /// # Errors
    /// [`SceneError`] that says what `root` is instead.
    pub fn detect(root: &Path) -> Result<SceneKind, SceneError> {
        load::kind_of(root)
    }

    /// Reads the data set in `root`.
    ///
    /// # Errors
    /// [`SceneError`] naming the file when the data set is of no known kind, damaged, or leaves no training view.
    pub fn load(root: &Path, options: &SceneOptions) -> Result<Self, SceneError> {
        load::load(root, options)
    }

    /// Where the near plane goes: a tenth of the depth of the nearest points, or without any 0.04 extents; world units, always
    /// above 0.
    #[must_use]
    pub fn near_z(&self) -> f32 {
        self.near.plane(self.extent)
    }

    /// The same scene at its resolution divided by `scale`, for training that starts coarse.
    #[must_use]
    pub fn rescaled(&self, scale: f64) -> Self {
        let mut scene = self.clone();
        for view in scene.train.iter_mut().chain(&mut scene.test) {
            view.set_size(self.resolution.apply(view.source_width, view.source_height, scale));
        }
        scene
    }

    /// A part of the scene: the training views of these numbers, no other, and the points at places that `has` wants.
    #[must_use]
    pub fn part(&self, views: &[usize], has: impl Fn([f32; 3]) -> bool) -> Self {
        let train: Vec<View> = views.iter().filter_map(|at| self.train.get(*at)).cloned().collect();
        let points: Vec<Point> = self
            .points
            .iter()
            .filter(|point| has(point.position))
            .copied()
            .collect();
        let extent = split::camera_extent(&train);
        let near = Near::of(&split::together(&train), &points);
        Self {
            kind: self.kind,
            root: self.root.clone(),
            extent: if extent > 0.0 {
                extent
            } else {
                split::point_extent(&train, &points)
            },
            near,
            train,
            test: Vec::new(),
            points,
            origin: self.origin,
            warnings: Vec::new(),
            masked: self.masked,
            notices: Vec::new(),
            model: self.model.clone(),
            images: self.images.clone(),
            missing: Vec::new(),
            undecodable: Vec::new(),
            strays: Vec::new(),
            cameras: self.cameras.clone(),
            resolution: self.resolution,
        }
    }

    /// A view by its id.
    #[must_use]
    pub fn view(&self, id: ViewId) -> Option<&View> {
        self.views_of(id.split).get(id.index)
    }

    /// The views of one split.
    #[must_use]
    pub fn views_of(&self, split: Split) -> &[View] {
        match split {
            Split::Train => &self.train,
            Split::Test => &self.test,
        }
    }

    /// All views, training views first, with their ids.
    pub fn views(&self) -> impl Iterator<Item = (ViewId, &View)> {
        [Split::Train, Split::Test].into_iter().flat_map(move |split| {
            self.views_of(split)
                .iter()
                .enumerate()
                .map(move |(index, view)| (ViewId { split, index }, view))
        })
    }

    /// The training cameras without those far from all others; never empty.
    #[must_use]
    pub fn cameras_together(&self) -> Vec<&Camera> {
        split::together(&self.train)
    }

    /// The points in order, without those so far from the others that they say nothing of how the scene lies.
    pub fn points_together(&self) -> impl Iterator<Item = &Point> {
        let middle = Middle::of(&self.cameras_together(), &self.points);
        self.points
            .iter()
            .filter(move |point| !middle.is_distant(point.position))
    }

    /// Mean of the training cameras' positions, strays left out, world units.
    #[must_use]
    pub fn center(&self) -> [f32; 3] {
        let mut sum = [0.0_f64; 3];
        let cameras = self.cameras_together();
        for camera in &cameras {
            let position = camera.position();
            sum = std::array::from_fn(|axis| sum[axis] + f64::from(position[axis]));
        }
        let count = cameras.len().max(1) as f64;
        sum.map(|total| (total / count) as f32)
    }

    /// What photos carry beside their colours.
    #[must_use]
    pub fn parts(&self) -> PhotoParts {
        PhotoParts {
            masked: self.masked,
            depths: self.train.iter().any(|view| view.depth.is_some()),
            normals: self.train.iter().any(|view| view.normal.is_some()),
        }
    }

    /// The camera that took each view, training views first, numbered in that order, and how many there are. Where most photos have a camera of
    /// their own, as in models that calibrate each photo by itself, pictures of one size are of one camera.
    #[must_use]
    pub fn takers(&self) -> (Vec<u32>, u32) {
        let numbered = |key: &dyn Fn(&View) -> [usize; 2]| {
            let mut found = BTreeMap::new();
            let mut numbers = Vec::new();
            for (_, view) in self.views() {
                let next = u32::try_from(found.len()).unwrap_or(u32::MAX);
                numbers.push(*found.entry(key(view)).or_insert(next));
            }
            (numbers, u32::try_from(found.len()).unwrap_or(u32::MAX))
        };
        let (by_camera, count) = numbered(&|view| [view.taken_by, 0]);
        if 2 * count as usize <= by_camera.len() {
            return (by_camera, count);
        }
        numbered(&|view| [view.source_width, view.source_height].map(|side| side as usize))
    }

    /// Bytes of host memory that the points of the photos take.
    #[must_use]
    pub fn seen_bytes(&self) -> u64 {
        let points: usize = self.train.iter().map(|view| view.seen.len()).sum();
        (points * size_of::<SeenPoint>()) as u64
    }

    /// Width and height of the largest training image in pixels, each side on its own.
    #[must_use]
    pub fn largest_px(&self) -> (u32, u32) {
        self.views().fold((0, 0), |(w, h), (_, view)| {
            (w.max(view.camera.width_px), h.max(view.camera.height_px))
        })
    }
}

#[cfg(test)]
mod tests;
