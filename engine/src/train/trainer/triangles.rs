//! The trainer's side of models of triangles: the first one, what happens to triangles between steps, the model as it ends.
//!
//! Events change what later steps work on, so they come when no step is in flight, and no step that is done again lies behind one.

use std::ops::ControlFlow;
use std::time::Instant;

use kiln_triangles::opacity;
use kiln_triangles::schedule::{After, FINAL_RULE};

use super::Trainer;
use crate::plan::triangles;
use crate::record::events::{Event, EventRow, MeshStageRow};
use crate::step;
use crate::train::TrainError;
use crate::train::trainable::TriangleRun;
use kiln_gaussians::triangles::{Happened, State, TriangleModel};
use kiln_gpu::memory::MemoryError;
use kiln_scene::SceneIndex;
use kiln_twins::rng::uniform;

/// Channel of the random numbers that triangles are sampled by.
const SAMPLE: u32 = 0;

impl Trainer {
    /// True when the model is of triangles.
    #[must_use]
    pub fn is_triangles(&self) -> bool {
        self.model.triangles().is_some()
    }

    /// Vertices of the model as far as the host knows; none of Gaussians.
    #[must_use]
    pub fn vertices(&self) -> Option<u32> {
        self.model.triangles().map(|run| run.vertices)
    }

    /// Begins with `model`.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the plan is for no model of triangles, or for a smaller one.
    pub fn begin_triangles(&mut self, model: TriangleModel) -> Result<(), TrainError> {
        self.finish()?;
        let state = State::new(model);
        self.put_triangles(&state)
    }

    /// Reads the model back.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the plan is for no model of triangles.
    pub fn triangles(&mut self) -> Result<TriangleModel, TrainError> {
        self.finish()?;
        Ok(self.triangle_state()?.model)
    }

    /// At most `most` triangles of the model, and how many it has; see [`step::read_triangle_sample`].
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the plan is for no model of triangles.
    pub fn sample_triangles(&mut self, most: u32) -> Result<(TriangleModel, u32), TrainError> {
        self.finish()?;
        let run = self.run()?;
        let numbers = [run.floor, run.settings.sigma_at(self.iteration)];
        let vertices = run.vertices;
        Ok(step::read_triangle_sample(
            &mut self.gpu,
            &self.tensors,
            vertices,
            numbers,
            most,
        )?)
    }

    fn run(&self) -> Result<&TriangleRun, TrainError> {
        self.model.triangles().ok_or_else(no_triangles)
    }

    fn triangle_state(&mut self) -> Result<State, TrainError> {
        let run = self.run()?;
        let numbers = [run.floor, run.settings.sigma_at(self.iteration)];
        let vertices = run.vertices;
        Ok(step::read_state(&mut self.gpu, &self.tensors, vertices, numbers)?)
    }

    fn put_triangles(&mut self, state: &State) -> Result<(), TrainError> {
        step::write_state(&mut self.gpu, &self.tensors, state)?;
        let run = self.model.triangles_mut().ok_or_else(no_triangles)?;
        run.vertices = u32::try_from(state.model.positions.len()).unwrap_or(u32::MAX);
        run.floor = state.model.floor;
        self.gaussians = u32::try_from(state.model.triangles.len()).unwrap_or(u32::MAX);
        Ok(())
    }

    /// After a checkpoint was loaded that had so many vertices: what is not in it, because it follows from the rest.
    pub(super) fn restart_triangles(&mut self, vertices: u32) -> Result<(), TrainError> {
        let iteration = self.iteration;
        let Some(run) = self.model.triangles_mut() else {
            return Ok(());
        };
        run.vertices = vertices;
        run.floor = run.settings.floor_at(iteration + 1);
        Ok(step::list_adjacency(&mut self.gpu, &self.tensors, vertices)?)
    }

    /// Does what comes after an iteration of a model of triangles.
    pub(super) fn change_triangles(&mut self, iteration: u32) -> Result<(), TrainError> {
        let run = self.run()?;
        let mut after = run.settings.after(iteration, run.views);
        if self.growth.is_held(iteration) {
            after.split = None;
        }
        if after == After::default() {
            return Ok(());
        }
        self.finish()?;
        let changes = after.prune.is_some() || after.split.is_some() || after.connect;
        if changes {
            self.change_topology(iteration, &after)?;
        } else if let Some(floor) = after.floor {
            self.raise_floor(floor)?;
        }
        if after.clear_importance && !changes {
            step::clear_importance(&mut self.gpu, &self.tensors)?;
        }
        Ok(())
    }

