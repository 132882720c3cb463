//! Terms of the density on the device, their gradients and what the update makes of them, against the twins.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::gaussians::Gaussians;
use kiln::gaussians::layout::Storage;
use kiln::gaussians::morton::Frame;
use kiln::kernels::counters::Counters;
use kiln::kernels::density_terms::DensityTerms;
use kiln::kernels::neighbors::NONE;
use kiln::kernels::uniforms::{StepUniforms, flags};
use kiln::kernels::views::{Reduction, Variants};
use kiln::memory::{BlockRounding, GIB, Gpu, Plan, PlanLimits};
use kiln::program::{Class, Command, Program, Span, Tag, TensorTable};
use kiln::step::{Capacities, StepTensors, find_neighbors, know_neighbors, most_dense, train_step, write_model};
use kiln::twins::density_terms::{DensityLoss, Map, Terms, by_parameters, density_loss, draw, owners};
use kiln::twins::gaussian::{Gaussian, View};
use kiln::twins::level::Row;
use kiln::twins::neighbors::nearest;
use kiln_tests::child;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

const TERMS: DensityTerms = DensityTerms {
    sdf: false,
    weight: 0.2,
    normal: 0.3,
    samples: 3001,
    k: 8,
    extent: 2.0,
};
const FRAME: ([f32; 3], f32) = ([0.0; 3], 3.0);

fn scene() -> Scene {
    Scene {
        seed: 31,
        count: 700,
        size: [48, 40],
        scales: [0.05, 0.3],
        opacities: [0.3, 0.95],
        ..Scene::default()
    }
}

/// A device that makes steps with terms of the density.
struct Steps {
    gpu: Gpu,
    find: Program,
    know: Program,
    step: Program,
    tensors: StepTensors,
    /// Blended depths and image of the last step, where it draws surfaces.
    kept: Option<[Span; 2]>,
}

fn capacities(scene: &Scene, terms: DensityTerms, storage: Storage) -> Capacities {
    let n = scene.count;
    let mut c = Capacities::new(n, n, 20 * n, scene.sh_degree, [(scene.size[0], scene.size[1])]);
    (c.chunk, c.storage) = (256, storage);
    c.density = Some(terms);
    c
}

impl Steps {
    fn new(scene: &Scene, terms: DensityTerms, storage: Storage, variants: &Variants) -> Self {
        let mut table = TensorTable::default();
        let tensors = StepTensors::new(&mut table, &capacities(scene, terms, storage), variants);
        let tensors = if terms.sdf {
            tensors.for_surface_steps(&mut table)
        } else {
            tensors
        };
        let mut step = train_step(&tensors);
        let kept = tensors.pixels.surface.map(|surface| {
            let at = step
                .commands
                .iter()
                .position(|c| c.name().starts_with("density_rows"))
                .unwrap();
            [surface.depth, tensors.pixels.image].map(|from| {
                let to = table.add(format!("kept/{}", from.bytes), Class::Small, Tag::Other, from.bytes);
                let copy = Command::Copy {
                    from,
                    from_stride: 0,
                    to,
                    to_stride: 0,
                };
                step.commands.insert(at, copy);
                to
            })
        });
        let frame = Frame::new(FRAME.0, FRAME.1);
        let find = find_neighbors(&tensors, &frame).unwrap();
        let know = know_neighbors(&tensors).unwrap();
        let gpu = Gpu::new(&open(), table, &[&step, &find, &know], 4 * GIB).unwrap();
        Self {
            gpu,
            find,
            know,
            step,
            tensors,
            kept,
        }
    }

    /// The counters after a step on `model` with its neighbours.
    fn run(&mut self, model: &Gaussians, u: &StepUniforms, target: &[u8]) -> Counters {
        write_model(&mut self.gpu, &self.tensors, model).unwrap();
        self.gpu.run(&self.find).unwrap();
        self.step(u, target)
    }

