//! `kiln plan`: the memory table of a run, without training.

use std::io::{self, Write};

use super::block::BlockTask;
use super::exit::unprinted;
use super::for_scene::{ForScene, check_scene, check_triangles, for_scene, settle_lpips};
use super::mesh::print_outlook;
use super::{Exit, Failure, Plan, explain as explanation};
use crate::config::{self, Profile, SugarStage};
use crate::kernels::views::{Loops, Reduction, Threads, Variants};
use crate::memory::{BlockRounding, Budget, GIB, Gpu, MIB, PlanLimits};
use crate::plan::{
    BytesPer, Card, DemandSource, Faults, FirstModel, Job, Pinned, PlanError, PlanReport, Prediction, REFERENCE_BYTES,
    TrainPlan, Unit, available_bytes, gib_to_bytes, image_host_bytes, open_device, plan_first, plan_with_photos,
    with_remedies,
};
use crate::program::Class;
use crate::record::words::count;
use crate::run::{StagesOutlook, device_budget, mesh_outlook, stages_outlook};
use crate::step::Terms;
use crate::vk::DeviceKind;

/// Tensors that are printed; `--explain` has all.
const LARGEST: usize = 10;

/// Plans and prints to `out`.
///
/// # Errors
/// Anything that keeps the plan from being made; the caller prints it.
pub fn run(request: &Plan, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let Plan {
        settings,
        faults,
        explain,
        json,
        mesh,
    } = request;
    // A block is planned as its run would be.
    let of_block = BlockTask::of(settings)?.map(|task| task.settings(settings.auto));
    let settings = of_block.as_ref().unwrap_or(settings);
    let preliminary = settings.preliminary().map_err(boxed)?;
    // Before a device is looked for: a scene that is not there is the first thing to know.
    check_scene(&preliminary)?;
    check_triangles(&preliminary, &settings.inputs.overrides)?;
    let by_device = settings.needs_device().map_err(boxed)?;
    let named = if by_device { None } else { preliminary.memory.cap_gib };
    let open = match open_device(&preliminary, faults.clone()) {
        Ok(open) => Some(open),
        // Whoever names a profile and no device asks about the profile's card.
        Err(PlanError::Vulkan(_)) if named.is_some() && preliminary.device.select.is_none() => None,
        Err(error) => return Err(boxed(error)),
    };
    let here = open.as_ref().map(|open| {
        let budget = Budget::of_device(&open.device, None);
        (open, budget, open.device.caps().kind == DeviceKind::Cpu)
    });
    let inputs = match (&here, by_device) {
        (Some((_, budget, is_cpu)), true) => settings
            .inputs_on(config::Budget {
                bytes: budget.cap_bytes,
                heap_bytes: budget.heap_bytes,
                is_cpu: *is_cpu,
            })
            .map_err(boxed)?,
        _ => settings.inputs.clone(),
    };
    let ForScene {
        mut profile,
        scene,
        adapted,
        notes,
        ..
    } = for_scene(&inputs)?;
    // What a run would warn of is better known before.
    for warning in &scene.warnings {
        eprintln!("warning: {warning}");
    }
    for note in &notes {
        eprintln!("note: {note}");
    }
    let cap = profile.memory.cap_gib.map(gib_to_bytes).filter(|_| !by_device);
    // A named profile plans for its own card, whatever this machine has: that is what the command is for.
    let foreign = cap.filter(|cap| here.as_ref().is_none_or(|(_, budget, _)| *cap > budget.cap_bytes));
    let (budget, limits, variants) = match (&here, foreign) {
        (Some((open, _, is_cpu)), None) => {
            settle_lpips(&mut profile, *is_cpu);
            let budget = device_budget(open, &profile);
            let pinned = Pinned::for_training(open, &profile).map_err(boxed)?;
            for warning in &pinned.warnings {
                eprintln!("warning: {warning}");
            }
            (budget, Gpu::limits(&open.device), pinned.variants)
        }
        (here, cap) => {
            match here {
                Some((open, budget, _)) => eprintln!(
                    "note: planned for the profile's card; `{}` here offers {:.2} GiB",
                    open.device.caps().name,
                    budget.cap_bytes as f64 / GIB as f64
                ),
                None => eprintln!("note: planned for the profile's card; no Vulkan device answers here"),
            }
            let bytes = cap.unwrap_or_default();
            (
                Budget::of_profile(bytes).with_reference(REFERENCE_BYTES),
                card_limits(),
                card_variants(&profile, faults),
            )
        }
    };
    let (first, plan, report) = plan_with_photos(
        &mut profile,
        &scene,
        budget.cap_bytes,
        available_bytes(),
        |profile| plan_first(profile, &scene, budget, limits, &variants, faults),
        |(_, _, report)| report,
    )
    .map_err(|error| {
        let error = with_remedies(error, &profile, &scene, (budget, limits), &variants, faults);
        boxed(error)
    })?;
    let images = (profile.dataset.residency.name(), image_host_bytes(&profile, &scene));
    let chosen: Vec<String> = adapted.into_iter().chain(first.choice()).collect();
    // A profile says how much memory a card has, not which one it is.
    let device = here
        .as_ref()
        .filter(|_| foreign.is_none())
        .map(|(open, ..)| open.device.caps().name.as_str());
    let measured = match (&here, device) {
        (Some((open, ..)), Some(name)) if !profile.is_triangles() && Card::named(name).is_none() => {
            Card::measured(&open.device, &variants).map_err(boxed)?
        }
        _ => None,
    };
    let predicted = device
        .and_then(|name| Card::named(name).or(measured))
        .filter(|_| !profile.is_triangles())
        .map(|card| Prediction::new(card, &report.demand, &report.capacities));
    if *json {
        let (residency, host_bytes) = images;
        let whole = Json {
            chosen: &chosen,
            initial: first.origin(),
            residency,
            image_host_bytes: host_bytes,
            predicted: predicted.as_ref(),
            plan: &report,
        };
        serde_json::to_writer_pretty(&mut *out, &whole)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
            .map_err(|e| boxed(unprinted(e)))?;
        return Ok(Exit::Ok);
    }
    let minutes = profile.schedule.checkpoint_minutes;
    print(&plan, &first, &chosen, &report, images, minutes, out).map_err(|e| boxed(unprinted(e)))?;
    let measured = measured.and(device);
    print_rates((device, measured), predicted.as_ref(), profile.schedule.iterations, out)
        .map_err(|e| boxed(unprinted(e)))?;
    if *mesh && !profile.is_triangles() {
        let model = (&first, report.capacities.n_limit);
        let outlook = mesh_outlook(&profile, &scene, model, &variants, (budget, limits), faults).map_err(boxed)?;
        writeln!(out, "mesh, of the model in the end")
            .and_then(|()| print_outlook(&outlook, out))
            .map_err(|e| boxed(unprinted(e)))?;
    }
    if profile.has_stage(SugarStage::Extract) {
        let model = (&first, report.capacities.n_limit);
        let outlook = stages_outlook(&profile, &scene, model, &variants, (budget, limits), faults).map_err(boxed)?;
        print_stages(&outlook, out).map_err(|e| boxed(unprinted(e)))?;
    }
    if *explain {
        explanation::print(&plan, limits, out).map_err(boxed)?;
    }
    Ok(Exit::Ok)
}

