//! The schemas in `configs/schema/` and the small run in `tests/golden/run`, which serves the tests of viewers.
//!
//! Both are made here and compared; `KILN_BLESS=1 cargo test -p kiln golden` writes them anew.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

// The tests of whole runs use it too, and there it is public.
#[expect(unreachable_pub, reason = "one file in two crates")]
#[path = "../../../../tests/src/schema.rs"]
mod checker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use self::checker::problem;
use super::*;
use crate::eval::LpipsRange;
use crate::eval::{ViewRow, view_metrics};
use crate::export::{MeanOpacity, PlyComments, PlyFlavor, RenderMode, write_ply};
use crate::record::evaluated_view::EvaluatedView;
use crate::record::events::{
    Capacities, EvalRow, Event, EventRow, Histograms, MemoryRow, MetricsRow, Primitive, RunEvent, Stage, Start,
    TrainRow,
};
use crate::record::pictures::PictureWriter;
use crate::record::sinks::{Sinks, Stamp};
use kiln_config::{Inputs, resolve};
use kiln_gaussians::Gaussians;
use kiln_gpu::vk::{GpuSample, Throttle};
use kiln_program::Shape;
use kiln_scene::{Photo, SceneOptions};
use kiln_scratch::Scratch;
use kiln_twins::gaussian::Gaussian;
use kiln_twins::histogram::histogram;
use kiln_twins::loss::ssim_map;

const SIZE_PX: [u32; 2] = [16, 12];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn blessing() -> bool {
    std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1")
}

/// Schema of what the engine writes, not of what it would accept.
fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["title"] = title.into();
    schema
}

fn schemas() -> [(&'static str, Value); 4] {
    [
        ("run", schema::<RunRecord>("Kiln run.json")),
        ("metrics", schema::<MetricsRow>("A line of Kiln metrics.jsonl")),
        ("memory", schema::<MemoryRow>("A line of Kiln memory.jsonl")),
        ("eval", schema::<EvalFile>("Kiln eval/iteration_N/metrics.json")),
    ]
}

#[test]
fn the_checked_in_schemas_are_current() {
    let folder = project().join("configs/schema");
    for (name, schema) in schemas() {
        let path = folder.join(format!("{name}.schema.json"));
        let text = format!("{schema:#}\n");
        if blessing() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{name}.schema.json is stale: KILN_BLESS=1 cargo test -p kiln golden"
        );
    }
}

/// A scene of two views, written as a Blender data set.
fn scene(scratch: &Scratch) -> SceneIndex {
    for (set, shift) in [("train", 0.0), ("test", 0.25)] {
        let frame = serde_json::json!({
            "file_path": format!("./{set}/view"),
            "transform_matrix": [[1, 0, 0, shift], [0, 1, 0, 0], [0, 0, 1, 3], [0, 0, 0, 1]],
        });
        let file = serde_json::json!({ "camera_angle_x": 0.8, "frames": [frame] });
        scratch.write(&format!("scene/transforms_{set}.json"), file.to_string());
        let [width, height] = SIZE_PX;
        let alpha: Vec<u8> = photo()
            .chunks(3)
            .flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255])
            .collect();
        scratch.write_png(&format!("scene/{set}/view.png"), width, height, 4, &alpha);
    }
    let options = SceneOptions::default();
    SceneIndex::load(&scratch.path().join("scene"), &options).unwrap()
}

/// A smooth photograph with one bright corner.
fn photo() -> Vec<u8> {
    let [width, height] = SIZE_PX;
    let pixel = |at: u32| {
        let (x, y) = (at % width, at / width);
        let corner = if x > 10 && y > 7 { 60 } else { 0 };
        [40 + 9 * x + corner, 60 + 8 * y, 150 - 5 * x]
    };
    (0..width * height).flat_map(pixel).map(|value| value as u8).collect()
}

/// A rendering that is off by a little everywhere and by more as `error` grows.
fn rendering(error: f32) -> Vec<f32> {
    let photo = photo();
    let shift = |at: usize| error * (((at * 7) % 11) as f32 / 11.0 - 0.4);
    photo
        .iter()
        .enumerate()
        .map(|(at, byte)| f32::from(*byte) / 255.0 + shift(at))
        .collect()
}