    fn step(&mut self, u: &StepUniforms, target: &[u8]) -> Counters {
        let rings = self.tensors.rings;
        let memory = self.gpu.memory_mut();
        let uniforms = rings.uniforms.slice(0, size_of::<StepUniforms>() as u64);
        memory
            .host_mut(&uniforms)
            .unwrap()
            .copy_from_slice(bytemuck::bytes_of(u));
        let images = rings.images.slice(0, rings.images_stride);
        memory.host_mut(&images).unwrap()[..target.len()].copy_from_slice(target);
        self.gpu.run(&self.step).unwrap();
        let status = rings.status.slice(0, size_of::<Counters>() as u64);
        bytemuck::pod_read_unaligned(self.gpu.memory().host(&status).unwrap())
    }

    /// Values of every chunk's planes, by Gaussian.
    fn planes(&mut self, pick: impl Fn(&StepTensors, usize) -> Span, planes: usize, count: usize) -> Vec<Vec<f32>> {
        let mut all = Vec::new();
        for (index, chunk) in self.tensors.chunks.clone().iter().enumerate() {
            let stride = chunk.stride as usize;
            let view = pick(&self.tensors, index);
            let values: Vec<f32> = self.gpu.read(&view, planes * stride).unwrap();
            let here = count.saturating_sub(chunk.first as usize).min(stride);
            all.extend((0..here).map(|i| (0..planes).map(|p| values[p * stride + i]).collect()));
        }
        all
    }

    fn visible(&mut self, count: usize) -> Vec<u32> {
        let mut ids = Vec::new();
        for chunk in self.tensors.chunks.clone() {
            let words: Vec<u32> = self.gpu.read(&chunk.visible_mask, chunk.stride as usize / 32).unwrap();
            let bits = (0..chunk.stride).filter(|i| words[*i as usize / 32] >> (i % 32) & 1 == 1);
            ids.extend(bits.map(|i| chunk.first + i));
        }
        ids.retain(|id| (*id as usize) < count);
        ids
    }
}

/// Uniforms of a step whose image is nobody's business.
fn terms_alone(scene: &Scene, iteration: u32) -> StepUniforms {
    let mut u = uniforms(&scene.camera(), scene.sh_degree, iteration);
    u.flags |= flags::DENSITY;
    (u.weights[0], u.weights[1]) = (0.0, 0.0);
    u
}

/// What the twin makes of the samples of a step that saw `visible`.
fn wanted(
    model: &Gaussians,
    visible: &[u32],
    u: &StepUniforms,
    terms: &DensityTerms,
    map: Option<Map<'_, f64>>,
) -> DensityLoss<f64> {
    let rows: Vec<Row<f64>> = Gaussian::<f64>::from_model(model)
        .iter()
        .zip(&model.filter_3d)
        .map(|(gaussian, filter)| Row::new(gaussian, *filter))
        .collect();
    let k = terms.k as usize;
    let near = nearest(&Frame::new(FRAME.0, FRAME.1), &model.means, k);
    let owners = owners(visible, terms.samples, u.seed, u.iteration);
    let draws: Vec<[f64; 3]> = (0..terms.samples)
        .map(|s| draw::<f32>(s, u.seed, u.iteration).map(f64::from))
        .collect();
    let terms = Terms {
        weight: terms.weight.into(),
        normal: terms.normal.into(),
        map,
    };
    density_loss(&rows, (&near, k), &owners, &draws, &terms)
}