/// What the stages of SuGaR behind the training take.
fn print_stages(outlook: &StagesOutlook, out: &mut dyn Write) -> io::Result<()> {
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    if let Some(mesh) = &outlook.extract {
        writeln!(out, "stage extract, of the model in the end")?;
        print_outlook(mesh, out)?;
    }
    if let Some((report, triangles)) = &outlook.refine {
        let gaussians = report.capacities.n_limit;
        writeln!(out, "stage refine, of {triangles} triangles with {gaussians} Gaussians")?;
        let bytes = report.device_bytes;
        writeln!(out, "  device total    {:>12.1}  ({bytes} bytes)", mib(bytes))?;
        writeln!(out, "  host-visible    {:>12.1}", mib(report.host_bytes))?;
    }
    if let Some(mesh) = &outlook.texture {
        let bytes = mesh.sizes.device_bytes;
        writeln!(out, "stage texture")?;
        writeln!(out, "  device total    {:>12.1}  ({bytes} bytes)", mib(bytes))?;
    }
    Ok(())
}

/// A plan for programs.
#[derive(serde::Serialize)]
struct Json<'a> {
    /// What the settings became for this scene.
    chosen: &'a [String],
    /// Where the first Gaussians come from.
    initial: String,
    /// Where photos live.
    residency: &'static str,
    /// Bytes that they take in host memory.
    image_host_bytes: u64,
    /// Steps a second by the model, on a card that it knows.
    predicted: Option<&'a Prediction>,
    #[serde(flatten)]
    plan: &'a PlanReport,
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

