//! A model in training between two steps, and what happens to it there.

use kiln_mesh::Progress;
use kiln_mesh::restricted::Found;

use crate::schedule::After;
use crate::{Error, Model, Triangles, opacity, rows};

/// A model with what training keeps beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The model.
    pub model: Model,
    /// Planes of the optimiser's moments, each with a number per vertex: first and second moments of position and weight, four planes
    /// each, then of colours, `3 (degree + 1)^2` each, by coefficient and then channel.
    pub moments: Vec<Vec<f32>>,
    /// Importance of each triangle since it was cleared.
    pub importance: Vec<f32>,
    /// Size of each triangle since that was cleared, pixels.
    pub sizes_px: Vec<f32>,
}

/// Planes of a vertex's position and weight.
pub const GEOMETRY_PLANES: usize = 4;

/// What a model may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Vertices.
    pub vertices: u32,
    /// Triangles.
    pub triangles: u32,
    /// Bytes of host memory for connecting the surface.
    pub memory_bytes: u64,
    /// Whether a connected surface is turned one way.
    pub orient: bool,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Whether there are other vertices or triangles now.
    pub changed: bool,
    /// Triangles that went, and vertices.
    pub pruned: [usize; 2],
    /// Triangles that were to be split.
    pub sampled: usize,
    /// Triangles that were, and new vertices.
    pub split: [usize; 2],
    /// Of a surface that was connected.
    pub connected: Option<Found>,
    /// What a user should know.
    pub warning: Option<String>,
}

