//! Kernels outside the step's main line: metrics, the 3D filter, the opacity reset, moving a model in and out.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::step::{Capacities, evaluate_view};
use kiln_gpu::memory::Gpu as Device;
use kiln_kernels::counters::Args;
use kiln_kernels::filter_3d::{self, FilterCamera, FilterIo};
use kiln_kernels::histogram::{self, BINS, BYTES, Quantity};
use kiln_kernels::swaths::Swaths;
use kiln_kernels::uniforms::{StepUniforms, TILE_PX};
use kiln_kernels::views::{Pixels, Reduction, Shared};
use kiln_kernels::{loss, opacity_reset, prepare_args};
use kiln_program::{Class, Program, Tag, TensorTable, fold_groups};
use kiln_scene::{Camera, DEFAULT_NEAR_Z};
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu, Keep, assert_valid, open, variants};
use kiln_tests::scenes::{Scene, fisheye};
use kiln_tests::twin::{BACKGROUND, Twin, uniforms};
use kiln_twins::adam::Moments;
use kiln_twins::gaussian::{Gaussian, View as Eye};
use kiln_twins::{
    filter_3d as filter_twin, histogram as histogram_twin, metrics as metrics_twin, opacity_reset as reset_twin,
};

const CEILING: f32 = 0.01;

fn capacities(scene: &Scene) -> Capacities {
    let sizes = [(scene.size[0], scene.size[1]); 6];
    let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, sizes);
    c.chunk = 256;
    c
}

/// Eight sums a tile to (psnr, psnr_image, ssim, ssim inside the border).
fn figures(sums: &[[f32; 8]], [w, h]: [u32; 2]) -> [f64; 4] {
    let total = |i: usize| -> f64 { sums.iter().map(|s| f64::from(s[i])).sum() };
    let n = f64::from(w * h);
    let psnr = |mse: f64| -10.0 * mse.log10();
    let squared = [total(3), total(4), total(5)];
    [
        squared.iter().map(|s| psnr(s / n)).sum::<f64>() / 3.0,
        psnr(squared.iter().sum::<f64>() / (3.0 * n)),
        total(1) / (3.0 * n),
        total(2) / (3.0 * f64::from((w - 10) * (h - 10))),
    ]
}

#[test]
fn recorded_image_pairs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/metrics");
    let text = std::fs::read_to_string(folder.join("golden.json")).expect("golden.json");
    let golden: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let pairs = golden["pairs"].as_object().expect("pairs");
    let device = open();
    for (name, wanted) in pairs {
        let read = |kind: &str| {
            let path = folder.join(format!("pair_{name}_{kind}.png"));
            image::open(path).expect("PNG").to_rgb8()
        };
        let (found, target) = (read("pred"), read("gt"));
        let size = [found.width(), found.height()];
        let tiles = size[0].div_ceil(TILE_PX) * size[1].div_ceil(TILE_PX);
        let mut table = TensorTable::default();
        let mut small = |name: &str, bytes: u32| table.add(name, Class::Small, Tag::Other, u64::from(bytes));
        let uniforms = small("uniforms", size_of::<StepUniforms>() as u32);
        let shared = Shared {
            uniforms,
            rates: uniforms,
            counters: small("counters", 256),
            args: small("args", Args::table_bytes(1) as u32),
            lens: 0,
        };
        let unused = small("unused", 4);
        let pixels = Pixels {
            image: small("image", 16 * size[0] * size[1]),
            last_contributor: unused,
            gradient: unused,
            target: small("target", 3 * size[0] * size[1]),
            masked: false,
            scores: false,
            statistic: true,
            swaths: Swaths::whole(size[0] * size[1]),
            surface: None,
        };
        let sums = small("sums", 4 * tiles * loss::METRIC_WORDS);
        let mut program = Program::new("metrics");
        loss::record_metrics(&mut program, &shared, &pixels, sums);
        let mut gpu = Device::new(&device, table, &[&program], 1 << 30).expect("memory");
        let camera = Camera {
            width_px: size[0],
            height_px: size[1],
            ..Scene::default().camera()
        };
        let u = StepUniforms::for_camera(&camera, BACKGROUND, 0.1);
        gpu.write(&shared.uniforms, &[u]).expect("upload");
        gpu.write(&shared.counters, &[0u32; 64]).expect("upload");
        let slot = shared.args.slice(16 * u64::from(Args::Tiles.slot()), 16);
        gpu.write(&slot, &fold_groups(tiles)).expect("upload");
        let rgba: Vec<[f32; 4]> = found
            .pixels()
            .map(|p| {
                [
                    f32::from(p.0[0]) / 255.0,
                    f32::from(p.0[1]) / 255.0,
                    f32::from(p.0[2]) / 255.0,
                    0.0,
                ]
            })
            .collect();
        gpu.write(&pixels.image, &rgba).expect("upload");
        gpu.write(&pixels.target, target.as_raw()).expect("upload");
        gpu.run(&program).expect("metrics");
        let sums: Vec<[f32; 8]> = gpu.read(&sums, tiles as usize).expect("download");
        let keys = [
            ("psnr", 1e-3),
            ("psnr_image", 1e-3),
            ("ssim", 2e-5),
            ("ssim_valid", 2e-5),
        ];
        for ((key, tolerance), value) in keys.into_iter().zip(figures(&sums, size)) {
            let reference = wanted[key].as_f64().expect("number");
            assert!(
                (value - reference).abs() < tolerance,
                "{name} {key}: {value}, not {reference}"
            );
        }
    }
    assert_valid(&device);
}