pub(super) fn card_limits() -> PlanLimits {
    PlanLimits {
        block_bytes: GIB,
        binding_bytes: 4 * GIB - 1,
        rounding: BlockRounding::NONE,
    }
}

pub(super) fn card_variants(profile: &Profile, faults: &Faults) -> Variants {
    let atomic = !(profile.train.deterministic || faults.portable);
    Variants {
        reduction: if atomic {
            Reduction::Atomic
        } else {
            Reduction::Segmented
        },
        sort_subgroup: if atomic { 32 } else { 0 },
        threads: if atomic { Threads::Pixels } else { Threads::Columns },
        loops: Loops::Long,
    }
}

/// The steps a second that the card is expected to make.
fn print_rates(
    (device, measured): (Option<&str>, Option<&str>),
    predicted: Option<&Prediction>,
    iterations: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(Prediction { card, rates }) = predicted else {
        let device = device.unwrap_or("the profile's card");
        return writeln!(out, "rate: unknown card, {device}: nothing is predicted");
    };
    match measured {
        Some(device) => writeln!(
            out,
            "rate, from a view timed on {device}; right within a factor of two or so"
        )?,
        None => writeln!(
            out,
            "rate, predicted by bytes and operations for {} ({} GB/s, {} TFLOPS)",
            card.name, card.gb_per_s, card.tflops
        )?,
    }
    for rate in rates {
        let digits = if rate.it_per_s < 10.0 { 2 } else { 0 };
        writeln!(
            out,
            "  {:>7.digits$} it/s at {:>10} Gaussians",
            rate.it_per_s, rate.gaussians
        )?;
    }
    let [least, most] = predicted.map_or([0.0; 2], |predicted| predicted.minutes(iterations));
    let steps = count(iterations, "step");
    writeln!(
        out,
        "time, {steps} without evaluations: {least:.1} to {most:.1} minutes, with the first and the last number of Gaussians all along"
    )
}

