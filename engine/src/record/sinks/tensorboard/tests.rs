#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::eval::LpipsRange;
use crate::eval::{NamedView, Spread};
use crate::record::events::{Capacities, EventRow, Stage, Start};
use kiln_gpu::vk::GpuSample;
use kiln_kernels::histogram::BINS;
use kiln_scene::{Photo, Split};
use kiln_scratch::Scratch;

// The tests of whole runs use it too, and there it is public.
#[expect(unreachable_pub, reason = "one file in two crates")]
#[path = "../../../../../tests/src/tfevents.rs"]
mod tfevents;

use tfevents::{Value, What, of_tag, read, tags};

const NAME: &str = "events.out.tfevents.1750000000.host.7.0";

fn stamp() -> Stamp {
    Stamp {
        unix: Duration::from_secs(1_750_000_000),
        host: "host".to_owned(),
        process: 7,
    }
}

struct Rig {
    folder: Scratch,
    sink: Tensorboard,
}

impl Rig {
    fn new(from: u32) -> Self {
        Self::of(Primitive::Gaussians, from)
    }

    fn of(primitive: Primitive, from: u32) -> Self {
        let folder = Scratch::new();
        let options = TensorboardOptions::default();
        let mut sink = Tensorboard::create(folder.path(), &options, 16, &stamp()).unwrap();
        let capacities = Capacities {
            n_cap: 1,
            v_cap: 1,
            i_cap: 1,
        };
        let start = Start {
            primitive,
            stage: Stage::Train,
            from,
            iterations: 1005,
            cap_bytes: 1,
            capacities,
        };
        sink.take(&RunEvent::Start(start), Duration::ZERO).unwrap();
        Self { folder, sink }
    }

    fn tell(&mut self, event: RunEvent) {
        self.sink.take(&event, Duration::from_millis(2500)).unwrap();
    }

    fn on_disk(&self) -> Vec<tfevents::Event> {
        let bytes = fs::read(self.folder.path().join(self.sink.file_name())).unwrap();
        read(&bytes).unwrap()
    }

    fn events(&mut self) -> Vec<tfevents::Event> {
        self.sink.flush().unwrap();
        self.on_disk()
    }
}

fn train(it: u32) -> RunEvent {
    RunEvent::Train(TrainRow {
        it,
        loss: 0.5,
        l1: 0.25,
        normals: None,
        density: None,
        density_normals: None,
        neighbour_geometry: None,
        neighbour_photometric: None,
        gaussians: 7500,
        triangles: None,
        vertices: None,
        visible: 3000,
        intersections: 9,
        its: Some(20.0),
        t_s: f64::from(it) * 0.05,
    })
}

fn memory(it: u32) -> RunEvent {
    RunEvent::Memory(MemoryRow {
        it,
        allocated: 3 << 29,
        reserved: 2 << 30,
        vram_creep: 1 << 20,
        peak_allocated: 7 << 28,
        peak_reserved: 3 << 30,
        host_heap_usage: Some(1 << 28),
        process_resident: Some(3 << 28),
        arena: BTreeMap::from([("gradients".to_owned(), 2 << 20)]),
        tags: BTreeMap::from([("parameters".to_owned(), 64 << 20), ("arena".to_owned(), 3 << 20)]),
        large_tensors: 3,
        overhead: 0.25,
        ..MemoryRow::default()
    })
}

fn view(stem: &str) -> RunEvent {
    let size_px = [40, 20];
    RunEvent::View(Arc::new(EvaluatedView {
        it: 1000,
        set: Split::Test,
        stem: stem.to_owned(),
        size_px,
        image: vec![[1.0, 0.0, 0.0, 0.0]; 800],
        photo: Photo::new(vec![255; 2400], None),
        tile_counts: vec![3; 6],
    }))
}

fn scalars(events: &[tfevents::Event], tag: &str) -> Vec<(u64, f32)> {
    let of = |(step, value): (u64, &Value)| match value {
        Value::Scalar(value) => (step, *value),
        other => panic!("{tag} is {other:?}"),
    };
    of_tag(events, tag).into_iter().map(of).collect()
}

