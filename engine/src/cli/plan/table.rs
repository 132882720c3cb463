//! The table of a plan.

use std::io::{self, Write};

use crate::jobs::Planned;
use crate::plan::{BytesPer, DemandSource, Job, PlanReport, Unit};
use crate::step::Terms;
use kiln_gpu::memory::MIB;
use kiln_program::Class;

/// Tensors that are printed; `--explain` has all.
const LARGEST: usize = 10;

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

pub(super) fn print(planned: &Planned, out: &mut dyn Write) -> io::Result<()> {
    let Planned {
        plan, report, chosen, ..
    } = planned;
    let c = &report.capacities;
    for choice in chosen {
        writeln!(out, "{choice}")?;
    }
    print_capacity(planned, out)?;
    print_memory(planned, out)?;
    print_arena(report, out)?;
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
        100.0 * (report.device_bytes + report.driver_bytes) as f64 / report.budget.cap_bytes.max(1) as f64,
        report.classes.first().map_or(0, |(_, b)| *b) as f64 / f64::from(rows)
    )
}

fn print_capacity(planned: &Planned, out: &mut dyn Write) -> io::Result<()> {
    let Planned { report, first, .. } = planned;
    let (c, demand) = (&report.capacities, &report.demand);
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
    if let Some(shortage) = report.shortage() {
        writeln!(out, "  short             {shortage}")?;
    }
    Ok(())
}

fn print_memory(planned: &Planned, out: &mut dyn Write) -> io::Result<()> {
    let Planned {
        profile, plan, report, ..
    } = planned;
    let c = &report.capacities;
    let residency = profile.dataset.residency.name();
    writeln!(out, "memory, MiB")?;
    for (class, bytes) in &report.classes {
        writeln!(
            out,
            "  {:<16} {:>12.1}",
            format!("{class:?}").to_lowercase(),
            mib(*bytes)
        )?;
    }
    if report.driver_bytes > 0 {
        writeln!(out, "  {:<16} {:>12.1}", "driver's own", mib(report.driver_bytes))?;
    }
    let device_bytes = report.device_bytes + report.driver_bytes;
    writeln!(out, "  {:<16} {:>12.1}", "device total", mib(device_bytes))?;
    writeln!(out, "  {:<16} {:>12.1}", "cap", mib(report.budget.cap_bytes))?;
    writeln!(out, "  arena live peak  {:>12.1}", mib(report.arena_live_bytes))?;
    writeln!(
        out,
        "  {:<16} {:>12.1}  (residency {residency})",
        "images in RAM",
        mib(planned.image_host_bytes)
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
    let checkpoint_minutes = profile.schedule.checkpoint_minutes;
    if checkpoint_minutes > 0.0 {
        writeln!(
            out,
            "  checkpoint       {:>12.1}  at most, on disk every {} min; the newest two are kept",
            mib(report.classes.first().map_or(0, |(_, bytes)| *bytes)),
            checkpoint_minutes
        )?;
    }
    Ok(())
}

fn print_arena(report: &PlanReport, out: &mut dyn Write) -> io::Result<()> {
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
    Ok(())
}
