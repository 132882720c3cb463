//! Runs that train triangles: they learn, keep to their caps, go on to the same bytes and end as a mesh.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::cli::{Exit, Failure as _};
use kiln::mesh::read_triangles;
use kiln::run::interrupt::Interrupt;
use kiln::run::{ResumeFrom, RunEnd, RunError};
use kiln::triangles::TriangleModel;
use kiln_tests::runs::{self, Scratch};
use kiln_tests::setup::{self, Setup};
use kiln_triangles::schedule::{Rates, Settings, SplitRule};

/// 60 steps of a schedule that has everything: seven subdivisions and as many prunings, a connected surface after 38, rises of the
/// floor before it and to 0.9999 behind, four samples a pixel from 50 on.
const WHOLE: [(&str, &str); 11] = [
    ("dataset.resolution", "80"),
    // As large as pixels: what is smaller is not drawn.
    ("init", "{ kind: sfm_points, scale: 2, background: 0 }"),
    ("schedule.iterations", "60"),
    ("schedule.test", "[1, 32]"),
    ("schedule.save", "[]"),
    ("schedule.sh_every", "20"),
    ("eval.lpips", "false"),
    ("eval.views_logged", "1"),
    ("mesh.formats", "[ply, obj, glb]"),
    ("mesh_splatting.max_points", "3000"),
    ("mesh_splatting.supersample", "[[50, 2]]"),
];

/// Its events, and rates that show in so few steps.
fn schedule() -> Settings {
    let outdoor = Settings::outdoor();
    Settings {
        every: 4,
        split: [2, 30],
        splitting: SplitRule {
            least_area: 0.0,
            ..outdoor.splitting
        },
        prune_from: 10,
        prune_opacity: 0.05,
        prune_views: 0,
        // The largest go, so that there is room for others.
        prune_size_px: 30.0,
        floor: [30, 50],
        rates: Rates {
            position: [0.002, 0.0002],
            weight: 0.2,
            color: 0.08,
        },
        ..outdoor
    }
}

fn setup(root: &Path, settings: &[&[(&str, &str)]]) -> Setup {
    let mut setup = Setup::new("meshsplatting", settings.iter().copied().flatten()).into_folder(root);
    setup.mesh_splatting.as_mut().unwrap().schedule = Some(Box::new(schedule()));
    setup
}

fn train(setup: Setup, from: Option<ResumeFrom>) -> Result<RunEnd, RunError> {
    runs::train(setup, from, &Interrupt::unattached())
}

fn model(run: &Path, iteration: u32) -> TriangleModel {
    read_triangles(&run.join(format!("point_cloud/iteration_{iteration}/triangles.ply"))).unwrap()
}

/// Vertices after each event that changed triangles.
fn vertices(run: &Path) -> Vec<(String, u64)> {
    let rows = runs::events(run, "mesh_stage");
    let of = |row: &serde_json::Value| {
        let detail = &row["detail"];
        Some((detail["stage"].as_str()?.to_owned(), detail["vertices"].as_u64()?))
    };
    rows.iter().filter_map(of).collect()
}

