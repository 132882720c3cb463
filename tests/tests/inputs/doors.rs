//! Files that a format names beside itself, and records, that are something else: pipes and devices are not waited for, and what lies
//! outside of the folder is not read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use kiln::export::{read_cameras, read_model};
use kiln::mesh::MeshFile;
use kiln::project::ProjectFolder;
use kiln::record::run_folder::RunRecord;
use kiln_formats::sog::{Splats, write_files};
use kiln_tests::projects::MadeProject;
use kiln_tests::runs::{self, Scratch, json};

const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n";

/// Some Gaussians in a row.
struct Few(usize);

impl Splats for Few {
    fn len(&self) -> usize {
        self.0
    }
    fn sh_degree(&self) -> u32 {
        0
    }
    fn mean(&self, index: usize) -> [f32; 3] {
        [index as f32, 0.0, 0.0]
    }
    fn quat(&self, _: usize) -> [f32; 4] {
        [1.0, 0.0, 0.0, 0.0]
    }
    fn log_scales(&self, _: usize) -> [f32; 3] {
        [-3.0; 3]
    }
    fn opacity(&self, _: usize) -> f32 {
        0.5
    }
    fn sh0(&self, _: usize) -> [f32; 3] {
        [0.5; 3]
    }
    fn rest(&self, _: usize) -> &[f32] {
        &[]
    }
}

/// An error with all that it comes from.
fn said(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn refused<T, E: std::error::Error>(read: Result<T, E>, words: [&str; 2]) {
    let found = read.err().map_or(String::new(), |error| said(&error));
    assert!(words.iter().all(|word| found.contains(word)), "{words:?}: {found}");
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn images_of_a_sog_folder_lie_in_it() {
    let scratch = Scratch::new("doors-sog");
    let folder = scratch.join("sog");
    fs::create_dir_all(&folder).unwrap();
    write_files(&Few(4), false, &mut |name, bytes| {
        fs::write(folder.join(name), bytes).map_err(kiln_formats::Error::Io)
    })
    .unwrap();
    let (meta, image) = (folder.join("meta.json"), folder.join("means_l.webp"));
    assert_eq!(read_model(&meta).unwrap().0.means.len(), 4);
    fs::rename(&image, scratch.join("outside.webp")).unwrap();
    symlink("/dev/zero", &image).unwrap();
    refused(read_model(&meta), ["means_l.webp", "lies outside"]);
    fs::remove_file(&image).unwrap();
    symlink("../outside.webp", &image).unwrap();
    refused(read_model(&meta), ["means_l.webp", "lies outside"]);
    fs::remove_file(&image).unwrap();
    pipe(&image);
    refused(read_model(&meta), ["means_l.webp", "it is a pipe"]);
    fs::remove_file(&image).unwrap();
    fs::rename(scratch.join("outside.webp"), folder.join("kept")).unwrap();
    symlink("kept", &image).unwrap();
    assert_eq!(read_model(&meta).unwrap().0.means.len(), 4);
}

#[test]
fn libraries_and_pictures_of_a_mesh_lie_in_its_folder() {
    let scratch = Scratch::new("doors-obj");
    let folder = scratch.join("mesh");
    fs::create_dir_all(folder.join("materials")).unwrap();
    fs::create_dir_all(folder.join("pictures")).unwrap();
    let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/picture.png");
    for to in ["mesh/pictures/a.png", "outside.png"] {
        fs::copy(&picture, scratch.join(to)).unwrap();
    }
    let mesh = folder.join("a.obj");
    let read = |library: &str, picture: &str| {
        fs::write(folder.join("materials/a.mtl"), format!("newmtl m\nmap_Kd {picture}\n")).unwrap();
        fs::write(&mesh, format!("mtllib {library}\n{OBJ}")).unwrap();
        MeshFile::read(&mesh)
    };
    let good = "materials/a.mtl";
    assert!(read(good, "../pictures/a.png").unwrap().texture.is_some());
    fs::write(scratch.join("outside.mtl"), "newmtl m\n").unwrap();
    refused(read("../outside.mtl", "x"), ["outside.mtl", "lies outside"]);
    refused(read("../../..", "x"), ["cannot be read", "lies outside"]);
    refused(read("pictures", "x"), ["pictures", "it is a folder"]);
    refused(read(good, "../../outside.png"), ["outside.png", "lies outside"]);
    let absolute = scratch.join("outside.png").display().to_string();
    refused(read(good, &absolute), ["outside.png", "lies outside"]);
    pipe(&folder.join("pipe"));
    refused(read("pipe", "x"), ["pipe", "it is a pipe"]);
    refused(read(good, "../pipe"), ["pipe", "it is a pipe"]);
}

#[test]
fn records_are_files_and_name_what_is_theirs() {
    let scratch = Scratch::new("doors-records");
    let record = scratch.join("run.json");
    symlink("/dev/zero", &record).unwrap();
    refused(RunRecord::read(&record), ["run.json", "it is a device"]);
    let cameras = scratch.join("cameras.json");
    pipe(&cameras);
    refused(read_cameras(&cameras), ["cameras.json", "it is a pipe"]);

    let root = scratch.join("city");
    let made = MadeProject::new(&root, &[("b0000", [[None; 2]; 2])]);
    made.done("b0000");
    let block = ProjectFolder::open(&root).unwrap().block("b0000").unwrap();
    assert!(block.done().unwrap().is_some());
    let (done, ply) = (
        block.root.join("done.json"),
        "run/point_cloud/iteration_40/point_cloud.ply",
    );
    fs::copy(block.root.join(ply), scratch.join("outside.ply")).unwrap();
    let mut index = json(&done);
    index["model"]["name"] = "../../../outside.ply".into();
    fs::write(&done, index.to_string()).unwrap();
    refused(block.done(), ["outside.ply", "lies outside"]);
    index["model"]["name"] = ply.into();
    fs::write(&done, index.to_string()).unwrap();
    fs::remove_file(block.root.join(ply)).unwrap();
    symlink(scratch.join("outside.ply"), block.root.join(ply)).unwrap();
    refused(block.done(), ["point_cloud.ply", "lies outside"]);
    fs::remove_file(&done).unwrap();
    symlink("/dev/zero", &done).unwrap();
    refused(block.done(), ["done.json", "it is a device"]);
}

/// `ulimit -f` comes with a signal that ends a process without a word.
#[test]
fn a_limit_of_file_sizes_is_named() {
    let scratch = Scratch::new("doors-limit");
    let model = scratch.join("a.ply");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run/point_cloud/iteration_40/point_cloud.ply");
    let text = fs::read(golden).unwrap();
    fs::write(&model, &text).unwrap();
    let program = runs::kiln();
    let ended = Command::new("sh")
        .args(["-c", r#"ulimit -f 1; exec "$0" "$@""#])
        .arg(program.get_program())
        .args(["export", "a.ply", "-o", "b.ply"])
        .current_dir(scratch.join(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(7), "{said}");
    assert!(said.contains("b.ply") && said.contains("arge"), "{said}");
    assert!(!scratch.join("b.ply").exists());
}
