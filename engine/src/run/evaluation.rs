//! One evaluation: views rendered, measured and pictured. Training and `kiln eval` both go through here, so that both
//! give the same figures for the same model.

use super::RunError;
use crate::eval::LpipsRange;
use crate::eval::lpips::{Lpips, LpipsTensors, LpipsWeights, Pair, Search};
use crate::eval::{EvalFile, SeenBy, TestedPixels, ViewRow, fitted_half_psnr, fog_share, seen_by, view_metrics};
use crate::plan::{AHEAD, ViewSums};
use crate::record::events::{Progress, Stage};
use crate::record::{EvaluatedView, masked_pair};
use crate::train::Trainer;
use kiln_config::{Eval, LpipsChoice};
use kiln_scene::{Camera, ImageStore, Photo, SceneError, SceneIndex, Split, View, ViewId, nearest_point_depth};

/// Views of the training set that are evaluated: every fifth up to the 25th, as the reference report does.
const TRAIN_VIEWS: [usize; 5] = [5, 10, 15, 20, 25];

/// Least width and height that LPIPS is defined for, pixels.
const LPIPS_LEAST_PX: u32 = 16;

/// Renders views and compares pairs, on whatever device holds the model.
pub(super) trait Measure {
    /// Where the camera of a view is to be, which may be moved to `photo` first.
    fn camera(&mut self, _id: ViewId, view: &View, _photo: &Photo) -> Result<Camera, RunError> {
        Ok(view.camera.clone())
    }

    /// Renders `camera` and sums its differences from `photo`.
    fn sums(&mut self, camera: &Camera, photo: &Photo, keep_image: bool) -> Result<ViewSums, RunError>;

    /// Renders `camera` over black with splats nearer than `limit` (depth, world units) white and all others black;
    /// `None` without splats.
    fn near_light(&mut self, camera: &Camera, limit: f32) -> Result<Option<Vec<[f32; 4]>>, RunError>;

    /// Depth at which half of the light of every pixel is blocked, 0 for none; `None` where training cameras are not counted.
    fn depths(&mut self, _camera: &Camera) -> Result<Option<Vec<f32>>, RunError> {
        Ok(None)
    }

    /// LPIPS of a pair; `None` without weights or workspace.
    fn lpips(&mut self, pair: &Pair<'_, 4>, range: LpipsRange) -> Result<Option<f64>, RunError>;
}

/// A trainer between steps.
pub(super) struct Trained<'a> {
    /// Renders.
    pub(super) trainer: &'a mut Trainer,
    /// Compares.
    pub(super) lpips: Option<&'a mut Lpips>,
}

impl Measure for Trained<'_> {
    fn camera(&mut self, id: ViewId, view: &View, photo: &Photo) -> Result<Camera, RunError> {
        if id.split == Split::Test {
            self.trainer.align(id.index, &view.camera, photo.bytes())?;
        }
        let poses = self.trainer.refined_poses()?;
        Ok(poses.map_or_else(|| view.camera.clone(), |poses| poses.camera(id, &view.camera)))
    }

    fn sums(&mut self, camera: &Camera, photo: &Photo, keep_image: bool) -> Result<ViewSums, RunError> {
        Ok(self.trainer.evaluate(camera, photo.bytes(), keep_image)?)
    }

    fn near_light(&mut self, camera: &Camera, limit: f32) -> Result<Option<Vec<[f32; 4]>>, RunError> {
        // Triangles are no light that hangs in the air.
        if self.trainer.is_triangles() {
            return Ok(None);
        }
        Ok(Some(self.trainer.near_light(camera, limit)?))
    }

    fn lpips(&mut self, pair: &Pair<'_, 4>, range: LpipsRange) -> Result<Option<f64>, RunError> {
        match &mut self.lpips {
            Some(lpips) => Ok(Some(lpips.distance(self.trainer.idle_gpu()?, pair, range)?)),
            None => Ok(None),
        }
    }
}

/// Most training cameras that are counted: the model is drawn for each.
const MOST_COUNTED: usize = 1000;

