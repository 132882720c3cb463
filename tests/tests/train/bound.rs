//! Gaussians on the triangles of a mesh: what a refinement learns, keeps, plans and leaves.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use kiln::export::read_ply;
use kiln::plan::{BoundError, FirstModel, PlanError, plan, scene_options};
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln::run::refinement_outlook;
use kiln_config::{Inputs, Override, Profile, resolve};
use kiln_gpu::memory::{BlockRounding, Budget, MIB, PlanLimits};
use kiln_kernels::views::Reduction;
use kiln_mesh::{Mesh, ply};
use kiln_scene::SceneIndex;
use kiln_tests::gpu::variants;
use kiln_tests::runs::{self, Scratch, json, train_scene};
use kiln_tests::setup::Setup;

const SIDE: u32 = 80;
const VIEWS: u32 = 12;
/// Distance of the cameras from the middle of the sphere, which has radius 1; and their focal length, pixels.
const DISTANCE: f64 = 4.0;
const FOCAL: f64 = 120.0;

type V3 = [f64; 3];

fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: V3, b: V3) -> V3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn unit(a: V3) -> V3 {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

/// Axes of camera `view`: right, up, backwards; it looks at the middle.
fn axes(view: u32) -> [V3; 3] {
    let turn = 2.399_963 * f64::from(view);
    let height = 1.7 * ((f64::from(view) + 0.5) / f64::from(VIEWS) - 0.5);
    let wide = (1.0 - height * height).sqrt();
    let back = [wide * turn.cos(), height, wide * turn.sin()];
    let right = unit(cross([0.0, 1.0, 0.0], back));
    [right, cross(back, right), back]
}

/// 1.1 times the distance of the farthest training camera from the middle of them; every fourth view is held out.
fn extent() -> f64 {
    let eyes: Vec<V3> = (0..VIEWS)
        .filter(|view| view % 4 != 0)
        .map(|view| axes(view)[2].map(|x| DISTANCE * x))
        .collect();
    let middle = [0, 1, 2].map(|c| eyes.iter().map(|eye| eye[c]).sum::<f64>() / eyes.len() as f64);
    let squared = eyes
        .iter()
        .map(|eye| [0, 1, 2].map(|c| (eye[c] - middle[c]).powi(2)).iter().sum::<f64>());
    1.1 * squared.fold(0.0, f64::max).sqrt()
}

fn color(p: V3) -> [u8; 3] {
    [0, 1, 2].map(|c| {
        let wave = (3.0 * p[c] + 1.3 * c as f64).sin() * (2.5 * p[(c + 1) % 3]).cos();
        (128.0 + 100.0 * wave) as u8
    })
}

/// A ball with waves of colour on black, seen from all around.
fn ball(folder: &Path) {
    fs::create_dir_all(folder.join("images")).unwrap();
    let mut frames = String::new();
    for view in 0..VIEWS {
        let [right, up, back] = axes(view);
        let eye = back.map(|x| DISTANCE * x);
        let photo = image::RgbImage::from_fn(SIDE, SIDE, |x, y| {
            // Four rays a pixel.
            let mut sum = [0_u32; 3];
            for [dx, dy] in [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]] {
                let [u, v] = [f64::from(x) + dx, f64::from(y) + dy].map(|at| (at - f64::from(SIDE) / 2.0) / FOCAL);
                let ray = unit([0, 1, 2].map(|c| u * right[c] - v * up[c] - back[c]));
                let along = dot(eye, ray);
                let inside = along * along - (DISTANCE * DISTANCE - 1.0);
                if inside > 0.0 {
                    let t = -along - inside.sqrt();
                    let rgb = color([0, 1, 2].map(|c| eye[c] + t * ray[c]));
                    sum = [0, 1, 2].map(|c| sum[c] + u32::from(rgb[c]));
                }
            }
            image::Rgb(sum.map(|value| (value / 4) as u8))
        });
        photo.save(folder.join(format!("images/{view:02}.png"))).unwrap();
        let row = |c: usize| format!("[{}, {}, {}, {}]", right[c], up[c], back[c], eye[c]);
        let separator = if view == 0 { "" } else { "," };
        write!(
            frames,
            r#"{separator}{{"file_path": "images/{view:02}.png", "transform_matrix": [{}, {}, {}, [0, 0, 0, 1]]}}"#,
            row(0),
            row(1),
            row(2)
        )
        .unwrap();
    }
    let half = f64::from(SIDE) / 2.0;
    let text = format!(
        r#"{{"w": {SIDE}, "h": {SIDE}, "fl_x": {FOCAL}, "fl_y": {FOCAL}, "cx": {half}, "cy": {half}, "frames": [{frames}]}}"#
    );
    fs::write(folder.join("transforms.json"), text).unwrap();
}