/// The one tile's sums of an evaluation pass.
fn sums(rendering: &[f32]) -> [f64; 8] {
    let rgb = |values: &[f32]| [0, 1, 2].map(|c| f64::from(values[c].clamp(0.0, 1.0)));
    let image: Vec<[f64; 3]> = rendering.chunks(3).map(rgb).collect();
    let target: Vec<[f64; 3]> = photo()
        .chunks(3)
        .map(|p| [0, 1, 2].map(|c| f64::from(p[c]) / 255.0))
        .collect();
    let [width, height] = SIZE_PX.map(|side| side as usize);
    let mut sums = [0.0; 8];
    for (at, ssim) in ssim_map(SIZE_PX, &image, &target).iter().enumerate() {
        let (x, y) = (at % width, at / width);
        let inside = x >= 5 && y >= 5 && x + 5 < width && y + 5 < height;
        for c in 0..3 {
            let difference = image[at][c] - target[at][c];
            sums[0] += difference.abs();
            sums[1] += ssim[c].value;
            sums[2] += if inside { ssim[c].value } else { 0.0 };
            sums[3 + c] += difference * difference;
        }
    }
    sums
}

fn environment() -> Environment {
    Environment {
        engine: Engine {
            version: "0.1.0".to_owned(),
            commit: "unknown".to_owned(),
            debug_build: false,
        },
        host: Host {
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            kernel: None,
            arch: "x86_64".to_owned(),
            cores: Some(2),
            memory_bytes: Some(8 << 30),
        },
        device: serde_json::json!({ "name": "example device" }),
        driver: "example driver 1.0".to_owned(),
        tier: "portable".to_owned(),
        seed: 0,
        deterministic: true,
        kernels: BTreeMap::from([("rasterize_backward".to_owned(), "column".to_owned())]),
        allocations: vec![
            allocation("model/geometry[0]", "persistent", "parameters", 400_000),
            allocation("step/splat_position", "arena", "visible", 120_000),
        ],
    }
}

fn allocation(name: &str, class: &str, tag: &str, bytes: u64) -> Allocation {
    Allocation {
        name: name.to_owned(),
        class: class.to_owned(),
        tag: tag.to_owned(),
        bytes,
        shape: Some(Shape {
            rows: bytes / 40,
            row_bytes: 40,
        }),
    }
}

fn model(n: usize) -> Gaussians {
    let spread = |i: usize| i as f32 / n as f32 - 0.5;
    Gaussians {
        sh_degree: 0,
        means: (0..n).map(|i| [spread(i), spread(i * 3 % n), 0.0]).collect(),
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        log_scales: vec![[-2.5; 3]; n],
        logit_opacities: vec![1.0; n],
        sh0: (0..n).map(|i| [spread(i), 0.25, -spread(i)]).collect(),
        sh_rest: Vec::new(),
        filter_3d: vec![0.005; n],
    }
}