    fn raise_floor(&mut self, floor: f32) -> Result<(), TrainError> {
        let run = self.model.triangles_mut().ok_or_else(no_triangles)?;
        let floors = [run.floor, floor];
        run.floor = floor;
        let raise = |weights: &mut [f32]| opacity::raise(weights, floors);
        Ok(step::change_weights(&mut self.gpu, &self.tensors, run.vertices, raise)?)
    }

    fn change_topology(&mut self, iteration: u32, after: &After) -> Result<(), TrainError> {
        let since = Instant::now();
        let mut state = self.triangle_state()?;
        let mut limits = self.run()?.limits;
        limits.memory_bytes = kiln_system::available_bytes().unwrap_or(u64::MAX);
        let seed = triangles::seed(&self.profile);
        let draw = |id| uniform::<f32>(seed, iteration, id, SAMPLE);
        let happened = state.apply(after, &limits, draw, &mut |_| ControlFlow::Continue(()))?;
        self.put_triangles(&state)?;
        self.tell_change(iteration, &happened, &state.model, since);
        Ok(())
    }

    fn tell_change(&mut self, it: u32, happened: &Happened, model: &TriangleModel, since: Instant) {
        let stage = match happened {
            Happened { connected: Some(_), .. } => "connect",
            Happened { split: [split, _], .. } if *split > 0 => "split",
            _ => "prune",
        };
        let mut tell = |event| self.events.push(EventRow { it, event });
        if happened.changed {
            tell(Event::MeshStage(stage_row(stage, model, since)));
        }
        if let Some(message) = happened.warning.clone() {
            tell(Event::Warning { message });
        }
        let capped = happened.sampled > happened.split[0];
        if let Some(run) = self.model.triangles_mut()
            && capped
            && !run.reported
        {
            run.reported = true;
            let message = format!(
                "subdivision wanted {} triangles and split {}: there is room for {} vertices, which \
                 `mesh_splatting.max_points` and `memory.cap_gib` decide",
                happened.sampled, happened.split[0], run.limits.vertices
            );
            tell(Event::Warning { message });
        }
    }

    /// Ends the training of triangles: looks at every training view of `scene` once more and takes out what is never at least half
    /// of a pixel. What is measured and saved from here on is the model without those.
    pub(super) fn clean_triangles(&mut self, scene: &SceneIndex) -> Result<(), TrainError> {
        self.finish()?;
        let since = Instant::now();
        step::clear_importance(&mut self.gpu, &self.tensors)?;
        self.look_at_triangles(true)?;
        let looked = scene.train.iter().try_for_each(|view| {
            let block = self.block_for(&view.camera);
            // Whatever photo lies in the slot: nobody reads the sums.
            self.write_uniforms(0, &block)?;
            self.draw(&block, false).map(|_| ())
        });
        self.look_at_triangles(false)?;
        looked?;
        let mut state = self.triangle_state()?;
        let after = After {
            prune: Some(FINAL_RULE),
            ..After::default()
        };
        let limits = self.run()?.limits;
        match state.apply(&after, &limits, |_| 0.5, &mut |_| ControlFlow::Continue(())) {
            Ok(_) => self.put_triangles(&state)?,
            // A model that never became opaque is still one that people want to see.
            Err(kiln_triangles::Error::NoneLeft { triangles }) => self.events.push(EventRow {
                it: self.iteration,
                event: Event::Warning {
                    message: format!(
                        "none of {triangles} triangles covers half of a pixel in any training view: all of them stay, and the mesh \
                         will not look like the photos; train longer"
                    ),
                },
            }),
            Err(error) => return Err(error.into()),
        }
        let row = stage_row("finish", &state.model, since);
        self.events.push(EventRow {
            it: self.iteration,
            event: Event::MeshStage(row),
        });
        Ok(())
    }

    fn look_at_triangles(&mut self, looks: bool) -> Result<(), TrainError> {
        self.model.triangles_mut().ok_or_else(no_triangles)?.looks = looks;
        Ok(())
    }
}

fn stage_row(stage: &str, model: &TriangleModel, since: Instant) -> MeshStageRow {
    MeshStageRow {
        stage: stage.to_owned(),
        seconds: since.elapsed().as_secs_f64(),
        bricks: 0,
        points: 0,
        vertices: model.positions.len() as u64,
        triangles: model.triangles.len() as u64,
    }
}

/// What a trainer of Gaussians says to those who want triangles.
fn no_triangles() -> TrainError {
    TrainError::Memory(MemoryError::OutOfRange {
        tensor: "triangles".to_owned(),
        offset: 0,
        bytes: 0,
    })
}
