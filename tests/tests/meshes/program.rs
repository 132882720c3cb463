//! The `kiln` program on meshes.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use kiln_lab::synth::{Synthetic, SyntheticKind};
use kiln_mesh::{Mesh, ply};
use kiln_tests::runs::{QUICK, Scratch, kiln, outcome, train_command};
use kiln_triangles::Model;
use serde_json::Value;

/// The synthetic solids in small photos, and meshes of their square.
fn scene() -> &'static Path {
    static MADE: OnceLock<(Scratch, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let scratch = Scratch::new("solids");
        let path = scratch.join("scene");
        let scene = Synthetic {
            kind: SyntheticKind::Solids,
            gaussians: 300,
            size_px: [64, 48],
            views: 16,
            seed: 1,
            truth: 20_000,
            samples: 2,
            ..Synthetic::default()
        };
        scene.write(&path).expect("a scene");
        let corner = |x: f32, y: f32| [1.2 * x, 1.2 * y, 0.0];
        let corners = vec![
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ];
        let square = Mesh::new(corners, vec![[0, 1, 2], [0, 2, 3]]).expect("a square");
        let write = |name: &str, mesh: &Mesh| {
            let mut bytes = Vec::new();
            ply::write(mesh, &[], &mut bytes).expect("bytes");
            fs::write(path.join(name), bytes).expect("a file");
        };
        write("plain.ply", &square);
        write(
            "grey.ply",
            &square.clone().with_colors(vec![[0.5; 3]; 4]).expect("colours"),
        );
        write(
            "points.ply",
            &Mesh::new(square.positions().to_vec(), vec![]).expect("points"),
        );
        // Grey from every side, as a model of triangles.
        let model = Model {
            degree: 1,
            positions: square.positions().to_vec(),
            weights: vec![9.0; 4],
            sh0: vec![[0.0; 3]; 4],
            sh_rest: vec![0.0; 36],
            triangles: square.triangles().to_vec(),
            floor: 0.999,
            sigma: 1e-4,
        };
        let mut bytes = Vec::new();
        model.write(&[], &mut bytes).expect("bytes");
        fs::write(path.join("model.ply"), bytes).expect("a file");
        (scratch, path)
    });
    path
}

fn mesh(name: &str) -> PathBuf {
    scene().join(name)
}

fn eval(name: &str) -> Command {
    let mut command = kiln();
    command.arg("eval").arg(scene()).arg("--mesh").arg(mesh(name));
    command.args(["--quiet", "--set", "device.allow_cpu=true"]);
    command
}

#[test]
fn a_mesh_is_held_against_photos_and_truth() {
    let Output { status, stdout, stderr } = eval("grey.ply")
        .args([
            "--truth",
            "solids",
            "--distances",
            "0.01,0.1",
            "--json",
            "--set",
            "eval.lpips=true",
        ])
        .output()
        .expect("the program starts");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let report: Value = serde_json::from_slice(&stdout).expect("JSON");
    assert_eq!(
        (&report["triangles"], &report["pieces"], &report["open_edges"]),
        (&2.into(), &1.into(), &4.into())
    );
    assert_eq!((&report["euler"], &report["look"]), (&1.into(), &"colors".into()));
    assert_eq!(
        report["bytes"].as_u64(),
        fs::metadata(mesh("grey.ply")).ok().map(|m| m.len())
    );
    let coverage = report["coverage"].as_f64().expect("coverage");
    assert!((0.2..0.9).contains(&coverage), "{coverage}");
    let mean = &report["test"]["mean"];
    let figure = |name: &str| mean[name].as_f64().unwrap_or(f64::NAN);
    assert_eq!(mean["n"], 2);
    assert!(
        figure("psnr") > 5.0 && figure("psnr") < 30.0 && figure("ssim") > 0.0,
        "{mean}"
    );
    let truth = &report["truth"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    // All of the mesh lies on the square; balls and poles are missing.
    assert!(number(&truth["accuracy"]["mean"]) < 1e-6, "{truth}");
    assert!(number(&truth["accuracy"]["normals_median"]) < 0.1, "{truth}");
    let within = &truth["within"][0];
    assert!(
        number(&within["precision"]) > 0.9999 && number(&within["recall"]) < 0.95,
        "{within}"
    );
    assert_eq!(
        (&within["recall_of"][0][0], &within["recall_of"][1][0]),
        (&"square".into(), &"balls".into())
    );
    assert!(
        number(&within["recall_of"][0][1]) > 0.999 && number(&within["recall_of"][1][1]) < 0.1,
        "{within}"
    );
    let [precision, recall] = [&within["precision"], &within["recall"]].map(number);
    assert!((number(&within["f1"]) - 2.0 * precision * recall / (precision + recall)).abs() < 1e-9);
    let Output { status, stdout, .. } = eval("plain.ply")
        .arg("--truth")
        .arg(mesh("grey.ply"))
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&stdout);
    assert!(
        status.success() && text.contains("chamfer 0.000000") && text.contains("drawn by plain"),
        "{text}"
    );
    assert!(text.contains("4 vertices, 2 triangles, 1 pieces, 4 open"), "{text}");
}

