//! Steps of triangles against their twins: picture, maxima, gradients, update; the same bytes twice and in bands.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod crowded;
mod rig;

use std::ops::ControlFlow;

use kiln::plan::triangles;
use kiln::step::{Capacities, ResidentImages, StepTensors, TriangleSizes, read_state, train_step, write_state};
use kiln_gaussians::triangles::{Limits, State, TriangleModel};
use kiln_kernels::counters::Counters;
use kiln_kernels::triangles::{TriangleUniforms, VertexChunk, flags, tile_px};
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::Reduction;
use kiln_program::{Span, TensorTable};
use kiln_scene::Camera;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu, Keep, assert_valid, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{BACKGROUND, RATES, uniforms};
use kiln_triangles::schedule::{Rates, Settings as Schedule, SplitRule};
use kiln_twins::adam::{Adam, GroupStep};
use kiln_twins::gaussian::View;
use kiln_twins::loss::{Weights, loss};
use kiln_twins::rng::uniform;
use kiln_twins::step::target_from_u8;
use kiln_twins::triangles::backward::{PixelGradient, backward};
use kiln_twins::triangles::normals::normals_loss;
use kiln_twins::triangles::rasterize::{Pixel, rasterize, scene};
use kiln_twins::triangles::update::{VertexTerms, gather, vertex_backward, vertex_terms};
use kiln_twins::triangles::{Gradient, Settings, VALUES, Vertex};
use rig::Banded;

/// 3 by 2 tiles, of which the right column and the bottom row are cut.
const SIZE: [u32; 2] = [43, 29];

fn a_scene() -> Scene {
    Scene {
        seed: 4,
        size: SIZE,
        focal: 44.0,
        opacities: [0.2, 0.95],
        spread: [1.5, 1.2, 1.5],
        ..Scene::default()
    }
}

/// Room for at least so many pairs of a triangle and a tile.
fn room(pairs: u32) -> impl Fn(&mut Capacities) {
    move |capacities| capacities.i_cap = capacities.i_cap.max(pairs)
}

fn tensors(
    table: &mut TensorTable,
    [n, triangles]: [usize; 2],
    degree: u32,
    change: impl Fn(&mut Capacities),
    exact: bool,
) -> StepTensors {
    let triangles = triangles as u32;
    let size = (SIZE[0], SIZE[1]);
    let mut capacities = Capacities::new(triangles, triangles, 0, degree, [size]);
    change(&mut capacities);
    capacities.list_tiles(tile_px(4), [size]);
    let sizes = TriangleSizes {
        vertices: n as u32,
        exact,
    };
    let kinds = variants(Reduction::Segmented);
    StepTensors::for_triangles(table, &capacities, sizes, &kinds, ResidentImages::default())
}

/// Vertices and triangles of a model.
fn counts(model: &TriangleModel) -> [usize; 2] {
    [model.positions.len(), model.triangles.len()]
}

const TERMS: VertexTerms = VertexTerms {
    opacity: 0.03,
    depth: 0.02,
    depth_most: 0.5,
};
const NORMALS: f32 = 0.05;

fn blocks(scene: &Scene, model: &TriangleModel, samples: u32) -> (StepUniforms, TriangleUniforms) {
    let own = TriangleUniforms {
        sigma: model.sigma,
        opacity_floor: model.floor,
        samples,
        flags: flags::MAXIMA,
        vertices: model.positions.len() as u32,
        opacity_weight: TERMS.opacity as f32,
        depth_weight: TERMS.depth as f32,
        depth_most: TERMS.depth_most as f32,
        normals_weight: NORMALS,
        ..TriangleUniforms::default()
    };
    let mut u = uniforms(&scene.camera(), model.degree, 1);
    u.list_tiles(tile_px(samples));
    (u, own)
}

fn settings(model: &TriangleModel, samples: u32, exact: bool) -> Settings {
    Settings {
        sigma: model.sigma.into(),
        opacity_floor: model.floor.into(),
        samples,
        sh_degree: model.degree,
        gradient: if exact { Gradient::Exact } else { Gradient::Published },
    }
}

