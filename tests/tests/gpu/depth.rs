//! The depth of a wall through the program.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::export::{PlyComments, PlyFlavor, RenderMode, write_ply};
use kiln_gaussians::Gaussians;
use kiln_tests::runs::{self, Scratch, json, outcome};

/// Flat opaque Gaussians in a plane at depth 5 that fill the picture, and nothing on the right of x = 1.
fn wall() -> Gaussians {
    let means: Vec<[f32; 3]> = (-40..=4)
        .flat_map(|x| (-16..=16).map(move |y| [x as f32 * 0.25, y as f32 * 0.25, 5.0]))
        .collect();
    let n = means.len();
    Gaussians {
        sh_degree: 0,
        means,
        quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
        log_scales: vec![[(0.15_f32).ln(), (0.15_f32).ln(), (0.001_f32).ln()]; n],
        logit_opacities: vec![3.0; n],
        sh0: vec![[1.0; 3]; n],
        sh_rest: Vec::new(),
        filter_3d: vec![0.0; n],
    }
}

#[test]
fn a_wall_has_its_depth_in_every_frame_of_a_path() {
    let scratch = Scratch::new("depth");
    let ply = scratch.join("wall.ply");
    let comments = PlyComments {
        render_mode: Some(RenderMode::Mip),
        kernel_size: Some(0.1),
        iteration: None,
        origin: None,
    };
    write_ply(&ply, &wall(), PlyFlavor::Fused, comments).unwrap();
    let path = scratch.join("path.json");
    // Two steps back from the wall: 5, 6 and 7 units away.
    let text = r#"{"size": [64, 48], "fps": 3, "seconds": 1, "fov_x": 60, "keyframes": [
        {"position": [0, 0, 0], "rotation": [1, 0, 0, 0]}, {"position": [0, 0, -2], "rotation": [1, 0, 0, 0]}]}"#;
    std::fs::write(&path, text).unwrap();
    let out = scratch.join("out");
    let mut command = runs::kiln();
    command
        .arg("render")
        .arg(&ply)
        .arg("-o")
        .arg(&out)
        .arg("--path")
        .arg(&path);
    let (code, said) = outcome(command.args(["--depth", "--allow-cpu", "-q"]));
    assert_eq!(code, Some(0), "{said}");
    let scales = json(&out.join("depth.json"));
    let views = scales["views"].as_array().unwrap();
    assert_eq!(views.len(), 3);
    for (at, view) in views.iter().enumerate() {
        assert_eq!(view["file"], format!("frame_{at:05}.png"));
        let picture = image::open(out.join(view["file"].as_str().unwrap())).unwrap();
        assert_eq!(picture.color(), image::ColorType::L16);
        let picture = picture.to_luma16();
        let depth = |x: u32, y: u32| f64::from(picture.get_pixel(x, y).0[0]) * view["scale"].as_f64().unwrap();
        let wanted = 5.0 + at as f64;
        for (x, y) in [(32, 24), (10, 20), (30, 30)] {
            assert!((depth(x, y) - wanted).abs() < 1e-3 * wanted, "{at}: {}", depth(x, y));
        }
        if at == 0 {
            assert_eq!(picture.get_pixel(62, 24).0[0], 0, "nothing is there");
        }
    }
}
