//! `kiln mesh` on a ball of flat Gaussians, seen by the cameras of the bundled scene.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln::export::{PlyComments, PlyFlavor, RenderMode, write_ply};
use kiln::gaussians::Gaussians;
use kiln::mesh::MeshFile;
use kiln::scene::{SceneIndex, SceneOptions};
use kiln_mesh::{Mesh, topology};
use kiln_tests::runs::{self, Scratch, json, outcome};

const RADIUS: f32 = 0.45;
const CENTER: [f32; 3] = [0.0, 0.0, 0.3];

/// Flat Gaussians on a ball, red above and blue below.
pub(crate) fn ball() -> Gaussians {
    let n = 2500;
    let mut model = Gaussians::default();
    for i in 0..n {
        let z = 1.0 - (2.0 * i as f32 + 1.0) / n as f32;
        let azimuth = i as f32 * 2.399_963;
        let side = (1.0 - z * z).sqrt();
        let normal = [side * azimuth.cos(), side * azimuth.sin(), z];
        // Turns the z axis to the normal.
        let (w, x, y) = (1.0 + z, -normal[1], normal[0]);
        model
            .quats
            .push(if w > 1e-3 { [w, x, y, 0.0] } else { [0.0, 1.0, 0.0, 0.0] });
        model
            .means
            .push(std::array::from_fn(|a| CENTER[a] + RADIUS * normal[a]));
        model.log_scales.push([0.025_f32.ln(), 0.025_f32.ln(), 0.001_f32.ln()]);
        model.logit_opacities.push(3.0);
        model
            .sh0
            .push(if z > 0.0 { [1.7, -1.7, -1.7] } else { [-1.7, -1.7, 1.7] });
        model.filter_3d.push(0.0);
    }
    model
}

pub(crate) fn written(path: &Path, model: &Gaussians) {
    let comments = PlyComments {
        render_mode: Some(RenderMode::Mip),
        kernel_size: Some(0.1),
        iteration: None,
        origin: None,
    };
    write_ply(path, model, PlyFlavor::Fused, comments).unwrap();
}

/// `kiln mesh` on a file with the bundled scene's cameras.
fn command(model: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = runs::kiln();
    command
        .arg("mesh")
        .arg(model)
        .arg("--scene")
        .arg(runs::scene())
        .arg("-o")
        .arg(out);
    command
        .args(["-r", "100", "--allow-cpu", "--set", "diagnose.validation=sync"])
        .args(more);
    command
}

/// Runs it; gives exit code and what it said.
pub(crate) fn mesh(model: &Path, out: &Path, more: &[&str]) -> (Option<i32>, String) {
    outcome(&mut command(model, out, more))
}

