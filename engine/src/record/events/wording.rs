//! Events in words, for the console.

use std::fmt;

use super::{Event, StallBuffer};

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Densify {
                clones,
                splits,
                deaths,
                gaussians,
            } => write!(
                f,
                "densified: {clones} cloned, {splits} split, {deaths} removed, {gaussians} Gaussians"
            ),
            Self::DensifyCapped { dropped, n_cap } => {
                write!(
                    f,
                    "densification reached the cap of {n_cap} Gaussians and gave up {dropped} births"
                )
            }
            Self::Cull { removed, gaussians } => {
                write!(
                    f,
                    "culled {removed} Gaussians by the training cameras, {gaussians} are left"
                )
            }
            Self::Reset { opacity } => write!(f, "opacities lowered to at most {opacity}"),
            Self::Live { kept, gaussians } => write!(f, "snapshot of {kept} of {gaussians}"),
            Self::Filter { views } => write!(f, "3D filter recomputed from {views} views"),
            Self::Stall {
                buffer,
                wanted,
                capacity,
            } => {
                let what = match buffer {
                    StallBuffer::Visible => "visible records",
                    StallBuffer::Intersections => "tile intersections",
                };
                write!(f, "a step wanted {wanted} {what} and there is room for {capacity}")
            }
            Self::Nonfinite {
                pass,
                tensor,
                index,
                count,
            } => write!(
                f,
                "step skipped: `{pass}` found {count} non-finite values in `{tensor}`, the first at {index}"
            ),
            Self::Spill(evidence) => write!(f, "device memory lies in the host: {evidence}"),
            Self::SlowStep { ms, usual_ms } => {
                write!(f, "steps take {ms:.1} ms, before that they took {usual_ms:.1} ms")
            }
            Self::Residency(residency) => residency.fmt(f),
            Self::Pressure(change) => change.fmt(f),
            Self::BudgetShrunk { from, to } => write!(
                f,
                "the driver lowered the memory budget from {} MiB to {} MiB",
                from >> 20,
                to >> 20
            ),
            Self::EarlyStop {
                metric,
                best,
                best_it,
                evaluations,
                min_delta,
            } => {
                let best = best.map_or_else(|| "no value".to_owned(), |best| format!("{best:.4}"));
                write!(
                    f,
                    "stopping early: {} was best at iteration {best_it} ({best}) and {evaluations} evaluations since \
                     were no better",
                    metric.name()
                )?;
                match *min_delta > 0.0 {
                    true => write!(f, " by more than {min_delta} (`schedule.early_stop.min_delta`)"),
                    false => Ok(()),
                }
            }
            Self::Resume { checkpoint } => write!(f, "resumed from {checkpoint}"),
            Self::Save { files } => write!(f, "saved {}", files.join(", ")),
            Self::MeshStage(row) => {
                write!(f, "mesh: {} after {:.1} s", row.stage, row.seconds)?;
                for (count, what) in [
                    (row.bricks, "bricks"),
                    (row.points, "points"),
                    (row.vertices, "vertices"),
                    (row.triangles, "triangles"),
                ] {
                    if count > 0 {
                        write!(f, ", {count} {what}")?;
                    }
                }
                Ok(())
            }
            Self::Images {
                residency,
                images,
                host_bytes,
                available_bytes,
            } => {
                let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
                write!(
                    f,
                    "{images} images, residency {residency}: up to {:.1} MiB of memory",
                    mib(*host_bytes)
                )?;
                available_bytes.map_or(Ok(()), |bytes| write!(f, ", {:.1} MiB available", mib(bytes)))
            }
            Self::FirstStep {
                seconds,
                images,
                bytes,
                threads,
            } => write!(
                f,
                "first step after {seconds:.2} s: {images} image{} decoded ({:.1} MiB), {threads} threads",
                if *images == 1 { "" } else { "s" },
                *bytes as f64 / f64::from(1 << 20)
            ),
            Self::DeviceLost {
                iteration,
                at,
                submit_ms,
                ..
            } => write!(
                f,
                "warning: the device was lost after {iteration} iterations at {at}; it was opened again, submissions are now \
                 at most {submit_ms} ms long"
            ),
            Self::Silence { seconds, at } => write!(f, "the device was at {at} for {seconds:.0} s and longer"),
            Self::Validation { mode, message } => write!(f, "error: Vulkan validation ({mode}): {message}"),
            Self::Chosen { message } => f.write_str(message),
            Self::Warning { message } => write!(f, "warning: {message}"),
        }
    }
}
