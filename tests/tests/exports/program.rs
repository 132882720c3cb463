//! `kiln export` as people use it.

use std::fs;
use std::path::Path;

use kiln::export::{PlyComments, PlyFlavor, read_ply, write_ply};
use kiln_tests::runs::{Scratch, kiln};

use crate::exports::model::{MIP, random};
use crate::exports::spz_reader;

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn export(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = kiln().arg("export").args(arguments).output().expect("the program");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A run folder with one model, as training leaves it.
fn run(scratch: &Scratch) -> std::path::PathBuf {
    let run = scratch.join("run");
    let folder = run.join("point_cloud/iteration_30000");
    fs::create_dir_all(&folder).expect("a folder");
    let model = random(600, 3, 70);
    write_ply(&folder.join("point_cloud_raw.ply"), &model, PlyFlavor::Raw, MIP).expect("a file");
    write_ply(&folder.join("point_cloud.ply"), &model, PlyFlavor::Fused, MIP).expect("a file");
    run
}

#[test]
fn a_run_is_exported_beside_its_model_or_where_asked() {
    let scratch = Scratch::new("export");
    let run = run(&scratch);
    let folder = run.join("point_cloud/iteration_30000");
    for (format, name) in [
        ("spz", "point_cloud.spz"),
        ("glb", "point_cloud.glb"),
        ("sog", "point_cloud.sog"),
        ("compressed-ply", "point_cloud.compressed.ply"),
    ] {
        let (code, out, said) = export(&[text(&run), "--format", format]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(out.trim_end(), text(&folder.join(name)));
        assert!(
            said.starts_with("600 of 600 Gaussians of ") && said.contains("SH degree 3"),
            "{said}"
        );
        assert!(fs::metadata(folder.join(name)).is_ok_and(|found| found.len() > 1000));
    }
    // The ending names the format; missing folders are made.
    let output = scratch.join("some/where/a.spz");
    let line = [
        "-o",
        text(&output),
        "--max-splats",
        "100",
        "--sh-degree",
        "1",
        "--spz-version",
        "4",
        "-q",
    ];
    let (code, out, said) = export(&[&[text(&run)], &line[..]].concat());
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(out.trim_end(), text(&output));
    let (header, splats) = spz_reader::read(&fs::read(&output).expect("the file"));
    assert_eq!(
        (header.version, header.sh_degree, header.flags, splats.len()),
        (4, 1, 1, 100)
    );
}

#[test]
fn a_ply_file_is_cut_and_keeps_its_values() {
    let scratch = Scratch::new("export");
    let fused = run(&scratch).join("point_cloud/iteration_30000/point_cloud.ply");
    let output = scratch.join("part.ply");
    let line = [
        text(&fused),
        "--out",
        text(&output),
        "--crop",
        "-1,-2,-3,1,2,3",
        "--sh-degree",
        "2",
    ];
    let (code, _, said) = export(&line);
    assert_eq!(code, Some(0), "{said}");
    let (whole, _) = read_ply(&fused).expect("a model");
    let (part, comments) = read_ply(&output).expect("a model");
    assert_eq!((comments, part.sh_degree), (MIP, 2));
    let inside = |mean: &[f32; 3]| (0..3).all(|axis| mean[axis].abs() <= axis as f32 + 1.0);
    let numbers: Vec<usize> = (0..whole.len()).filter(|&i| inside(&whole.means[i])).collect();
    assert!(numbers.len() > 100 && numbers.len() < 500);
    let means: Vec<_> = numbers.iter().map(|&i| whole.means[i]).collect();
    assert_eq!(part.means, means);
    for (at, &number) in numbers.iter().enumerate() {
        assert_eq!(part.log_scales[at], whole.log_scales[number]);
        assert_eq!(part.logit_opacities[at], whole.logit_opacities[number]);
        assert_eq!(
            part.sh_rest[at * 24..(at + 1) * 24],
            whole.sh_rest[number * 45..number * 45 + 24]
        );
    }
    // of all of them the strongest, the same each time
    let strongest = |name: &str| {
        let path = scratch.join(name);
        let (code, _, said) = export(&[text(&fused), "-o", text(&path), "--max-splats", "50"]);
        assert_eq!(code, Some(0), "{said}");
        fs::read(path).expect("the file")
    };
    assert_eq!(strongest("a.ply"), strongest("b.ply"));
}

#[test]
fn coarse_positions_are_told_and_a_box_helps() {
    let scratch = Scratch::new("export");
    let mut model = random(300, 0, 71);
    model.means[5] = [1e6, 0.0, 0.0];
    let path = scratch.join("far.ply");
    write_ply(&path, &model, PlyFlavor::Raw, MIP).expect("a file");
    let (code, _, said) = export(&[text(&path), "--format", "spz", "-q"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("warning: positions are rounded to 0.125 ") && said.contains("`--crop`"),
        "{said}"
    );
    let (code, _, said) = export(&[text(&path), "--format", "spz", "-q", "--crop", "-9,-9,-9,9,9,9"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let (header, splats) = spz_reader::read(&fs::read(scratch.join("far.spz")).expect("the file"));
    assert_eq!((header.fraction_bits, splats.len()), (12, 299));
}

#[test]
fn refusals_name_what_to_do_and_leave_files_alone() {
    let scratch = Scratch::new("export");
    let run = run(&scratch);
    let raw = run.join("point_cloud/iteration_30000/point_cloud_raw.ply");
    let before = fs::read(&raw).expect("the model");
    let old = scratch.join("old.glb");
    fs::write(&old, "old").expect("a file");
    let refused = |arguments: &[&str], expected: i32, words: &str| {
        let (code, out, said) = export(arguments);
        assert_eq!((code, out.as_str()), (Some(expected), ""), "{said}");
        assert!(said.starts_with("error: ") && said.contains(words), "{said}");
    };
    refused(&[text(&run), "-o", text(&raw)], 2, "is the model itself");
    refused(&[text(&run)], 2, "no format is given");
    refused(
        &[text(&run), "-o", text(&old), "--crop", "90,90,90,91,91,91"],
        2,
        "no Gaussian lies in the crop box",
    );
    refused(
        &[text(&run), "--format", "glb", "--crop", "1,0,0,0,1,1"],
        2,
        "six numbers",
    );
    refused(&[text(&run), "--format", "glb", "--max-splats", "0"], 2, "--max-splats");
    refused(
        &[text(&run), "--format", "glb", "--iteration", "7"],
        4,
        "there is 30000",
    );
    refused(&[text(&scratch.join("none")), "--format", "glb"], 4, "does not exist");
    let damaged = scratch.join("damaged.ply");
    fs::write(&damaged, &before[..before.len() - 9]).expect("a file");
    refused(&[text(&damaged), "-o", text(&old)], 4, "truncated");
    let empty = scratch.join("empty.ply");
    write_ply(
        &empty,
        &kiln_gaussians::Gaussians::default(),
        PlyFlavor::Fused,
        PlyComments::default(),
    )
    .expect("a file");
    refused(&[text(&empty), "-o", text(&old)], 4, "no Gaussian that can be drawn");
    for name in ["empty.sog", "empty.spz", "nothing.ply"] {
        let nothing = scratch.join(name);
        fs::write(&nothing, "").expect("a file");
        refused(
            &[text(&nothing), "-o", text(&old)],
            4,
            &format!("{name} is an empty file"),
        );
    }
    assert_eq!(fs::read(&raw).expect("the model"), before);
    assert_eq!(fs::read(&old).expect("the file"), b"old");
}

/// Levels of detail are a folder that appears whole, is read again level by level, and is never written over.
#[cfg(target_os = "linux")]
#[test]
fn streamed_folders_appear_whole() {
    let scratch = Scratch::new("export");
    let run = run(&scratch);
    let out = scratch.join("out");
    fs::create_dir_all(&out).expect("a folder");
    let folder = out.join("garden");
    let line = [text(&run), "-o", text(&folder), "--format", "streamed-sog"];
    let (code, _, said) = export(&line);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("4 levels of 600, 300, 150, 75 Gaussians"), "{said}");
    let count = |name: &str| kiln::export::read_model(&folder.join(name)).expect("a model").0.len();
    assert_eq!(
        [count("lod-meta.json"), count("0_0/meta.json"), count("1_0/meta.json")],
        [600, 600, 300]
    );
    let (code, _, said) = export(&line);
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("is there already"), "{said}");
    fs::remove_dir_all(&folder).expect("no folder");
    let mut command = kiln();
    command.arg("export").args(line);
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "bash"]);
    limited.arg(command.get_program()).args(command.get_args());
    let (code, said) = kiln_tests::runs::outcome(&mut limited);
    assert_eq!(code, Some(7), "{said}");
    assert_eq!(fs::read_dir(&out).expect("the folder").count(), 0, "nothing is left");
}

/// Files may not grow beyond 8 KiB, as on a disk that is full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let scratch = Scratch::new("export");
    let run = run(&scratch);
    let folder = scratch.join("out");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, version) in [
        ("a.spz", "3"),
        ("b.spz", "4"),
        ("c.glb", ""),
        ("d.compressed.ply", ""),
        ("e.ply", ""),
        ("f.sog", ""),
    ] {
        let path = folder.join(name);
        fs::write(&path, "old").expect("a file");
        let mut command = kiln();
        command.args(["export", text(&run), "-o", text(&path)]);
        if !version.is_empty() {
            command.args(["--spz-version", version]);
        }
        let mut limited = std::process::Command::new("bash");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "bash"]);
        limited.arg(command.get_program()).args(command.get_args());
        let (code, said) = kiln_tests::runs::outcome(&mut limited);
        assert_eq!(code, Some(7), "{said}");
        assert!(said.contains(name), "{said}");
        assert_eq!(fs::read(&path).expect("the file"), b"old");
    }
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 6, "no half files");
}