#[test]
fn a_run_learns_through_all_its_events_and_ends_as_a_mesh() {
    let scratch = Scratch::new("triangles");
    let root = scratch.join("run");
    let mut all_points = setup(&root, &[&WHOLE, &[("mesh_splatting.max_points", "12000")]]);
    let mut own = schedule();
    own.prune_size_px = 1000.0;
    all_points.mesh_splatting.as_mut().unwrap().schedule = Some(Box::new(own));
    train(all_points, None).unwrap();
    let psnr = |iteration: u32| {
        let rows = runs::rows(&root.join("metrics.jsonl"));
        let mut rows = rows.iter().filter(|row| row["type"] == "eval" && row["set"] == "test");
        rows.find(|row| row["it"] == iteration).unwrap()["psnr_image"]
            .as_f64()
            .unwrap()
    };
    // Few steps are left to find a new shape after the surface is connected.
    let all = [1, 32, 60].map(psnr);
    assert!(all[1] > all[0] + 2.0 && all[2] > all[0] + 1.0, "{all:?} dB");

    let stages = vertices(&root);
    for stage in ["split", "connect", "finish"] {
        assert!(stages.iter().any(|(name, _)| name == stage), "no {stage} in {stages:?}");
    }
    assert!(stages.iter().all(|(_, n)| *n <= 12_000), "{stages:?}");
    // A connected surface has more than three triangles a vertex, and all of them have room.
    let warnings = runs::events(&root, "warning");
    assert!(
        !warnings
            .iter()
            .any(|row| row["detail"]["message"].as_str().unwrap().contains("left out")),
        "{warnings:?}"
    );
    let connected = runs::events(&root, "mesh_stage")
        .into_iter()
        .find(|row| row["detail"]["stage"] == "connect")
        .unwrap();
    let [v, t] = ["vertices", "triangles"].map(|key| connected["detail"][key].as_u64().unwrap());
    assert!(t > 3 * v, "{t} triangles of {v} vertices");
    let end = model(&root, 60);
    assert!(end.floor > 0.99 && end.sigma < 0.001, "{} {}", end.floor, end.sigma);
    let mut used = vec![false; end.positions.len()];
    for v in end.triangles.iter().flatten() {
        used[*v as usize] = true;
    }
    assert!(used.into_iter().all(|used| used), "a vertex without triangles");
    for ending in ["ply", "obj", "glb"] {
        let path = root.join(format!("mesh/mesh.{ending}"));
        let mesh = kiln::mesh::MeshFile::read(&path).unwrap().mesh;
        assert_eq!(mesh.triangles().len(), end.triangles.len(), "{ending}");
    }
    let files: Vec<_> = runs::json(&root.join("run.json"))["files"].as_array().unwrap().clone();
    assert!(files.iter().any(|file| *file == "mesh/mesh.glb"), "{files:?}");
}

/// A run that goes on from a checkpoint before or behind its events ends with the bytes of one that never paused, also where the steps
/// before or after a pause run in bands.
#[test]
fn a_pause_changes_nothing() {
    let scratch = Scratch::new("triangles-pause");
    let run = |name: &str, from: Option<ResumeFrom>, iterations: u32, more: &[(&str, &str)]| {
        let iterations = iterations.to_string();
        let own = [
            ("schedule.iterations", iterations.as_str()),
            ("schedule.test", "[]"),
            ("dataset.resolution", "56"),
            ("mesh.formats", "[ply]"),
        ];
        train(setup(&scratch.join(name), &[&WHOLE, &own, more]), from).unwrap();
        std::fs::read(
            scratch
                .join(name)
                .join(format!("point_cloud/iteration_{iterations}/triangles.ply")),
        )
        .unwrap()
    };
    // The newest two are kept, of which one is that before the last step.
    let whole = run("whole", None, 60, &[("schedule.checkpoint", "[12]")]);
    let ways: [(&str, &str, u32, setup::Settings<'_>); 2] = [
        ("first", "whole", 12, &[("fault.bands", "2")]),
        ("second", "first", 39, &[]),
    ];
    for (name, from, at, more) in ways {
        let from = scratch.join(&format!("{from}/checkpoints/checkpoint_{at:08}.kiln"));
        let end = run(
            name,
            Some(ResumeFrom::File(from)),
            60,
            &[&[("schedule.checkpoint", "[39]")], more].concat(),
        );
        assert!(end == whole, "from {at} on {more:?}: models differ");
    }
}

#[test]
fn a_tenth_of_the_room_trains_to_the_end() {
    let scratch = Scratch::new("triangles-cap");
    let root = scratch.join("run");
    let few = [("mesh_splatting.max_points", "1000"), ("schedule.test", "[]")];
    train(setup(&root, &[&WHOLE, &few]), None).unwrap();
    let stages = vertices(&root);
    assert!(stages.iter().all(|(_, n)| *n <= 1000), "{stages:?}");
    let warnings = runs::events(&root, "warning");
    assert!(
        warnings.iter().any(|row| row["detail"]["message"]
            .as_str()
            .unwrap()
            .contains("mesh_splatting.max_points")),
        "{warnings:?}"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_number_that_does() {
    let scratch = Scratch::new("triangles-refused");
    let root = scratch.join("run");
    let short = [
        ("memory.cap_gib", "0.0625"),
        ("mesh_splatting.max_points", "900000"),
        ("init", "{ kind: random_frustum, count: 40000 }"),
    ];
    let error = train(setup(&root, &[&WHOLE, &short]), None).unwrap_err();
    assert_eq!(error.exit(), Exit::DoesNotFit, "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("mesh_splatting.max_points="), "{error}: {hint}");
    assert!(!root.exists(), "nothing was begun");
}