/// What to evaluate.
pub(super) struct Evaluation<'a> {
    /// Views at full training resolution.
    pub(super) scene: &'a SceneIndex,
    /// Their photographs.
    pub(super) store: &'a ImageStore,
    /// Sets whose views get LPIPS.
    pub(super) lpips_of: &'a [Split],
    /// Views a set that are shown.
    pub(super) shown: usize,
    /// Views are also measured after their colours were corrected.
    pub(super) corrected: bool,
    /// Training cameras are counted that see what pixels of test views show, which draws the model from all of them.
    pub(super) counted: bool,
}

/// What an evaluation reports while it goes on.
pub(super) enum Told {
    /// One view more is done.
    Progress(Progress),
    /// A view to be shown.
    View(EvaluatedView),
}

impl Evaluation<'_> {
    /// Evaluates all test views and five training views into `file`. Those whose images cannot be used are left out and
    /// returned.
    pub(super) fn run(
        &self,
        device: &mut dyn Measure,
        file: &mut EvalFile,
        tell: &mut dyn FnMut(Told) -> Result<(), RunError>,
    ) -> Result<Vec<(ViewId, SceneError)>, RunError> {
        let mut left_out = Vec::new();
        let mut tested = Vec::new();
        for (split, indices) in chosen(self.scene) {
            let mut rows = Vec::with_capacity(indices.len());
            for (position, index) in indices.iter().copied().enumerate() {
                let id = ViewId { split, index };
                let Some(view) = self.scene.view(id) else { continue };
                let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
                if position == 0 {
                    // A view may take minutes: with LPIPS on a CPU driver.
                    tell(Told::Progress(Progress {
                        stage: Stage::Eval,
                        done: 0,
                        total: count(indices.len()),
                    }))?;
                }
                let ahead = indices.iter().skip(position).take(AHEAD);
                self.store.prefetch(ahead.map(|&index| ViewId { split, index }));
                match self.store.get(id) {
                    Ok(photo) => {
                        let camera = device.camera(id, view, &photo)?;
                        let seen = (view, &camera, &photo);
                        let (row, shown) = self.view(device, split, seen, file, position < self.shown, &mut tested)?;
                        rows.push(row);
                        if let Some(shown) = shown {
                            tell(Told::View(shown))?;
                        }
                    }
                    Err(error) => left_out.push((id, error)),
                }
                tell(Told::Progress(Progress {
                    stage: Stage::Eval,
                    done: count(position + 1),
                    total: count(indices.len()),
                }))?;
            }
            file.put(split, rows);
        }
        file.seen_by = self.seen_by(device, tested, tell)?;
        Ok(left_out)
    }

    fn view(
        &self,
        device: &mut dyn Measure,
        split: Split,
        (view, camera, photo): (&View, &Camera, &Photo),
        file: &EvalFile,
        is_shown: bool,
        tested: &mut Vec<TestedPixels>,
    ) -> Result<(ViewRow, Option<EvaluatedView>), RunError> {
        let size_px = [camera.width_px, camera.height_px];
        let with_lpips = self.lpips_of.contains(&split) && size_px.iter().all(|side| *side >= LPIPS_LEAST_PX);
        let is_counted = self.counted && split == Split::Test && self.scene.train.len() <= MOST_COUNTED;
        let result = device.sums(camera, photo, with_lpips || is_shown || self.corrected || is_counted)?;
        let mut lpips = None;
        if let (Some(image), true) = (&result.image, with_lpips) {
            let masked = masked_pair(image, photo);
            let (image, target) = masked
                .as_ref()
                .map_or((&image[..], &photo[..]), |(i, t)| (&i[..], &t[..]));
            let pair = Pair { image, target, size_px };
            lpips = device.lpips(&pair, file.lpips_range)?.filter(|value| value.is_finite());
        }
        // Where the image comes to the host for LPIPS, the fit costs next to nothing.
        let image = result.image.as_ref().filter(|_| self.corrected || with_lpips);
        let fitted = image.and_then(|image| fitted_half_psnr(image, photo, camera.width_px, photo.mask()));
        // Training views have a photo that holds the model back; what stands before a camera shows in the others.
        let limit = (split == Split::Test).then(|| nearest_point_depth(&self.scene.points, camera));
        let fog_share = match limit.flatten() {
            Some(limit) => device.near_light(camera, limit)?.as_deref().and_then(fog_share),
            None => None,
        };
        if let (true, Some(image)) = (is_counted, &result.image)
            && let Some(depths) = device.depths(camera)?
        {
            tested.push(TestedPixels::new(camera, &depths, image, photo, photo.mask()));
        }
        let row = ViewRow {
            name: view.id.clone(),
            width: size_px[0],
            height: size_px[1],
            metrics: view_metrics(&result.sums, size_px, photo.mask().is_some())?,
            lpips,
            psnr_fitted_half: fitted,
            fog_share,
            images: is_shown,
        };
        let shown = match (is_shown, result.image, result.tile_counts) {
            (true, Some(image), Some(tile_counts)) => Some(EvaluatedView {
                it: file.iteration,
                set: split,
                stem: view.id.clone(),
                size_px,
                image,
                photo: photo.clone(),
                tile_counts,
            }),
            _ => None,
        };
        Ok((row, shown))
    }

    /// Draws the depths of all training cameras, one at a time, and counts those that see what the pixels of test views show.
    fn seen_by(
        &self,
        device: &mut dyn Measure,
        mut tested: Vec<TestedPixels>,
        tell: &mut dyn FnMut(Told) -> Result<(), RunError>,
    ) -> Result<Option<SeenBy>, RunError> {
        if tested.is_empty() {
            return Ok(None);
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let total = count(self.scene.train.len());
        for (done, view) in (1..).zip(&self.scene.train) {
            if let Some(depths) = device.depths(&view.camera)? {
                tested
                    .iter_mut()
                    .for_each(|view_pixels| view_pixels.count(&view.camera, &depths));
            }
            let stage = Stage::Eval;
            tell(Told::Progress(Progress { stage, done, total }))?;
        }
        Ok(seen_by(&tested, total))
    }
}

