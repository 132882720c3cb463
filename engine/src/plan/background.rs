//! `init.background`: how many points the background gets, and what colour they have.
//!
//! Owns the choice behind `auto` and the colours. The number follows from poses and points, so that a run can be planned
//! before a photo is decoded; colours are the means of what the training photos show there, summed as integers, so that
//! they are the same whatever order photos come in.

use super::PlanError;
use super::capacity::ceiling;
use super::photos::AHEAD;
use kiln_config::Profile;
use kiln_config::plugins::Auto;
use kiln_scene::capture::background_share;
use kiln_scene::{Alpha, Camera, ImageStore, Point, SceneIndex, Split, ViewId, evenly};

/// Share of points beyond the cameras from which on a background explains itself.
const ENOUGH: f64 = 0.1;
/// Radii of the spheres around the cameras' mean that points lie on, times the scene's extent.
const SHELLS: [f32; 3] = [2.0, 4.0, 8.0];
/// Fewest and most points under `auto`.
const AUTO: [u32; 2] = [3_000, 20_000];
/// Under `auto`, one over the share of the capacity that the background may take.
const PART_OF_CAPACITY: u32 = 4;
/// The same for what the other points leave free.
const PART_OF_FREE: u32 = 2;
/// Most training views, evenly spread, that say where background is in view and what colour it has.
const VIEWS: usize = 100;

/// What the background of a run starts from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// Points, equally many on each shell; 0 for none.
    pub(super) count: u32,
    /// Radii of the shells, times the extent.
    pub(super) shells: Vec<f32>,
    /// True when the engine chose.
    pub(super) is_auto: bool,
    why: String,
}

impl Choice {
    /// Chooses for a run that starts from `others` Gaussians in `scene`, of which `points` are known to be there, and has at most
    /// `most` points of background under `auto`.
    ///
    /// # Errors
    /// [`PlanError::TooMuchBackground`] when a number is set that leaves the model with more Gaussians than it may have.
    pub(crate) fn new(
        asked: Auto<u32>,
        profile: &Profile,
        scene: &SceneIndex,
        others: usize,
        points: &[Point],
        most: u32,
    ) -> Result<Self, PlanError> {
        let (key, capacity) = ceiling(profile, scene);
        let is_auto = asked == Auto::Auto;
        let of = |count: u32, shells: Vec<f32>, why: String| Self {
            count,
            shells,
            is_auto,
            why,
        };
        let none = |why: String| Ok(of(0, Vec::new(), why));
        let shells = enclosing(scene, points);
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        if let Auto::Set(count) = asked {
            if count > 0 && others.saturating_add(count) > capacity {
                return Err(PlanError::TooMuchBackground {
                    count,
                    points: others,
                    key,
                    capacity,
                });
            }
            let shells = if shells.is_empty() { SHELLS.to_vec() } else { shells };
            return Ok(of(count, shells, "as init.background says".to_owned()));
        }
        if points.is_empty() {
            return none("the scene has no sparse points".to_owned());
        }
        if scene.masked || scene.train.iter().any(|view| view.alpha != Alpha::Ignore) {
            return none("masks or transparency say what is background".to_owned());
        }
        // Measured: docs/notebook/cameras.md.
        if scene.train.iter().any(|view| view.camera.lens.is_some()) {
            return none("photos of fisheyes show what is around".to_owned());
        }
        let together = scene.cameras_together();
        let Some(share) = background_share(together.iter().copied(), points) else {
            return none("the cameras do not look at anything together".to_owned());
        };
        let why = format!("{:.1} % of the sparse points lie beyond the cameras", 100.0 * share);
        if share >= ENOUGH {
            return none(why);
        }
        if shells.is_empty() {
            return none("the sparse points reach beyond any background".to_owned());
        }
        let room = room_of(capacity, others).min(most);
        let [fewest, enough] = AUTO;
        let count = others.clamp(fewest, enough).min(room);
        if count == 0 {
            return none("there is no room for more Gaussians".to_owned());
        }
        Ok(of(count, shells, why))
    }