/// Planes of the moments and values of every vertex: geometry, then colours.
fn planes(gpu: &mut Gpu, pick: impl Fn(&VertexChunk) -> [Span; 2], n: usize) -> Vec<f32> {
    let chunk = gpu.tensors.triangles.as_ref().unwrap().chunks[0];
    let stride = chunk.stride as usize;
    let [geometry, sh] = pick(&chunk);
    let planes: [Vec<f32>; 2] = [gpu.read(geometry, 4 * stride), gpu.read(sh, 48 * stride)];
    let rows = (0..n).flat_map(|i| {
        let value = |planes: &[f32], p: usize| planes[p * stride + i];
        let [geometry, sh] = &planes;
        (0..4)
            .map(|p| value(geometry, p))
            .chain((0..48).map(|p| value(sh, p)))
            .collect::<Vec<_>>()
    });
    rows.collect()
}

fn narrow(values: impl IntoIterator<Item = f64>) -> Vec<f32> {
    values.into_iter().map(|v| v as f32).collect()
}

#[test]
fn a_step_follows_the_twins() {
    let model = a_scene().triangles(5, 14);
    let (n, t) = (model.positions.len(), model.triangles.len());
    for (samples, exact, sigma) in [(1, false, 0.6), (2, true, 0.9), (3, false, 0.3)] {
        let what = |name: &str| format!("{name}, {samples} samples, exact: {exact}");
        let model = TriangleModel { sigma, ..model.clone() };
        let mut table = TensorTable::default();
        let tensors = tensors(&mut table, counts(&model), model.degree, room(2000), exact);
        let own = tensors.triangles.clone().unwrap();
        let (pixels, surface) = (tensors.pixels, tensors.pixels.surface.unwrap());
        let keeps = [
            (pixels.image, "triangle_rasterize"),
            (surface.plane, "triangle_rasterize"),
            (surface.depth, "triangle_rasterize"),
            (pixels.gradient, "loss_gradient"),
            (surface.gradient, "triangle_normals"),
            (own.terms.vertex_gradient, "triangle_gather"),
        ];
        let program = train_step(&tensors);
        let mut gpu = Gpu::of(table, tensors, program, |_| {
            keeps.map(|(view, after)| Keep { view, after }).to_vec()
        });
        write_state(&mut gpu.device, &gpu.tensors, &State::new(model.clone())).unwrap();
        let (u, block) = blocks(&a_scene(), &model, samples);
        gpu.write_behind(0, &block);
        let before = planes(&mut gpu, |c| [c.geometry, c.sh], n);
        let photo = a_scene().target();
        let status = gpu.run(0, &u, &photo);
        assert_eq!((status.stalled, status.skipped), (0, 0), "{}", what("status"));

        let s = settings(&model, samples, exact);
        let view = View::<f64>::new(&a_scene().camera());
        let vertices = Vertex::<f64>::from_model(&model);
        let drawn = scene(&vertices, &model.triangles, &view, &s);
        assert_eq!(status.visible as usize, drawn.facets.len());
        assert!(drawn.facets.len() > 25);
        let background = BACKGROUND.map(f64::from);
        let (wanted, importance) = rasterize(&drawn, &view, &s, background);
        let n_px = wanted.len();
        let image: Vec<[f32; 4]> = gpu.kept(keeps[0].0, keeps[0].1, n_px);
        let planes_found: Vec<[f32; 4]> = gpu.kept(keeps[1].0, keeps[1].1, n_px);
        let depths: Vec<[f32; 2]> = gpu.kept(keeps[2].0, keeps[2].1, n_px);
        let rows = |of: &dyn Fn(&Pixel<f64>) -> Vec<f64>| narrow(wanted.iter().flat_map(of));
        let image_wanted = rows(&|p| [&p.rgb[..], &[p.transmittance]].concat());
        close(&what("image"), image.as_flattened(), &image_wanted, 1e-5, 1e-5);
        let planes_wanted = rows(&|p| [&p.normal[..], &[p.depth]].concat());
        close(&what("planes"), planes_found.as_flattened(), &planes_wanted, 1e-5, 1e-5);
        let depths_wanted = rows(&|p| vec![p.median, p.depth]);
        close(&what("depths"), depths.as_flattened(), &depths_wanted, 1e-4, 1e-4);

        let found: Vec<f32> = gpu.read(own.topology.importance, t);
        let sizes: Vec<f32> = gpu.read(own.topology.size, t);
        let mut most = vec![0.0; t];
        let mut large = vec![0.0; t];
        for (facet, weight) in drawn.facets.iter().zip(&importance) {
            most[facet.id as usize] = *weight;
            large[facet.id as usize] = facet.size;
        }
        close(&what("importance"), &found, &narrow(most), 1e-5, 1e-5);
        same(&what("size"), &sizes, &narrow(large));

        // Gradients go on from those of the device's own losses, so that what differs is these passes'.
        let by_image: Vec<[f32; 4]> = gpu.kept(keeps[3].0, keeps[3].1, n_px);
        let by_surface: Vec<[f32; 4]> = gpu.kept(keeps[4].0, keeps[4].1, n_px);
        let (mean, by_normal) = normals_loss(&wanted, &view);
        let by_normal = by_normal
            .iter()
            .flat_map(|g| [g[0], g[1], g[2], 0.0].map(|v| v * f64::from(NORMALS)));
        close(
            &what("by normals"),
            by_surface.as_flattened(),
            &narrow(by_normal),
            1e-8,
            1e-4,
        );
        let pulls: Vec<PixelGradient<f64>> = by_image
            .iter()
            .zip(&by_surface)
            .map(|(c, n)| PixelGradient {
                rgb: [c[0], c[1], c[2]].map(f64::from),
                normal: [n[0], n[1], n[2]].map(f64::from),
                depth: n[3].into(),
                transmittance: 0.0,
            })
            .collect();
        let facets = backward(&drawn, &view, &s, background, &pulls);
        let mut sums = gather(n, &model.triangles, &drawn, &facets);
        let found: Vec<[f32; 8]> = gpu.kept(keeps[5].0, keeps[5].1, n);
        let part =
            |of: std::ops::Range<usize>| -> Vec<f32> { found.iter().flat_map(|g| g[of.clone()].to_vec()).collect() };
        let points = narrow(sums.iter().flat_map(|g| g.point));
        close(&what("by places"), &part(0..2), &points, 1e-6, 1e-3);
        close(
            &what("by depths"),
            &part(2..3),
            &narrow(sums.iter().map(|g| g.depth)),
            1e-6,
            1e-3,
        );
        close(
            &what("by opacities"),
            &part(3..4),
            &narrow(sums.iter().map(|g| g.opacity)),
            1e-6,
            1e-4,
        );
        close(
            &what("by colours"),
            &part(4..7),
            &narrow(sums.iter().flat_map(|g| g.rgb)),
            1e-7,
            1e-4,
        );

        let mut corners = vec![0; n];
        for v in model.triangles.iter().flatten() {
            corners[*v as usize] += 1;
        }
        let median: Vec<f64> = wanted.iter().map(|p| p.median).collect();
        let terms = vertex_terms(&drawn, &corners, &view, samples, &median, &TERMS, &mut sums);
        let rgb: Vec<[f64; 3]> = wanted.iter().map(|p| p.rgb).collect();
        let photometric = loss(SIZE, &rgb, &target_from_u8(&photo), Weights::default());
        let total = photometric.total + f64::from(NORMALS) * mean + terms;
        assert!(
            (f64::from(status.loss) - total).abs() < 1e-4 * total,
            "{} {total}",
            status.loss
        );
        assert!((f64::from(status.normals) - mean).abs() < 1e-4 * mean);

        let gradients: Vec<f64> = vertices
            .iter()
            .zip(&drawn.projected)
            .zip(&sums)
            .flat_map(|((vertex, seen), g)| vertex_backward(vertex, seen, g, &view, &s).values())
            .collect();
        let first = planes(&mut gpu, |c| [c.geometry_m, c.sh_m], n);
        let second = planes(&mut gpu, |c| [c.geometry_v, c.sh_v], n);
        for (name, from, to, limit) in [
            ("position", 0, 3, 1e-3),
            ("weight", 3, 4, 1e-3),
            ("colour", 4, VALUES, 1e-3),
        ] {
            let of =
                |values: &[f32]| -> Vec<f32> { values.chunks(VALUES).flat_map(|row| row[from..to].to_vec()).collect() };
            let wanted: Vec<f32> = narrow(gradients.iter().map(|g| 0.1 * g));
            close(&what(name), &of(&first), &of(&wanted), 1e-5, limit);
        }
        let adam = Adam::default();
        let after = planes(&mut gpu, |c| [c.geometry, c.sh], n);
        let groups = [
            (0, 3, RATES[0]),
            (3, 4, RATES[3]),
            (4, 7, RATES[4]),
            (7, VALUES, RATES[5]),
        ];
        for (from, to, rate) in groups {
            let factors = adam.factors::<f32>(GroupStep { rate, step: 1 });
            for i in (0..n).flat_map(|v| (from..to).map(move |p| VALUES * v + p)) {
                let change = factors.step_size * first[i] / (factors.second_scale * second[i].sqrt() + factors.eps);
                assert!((before[i] - change - after[i]).abs() < 1e-5, "{} {i}", what("update"));
            }
        }
        let numbers = [model.floor, model.sigma];
        let read = read_state(&mut gpu.device, &gpu.tensors, n as u32, numbers).unwrap();
        assert_eq!(read.model.triangles, model.triangles);
        assert_eq!(
            read.model.weights,
            after.chunks(VALUES).map(|row| row[3]).collect::<Vec<_>>()
        );
        for (plane, moments) in read.moments[8 + 48..].iter().enumerate() {
            let wanted: Vec<f32> = second.chunks(VALUES).map(|row| row[4 + plane]).collect();
            assert_eq!(*moments, wanted);
        }
        // What was read is what training goes on from, to the bit.
        write_state(&mut gpu.device, &gpu.tensors, &read).unwrap();
        assert_eq!(
            read_state(&mut gpu.device, &gpu.tensors, n as u32, numbers).unwrap(),
            read
        );
        gpu.assert_valid();
    }
}