#[test]
fn metrics_of_a_rendered_view() {
    let scene = Scene {
        seed: 31,
        size: [70, 45],
        ..Scene::default()
    };
    let variants = variants(Reduction::Segmented);
    let mut gpu = Gpu::new(
        &capacities(&scene),
        &variants,
        |t| evaluate_view(t, &[]),
        |t| {
            vec![
                Keep {
                    view: t.metric_sums,
                    after: "ssim_maps.metrics",
                },
                Keep {
                    view: t.pixels.image,
                    after: "rasterize.column",
                },
            ]
        },
    );
    let mut model = scene.model();
    for colour in &mut model.sh0 {
        // Some pixels leave [0, 1] and must be clamped.
        colour[0] += 2.0;
    }
    gpu.load(&model);
    let before = gpu.state_bytes(model.len());
    let target = scene.target();
    let status = gpu.run(2, &uniforms(&scene.camera(), 3, 1), &target);
    assert_eq!(status.stalled, 0);
    let n = (scene.size[0] * scene.size[1]) as usize;
    let image: Vec<[f32; 4]> = gpu.kept(gpu.tensors.pixels.image, "rasterize.column", n);
    let rgb: Vec<[f32; 3]> = image.iter().map(|p| [p[0], p[1], p[2]]).collect();
    assert!(rgb.iter().any(|p| p[0] > 1.0));
    let target = kiln_twins::step::target_from_u8::<f32>(&target);
    let wanted = metrics_twin::metrics(scene.size, &rgb, &target);
    let sums: Vec<[f32; 8]> = gpu.kept(gpu.tensors.metric_sums, "ssim_maps.metrics", 15);
    let found = figures(&sums, scene.size);
    let wanted = [
        wanted.psnr,
        wanted.psnr_image,
        wanted.ssim,
        wanted.ssim_valid.expect("large enough"),
    ];
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
    }
    same("state", &gpu.state_bytes(model.len()), &before);
    gpu.assert_valid();
}