    /// For people, with the number of points that there came to be; `None` when the number is 0.
    pub(super) fn describe(&self, placed: usize) -> Option<String> {
        match (self.is_auto, self.count, placed) {
            (false, 0, _) => None,
            (_, 0, _) => Some(format!("background points: none ({})", self.why)),
            (_, _, 0) => Some("background points: none (no training view shows any)".to_owned()),
            _ => Some(format!(
                "background points: {} on {} ({})",
                thousands(placed),
                match self.shells.len() {
                    1 => "1 shell".to_owned(),
                    n => format!("{n} shells"),
                },
                self.why
            )),
        }
    }
}

/// Most points of background under `auto` beside `sparse` others in a model of at most `capacity` Gaussians: whatever the
/// cap, at least as much of what is free is left to grow into.
pub(super) fn room_of(capacity: u32, sparse: u32) -> u32 {
    (capacity / PART_OF_CAPACITY).min(capacity.saturating_sub(sparse) / PART_OF_FREE)
}

/// Those of the [`SHELLS`] that most of the points lie within: around a capture from afar, small ones would stand in front of
/// what the photos show.
fn enclosing(scene: &SceneIndex, points: &[Point]) -> Vec<f32> {
    let center = scene.center();
    let is_beyond = |point: &Point, radius: f64| {
        let squared: f64 = (0..3)
            .map(|i| (f64::from(point.position[i]) - f64::from(center[i])).powi(2))
            .sum();
        squared > radius * radius
    };
    let encloses = |shell: &&f32| {
        let radius = f64::from(**shell) * f64::from(scene.extent);
        let beyond = points.iter().filter(|point| is_beyond(point, radius)).count();
        (beyond as f64) < ENOUGH * points.len() as f64
    };
    SHELLS.iter().filter(encloses).copied().collect()
}

/// Places of the training views that background is looked for in.
fn views(scene: &SceneIndex) -> impl Iterator<Item = usize> {
    evenly(scene.train.len(), VIEWS)
}

/// Their cameras.
pub(super) fn cameras(scene: &SceneIndex) -> Vec<Camera> {
    views(scene)
        .filter_map(|index| scene.train.get(index))
        .map(|view| view.camera.clone())
        .collect()
}

/// What the photos in `store`, those of `scene`, show at `places`: the mean of the pixels that count; `None` where there is
/// none. Photos that cannot be decoded are passed over: the run reports them when it needs them.
pub(super) fn colours(scene: &SceneIndex, store: &ImageStore, places: &[[f32; 3]]) -> Vec<Option<[u8; 3]>> {
    let ids: Vec<ViewId> = views(scene)
        .map(|index| ViewId {
            split: Split::Train,
            index,
        })
        .collect();
    let mut sums = vec![[0_u32; 4]; places.len()];
    for (at, id) in ids.iter().enumerate() {
        store.prefetch(ids.iter().skip(at).take(AHEAD).copied());
        let (Some(view), Ok(photo)) = (scene.view(*id), store.get(*id)) else {
            continue;
        };
        let width = view.camera.width_px as usize;
        for (place, sum) in places.iter().zip(&mut sums) {
            let Some([x, y, _]) = view.camera.sees(*place) else {
                continue;
            };
            let pixel = y as usize * width + x as usize;
            let counts = photo
                .mask()
                .is_none_or(|mask| mask.get(pixel).is_some_and(|value| *value > 0));
            if let (true, Some(rgb)) = (counts, photo.get(3 * pixel..3 * pixel + 3)) {
                for (total, value) in sum.iter_mut().zip(rgb.iter().chain(&[1])) {
                    *total += u32::from(*value);
                }
            }
        }
    }
    sums.into_iter()
        .map(|[r, g, b, n]| (n > 0).then(|| [r, g, b].map(|total| ((2 * total + n) / (2 * n)) as u8)))
        .collect()
}

/// A number in groups of three digits.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(" ")
}