#[test]
fn a_run_of_triangles_has_tags_of_its_own() {
    let mut rig = Rig::of(Primitive::Triangles, 0);
    let RunEvent::Train(row) = train(10) else {
        unreachable!()
    };
    rig.tell(RunEvent::Train(TrainRow {
        triangles: Some(7500),
        vertices: Some(4000),
        ..row
    }));
    rig.tell(view("a"));
    let events = rig.events();
    let first = |tag: &str| scalars(&events, tag).first().map(|(_, value)| *value);
    assert_eq!(first("3_triangles/total_count_K"), Some(7.5));
    assert_eq!(first("3_triangles/vertex_count_K"), Some(4.0));
    assert_eq!(first("3_triangles/visible_count_K"), Some(3.0));
    assert_eq!(first("total_points"), Some(4000.0));
    let names = tags(&events);
    assert!(names.contains(&"test_view_a/triangles_per_tile".to_owned()));
    assert!(!names.iter().any(|tag| tag.contains("gaussian")), "{names:?}");
}

#[test]
fn the_file_has_a_name_that_tensorboard_looks_for() {
    let mut rig = Rig::new(0);
    let events = rig.events();
    assert_eq!(rig.sink.file_name(), NAME);
    let second = Tensorboard::create(rig.folder.path(), &TensorboardOptions::default(), 16, &stamp()).unwrap();
    assert_eq!(second.file_name(), "events.out.tfevents.1750000000.host.7.1");
    assert_eq!(events[0].what, What::Version("brain.Event:2".to_owned()));
    assert_eq!(events.len(), 1);
}

#[test]
fn every_tag_has_its_cadence() {
    let mut rig = Rig::new(0);
    for it in 1..=1005 {
        rig.tell(train(it));
        if it == 1 || it % 20 == 0 {
            rig.tell(memory(it));
            let sample = GpuSample {
                compute_percent: Some(98),
                throttle: Some(vec![Throttle::SwPowerCap]),
                ..GpuSample::default()
            };
            rig.tell(RunEvent::Gpu(GpuRow { it, sample }));
        }
    }
    let events = rig.events();
    let steps = |tag: &str| -> Vec<u64> { scalars(&events, tag).into_iter().map(|(step, _)| step).collect() };
    let every = |n: usize| -> Vec<u64> { (n as u64..=1005).step_by(n).collect() };
    let mut tens = every(10);
    tens.push(1005);
    assert_eq!(steps("train_loss_patches/total_loss"), tens);
    assert_eq!(steps("iter_time"), tens[1..]);
    assert_eq!(steps("4_performance/gpu_compute_percent"), every(100));
    let mut hundreds = every(100);
    hundreds.insert(0, 1);
    assert_eq!(steps("memory/vram_allocated_gb"), hundreds);
    let first = |tag: &str| scalars(&events, tag)[0].1;
    for (tag, value) in [
        ("train_loss_patches/l1_loss", 0.25),
        ("train_loss_patches/total_loss", 0.5),
        ("iter_time", 50.0),
        ("total_points", 7500.0),
        ("3_gaussians/total_count_K", 7.5),
        ("3_gaussians/visible_count_K", 3.0),
        ("4_performance/iterations_per_second", 20.0),
        ("memory/vram_allocated_gb", 1.5),
        ("4_performance/vram_allocated_GB", 1.5),
        ("memory/vram_reserved_gb", 2.0),
        ("memory/vram_creep_gb", 1.0 / 1024.0),
        ("memory/vram_peak_gb", 1.75),
        ("memory/vram_peak_reserved_gb", 3.0),
        ("memory/host_heap_usage_gb", 0.25),
        ("memory/process_resident_gb", 0.75),
        ("TensorProfiling/Arena_Category/gradients_MB", 2.0),
        ("TensorProfiling/fragmentation_percent", 25.0),
        ("TensorProfiling/Large_Tensors/count", 3.0),
        ("TensorProfiling/Tensor_Category/parameters_MB", 64.0),
        ("TensorProfiling/Tensor_Category/arena_MB", 3.0),
        ("4_performance/gpu_compute_percent", 98.0),
        ("4_performance/gpu_throttle_sw_power_cap", 1.0),
        ("4_performance/gpu_throttle_hw_slowdown", 0.0),
    ] {
        assert!((first(tag) - value).abs() < 1e-4, "{tag}: {}", first(tag));
    }
    // What the card does not say has no tag.
    assert!(!tags(&events).contains(&"4_performance/gpu_power_watts".to_owned()));
    assert!(events.iter().skip(1).all(|event| event.wall_s == 1_750_000_002.5));
}