/// Values, gradients by rows, and first moments after the update.
fn follow_the_twin(scene: &Scene, terms: DensityTerms, variants: &Variants) {
    let model = scene.model();
    let n = model.len();
    let mut steps = Steps::new(scene, terms, Storage::Exact, variants);
    for iteration in [1, 2] {
        let u = terms_alone(scene, iteration);
        let counters = steps.run(&model, &u, &scene.target());
        assert_eq!(counters.stalled, 0);
        let visible = steps.visible(n);
        let view = View::<f64>::new(&scene.camera());
        let depths = steps.kept.map(|[depth, image]| {
            let pixels = (scene.size[0] * scene.size[1]) as usize;
            let depth: Vec<[f32; 2]> = steps.gpu.read(&depth, pixels).unwrap();
            let image: Vec<[f32; 4]> = steps.gpu.read(&image, pixels).unwrap();
            let far = model.means.iter().map(|mean| view.to_camera(mean.map(f64::from))[2]);
            let far = far.fold(0.0, f64::max);
            let over = |(d, i): (&[f32; 2], &[f32; 4])| f64::from(d[1]) + f64::from(i[3]) * far;
            depth.iter().zip(&image).map(over).collect::<Vec<f64>>()
        });
        let map = depths.as_ref().map(|depths| Map {
            depths,
            view: &view,
            extent: terms.extent.into(),
        });
        let wanted = wanted(&model, &visible, &u, &terms, map);
        assert!(
            visible.len() > 100 && wanted.samples > 500,
            "{} {}",
            visible.len(),
            wanted.samples
        );
        let samples = i64::from(counters.density_samples) - i64::from(wanted.samples);
        // Where a centre lies two deviations from the surface, rounding decides.
        assert!(samples.abs() <= if terms.sdf { 6 } else { 0 }, "{samples} more samples");
        let limit = if terms.sdf { 2e-3 } else { 1e-5 };
        for (found, wanted) in [
            (counters.density, wanted.density),
            (counters.density_normals, wanted.normals),
            (counters.loss, wanted.total),
        ] {
            let apart = (f64::from(found) - wanted).abs();
            assert!(apart <= limit * wanted, "{found}, not {wanted}");
        }
        let moments = steps.planes(|t, chunk| t.chunks[chunk].geometry_m, 11, n);
        let gaussians = Gaussian::<f64>::from_model(&model);
        let exact: Vec<[f32; 11]> = (0..n)
            .map(|id| {
                let by = by_parameters(&gaussians[id], model.filter_3d[id], &wanted.rows[id]);
                std::array::from_fn(|p| by.values()[p] as f32)
            })
            .collect();
        for p in 0..11 {
            let found: Vec<f32> = moments.iter().map(|values| values[p] / (1.0 - u.beta1)).collect();
            let wanted: Vec<f32> = exact.iter().map(|values| values[p]).collect();
            let limit = if terms.sdf { 3e-2 } else { 2e-3 };
            close(
                &format!("gradient {p} of step {iteration}"),
                &found,
                &wanted,
                1e-2,
                limit,
            );
        }
        let blind = (0..n as u32).filter(|id| !visible.contains(id));
        let moved = blind.filter(|id| exact[*id as usize].iter().any(|v| *v != 0.0)).count();
        assert!(moved > 0, "none out of view has a gradient");
    }
    assert_valid(steps.gpu.device());
}

#[test]
fn terms_and_gradients_follow_the_twins() {
    for reduction in [Reduction::Segmented, Reduction::Atomic] {
        follow_the_twin(&scene(), TERMS, &variants(reduction));
    }
    let flat = Scene {
        filter_3d: 0.0,
        ..scene()
    };
    let few = DensityTerms {
        samples: 600,
        k: 16,
        ..TERMS
    };
    follow_the_twin(&flat, few, &variants(Reduction::Segmented));
}

#[test]
fn distances_and_gradients_follow_the_twins() {
    let terms = DensityTerms {
        sdf: true,
        samples: 8000,
        ..TERMS
    };
    follow_the_twin(&scene(), terms, &variants(Reduction::Segmented));
}

#[test]
fn every_subgroup_width_follows_the_twins() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        return follow_the_twin(&scene(), TERMS, &variants(Reduction::Segmented));
    }
    for (width, size) in [("128", "4"), ("512", "16")] {
        child::run_with_vectors(module_path!(), "every_subgroup_width_follows_the_twins", size, width);
    }
}