impl State {
    /// A model that was never updated or looked at.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let colors = 3 * (model.degree as usize + 1).pow(2);
        let mut state = Self {
            moments: vec![vec![0.0; model.positions.len()]; 2 * (GEOMETRY_PLANES + colors)],
            model,
            ..Self::default()
        };
        state.clear();
        state
    }

    /// What events read.
    ///
    /// # Errors
    /// See [`Triangles::new`].
    pub fn triangles(&self) -> Result<Triangles<'_>, Error> {
        let Model {
            positions,
            weights,
            floor,
            triangles,
            ..
        } = &self.model;
        Triangles::new(
            (positions, weights, *floor),
            triangles,
            (&self.importance, &self.sizes_px),
        )
    }

    /// Lets the events after an iteration happen, in their order. `uniform` is a random number between 0 and 1, both
    /// excluded, of a triangle in this iteration.
    ///
    /// # Errors
    /// Those of the events; the state is that before the event which failed.
    pub fn apply(
        &mut self,
        after: &After,
        limits: &Limits,
        uniform: impl Fn(u32) -> f32,
        progress: Progress<'_>,
    ) -> Result<Happened, Error> {
        let mut happened = Happened::default();
        if let Some(rule) = &after.prune {
            let pruned = self.triangles()?.prune(rule)?;
            let [triangles, vertices] = [self.model.triangles.len(), self.model.positions.len()];
            happened.pruned = [triangles - pruned.kept.len(), vertices - pruned.vertices.len()];
            rows::take(&mut self.importance, 1, &pruned.kept);
            rows::take(&mut self.sizes_px, 1, &pruned.kept);
            self.keep(&pruned.vertices, pruned.triangles);
        }
        if let Some(rule) = &after.split {
            let triangles = self.triangles()?;
            let sample = triangles.sample(rule, limits.vertices, uniform);
            let split = triangles.split(&sample, [limits.vertices, limits.triangles]);
            happened.sampled = sample.len();
            happened.split = [split.split, split.ends.len()];
            self.model.add(&split.ends, split.triangles);
            for plane in &mut self.moments {
                plane.resize(self.model.positions.len(), 0.0);
            }
            self.clear();
        }
        if let Some(floor) = after.floor {
            opacity::raise(&mut self.model.weights, [self.model.floor, floor]);
            self.model.floor = floor;
        }
        if after.connect {
            let connected = self.triangles()?.connect(limits, progress)?;
            happened.warning = connected.warning();
            happened.connected = Some(connected.found);
            self.keep(&connected.vertices, connected.triangles);
            self.clear();
        }
        if after.clear_importance {
            self.importance.fill(0.0);
        }
        let Happened { pruned, split, .. } = happened;
        happened.changed = pruned[0] + split[0] > 0 || after.connect;
        Ok(happened)
    }

    fn keep(&mut self, vertices: &[u32], triangles: Vec<[u32; 3]>) {
        self.model.keep(vertices, triangles);
        for plane in &mut self.moments {
            rows::take(plane, 1, vertices);
        }
    }

    /// Maxima begin anew.
    fn clear(&mut self) {
        for maxima in [&mut self.importance, &mut self.sizes_px] {
            maxima.clear();
            maxima.resize(self.model.triangles.len(), 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::ops::ControlFlow;

    use super::*;
    use crate::schedule::{FINAL_RULE, START_OPACITY, Settings};
    use crate::soups::uniform;
    use crate::start;

    const LIMITS: Limits = Limits {
        vertices: 2000,
        triangles: 6000,
        memory_bytes: u64::MAX,
        orient: true,
    };

    fn start() -> State {
        // Points on a ball, and some around it.
        let point = |i: u32| {
            let p = [0, 1, 2].map(|k| uniform(1, 3 * i + k) - 0.5);
            let length = p.iter().map(|x| x * x).sum::<f32>().sqrt();
            p.map(|x| x / length * if i.is_multiple_of(10) { 2.0 } else { 1.0 })
        };
        let points: Vec<[f32; 3]> = (0..150).map(point).collect();
        let positions = start::soup(&points, &[0.01; 150], 0.001, |id, channel| uniform(channel, id));
        let vertices = positions.len();
        let model = Model {
            degree: 1,
            weights: vec![opacity::weight(START_OPACITY, 0.0); vertices],
            sh0: (0..vertices as u32).map(|v| [uniform(4, v / 3); 3]).collect(),
            sh_rest: vec![0.0; 9 * vertices],
            triangles: (0..150).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
            positions,
            floor: 0.0,
            sigma: 1.0,
        };
        let mut state = State {
            moments: vec![vec![0.25; vertices]; 8],
            model,
            ..State::default()
        };
        state.clear();
        state
    }

    /// Everything has its length, every vertex a triangle, and no cap is passed.
    fn check(state: &State, iteration: u32, whole: bool) {
        let vertices = state.model.positions.len();
        assert!(vertices <= 2000 && state.model.triangles.len() <= 6000, "{iteration}");
        assert_eq!([state.model.weights.len(), state.model.sh0.len()], [vertices; 2]);
        assert_eq!(state.model.sh_rest.len(), 9 * vertices);
        assert!(state.moments.iter().all(|plane| plane.len() == vertices));
        let triangles = state.model.triangles.len();
        assert_eq!([state.importance.len(), state.sizes_px.len()], [triangles; 2]);
        assert!(state.triangles().is_ok(), "indices are in range");
        let mut used = vec![false; vertices];
        state
            .model
            .triangles
            .iter()
            .flatten()
            .for_each(|&v| used[v as usize] = true);
        assert!(
            !whole || used.iter().all(|&used| used),
            "{iteration}: a vertex without triangles"
        );
    }

    fn trained(settings: &Settings) -> (State, Vec<Happened>) {
        let mut state = start();
        let mut all = Vec::new();
        for iteration in (500..=30_000).step_by(500) {
            // What steps would do: opacities wander, triangles are seen.
            for (v, weight) in (0..).zip(&mut state.model.weights) {
                *weight += 0.8 * (uniform(iteration, v) - 0.4);
            }
            for (t, importance) in (0..).zip(&mut state.importance) {
                *importance = uniform(iteration + 1, t).sqrt();
            }
            let after = settings.after(iteration, 100);
            let before = state.clone();
            let happened = state
                .apply(&after, &LIMITS, |id| uniform(iteration + 2, id), &mut |_| {
                    ControlFlow::Continue(())
                })
                .unwrap();
            check(&state, iteration, after.prune.is_some() || after.connect);
            let same =
                state.model.triangles == before.model.triangles && state.model.positions == before.model.positions;
            assert_eq!(happened.changed, !same, "{iteration}");
            assert_eq!(state.model.floor, settings.floor_at(iteration + 1));
            all.push(happened);
        }
        (state, all)
    }

    #[test]
    fn a_whole_schedule_keeps_every_promise() {
        for settings in [Settings::outdoor(), Settings::indoor()] {
            let (state, all) = trained(&settings);
            let most = all.iter().filter(|happened| happened.split[0] > 0).count();
            assert!(most > 5, "{most} subdivisions");
            assert!(
                all.iter().any(|h| h.sampled > h.split[0] && h.split[1] > 0),
                "the cap was met"
            );
            assert!(all.iter().any(|h| h.pruned[0] > 0 && h.pruned[1] > 0));
            assert_eq!(all.iter().filter(|h| h.connected.is_some()).count(), 1);
            assert_eq!(state.model.floor, 0.9999);
            let least = state.model.weights.iter().map(|&w| opacity::of(w, 0.9999));
            assert!(least.fold(1.0, f64::min) >= 0.9999);
            // Twice the same.
            assert_eq!(trained(&settings).0, state);
        }
    }

    #[test]
    fn new_vertices_have_no_moments_and_old_ones_keep_theirs() {
        let mut state = start();
        state.importance.fill(0.5);
        let after = After {
            split: Some(Settings::outdoor().splitting),
            ..After::default()
        };
        let mut on = |_: f32| ControlFlow::Continue(());
        let happened = state.apply(&after, &LIMITS, |id| uniform(3, id), &mut on).unwrap();
        assert!(happened.changed && happened.split[1] > 0);
        for plane in &state.moments {
            assert!(plane[..450].iter().all(|&m| m == 0.25) && plane[450..].iter().all(|&m| m == 0.0));
        }
        assert!(state.importance.iter().all(|&importance| importance == 0.0));
        state.importance.fill(0.6);
        state.importance[7] = 0.5;
        let last = After {
            prune: Some(FINAL_RULE),
            ..After::default()
        };
        let happened = state.apply(&last, &LIMITS, |_| 0.5, &mut on).unwrap();
        assert_eq!(happened.pruned[0], 1);
    }

    #[test]
    fn what_fails_leaves_the_state() {
        let mut state = start();
        let before = state.clone();
        let after = After {
            connect: true,
            ..After::default()
        };
        let limits = Limits {
            memory_bytes: 10,
            ..LIMITS
        };
        let error = state
            .apply(&after, &limits, |_| 0.5, &mut |_| ControlFlow::Continue(()))
            .unwrap_err();
        assert!(matches!(error, Error::Mesh(kiln_mesh::Error::Memory { .. })));
        let prune = After {
            prune: Some(FINAL_RULE),
            ..After::default()
        };
        let error = state
            .apply(&prune, &limits, |_| 0.5, &mut |_| ControlFlow::Continue(()))
            .unwrap_err();
        assert!(matches!(error, Error::NoneLeft { triangles: 150 }));
        assert_eq!(state, before);
    }
}
