//! Models of Gaussians as other programs write them, and files that are none, through the program.

use std::fs;
use std::path::Path;
use std::process::Output;

use kiln_tests::runs::{self, Scratch};
use serde_json::Value;

const PLAIN: &str = "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3";

/// A PLY file as text; `value` gives a number for a row and the name of a property.
fn text(names: &str, count: usize, value: impl Fn(usize, &str) -> String) -> String {
    let properties: String = names
        .split(' ')
        .map(|name| format!("property float {name}\n"))
        .collect();
    let row = |at: usize| {
        let words: Vec<String> = names.split(' ').map(|name| value(at, name)).collect();
        words.join(" ") + "\n"
    };
    let rows: String = (0..count).map(row).collect();
    format!("ply\nformat ascii 1.0\nelement vertex {count}\n{properties}end_header\n{rows}")
}

fn usual(at: usize, name: &str) -> String {
    match name {
        "x" => format!("{}", at as f32 / 10.0),
        name if name.starts_with("scale") => "-3".to_owned(),
        _ => "0.5".to_owned(),
    }
}

fn kiln(folder: &Path, line: &str) -> Output {
    let words: Vec<&str> = line.split(' ').collect();
    let ended = runs::kiln().args(&words).current_dir(folder).output();
    ended.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn inspected(folder: &Path, file: &str) -> Value {
    let output = kiln(folder, &format!("inspect {file} --json"));
    assert!(output.status.success(), "{file}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn one_bad_gaussian_costs_one_gaussian_in_every_format() {
    let scratch = Scratch::new("models-nan");
    let folder = scratch.join("ünï 場");
    fs::create_dir_all(&folder).unwrap();
    let bad = |at: usize, name: &str| match (at, name) {
        (7, "y") => "nan".to_owned(),
        (8, "opacity") => "inf".to_owned(),
        (9, "rot_0" | "rot_1" | "rot_2" | "rot_3") => "0".to_owned(),
        _ => usual(at, name),
    };
    fs::write(folder.join("model.ply"), text(PLAIN, 20, bad)).unwrap();
    let found = inspected(&folder, "model.ply");
    assert_eq!((&found["gaussians"], &found["left_out"]), (&20.into(), &2.into()));
    for to in ["a.ply", "a.compressed.ply", "a.spz", "a.sog", "a.glb", "a.streamed-sog"] {
        let output = kiln(&folder, &format!("export model.ply -o {to}"));
        let words = said(&output);
        assert!(output.status.success(), "{to}: {words}");
        assert!(
            words.contains("2 of 20 Gaussians are left out") && words.contains("number 7"),
            "{to}: {words}"
        );
        assert!(words.contains("1 opacities of exactly 0 or 1"), "{to}: {words}");
    }
    assert_eq!(inspected(&folder, "a.ply")["gaussians"], 18);
    let all = text(PLAIN, 3, |_, _| "nan".to_owned());
    fs::write(folder.join("bad.ply"), all).unwrap();
    let output = kiln(&folder, "export bad.ply -o bad.spz");
    assert!(
        said(&output).contains("none of its 3 Gaussians can be drawn"),
        "{}",
        said(&output)
    );
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn what_is_no_model_is_named_with_what_to_do() {
    let scratch = Scratch::new("models-none");
    let folder = scratch.join("f");
    fs::create_dir_all(&folder).unwrap();
    for (name, what, instead) in [
        ("a.splat", "a file of splats", "splat-transform a.splat model.ply"),
        ("a.mov", "a film", "ffmpeg -i a.mov"),
        ("a.zip", "an archive", "unpack it"),
        ("transforms.json", "a part of a data set", "name the folder"),
    ] {
        fs::write(folder.join(name), "x").unwrap();
        for command in ["inspect NAME", "export NAME -o x.spz", "plan NAME", "train NAME"] {
            let output = kiln(&folder, &command.replace("NAME", name));
            let words = said(&output);
            assert!(
                !output.status.success() && words.contains(what) && words.contains(instead),
                "{command}: {words}"
            );
        }
    }
    let output = kiln(&folder, "train nothing -c out -i 7000 --skip_coarse True");
    let words = said(&output);
    assert!(
        words.contains("3 flags are not understood here: `-c`, `-i 7000`, `--skip_coarse`"),
        "{words}"
    );
    assert_eq!(output.status.code(), Some(2));
}

/// Names of folders on Linux are bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_no_text_is_read_and_a_project_refuses_it() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new("models-bytes");
    let folder = scratch.join("f").join(std::ffi::OsStr::from_bytes(b"b\xff"));
    fs::create_dir_all(folder.join("scene/images")).unwrap();
    kiln_tests::captures::Model::bundled().write(&folder.join("scene/sparse/0"), true);
    for photo in fs::read_dir(runs::scene().join("images")).unwrap() {
        let photo = photo.unwrap();
        fs::copy(photo.path(), folder.join("scene/images").join(photo.file_name())).unwrap();
    }
    assert_eq!(inspected(&folder, "scene")["train_views"], 35);
    let output = kiln(
        &folder,
        "split scene -o project --profile cpu --allow-cpu --blocks 2 -r 80",
    );
    let words = said(&output);
    assert!(
        !output.status.success() && words.contains("bytes that are no text"),
        "{words}"
    );
}

/// A PLY file of binary numbers; `value` as for [`text`].
fn binary(names: &str, count: usize, value: impl Fn(usize, &str) -> String, is_big: bool) -> Vec<u8> {
    let order = if is_big { "big" } else { "little" };
    let whole = text(names, count, &value);
    let (header, _) = whole.split_once("end_header\n").unwrap();
    let header = header.replace("format ascii", &format!("format binary_{order}_endian"));
    let mut bytes = [header.as_bytes(), b"end_header\n"].concat();
    for at in 0..count {
        for name in names.split(' ') {
            let number: f32 = value(at, name).parse().unwrap();
            bytes.extend(if is_big {
                number.to_be_bytes()
            } else {
                number.to_le_bytes()
            });
        }
    }
    bytes
}

#[test]
fn models_of_other_trainers_are_the_same_model() {
    let scratch = Scratch::new("models-kinds");
    let folder = scratch.join("f");
    fs::create_dir_all(&folder).unwrap();
    let flat = PLAIN.replace(" scale_2", "");
    let with_normals = PLAIN.replace("f_dc_0", "nx ny nz f_dc_0");
    let value = |at: usize, name: &str| match name {
        "rot_1" | "rot_2" => format!("{}", (at % 3) as f32 / 4.0),
        name => usual(at, name),
    };
    let plain = text(PLAIN, 50, value).into_bytes();
    let files: [(&str, Vec<u8>); 7] = [
        ("ascii", plain.clone()),
        ("little", binary(PLAIN, 50, value, false)),
        ("big", binary(PLAIN, 50, value, true)),
        ("normals", text(&with_normals, 50, value).into_bytes()),
        ("crlf", text(PLAIN, 50, value).replace('\n', "\r\n").into_bytes()),
        ("flat", text(&flat, 50, value).into_bytes()),
        ("flat-binary", binary(&flat, 50, value, false)),
    ];
    let mut models = Vec::new();
    for (name, bytes) in files {
        let file = format!("{name}.ply");
        fs::write(folder.join(&file), bytes).unwrap();
        let found = inspected(&folder, &file);
        assert_eq!(found["gaussians"], 50, "{name}: {found}");
        let output = kiln(&folder, &format!("export {file} -o {name}.out.ply"));
        let words = said(&output);
        assert!(output.status.success(), "{name}: {words}");
        assert_eq!(words.contains("2D"), name.starts_with("flat"), "{name}: {words}");
        models.push((name, fs::read(folder.join(format!("{name}.out.ply"))).unwrap()));
    }
    for (name, model) in &models {
        let same = if name.starts_with("flat") {
            &models[5].1
        } else {
            &models[0].1
        };
        assert!(model == same, "{name}");
    }
    // Flat ones get a third axis that is thin, and keep all else.
    let [solid, flat] = ["ascii", "flat"].map(|name| {
        let path = folder.join(format!("{name}.out.ply"));
        kiln::export::read_model(&path).unwrap().0
    });
    assert_eq!(
        (&solid.means, &solid.quats, &solid.sh0),
        (&flat.means, &flat.quats, &flat.sh0)
    );
    for (solid, flat) in solid.log_scales.iter().zip(&flat.log_scales) {
        assert!(solid[..2] == flat[..2] && flat[2] < flat[0] - 2.0, "{flat:?}");
    }
}