/// The mean entropy of opacities pulls at the visible Gaussians, and at nothing but their opacities.
#[test]
fn entropy_pulls_at_the_opacities_in_view() {
    let scene = scene();
    let mut model = scene.model();
    let n = model.len();
    // Where an opacity rounds to 0 or 1, and where `exp` overflows.
    for (logit, extreme) in model
        .logit_opacities
        .iter_mut()
        .zip([17.0, 18.5, 40.0, 95.0, -18.5, -95.0].iter().cycle().take(60))
    {
        *logit = *extreme;
    }
    let mut steps = Steps::new(&scene, TERMS, Storage::Exact, &variants(Reduction::Segmented));
    let mut u = terms_alone(&scene, 1);
    u.flags &= !flags::DENSITY;
    u.entropy_weight = 0.1;
    let counters = steps.run(&model, &u, &scene.target());
    assert_eq!((counters.stalled, counters.density_samples), (0, 0));
    let visible = steps.visible(n);
    assert!(visible.len() > 100 && visible.len() < n, "{}", visible.len());
    // By the larger of the two probabilities' logit, which loses no digits.
    let entropy = |logit: f64| {
        let (x, e) = (logit.abs(), (-logit.abs()).exp());
        e.ln_1p() + x * e / (1.0 + e)
    };
    let moments = steps.planes(|t, chunk| t.chunks[chunk].geometry_m, 11, n);
    for (id, values) in (0..).zip(&moments) {
        let logit = f64::from(model.logit_opacities[id as usize]);
        let slope = (entropy(logit + 1e-5) - entropy(logit - 1e-5)) / 2e-5;
        let share = f64::from(u.entropy_weight) / visible.len() as f64;
        let wanted = if visible.contains(&id) { share * slope } else { 0.0 };
        let found = f64::from(values[10] / (1.0 - u.beta1));
        assert!(
            (found - wanted).abs() <= 1e-3 * wanted.abs() + 1e-9,
            "{id}: {found}, not {wanted}"
        );
        assert!(values[..10].iter().all(|value| *value == 0.0), "{id}: {values:?}");
    }
}

/// Colours and moments in fewer bits take the same first step.
#[test]
fn storage_does_not_change_the_step() {
    let scene = Scene {
        sh_degree: 1,
        ..scene()
    };
    let model = scene.model();
    let n = model.len();
    let u = terms_alone(&scene, 1);
    let portable = variants(Reduction::Segmented);
    for sdf in [false, true] {
        let terms = DensityTerms { sdf, ..TERMS };
        let mut after = [Storage::Exact, Storage::Compact].into_iter().map(|storage| {
            let mut steps = Steps::new(&scene, terms, storage, &portable);
            steps.run(&model, &u, &scene.target());
            let values = steps.planes(|t, chunk| t.chunks[chunk].geometry, 11, n);
            values.concat().into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        });
        let exact = after.next().unwrap();
        for other in after {
            let apart = exact.iter().zip(&other).filter(|(a, b)| a != b).count();
            // Depths of a map follow colours of fewer bits nowhere, so that all that may differ is rounding.
            assert!(
                apart * 100 < exact.len(),
                "sdf {sdf}: {apart} of {} values",
                exact.len()
            );
        }
    }
}

/// Two runs make the same bytes; a step without the flag and one that stalled make nothing.
#[test]
fn terms_are_the_same_twice_and_only_where_they_are_asked_for() {
    let scene = scene();
    let model = scene.model();
    let n = model.len();
    let mut steps = Steps::new(&scene, TERMS, Storage::Exact, &variants(Reduction::Segmented));
    let mut u = terms_alone(&scene, 3);
    let bits = |steps: &mut Steps| -> Vec<u32> {
        let moments = steps.planes(|t, chunk| t.chunks[chunk].geometry_m, 11, n);
        moments.concat().into_iter().map(f32::to_bits).collect()
    };
    let first = steps.run(&model, &u, &scene.target());
    let once = bits(&mut steps);
    let second = steps.run(&model, &u, &scene.target());
    same("moments", &bits(&mut steps), &once);
    assert_eq!(first.density.to_bits(), second.density.to_bits());
    assert!(first.density > 0.0 && once.iter().any(|bits| *bits != 0));
    u.flags &= !flags::DENSITY;
    let without = steps.run(&model, &u, &scene.target());
    assert_eq!(
        (without.density, without.density_normals, without.loss),
        (0.0, 0.0, 0.0)
    );
    assert!(bits(&mut steps).iter().all(|bits| f32::from_bits(*bits) == 0.0));
    u.flags |= flags::DENSITY;
    let stalled = Counters {
        stalled: 2,
        gaussians: n as u32,
        ..Counters::default()
    };
    let counters = steps.tensors.shared.counters;
    steps.gpu.write(&counters, &[stalled]).unwrap();
    assert_eq!(steps.step(&u, &scene.target()).density, 0.0);
    assert!(bits(&mut steps).iter().all(|bits| f32::from_bits(*bits) == 0.0));
    assert_valid(steps.gpu.device());
}

