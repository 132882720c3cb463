//! The readers of `transforms.json` and `transforms_train.json`.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use kiln_scratch::Scratch;

const LOOK: &str = "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3],[0,0,0,1]]";

fn file(shared: &str, frames: &[(&str, &str)]) -> String {
    let frames: Vec<String> = frames
        .iter()
        .map(|(path, own)| format!(r#"{{"file_path":{path:?},"transform_matrix":{LOOK}{own}}}"#))
        .collect();
    format!(r#"{{{shared}"frames":[{}]}}"#, frames.join(","))
}

#[test]
fn a_frame_overrides_what_all_share() {
    let folder = Scratch::new();
    folder.write("images/2.jpg", "");
    let shared = r#""camera_model":"OPENCV","fl_x":500,"fl_y":490,"cx":31,"cy":25,"w":64,"h":48,"k1":0.1,"k2":-0.02,
        "p1":0.001,"p2":0.002,"aabb_scale":16,"applied_transform":[[0,1,0,0],[1,0,0,0],[0,0,-1,0]],
        "ply_file_path":"./sparse_pc.ply","val_filenames":["./images/2"],"#;
    let own = r#","fl_x":600,"k1":0,"k2":0,"p1":0,"p2":0,"mask_path":"m.png""#;
    let text = file(shared, &[("./images/1.png", ""), ("images/2", own)]);
    let frames = read(&folder.write(FILE, text)).unwrap();
    let [first, second] = &frames.images[..] else {
        unreachable!("two frames were written")
    };
    assert_eq!(
        (first.name.as_str(), second.name.as_str()),
        ("images/1.png", "images/2.jpg")
    );
    assert_eq!(first.translation, [-2.0, 3.0, 5.0]);
    assert_eq!(first.lens.size, Some([64, 48]));
    assert_eq!(first.lens.centre, Some([31.0, 25.0]));
    let distortion = Distortion::polynomial([0.1, -0.02, 0.0, 0.0], [0.0; 3], [0.001, 0.002]);
    assert_eq!(first.lens.distortion, distortion);
    assert_eq!(second.lens.focal, Focal::Pixels([600.0, 490.0]));
    assert_eq!(second.lens.distortion, Distortion::None);
    assert_eq!(frames.points.as_deref(), Some("sparse_pc.ply"));
    assert_eq!(frames.held_out, Some(BTreeSet::from(["images/2.jpg".to_owned()])));
}

#[test]
fn an_angle_is_enough_and_fisheyes_are_known_by_either_key() {
    let folder = Scratch::new();
    let read = |shared: &str| read(&folder.write(FILE, file(shared, &[("a.png", "")]))).unwrap();
    let lens = read(r#""camera_angle_x":0.8,"#).images[0].lens;
    assert_eq!((lens.focal, lens.size, lens.centre), (Focal::AngleX(0.8), None, None));
    for key in [r#""is_fisheye":true"#, r#""camera_model":"OPENCV_FISHEYE""#] {
        let lens = read(&format!(r#"{key},"fl_x":300,"k1":0.03,"#)).images[0].lens;
        assert!(matches!(lens.distortion, Distortion::Fisheye { radial, .. } if radial[0] == 0.03));
    }
}

#[test]
fn damage_is_named() {
    let folder = Scratch::new();
    let fails = |text: String, needle: &str| {
        let message = read(&folder.write(FILE, text)).unwrap_err().to_string();
        assert!(
            message.contains(FILE) && message.contains(needle),
            "{needle}: {message}"
        );
    };
    let one = [("a.png", "")];
    fails("{}".into(), "frames");
    fails("{\"frames\": 7}".into(), "line 1");
    fails(file("", &one), "neither fl_x nor camera_angle_x");
    fails(file(r#""fl_x":"wide","#, &one), "line 1");
    fails(file(r#""fl_x":1e400,"#, &one), "line 1");
    fails(file(r#""fl_x":-3,"#, &one), "frame 0");
    fails(file(r#""fl_x":9,"w":3.5,"h":3,"#, &one), "w = 3.5");
    fails(
        file(r#""fl_x":9,"camera_model":"EQUIRECTANGULAR","#, &one),
        "EQUIRECTANGULAR",
    );
    fails(file(r#""fl_x":9,"#, &[("../a.png", "")]), "leaves the image folder");
    fails(file(r#""fl_x":9,"#, &[("/data/a.png", "")]), "absolute");
    fails(
        file(r#""fl_x":9,"ply_file_path":"../p.ply","#, &one),
        "leaves the image folder",
    );
    fails(
        file(r#""fl_x":9,"#, &one).replace("[1,0,0,2]", "[1,0,0,1e39]"),
        "frame 0",
    );
    fails(file(r#""fl_x":9,"#, &one).replace("[1,0,0,2]", "[1,0,2]"), "line 1");
}

fn transforms(angle: &str, path: &str, matrix: &str) -> String {
    format!(r#"{{"camera_angle_x": {angle}, "frames": [{{"file_path": {path:?}, "transform_matrix": {matrix}}}]}}"#)
}

#[test]
fn axes_are_flipped_and_the_pose_inverted() {
    let folder = Scratch::new();
    let file = folder.write(TRAIN_FILE, transforms("0.7", "./train/r_0", LOOK));
    let images = read(&file).unwrap().images;
    assert_eq!(images[0].name, "train/r_0.png");
    // a camera at (2, -5, 3) that looks along +y with z up
    assert_eq!(images[0].rotation, [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]);
    assert_eq!(images[0].translation, [-2.0, 3.0, 5.0]);
    let file = folder.write(TEST_FILE, transforms("0.7", "a.JPG", LOOK));
    assert_eq!(read(&file).unwrap().images[0].name, "a.JPG");
}

#[test]
fn damage_of_blender_files_is_named() {
    let folder = Scratch::new();
    let fails = |text: String, needle: &str| {
        let message = read(&folder.write(TRAIN_FILE, text)).unwrap_err().to_string();
        assert!(message.contains(TRAIN_FILE) && message.contains(needle), "{message}");
    };
    fails(transforms("0.7", "a", LOOK)[..60].into(), "line 1");
    fails(transforms("NaN", "a", LOOK), "line 1");
    fails(transforms("0", "a", LOOK), "field of view");
    fails(transforms("0.7", "../a", LOOK), "leaves the image folder");
    fails(transforms("0.7", "/a", LOOK), "leaves the image folder");
    fails(transforms("0.7", "a", "[[1,0,0,0],[0,1,0,0]]"), "three or four rows");
    fails(transforms("0.7", "a", "[[1,0,0],[0,1,0],[0,0,1]]"), "line 1");
    fails(
        transforms("0.7", "a", "[[2,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
        "frame 0",
    );
    fails(
        transforms("0.7", "a", "[[-1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
        "frame 0",
    );
    fails(
        transforms("0.7", "a", "[[1,0,0,1e39],[0,1,0,0],[0,0,1,0],[0,0,0,1]]"),
        "frame 0",
    );
    fails("[".repeat(100_000), "line 1");
}

#[test]
fn blender_scripts_may_say_all_that_others_do() {
    let folder = Scratch::new();
    let shared =
        r#""camera_angle_x":0.8,"fl_x":100,"fl_y":101,"cx":30,"cy":20,"w":64,"h":48,"k1":0.1,"ply_file_path":"p.ply","#;
    let frames = read(&folder.write(TRAIN_FILE, file(shared, &[("a", "")]))).unwrap();
    let lens = frames.images[0].lens;
    assert_eq!(
        (lens.focal, lens.centre, lens.size),
        (Focal::Pixels([100.0, 101.0]), Some([30.0, 20.0]), Some([64, 48]))
    );
    assert_eq!(
        lens.distortion,
        Distortion::polynomial([0.1, 0.0, 0.0, 0.0], [0.0; 3], [0.0; 2])
    );
    assert_eq!(frames.points.as_deref(), Some("p.ply"));
}

#[test]
fn keys_that_are_not_read_are_named_once() {
    let folder = Scratch::new();
    let read = |shared: &str, own: &str| {
        let text = file(&format!(r#"{shared}"fl_x":9,"#), &[("a.png", own), ("b.png", own)]);
        read(&folder.write(FILE, text)).unwrap().notices
    };
    assert!(
        read(
            r#""aabb_scale":16,"applied_scale":2,"#,
            r#","sharpness":7,"colmap_im_id":3"#
        )
        .is_empty()
    );
    assert_eq!(
        read(r#""crop":[1,{"a":2}],"#, r#","near":7,"far":8,"k5":0.1"#),
        ["transforms.json has keys that are not read: `crop`, `far` of 2 frames, `k5` of 2 frames, `near` of 2 frames"]
    );
    assert_eq!(
        read("", r#","depth_file_path":"./depth/0.png""#),
        ["transforms.json names depth maps for 2 frames (`depth_file_path`); `--depths ./depth` trains on them"]
    );
    let many: String = (0..10_000).map(|n| format!(r#""key{n}":1,"#)).collect();
    assert!(read(&many, "")[0].len() < 1000);
}

#[test]
fn frames_without_a_pose_are_left_out_and_named() {
    let folder = Scratch::new();
    for unknown in ["NaN", "-Infinity", "Infinity", "\"NaN\""] {
        let text = file(r#""fl_x":9,"#, &[("a.png", ""), ("b.png", "")]).replacen(
            "[1,0,0,2]",
            &format!("[1,0,0,{unknown}]"),
            1,
        );
        let frames = read(&folder.write(FILE, text)).unwrap();
        assert_eq!(frames.images.len(), 1, "{unknown}");
        assert_eq!(
            frames.warnings,
            ["1 of 2 frames in transforms.json have no pose (NaN or Infinity) and are left out: a.png"]
        );
    }
    // Elsewhere it is no number, and in a text no token.
    let text = file(r#""fl_x":NaN,"#, &[("a.png", "")]);
    assert!(
        read(&folder.write(FILE, text))
            .unwrap_err()
            .to_string()
            .contains("line 1")
    );
    let text = file(r#""fl_x":9,"#, &[("NaN, a \\\" NaN.png", "")]);
    assert_eq!(
        read(&folder.write(FILE, text)).unwrap().images[0].name,
        "NaN, a /\" NaN.png"
    );
}

#[test]
fn scaled_axes_are_no_other_pose() {
    let folder = Scratch::new();
    let text = file(r#""fl_x":9,"#, &[("a.png", "")]);
    let plain = read(&folder.write(FILE, text.clone())).unwrap().images.remove(0);
    let scaled = text.replace(
        "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3]",
        "[[2.5,0,0,2],[0,0,-2.5,-5],[0,2.5,0,3]",
    );
    let scaled = read(&folder.write(FILE, scaled)).unwrap().images.remove(0);
    assert_eq!(
        (plain.rotation, plain.translation),
        (scaled.rotation, scaled.translation)
    );
}

#[test]
fn lists_say_which_frames_are_for_what() {
    let folder = Scratch::new();
    let frames = [("1.png", ""), ("2.png", ""), ("3.png", ""), ("4.png", "")];
    let read = |lists: &str| read(&folder.write(FILE, file(&format!(r#"{lists}"fl_x":9,"#), &frames))).unwrap();
    let names = |list: &BTreeSet<String>| list.iter().cloned().collect::<Vec<_>>().join(" ");
    let all = read(r#""train_filenames":["1.png"],"test_filenames":["./2.png"],"val_filenames":["3.png"],"#);
    assert_eq!(names(&all.held_out.unwrap()), "2.png");
    assert_eq!(names(&all.unused), "3.png 4.png");
    assert_eq!(all.notices.len(), 2, "{:?}", all.notices);
    let val = read(r#""val_filenames":["3.png"],"#);
    assert_eq!(
        (names(&val.held_out.unwrap()), val.unused.len()),
        ("3.png".to_owned(), 0)
    );
    let strangers = read(r#""train_filenames":["1.png","2.png","3.png","4.png","9.png"],"#);
    assert_eq!((strangers.held_out, strangers.unused.len()), (None, 0));
    assert!(strangers.warnings[0].contains("of no frame: 9.png"));
}

#[test]
fn masks_go_with_their_frames() {
    let folder = Scratch::new();
    let text = file(
        r#""fl_x":9,"#,
        &[
            ("a.png", r#","mask_path":"./m/a.png""#),
            ("b.png", r#","mask_path":null"#),
        ],
    );
    let frames = read(&folder.write(FILE, text)).unwrap();
    assert_eq!(
        frames.masks,
        BTreeMap::from([("a.png".to_owned(), "m/a.png".to_owned())])
    );
    let text = file(r#""fl_x":9,"#, &[("a.png", r#","mask_path":"../m.png""#)]);
    assert!(read(&folder.write(FILE, text)).is_err());
}

#[test]
fn distortion_beside_a_model_without_one_is_named() {
    let folder = Scratch::new();
    for (shared, warnings) in [
        (r#""camera_model":"PINHOLE","fl_x":300,"k1":0.1,"#, 1),
        (r#""camera_model":"SIMPLE_PINHOLE","fl_x":300,"p2":-0.1,"#, 1),
        (r#""camera_model":"PINHOLE","fl_x":300,"k1":0,"p1":0.0,"#, 0),
        (r#""camera_model":"OPENCV","fl_x":300,"k1":0.1,"#, 0),
        (r#""fl_x":300,"k1":0.1,"#, 0),
    ] {
        let frames = read(&folder.write(FILE, file(shared, &[("a.png", ""), ("b.png", "")]))).unwrap();
        assert_eq!(frames.warnings.len(), warnings, "{shared}");
        let reported = frames
            .warnings
            .iter()
            .all(|reported| reported.starts_with("2 frames in transforms.json have a distortion"));
        assert!(reported, "{:?}", frames.warnings);
    }
}

/// The guide lists every key: those that are read, and those that are passed over.
#[test]
fn the_guide_has_all_keys() {
    let guide = include_str!("../../../../../docs/guide/photos-to-splats.md");
    let (_, part) = guide.split_once("### Keys of `transforms.json`").unwrap();
    let (part, _) = part.split_once("###").unwrap();
    let words = |text: &str| -> BTreeSet<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let (table, rest) = part.split_once("These change nothing").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .flat_map(|row| words(&format!("`{}", row.split('|').next().unwrap_or_default())))
        .collect();
    let (harmless, _) = rest.split_once("Every other key").unwrap();
    let harmless = words(harmless);
    let known: BTreeSet<String> = HARMLESS
        .iter()
        .chain(&["depth_unit_scale_factor"])
        .map(|key| (*key).to_owned())
        .collect();
    assert_eq!(harmless, known);
    // What the reader takes is all that the guide lists, and nothing else.
    let source = include_str!("../transforms.rs");
    let (_, taken) = source.split_once("fn take<").unwrap();
    let (taken, _) = taken.split_once("other => {").unwrap();
    let arms = taken
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"));
    let taken: BTreeSet<String> = arms.map(|(key, _)| key.to_owned()).collect();
    assert!(taken.len() > 20);
    assert_eq!(listed, taken);
}