#[test]
fn bands_and_second_runs_give_the_same_bytes() {
    let model = a_scene().triangles(5, 14);
    let mut rig = Banded::new(&model, 2000);
    let whole = rig.train(&model, 3, &[]);
    same("the same twice", &rig.train(&model, 3, &[]), &whole);
    assert_ne!(rig.train(&model, 2, &[]), whole);
    for firsts in [&[0, 3][..], &[0, 1, 2, 3, 4, 5], &[0, 4], &[0, 2, 2, 5]] {
        same(&format!("bands {firsts:?}"), &rig.train(&model, 3, firsts), &whole);
    }
    assert_valid(rig.gpu.device());
}

/// Steps with more pairs than there is room for stall, change nothing, and are done again in bands.
#[test]
fn steps_that_do_not_fit_give_the_same_bytes_in_bands() {
    let model = a_scene().triangles(9, 110);
    let mut roomy = Banded::new(&model, 4000);
    let whole = roomy.train(&model, 3, &[]);
    assert_eq!(roomy.stalled, 0);
    drop(roomy);
    let mut tight = Banded::new(&model, 0);
    same("in bands", &tight.train(&model, 3, &[]), &whole);
    assert!(tight.stalled > 0);
    assert_valid(tight.gpu.device());
    drop(tight);
    // A band may have fewer pairs than there are records.
    let mut short = Banded::short_of_pairs(&model, 192);
    same("in small bands", &short.train(&model, 3, &[]), &whole);
    assert!(short.stalled > 0);
    assert_valid(short.gpu.device());
}

