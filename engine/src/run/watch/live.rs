//! A light snapshot of the model while it trains, for the viewer: `live.ply`.
//!
//! Every k-th Gaussian or triangle with its constant colour, in one file that is replaced. Reading it from the device is all that
//! training waits for: a thread writes. Snapshots keep to a share of the time since the first step, whatever one
//! costs on this device, and change nothing that is trained.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Context, Watch};
use crate::export::{ExportError, PlyComments, PlyFlavor, write_ply};
use crate::mesh::{MeshError, write_triangles};
use crate::plan::Look;
use crate::record::events::Event;
use crate::record::sinks::worker::Worker;
use crate::run::RunError;
use crate::run::session::{comments, triangle_comments};
use kiln_config::Profile;
use kiln_gaussians::Gaussians;
use kiln_gaussians::triangles::TriangleModel;

/// Most Gaussians of a snapshot: 10 MB.
const MOST: u32 = 150_000;
/// Most triangles of one: 10 MB where no two of them share a vertex.
const MOST_TRIANGLES: u32 = 90_000;
/// Share of the training time that snapshots may take.
const SHARE: f64 = 0.01;
/// Parts of a run after each of which there is a snapshot, though it comes early.
const PARTS: u32 = 20;

struct Job {
    path: PathBuf,
    model: Model,
}

enum Model {
    Gaussians(Gaussians, PlyComments),
    /// With lines for the header.
    Triangles(TriangleModel, Vec<String>),
}

/// A snapshot on its way to the disk.
struct Pending {
    number: u64,
    it: u32,
    event: Event,
}

pub(super) struct Live {
    /// Most time between two snapshots; none are made at 0.
    every: Duration,
    begun: Option<Instant>,
    /// When the last one was made, and of which iteration.
    last: Option<(Instant, u32)>,
    /// What they cost training: reading them, and gaps between steps.
    spent: Duration,
    worker: Option<Worker<Job>>,
    pending: Option<Pending>,
}

impl Live {
    pub(super) fn new(profile: &Profile) -> Self {
        Self {
            every: Duration::from_secs_f64(profile.schedule.live_seconds),
            begun: None,
            last: None,
            spent: Duration::ZERO,
            worker: None,
            pending: None,
        }
    }

    fn is_due(&self, next: u32, total: u32) -> bool {
        let (false, None, Some(begun)) = (self.every.is_zero(), &self.pending, self.begun) else {
            return false;
        };
        let (since, at) = self.last.unwrap_or((begun, 0));
        let late = since.elapsed() >= self.every || next.saturating_sub(at) > total / PARTS;
        late && self.spent.as_secs_f64() <= SHARE * begun.elapsed().as_secs_f64()
    }

    fn take(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let it = ctx.trainer.iteration();
        // Steps in flight would have to be waited for anyway; what is lost is the gap behind them, a step at most.
        let start = Instant::now();
        ctx.trainer.idle_gpu()?;
        self.spent += start.elapsed() / ctx.trainer.report().capacities.slots.max(1);
        let start = Instant::now();
        let origin = ctx.folder.record().scene.origin.unwrap_or_default();
        let (model, kept, of) = match ctx.trainer.is_triangles() {
            false => {
                let (model, of) = ctx.trainer.sample(MOST)?;
                let comments = comments(&Look::of(ctx.profile, 0), it, origin);
                let kept = model.len();
                (Model::Gaussians(model, comments), kept, of)
            }
            true => {
                let (model, of) = ctx.trainer.sample_triangles(MOST_TRIANGLES)?;
                let kept = model.triangles.len();
                (Model::Triangles(model, triangle_comments(it, origin)), kept, of)
            }
        };
        let kept = u32::try_from(kept).unwrap_or(u32::MAX);
        let path = ctx.folder.live_path();
        let job = Job { path, model };
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => none.insert(Worker::start("live", ctx.folder.root(), 1, write)?),
        };
        match worker.give(job) {
            Ok(number) => {
                let event = Event::Live { kept, gaussians: of };
                self.pending = Some(Pending { number, it, event });
            }
            Err(error) => self.give_up(&error, ctx),
        }
        self.last = Some((Instant::now(), it));
        self.spent += start.elapsed();
        Ok(())
    }

    /// A disk that refuses costs those who look on their picture, not the run.
    fn give_up(&mut self, error: &ExportError, ctx: &mut Context<'_>) {
        let message = format!("no more snapshots for the viewer: {error}");
        ctx.tell(ctx.trainer.iteration(), Event::Warning { message });
        (self.every, self.worker, self.pending) = (Duration::ZERO, None, None);
    }
}

impl Watch for Live {
    fn start(&mut self, _: &mut Context<'_>) -> Result<(), RunError> {
        self.begun = Some(Instant::now());
        Ok(())
    }

    fn before(&mut self, next: u32, ctx: &mut Context<'_>) -> Result<(), RunError> {
        if next > 1 && self.is_due(next, ctx.profile.schedule.iterations) {
            self.take(ctx)?;
        }
        Ok(())
    }

    fn look(&mut self, ctx: &mut Context<'_>) {
        let (Some(worker), Some(pending)) = (&self.worker, &self.pending) else {
            return;
        };
        match worker.done() {
            Ok(done) if done >= pending.number => {
                ctx.tell(pending.it, pending.event.clone());
                self.pending = None;
            }
            Ok(_) => {}
            Err(error) => self.give_up(&error, ctx),
        }
    }

    fn end(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        // Ends the thread after what it was given.
        self.worker = None;
        ctx.folder.drop_live();
        Ok(())
    }
}

fn write(job: Job) -> Result<(), ExportError> {
    match job.model {
        Model::Gaussians(model, comments) => write_ply(&job.path, &model, PlyFlavor::Fused, comments),
        Model::Triangles(model, comments) => {
            write_triangles(&model, &comments, &job.path).map_err(|error| match error {
                MeshError::Export(error) => error,
                other => ExportError::new(&job.path, std::io::Error::other(other.to_string())),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(every_s: f64, spent_ms: u64, age_s: u64) -> Live {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        Live {
            every: Duration::from_secs_f64(every_s),
            begun: ago(age_s),
            last: ago(2).map(|then| (then, 100)),
            spent: Duration::from_millis(spent_ms),
            worker: None,
            pending: None,
        }
    }

    #[test]
    fn snapshots_come_by_time_or_by_part_and_keep_to_their_share() {
        assert!(live(1.0, 10, 100).is_due(101, 1000));
        assert!(!live(5.0, 10, 100).is_due(101, 1000), "too early");
        assert!(live(5.0, 10, 100).is_due(151, 1000), "a twentieth of the run has gone");
        assert!(!live(1.0, 2000, 100).is_due(151, 1000), "they took 2 % of the time");
        assert!(!live(0.0, 0, 100).is_due(151, 1000), "none wanted");
    }
}