#[test]
fn evaluations_histograms_and_images() {
    let mut rig = Rig::new(0);
    for set in [Split::Test, Split::Train] {
        rig.tell(RunEvent::Eval(EvalRow {
            it: 1000,
            set,
            n: 4,
            l1: 0.02,
            psnr: 27.5,
            psnr_image: 27.25,
            ssim: 0.875,
            ssim_valid: Some(0.9),
            lpips: None,
            psnr_fitted_half: None,
            lpips_range: LpipsRange::ZeroOne,
            poses: None,
            spread: Spread {
                median: Some(28.0),
                worst: Some(NamedView {
                    name: "a".to_owned(),
                    psnr_image: 20.5,
                    fog_share: None,
                }),
                worst_fog_share: (set == Split::Test).then_some(0.5),
            },
            gaussians: 4,
            triangles: None,
            vertices: None,
            mean_opacity: None,
            t_s: 1.0,
        }));
    }
    let mut counts = [[0; BINS]; 4];
    counts[0][0] = 5;
    counts[0][63] = 1;
    counts[1][40] = 9;
    rig.tell(RunEvent::Histograms(Histograms {
        it: 1000,
        counts: Box::new(counts),
    }));
    for stem in ["a", "b", "a"] {
        rig.tell(view(stem));
    }
    let events = rig.events();
    assert_eq!(scalars(&events, "test/loss_viewpoint_l1"), [(1000, 0.02)]);
    assert_eq!(scalars(&events, "train/loss_viewpoint_psnr"), [(1000, 27.5)]);
    assert_eq!(scalars(&events, "test/loss_viewpoint_psnr_image"), [(1000, 27.25)]);
    assert_eq!(
        scalars(&events, "test/loss_viewpoint_psnr_image_median"),
        [(1000, 28.0)]
    );
    assert_eq!(
        scalars(&events, "train/loss_viewpoint_psnr_image_worst"),
        [(1000, 20.5)]
    );
    assert_eq!(scalars(&events, "test/loss_viewpoint_worst_fog_share"), [(1000, 0.5)]);
    assert!(scalars(&events, "train/loss_viewpoint_worst_fog_share").is_empty());
    assert_eq!(scalars(&events, "test/loss_viewpoint_ssim"), [(1000, 0.875)]);
    assert!(scalars(&events, "test/loss_viewpoint_lpips").is_empty());

    let histogram = |name: &str| match of_tag(&events, &format!("scene/{name}_histogram"))[..] {
        [
            (
                1000,
                Value::Histogram {
                    figures,
                    limits,
                    counts,
                },
            ),
        ] => (*figures, limits.clone(), counts.clone()),
        ref other => panic!("{name}: {other:?}"),
    };
    let (figures, limits, counts) = histogram("opacity");
    let (low, high) = (0.5 / 64.0, 63.5 / 64.0);
    let squares = 5.0 * low * low + high * high;
    assert_eq!(figures, [0.0, 1.0, 6.0, 5.0 * low + high, squares]);
    assert_eq!((limits.len(), limits[0], limits[63]), (64, 1.0 / 64.0, 1.0));
    assert_eq!((counts[0], counts[63], counts.iter().sum::<f64>()), (5.0, 1.0, 6.0));
    let (figures, limits, _) = histogram("scale");
    let edges = Quantity::Scale.edges();
    assert_eq!(figures[..3], [edges[40], edges[41], 9.0]);
    assert_eq!(limits[..], edges[1..]);
    for name in ["rotation_magnitude", "xyz_magnitude"] {
        assert_eq!(histogram(name).0, [0.0; 5]);
    }

    let images = |tag: &str| -> Vec<image::RgbImage> {
        let decode = |(_, value): (u64, &Value)| match value {
            Value::Image { size_px, png } => {
                let image = image::load_from_memory(png).unwrap().to_rgb8();
                assert_eq!([image.width(), image.height()].map(u64::from), *size_px);
                image
            }
            other => panic!("{other:?}"),
        };
        of_tag(&events, tag).into_iter().map(decode).collect()
    };
    for (name, color) in [
        ("render", [255, 0, 0]),
        ("error_map", [170, 85, 85]),
        ("gaussian_density_heatmap", [255, 0, 0]),
    ] {
        let found = images(&format!("test_view_a/{name}"));
        assert_eq!(found.len(), 2, "{name}");
        // 40 x 20 in blocks of three
        assert_eq!(found[0].dimensions(), (14, 7));
        assert_eq!(found[0].get_pixel(3, 3).0, color, "{name}");
    }
    assert_eq!(images("test_view_a/gaussians_per_tile").len(), 2);
    // The photograph does not change.
    assert_eq!(images("test_view_a/ground_truth").len(), 1);
    assert_eq!(images("test_view_b/ground_truth").len(), 1);
}

