//! Models around the thresholds, and a device that runs one densification on them.

use std::ops::Range;

use kiln::step::{Capacities, DensifyTensors, StepTensors, densify};
use kiln_gaussians::layout::{GEOMETRY_PLANES, StatePlanes, Storage, sh_planes};
use kiln_gpu::memory::{GIB, Gpu};
use kiln_kernels::counters::{Args, Counters};
use kiln_kernels::densify::Event;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Chunk, Reduction, Variants};
use kiln_program::{Program, Span, TensorTable};
use kiln_scene::Camera;
use kiln_tests::gpu::{assert_valid, open, variants};
use kiln_twins::adam::Moments;
use kiln_twins::gaussian::{Gaussian, VALUES};
use kiln_twins::rng;
use kiln_twins::statistics::Statistics;

pub(crate) const SEED: u32 = 9;
pub(crate) const ITERATION: u32 = 700;

/// A model with everything a densification reads or writes.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) gaussians: Vec<Gaussian<f32>>,
    pub(crate) moments: Vec<Moments<f32>>,
    pub(crate) statistics: Vec<Statistics<f32>>,
}

/// Random Gaussians around the thresholds of the default options in a scene of extent 1; a third was never seen, many
/// have equal statistics.
pub(crate) fn random(n: u32, degree: u32, key: u32) -> State {
    let stored = (GEOMETRY_PLANES + sh_planes(degree)) as usize;
    let values = |id: u32, channel: u32| -> [f32; VALUES] {
        std::array::from_fn(|p| match p < stored {
            true => rng::normal(key, channel, id, p as u32),
            false => 0.0,
        })
    };
    let mut state = State::default();
    for id in 0..n {
        let uniform = |channel: u32| -> f32 { rng::uniform(key, 0, id, channel) };
        let mut gaussian = Gaussian::from_values(&values(id, 1));
        gaussian.log_scale = [0, 1, 2].map(|c| 0.01_f32.ln() + 3.0 * (uniform(c) - 0.75));
        if id % 31 == 0 {
            gaussian.log_scale[1] = 0.4_f32.ln();
        }
        gaussian.logit_opacity = 4.0 * uniform(3) - if id % 5 == 0 { 9.0 } else { 4.0 };
        state.gaussians.push(gaussian);
        state.moments.push(Moments {
            first: Gaussian::from_values(&values(id, 2)),
            second: Gaussian::from_values(&values(id, 3).map(f32::abs)),
        });
        let steps = (uniform(4) * 3.0) as u32 * 7;
        let coarse = |channel| (uniform(channel) * 40.0).floor() / 40.0;
        state.statistics.push(match steps {
            0 => Statistics::default(),
            _ => Statistics {
                gradient_sum: 2.5e-4 * coarse(5) * steps as f32,
                abs_sum: 1e-3 * uniform(6) * steps as f32,
                count: steps,
            },
        });
    }
    state
}

/// Room for `capacity` Gaussians in chunks of `chunk`.
pub(crate) fn capacities(capacity: u32, chunk: u32, (storage, degree): (Storage, u32)) -> Capacities {
    let mut capacities = Capacities::new(capacity, 256, 256, degree, [(16, 16)]);
    (capacities.chunk, capacities.storage) = (chunk, storage);
    capacities
}

pub(crate) struct Rig {
    pub(crate) gpu: Gpu,
    pub(crate) tensors: StepTensors,
    /// Words of each tensor. What they stand for does not matter here: they move as they are.
    pub(crate) planes: StatePlanes,
}

impl Rig {
    pub(crate) fn new(
        capacity: u32,
        chunk: u32,
        (storage, degree): (Storage, u32),
        staging_bytes: u64,
        event: &Event,
    ) -> (Self, Program) {
        Self::with(capacity, chunk, (storage, degree), staging_bytes, |t, d| {
            densify(t, d, event)
        })
    }