fn read(path: PathBuf) -> Mesh {
    kiln_mesh::ply::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

fn distances(mesh: &Mesh) -> Vec<f32> {
    let off = |p: &[f32; 3]| {
        let square: f32 = (0..3).map(|a| (p[a] - CENTER[a]).powi(2)).sum();
        (square.sqrt() - RADIUS).abs()
    };
    mesh.positions().iter().map(off).collect()
}

/// Mean and largest distance from the ball of vertices in its upper half, and the mean angle of their normals, degrees. Nobody looks
/// from below: only what is seen has to be where it is.
fn seen_above(mesh: &Mesh) -> (f32, f32, f32) {
    let (mut off, mut degrees) = (Vec::new(), Vec::new());
    for ((distance, p), n) in distances(mesh)
        .into_iter()
        .zip(mesh.positions())
        .zip(mesh.normals().unwrap())
    {
        if p[2] > CENTER[2] {
            let outwards: f32 = (0..3).map(|a| (p[a] - CENTER[a]) * n[a]).sum();
            let length = (0..3).map(|a| (p[a] - CENTER[a]).powi(2)).sum::<f32>().sqrt();
            off.push(distance);
            degrees.push((outwards / length).clamp(-1.0, 1.0).acos().to_degrees());
        }
    }
    let mean = |list: &[f32]| list.iter().sum::<f32>() / list.len() as f32;
    (mean(&off), off.iter().copied().fold(0.0, f32::max), mean(&degrees))
}

/// Files with y up have half a turn about x, all of them and normals too; the picture over them is the same.
#[test]
fn files_have_y_up_where_that_is_asked_for() {
    let scratch = Scratch::new("mesh-up");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let coarse = [
        "--format",
        "ply,obj,glb",
        "--set",
        "mesh.voxel=0.05",
        "--set",
        "mesh.texture.size=256",
    ];
    for (out, more) in [("scene", &[][..]), ("y", &["--up", "y"])] {
        let (code, said) = mesh(&ply, &scratch.join(out), &[&coarse[..], more].concat());
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(json(&scratch.join(out).join("report.json"))["up"], out);
    }
    let half_turn = |[x, y, z]: [f32; 3]| [x, 0.0 - y, 0.0 - z];
    let file = |out: &str, name: &str| scratch.join(out).join(name);
    let [was, is] = ["scene", "y"].map(|out| read(file(out, "mesh.ply")));
    let turned = |values: &[[f32; 3]]| -> Vec<[f32; 3]> { values.iter().copied().map(half_turn).collect() };
    assert_eq!(is.positions(), turned(was.positions()));
    assert_eq!(is.normals().unwrap(), turned(was.normals().unwrap()));
    assert_eq!(is.triangles(), was.triangles());
    let positions = |out: &str| -> Vec<[f32; 3]> {
        let (models, _) = tobj::load_obj(file(out, "mesh.obj"), &tobj::GPU_LOAD_OPTIONS).unwrap();
        models[0].mesh.positions.as_chunks::<3>().0.to_vec()
    };
    assert_eq!(positions("y"), turned(&positions("scene")));
    let [was, is] = ["scene", "y"].map(|out| MeshFile::read(&file(out, "mesh.glb")).unwrap());
    assert_eq!(is.mesh.positions(), turned(was.mesh.positions()));
    assert!(is.texture == was.texture && is.texture.is_some());
}

#[test]
fn points_become_a_closed_ball() {
    let scratch = Scratch::new("mesh-poisson");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let out = scratch.join("out");
    let closed = ["--method", "closed", "--fault", "poisson_depth=6"];
    let (code, said) = mesh(&ply, &out, &closed);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("at Poisson depth 6"), "{said}");
    let found = read(out.join("mesh.ply"));
    let topology = topology::report(&found);
    assert!(topology.is_closed() && topology.flipped_edges == 0, "{topology}");
    assert_eq!((topology.pieces, topology.euler), (1, 2));
    // Within a fiftieth of the radius and five degrees.
    let (mean, most, degrees) = seen_above(&found);
    println!("distances {mean}, at most {most}, normals {degrees} degrees off, {topology}");
    assert!(
        mean < 0.01 && most < 0.02 * RADIUS && degrees < 5.0,
        "{mean} {most} {degrees}"
    );
    for ((p, n), color) in found
        .positions()
        .iter()
        .zip(found.normals().unwrap())
        .zip(found.colors().unwrap())
    {
        let up = p[2] - CENTER[2];
        if up > 0.1 {
            let outwards: f32 = (0..3).map(|a| (p[a] - CENTER[a]) * n[a]).sum();
            assert!(outwards > 0.0 && color[0] > color[2], "{p:?} {n:?} {color:?}");
        }
    }
    let report = json(&out.join("report.json"));
    assert_eq!(report["poisson"]["depth"], 6, "{report}");
    assert!(report["poisson"]["points"].as_u64().unwrap() > 10_000, "{report}");
    assert_eq!(report["surface"]["open_edges"], 0);
    let stages: Vec<&str> = report["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["points", "reconstruct", "color", "clean", "write"]);
    // The same again, also where views are drawn in bands.
    let bytes = fs::read(out.join("mesh.ply")).unwrap();
    for faults in [
        &["--fault", "bands=3"][..],
        // One band at least, and more where its lists overflow.
        &["--fault", "bands=1", "--fault", "i_cap=2500"],
        &["--fault", "v_cap=1200"],
    ] {
        let again = scratch.join(faults[1]);
        let (code, said) = mesh(&ply, &again, &[&closed[..], faults].concat());
        assert_eq!(code, Some(0), "{said}");
        assert!(fs::read(again.join("mesh.ply")).unwrap() == bytes, "{faults:?}");
    }
    // With what is thin or unseen cut off it is open, through the density and, without one, through the depth of pixels.
    for method in ["poisson", "poisson_depths"] {
        let cut = scratch.join(method);
        let (code, said) = mesh(&ply, &cut, &["--method", method, "--fault", "poisson_depth=6"]);
        assert_eq!(code, Some(0), "{said}");
        let cut = read(cut.join("mesh.ply"));
        assert!(topology::report(&cut).open_edges > 0, "{method}");
        let (mean, ..) = seen_above(&cut);
        assert!(mean < 0.01, "{method} {mean}");
    }
}

#[test]
fn a_ball_of_splats_becomes_a_ball() {
    let scratch = Scratch::new("mesh");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let out = scratch.join("out");
    let colors = ["--format", "ply,obj,glb", "--set", "mesh.texture.kind=none"];
    let (code, said) = mesh(&ply, &out, &colors);
    assert_eq!(code, Some(0), "{said}");
    let found = read(out.join("mesh.ply"));
    let report = json(&out.join("report.json"));
    assert_eq!(report["space"]["kind"], "bounded", "{report}");
    let voxel = report["space"]["voxel"].as_f64().unwrap() as f32;
    let off = distances(&found);
    let mean = off.iter().sum::<f32>() / off.len() as f32;
    println!(
        "voxel {voxel}, mean distance {:.3} voxels, {}",
        mean / voxel,
        topology::report(&found)
    );
    assert!(mean < 0.35 * voxel, "{} voxels", mean / voxel);
    // Nothing stands behind it, and what the cameras see, the upper half and more, is there.
    assert!(
        off.iter().all(|d| *d < 4.0 * voxel),
        "{:?}",
        off.iter().copied().reduce(f32::max)
    );
    let topology = topology::report(&found);
    assert_eq!(
        (topology.pieces, topology.non_manifold_edges, topology.flipped_edges),
        (1, 0, 0)
    );
    assert!(
        found.area() > 0.5 * 4.0 * std::f64::consts::PI * f64::from(RADIUS * RADIUS),
        "{}",
        found.area()
    );
    // Out is out, and colours are where they were.
    let (normals, colors) = (found.normals().unwrap(), found.colors().unwrap());
    for ((p, n), color) in found.positions().iter().zip(normals).zip(colors) {
        let outwards: f32 = (0..3).map(|a| (p[a] - CENTER[a]) * n[a]).sum();
        assert!(outwards > 0.0, "{p:?} {n:?}");
        if (p[2] - CENTER[2]).abs() > 0.1 {
            let (red, blue) = (color[0], color[2]);
            assert_eq!(p[2] > CENTER[2], red > blue, "{p:?} {color:?}");
        }
    }
    assert_eq!(report["surface"]["triangles"], topology.triangles);
    assert_eq!(report["files"], serde_json::json!(["mesh.ply", "mesh.obj", "mesh.glb"]));
    let stages: Vec<&str> = report["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["touch", "integrate", "march", "color", "clean", "write"]);
    let document = gltf::Gltf::open(out.join("mesh.glb")).unwrap();
    assert_eq!(document.meshes().count(), 1);
    // Less memory: slabs, views in bands, records in turns. The same bytes, of voxels that are larger: every slab draws all views.
    let coarse = ["--set", "mesh.texture.kind=none", "--set", "mesh.voxel=0.03"];
    let out = scratch.join("coarse");
    let (code, said) = mesh(&ply, &out, &coarse);
    assert_eq!(code, Some(0), "{said}");
    let bricks = json(&out.join("report.json"))["bricks"].as_u64().unwrap();
    assert!(bricks > 20, "{bricks}");
    let bytes = fs::read(out.join("mesh.ply")).unwrap();
    for (at, (slabs, faults)) in [
        (1, vec!["bands=3".to_owned()]),
        (
            2,
            vec![format!("bricks={}", bricks.div_ceil(2)), "i_cap=2500".to_owned()],
        ),
        (
            5,
            vec![format!("bricks={}", bricks.div_ceil(5)), "v_cap=1200".to_owned()],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let again = scratch.join(&format!("again-{at}"));
        let faults_of = faults.iter().flat_map(|fault| ["--fault", fault.as_str()]);
        let more: Vec<&str> = coarse.into_iter().chain(faults_of).collect();
        let (code, said) = mesh(&ply, &again, &more);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(json(&again.join("report.json"))["slabs"], slabs);
        assert!(fs::read(again.join("mesh.ply")).unwrap() == bytes, "{faults:?}");
    }
}

#[test]
fn settings_are_heeded() {
    let scratch = Scratch::new("mesh-settings");
    let ply = scratch.join("ball.ply");
    // As another trainer's file: nothing is said of its kernel.
    let comments = PlyComments::default();
    write_ply(&ply, &ball(), PlyFlavor::Fused, comments).unwrap();
    let out = scratch.join("out");
    let with = |more: &[&str]| {
        let (code, said) = mesh(&ply, &out, more);
        assert_eq!(code, Some(0), "{said}");
        (read(out.join("mesh.ply")), json(&out.join("report.json")))
    };
    let (contracted, report) = with(&["--set", "mesh.space=contracted", "--set", "mesh.voxel=0.03"]);
    assert_eq!(report["space"]["kind"], "contracted");
    let off = distances(&contracted);
    assert!(off.iter().sum::<f32>() / off.len() as f32 <= 0.35 * 0.03);
    let (few, report) = with(&["--set", "mesh.voxel=0.03", "--set", "mesh.decimate={ triangles: 300 }"]);
    assert!(few.triangles().len() <= 300 && report["decimation_error"].as_f64().unwrap() > 0.0);
    let boxed = "mesh.box=[-1, -1, 0.3, 1, 1, 1]";
    let (half, _) = with(&["--set", boxed, "--set", "mesh.voxel=0.03"]);
    assert!(
        half.positions().iter().all(|p| p[2] > 0.27),
        "only what lies in the box"
    );
    // The border at the box goes ring by ring, and what is dense comes back.
    let peeled = |peel: &str| with(&["--set", boxed, "--set", "mesh.voxel=0.03", "--set", peel]);
    let (less, report) = peeled("mesh.peel={ rounds: 2, density: 1000 }");
    let gone = report["dropped"]["peeled"].as_u64().unwrap() as usize;
    assert!(
        gone > 0 && less.triangles().len() + gone == half.triangles().len(),
        "{report}"
    );
    let (whole, report) = peeled("mesh.peel={ rounds: 2, density: 0 }");
    assert_eq!(
        (&report["dropped"]["peeled"], whole.triangles().len()),
        (&0.into(), half.triangles().len())
    );
    // A plan is printed and nothing is made.
    let none = scratch.join("none");
    let said = command(&ply, &none, &["--dry-run", "--vram", "200MiB"])
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    for word in ["bounded", "at once", "200.0", "verdict: fits"] {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    assert!(!none.exists());
}

/// What masks leave out in every photo is no surface of voxels and has no points for one that is closed by them.
#[test]
fn masked_pixels_are_no_surface() {
    let scratch = Scratch::new("mesh-masks");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let masks = scratch.join("masks");
    fs::create_dir(&masks).unwrap();
    let scene = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    let top = [CENTER[0], CENTER[1], CENTER[2] + RADIUS];
    for view in &scene.train {
        let [x, y, _] = view.camera.sees(top).unwrap_or([-1e3; 3]);
        let counts = |column: u32, row: u32| (column as f32 - x).hypot(row as f32 - y) > 20.0;
        let value = |column, row| image::Luma([if counts(column, row) { 255 } else { 0_u8 }]);
        let mask = image::GrayImage::from_fn(view.camera.width_px, view.camera.height_px, value);
        mask.save(masks.join(format!("{}.jpg.png", view.id))).unwrap();
    }
    let near_top = |found: &Mesh| {
        let off = |p: &[f32; 3]| (0..3).map(|a| (p[a] - top[a]).powi(2)).sum::<f32>().sqrt();
        found.positions().iter().filter(|p| off(p) < 0.1).count()
    };
    let with_masks = format!("dataset.masks={}", masks.display());
    let poisson = ["--method", "poisson", "--fault", "poisson_depth=5"];
    for method in [&["--set", "mesh.voxel=0.03"][..], &poisson] {
        let made = |name: &str, more: &[&str]| {
            let out = scratch.join(name);
            let (code, said) = mesh(&ply, &out, &[method, more].concat());
            assert_eq!(code, Some(0), "{said}");
            (read(out.join("mesh.ply")), json(&out.join("report.json")))
        };
        let (whole, before) = made("whole", &[]);
        assert!(near_top(&whole) > 10, "{method:?}");
        let (found, report) = made("masked", &["--set", &with_masks, "--set", "dataset.follow_links=true"]);
        assert!(!found.triangles().is_empty());
        match [&before, &report].map(|report| report["poisson"]["points"].as_u64()) {
            [Some(before), Some(masked)] => {
                // The surface that it closes over the gap has no points there.
                assert!(masked < before, "{masked} points of {before}");
            }
            _ => assert_eq!(near_top(&found), 0, "{method:?}"),
        }
    }
}

/// The run's own scene is known, and depth and normals are drawn as they are fused.
#[test]
fn depth_and_normals_are_drawn() {
    let scratch = Scratch::new("mesh-drawn");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let path = scratch.join("path.json");
    let text = r#"{"size": [64, 64], "fps": 1, "seconds": 1, "fov_x": 60, "keyframes": [
        {"position": [0, 0, -2], "rotation": [1, 0, 0, 0]}]}"#;
    fs::write(&path, text).unwrap();
    let out = scratch.join("out");
    let draw = |more: &[&str]| {
        let mut command = runs::kiln();
        command
            .arg("render")
            .arg(&ply)
            .arg("-o")
            .arg(&out)
            .arg("--path")
            .arg(&path);
        let (code, said) = outcome(command.args(["--normals", "--allow-cpu", "-q"]).args(more));
        assert_eq!(code, Some(0), "{said}");
        let scale = json(&out.join("depth.json"))["views"][0]["scale"].as_f64().unwrap();
        let depth = image::open(out.join("frame_00000.png")).unwrap().to_luma16();
        let normal = image::open(out.join("frame_00000_normal.png")).unwrap().to_rgb8();
        (
            f64::from(depth.get_pixel(32, 32).0[0]) * scale,
            normal.get_pixel(32, 32).0,
        )
    };
    for kind in ["plane", "median", "expected"] {
        let (depth, normal) = draw(&[&format!("--depth={kind}")]);
        let wanted = 2.3 - f64::from(RADIUS);
        assert!((depth - wanted).abs() < 0.02, "{kind}: {depth}");
        assert!(normal[2] > 230 && normal[0].abs_diff(128) < 40, "{kind}: {normal:?}");
    }
    // In bands, the same bytes.
    let whole = fs::read(out.join("frame_00000.png")).unwrap();
    draw(&["--depth=expected", "--fault", "bands=5", "--fault", "v_cap=1200"]);
    assert!(fs::read(out.join("frame_00000.png")).unwrap() == whole);
}

/// Ctrl-C amid the work: no file, and the exit code of an interrupt. Stages are reported as they end.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_file() {
    // Voxels, and cells, fine enough for minutes.
    let fine = interrupted(&["--set", "mesh.voxel=0.003"], "touch");
    assert!(fine["bricks"].as_u64().unwrap() > 1000, "{fine}");
    let deep = ["--method", "poisson", "--fault", "poisson_depth=10", "-r", "2"];
    interrupted(&deep, "points");
}

/// Interrupts a run when its first stage is over, which has this name, and gives what was reported of it.
#[cfg(unix)]
fn interrupted(more: &[&str], stage: &str) -> serde_json::Value {
    use std::io::BufRead as _;
    use std::process::Stdio;
    let scratch = Scratch::new("mesh-interrupt");
    let ply = scratch.join("ball.ply");
    written(&ply, &ball());
    let out = scratch.join("out");
    let mut command = runs::kiln();
    command
        .arg("mesh")
        .arg(&ply)
        .arg("--scene")
        .arg(runs::scene())
        .arg("-o")
        .arg(&out);
    command.args(["--allow-cpu", "-q", "--json"]).args(more);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&first["type"], &first["stage"]), (&"mesh_stage".into(), &stage.into()));
    let killed = Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "something is left");
    first
}

