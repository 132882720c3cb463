//! What a run will take, without training: on the device that is here, or on the card of a profile.

use super::block::BlockTask;
use super::checks::{check_scene, check_triangles};
use super::news::{Listener, News};
use super::planned::{card_limits, card_variants};
use super::scene::settle_lpips;
use super::stored::budget_of;
use super::{ForScene, JobError, Settings};
use crate::mesh::MeshOutlook;
use crate::plan::{
    Card, Faults, FirstModel, OpenDevice, Pinned, PlanError, PlanReport, Prediction, REFERENCE_BYTES, TrainPlan,
    gib_to_bytes, image_host_bytes, open_device, plan_first, plan_with_photos, with_remedies,
};
use crate::run::{RunError, StagesOutlook, device_budget, mesh_outlook, stages_outlook};
use kiln_config::{Inputs, Profile};
use kiln_gpu::memory::{Budget, GIB, Gpu, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_scene::SceneIndex;

/// A request for a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Inputs of the profile; the scene may be a block of a project.
    pub settings: Settings,
    /// What is made to go wrong.
    pub faults: Faults,
}

/// The plan of a run.
pub struct Planned {
    /// The final profile.
    pub profile: Profile,
    /// The first model.
    pub first: FirstModel,
    /// Tensors and programs.
    pub plan: TrainPlan,
    /// What they take.
    pub report: PlanReport,
    /// What was chosen for the scene and its first model, a line each for people.
    pub chosen: Vec<String>,
    /// Bytes of the photos in host memory.
    pub image_host_bytes: u64,
    /// The device that is here, where the plan is for it.
    pub device: Option<String>,
    /// The rates come from a view that was timed on it.
    pub is_measured: bool,
    /// Steps a second, on a card that is known or measured.
    pub predicted: Option<Prediction>,
    /// Limits of what is planned for.
    pub limits: PlanLimits,
    budget: Budget,
    variants: Variants,
    scene: SceneIndex,
    faults: Faults,
}

/// What a plan is made for.
struct Place {
    budget: Budget,
    limits: PlanLimits,
    variants: Variants,
    /// It is the device that is here.
    is_here: bool,
}

/// Plans the run of a scene.
///
/// # Errors
/// Anything that keeps the plan from being made.
pub fn plan(request: &Plan, listen: &mut Listener<'_>) -> Result<Planned, JobError> {
    let faults = &request.faults;
    // A block is planned as its run would be.
    let of_block = BlockTask::of(&request.settings)?.map(|task| task.settings(request.settings.auto));
    let settings = of_block.as_ref().unwrap_or(&request.settings);
    let (open, inputs) = open_where_it_counts(settings, faults)?;
    let ForScene {
        mut profile,
        scene,
        adapted,
        notes,
        ..
    } = ForScene::of(&inputs)?.decided()?;
    // What a run would warn of is better known before.
    for warning in &scene.warnings {
        listen(News::Warning(warning));
    }
    for note in &notes {
        listen(News::Note(note));
    }
    let by_device = settings.needs_device()?;
    let cap = profile.memory.cap_gib.map(gib_to_bytes).filter(|_| !by_device);
    let place = place(open.as_ref(), &mut profile, cap, faults, listen)?;
    let Place {
        budget,
        limits,
        variants,
        is_here,
    } = place;
    let (first, plan, report) = plan_with_photos(
        &mut profile,
        &scene,
        budget.cap_bytes,
        kiln_system::available_bytes(),
        |profile| plan_first(profile, &scene, budget, limits, &variants, faults),
        |(_, _, report)| report,
    )
    .map_err(|error| with_remedies(error, &profile, &scene, (budget, limits), &variants, faults))?;
    let open = open.filter(|_| is_here);
    let device = open.as_ref().map(|open| open.device.caps().name.clone());
    let known = device.as_deref().and_then(Card::named);
    let measured = match &open {
        Some(open) if !profile.is_triangles() && known.is_none() => Card::measured(&open.device, &variants)?,
        _ => None,
    };
    let is_measured = measured.is_some();
    let card = known.or(measured).filter(|_| !profile.is_triangles());
    Ok(Planned {
        predicted: card.map(|card| Prediction::new(card, &report.demand, &report.capacities)),
        image_host_bytes: image_host_bytes(&profile, &scene),
        chosen: adapted.into_iter().chain(first.choice()).collect(),
        profile,
        first,
        plan,
        report,
        device,
        is_measured,
        limits,
        budget,
        variants,
        scene,
        faults: faults.clone(),
    })
}

