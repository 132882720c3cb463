//! A device that trains triangles whole and in bands.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::step::{
    BandTensors, Capacities, Part, Parts, StepTensors, banded, clear_stall, evaluate_view, pack_bands, train_step,
    write_state,
};
use kiln_gaussians::triangles::{State, TriangleModel};
use kiln_gpu::memory::Gpu as Device;
use kiln_kernels::counters::{Counters, Stall};
use kiln_program::{Program, Span, TensorTable};
use kiln_tests::gpu::open;

use super::{a_scene, blocks, counts, tensors};

/// A device with a step in one piece and in parts.
pub(super) struct Banded {
    pub(super) gpu: Device,
    pub(super) tensors: StepTensors,
    bands: BandTensors,
    pub(super) whole: Program,
    parts: Parts,
    pub(super) drawn: Program,
    cleared: Program,
    /// Steps that did not fit whole.
    pub(super) stalled: u32,
}

impl Banded {
    pub(super) fn new(model: &TriangleModel, i_cap: u32) -> Self {
        Self::with_room(counts(model), model.degree, i_cap)
    }

    /// The same with fewer slots for pairs than there are triangles.
    pub(super) fn short_of_pairs(model: &TriangleModel, i_cap: u32) -> Self {
        Self::of(counts(model), model.degree, |capacities| capacities.i_cap = i_cap)
    }

    pub(super) fn with_room(room: [usize; 2], degree: u32, i_cap: u32) -> Self {
        Self::of(room, degree, super::room(i_cap))
    }

    fn of(room: [usize; 2], degree: u32, change: impl Fn(&mut Capacities)) -> Self {
        let mut table = TensorTable::default();
        let tensors = tensors(&mut table, room, degree, change, false);
        let bands = BandTensors::new(&mut table, &tensors.capacities, &tensors.variants);
        let whole = train_step(&tensors);
        let drawn = evaluate_view(&tensors, &[]);
        let parts = banded(&tensors, &bands, &[]);
        let cleared = clear_stall(&tensors);
        let all: Vec<&Program> = parts.values().chain([&whole, &drawn, &cleared]).collect();
        let gpu = Device::new(&open(), table, &all, 1 << 30).unwrap();
        Self {
            gpu,
            tensors,
            bands,
            whole,
            parts,
            drawn,
            cleared,
            stalled: 0,
        }
    }

    /// A step in bands that begin at these tiles, or where they fit.
    pub(super) fn in_bands(&mut self, firsts: &[u32], tiles: u32) {
        self.gpu.run(&self.parts[&Part::Prefix]).unwrap();
        let mut bands: Vec<_> = firsts.iter().map(|first| *first..tiles).collect();
        for i in 1..bands.len() {
            bands[i - 1].end = bands[i].start;
        }
        if firsts.is_empty() {
            let histogram = self.bands.histogram_back.slice(0, 4 * u64::from(tiles));
            let histogram: Vec<u32> = bytemuck::pod_collect_to_vec(self.gpu.memory().host(&histogram).unwrap());
            bands = pack_bands(&histogram, self.tensors.capacities.band_cap(), 1);
        }
        for part in [Part::Forward, Part::Loss(0), Part::Backward, Part::Finish] {
            let times = if matches!(part, Part::Forward | Part::Backward) {
                bands.len()
            } else {
                1
            };
            for band in bands.iter().take(times).cloned().collect::<Vec<_>>() {
                let range = self.bands.range(0);
                self.put(&range, bytemuck::bytes_of(&[band.start, band.end]));
                self.gpu.run(&self.parts[&part]).unwrap();
            }
        }
    }

    pub(super) fn put(&mut self, view: &Span, bytes: &[u8]) {
        let view = view.slice(0, bytes.len() as u64);
        self.gpu.memory_mut().host_mut(&view).unwrap().copy_from_slice(bytes);
    }

    /// Starts from `model` and takes `steps` steps, in bands of these first tiles where there are any. Everything that training
    /// leaves, as words.
    pub(super) fn train(&mut self, model: &TriangleModel, steps: u32, firsts: &[u32]) -> Vec<u32> {
        write_state(&mut self.gpu, &self.tensors, &State::new(model.clone())).unwrap();
        for iteration in 1..=steps {
            let mut scene = a_scene();
            scene.shift = [iteration as f32, 0.0];
            let (mut u, block) = blocks(&scene, model, 1 + iteration % 2);
            u.iteration = iteration;
            let rings = self.tensors.rings;
            self.put(
                &rings.uniforms,
                &[bytemuck::bytes_of(&u), bytemuck::bytes_of(&block)].concat(),
            );
            self.put(&rings.images, &scene.target());
            if !firsts.is_empty() {
                self.in_bands(firsts, u.band_end);
                continue;
            }
            self.gpu.run(&self.whole).unwrap();
            let counters: Vec<Counters> = self.gpu.read(&self.tensors.shared.counters, 1).unwrap();
            if let Some(stall) = counters[0].stall() {
                assert_eq!(stall, Stall::Intersections);
                self.stalled += 1;
                self.gpu.run(&self.cleared).unwrap();
                self.in_bands(&[], u.band_end);
            }
        }
        self.words()
    }

    /// Everything that training leaves.
    pub(super) fn words(&mut self) -> Vec<u32> {
        let own = self.tensors.triangles.clone().unwrap();
        let c = own.chunks[0];
        let all = [c.geometry, c.geometry_m, c.geometry_v, c.sh, c.sh_m, c.sh_v];
        let kept = [own.topology.importance, own.topology.size];
        let mut words = Vec::new();
        for view in all.into_iter().chain(kept) {
            words.extend(self.gpu.read::<u32>(&view, view.bytes as usize / 4).unwrap());
        }
        words
    }
}
