//! Frames of constructed paths, and what is refused.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use kiln_scratch::Scratch;

fn read(text: &str) -> Result<Vec<(String, Camera)>, String> {
    let scratch = Scratch::new();
    // as some editors write it
    scratch.write("path.json", format!("\u{feff}{text}"));
    read_camera_path(&scratch.path().join("path.json")).map_err(|error| error.what)
}

fn near(a: [f32; 3], b: [f32; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
}

/// Where the camera looks, in world space.
fn forward(camera: &Camera) -> [f32; 3] {
    camera.rotation[2]
}

#[test]
fn a_straight_path_moves_evenly() {
    let frames = read(
        r#"{"size": [64, 48], "fps": 10, "seconds": 1.1, "fov_x": 90, "keyframes": [
            {"position": [0, 0, 0], "rotation": [1, 0, 0, 0]},
            {"position": [1, 0, 0], "rotation": [1, 0, 0, 0]},
            {"position": [2, 0, 0], "rotation": [2, 0, 0, 0]}]}"#,
    )
    .unwrap();
    assert_eq!(frames.len(), 11);
    assert_eq!(
        (frames[0].0.as_str(), frames[10].0.as_str()),
        ("frame_00000", "frame_00010")
    );
    for (frame, (_, camera)) in frames.iter().enumerate() {
        assert!(
            near(camera.position(), [0.2 * frame as f32, 0.0, 0.0]),
            "{frame}: {camera:?}"
        );
        assert!(near(forward(camera), [0.0, 0.0, 1.0]));
        assert!((camera.fx - 32.0).abs() < 1e-4 && (camera.fy - 32.0).abs() < 1e-4);
        assert_eq!((camera.cx, camera.cy, camera.width_px), (32.0, 24.0, 64));
    }
}

#[test]
fn rotations_turn_the_short_way_at_constant_speed() {
    // From no turn to 90 degrees about y, given with the opposite sign.
    let h = std::f64::consts::FRAC_1_SQRT_2;
    let text = format!(
        r#"{{"size": [8, 8], "fps": 3, "seconds": 1, "fov_y": 60, "keyframes": [
            {{"position": [0, 0, 0], "rotation": [1, 0, 0, 0]}},
            {{"position": [0, 0, 0], "rotation": [{}, 0, {}, 0]}}]}}"#,
        -h, -h
    );
    let frames = read(&text).unwrap();
    let half = std::f32::consts::FRAC_1_SQRT_2;
    assert!(near(forward(&frames[1].1), [half, 0.0, half]), "{:?}", frames[1]);
    assert!(near(forward(&frames[2].1), [1.0, 0.0, 0.0]));
}

#[test]
fn a_closed_orbit_keeps_looking_at_its_centre() {
    let text = r#"{"size": [8, 8], "fps": 8, "seconds": 1, "fov_x": 60, "loop": true, "up": [0, 0, 1], "keyframes": [
        {"position": [2, 0, 0], "look_at": [0, 0, 0]}, {"position": [0, 2, 0], "look_at": [0, 0, 0]},
        {"position": [-2, 0, 0], "look_at": [0, 0, 0]}, {"position": [0, -2, 0], "look_at": [0, 0, 0]}]}"#;
    let frames = read(text).unwrap();
    assert_eq!(frames.len(), 8);
    assert!(near(frames[2].1.position(), [0.0, 2.0, 0.0]) && near(frames[6].1.position(), [0.0, -2.0, 0.0]));
    for (_, camera) in &frames {
        let p = camera.position();
        let distance = p.iter().map(|v| v * v).sum::<f32>().sqrt();
        assert!((1.7..2.05).contains(&distance), "{p:?}");
        assert!(near(forward(camera), p.map(|v| -v / distance)), "{camera:?}");
        // The picture's downward axis points down in the world.
        assert!(camera.rotation[1][2] < -0.99);
        // Right, down, forward: a rotation, no mirror.
        let r = camera.rotation;
        let x = [
            r[1][1] * r[2][2] - r[1][2] * r[2][1],
            r[1][2] * r[2][0] - r[1][0] * r[2][2],
        ];
        assert!((x[0] - r[0][0]).abs() < 1e-5 && (x[1] - r[0][1]).abs() < 1e-5);
    }
    // All four gaps are alike, so the curve has the square's symmetry.
    let length = |at: usize| frames[at].1.position().iter().map(|v| v * v).sum::<f32>();
    assert!((length(1) - length(3)).abs() < 1e-4 && (length(1) - length(7)).abs() < 1e-4);
}