/// A picture keeps no maxima, and a view without triangles is its background.
#[test]
fn pictures_leave_the_model_alone() {
    let model = a_scene().triangles(5, 14);
    let mut rig = Banded::new(&model, 2000);
    write_state(&mut rig.gpu, &rig.tensors, &State::new(model.clone())).unwrap();
    let draw = |rig: &mut Banded, camera: &Camera| -> Vec<[f32; 4]> {
        let (mut u, mut block) = blocks(&a_scene(), &model, 2);
        u = StepUniforms {
            iteration: 7,
            ..uniforms(camera, u.sh_degree, 1)
        };
        u.list_tiles(tile_px(block.samples));
        block.flags = 0;
        let rings = rig.tensors.rings;
        rig.put(
            &rings.uniforms,
            &[bytemuck::bytes_of(&u), bytemuck::bytes_of(&block)].concat(),
        );
        rig.put(&rings.images, &a_scene().target());
        rig.gpu.run(&rig.drawn).unwrap();
        rig.gpu
            .read(&rig.tensors.pixels.image, (SIZE[0] * SIZE[1]) as usize)
            .unwrap()
    };
    let mut behind = a_scene().camera();
    behind.translation[2] = -20.0;
    let empty = draw(&mut rig, &behind);
    let [r, g, b] = BACKGROUND;
    assert!(empty.iter().all(|pixel| *pixel == [r, g, b, 1.0]));
    let seen = draw(&mut rig, &a_scene().camera());
    assert!(seen.iter().filter(|pixel| **pixel != empty[0]).count() > 100);
    let own = rig.tensors.triangles.clone().unwrap();
    for view in [own.topology.importance, own.topology.size] {
        let kept: Vec<u32> = rig.gpu.read(&view, model.triangles.len()).unwrap();
        assert!(kept.iter().all(|word| *word == 0));
    }
    let n = model.positions.len() as u32;
    let read = read_state(&mut rig.gpu, &rig.tensors, n, [model.floor, model.sigma]).unwrap();
    assert_eq!(read, State::new(model));
    assert_valid(rig.gpu.device());
}

