//! The model before the first step: where its Gaussians come from, and what they look like.
//!
//! A first model is made in two parts. Places and sizes follow from poses and points, so that memory is planned for every
//! Gaussian before a photo is decoded; the colours of the background come from photos, once they can be had.

mod given;
mod points;

use std::path::Path;

use points::Points;

use super::background::{self, Choice, thousands};
use super::demand::Demand;
use super::planning::plan;
use super::report::PlanReport;
use super::train_plan::TrainPlan;
use super::{Faults, PlanError, bound, order, triangles};
use kiln_config::plugins::{Auto, Init, MeshOptions, ModelOptions};
use kiln_config::{MostGaussians, Profile};
use kiln_gaussians::background::sphere_points;
use kiln_gaussians::bound::{Binding, BoundMesh};
use kiln_gaussians::{Gaussians, init};
use kiln_gpu::memory::{Budget, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_scene::math::{Real, logit};
use kiln_scene::{ImageStore, Point, SceneIndex, evenly};

/// Key of the most Gaussians there may be.
const MAX_GAUSSIANS: &str = "memory.max_gaussians";
/// Colour of the background until photos say what it is.
const GREY: [u8; 3] = [127; 3];

/// The first model of a run.
pub struct FirstModel {
    /// One Gaussian a point, along a Morton curve.
    pub gaussians: Gaussians,
    /// Places of those of the background in `gaussians`, ascending.
    background: Vec<usize>,
    /// Their colours.
    colors: Vec<[u8; 3]>,
    /// What was left out of a file of points or a mesh, or is missing in it.
    left_out: Option<String>,
    /// What was chosen for the background, of kinds that have one.
    choice: Option<Choice>,
    /// What the others are, for people.
    source: &'static str,
    /// How many of them there were before they were thinned.
    offered: usize,
    /// The key that says how many there may be.
    thinned_by: &'static str,
    /// The mesh that they are bound to.
    bound: Option<(BoundMesh, Binding)>,
    /// What was left out of a given model, or read otherwise.
    noted: Option<String>,
}

impl FirstModel {
    /// Makes the model that `profile.init` asks for, its background still grey. A scene without points starts from random
    /// ones: in front of the cameras, or, as is usual for NeRF-synthetic objects, in a box. Of more points than
    /// `memory.max_gaussians` it takes as many, evenly spread in their order.
    ///
    /// # Errors
    /// [`PlanError::Scene`] when a file of points cannot be read, [`PlanError::Ply`] when one of a model cannot,
    /// [`PlanError::Init`] when no Gaussian can be made, [`PlanError::Bound`] when none can be bound to a mesh,
    /// [`PlanError::TooMuchBackground`] when there would be more than the profile allows.
    pub fn new(profile: &Profile, scene: &SceneIndex) -> Result<Self, PlanError> {
        Self::with_at_most(profile, scene, u32::MAX)
    }

    /// The same with at most `most` points of background where the engine chooses how many there are.
    pub(super) fn with_at_most(profile: &Profile, scene: &SceneIndex, most: u32) -> Result<Self, PlanError> {
        let points = match &profile.init {
            Init::SfmPoints(options) => Points::sparse(options, profile.train.seed, scene),
            Init::RandomBox(options) => Points::in_box(options, profile.train.seed),
            Init::RandomFrustum(options) => Points::in_front(options, profile.train.seed, scene),
            Init::Ply(options) => Points::of_file(options, scene)?,
            Init::Model(options) => return Self::given(options, profile, scene),
            Init::Mesh(options) => return Self::on_mesh(options, profile, scene),
        };
        Self::of_points(points, profile, scene, most)
    }

    /// A model as a file has it.
    fn given(options: &ModelOptions, profile: &Profile, scene: &SceneIndex) -> Result<Self, PlanError> {
        let (gaussians, offered, noted) = given::read(Path::new(&options.path), profile, scene.origin)?;
        Ok(Self {
            gaussians: gaussians.taken(&order::of_first(&gaussians, scene)),
            background: Vec::new(),
            colors: Vec::new(),
            choice: None,
            source: "given Gaussians",
            offered,
            thinned_by: MAX_GAUSSIANS,
            left_out: None,
            bound: None,
            noted: (!noted.is_empty()).then(|| format!("{}: {}", options.path, noted.join("; "))),
        })
    }

    /// Gaussians bound to the triangles of a mesh.
    fn on_mesh(options: &MeshOptions, profile: &Profile, scene: &SceneIndex) -> Result<Self, PlanError> {
        let read = bound::read(options, profile, scene.extent, scene.origin)?;
        Ok(Self {
            offered: read.gaussians.len(),
            thinned_by: MAX_GAUSSIANS,
            gaussians: read.gaussians,
            background: Vec::new(),
            colors: Vec::new(),
            choice: None,
            source: "Gaussians on triangles",
            left_out: read.left_out,
            bound: Some((read.mesh, read.binding)),
            noted: None,
        })
    }

    /// A Gaussian at each point, or as many as the profile allows, and the background that it asks for.
    fn of_points(points: Points, profile: &Profile, scene: &SceneIndex, most: u32) -> Result<Self, PlanError> {
        let Points {
            mut points,
            source,
            opacity,
            size,
            left_out,
        } = points;
        let offered = points.len();
        let most_points = match (profile.most_points(), profile.memory.max_gaussians) {
            (Some(most), _) | (None, MostGaussians::Set(most)) => Some(most),
            (None, MostGaussians::UpTo(_)) => None,
        };
        if let Some(most) = most_points
            && offered > most as usize
        {
            points = evenly(offered, most as usize).map(|at| points[at]).collect();
        }
        let degree = profile.model.sh_degree;
        let mut gaussians = init::from_points(&points, scene.extent, degree)?;
        let choice = profile.init.background().map(|asked| {
            // Random points reach into the background by themselves.
            let known: &[Point] = if source == points::RANDOM { &[] } else { &points };
            Choice::new(asked, profile, scene, points.len(), known, most)
        });
        let choice = choice.transpose()?;
        if let Some(choice) = &choice {
            for shell in shells(choice, scene) {
                // Sizes follow from the neighbours on the same shell.
                gaussians.append(init::from_points(&shell, scene.extent, degree)?);
            }
        }
        gaussians.logit_opacities.fill(logit(opacity));
        // Adding ln 1 = 0 changes no bit.
        for value in gaussians.log_scales.as_flattened_mut() {
            *value += Real::ln(size);
        }
        let order = order::of_first(&gaussians, scene);
        let background: Vec<usize> = (0..)
            .zip(&order)
            .filter(|(_, from)| **from >= points.len())
            .map(|(at, _)| at)
            .collect();
        Ok(Self {
            colors: vec![GREY; background.len()],
            gaussians: gaussians.taken(&order),
            background,
            choice,
            source,
            offered,
            thinned_by: if profile.is_triangles() {
                "mesh_splatting.max_points"
            } else {
                MAX_GAUSSIANS
            },
            left_out,
            bound: None,
            noted: None,
        })
    }

    /// The mesh that the Gaussians are bound to.
    #[must_use]
    pub fn mesh(&self) -> Option<&BoundMesh> {
        self.bound.as_ref().map(|(mesh, _)| mesh)
    }

    /// What a run needs room for, counted over the training views of `scene`.
    #[must_use]
    pub fn demand(&self, profile: &Profile, scene: &SceneIndex) -> Demand {
        Demand {
            bound: self.bound.as_ref().map(|(_, binding)| *binding),
            ..Demand::count(profile, scene, &self.gaussians)
        }
    }

    /// Gives the background the colours that the training photos in `store` show there; `scene` has their cameras. What no
    /// photo colours goes.
    pub(crate) fn colour(&mut self, scene: &SceneIndex, store: &ImageStore) {
        if self.background.is_empty() {
            return;
        }
        let places: Vec<[f32; 3]> = self.background_places().collect();
        let colors = background::colours(scene, store, &places);
        let mut dropped = vec![false; self.gaussians.len()];
        for (&at, color) in self.background.iter().zip(&colors) {
            match (color, self.gaussians.sh0.get_mut(at)) {
                (Some(color), Some(sh0)) => *sh0 = init::sh0(*color),
                _ => dropped[at] = true,
            }
        }
        if dropped.contains(&true) {
            let kept: Vec<usize> = (0..dropped.len()).filter(|&at| !dropped[at]).collect();
            let of_background = |at: &usize| self.background.binary_search(at).is_ok();
            let background = (0..)
                .zip(&kept)
                .filter(|(_, from)| of_background(from))
                .map(|(at, _)| at)
                .collect();
            self.gaussians = self.gaussians.taken(&kept);
            self.background = background;
        }
        self.colors = colors.into_iter().flatten().collect();
    }

    fn background_places(&self) -> impl Iterator<Item = [f32; 3]> {
        self.background
            .iter()
            .filter_map(|&at| self.gaussians.means.get(at).copied())
    }

    /// The points of the background, coloured as far as photos did.
    pub fn background_points(&self) -> impl Iterator<Item = Point> {
        let colors = self.colors.iter();
        self.background_places().zip(colors).map(|(position, color)| Point {
            position,
            color: *color,
        })
    }

    /// `profile` with what was chosen in place of `auto`.
    pub(crate) fn chosen(&self, mut profile: Profile) -> Profile {
        if let (Some(choice), Some(background)) = (&self.choice, profile.init.background_mut())
            && choice.is_auto
        {
            *background = Auto::Set(choice.count);
        }
        profile
    }

    /// What was chosen for the background and why, or what was left out of a mesh or a model, for people; `None` where there was nothing to choose.
    #[must_use]
    pub fn choice(&self) -> Option<String> {
        let chosen = self
            .choice
            .as_ref()
            .and_then(|choice| choice.describe(self.background.len()));
        let reported: Vec<String> = self.left_out.iter().chain(&self.noted).cloned().chain(chosen).collect();
        (!reported.is_empty()).then(|| reported.join("; "))
    }

    /// Where the Gaussians come from, for people.
    #[must_use]
    pub fn origin(&self) -> String {
        let (all, background) = (self.gaussians.len(), self.background.len());
        let points = match all - background {
            kept if kept < self.offered => format!(
                "{} of {} {} (`{}`)",
                thousands(kept),
                thousands(self.offered),
                self.source,
                self.thinned_by
            ),
            kept => format!("{} {}", thousands(kept), self.source),
        };
        match background {
            0 => points,
            _ => format!("{points} + {} background", thousands(background)),
        }
    }
}

/// The points of the background, grey, by shell; shells that nobody sees are left out.
fn shells(choice: &Choice, scene: &SceneIndex) -> Vec<Vec<Point>> {
    if choice.count == 0 {
        return Vec::new();
    }
    let cameras = background::cameras(scene);
    let count = u32::try_from(choice.shells.len()).unwrap_or(u32::MAX).max(1);
    let (each, rest) = (choice.count / count, choice.count % count);
    let points = (0..).zip(&choice.shells).map(|(at, shell)| {
        let places = sphere_points(
            &cameras,
            scene.center(),
            shell * scene.extent,
            each + u32::from(at < rest),
        );
        places
            .into_iter()
            .map(|position| Point { position, color: GREY })
            .collect()
    });
    points.filter(|shell: &Vec<Point>| !shell.is_empty()).collect()
}

/// The first model of a run and the plan for it. Where the engine chooses the background, it takes no more than its share
/// of the Gaussians that the budget holds, and goes where it would not fit.
///
/// # Errors
/// See [`FirstModel::new`] and [`plan`].
pub fn plan_first(
    profile: &Profile,
    scene: &SceneIndex,
    budget: Budget,
    limits: PlanLimits,
    variants: &Variants,
    faults: &Faults,
) -> Result<(FirstModel, TrainPlan, PlanReport), PlanError> {
    let mut first = FirstModel::new(profile, scene)?;
    if profile.is_triangles() {
        let start = triangles::Start::of_points(first.gaussians.len());
        let (plan, report) = triangles::plan(profile, scene, start, (budget, limits), variants, faults)?;
        return Ok((first, plan, report));
    }
    let others = u32::try_from(first.gaussians.len() - first.background.len()).unwrap_or(u32::MAX);
    loop {
        let demand = first.demand(profile, scene);
        let planned = plan(profile, scene, &demand, budget, limits, variants, faults);
        let most = match &planned {
            Ok((_, report)) => background::room_of(report.capacities.n_cap, others),
            Err(PlanError::DoesNotFit { .. }) => 0,
            Err(_) => u32::MAX,
        };
        let is_auto = first.choice.as_ref().is_some_and(|choice| choice.is_auto);
        if is_auto && first.background.len() > most as usize {
            first = FirstModel::with_at_most(profile, scene, most)?;
            continue;
        }
        return planned.map(|(plan, report)| (first, plan, report));
    }
}

#[cfg(test)]
mod tests;