#[test]
fn metrics_of_a_masked_photo() {
    let scene = Scene {
        seed: 33,
        size: [70, 45],
        ..Scene::default()
    };
    let mut c = capacities(&scene);
    c.masked = true;
    let variants = variants(Reduction::Segmented);
    let (sums, image) = ("ssim_maps.metrics", "rasterize.column");
    let keep = |view, after| Keep { view, after };
    let mut gpu = Gpu::new(
        &c,
        &variants,
        |t| evaluate_view(t, &[]),
        |t| vec![keep(t.metric_sums, sums), keep(t.pixels.image, image)],
    );
    gpu.load(&scene.model());
    let status = gpu.run(1, &uniforms(&scene.camera(), 3, 1), &scene.masked_target());
    assert_eq!(status.stalled, 0);
    let n = (scene.size[0] * scene.size[1]) as usize;
    let image: Vec<[f32; 4]> = gpu.kept(gpu.tensors.pixels.image, image, n);
    let rgb: Vec<[f32; 3]> = image.iter().map(|p| [p[0], p[1], p[2]]).collect();
    let target = kiln_twins::step::target_from_u8::<f32>(&scene.target());
    let wanted = metrics_twin::masked_metrics(scene.size, &rgb, &target, &scene.mask());
    let sums: Vec<f32> = gpu.kept(gpu.tensors.metric_sums, sums, 15 * 8);
    let found = kiln::eval::view_metrics(&sums, scene.size, true).expect("sums of this size");
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-4, "{found}, not {wanted}");
    close(found.l1, wanted.l1);
    close(found.psnr, wanted.psnr);
    close(found.psnr_image, wanted.psnr_image);
    close(found.ssim, wanted.ssim);
    close(found.ssim_valid.expect("large"), wanted.ssim_valid.expect("large"));
    let whole = metrics_twin::metrics(scene.size, &rgb, &target);
    assert!((whole.psnr - wanted.psnr).abs() > 1e-3, "the mask changes the figures");
    gpu.assert_valid();
}

/// A sample holds every k-th Gaussian with its constant colour, widened for those left out.
#[test]
fn a_sample_is_every_kth_gaussian() {
    let scene = Scene {
        seed: 35,
        count: 700,
        ..Scene::default()
    };
    let c = capacities(&scene);
    let mut gpu = Gpu::new(
        &c,
        &variants(Reduction::Segmented),
        |t| evaluate_view(t, &[]),
        |_| Vec::new(),
    );
    let model = scene.model();
    gpu.load(&model);
    for (most, every) in [(1000, 1), (700, 1), (699, 2), (100, 7)] {
        let (sample, n) = gpu.sample(most);
        assert_eq!((n as usize, sample.sh_degree), (model.len(), 0));
        let ids: Vec<usize> = (0..model.len()).step_by(every).collect();
        assert_eq!(sample.len(), ids.len());
        let wider = 0.5 * (every as f32).ln();
        for (at, id) in ids.into_iter().enumerate() {
            assert_eq!(sample.means[at], model.means[id]);
            assert_eq!(sample.quats[at], model.quats[id]);
            assert_eq!(sample.sh0[at], model.sh0[id]);
            assert_eq!(sample.logit_opacities[at], model.logit_opacities[id]);
            assert_eq!(sample.filter_3d[at], model.filter_3d[id]);
            assert_eq!(sample.log_scales[at], model.log_scales[id].map(|log| log + wider));
        }
        assert!(sample.sh_rest.is_empty());
    }
    gpu.assert_valid();
}

#[test]
fn smoothing_filter() {
    let scene = Scene {
        seed: 32,
        count: 700,
        spread: [9.0, 9.0, 9.0],
        ..Scene::default()
    };
    let cameras: Vec<Camera> = (0..6u8)
        .map(|i| {
            let mut camera = scene.camera();
            camera.translation[2] = 1.0 + f32::from(i);
            camera.fx += f32::from(i);
            camera.cx += 3.0;
            camera.lens = (i == 4).then(|| fisheye(1.7));
            camera
        })
        .collect();
    let f_max = cameras.iter().map(|c| c.fx).fold(0.0, f32::max);
    for used in [0, 1, 6] {
        let mut gpu = Gpu::new(
            &capacities(&scene),
            &variants(Reduction::Segmented),
            |t| {
                let mut program = Program::new("filter");
                prepare_args::record(&mut program, &t.shared, &t.chunks);
                let io = FilterIo {
                    cameras: t.filter.cameras,
                    camera_count: used as u32,
                    max_focal_px: f_max,
                    farthest: t.filter.farthest,
                };
                filter_3d::record(&mut program, &t.shared, &t.chunks, &io);
                program
            },
            |_| Vec::new(),
        );
        let model = scene.model();
        gpu.load(&model);
        let list: Vec<FilterCamera> = cameras
            .iter()
            .map(|camera| kiln::step::filter_camera(camera, DEFAULT_NEAR_Z))
            .collect();
        let view = gpu.tensors.filter.cameras;
        gpu.device.write(&view, &list).expect("upload");
        gpu.run(0, &uniforms(&cameras[0], 3, 1), &[]);
        let found = gpu.model().filter_3d;
        let eyes: Vec<Eye<f32>> = cameras[..used].iter().map(Eye::new).collect();
        let mut wanted = filter_twin::filter_3d(&model.means, &eyes);
        if used == 1 {
            // The kernel takes the focal length; the reference takes the largest of its own cameras.
            wanted.iter_mut().for_each(|f| *f *= cameras[0].fx / f_max);
        }
        close(&format!("filter of {used} cameras"), &found, &wanted, 1e-6, 1e-5);
        gpu.assert_valid();
    }
}