/// An icosahedron whose triangles are cut in four once: 42 vertices on a sphere, 80 triangles.
fn icosphere(radius: f64) -> Mesh {
    let golden = 0.5 * (1.0 + 5.0_f64.sqrt());
    let mut corners: Vec<V3> = Vec::new();
    for axis in 0..3 {
        for (a, b) in [(1.0, golden), (-1.0, golden), (1.0, -golden), (-1.0, -golden)] {
            let mut corner = [0.0; 3];
            (corner[axis], corner[(axis + 1) % 3]) = (a, b);
            corners.push(unit(corner));
        }
    }
    let near = |a: V3, b: V3| dot(a, b) > 0.4 && dot(a, b) < 0.5;
    let mut triangles: Vec<[usize; 3]> = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                let [p, q, r] = [a, b, c].map(|v| corners[v]);
                if near(p, q) && near(q, r) && near(r, p) {
                    let outside = dot(p, cross(q, r)) > 0.0;
                    triangles.push(if outside { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    let mut middles = std::collections::BTreeMap::new();
    let mut cut = Vec::new();
    for [a, b, c] in triangles {
        let [x, y, z] = [(a, b), (b, c), (c, a)].map(|(a, b)| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                corners.push(unit([0, 1, 2].map(|k| corners[a][k] + corners[b][k])));
                corners.len() - 1
            })
        });
        cut.extend([[a, x, z], [x, b, y], [z, y, c], [x, y, z]].map(|t| t.map(|v| v as u32)));
    }
    let positions = corners.iter().map(|p| p.map(|x| (radius * x) as f32)).collect();
    Mesh::new(positions, cut).unwrap()
}

