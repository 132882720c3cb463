//! `mesh_splatting`: training of triangles with shared vertices, where `model.kind` is triangles.

use kiln_triangles::schedule::{Losses, Rates, Settings, SplitRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MostGaussians;
use crate::plugins::Checker;

/// Most iterations a key names.
const MAX_STEPS: u32 = 10_000_000;
/// What each rise of the floor adds to the opacity up to which triangles are pruned.
const PRUNE_STEP: f32 = 0.01;
/// Iterations between two events that `--steps-scaler` leaves.
const LEAST_BETWEEN_EVENTS: u32 = 10;
/// Most samples along an axis of a pixel.
const MOST_SAMPLES: u32 = 8;

/// `mesh_splatting`: for runs whose `model.kind` is triangles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshSplatting {
    /// Most vertices, 1000 to 100 000 000: a number = room for that many, or the run does not begin; `up to N` = what fits, at most N. A
    /// model never has more.
    pub max_points: MostGaussians,
    /// What of a vertex's gradient there is: as published, or all of it.
    pub gradient: TriangleGradient,
    /// Iterations between two events of a kind: pruning, subdivision, rises of the opacity floor. 1 to 10 000 000.
    pub every: u32,
    /// Subdivision comes after this iteration.
    pub split_from: u32,
    /// Subdivision comes before this iteration. Two events later the surface is connected.
    pub split_until: u32,
    /// Vertices that a subdivision aims at, over those there are; 1 to 4.
    pub growth: f32,
    /// Largest triangles that every subdivision takes, too.
    pub split_largest: u32,
    /// Least area of a triangle that is sampled for subdivision, squared world units; 0 or more.
    pub split_area: f32,
    /// Pruning comes after this iteration, until the surface is connected.
    pub prune_from: u32,
    /// Opacity and importance up to which triangles go at the first pruning; 0 to below 1. Each rise of the floor adds a hundredth.
    pub prune_opacity: f32,
    /// Size above which triangles go, samples from a corner to the middle; above 0.
    pub prune_size_px: f32,
    /// Importance counts where there are fewer training views than this; with more, one may not be looked at between two events.
    pub prune_views: u32,
    /// Least opacities rise after this iteration.
    pub floor_from: u32,
    /// Least opacities reach 0.9999 at this iteration.
    pub floor_until: u32,
    /// Connect the surface by a restricted Delaunay triangulation of its vertices once subdivision is over; false = triangles stay a
    /// soup.
    pub delaunay: bool,
    /// Turn the triangles of a connected surface one way.
    pub orient: bool,
    /// Exponent of the triangles' windows at the start and at the end: 1 = a pyramid, near 0 = a solid triangle.
    pub sigma: [f32; 2],
    /// From which iteration on a pixel has how many samples along each axis, `[[iteration, samples], ...]`; 1 before, at most 8.
    pub supersample: Vec<[u32; 2]>,
    /// Learning rates.
    pub lr: TriangleRates,
    /// Losses over vertices and normals, beside those on images.
    pub losses: TriangleLosses,
}

/// `mesh_splatting.gradient`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriangleGradient {
    /// What the published training follows: places feel the window and not the colours across a triangle, nor normals.
    Published,
    /// All terms.
    Exact,
}

/// `mesh_splatting.lr`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriangleRates {
    /// Positions at the start, world units.
    pub positions: f32,
    /// Positions at the end; in between straight in the logarithm.
    pub positions_end: f32,
    /// Weights of vertices, which stand for opacity.
    pub weights: f32,
    /// Colours of degree 0; higher degrees have a twentieth.
    pub colors: f32,
}

/// `mesh_splatting.losses`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriangleLosses {
    /// Weight of the mean opacity of triangles, before the floor rises.
    pub opacity: f32,
    /// Weight of the distance of vertices from the median depth.
    pub vertex_depth: f32,
    /// Iteration after which that counts.
    pub vertex_depth_from: u32,
    /// Largest such distance that counts, world units; above 0.
    pub most_depth_difference: f32,
    /// Weight of normals against those of the depth.
    pub normals: f32,
    /// Iteration after which that counts.
    pub normals_from: u32,
}