    /// The same for any program over the tensors of a densification.
    pub(crate) fn with(
        capacity: u32,
        chunk: u32,
        (storage, degree): (Storage, u32),
        staging_bytes: u64,
        program: impl FnOnce(&StepTensors, &DensifyTensors) -> Program,
    ) -> (Self, Program) {
        let capacities = capacities(capacity, chunk, (storage, degree));
        Self::of(&capacities, &variants(Reduction::Segmented), |table, tensors| {
            let extra = DensifyTensors::new(table, &capacities, staging_bytes);
            program(tensors, &extra)
        })
    }

    /// The same for any program, which adds what else it needs to the table.
    pub(crate) fn of(
        capacities: &Capacities,
        variants: &Variants,
        program: impl FnOnce(&mut TensorTable, &StepTensors) -> Program,
    ) -> (Self, Program) {
        let mut table = TensorTable::default();
        let tensors = StepTensors::new(&mut table, capacities, variants);
        let program = program(&mut table, &tensors);
        let gpu = Gpu::new(&open(), table, &[&program], 4 * GIB).expect("memory");
        let rig = Self {
            gpu,
            tensors,
            planes: capacities.planes(),
        };
        (rig, program)
    }

    fn put(&mut self, pick: fn(&Chunk) -> Span, planes: u32, value: impl Fn(usize, usize) -> f32, n: usize) {
        for chunk in self.tensors.chunks.clone() {
            let (first, stride) = (chunk.first as usize, chunk.stride as usize);
            // Slots beyond the model hold rubbish that must not matter.
            let at = |p: usize, i: usize| if first + i < n { value(first + i, p) } else { 7e7 };
            let all: Vec<f32> = (0..planes as usize)
                .flat_map(|p| (0..stride).map(move |i| (p, i)))
                .map(|(p, i)| at(p, i))
                .collect();
            self.gpu.write(&pick(&chunk), &all).unwrap();
        }
    }

    pub(crate) fn write(&mut self, state: &State, stalled: u32) {
        let n = state.gaussians.len();
        let planes = self.planes;
        let values: Vec<_> = state.gaussians.iter().map(Gaussian::values).collect();
        let first: Vec<_> = state.moments.iter().map(|m| m.first.values()).collect();
        let second: Vec<_> = state.moments.iter().map(|m| m.second.values()).collect();
        self.put(|c| c.geometry, planes.geometry, |i, p| values[i][p], n);
        self.put(|c| c.geometry_m, planes.geometry_m, |i, p| first[i][p], n);
        self.put(|c| c.geometry_v, planes.geometry_v, |i, p| second[i][p], n);
        self.put(|c| c.sh, planes.sh, |i, p| values[i][11 + p], n);
        self.put(|c| c.sh_m, planes.sh_m, |i, p| first[i][11 + p], n);
        self.put(|c| c.sh_v, planes.sh_v, |i, p| second[i][11 + p], n);
        // The filter follows its Gaussian until it is recomputed: the first SH value serves as a tag.
        self.put(|c| c.filter_3d, 1, |i, _| values[i][11], n);
        let statistics: Vec<_> = state
            .statistics
            .iter()
            .map(|s| [s.gradient_sum, s.abs_sum, s.count as f32])
            .collect();
        self.put(|c| c.statistics, 3, |i, p| statistics[i][p], n);
        let camera = Camera {
            width_px: 16,
            height_px: 16,
            fx: 16.0,
            fy: 16.0,
            cx: 8.0,
            cy: 8.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        };
        let uniforms = StepUniforms {
            iteration: ITERATION,
            seed: SEED,
            ..StepUniforms::for_camera(&camera, [0.0; 3], 0.1)
        };
        self.gpu
            .write(&self.tensors.shared.uniforms.clone(), &[uniforms])
            .unwrap();
        let counters = Counters {
            stalled,
            gaussians: n as u32,
            births: 77,
            ..Counters::default()
        };
        self.gpu
            .write(&self.tensors.shared.counters.clone(), &[counters])
            .unwrap();
    }