/// A value that is no number stalls the step, and nothing of it remains. A view that shows nothing is a step all the same.
#[test]
fn a_stalled_step_leaves_the_model_alone() {
    let mut model = a_scene().triangles(5, 14);
    for (shift, stall) in [(0.0, 3), (4.0e4, 0)] {
        model.sh0[12][1] = if stall == 3 { f32::NAN } else { 0.2 };
        let mut table = TensorTable::default();
        let tensors = tensors(&mut table, counts(&model), model.degree, room(2000), false);
        let mut gpu = Gpu::of(table, tensors.clone(), train_step(&tensors), |_| Vec::new());
        write_state(&mut gpu.device, &gpu.tensors, &State::new(model.clone())).unwrap();
        let (mut u, block) = blocks(&a_scene(), &model, 1);
        u.intrinsics[2] += shift;
        gpu.write_behind(0, &block);
        let before = planes(&mut gpu, |c| [c.geometry, c.sh], model.positions.len());
        let status = gpu.run(0, &u, &a_scene().target());
        assert_eq!(status.stalled, stall);
        let after = planes(&mut gpu, |c| [c.geometry, c.sh], model.positions.len());
        let equal = before.iter().zip(&after).all(|(a, b)| a.to_bits() == b.to_bits());
        assert_eq!(equal, stall != 0);
        gpu.assert_valid();
    }
}

/// Events every six iterations, in a run of 24.
fn schedule() -> Schedule {
    Schedule {
        iterations: 24,
        every: 6,
        split: [2, 16],
        splitting: SplitRule {
            growth: 1.2,
            largest: 1,
            least_area: 0.0,
        },
        prune_from: 8,
        prune_opacity: 0.05,
        prune_views: 0,
        floor: [10, 200],
        connect: false,
        sigma: [1.0, 0.6],
        supersample: vec![(16, 2)],
        degree_every: 8,
        rates: Rates {
            color: 0.05,
            ..Schedule::outdoor().rates
        },
        ..Schedule::outdoor()
    }
}

