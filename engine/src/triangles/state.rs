//! A model with its optimiser's moments, and what events make of it.

use kiln_mesh::Progress;
pub use kiln_triangles::Limits;
use kiln_triangles::schedule::After;
use kiln_triangles::{Error, Model, Triangles, opacity, rows};

use super::GEOMETRY_PLANES;
use crate::gaussians::layout;

/// What is kept of every triangle since it was cleared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maxima {
    /// Largest blending weight.
    pub importance: Vec<f32>,
    /// Largest distance of a corner from the middle on an image, samples.
    pub sizes_px: Vec<f32>,
}

/// Everything that training goes on from: one row a vertex, one entry a triangle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The model.
    pub model: Model,
    /// First and second moments of position and weight, four numbers a row, then of colours, `3 (degree + 1)^2`
    /// coefficient-major.
    pub moments: [Vec<f32>; 4],
    /// What views showed of its triangles.
    pub maxima: Maxima,
}

/// What events did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Triangles that were pruned.
    pub pruned: usize,
    /// Triangles that were split in four.
    pub split: usize,
    /// Vertices that were added.
    pub added: usize,
    /// What people should know.
    pub warnings: Vec<String>,
}

impl State {
    /// A model that was never updated.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let n = model.positions.len();
        let widths = Self::widths(model.degree);
        let triangles = model.triangles.len();
        Self {
            moments: widths.map(|width| vec![0.0; n * width]),
            maxima: Maxima {
                importance: vec![0.0; triangles],
                sizes_px: vec![0.0; triangles],
            },
            model,
        }
    }

    /// Numbers in a row of each of the moments.
    #[must_use]
    pub fn widths(degree: u32) -> [usize; 4] {
        let (geometry, colors) = (GEOMETRY_PLANES as usize, layout::sh_planes(degree) as usize);
        [geometry, geometry, colors, colors]
    }

    /// Does what comes after an iteration, but for clearing importances. `uniform` draws numbers in (0, 1) by triangle.
    ///
    /// # Errors
    /// [`Error`]: nothing would be left, or the surface cannot be connected; the state is then as an earlier event of the
    /// iteration left it.
    pub fn apply(
        &mut self,
        after: &After,
        limits: &Limits,
        uniform: impl Fn(u32) -> f32 + Sync,
        progress: Progress<'_>,
    ) -> Result<Changes, Error> {
        let mut changes = Changes::default();
        if let Some(rule) = &after.prune {
            let pruned = self.triangles()?.prune(rule)?;
            changes.pruned = self.model.triangles.len() - pruned.kept.len();
            self.keep(&pruned.vertices, pruned.triangles);
            rows::take(&mut self.maxima.importance, 1, &pruned.kept);
            rows::take(&mut self.maxima.sizes_px, 1, &pruned.kept);
        }
        if let Some(rule) = &after.split {
            let triangles = self.triangles()?;
            let sample = triangles.sample(rule, limits.vertices, uniform);
            let split = triangles.split(&sample, [limits.vertices, limits.triangles]);
            changes.split = split.split;
            changes.added = split.ends.len();
            for (moments, width) in self.moments.iter_mut().zip(Self::widths(self.model.degree)) {
                moments.resize(moments.len() + width * split.ends.len(), 0.0);
            }
            self.model.add(&split.ends, split.triangles);
            self.forget();
        }
        if let Some(floor) = after.floor {
            opacity::raise(&mut self.model.weights, [self.model.floor, floor]);
            self.model.floor = floor;
        }
        if after.connect {
            let triangles = self.triangles()?;
            let connected = triangles.connect(limits, progress)?;
            changes.warnings.extend(connected.warning());
            self.keep(&connected.vertices, connected.triangles);
            self.forget();
        }
        Ok(changes)
    }

    fn triangles(&self) -> Result<Triangles<'_>, Error> {
        let Model {
            positions,
            weights,
            triangles,
            floor,
            ..
        } = &self.model;
        let maxima = (&self.maxima.importance[..], &self.maxima.sizes_px[..]);
        Triangles::new((positions, weights, *floor), triangles, maxima)
    }

    /// Leaves the rows of these vertices.
    fn keep(&mut self, vertices: &[u32], triangles: Vec<[u32; 3]>) {
        for (moments, width) in self.moments.iter_mut().zip(Self::widths(self.model.degree)) {
            rows::take(moments, width, vertices);
        }
        self.model.keep(vertices, triangles);
    }

    /// Begins the maxima anew.
    fn forget(&mut self) {
        let n = self.model.triangles.len();
        for maxima in [&mut self.maxima.importance, &mut self.maxima.sizes_px] {
            maxima.clear();
            maxima.resize(n, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use std::ops::ControlFlow;

    use kiln_triangles::schedule::{PruneRule, SplitRule};

    /// Two triangles at an edge and one alone; vertex v is at x = v and has the moments v.
    fn state() -> State {
        let n = 7;
        let model = Model {
            degree: 0,
            positions: (0..n).map(|v| [v as f32, (v * v % 5) as f32, 0.0]).collect(),
            weights: vec![0.0; n],
            sh0: (0..n).map(|v| [v as f32; 3]).collect(),
            triangles: vec![[0, 1, 2], [4, 5, 6], [2, 1, 3]],
            floor: 0.0,
            sigma: 1.0,
            ..Model::default()
        };
        let mut state = State::new(model);
        for (moments, width) in state.moments.iter_mut().zip(State::widths(0)) {
            for (v, row) in moments.chunks_mut(width).enumerate() {
                row.fill(v as f32);
            }
        }
        state.maxima.importance = vec![0.9, 0.1, 0.8];
        state.maxima.sizes_px = vec![5.0, 6.0, 7.0];
        state
    }

    const LIMITS: Limits = Limits {
        vertices: 9,
        triangles: 40,
        memory_bytes: 1 << 30,
        orient: true,
    };

    #[test]
    fn events_move_rows_of_model_moments_and_maxima_together() {
        let mut state = state();
        let after = After {
            prune: Some(PruneRule {
                opacity: 0.0,
                size_px: 100.0,
                importance: Some(0.5),
            }),
            ..After::default()
        };
        let changes = state
            .apply(&after, &LIMITS, |_| 0.5, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!((changes.pruned, changes.added), (1, 0));
        assert_eq!(state.model.triangles, [[0, 1, 2], [2, 1, 3]]);
        assert_eq!(state.maxima.sizes_px, [5.0, 7.0]);
        assert_eq!((state.model.positions.len(), state.moments[3].len()), (4, 12));

        let after = After {
            split: Some(SplitRule {
                growth: 2.0,
                largest: 2,
                least_area: 0.0,
            }),
            floor: Some(0.6),
            ..After::default()
        };
        let changes = state
            .apply(&after, &LIMITS, |_| 0.5, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        // Five midpoints for both triangles, and room for all of them.
        assert_eq!((changes.split, changes.added), (2, 5));
        let model = &state.model;
        assert_eq!((model.positions.len(), model.triangles.len()), (9, 8));
        assert_eq!(state.maxima.importance, [0.0; 8]);
        for (moments, width) in state.moments.iter().zip(State::widths(0)) {
            assert_eq!(moments.len(), 9 * width);
            assert!(
                moments[..4 * width]
                    .iter()
                    .enumerate()
                    .all(|(i, m)| *m == (i / width) as f32)
            );
            assert!(
                moments[4 * width..].iter().all(|m| *m == 0.0),
                "a new vertex has no moments"
            );
        }
        assert_eq!(model.floor, 0.6);
        let opacities = model.weights.iter().map(|w| opacity::of(*w, model.floor));
        assert!(opacities.into_iter().all(|o| (o - 0.6).abs() < 1e-5));
    }
}