#[test]
fn neighbours_know_whose_they_are() {
    let scene = scene();
    let mut model = scene.model();
    // A pile at one place: its first Gaussians are neighbours of all of it.
    model.means[100..300].fill([0.1, 0.2, 0.3]);
    let n = model.len();
    let k = TERMS.k as usize;
    let mut steps = Steps::new(&scene, TERMS, Storage::Exact, &variants(Reduction::Segmented));
    write_model(&mut steps.gpu, &steps.tensors, &model).unwrap();
    steps.gpu.run(&steps.find).unwrap();
    let near = nearest(&Frame::new(FRAME.0, FRAME.1), &model.means, k);
    let mut wanted = vec![Vec::new(); n];
    for (at, &id) in near.iter().enumerate().filter(|(_, id)| **id != NONE) {
        wanted[id as usize].push((at / k) as u32);
    }
    assert!(wanted.iter().any(|list| list.len() >= 200) && wanted.iter().any(Vec::is_empty));
    let of = steps.tensors.density.as_ref().unwrap().of;
    let found = |steps: &mut Steps| -> Vec<Vec<u32>> {
        let starts: Vec<u32> = steps.gpu.read(&of.starts, n + 1).unwrap();
        let ids: Vec<u32> = steps.gpu.read(&of.ids, n * k).unwrap();
        let list = |pair: &[u32]| ids[pair[0] as usize..pair[1] as usize].to_vec();
        starts.windows(2).map(list).collect()
    };
    same("whose neighbour each is", &found(&mut steps), &wanted);
    // From neighbours that are there already, as after a checkpoint.
    steps.gpu.write(&of.starts, &vec![7_u32; n + 1]).unwrap();
    steps.gpu.write(&of.ids, &vec![7_u32; n * k]).unwrap();
    steps.gpu.run(&steps.know).unwrap();
    same("the same once more", &found(&mut steps), &wanted);
    assert_valid(steps.gpu.device());
}

/// Six million with sixteen neighbours and a million samples: what is kept, and what a step takes in passing.
#[test]
fn terms_of_six_million_are_planned() {
    let n = 6_000_128;
    let terms = DensityTerms {
        samples: 1_000_000,
        k: 16,
        ..TERMS
    };
    let bytes = |density: Option<DensityTerms>| {
        let mut c = Capacities::new(n, n / 2, 2 * n, 3, [(1600, 1063)]);
        c.density = density;
        let mut table = TensorTable::default();
        let tensors = StepTensors::new(&mut table, &c, &variants(Reduction::Atomic));
        let step = train_step(&tensors);
        let find = find_neighbors(&tensors, &Frame::new(FRAME.0, FRAME.1));
        let programs: Vec<&Program> = [&step].into_iter().chain(&find).collect();
        let limits = PlanLimits {
            block_bytes: 4 * GIB,
            binding_bytes: 4 * GIB,
            rounding: BlockRounding::NONE,
        };
        let plan = Plan::new(&table, &programs, limits).unwrap();
        (plan.class_bytes(Class::Persistent), plan.class_bytes(Class::Arena))
    };
    let (without, with) = (bytes(None), bytes(Some(terms)));
    let (kept, passing) = (with.0 - without.0, with.1.saturating_sub(without.1));
    assert!(
        (132 * u64::from(n)..133 * u64::from(n)).contains(&kept),
        "{kept} bytes kept"
    );
    assert!(
        kept + passing <= 1_200_000_000,
        "{kept} bytes kept, {passing} more in passing"
    );
    assert_eq!(most_dense(16, 128 << 20), 1 << 21);
    assert_eq!(most_dense(1, 128 << 20), 1 << 23);
    assert_eq!(most_dense(16, u64::MAX), 1 << 25);
}