/// A grey model learns a picture through prunings, splits and rises of the floor; what was read after half of them goes on to the
/// same bytes.
#[test]
fn training_goes_through_events_and_on_from_its_state() {
    let truth = a_scene().triangles(5, 14);
    let settings = schedule();
    let most = [truth.positions.len() + 12, 400];
    let mut rig = Banded::with_room(most, truth.degree, 4000);
    let rings = rig.tensors.rings;
    let camera = a_scene().camera();
    write_state(&mut rig.gpu, &rig.tensors, &State::new(truth.clone())).unwrap();
    let mut picture = StepUniforms::for_camera(&camera, BACKGROUND, 0.0);
    picture.list_tiles(tile_px(settings.supersample_at(1)));
    let shown = TriangleUniforms {
        flags: 0,
        ..triangles::block(&settings, 1, truth.positions.len() as u32, truth.floor)
    };
    rig.put(
        &rings.uniforms,
        &[bytemuck::bytes_of(&picture), bytemuck::bytes_of(&shown)].concat(),
    );
    rig.gpu.run(&rig.drawn).unwrap();
    let image: Vec<[f32; 4]> = rig
        .gpu
        .read(&rig.tensors.pixels.image, (SIZE[0] * SIZE[1]) as usize)
        .unwrap();
    let bytes = image
        .iter()
        .flat_map(|p| [p[0], p[1], p[2]].map(|v| (255.0 * v.clamp(0.0, 1.0)) as u8));
    rig.put(&rings.images, &bytes.collect::<Vec<_>>());

    let mut model = truth;
    model.sh0.fill([0.0; 3]);
    model.sh_rest.fill(0.0);
    model.floor = 0.0;
    let limits = Limits {
        vertices: most[0] as u32,
        triangles: most[1] as u32,
        memory_bytes: 1 << 28,
        orient: true,
    };
    let (mut losses, mut events) = (Vec::new(), [0; 3]);
    let mut train = |rig: &mut Banded, start: State, iterations: std::ops::RangeInclusive<u32>| {
        let mut state = start;
        write_state(&mut rig.gpu, &rig.tensors, &state).unwrap();
        for iteration in iterations {
            let mut u = picture;
            u.weights[..2].copy_from_slice(&[0.8, 0.2]);
            triangles::train(&mut u, &settings, iteration, iteration);
            let block = triangles::block(
                &settings,
                iteration,
                state.model.positions.len() as u32,
                state.model.floor,
            );
            assert_eq!(state.model.floor, settings.floor_at(iteration));
            rig.put(
                &rings.uniforms,
                &[bytemuck::bytes_of(&u), bytemuck::bytes_of(&block)].concat(),
            );
            rig.gpu.run(&rig.whole).unwrap();
            let counters: Vec<Counters> = rig.gpu.read(&rig.tensors.shared.counters, 1).unwrap();
            assert_eq!(counters[0].stall(), None);
            losses.push(counters[0].loss);
            let after = settings.after(iteration, 1);
            if after.prune.is_some() || after.split.is_some() || after.floor.is_some() {
                let (n, numbers) = (state.model.positions.len() as u32, [state.model.floor, 0.0]);
                state = read_state(&mut rig.gpu, &rig.tensors, n, numbers).unwrap();
                let draw = |id| uniform::<f32>(1, iteration, id, 0);
                let changes = state
                    .apply(&after, &limits, draw, &mut |_| ControlFlow::Continue(()))
                    .unwrap();
                events[0] += changes.pruned[0];
                events[1] += changes.split[1];
                events[2] += usize::from(after.floor.is_some());
                assert!(state.model.positions.len() <= most[0]);
                write_state(&mut rig.gpu, &rig.tensors, &state).unwrap();
            }
        }
        let n = state.model.positions.len() as u32;
        read_state(&mut rig.gpu, &rig.tensors, n, [state.model.floor, 0.0]).unwrap()
    };
    let half = train(&mut rig, State::new(model), 1..=12);
    let whole = train(&mut rig, half.clone(), 13..=24);
    let again = train(&mut rig, half, 13..=24);
    assert!(whole == again, "the same from its state");
    assert!(events[1] > 0 && events[2] > 0, "{events:?}");
    let [first, last] = [losses[0], losses[23]];
    assert!(last < 0.8 * first, "{losses:?}");
    assert_valid(rig.gpu.device());
}