/// Makes the run: two evaluations, one densification, one save.
fn make(scratch: &Scratch, root: &Path) {
    let scene = scene(scratch);
    let described = RunScene {
        name: "two-views".to_owned(),
        path: "scenes/two-views".to_owned(),
        ..RunScene::of(&scene)
    };
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        recipe: Some("demo".to_owned()),
        ..Inputs::default()
    };
    let profile = resolve(&inputs).unwrap();
    let command = "train scenes/two-views --recipe demo --profile cpu".split(' ');
    let made_by = MadeBy::new(command.map(str::to_owned).collect(), &inputs).unwrap();
    let run = NewRun {
        name: "golden".to_owned(),
        scene: described,
        iterations: 40,
        started_unix_s: 1_750_000_000,
        made_by: MadeBy {
            version: "0.1.0".to_owned(),
            ..made_by.with(&profile)
        },
    };
    let mut folder = RunFolder::create(root, Existing::Refuse, run).unwrap();
    folder.write_setup(&profile, &environment()).unwrap();
    let points = [-0.5_f32, 0.0, 0.5].map(|x| Point {
        position: [x, 0.0, 0.0],
        color: [200, 150, 100],
    });
    folder.write_inputs(&scene, &points, false).unwrap();

    let stamp = Stamp {
        unix: Duration::from_secs(1_750_000_000),
        host: "example-host".to_owned(),
        process: 4242,
    };
    let mut sinks = Sinks::open(&profile.sinks, root, None, &stamp).unwrap();
    folder.list(sinks.files().iter().map(String::as_str)).unwrap();
    let mut pictures = PictureWriter::default();
    let mut tell = |event: RunEvent| sinks.emit(&event, Duration::ZERO).unwrap();
    let capacities = Capacities {
        n_cap: 64,
        v_cap: 64,
        i_cap: 256,
    };
    tell(RunEvent::Start(Start {
        primitive: Primitive::Gaussians,
        stage: Stage::Train,
        from: 0,
        iterations: 40,
        cap_bytes: 1 << 20,
        capacities,
    }));
    for it in 1..=40 {
        let gaussians = if it < 30 { 3 } else { 5 };
        tell(RunEvent::Train(TrainRow {
            it,
            // one step that went wrong, so that readers meet a null
            loss: if it == 10 { f32::NAN } else { 0.5 / it as f32 },
            l1: 0.25 / it as f32,
            normals: None,
            density: None,
            density_normals: None,
            neighbour_geometry: None,
            neighbour_photometric: None,
            gaussians,
            triangles: None,
            vertices: None,
            visible: gaussians,
            intersections: gaussians,
            its: (it > 1).then_some(12.5),
            t_s: f64::from(it) * 0.08,
        }));
        if it == 1 {
            tell(RunEvent::Memory(MemoryRow {
                it,
                allocated: 600_000,
                reserved: 786_432,
                peak_allocated: 600_000,
                peak_reserved: 786_432,
                tags: BTreeMap::from([("parameters".to_owned(), 400_000), ("other".to_owned(), 200_000)]),
                overhead: 0.25,
                process_resident: Some(50_331_648),
                places_used: Some(60),
                arena: BTreeMap::from([("gradients".to_owned(), 90_000), ("sort".to_owned(), 30_000)]),
                gpu: Some(gpu_sample()),
                ..MemoryRow::default()
            }));
        }
        if it == 30 {
            let event = Event::Densify {
                clones: 1,
                splits: 1,
                deaths: 0,
                gaussians,
            };
            tell(RunEvent::Event(EventRow { it, event }));
        }
        if it % 20 == 0 {
            let counts = Box::new(histogram(&Gaussian::from_model(&model(gaussians as usize))));
            tell(RunEvent::Histograms(Histograms { it, counts }));
            let mut eval = EvalFile::new(it, gaussians, f64::from(it) * 0.08, LpipsRange::ZeroOne);
            let mut opacity = MeanOpacity::default();
            opacity.add_part(&model(gaussians as usize), 0..gaussians as usize);
            eval.mean_opacity = opacity.mean();
            for (set, views) in [(Split::Test, &scene.test), (Split::Train, &scene.train)] {
                let error = if set == Split::Test { 4.0 } else { 3.0 } / it as f32;
                let mut rows = Vec::new();
                for view in views {
                    let (row, shown) = measure(it, set, &view.id, error);
                    rows.push(row);
                    pictures.give(&folder, shown.clone()).unwrap();
                    tell(RunEvent::View(shown));
                }
                eval.put(set, rows);
            }
            pictures.wait().unwrap();
            folder.write_eval(&eval).unwrap();
            for row in EvalRow::of(&eval) {
                tell(RunEvent::Eval(row));
            }
        }
    }
    let comments = PlyComments {
        render_mode: Some(RenderMode::Mip),
        kernel_size: Some(0.1),
        iteration: Some(40),
        origin: None,
    };
    let mut files = Vec::new();
    for (kind, flavor) in [(PlyKind::Fused, PlyFlavor::Fused), (PlyKind::Raw, PlyFlavor::Raw)] {
        write_ply(&folder.ply_path(40, kind), &model(5), flavor, comments).unwrap();
        files.push(folder.add_ply(40, kind, 5).unwrap());
    }
    tell(RunEvent::Event(EventRow {
        it: 40,
        event: Event::Save { files },
    }));
    sinks.flush().unwrap();
    folder.finish(Status::Done, 40, None).unwrap();
}

/// What a card might say.
fn gpu_sample() -> GpuSample {
    GpuSample {
        compute_percent: Some(97),
        memory_percent: Some(43.5),
        temperature_celsius: Some(61),
        power_watts: Some(287.5),
        power_limit_watts: Some(320.0),
        clock_sm_mhz: Some(1905),
        throttle: Some(vec![Throttle::SwPowerCap]),
        ..GpuSample::default()
    }
}

/// A view's row and what is shown of it.
fn measure(it: u32, set: Split, stem: &str, error: f32) -> (ViewRow, Arc<EvaluatedView>) {
    let values = rendering(error);
    let shown = EvaluatedView {
        it,
        set,
        stem: stem.to_owned(),
        size_px: SIZE_PX,
        image: values.chunks(3).map(|rgb| [rgb[0], rgb[1], rgb[2], 0.0]).collect(),
        photo: Photo::new(photo(), None),
        tile_counts: vec![5],
    };
    let row = ViewRow {
        name: stem.to_owned(),
        width: SIZE_PX[0],
        height: SIZE_PX[1],
        metrics: view_metrics(&sums(&values), SIZE_PX, false).unwrap(),
        lpips: None,
        psnr_fitted_half: None,
        fog_share: Some(0.25).filter(|_| set == Split::Test),
        images: true,
    };
    (row, Arc::new(shown))
}

