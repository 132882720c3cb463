//! `mesh_splatting`: training of triangles with shared vertices, where `model.kind` is triangles. All other numbers of the publication
//! are constants of [`Settings`].

use kiln_triangles::schedule::{PUBLISHED_ITERATIONS, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MostGaussians;
use crate::plugins::Checker;

/// Most iterations a key names.
const MAX_STEPS: u32 = 10_000_000;
/// Most samples along an axis of a pixel.
const MOST_SAMPLES: u32 = 8;
/// Vertices at most, as published for the largest scenes.
const MOST_POINTS: u32 = 4_000_000;

/// `mesh_splatting`: for runs whose `model.kind` is triangles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeshSplatting {
    /// Which of the two published schedules.
    pub scene: TriangleScene,
    /// Most vertices, 1000 to 100 000 000: a number = room for that many, or the run does not begin; `up to N` = what fits, at most N. A
    /// model never has more.
    pub max_points: MostGaussians,
    /// What of a vertex's gradient there is: as published, or all of it.
    pub gradient: TriangleGradient,
    /// From which iteration on a pixel has how many samples along each axis, `[[iteration, samples], ...]`; 1 before, at most 8.
    pub supersample: Vec<[u32; 2]>,
    /// Connect the surface by a restricted Delaunay triangulation of its vertices once subdivision is over; false = triangles stay a
    /// soup.
    pub delaunay: bool,
    /// Iterations that the published schedule is laid over, which `--steps-scaler` scales; 1 to 10 000 000.
    pub length: u32,
    /// Another schedule than a published one, set through the library: in no file.
    #[serde(skip)]
    pub schedule: Option<Box<Settings>>,
}

/// `mesh_splatting.scene`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriangleScene {
    /// As published for scenes outdoors.
    Outdoors,
    /// As published for rooms.
    Indoors,
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

impl Default for MeshSplatting {
    fn default() -> Self {
        let published = Settings::outdoor().supersample;
        Self {
            scene: TriangleScene::Outdoors,
            max_points: MostGaussians::UpTo(MOST_POINTS),
            gradient: TriangleGradient::Published,
            supersample: published.into_iter().map(|(from, samples)| [from, samples]).collect(),
            delaunay: true,
            length: PUBLISHED_ITERATIONS,
            schedule: None,
        }
    }
}

impl MeshSplatting {
    /// Ranges.
    pub(super) fn check(&self, c: &mut Checker) {
        c.range("max_points", self.max_points.number(), 1000..=100_000_000);
        c.range("length", self.length, 1..=MAX_STEPS);
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
    }

    /// Multiplies every step number.
    pub(super) fn scale_steps(&mut self, scale: impl Fn(&mut u32)) {
        scale(&mut self.length);
        self.length = self.length.max(1);
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

    /// First and last iteration of subdivisions, and how far apart they are.
    pub(super) fn events(&self) -> [u32; 3] {
        let Settings {
            split: [from, until],
            every,
            ..
        } = self.stretched();
        [from, until, every]
    }

    /// The schedules of a run of so many iterations, whose degree of harmonics rises every so many up to this one.
    pub(super) fn schedule(&self, iterations: u32, [degree_every, degree]: [u32; 2]) -> Settings {
        Settings {
            iterations,
            connect: self.delaunay,
            supersample: self
                .supersample
                .iter()
                .map(|&[from, samples]| (from, samples))
                .collect(),
            degree_every,
            degree,
            ..self.stretched()
        }
    }

    /// The published schedule over so many iterations, or the one set in its place.
    fn stretched(&self) -> Settings {
        let published = || match self.scene {
            TriangleScene::Outdoors => Settings::outdoor(),
            TriangleScene::Indoors => Settings::indoor(),
        };
        match &self.schedule {
            Some(schedule) => (**schedule).clone(),
            None => published().stretched(self.length),
        }
    }
}