/// `kiln train --mesh` ends with the mesh that `kiln mesh RUN` makes, and `kiln plan --mesh` says what it takes.
#[test]
fn training_ends_with_a_mesh() {
    let scratch = Scratch::new("mesh-train");
    let run = scratch.join("run");
    let settings = "--profile cpu --recipe demo --iterations 60 -r 66 --set eval.lpips=false --set schedule.resolution=[] \
                    --set memory.max_gaussians=4000 --set mesh.min_triangles=10 --set mesh.voxel=0.05 --allow-cpu";
    let mut train = runs::kiln();
    train
        .arg("train")
        .arg(runs::scene())
        .arg("-o")
        .arg(&run)
        .args(settings.split_whitespace());
    let trained = train.args(["--mesh", "--json", "-q"]).output().unwrap();
    assert_eq!(
        trained.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&trained.stderr)
    );
    let lines: Vec<serde_json::Value> = String::from_utf8(trained.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let stages = lines.iter().filter(|line| line["type"] == "mesh_stage");
    let stages: Vec<&str> = stages.map(|line| line["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["touch", "integrate", "march", "color", "clean", "write"]);
    assert_eq!(lines.last().unwrap()["type"], "mesh");
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows = metrics
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let stored: Vec<serde_json::Value> = rows.filter(|row| row["kind"] == "mesh_stage").collect();
    let names: Vec<&str> = stored
        .iter()
        .map(|row| row["detail"]["stage"].as_str().unwrap())
        .collect();
    assert_eq!(names, stages);
    let last = &stored.last().unwrap()["detail"];
    assert!(
        last["triangles"].as_u64().unwrap() > 0 && last["bricks"].as_u64().unwrap() > 0,
        "{last}"
    );
    assert!(stored.iter().all(|row| row["it"] == 60));
    let bytes = fs::read(run.join("mesh/mesh.ply")).unwrap();
    let mut again = runs::kiln();
    let (code, said) = outcome(
        again
            .arg("mesh")
            .arg(&run)
            .arg("-o")
            .arg(scratch.join("again"))
            .arg("-q"),
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(fs::read(scratch.join("again/mesh.ply")).unwrap() == bytes);
    let mut plan = runs::kiln();
    plan.arg("plan").arg(runs::scene()).args(settings.split_whitespace());
    let planned = plan.arg("--mesh").output().unwrap();
    let planned = String::from_utf8(planned.stdout).unwrap();
    assert!(planned.contains("mesh, of the model in the end"), "{planned}");
}