/// All files below a folder, relative, sorted.
fn tree(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name() != Some(kiln_system::LOCK_FILE.as_ref()) {
                files.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_checked_in_run_is_current() {
    let golden = project().join("tests/golden/run");
    let scratch = Scratch::new();
    let made = scratch.path().join("run");
    make(&scratch, &made);
    if blessing() {
        fs::remove_dir_all(&golden).ok();
        for file in tree(&made) {
            let to = golden.join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(made.join(&file), to).unwrap();
        }
    }
    assert_eq!(tree(&golden), tree(&made), "KILN_BLESS=1 cargo test -p kiln golden");
    for file in tree(&made) {
        let (old, new) = (golden.join(&file), made.join(&file));
        assert!(
            same(&old, &new),
            "{} differs: KILN_BLESS=1 cargo test -p kiln golden",
            file.display()
        );
    }
}

/// True when two files say the same: the PNG encoder may choose other bytes for the same pixels, and another C library
/// may round logarithms and exponentials differently.
fn same(old: &Path, new: &Path) -> bool {
    let bytes = [old, new].map(|path| fs::read(path).unwrap());
    let [a, b] = &bytes;
    let kind = new
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    a == b
        || match kind {
            "png" => image::open(old).unwrap() == image::open(new).unwrap(),
            "json" | "jsonl" => {
                let [a, b] = bytes.each_ref().map(|bytes| values(bytes));
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| close(a, b))
            }
            "ply" => same_ply(a, b),
            _ => false,
        }
}

/// The values of a JSON file or of each line of a JSONL file.
fn values(bytes: &[u8]) -> Vec<Value> {
    let stream = serde_json::Deserializer::from_slice(bytes).into_iter();
    stream.map(Result::unwrap).collect()
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| close(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 1e-9 * a.as_f64().unwrap().abs()
        }
        _ => a == b,
    }
}

/// The same header, and close values after it, where all properties are floats.
fn same_ply(a: &[u8], b: &[u8]) -> bool {
    let body = |bytes: &[u8]| {
        let end = b"end_header\n";
        bytes.windows(end.len()).position(|window| window == end).unwrap() + end.len()
    };
    let float = |word: &[u8]| f32::from_le_bytes(word.try_into().unwrap());
    let (start, floats) = (body(a), !String::from_utf8_lossy(a).contains("property uchar"));
    floats
        && a.len() == b.len()
        && a[..start] == b[..start]
        && std::iter::zip(a[start..].chunks_exact(4), b[start..].chunks_exact(4))
            .all(|(a, b)| (float(a) - float(b)).abs() <= 1e-6)
}

#[test]
fn the_run_is_valid_against_the_schemas_and_its_index_is_true() {
    let scratch = Scratch::new();
    let root = scratch.path().join("run");
    make(&scratch, &root);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let json = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let [run_schema, metrics_schema, memory_schema, eval_schema] = schemas().map(|(_, schema)| schema);
    let run = json(&read("run.json"));
    check(&run_schema, &run_schema, &run, "run");
    for (file, schema) in [("metrics.jsonl", &metrics_schema), ("memory.jsonl", &memory_schema)] {
        for line in read(file).lines() {
            check(schema, schema, &json(line), file);
        }
    }
    for eval in run["evals"].as_array().unwrap() {
        check(
            &eval_schema,
            &eval_schema,
            &json(&read(eval["path"].as_str().unwrap())),
            "eval",
        );
    }
    let paths = ["plys", "evals"].map(|list| run[list].as_array().unwrap().iter().map(|item| &item["path"]));
    let listed = paths.into_iter().flatten().chain(run["files"].as_array().unwrap());
    for path in listed {
        assert!(root.join(path.as_str().unwrap()).is_file(), "{path}");
    }
    assert!(RunRecord::read(&root.join("run.json")).is_ok());
}

#[test]
fn the_schemas_refuse_what_is_wrong() {
    let [run, metrics, memory, eval] = schemas().map(|(_, schema)| schema);
    let wrong = [
        (&run, serde_json::json!({ "schema_version": 1 })),
        (&metrics, serde_json::json!({ "type": "train", "it": 1 })),
        (
            &metrics,
            serde_json::json!({ "type": "event", "it": 1, "kind": "other", "detail": {} }),
        ),
        (
            &metrics,
            serde_json::json!({ "type": "event", "it": 1, "kind": "filter", "detail": { "views": "all" } }),
        ),
        (&memory, serde_json::json!({ "it": -1 })),
        (&eval, serde_json::json!([])),
    ];
    for (schema, value) in wrong {
        assert!(problem(schema, schema, &value).is_some(), "{value}");
    }
}

fn check(root: &Value, schema: &Value, value: &Value, what: &str) {
    if let Some(problem) = problem(root, schema, value) {
        panic!("{what}: {problem}: {value}");
    }
}