#[test]
fn opacities_after_a_reset() {
    let scene = Scene {
        seed: 33,
        count: 700,
        opacities: [0.001, 0.9999],
        ..Scene::default()
    };
    let mut gpu = Gpu::new(
        &capacities(&scene),
        &variants(Reduction::Segmented),
        |t| {
            let mut program = Program::new("reset");
            prepare_args::record(&mut program, &t.shared, &t.chunks);
            opacity_reset::record(&mut program, &t.shared, &t.chunks, CEILING);
            program
        },
        |_| Vec::new(),
    );
    let mut model = scene.model();
    for (i, logit) in model.logit_opacities.iter_mut().enumerate() {
        *logit = match i % 5 {
            0 => -4.0 - 0.01 * i as f32,
            1 => 40.0,
            _ => *logit,
        };
    }
    // Factors of the filter from 0 to 1: scales that vanish with and without a filter, and filters that do.
    for (i, (log_scale, filter)) in std::iter::zip(&mut model.log_scales, &mut model.filter_3d).enumerate() {
        match i % 11 {
            3 => *log_scale = [-60.0; 3],
            5 => (*log_scale, *filter) = ([-60.0; 3], 0.0),
            7 => *filter = 1e-30,
            9 => *filter = 1e6,
            _ => {}
        }
    }
    gpu.load(&model);
    let n = model.len();
    for chunk in gpu.tensors.chunks.clone() {
        let ones = vec![1.5_f32; (chunk.geometry_m.bytes / 4) as usize];
        gpu.device.write(&chunk.geometry_m, &ones).expect("upload");
        gpu.device.write(&chunk.geometry_v, &ones).expect("upload");
    }
    gpu.run(0, &uniforms(&scene.camera(), 3, 1), &[]);
    let mut gaussians: Vec<Gaussian<f32>> = Twin::new(&model).gaussians;
    let mut moments = vec![Moments::ZERO; n];
    reset_twin::opacity_reset(&mut gaussians, &model.filter_3d, &mut moments);
    let after = gpu.model();
    let wanted: Vec<f32> = gaussians.iter().map(|g| g.logit_opacity).collect();
    close("logits", &after.logit_opacities, &wanted, 1e-5, 1e-5);
    assert!(after.logit_opacities.iter().all(|logit| logit.is_finite()));
    let kept = (0..n).filter(|i| wanted[*i] == model.logit_opacities[*i]).count();
    assert!(kept > 50);
    for (i, wanted) in wanted.iter().enumerate() {
        if *wanted == model.logit_opacities[i] {
            assert_eq!(
                after.logit_opacities[i].to_bits(),
                wanted.to_bits(),
                "Gaussian {i} was below"
            );
        }
    }
    assert_eq!(
        kiln_gaussians::Gaussians {
            logit_opacities: model.logit_opacities.clone(),
            ..after
        },
        model
    );
    for planes in [gpu.planes(|c| c.geometry_m, 11, n), gpu.planes(|c| c.geometry_v, 11, n)] {
        assert!(planes.iter().all(|v| v[..10].iter().all(|m| *m == 1.5) && v[10] == 0.0));
    }
    gpu.assert_valid();
}

