//! The index of a data set that was read: masks and maps of its views, their sizes, the extent of the scene, and what is said of all that.

use std::path::Path;

use super::Loader;
use super::notices::{crop_notices, no_points_seen, odd_sizes, turned_notice};
use super::sets::Sets;
use crate::scene::camera_use::CameraUse;
use crate::scene::index::SceneIndex;
use crate::scene::options::SceneKind;
use crate::scene::view::{self, Alpha, View};
use crate::scene::{Near, Point, SceneError, depths, masks, normals, seen, split};

impl Loader<'_> {
    /// The index of what was read: of views with the sizes of their photos, and points.
    pub(super) fn finish(
        mut self,
        kind: SceneKind,
        model: &Path,
        images: &Path,
        (train, test): Sets,
        points: Vec<Point>,
    ) -> Result<SceneIndex, SceneError> {
        if train.is_empty() {
            return Err(self.all_held_out(test.len()));
        }
        let trained = train.len();
        let mut views = train;
        views.extend(test);
        view::assign_ids(&mut views);
        let masked = self.attach_masks(&mut views)?;
        self.set_sizes(&mut views);
        let (trained, points) = self.without_strays(&mut views, trained, points);
        let test = views.split_off(trained);
        let mut train = views;
        self.warnings.extend(odd_sizes(&train, self.resolution));
        let extent = self.extent(&train, &points)?;
        let near = Near::of(&split::together(&train), &points);
        if near.depth.is_none() && !points.is_empty() {
            self.warnings.push(no_points_seen(points.len()));
        }
        for view in train.iter_mut().filter(|view| !view.seen.is_empty()) {
            view.seen = seen::in_picture(&view.seen, &view.camera, near.plane(extent));
        }
        self.attach_maps(&mut train, &test, &points)?;
        let cameras: Vec<CameraUse> = self.cameras.into_iter().map(|(_, camera)| camera).collect();
        self.notices.extend(crop_notices(&cameras));
        self.notices.extend(turned_notice(train.iter().chain(&test)));
        self.missing.sort();
        self.undecodable.sort();
        Ok(SceneIndex {
            kind,
            root: self.root.to_owned(),
            train,
            test,
            points,
            origin: self.origin,
            extent,
            near,
            masked,
            warnings: self.warnings,
            notices: self.notices,
            model: model.to_owned(),
            images: images.to_owned(),
            missing: self.missing,
            undecodable: self.undecodable,
            strays: self.strays,
            cameras,
            resolution: self.resolution,
        })
    }

    /// The error of a data set that leaves no view to train on.
    fn all_held_out(&self, tested: usize) -> SceneError {
        SceneError::NoViews {
            path: self.root.to_owned(),
            why: format!("{tested} usable view, and it is held out; train on all views (--no-eval)"),
        }
    }

    /// Gives views their masks, and whether pixels of any of them do not count.
    fn attach_masks(&mut self, views: &mut [View]) -> Result<bool, SceneError> {
        let given = std::mem::take(&mut self.masks);
        masks::attach(
            views,
            self.root,
            (self.options, &given),
            &self.fence,
            (&mut self.notices, &mut self.warnings),
        )?;
        Ok(views
            .iter()
            .any(|view| view.mask.is_some() || view.alpha == Alpha::Mask || view.upright.shows_empty()))
    }

    /// Gives cameras the sizes that their photos are trained at.
    fn set_sizes(&self, views: &mut [View]) {
        for view in views {
            if !self.options.respect_principal_point {
                view.centre();
            }
            let (width, height) = (view.source_width, view.source_height);
            view.set_size(self.resolution.apply(width, height, 1.0));
        }
    }

    /// The scene's extent: that of the training cameras, or of what they see where all stand in one place.
    fn extent(&mut self, train: &[View], points: &[Point]) -> Result<f32, SceneError> {
        let mut extent = split::camera_extent(train);
        if extent <= 0.0 {
            extent = split::point_extent(train, points);
            self.warnings.push(format!(
                "all training cameras share one position; scene extent taken as {extent}"
            ));
        }
        if extent.is_finite() {
            return Ok(extent);
        }
        let remedy = "camera positions must be within the range of f32, export the model again";
        Err(SceneError::malformed(
            self.root,
            "camera poses",
            "cameras that are infinitely far apart",
            remedy,
        ))
    }

    /// Gives training views the maps of depths and normals that the options name.
    fn attach_maps(&mut self, train: &mut [View], test: &[View], points: &[Point]) -> Result<(), SceneError> {
        let (root, fence) = (self.root, &self.fence);
        let (notices, warnings) = (&mut self.notices, &mut self.warnings);
        if let Some(folder) = &self.options.depths {
            depths::attach((train, test), root, folder, points, fence, notices, warnings)?;
        }
        if let Some((folder, axes)) = &self.options.normals {
            normals::attach(train, root, (folder.as_path(), *axes), points, fence, notices, warnings)?;
        }
        Ok(())
    }
}