/// The buffer reaches the file by itself; waiting for the thread proves nothing about the disk, so the file is read
/// without a flush of ours.
#[test]
fn a_killed_run_loses_at_most_a_hundred_iterations() {
    let mut rig = Rig::new(0);
    let settle = |rig: &Rig| rig.sink.worker.wait().unwrap();
    let last = |rig: &Rig| {
        scalars(&rig.on_disk(), "total_points")
            .last()
            .map_or(0, |(step, _)| *step)
    };
    for it in 1..=1000 {
        rig.tell(train(it));
        if it % 77 == 0 {
            settle(&rig);
            assert!(last(&rig) + 100 >= u64::from(it), "{} at {it}", last(&rig));
        }
    }
    for it in 1001..=1005 {
        rig.tell(train(it));
    }
    rig.tell(RunEvent::Event(EventRow {
        it: 1005,
        event: Event::Save { files: Vec::new() },
    }));
    settle(&rig);
    assert_eq!(last(&rig), 1005);
}

#[test]
fn a_resumed_run_voids_what_follows() {
    let events = Rig::new(400).events();
    assert_eq!(
        (events.len(), events[1].step, &events[1].what),
        (2, 401, &What::Restart)
    );
}

#[test]
fn a_run_that_begins_anew_voids_all_before() {
    let mut rig = Rig::new(0);
    rig.tell(RunEvent::Event(EventRow {
        it: 0,
        event: Event::Resume {
            checkpoint: "the start".to_owned(),
        },
    }));
    let restarts = |rig: &mut Rig| {
        let events = rig.events();
        let steps = events.iter().filter(|event| event.what == What::Restart);
        steps.map(|event| event.step).collect::<Vec<_>>()
    };
    assert_eq!(restarts(&mut rig), [1]);
    let mut resumed = Rig::new(400);
    resumed.tell(RunEvent::Event(EventRow {
        it: 400,
        event: Event::Resume {
            checkpoint: "c".to_owned(),
        },
    }));
    assert_eq!(restarts(&mut resumed), [401], "once");
    assert!(restarts(&mut Rig::new(0)).is_empty(), "a new run has nothing to void");
}

#[test]
fn a_file_that_cannot_be_made_or_written_is_named() {
    let folder = Scratch::new();
    let options = TensorboardOptions::default();
    let missing = folder.path().join("missing");
    let error = Tensorboard::create(&missing, &options, 16, &stamp()).err().unwrap();
    assert!(error.to_string().contains("events.out.tfevents"), "{error}");
    #[cfg(target_os = "linux")]
    {
        let full = Path::new("/dev/full");
        let file = OpenOptions::new().append(true).open(full).unwrap();
        let mut sink = Tensorboard::over(file, (NAME.to_owned(), full), &options, 16, &stamp()).unwrap();
        let error = sink.flush().unwrap_err();
        assert!(matches!(error, ExportError::DiskFull { .. }), "{error}");
        assert!(matches!(
            sink.take(&train(10), Duration::ZERO).unwrap_err(),
            ExportError::DiskFull { .. }
        ));
    }
}

#[test]
fn the_reader_refuses_what_is_wrong() {
    let mut rig = Rig::new(0);
    rig.tell(train(10));
    rig.sink.flush().unwrap();
    let bytes = fs::read(rig.folder.path().join(rig.sink.file_name())).unwrap();
    assert_eq!(read(&bytes).unwrap().len(), 2);
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x10;
        assert!(read(&wrong).is_err(), "byte {at}");
    }
    assert!(read(&bytes[..bytes.len() - 1]).is_err());
}
