//! Near light and depths: records and images against the CPU twins; the fog share of a splat before a camera, and which pixels
//! training cameras see, through the program.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::{PlyComments, PlyFlavor, RenderMode, write_ply};
use kiln::step::Capacities;
use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::flags;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_tests::compare::{close, same};
use kiln_tests::runs::{self, Scratch};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{BACKGROUND, Twin, uniforms};
use kiln_twins::gaussian::View;
use kiln_twins::project::{Visible, as_near, project};
use kiln_twins::rasterize::{TileLists, rasterize};
use serde_json::Value;

/// In the middle of the model.
const LIMIT: f32 = 4.0;

#[test]
fn records_and_image_carry_near_light() {
    let wanted = records_and_image_carry(LIMIT);
    let near = wanted.iter().filter(|v| v.rgb == [1.0; 3]).count();
    assert!(near > wanted.len() / 4 && near < wanted.len() * 3 / 4, "{near}");
}

#[test]
fn records_and_image_carry_depths_below_a_limit_of_0() {
    let wanted = records_and_image_carry(-1.0);
    assert!(
        wanted
            .iter()
            .all(|v| v.rgb[0] == v.depth.ln() && v.rgb[1] == v.rgb[0] * v.rgb[0])
    );
}

/// Compares records and image of near light up to `limit` with the twins'; gives the twin's records.
fn records_and_image_carry(limit: f32) -> Vec<Visible<f32>> {
    let scene = Scene::default();
    let (camera, model, size) = (scene.camera(), scene.model(), scene.size);
    let sizes = [(size[0], size[1])];
    let capacities = Capacities::new(scene.count, scene.count, scene.count * 12, scene.sh_degree, sizes);
    let mut u = uniforms(&camera, scene.sh_degree, 1);
    (u.flags, u.near_limit) = (flags::NEAR, limit);
    let twin = Twin::new(&model);
    let view = View::new(&camera);
    let wanted: Vec<Visible<f32>> = (0..)
        .zip(twin.gaussians.iter().zip(&twin.filter_3d))
        .filter_map(|(id, (gaussian, &filter))| project(id, gaussian, filter, &view, &twin.settings))
        .map(|visible| as_near(&visible, limit))
        .collect();
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let mut gpu = staged(&capacities, &variants);
    gpu.load(&model);
    let status = gpu.run(1, &u, &scene.target());
    assert_eq!((status.stalled, status.nonfinite), (0, 0));
    let stages = Stages::read(&mut gpu, &status, &camera);
    let colors = |list: &[Visible<f32>]| -> Vec<f32> { list.iter().flat_map(|v| v.rgb).collect() };
    if limit > 0.0 {
        same("near as colour", &colors(&stages.visible), &colors(&wanted));
    } else {
        close(
            "depths as colour",
            &colors(&stages.visible),
            &colors(&wanted),
            1e-4,
            1e-5,
        );
    }
    assert!(stages.visible.iter().all(|v| v.clamped == [false; 3]));
    let lists = TileLists {
        ranges: stages.ranges.clone(),
        visible: stages.sorted.1.clone(),
    };
    let raster = rasterize(size, &stages.visible, &lists, BACKGROUND);
    let found = stages.raster.rgb.as_flattened();
    close("image", found, raster.rgb.as_flattened(), 1e-5, 1e-5);
    gpu.assert_valid();
    wanted
}

/// Grey sheets, each at a depth before (or behind, below 0) a camera at (0, 0, 4) that looks along -z and of an opacity: so wide that a picture
/// sees its middle only, where it blocks as much as its opacity says.
fn sheets(of: &[(f32, f32)]) -> Gaussians {
    let n = of.len();
    Gaussians {
        sh_degree: 0,
        means: of.iter().map(|(depth, _)| [0.0, 0.0, 4.0 - depth]).collect(),
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        log_scales: of
            .iter()
            .map(|(depth, _)| {
                let wide = (100.0 * depth.abs()).ln();
                [wide, wide, (0.001_f32).ln()]
            })
            .collect(),
        logit_opacities: of.iter().map(|(_, opacity)| (opacity / (1.0 - opacity)).ln()).collect(),
        sh0: vec![[0.0; 3]; n],
        sh_rest: Vec::new(),
        filter_3d: vec![0.0; n],
    }
}

/// Cameras at about (0, 0, 4).
const TOGETHER: [[f64; 2]; 3] = [[-0.01, 4.0], [0.0, 4.0], [0.01, 4.0]];

