//! What follows a step: densification, culling, resets, filters; what is said of it.

use super::Trainer;
use crate::plan::Job;
use crate::plan::schedule;
use crate::record::events::{Event, EventRow};
use crate::train::TrainError;
use kiln_kernels::counters::Counters;
use kiln_scene::SceneIndex;

impl Trainer {
    /// True when Gaussians or triangles are culled before the last evaluation.
    pub(crate) fn culls_last(&self) -> bool {
        let culls = self.is_triangles() || self.jobs.get(Job::Cull).is_some();
        culls && self.iteration >= self.profile.schedule.iterations
    }

    /// Culls for the last time: what is measured and saved from here on is the model without those that no training picture
    /// of `scene` shows. Every step was reported.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub(crate) fn cull_last(&mut self, scene: &SceneIndex) -> Result<(), TrainError> {
        self.finish()?;
        if self.is_triangles() {
            return self.clean_triangles(scene);
        }
        let Some(program) = self.jobs.get(Job::Cull) else {
            return Ok(());
        };
        self.gpu.run_compiled(program)?;
        let counters = self.counters()?;
        self.gaussians = counters.gaussians;
        self.events.push(EventRow {
            it: self.iteration,
            event: Event::Cull {
                removed: counters.culled,
                gaussians: counters.gaussians,
            },
        });
        if counters.gaussians == 0 && counters.culled > 0 {
            self.events.push(EventRow {
                it: self.iteration,
                event: Event::Warning {
                    message: format!(
                        "the model is empty: the last cull took all of its {} Gaussians; check that the poses are those of \
                         the photos, or keep them with `--set cull=null`",
                        counters.culled
                    ),
                },
            });
        }
        Ok(())
    }

    /// Submits what follows the step of `iteration`, unless it is held back.
    pub(super) fn submit_events(&mut self, iteration: u32) -> Result<(), TrainError> {
        // Triangles change when nothing is in flight: once, and not again with a step that is done again.
        if self.held == Some(iteration) || self.is_triangles() {
            return Ok(());
        }
        let events = schedule::events_at(&self.profile, iteration);
        let densify = Job::Densify {
            held: self.growth.is_held(iteration) || self.judged.ends_births(iteration),
            large: events.prune_large,
        };
        let due = [
            (events.cull, Job::Cull),
            (events.densify, densify),
            (events.prune, Job::Prune),
            (events.neighbors, Job::FindNeighbors),
            (events.filter, Job::Filter),
            (events.reset, Job::Reset),
            (events.histograms, Job::Histogram),
        ];
        for (_, job) in due.into_iter().filter(|(is_due, _)| *is_due) {
            // A profile that never densifies or culls has no program for it.
            let Some(program) = self.jobs.get(job) else { continue };
            let ticket = self.gpu.submit(program, 0)?;
            if job == Job::Histogram {
                self.counting = Some((iteration, ticket));
            }
        }
        Ok(())
    }

    /// Densifications that follow iterations not yet submitted add no Gaussians, or may again.
    pub(crate) fn hold_growth(&mut self, held: bool) {
        self.growth.set(self.iteration + 1, held);
    }

    /// Notes, once, what happened after step `iteration`. A densification shows in the word of the step after it, because
    /// its own step's word was written before.
    pub(super) fn note_events(&mut self, iteration: u32, counters: &Counters) {
        if iteration <= self.noted {
            return;
        }
        self.noted = iteration;
        let of = schedule::events_at(&self.profile, iteration);
        let mut note = |event| self.events.push(EventRow { it: iteration, event });
        if of.cull {
            note(Event::Cull {
                removed: counters.culled,
                gaussians: counters.gaussians,
            });
        }
        if of.prune {
            note(Event::Cull {
                removed: counters.deaths,
                gaussians: counters.gaussians,
            });
        }
        if of.densify && !of.prune {
            let Counters {
                clones,
                splits,
                deaths,
                gaussians,
                capped,
                ..
            } = *counters;
            note(Event::Densify {
                clones,
                splits,
                deaths,
                gaussians,
            });
            // Without room for a single birth there is no news in their number, nor where the cap is the plan.
            if capped > 0 && !self.growth.is_held(iteration) && self.profile.strategy.adaptive().is_some() {
                note(Event::DensifyCapped {
                    dropped: capped,
                    n_cap: self.report.capacities.n_limit.into(),
                });
            }
        }
        if of.reset {
            let opacity = self
                .profile
                .strategy
                .adaptive()
                .map_or(1.0, |adaptive| adaptive.reset.opacity);
            note(Event::Reset { opacity });
        }
        if of.filter {
            note(Event::Filter {
                views: self.report.capacities.cameras,
            });
        }
    }

    /// Events since the last call, oldest first.
    pub fn take_events(&mut self) -> Vec<EventRow> {
        std::mem::take(&mut self.events)
    }
}