impl MeshSplatting {
    /// Ranges.
    pub(super) fn check(&self, c: &mut Checker) {
        c.range("max_points", self.max_points.number(), 1000..=100_000_000);
        c.range("every", self.every, 1..=MAX_STEPS);
        for (key, value) in [
            ("split_from", self.split_from),
            ("split_until", self.split_until),
            ("prune_from", self.prune_from),
            ("floor_from", self.floor_from),
            ("floor_until", self.floor_until),
        ] {
            c.range(key, value, 0..=MAX_STEPS);
        }
        c.require(
            "floor_until",
            self.floor_until > self.floor_from,
            self.floor_until,
            || format!("above `floor_from`, {}", self.floor_from),
        );
        c.range("growth", self.growth, 1.0..=4.0);
        c.range("split_largest", self.split_largest, 0..=1_000_000);
        c.range("split_area", self.split_area, 0.0..=1e9);
        let faint = (0.0..1.0).contains(&self.prune_opacity);
        c.require("prune_opacity", faint, self.prune_opacity, || "0 to below 1".to_owned());
        c.positive("prune_size_px", self.prune_size_px.into(), 1e9);
        c.within("sigma", |c| {
            for (i, sigma) in self.sigma.into_iter().enumerate() {
                c.range(&i.to_string(), sigma, 1e-6..=4.0);
            }
        });
        c.within("supersample", |c| {
            let mut last = 0;
            for (i, &[from, samples]) in self.supersample.iter().enumerate() {
                c.require(&i.to_string(), i == 0 || from > last, from, || {
                    format!("an iteration above {last}, the one before")
                });
                c.within(i, |c| {
                    c.range("0", from, 0..=MAX_STEPS);
                    c.range("1", samples, 1..=MOST_SAMPLES);
                });
                last = from;
            }
        });
        c.within("lr", |c| {
            let TriangleRates {
                positions,
                positions_end,
                weights,
                colors,
            } = self.lr;
            for (key, rate) in [
                ("positions", positions),
                ("positions_end", positions_end),
                ("weights", weights),
                ("colors", colors),
            ] {
                c.range(key, rate, 0.0..=10.0);
            }
        });
        c.within("losses", |c| {
            let losses = &self.losses;
            for (key, weight) in [
                ("opacity", losses.opacity),
                ("vertex_depth", losses.vertex_depth),
                ("normals", losses.normals),
            ] {
                c.range(key, weight, 0.0..=100.0);
            }
            c.positive("most_depth_difference", losses.most_depth_difference.into(), 1e9);
        });
    }

    /// Multiplies every step number.
    pub(super) fn scale_steps(&mut self, scale: impl Fn(&mut u32)) {
        for step in [
            &mut self.split_from,
            &mut self.split_until,
            &mut self.prune_from,
            &mut self.floor_from,
            &mut self.floor_until,
            &mut self.losses.vertex_depth_from,
            &mut self.losses.normals_from,
        ] {
            scale(step);
        }
        // Events need steps in between, and importance all views.
        let least = LEAST_BETWEEN_EVENTS.min(self.every);
        scale(&mut self.every);
        self.every = self.every.max(least);
        scale(&mut self.prune_views);
        self.floor_until = self.floor_until.max(self.floor_from + 1);
        for [from, _] in &mut self.supersample {
            scale(from);
        }
        // Steps that fall together count once.
        self.supersample.dedup_by(|next, before| {
            let same = next[0] <= before[0];
            if same {
                before[1] = next[1];
            }
            same
        });
    }
}

impl MeshSplatting {
    /// The schedules of a run of so many iterations, whose degree of harmonics rises every so many up to this one.
    pub(super) fn schedule(&self, iterations: u32, [degree_every, degree]: [u32; 2]) -> Settings {
        let (lr, losses) = (&self.lr, &self.losses);
        Settings {
            iterations,
            every: self.every,
            split: [self.split_from, self.split_until],
            splitting: SplitRule {
                growth: self.growth,
                largest: self.split_largest,
                least_area: self.split_area,
            },
            prune_from: self.prune_from,
            prune_opacity: self.prune_opacity,
            prune_step: PRUNE_STEP,
            prune_size_px: self.prune_size_px,
            prune_views: self.prune_views,
            floor: [self.floor_from, self.floor_until],
            connect: self.delaunay,
            sigma: self.sigma,
            supersample: self
                .supersample
                .iter()
                .map(|&[from, samples]| (from, samples))
                .collect(),
            degree_every,
            degree,
            rates: Rates {
                position: [lr.positions, lr.positions_end],
                weight: lr.weights,
                color: lr.colors,
            },
            losses: Losses {
                opacity: losses.opacity,
                vertex_depth: (losses.vertex_depth, losses.vertex_depth_from),
                most_depth_difference: losses.most_depth_difference,
                normals: (losses.normals, losses.normals_from),
            },
        }
    }
}
