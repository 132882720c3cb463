//! Densification on the device against the CPU reference: selection, births, deaths, moves, reports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

use std::sync::Arc;

use kiln::gaussians::layout::{GEOMETRY_PLANES, sh_planes};
use kiln::kernels::counters::Counters;
use kiln::kernels::cpu::adam::Moments;
use kiln::kernels::cpu::densify as twin;
use kiln::kernels::cpu::gaussian::{Gaussian, VALUES};
use kiln::kernels::cpu::rng;
use kiln::kernels::cpu::statistics::Statistics;
use kiln::kernels::densify::{Event, Options};
use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::{Chunk, Reduction, Variants};
use kiln::memory::{GIB, Gpu, TensorTable, View};
use kiln::scene::Camera;
use kiln::step::{Capacities, DensifyTensors, STAGING_BYTES, StepTensors, densify};
use kiln::vk::{Device, Instance};

const SEED: u32 = 9;
const ITERATION: u32 = 700;

/// A model with everything a densification reads or writes.
#[derive(Clone, Default)]
struct State {
    gaussians: Vec<Gaussian<f32>>,
    moments: Vec<Moments<f32>>,
    statistics: Vec<Statistics<f32>>,
}

/// Random Gaussians around the thresholds of the default options in a scene of extent 1; a third was never seen, many
/// have equal statistics.
fn random(n: u32, degree: u32, key: u32) -> State {
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
                max_radius_px: 30.0 * uniform(7),
            },
        });
    }
    state
}

struct Rig {
    gpu: Gpu,
    tensors: StepTensors,
    degree: u32,
}