/// The sets with the views that are evaluated, test first.
fn chosen(scene: &SceneIndex) -> [(Split, Vec<usize>); 2] {
    let test = (0..scene.test.len()).collect();
    [(Split::Test, test), (Split::Train, train_views(scene.train.len()))]
}

/// The training views that are evaluated, of `count`; few photos come round again, and count once.
fn train_views(count: usize) -> Vec<usize> {
    let mut views = Vec::new();
    for view in TRAIN_VIEWS.iter().map(|i| i % count.max(1)) {
        if view < count && !views.contains(&view) {
            views.push(view);
        }
    }
    views
}

/// Sets whose views get LPIPS. On a CPU driver a view takes seconds to minutes, so there it is the test views, once.
pub(super) fn lpips_sets(on_cpu: bool, is_last: bool) -> &'static [Split] {
    match (on_cpu, is_last) {
        (false, _) => &[Split::Test, Split::Train],
        (true, true) => &[Split::Test],
        (true, false) => &[],
    }
}

/// Looks for the weights when `eval.lpips` asks for them. The text says why there are none.
pub(super) fn lpips_weights(eval: &Eval) -> Result<(Option<LpipsWeights>, Option<String>), RunError> {
    if eval.lpips == LpipsChoice::Off {
        return Ok((None, None));
    }
    Ok(match LpipsWeights::find()? {
        Search::Found(weights) => (Some(weights), None),
        Search::Absent(message) => (None, Some(message)),
    })
}

/// [`lpips_weights`] joined with the workspace of a plan.
pub(super) fn lpips(eval: &Eval, workspace: Option<LpipsTensors>) -> Result<(Option<Lpips>, Option<String>), RunError> {
    let (weights, warning) = lpips_weights(eval)?;
    Ok((workspace.zip(weights).map(|(t, w)| Lpips::new(t, w)), warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lpips_runs_once_on_cpu_drivers() {
        assert_eq!(lpips_sets(false, false).len(), 2);
        assert_eq!(lpips_sets(true, true), [Split::Test]);
        assert!(lpips_sets(true, false).is_empty());
    }

    #[test]
    fn no_photo_counts_twice() {
        for (photos, views) in [
            (0, &[][..]),
            (1, &[0]),
            (2, &[1, 0]),
            (5, &[0]),
            (7, &[5, 3, 1, 6, 4]),
            (40, &[5, 10, 15, 20, 25]),
        ] {
            assert_eq!(train_views(photos), views, "{photos}");
        }
    }

    #[test]
    fn no_weights_are_read_unless_asked_for() {
        let eval = Eval {
            lpips: LpipsChoice::Off,
            views_logged: 0,
        };
        assert!(matches!(lpips_weights(&eval), Ok((None, None))));
    }
}