#[test]
fn a_model_of_triangles_is_a_mesh_with_colors_by_direction() {
    let figures = |name: &str| -> Value {
        let Output { status, stdout, stderr } = eval(name).arg("--json").output().expect("the program starts");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        serde_json::from_slice(&stdout).expect("JSON")
    };
    let (model, grey) = (figures("model.ply"), figures("grey.ply"));
    assert_eq!((&model["look"], &model["triangles"]), (&"harmonics".into(), &2.into()));
    assert_eq!(
        (&model["test"]["mean"], &model["coverage"]),
        (&grey["test"]["mean"], &grey["coverage"])
    );
}

#[test]
fn a_pixel_has_as_many_samples_as_asked() {
    let report = |samples: &str| -> Value {
        let mut command = eval("grey.ply");
        let Output { status, stdout, stderr } = command
            .args(["--json", "--samples", samples])
            .output()
            .expect("the program starts");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        serde_json::from_slice(&stdout).expect("JSON")
    };
    let [one, four] = ["1", "4"].map(report);
    assert_eq!((&one["samples"], &four["samples"]), (&1.into(), &4.into()));
    let [coarse, fine] = [&one, &four].map(|report| report["coverage"].as_f64().expect("coverage"));
    assert!(coarse != fine && (coarse - fine).abs() < 0.02, "{coarse} {fine}");
    let (code, said) = outcome(eval("grey.ply").args(["--samples", "9"]));
    assert!(code == Some(2) && said.contains("1..=8"), "{said}");
    // Depths are of the middles of pixels.
    let mut render = kiln();
    render.arg("render").arg(scene()).arg("--mesh").arg(mesh("grey.ply"));
    let (code, said) = outcome(render.args(["-o", "unused", "--depth", "--samples", "2"]));
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_model_of_triangles_is_written_for_others() {
    let scratch = Scratch::new("triangles");
    let out = scratch.join("out");
    let convert = |more: &[&str]| -> (Option<i32>, String) {
        let mut command = kiln();
        command.arg("mesh").arg(mesh("model.ply")).arg("-o").arg(&out);
        outcome(command.args(["--format", "ply,obj,glb"]).args(more))
    };
    let (code, said) = convert(&["--dry-run"]);
    assert!(
        code == Some(0) && !out.exists() && said.contains("2 triangles"),
        "{said}"
    );
    let (code, said) = convert(&[]);
    assert_eq!(code, Some(0), "{said}");
    let (objects, _) = tobj::load_obj(out.join("mesh.obj"), &tobj::GPU_LOAD_OPTIONS).expect("a foreign reader");
    assert_eq!(
        (objects[0].mesh.indices.len(), objects[0].mesh.positions.len()),
        (6, 12)
    );
    let bytes = fs::read(out.join("mesh.glb")).expect("a file");
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).expect("a foreign reader");
    let surface = document.meshes().next().and_then(|mesh| mesh.primitives().next());
    let surface = surface.expect("a surface");
    let reader = surface.reader(|_| blob.as_deref());
    assert_eq!(reader.read_positions().map(Iterator::count), Some(4));
    let bytes = fs::read(out.join("mesh.ply")).expect("a file");
    let back = ply::read(&bytes[..]).expect("a mesh");
    assert!(back.triangles().len() == 2 && back.colors().is_some());
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(
        (&report["surface"]["pieces"], &report["files"][2]),
        (&1.into(), &"mesh.glb".into())
    );
    assert_eq!(report["up"], "scene");
    let (code, said) = convert(&["--up", "y"]);
    assert_eq!(code, Some(0), "{said}");
    let (turned, _) = tobj::load_obj(out.join("mesh.obj"), &tobj::GPU_LOAD_OPTIONS).expect("a foreign reader");
    let [before, after] = [&objects, &turned].map(|objects| objects[0].mesh.positions.as_chunks::<3>().0);
    assert!(before.iter().any(|[_, y, _]| *y != 0.0));
    let half_turn: Vec<[f32; 3]> = before.iter().map(|[x, y, z]| [*x, 0.0 - y, 0.0 - z]).collect();
    assert_eq!(after, half_turn);
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(report["up"], "y");
    let (code, said) = convert(&["--set", "mesh.voxel=0.1"]);
    assert!(
        code == Some(2) && said.contains("mesh already") && said.contains("mesh.voxel"),
        "{code:?} {said}"
    );
    // Where splats are wanted it is named.
    let mut command = kiln();
    command.arg("eval").arg(mesh("model.ply")).arg(scene());
    let (code, said) = outcome(command.args(["--quiet", "--set", "device.allow_cpu=true"]));
    assert!(
        code == Some(4) && said.contains("model of triangles"),
        "{code:?} {said}"
    );
}