/// Every bin holds the twin's count, give or take the values so close to an edge that the last bits of an exponential
/// or a square root decide.
#[test]
fn histograms_count_every_gaussian() {
    let scene = Scene {
        seed: 35,
        count: 700,
        sh_degree: 0,
        ..Scene::default()
    };
    let mut model = scene.model();
    let n = model.len();
    for i in 0..n {
        let t = i as f32 / n as f32;
        model.logit_opacities[i] = 16.0 * t - 8.0;
        model.log_scales[i] = [12.0 * t - 15.0, 20.0 * t - 10.0, -40.0 * t];
        model.quats[i] = [0.02 + 20.0 * t * t, 0.1, -t, 0.5 * t];
        model.means[i] = [40.0 * t, 1e3 * t * t, -3.0 * t];
    }
    // In the middle of their bins there is nothing to give or take.
    let middle = |quantity: Quantity, bin: usize| {
        let edges = quantity.edges();
        (0.5 * (edges[bin] + edges[bin + 1])) as f32
    };
    for bin in 0..BINS {
        let p = middle(Quantity::Opacity, bin);
        model.logit_opacities[bin] = (p / (1.0 - p)).ln();
        model.log_scales[bin] = [middle(Quantity::Scale, bin).ln(); 3];
        model.quats[bin] = [0.0, middle(Quantity::Rotation, bin), 0.0, 0.0];
        model.means[bin] = [0.0, 0.0, -middle(Quantity::Distance, bin)];
    }
    model.log_scales[BINS] = [f32::NAN, 200.0, -200.0];
    let gaussians = Gaussian::<f32>::from_model(&model);
    let wanted = histogram_twin::histogram(&gaussians);
    let mut unsure = [[0u32; BINS]; 4];
    for gaussian in &gaussians {
        for quantity in Quantity::ALL {
            for value in histogram_twin::values(gaussian, quantity) {
                let bins = [1.0 - 1e-5, 1.0, 1.0 + 1e-5].map(|f| histogram_twin::bin(quantity, value * f));
                if bins[0] != bins[2] {
                    bins.into_iter()
                        .flatten()
                        .for_each(|b| unsure[quantity as usize][b] += 1);
                }
            }
        }
    }
    let mut counted = None;
    let mut gpu = Gpu::new(
        &capacities(&scene),
        &variants(Reduction::Segmented),
        |t| {
            let mut program = Program::new("histogram");
            let words = t.splats.gradient_a.slice(0, BYTES);
            counted = Some(words);
            prepare_args::record(&mut program, &t.shared, &t.chunks);
            histogram::record(&mut program, &t.shared, &t.chunks, words);
            program
        },
        |t| {
            vec![Keep {
                view: t.splats.gradient_a.slice(0, BYTES),
                after: "histogram",
            }]
        },
    );
    gpu.load(&model);
    gpu.run(0, &uniforms(&scene.camera(), 3, 1), &[]);
    let words: Vec<u32> = gpu.kept(counted.expect("a view"), "histogram", 4 * BINS);
    for (q, quantity) in Quantity::ALL.into_iter().enumerate() {
        let found = &words[q * BINS..(q + 1) * BINS];
        assert_eq!(found.iter().sum::<u32>(), wanted[q].iter().sum::<u32>(), "{quantity:?}");
        for bin in 0..BINS {
            let difference = found[bin].abs_diff(wanted[q][bin]);
            assert!(difference <= unsure[q][bin], "{quantity:?} bin {bin}: {difference}");
            assert!(found[bin] > 0, "{quantity:?} bin {bin} is empty");
        }
        assert!(unsure[q].iter().sum::<u32>() < 12, "{quantity:?}");
    }
    gpu.assert_valid();
}

#[test]
fn models_come_back_as_they_went() {
    for sh_degree in 0..=3 {
        let scene = Scene {
            seed: 34,
            count: 600,
            sh_degree,
            ..Scene::default()
        };
        let mut gpu = Gpu::training(&capacities(&scene), &variants(Reduction::Segmented));
        gpu.load(&scene.model());
        assert_eq!(gpu.model(), scene.model());
        // A smaller model leaves nothing of the larger one behind.
        let few = Scene { count: 3, ..scene };
        gpu.load(&few.model());
        assert_eq!(gpu.model(), few.model());
        let all = gpu.planes(|c| c.geometry, 11, 600);
        assert!(all[3..].iter().flatten().all(|v| *v == 0.0));
        gpu.assert_valid();
    }
}