/// The device that is here, and the inputs on it. Whoever names a profile and no device asks about the profile's card, which need not
/// be here.
fn open_where_it_counts(settings: &Settings, faults: &Faults) -> Result<(Option<OpenDevice>, Inputs), JobError> {
    let preliminary = settings.preliminary()?;
    // Before a device is looked for: a scene that is not there is the first thing to know.
    check_scene(&preliminary)?;
    check_triangles(&preliminary, &settings.inputs.overrides)?;
    let by_device = settings.needs_device()?;
    let named = if by_device { None } else { preliminary.memory.cap_gib };
    let open = match open_device(&preliminary, faults.clone()) {
        Ok(open) => Some(open),
        Err(PlanError::Vulkan(_)) if named.is_some() && preliminary.device.select.is_none() => None,
        Err(error) => return Err(error.into()),
    };
    let inputs = match &open {
        Some(open) if by_device => settings.inputs_on(budget_of(open))?,
        _ => settings.inputs.clone(),
    };
    Ok((open, inputs))
}

/// What is planned for. A named profile plans for its own card, of `cap` bytes, whatever is here: that is what a plan is for.
fn place(
    open: Option<&OpenDevice>,
    profile: &mut Profile,
    cap: Option<u64>,
    faults: &Faults,
    listen: &mut Listener<'_>,
) -> Result<Place, JobError> {
    let here = open.map(|open| (open, budget_of(open)));
    let foreign = cap.filter(|cap| here.as_ref().is_none_or(|(_, here)| *cap > here.bytes));
    if let (Some((open, here)), None) = (&here, foreign) {
        settle_lpips(profile, here.is_cpu);
        let pinned = Pinned::for_training(open, profile)?;
        for warning in &pinned.warnings {
            listen(News::Warning(warning));
        }
        return Ok(Place {
            budget: device_budget(open, profile),
            limits: Gpu::limits(&open.device),
            variants: pinned.variants,
            is_here: true,
        });
    }
    let why = match here {
        Some((open, here)) => format!(
            "`{}` here offers {:.2} GiB",
            open.device.caps().name,
            here.bytes as f64 / GIB as f64
        ),
        None => "no Vulkan device answers here".to_owned(),
    };
    listen(News::Note(&format!("planned for the profile's card; {why}")));
    Ok(Place {
        budget: Budget::of_profile(foreign.unwrap_or_default()).with_reference(REFERENCE_BYTES),
        limits: card_limits(),
        variants: card_variants(profile, faults),
        is_here: false,
    })
}

impl Planned {
    /// What a mesh of the model in the end will take; none of triangles, which are one.
    ///
    /// # Errors
    /// See [`mesh_outlook`].
    pub fn mesh_outlook(&self) -> Result<Option<MeshOutlook>, RunError> {
        if self.profile.is_triangles() {
            return Ok(None);
        }
        let (model, place) = (self.model(), (self.budget, self.limits));
        mesh_outlook(&self.profile, &self.scene, model, &self.variants, place, &self.faults).map(Some)
    }

    /// What the stages behind the training will take.
    ///
    /// # Errors
    /// See [`stages_outlook`].
    pub fn stages_outlook(&self) -> Result<StagesOutlook, RunError> {
        let (model, place) = (self.model(), (self.budget, self.limits));
        stages_outlook(&self.profile, &self.scene, model, &self.variants, place, &self.faults)
    }

    const fn model(&self) -> (&FirstModel, u32) {
        (&self.first, self.report.capacities.n_limit)
    }
}