fn written(mesh: &Mesh, path: PathBuf) -> PathBuf {
    let mut bytes = Vec::new();
    ply::write(mesh, &[], &mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

fn read(path: &Path) -> Mesh {
    ply::read(std::io::BufReader::new(fs::File::open(path).unwrap())).unwrap()
}

/// Mean distance of the vertices from the middle.
fn radius(mesh: &Mesh) -> f64 {
    let of = |p: &[f32; 3]| p.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    mesh.positions().iter().map(of).sum::<f64>() / mesh.positions().len() as f64
}

/// A refinement of a few steps that learns quickly.
fn refinement(output: &Path, mesh: &Path, settings: &[(&str, &str)]) -> Setup {
    let init = format!("{{ kind: mesh, path: {:?} }}", mesh.display().to_string());
    let own = [
        ("init", &init[..]),
        ("dataset.hold_out", "4"),
        ("schedule.iterations", "40"),
        ("schedule.test", "[]"),
        ("schedule.save", "[]"),
        ("schedule.sh_every", "20"),
        ("model.sh_degree", "2"),
        ("bound.per_triangle", "3"),
        ("optimizer.lr.sh0", "0.02"),
        ("optimizer.lr.scales", "0.02"),
        ("train.deterministic", "true"),
        ("eval.lpips", "false"),
        ("eval.views_logged", "0"),
    ];
    Setup::new("bound", own.iter().chain(settings)).into_folder(output)
}

fn model_of(run: &Path, iteration: u32) -> PathBuf {
    run.join(format!("point_cloud/iteration_{iteration}/point_cloud_raw.ply"))
}

fn mesh_of(run: &Path, iteration: u32) -> PathBuf {
    run.join(format!("point_cloud/iteration_{iteration}/mesh.ply"))
}

/// A coarse sphere that is too small grows to the ball of the photos, the render gets better, and nothing is added or lost.
#[test]
fn a_sphere_of_the_wrong_size_finds_the_ball() {
    let scratch = Scratch::new("bound");
    ball(&scratch.join("scene"));
    let start = icosphere(0.85);
    let mesh = written(&start, scratch.join("start.ply"));
    let own = [
        ("schedule.iterations", "150"),
        ("schedule.test", "[1, 50, 100]"),
        ("schedule.save", "[1]"),
        ("sinks", "[{ kind: metrics_jsonl, every: 1 }]"),
        ("bound.per_triangle", "6"),
        ("diagnose.validation", "sync"),
    ];
    let run = scratch.join("run");
    let setup = refinement(&run, &mesh, &own);
    train_scene(setup, scratch.join("scene"), None, &Interrupt::unattached()).unwrap();

    let record = json(&run.join("run.json"));
    let psnr: Vec<f64> = record["evals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["test"]["psnr_image"].as_f64().unwrap())
        .collect();
    assert!(psnr[3] > psnr[0] + 6.0 && psnr[3] > 18.0, "{psnr:?}");
    // Longer is better, as far as a tenth of a decibel says.
    assert!(psnr.windows(2).all(|pair| pair[1] >= pair[0] - 0.1), "{psnr:?}");
    let moved = read(&mesh_of(&run, 150));
    assert_eq!(moved.triangles(), start.triangles());
    let [before, after] = [radius(&start), radius(&moved)];
    assert!(
        (after - 1.0).abs() < 0.6 * (before - 1.0).abs(),
        "{before} became {after}"
    );
    assert!((radius(&read(&mesh_of(&run, 1))) - before).abs() < 0.005);
    // The colours of the ball, as far as vertices can have them.
    let colors = moved.colors().unwrap().iter().zip(start.positions());
    let off: f64 = colors
        .map(|(found, p)| {
            let wanted = color(unit(p.map(f64::from)));
            (0..3)
                .map(|c| (f64::from(found[c]) - f64::from(wanted[c]) / 255.0).abs())
                .sum::<f64>()
                / 3.0
        })
        .sum::<f64>()
        / 42.0;
    assert!(off < 0.15, "{off}");
    let thickness = (1e-6 * extent()).ln();
    for iteration in [1, 150] {
        let (model, _) = read_ply(&model_of(&run, iteration)).unwrap();
        assert_eq!(model.len(), 6 * 80);
        // It is not learned.
        assert!(
            model
                .log_scales
                .iter()
                .all(|s| (f64::from(s[0]) - thickness).abs() < 1e-4),
            "{:?} and {thickness}",
            model.log_scales[0]
        );
    }
    let steps = runs::rows(&run.join("metrics.jsonl"));
    let counts = steps
        .iter()
        .filter(|row| row["type"] == "train")
        .map(|row| row["gaussians"].as_u64().unwrap());
    assert!(counts.clone().count() == 150 && counts.into_iter().all(|n| n == 480));
}

/// A pause, and bands, change no byte; the mesh that is left is the same too.
#[test]
fn pauses_and_bands_change_nothing() {
    let scratch = Scratch::new("bound-pause");
    ball(&scratch.join("scene"));
    let mesh = written(&icosphere(0.9), scratch.join("start.ply"));
    let never = Interrupt::unattached();
    let train = |name: &str, settings: &[(&str, &str)], resume: Option<ResumeFrom>| {
        let many = [("bound.per_triangle", "6"), ("optimizer.lr.scales", "0.005")];
        let setup = refinement(&scratch.join(name), &mesh, &[&many[..], settings].concat());
        train_scene(setup, scratch.join("scene"), resume, &never).unwrap();
        let run = scratch.join(name);
        (runs::raw_model(&run, 40), fs::read(mesh_of(&run, 40)).unwrap())
    };
    let whole = train("whole", &[("schedule.checkpoint", "[17]")], None);
    let checkpoint = scratch.join("whole/checkpoints/checkpoint_00000017.kiln");
    let paused = train("paused", &[], Some(ResumeFrom::File(checkpoint.clone())));
    assert!(whole == paused, "a pause shows");
    let (_, state) = runs::checkpoint(&checkpoint);
    let bound = &state["state"]["capacities"]["bound"];
    assert_eq!(
        [
            &bound["per_triangle"],
            &bound["triangles"],
            &bound["vertices"],
            &bound["inner_edges"]
        ],
        [6, 80, 42, 120]
    );
    let banded = train("banded", &[("fault.bands", "3")], None);
    assert!(whole == banded, "bands show");
    let short = train("short", &[("fault.v_cap", "256")], None);
    assert!(whole == short, "bands of records show");
    let rows = runs::events(&scratch.join("short"), "stall");
    assert!(!rows.is_empty(), "no step was too large for so few records");

    // Another number of Gaussians, or another mesh, is another run.
    for other in [("bound.per_triangle", "1"), ("bound.normal_consistency", "0.3")] {
        let same = [("bound.per_triangle", "6"), ("optimizer.lr.scales", "0.005")];
        let setup = refinement(&scratch.join("other"), &mesh, &[&same[..], &[other]].concat());
        let refused = train_scene(
            setup,
            scratch.join("scene"),
            Some(ResumeFrom::File(checkpoint.clone())),
            &never,
        );
        let said = refused.err().unwrap().to_string();
        assert!(said.contains(other.0), "{said}");
    }
}

fn resolved(settings: &[(&str, &str)], recipe: &str) -> Profile {
    let set = |(key, value): &(&str, &str)| Override {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        flag: "--set".to_owned(),
    };
    resolve(&Inputs {
        profile: Some("cpu".to_owned()),
        recipe: Some(recipe.to_owned()),
        overrides: settings.iter().map(set).collect(),
        ..Inputs::default()
    })
    .unwrap()
}

/// Bytes for each Gaussian and each triangle are those of the design, room is for exactly the Gaussians there are, and what does
/// not fit is reported with a number that does.
#[test]
fn plans_are_exact_and_refuse_with_what_fits() {
    let scratch = Scratch::new("bound-plan");
    ball(&scratch.join("scene"));
    let mesh = written(&icosphere(1.0), scratch.join("start.ply"));
    let path = format!("{{ kind: mesh, path: {:?} }}", mesh.display().to_string());
    let profile = resolved(
        &[("init", &path), ("memory.cap_gib", "4"), ("bound.per_triangle", "6")],
        "bound",
    );
    let scene = SceneIndex::load(&scratch.join("scene"), &scene_options(&profile).unwrap()).unwrap();
    let limits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes: 128 * MIB,
        rounding: BlockRounding::NONE,
    };
    let variants = variants(Reduction::Segmented);
    let first = FirstModel::new(&profile, &scene).unwrap();
    assert_eq!(first.origin(), "480 Gaussians on triangles");
    let budget = |gib: u64| Budget::of_profile(gib << 30);
    let demand = first.demand(&profile, &scene);
    let (planned, report) = plan(
        &profile,
        &scene,
        &demand,
        budget(4),
        limits,
        &variants,
        &Default::default(),
    )
    .unwrap();
    assert_eq!((report.capacities.n_limit, report.capacities.n_cap), (480, 512));
    assert_eq!(report.capacities.chunk % 768, 0);
    assert!(planned.jobs.all().count() > 5);

    // A million triangles with a Gaussian each: at most 0.8 GB for model, moments, mesh and the pulls of a step.
    let outlook = |profile: &Profile, triangles: u32, gib: u64| {
        refinement_outlook(
            profile,
            &scene,
            triangles,
            &variants,
            (budget(gib), limits),
            &Default::default(),
        )
    };
    let default = resolved(&[("memory.max_gaussians", "6000000")], "default");
    let report = outlook(&default, 1_000_000, 4).unwrap();
    let persistent = report
        .classes
        .iter()
        .find(|(class, _)| *class == kiln_program::Class::Persistent)
        .unwrap()
        .1;
    assert!((740_000_000..800_000_000).contains(&persistent), "{persistent}");
    assert_eq!(
        (report.capacities.n_limit, report.capacities.chunk),
        (1_000_000, 523_776)
    );

    // What is said to fit does, and half as much again does not.
    let small = resolved(
        &[("memory.max_gaussians", "6000000"), ("bound.per_triangle", "3")],
        "default",
    );
    let refused = outlook(&small, 2_000_000, 1).err().unwrap();
    let PlanError::Bound(BoundError::DoesNotFit { fitting, .. }) = refused else {
        panic!("{refused}");
    };
    assert!(fitting > 100_000, "{fitting}");
    assert!(outlook(&small, fitting, 1).is_ok());
    assert!(outlook(&small, fitting + fitting / 2, 1).is_err());
    let many = outlook(&small, 2_000_001, 64).err().unwrap().to_string();
    assert!(many.contains("memory.max_gaussians"), "{many}");
    let mut large = default;
    large.memory.max_gaussians = kiln_config::MostGaussians::UpTo(100_000_000);
    let large = outlook(&large, 12_000_000, 64).err().unwrap().to_string();
    assert!(large.contains("at most 11184810"), "{large}");
}

/// `refining` of the defaults is what recipe `bound` sets.
#[test]
fn the_recipe_is_what_a_larger_run_refines_with() {
    let recipe = resolved(&[("init", "{ kind: mesh, path: a.ply }")], "bound");
    let mut refining = resolved(&[], "default").refining(Path::new("a.ply"));
    // Iterations in between, and what a picture looks like, are each run's own business.
    refining.schedule.test.clone_from(&recipe.schedule.test);
    refining.schedule.save.clone_from(&recipe.schedule.save);
    refining.mesh.texture = recipe.mesh.texture;
    refining.cull = recipe.cull;
    refining.optimizer.clone_from(&recipe.optimizer);
    assert_eq!(refining, recipe);
    let mut shorter = resolved(&[("bound.iterations", "2000")], "default");
    shorter.schedule.checkpoint = vec![1000, 5000];
    let shorter = shorter.refining(Path::new("a.ply"));
    assert_eq!(
        (shorter.schedule.iterations, &shorter.schedule.save[..]),
        (2000, &[2000][..])
    );
    assert_eq!(shorter.schedule.checkpoint, [1000]);
    // As a stage of SuGaR, the rate of the vertices goes by what was asked for.
    let stage = |recipe, settings: &[(&str, &str)]| resolved(settings, recipe).refine_stage(Path::new("a.ply"));
    let high = stage("sugar", &[("mesh.box", "[0, 0, 0, 2, 4, 4]")]);
    assert_eq!(
        (high.bound().units.vertices, high.bound().units.radius),
        (Some(1_000_000), Some(3.0))
    );
    assert!(high.is_bound() && high.sugar.is_none() && high.mesh.decimate.is_none());
    let low = stage("sugar_light", &[]);
    assert_eq!(
        (
            low.bound().units.vertices,
            low.bound().units.radius,
            low.bound().per_triangle
        ),
        (Some(200_000), None, 6)
    );
}

/// `kiln mesh` of such a run takes the mesh as it is, with all its triangles, and puts a picture over it.
#[test]
fn the_mesh_of_a_run_gets_a_picture_and_keeps_its_triangles() {
    let scratch = Scratch::new("bound-mesh");
    ball(&scratch.join("scene"));
    let mesh = written(&icosphere(1.0), scratch.join("start.ply"));
    let run = scratch.join("run");
    let setup = refinement(&run, &mesh, &[("schedule.iterations", "30")]);
    train_scene(setup, scratch.join("scene"), None, &Interrupt::unattached()).unwrap();
    let mut command = runs::kiln();
    command.arg("mesh").arg(&run).args(["--format", "ply,obj", "--quiet"]);
    command.arg("--scene").arg(scratch.join("scene"));
    let (code, said) = runs::outcome(&mut command);
    assert_eq!(code, Some(0), "{said}");
    let (models, _) = tobj::load_obj(run.join("mesh/mesh.obj"), &tobj::LoadOptions::default()).unwrap();
    assert_eq!(models[0].mesh.indices.len(), 3 * 80);
    assert!(models[0].mesh.texcoords.iter().all(|uv| (0.0..=1.0).contains(uv)));
    let files = ["mesh.mtl", "mesh.png", "mesh.ply", "report.json"];
    assert!(files.iter().all(|file| run.join("mesh").join(file).is_file()));
    let report = json(&run.join("mesh/report.json"));
    assert_eq!(
        (&report["surface"]["triangles"], &report["surface"]["open_edges"]),
        (&80.into(), &0.into())
    );

    let mut command = runs::kiln();
    fs::remove_file(mesh_of(&run, 30)).unwrap();
    command
        .arg("mesh")
        .arg(&run)
        .arg("--quiet")
        .arg("--scene")
        .arg(scratch.join("scene"));
    let (code, said) = runs::outcome(&mut command);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("is bound to no mesh"), "{said}");
}