#[test]
fn pictures_of_a_mesh_are_the_same_every_time() {
    let scratch = Scratch::new("mesh-pictures");
    let render = |folder: &str, more: &[&str]| -> PathBuf {
        let out = scratch.join(folder);
        let mut command = kiln();
        command
            .arg("render")
            .arg(scene())
            .arg("--mesh")
            .arg(mesh("grey.ply"))
            .arg("-o")
            .arg(&out);
        command.args(["--quiet", "--set", "device.allow_cpu=true"]).args(more);
        let (code, said) = outcome(&mut command);
        assert_eq!(code, Some(0), "{said}");
        out
    };
    let (a, b) = (render("a", &[]), render("b", &[]));
    let name = "view_0000.png";
    assert_eq!(
        fs::read(a.join(name)).expect("a picture"),
        fs::read(b.join(name)).expect("a picture")
    );
    let picture = image::open(a.join(name)).expect("a picture").into_rgb8();
    let grey = picture.pixels().filter(|p| p.0 == [128; 3]).count();
    assert!(grey > 300 && picture.pixels().any(|p| p.0 == [0; 3]), "{grey}");
    let depth = render("depth", &["--depth"]);
    let scales: Value = serde_json::from_slice(&fs::read(depth.join("depth.json")).expect("scales")).expect("JSON");
    let nearest = scales["views"][0]["nearest"].as_f64().expect("a depth");
    assert!(nearest > 1.0 && nearest < 3.5, "{nearest}");
}

#[test]
fn what_is_no_mesh_is_named() {
    let said = |command: &mut Command, code: i32, wanted: &[&str]| {
        let (found, text) = outcome(command);
        assert_eq!(found, Some(code), "{text}");
        assert!(wanted.iter().all(|part| text.contains(part)), "{text}");
    };
    said(&mut eval("points.ply"), 4, &["points.ply holds 4 points and no faces"]);
    said(&mut eval("nothing.ply"), 4, &["nothing.ply cannot be read"]);
    said(&mut eval("mesh.stl"), 4, &["no mesh file by its name", ".glb"]);
    let no_tests = ["--set", "dataset.hold_out=false"];
    said(
        eval("grey.ply").args(no_tests),
        4,
        &["has no test views", "dataset.hold_out=8"],
    );
    said(
        eval("grey.ply").args(["--truth", "absent.ply"]),
        4,
        &["absent.ply cannot be read"],
    );
    let mut damaged = fs::File::create(mesh("damaged.glb")).expect("a file");
    damaged.write_all(b"glTF\x02\0\0\0").expect("bytes");
    said(&mut eval("damaged.glb"), 4, &["damaged.glb", "no description"]);
    let mut command = kiln();
    command.arg("eval").arg(scene()).args(["--truth", "solids"]);
    said(&mut command, 2, &["--mesh"]);
    let bundled = kiln_tests::runs::scene();
    let mut command = kiln();
    command.arg("eval").arg(bundled).arg("--mesh").arg(mesh("grey.ply"));
    command.args([
        "--truth",
        "solids",
        "--quiet",
        "--set",
        "device.allow_cpu=true",
        "-r",
        "80",
    ]);
    said(&mut command, 4, &["truth.ply", "synth --kind solids"]);
    let file = mesh("grey.ply");
    let mut command = kiln();
    command
        .arg("render")
        .arg(scene())
        .arg("--mesh")
        .arg(&file)
        .arg("-o")
        .arg(file.join("out"));
    command.args(["--quiet", "--set", "device.allow_cpu=true"]);
    let (code, text) = outcome(&mut command);
    assert!(code == Some(7) && text.contains("grey.ply"), "{code:?} {text}");
}

#[test]
fn a_trained_model_becomes_textured_files() {
    let scratch = Scratch::new("textured-run");
    let run = scratch.join("run");
    let (code, said) = outcome(&mut train_command(&run, &[QUICK]));
    assert_eq!(code, Some(0), "{said}");
    let mut command = kiln();
    command
        .arg("mesh")
        .arg(&run)
        .args(["--quiet", "--format", "ply,obj,glb"]);
    command.args(["--set", "mesh.texture.size=512", "--set", "mesh.min_triangles=0"]);
    let (code, said) = outcome(&mut command);
    assert_eq!(code, Some(0), "{said}");
    let folder = run.join("mesh");
    for name in ["mesh.ply", "mesh.obj", "mesh.mtl", "mesh.png", "mesh.glb"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let report: Value = serde_json::from_slice(&fs::read(folder.join("report.json")).expect("a report")).expect("JSON");
    assert_eq!(report["texture"]["side"], 512);
    assert!(
        report["texture"]["seen"].as_f64().is_some_and(|seen| seen > 0.5),
        "{report}"
    );
    // The textured mesh is at least as near the photos as one with a colour a vertex.
    let psnr = |name: &str| {
        let mut command = kiln();
        command
            .arg("eval")
            .arg(&run)
            .arg("--mesh")
            .arg(folder.join(name))
            .args(["--quiet", "--json"]);
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        let report: Value = serde_json::from_slice(&stdout).expect("JSON");
        report["test"]["mean"]["psnr"].as_f64().expect("a figure")
    };
    let [ply, obj, glb] = ["mesh.ply", "mesh.obj", "mesh.glb"].map(psnr);
    assert!((obj - glb).abs() < 1e-3, "{obj} {glb}");
    assert!(glb > ply - 0.5, "textured {glb} dB, colours of vertices {ply} dB");
}