fn print(
    plan: &TrainPlan,
    first: &FirstModel,
    chosen: &[String],
    report: &PlanReport,
    (residency, image_bytes): (&str, u64),
    checkpoint_minutes: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (c, demand) = (&report.capacities, &report.demand);
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    for choice in chosen {
        writeln!(out, "{choice}")?;
    }
    writeln!(out, "capacity")?;
    let what = match c.triangles {
        Some(sizes) => {
            writeln!(out, "  vertices          {:>12}", sizes.vertices)?;
            "triangles"
        }
        None => "Gaussians",
    };
    writeln!(out, "  {what}         {:>12}  (initial {})", c.n_cap, demand.gaussians)?;
    writeln!(out, "  initial           {}", first.origin())?;
    writeln!(out, "  visible records   {:>12}", c.v_cap)?;
    writeln!(out, "  intersections     {:>12}", c.i_cap)?;
    writeln!(out, "  pixels            {:>12}  ({} tiles)", c.max_pixels, c.max_tiles)?;
    writeln!(
        out,
        "  source            {}",
        report.capacities_from.describe(c.triangles.is_some())
    )?;
    if let DemandSource::Counted { sample, views } = demand.from {
        writeln!(
            out,
            "  counted           at most {:.1} % visible, {:.2} intersections a Gaussian; {:.2} a visible one on average \
             ({sample} Gaussians in {views} views)",
            100.0 * demand.visible_share,
            demand.intersections,
            demand.per_visible
        )?;
    }
    writeln!(out, "memory, MiB")?;
    for (class, bytes) in &report.classes {
        writeln!(
            out,
            "  {:<16} {:>12.1}",
            format!("{class:?}").to_lowercase(),
            mib(*bytes)
        )?;
    }
    writeln!(out, "  {:<16} {:>12.1}", "device total", mib(report.device_bytes))?;
    writeln!(out, "  {:<16} {:>12.1}", "cap", mib(report.budget.cap_bytes))?;
    writeln!(out, "  arena live peak  {:>12.1}", mib(report.arena_live_bytes))?;
    writeln!(
        out,
        "  {:<16} {:>12.1}  (residency {residency})",
        "images in RAM",
        mib(image_bytes)
    )?;
    let per = |unit, class| BytesPer::of(unit, c, &plan.tensors.variants).class(class);
    if c.triangles.is_none() {
        writeln!(
            out,
            "  bytes            {:>12.1}  per Gaussian; {:.1} per visible record, {:.1} per intersection, {:.1} per pixel before \
         sharing",
            per(Unit::Gaussian, Class::Persistent),
            per(Unit::Visible, Class::Arena),
            per(Unit::Intersection, Class::Arena),
            per(Unit::Pixel, Class::Arena)
        )?;
    }
    if checkpoint_minutes > 0.0 {
        writeln!(
            out,
            "  checkpoint       {:>12.1}  at most, on disk every {} min; the newest two are kept",
            mib(report.classes.first().map_or(0, |(_, bytes)| *bytes)),
            checkpoint_minutes
        )?;
    }
    writeln!(out, "arena, MiB live at the worst moment, and what they are for")?;
    for usage in &report.arena_uses {
        let purposes = usage
            .purposes
            .iter()
            .map(|(tag, bytes)| format!("{} {:.1}", tag.name(), mib(*bytes)));
        let purposes: Vec<String> = purposes.collect();
        let colon = if purposes.is_empty() { "" } else { ": " };
        writeln!(
            out,
            "  {:<16} {:>12.1}  {}{colon}{}",
            usage.name,
            mib(usage.bytes),
            usage.pass,
            purposes.join(", ")
        )?;
    }
    writeln!(out, "largest tensors, MiB; those of the arena share bytes")?;
    for tensor in plan.table.largest(LARGEST) {
        let shape = tensor.shape.map_or_else(String::new, |shape| format!("  {shape}"));
        writeln!(
            out,
            "  {:<28} {:>12.1}  {:<11} {}{shape}",
            tensor.name,
            mib(tensor.bytes),
            tensor.class.name(),
            tensor.tag.name()
        )?;
    }
    let commands = plan
        .jobs
        .get(Job::Step(Terms::Image, 0))
        .map_or(0, |step| step.commands.len());
    writeln!(out, "step: {commands} commands")?;
    let (rows, row) = match c.triangles {
        Some(sizes) => (sizes.vertices, "vertex"),
        None => (c.n_cap, "Gaussian"),
    };
    writeln!(
        out,
        "verdict: fits, {:.1} % of the cap, {:.1} bytes a {row} persistent",
        100.0 * report.device_bytes as f64 / report.budget.cap_bytes.max(1) as f64,
        report.classes.first().map_or(0, |(_, b)| *b) as f64 / f64::from(rows)
    )?;
    Ok(())
}