/// Cameras at these x and z that look along -z, the second one held out, with sparse points before (0, 0, 4), 2 away and beyond, or
/// without.
fn scene(root: &Path, points: bool, cameras: &[[f64; 2]]) {
    std::fs::create_dir_all(root).unwrap();
    let frame = |(index, [x, z]): (usize, &[f64; 2])| {
        let name = format!("photo_{index}.png");
        image::RgbImage::from_pixel(48, 32, image::Rgb([128; 3]))
            .save(root.join(&name))
            .unwrap();
        format!(
            r#"{{"file_path": "{name}", "transform_matrix":
                [[1, 0, 0, {x}], [0, 1, 0, 0], [0, 0, 1, {z}], [0, 0, 0, 1]]}}"#
        )
    };
    let frames: Vec<String> = cameras.iter().enumerate().map(frame).collect();
    let ply = if points {
        r#""ply_file_path": "points.ply","#
    } else {
        ""
    };
    let text = format!(
        r#"{{"fl_x": 48, "fl_y": 48, "cx": 24, "cy": 16, "w": 48, "h": 32, {ply}
            "test_filenames": ["photo_1.png"], "frames": [{}]}}"#,
        frames.join(",")
    );
    std::fs::write(root.join("transforms.json"), text).unwrap();
    let header =
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nend_header\n";
    // Out of the picture, 2 away, and 6 away.
    std::fs::write(root.join("points.ply"), format!("{header}9 0 3.9\n0.1 0 2\n0 0 -2\n")).unwrap();
}

/// Figures of the file of a model against a scene.
fn figures(ply: &Path, scene: &Path, more: &[&str]) -> Value {
    let mut command = runs::kiln();
    command
        .arg("eval")
        .arg(ply)
        .arg(scene)
        .args(["--json", "--allow-cpu", "-q"]);
    let done = command.args(["--set", "eval.lpips=false"]).args(more).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn light_before_the_nearest_point_is_fog() {
    let scratch = Scratch::new("near-light");
    let comments = PlyComments {
        render_mode: Some(RenderMode::Mip),
        kernel_size: Some(0.1),
        iteration: None,
        origin: None,
    };
    let [with, without] = [("with", true), ("without", false)].map(|(name, points)| {
        scene(&scratch.join(name), points, &TOGETHER);
        scratch.join(name)
    });
    let ply = scratch.join("sheets.ply");
    let evaluated = |model: &Gaussians, scene: &Path, more: &[&str]| -> Value {
        write_ply(&ply, model, PlyFlavor::Fused, comments).unwrap();
        figures(&ply, scene, more)
    };
    // What two sheets block: 0.75 of the light, and 0.9 of the rest.
    let fogged = sheets(&[(0.5, 0.75), (5.0, 0.9)]);
    let near = 0.75 / (0.75 + 0.25 * 0.9);
    for (model, wanted) in [(&fogged, near), (&sheets(&[(2.5, 0.75), (5.0, 0.9)]), 0.0)] {
        for more in [&[][..], &["--set", "model.background=white"]] {
            let file = evaluated(model, &with, more);
            let test = &file["test"];
            let share = test["views"][0]["fog_share"].as_f64().unwrap();
            assert!((share - wanted).abs() < 2e-3, "{share}, not {wanted}");
            assert_eq!(test["worst"]["fog_share"], share);
            assert_eq!(test["worst_fog_share"], share);
            assert_eq!(test["worst"]["name"], test["views"][0]["name"]);
            for view in file["train"]["views"].as_array().unwrap() {
                assert!(view.get("fog_share").is_none(), "only test views: {view}");
            }
        }
    }
    // The same where records come in bands, and nothing where there is no point to compare with.
    let bands = evaluated(&fogged, &with, &["--fault", "v_cap=1"]);
    let share = bands["test"]["views"][0]["fog_share"].as_f64().unwrap();
    assert!((share - near).abs() < 2e-3, "{share}");
    let file = evaluated(&fogged, &without, &[]);
    assert!(file["test"]["views"][0].get("fog_share").is_none(), "{file}");
    assert!(file["test"].get("worst_fog_share").is_none(), "{file}");
}

/// A wall 5 before the test camera. One training camera stands beside the test camera; one so far to the right that it sees half of
/// what that sees; and one behind both, with a second wall in between.
#[test]
fn pixels_are_counted_by_the_training_cameras_that_see_them() {
    let scratch = Scratch::new("seen-by");
    let (ply, folder) = (scratch.join("walls.ply"), scratch.join("scene"));
    scene(&folder, true, &[[0.001, 4.0], [0.0, 4.0], [2.5, 4.0], [0.0, 8.0]]);
    let comments = PlyComments {
        render_mode: Some(RenderMode::Mip),
        kernel_size: Some(0.1),
        iteration: None,
        origin: None,
    };
    write_ply(&ply, &sheets(&[(5.0, 0.99), (-2.0, 0.99)]), PlyFlavor::Fused, comments).unwrap();
    for more in [&[][..], &["--fault", "v_cap=1"], &["--set", "model.background=white"]] {
        let file = figures(&ply, &folder, more);
        let seen = &file["seen_by"];
        assert_eq!(seen["training_views"], 3, "{seen}");
        let shares: Vec<f64> = (0..6)
            .map(|row| seen["classes"][row]["share"].as_f64().unwrap())
            .collect();
        assert_eq!(shares, [0.0, 0.5, 0.5, 0.0, 0.0, 0.0], "{more:?}: {seen}");
        // Photo and render are of one grey each, so all pixels have one error.
        let [one, two, all] = [
            &seen["classes"][1]["psnr_image"],
            &seen["classes"][2]["psnr_image"],
            &file["test"]["mean"]["psnr_image"],
        ]
        .map(|psnr| psnr.as_f64().unwrap());
        assert!(
            (one - all).abs() < 0.01 && (two - all).abs() < 0.01,
            "{one} {two} {all}"
        );
    }
}
