//! `kiln plan`: the memory table of a run, without training.

mod table;

use std::io::{self, Write};

use super::exit::unprinted;
use super::listener::Listener;
use super::mesh_words::print_outlook;
use super::{Exit, Failure, Plan, explain as explanation};
use crate::jobs::{self, Planned};
use crate::plan::{PlanReport, Prediction};
use crate::record::words::count;
use crate::run::StagesOutlook;
use kiln_config::SugarStage;
use kiln_gpu::memory::MIB;

/// Plans and prints to `out`.
///
/// # Errors
/// Anything that keeps the plan from being made; the caller prints it.
pub fn run(request: &Plan, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    let mut listener = Listener::new(false);
    let planned = jobs::plan(&request.job, &mut |news| listener.hear(&news))?;
    if request.json {
        let whole = Json::of(&planned);
        serde_json::to_writer_pretty(&mut *out, &whole)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
            .map_err(unprinted)?;
        return Ok(Exit::Ok);
    }
    table::print(&planned, out).map_err(unprinted)?;
    print_rates(&planned, out).map_err(unprinted)?;
    if request.mesh
        && let Some(outlook) = planned.mesh_outlook()?
    {
        writeln!(out, "mesh, of the model in the end")
            .and_then(|()| print_outlook(&outlook, out))
            .map_err(unprinted)?;
    }
    if planned.profile.has_stage(SugarStage::Extract) {
        print_stages(&planned.stages_outlook()?, out).map_err(unprinted)?;
    }
    if request.explain {
        explanation::print(&planned.plan, planned.limits, out)?;
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
        let bytes = report.device_bytes + report.driver_bytes;
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

impl<'a> Json<'a> {
    fn of(planned: &'a Planned) -> Self {
        Self {
            chosen: &planned.chosen,
            initial: planned.first.origin(),
            residency: planned.profile.dataset.residency.name(),
            image_host_bytes: planned.image_host_bytes,
            predicted: planned.predicted.as_ref(),
            plan: &planned.report,
        }
    }
}

/// The steps a second that the card is expected to make.
fn print_rates(planned: &Planned, out: &mut dyn Write) -> io::Result<()> {
    let device = planned.device.as_deref();
    let Some(Prediction { card, rates }) = &planned.predicted else {
        let device = device.unwrap_or("the profile's card");
        return writeln!(out, "rate: unknown card, {device}: nothing is predicted");
    };
    match device.filter(|_| planned.is_measured) {
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
    let iterations = planned.profile.schedule.iterations;
    let [least, most] = planned
        .predicted
        .as_ref()
        .map_or([0.0; 2], |predicted| predicted.minutes(iterations));
    let steps = count(iterations, "step");
    writeln!(
        out,
        "time, {steps} without evaluations: {least:.1} to {most:.1} minutes, with the first and the last number of Gaussians all along"
    )
}