#[test]
fn times_and_lenses_of_keyframes() {
    let text = r#"{"size": [100, 50], "fps": 1, "fx": 80, "keyframes": [
        {"position": [0, 0, 0], "rotation": [1, 0, 0, 0], "time": 0},
        {"position": [3, 0, 0], "rotation": [1, 0, 0, 0], "time": 1, "fx": 160, "fy": 40, "cx": 10, "cy": 20},
        {"position": [9, 0, 0], "rotation": [1, 0, 0, 0], "time": 3}]}"#;
    let frames = read(text).unwrap();
    assert_eq!(frames.len(), 3);
    assert!(near(frames[2].1.position(), [9.0, 0.0, 0.0]));
    let timed = text.replace("\"fps\": 1", "\"fps\": 4");
    let frames = read(&timed).unwrap();
    assert_eq!(frames.len(), 12);
    let last = &frames[11].1;
    assert!((last.fx - 80.0).abs() < 1e-3 && (last.fy - 80.0).abs() < 1e-3);
    assert!(frames.iter().all(|(_, camera)| camera.fx > 0.0 && camera.fy > 0.0));
}

#[test]
fn one_keyframe_is_a_still() {
    let text = r#"{"size": [8, 8], "fps": 2, "seconds": 1, "fov_x": 60, "keyframes":
        [{"position": [1, 2, 3], "rotation": [0, 1, 0, 0]}]}"#;
    let frames = read(text).unwrap();
    assert_eq!(frames.len(), 2);
    assert!(
        frames
            .iter()
            .all(|(_, camera)| near(camera.position(), [1.0, 2.0, 3.0]))
    );
}