    pub(crate) fn counters(&mut self) -> Counters {
        self.gpu.read(&self.tensors.shared.counters.clone(), 1).unwrap()[0]
    }

    /// `planes` values of each of the first `n` Gaussians.
    fn get(&mut self, pick: fn(&Chunk) -> Span, planes: u32, n: usize) -> Vec<Vec<f32>> {
        let mut out = Vec::new();
        for chunk in self.tensors.chunks.clone() {
            let stride = chunk.stride as usize;
            let all: Vec<f32> = self.gpu.read(&pick(&chunk), planes as usize * stride).unwrap();
            let here = n.saturating_sub(chunk.first as usize).min(stride);
            out.extend((0..here).map(|i| (0..planes as usize).map(|p| all[p * stride + i]).collect::<Vec<_>>()));
        }
        out
    }

    /// Parameters, first and second moments, filter and statistics of every Gaussian.
    pub(crate) fn read(&mut self, n: usize) -> [Vec<Vec<f32>>; 5] {
        let planes = self.planes;
        let mut joined = |geometry, colour, [g, sh]: [u32; 2]| {
            let both = self.get(geometry, g, n).into_iter().zip(self.get(colour, sh, n));
            both.map(|(a, b)| [a, b].concat()).collect::<Vec<_>>()
        };
        [
            joined(|c| c.geometry, |c| c.sh, [planes.geometry, planes.sh]),
            joined(|c| c.geometry_m, |c| c.sh_m, [planes.geometry_m, planes.sh_m]),
            joined(|c| c.geometry_v, |c| c.sh_v, [planes.geometry_v, planes.sh_v]),
            self.get(|c| c.filter_3d, 1, n),
            self.get(|c| c.statistics, 3, n),
        ]
    }

    /// Compares everything with `wanted`, all of it exactly but values `loose`, and the group counts per chunk.
    pub(crate) fn assert_state(&mut self, wanted: &State, loose: Range<usize>) {
        let n = wanted.gaussians.len();
        let [values, first, second, filter, statistics] = self.read(n);
        let planes = self.planes;
        let words = |values: [f32; VALUES], geometry: u32, sh: u32| {
            [&values[..geometry as usize], &values[11..11 + sh as usize]].concat()
        };
        for (id, (g, m)) in wanted.gaussians.iter().zip(&wanted.moments).enumerate() {
            for (p, (v, w)) in values[id].iter().zip(g.values()).enumerate() {
                let tolerance = if loose.contains(&p) {
                    2e-5 * w.abs().max(1.0)
                } else {
                    0.0
                };
                assert!((v - w).abs() <= tolerance, "Gaussian {id} value {p}: {v} for {w}");
            }
            assert_eq!(first[id], words(m.first.values(), planes.geometry_m, planes.sh_m));
            assert_eq!(second[id], words(m.second.values(), planes.geometry_v, planes.sh_v));
            assert_eq!(filter[id], [values[id][11]], "filter of {id}");
            let s = &wanted.statistics[id];
            let s = [s.gradient_sum, s.abs_sum, s.count as f32];
            assert_eq!(statistics[id], s, "statistics of {id}");
        }
        let n_chunks = self.tensors.chunks.len();
        let slot = |chunk: u32| Args::Chunk(chunk).slot() as usize;
        let args: Vec<[u32; 4]> = self
            .gpu
            .read(&self.tensors.shared.args.clone(), slot(n_chunks as u32))
            .unwrap();
        for chunk in &self.tensors.chunks {
            let here = (n as u32).saturating_sub(chunk.first).min(chunk.stride);
            assert_eq!(args[slot(chunk.index)][..3], [here.div_ceil(256), 1, 1]);
        }
    }

    pub(crate) fn finish(&self) {
        assert_valid(self.gpu.device());
    }
}