impl Rig {
    fn new(capacity: u32, chunk: u32, degree: u32, staging_bytes: u64, event: &Event) -> (Self, kiln::memory::Program) {
        let mut capacities = Capacities::new(capacity, 256, 256, degree, [(16, 16)]);
        capacities.chunk = chunk;
        let variants = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 0,
            columns: false,
        };
        let mut table = TensorTable::default();
        let tensors = StepTensors::new(&mut table, &capacities, &variants);
        let extra = DensifyTensors::new(&mut table, &capacities, staging_bytes);
        let program = densify(&tensors, &extra, event);
        let instance = Arc::new(Instance::new(true).expect("Vulkan with the Khronos validation layer"));
        let caps = instance.devices().unwrap().into_iter().next().expect("a Vulkan device");
        let device = Device::open(&instance, caps).expect("the device opens");
        let gpu = Gpu::new(&device, table, &[&program], 4 * GIB).expect("memory");
        let rig = Self { gpu, tensors, degree };
        (rig, program)
    }

    fn put(&mut self, pick: fn(&Chunk) -> View, planes: u32, value: impl Fn(usize, usize) -> f32, n: usize) {
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

    fn write(&mut self, state: &State, stalled: u32) {
        let n = state.gaussians.len();
        let sh = sh_planes(self.degree);
        let values: Vec<_> = state.gaussians.iter().map(Gaussian::values).collect();
        let first: Vec<_> = state.moments.iter().map(|m| m.first.values()).collect();
        let second: Vec<_> = state.moments.iter().map(|m| m.second.values()).collect();
        self.put(|c| c.geometry, GEOMETRY_PLANES, |i, p| values[i][p], n);
        self.put(|c| c.geometry_m, GEOMETRY_PLANES, |i, p| first[i][p], n);
        self.put(|c| c.geometry_v, GEOMETRY_PLANES, |i, p| second[i][p], n);
        self.put(|c| c.sh, sh, |i, p| values[i][11 + p], n);
        self.put(|c| c.sh_m, sh, |i, p| first[i][11 + p], n);
        self.put(|c| c.sh_v, sh, |i, p| second[i][11 + p], n);
        // The filter follows its Gaussian until it is recomputed: the first SH value serves as a tag.
        self.put(|c| c.filter_3d, 1, |i, _| values[i][11], n);
        let statistics: Vec<_> = state
            .statistics
            .iter()
            .map(|s| [s.gradient_sum, s.abs_sum, s.count as f32, s.max_radius_px])
            .collect();
        self.put(|c| c.statistics, 4, |i, p| statistics[i][p], n);
        let camera = Camera {
            width_px: 16,
            height_px: 16,
            fx: 16.0,
            fy: 16.0,
            cx: 8.0,
            cy: 8.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
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

    fn counters(&mut self) -> Counters {
        self.gpu.read(&self.tensors.shared.counters.clone(), 1).unwrap()[0]
    }

    /// `planes` values of each of the first `n` Gaussians.
    fn get(&mut self, pick: fn(&Chunk) -> View, planes: u32, n: usize) -> Vec<Vec<f32>> {
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
    fn read(&mut self, n: usize) -> [Vec<Vec<f32>>; 5] {
        let sh = sh_planes(self.degree);
        let mut joined = |geometry, colour| {
            let both = self
                .get(geometry, GEOMETRY_PLANES, n)
                .into_iter()
                .zip(self.get(colour, sh, n));
            both.map(|(a, b)| [a, b].concat()).collect::<Vec<_>>()
        };
        [
            joined(|c| c.geometry, |c| c.sh),
            joined(|c| c.geometry_m, |c| c.sh_m),
            joined(|c| c.geometry_v, |c| c.sh_v),
            self.get(|c| c.filter_3d, 1, n),
            self.get(|c| c.statistics, 4, n),
        ]
    }

    fn finish(&self) {
        let messages = self
            .gpu
            .device()
            .instance()
            .validation()
            .expect("validation")
            .messages();
        assert!(messages.is_empty(), "validation:\n{}", messages.join("\n"));
    }
}

struct Case {
    n: u32,
    capacity: u32,
    chunk: u32,
    degree: u32,
    staging_bytes: u64,
    options: Options,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            n: 3000,
            capacity: 8192,
            chunk: 1024,
            degree: 1,
            staging_bytes: STAGING_BYTES,
            options: Options::default(),
        }
    }
}

impl Case {
    fn event(&self) -> Event {
        Event {
            options: self.options,
            extent: 1.0,
            capacity: self.capacity,
        }
    }

    /// Runs the twin and the device on `state` and compares; returns what the device reports.
    fn check(&self, state: &State) -> Counters {
        let (mut rig, program) = Rig::new(
            self.capacity,
            self.chunk,
            self.degree,
            self.staging_bytes,
            &self.event(),
        );
        rig.write(state, 0);
        rig.gpu.run(&program).unwrap();
        let found = rig.counters();

        let mut wanted = state.clone();
        let event = twin::Event {
            seed: SEED,
            iteration: ITERATION,
            extent: 1.0,
            capacity: self.capacity as usize,
        };
        let report = twin::densify(
            &mut wanted.gaussians,
            &mut wanted.moments,
            &mut wanted.statistics,
            &self.options,
            &event,
        );
        let live = wanted.gaussians.len();
        assert_eq!(found.gaussians as usize, live);
        assert_eq!(
            (found.clones, found.splits, found.deaths, found.capped, found.births),
            (
                report.cloned as u32,
                report.split as u32,
                report.pruned as u32,
                report.capped as u32,
                (report.cloned + report.split) as u32
            )
        );
        let [values, first, second, filter, statistics] = rig.read(live);
        for id in 0..live {
            let (g, m) = (&wanted.gaussians[id], &wanted.moments[id]);
            for (p, v) in values[id].iter().enumerate() {
                let w = g.values()[p];
                assert!(
                    (v - w).abs() <= 1e-5 * w.abs().max(1.0),
                    "Gaussian {id} value {p}: {v} for {w}"
                );
            }
            // Copies are exact, whatever was sampled.
            assert_eq!(values[id][3..7], g.quat);
            assert_eq!(values[id][10..], g.values()[10..values[id].len()]);
            assert_eq!(first[id], m.first.values()[..first[id].len()], "first moments of {id}");
            assert_eq!(
                second[id],
                m.second.values()[..first[id].len()],
                "second moments of {id}"
            );
            assert_eq!(filter[id], [values[id][11]], "filter of {id}");
            assert_eq!(statistics[id], [0.0; 4], "statistics of {id}");
        }
        // The group counts per chunk are those of the new model.
        let args: Vec<[u32; 4]> = rig
            .gpu
            .read(&rig.tensors.shared.args.clone(), 8 + rig.tensors.chunks.len())
            .unwrap();
        for chunk in &rig.tensors.chunks {
            let here = found.gaussians.saturating_sub(chunk.first).min(chunk.stride);
            assert_eq!(args[8 + chunk.index as usize][..3], [here.div_ceil(256), 1, 1]);
        }
        rig.finish();
        found
    }
}

#[test]
fn abs_selection_clones_splits_and_prunes() {
    let case = Case {
        options: Options {
            prune_extent: Some(0.1),
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&random(3000, 1, 1));
    assert!(
        report.clones > 100 && report.splits > 100 && report.deaths > 100,
        "{report:?}"
    );
    assert_eq!(report.capped, 0);
}

#[test]
fn gradient_selection_alone() {
    let case = Case {
        chunk: 256,
        degree: 0,
        options: Options {
            use_abs: false,
            prune_screen_px: Some(25.0),
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&random(2901, 0, 2));
    assert!(report.births > 100 && report.deaths > 100, "{report:?}");
}

#[test]
fn births_cross_chunks_through_a_single_row() {
    let case = Case {
        chunk: 256,
        capacity: 4096,
        degree: 3,
        staging_bytes: 1,
        ..Case::default()
    };
    let report = case.check(&random(1530, 3, 3));
    assert!(report.births > 256, "{report:?}");
}

#[test]
fn capped_growth_keeps_the_highest_scores_and_breaks_ties_by_id() {
    for use_abs in [true, false] {
        for capacity in [3001, 3072, 3100, 3251, 3300] {
            let case = Case {
                capacity,
                options: Options {
                    use_abs,
                    ..Options::default()
                },
                ..Case::default()
            };
            let report = case.check(&random(3000, 1, 4));
            assert_eq!(report.births, capacity - 3000);
            assert!(report.capped > 0, "{report:?}");
        }
    }
}

#[test]
fn a_full_model_only_prunes() {
    let report = Case {
        capacity: 3072,
        ..Case::default()
    }
    .check(&random(3072, 1, 5));
    assert_eq!(report.births, 0);
    assert!(report.capped > 0 && report.deaths > 100, "{report:?}");
}

#[test]
fn pruning_alone() {
    let mut state = random(3000, 1, 6);
    for s in &mut state.statistics {
        s.gradient_sum = 0.0;
    }
    let case = Case {
        chunk: 256,
        options: Options {
            use_abs: false,
            prune_extent: Some(0.02),
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&state);
    assert!(report.births == 0 && report.deaths > 500, "{report:?}");
}

#[test]
fn everyone_may_die() {
    let mut state = random(700, 1, 7);
    for g in &mut state.gaussians {
        g.logit_opacity = -9.0;
    }
    assert_eq!(Case::default().check(&state).gaussians, 0);
}

#[test]
fn nothing_to_do_and_nobody_there() {
    let mut state = random(1000, 1, 8);
    for (g, s) in state.gaussians.iter_mut().zip(&mut state.statistics) {
        g.logit_opacity = 1.0;
        s.gradient_sum = 0.0;
    }
    let case = Case {
        options: Options {
            use_abs: false,
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&state);
    assert_eq!((report.births, report.deaths, report.gaussians), (0, 0, 1000));
    assert_eq!(Case::default().check(&State::default()).gaussians, 0);
}

#[test]
fn all_or_none_above_the_gradient_threshold_is_no_special_case() {
    // No Gaussian above: Q is the largest abs statistic, which selects its owner. All above: Q is the smallest.
    for sum in [0.0, 1.0] {
        let mut state = random(900, 1, 9);
        for s in &mut state.statistics {
            s.count = s.count.max(1);
            s.gradient_sum = sum;
        }
        let births = Case::default().check(&state).births;
        assert_eq!(births, if sum > 0.0 { 900 } else { 1 });
    }
}

#[test]
fn a_stalled_run_stays_as_it_is() {
    let case = Case::default();
    let state = random(case.n, 1, 10);
    let (mut rig, program) = Rig::new(case.capacity, case.chunk, 1, case.staging_bytes, &case.event());
    rig.write(&state, 2);
    let before = (rig.counters(), rig.read(case.capacity as usize));
    rig.gpu.run(&program).unwrap();
    assert_eq!((rig.counters(), rig.read(case.capacity as usize)), before);
    rig.finish();
}

#[test]
fn bytes_depend_on_neither_run_nor_chunk_nor_staging() {
    let state = random(3000, 1, 11);
    let mut all = Vec::new();
    for (chunk, staging_bytes) in [(1024, STAGING_BYTES), (1024, STAGING_BYTES), (256, 1), (8192, 1 << 18)] {
        let case = Case {
            chunk,
            staging_bytes,
            ..Case::default()
        };
        let (mut rig, program) = Rig::new(case.capacity, chunk, 1, staging_bytes, &case.event());
        rig.write(&state, 0);
        rig.gpu.run(&program).unwrap();
        let counters = rig.counters();
        let bits: Vec<Vec<u32>> = rig
            .read(counters.gaussians as usize)
            .into_iter()
            .map(|part| part.concat().into_iter().map(f32::to_bits).collect())
            .collect();
        all.push((counters, bits));
        rig.finish();
    }
    assert!(all.iter().all(|one| *one == all[0]));
}

#[test]
fn staging_is_bounded_by_its_budget_but_has_a_row() {
    let rows = |staging_bytes: u64| {
        let capacities = Capacities::new(1 << 20, 256, 256, 3, [(16, 16)]);
        let d = DensifyTensors::new(&mut TensorTable::default(), &capacities, staging_bytes);
        (d.workspace.relocation.rows, d.workspace.relocation.staging.bytes)
    };
    assert_eq!(rows(0), (1, 2 << 20));
    assert_eq!(rows(STAGING_BYTES), (32, 64 << 20));
    assert_eq!(rows(u64::MAX), (64, 128 << 20));
}