#[test]
fn what_is_wrong_is_named() {
    let path =
        |keyframes: &str, rest: &str| format!(r#"{{"size": [8, 8], "seconds": 1{rest}, "keyframes": [{keyframes}]}}"#);
    let still = r#"{"position": [0, 0, 0], "rotation": [1, 0, 0, 0]}"#;
    let fov = r#", "fov_x": 60"#;
    for (text, words) in [
        (path("", fov), "`keyframes` is empty"),
        (path(still, ""), "keyframe 0: no lens"),
        (
            path(r#"{"position": [0, 0, 0]}"#, fov),
            "either `rotation` or `look_at`",
        ),
        (
            path(r#"{"position": [0, 0, 0], "look_at": [0, 0, 0]}"#, fov),
            "`look_at` is the position",
        ),
        (
            path(r#"{"position": [0, 0, 0], "rotation": [0, 0, 0, 0]}"#, fov),
            "`rotation` has no length",
        ),
        (
            path(r#"{"position": [0, 1e300, 0], "rotation": [1, 0, 0, 0]}"#, fov),
            "finite",
        ),
        (
            path(still, r#", "fov_x": 0"#),
            "`fov_x` is 0; a field of view must be above 0",
        ),
        (
            path(still, r#", "fov_y": 190"#),
            "`fov_y` is 190; a field of view must be above 0 and below 180 degrees",
        ),
        (path(still, r#", "fx": -3"#), "focal lengths above 0"),
        (path(still, r#", "fov_x": 60, "fps": 0"#), "`fps` is 0"),
        (path(still, fov).replace("[8, 8]", "[0, 8]"), "`size` is 0 x 8"),
        (
            path(still, fov).replace("\"seconds\": 1", "\"seconds\": 1e9"),
            "at most 100000",
        ),
        (path(still, fov).replace("\"seconds\": 1,", ""), "`seconds` is missing"),
        (path(still, r#", "fov_x": 60, "fpps": 3"#), "fpps"),
        ("[]".to_owned(), "camera path"),
    ] {
        let what = read(&text).unwrap_err();
        assert!(what.contains(words), "{text}: {what}");
    }
    assert!(read_camera_path(Path::new("/nonexistent.json")).is_err());
}

/// Frames of nerfstudio's viewer: axes right, up, backwards, in a world that was turned, shifted and made smaller before training.
#[test]
fn paths_of_nerfstudio_are_read() {
    let folder = std::env::temp_dir().join(format!("kiln-nerfstudio-path-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("camera_path.json");
    // A quarter turn about z, then a metre along x, at half size.
    let moved = r#"{"transform": [[0, -1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]], "scale": 0.5}"#;
    let read = |frame: &str, rest: &str| {
        let text = format!(
            r#"{{"camera_type": "perspective", "render_width": 64, "render_height": 48, "fps": 24, "seconds": 1, "keyframes": [],
            "camera_path": [{frame}]{rest}}}"#
        );
        std::fs::write(&file, text).unwrap();
        read_camera_path(&file).map_err(|e| e.what)
    };
    let frame = |matrix: &str| format!(r#"{{"camera_to_world": {matrix}, "fov": 90, "aspect": 1.33}}"#);
    let flat = "[1,0,0,2, 0,1,0,3, 0,0,1,4, 0,0,0,1]";
    let two = format!("{}, {}", frame(flat), frame("[[1,0,0,2],[0,1,0,3],[0,0,1,4]]"));
    let plain = read(&two, "").unwrap();
    assert_eq!(plain.len(), 2);
    assert_eq!(plain[0].0, "frame_00000");
    assert_eq!(plain[0].1, plain[1].1);
    let camera = &plain[0].1;
    assert_eq!((camera.width_px, camera.height_px), (64, 48));
    assert!((camera.fx - 24.0).abs() < 1e-4 && camera.fx == camera.fy);
    // It looks along -z with y up.
    assert_eq!(camera.rotation, [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]);
    assert_eq!(camera.translation, [-2.0, 3.0, 4.0]);

    std::fs::write(folder.join("dataparser_transforms.json"), moved).unwrap();
    let camera = read(&frame(flat), "").unwrap().remove(0).1;
    // (2, 3, 4) / 0.5 - (1, 0, 0) = (3, 6, 8), turned back: (6, -3, 8).
    let position = [0, 1, 2].map(|c| {
        let sum: f32 = (0..3).map(|r| camera.rotation[r][c] * camera.translation[r]).sum();
        -sum
    });
    assert!(
        position.iter().zip([6.0, -3.0, 8.0]).all(|(a, b)| (a - b).abs() < 1e-5),
        "{position:?}"
    );
    // Right was (1, 0, 0) there and is (0, -1, 0) here.
    assert_eq!(camera.rotation[0], [0.0, -1.0, 0.0]);

    for (frame, rest, words) in [
        (
            frame("[1, 2]"),
            "",
            "frame 0 of `camera_path`: `camera_to_world` must have",
        ),
        (frame("[2,0,0,2, 0,1,0,3, 0,0,1,4]"), "", "must be a rotation"),
        (frame(flat).replace("90", "180"), "", "`fov` is 180"),
        (String::new(), "", "0 frames"),
        (frame(flat).replace("\"fov\"", "\"fow\""), "", "fov"),
    ] {
        let what = read(&frame, rest).unwrap_err();
        assert!(what.contains(words), "{frame}: {what}");
    }
    std::fs::write(folder.join("dataparser_transforms.json"), moved.replace("0.5", "0")).unwrap();
    assert!(
        read(&frame(flat), "")
            .unwrap_err()
            .contains("dataparser_transforms.json")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
