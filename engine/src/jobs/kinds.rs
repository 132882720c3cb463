//! Files that are neither a model nor a scene: what they are, and what makes one of them.
//!
//! Goes by names, and by the first bytes where a name says too little. Says nothing of files that a reader takes, whatever they are called.

use std::ffi::OsStr;
use std::path::Path;

use kiln_files::read_start;

use super::shell::{MAKE_FOLDER, word};
use crate::export::check_model;

/// First bytes of models.
const MODELS: [&[u8]; 5] = [b"ply\n", b"ply\r", b"\xef\xbb\xbfply", b"glTF", b"NGSP"];
const FILMS: [&str; 7] = ["mp4", "mov", "m4v", "avi", "mkv", "webm", "insv"];
const ARCHIVES: [&str; 8] = ["zip", "tar", "gz", "tgz", "7z", "rar", "xz", "bz2"];
const PICTURES: [&str; 14] = [
    "jpg", "jpeg", "png", "tif", "tiff", "webp", "exr", "bmp", "gif", "heic", "heif", "avif", "dng", "raw",
];
const CLOUDS: [&str; 7] = ["las", "laz", "e57", "pcd", "xyz", "pts", "ptx"];
const SPLATS: [&str; 6] = ["splat", "ksplat", "lcc", "splatv", "spx", "rad"];
const MESHES: [&str; 9] = ["stl", "fbx", "gltf", "dae", "3ds", "blend", "usdz", "usd", "off"];
const TRAINERS: [&str; 5] = ["pth", "pt", "ckpt", "safetensors", "npz"];
/// Parts of a COLMAP model, without their endings.
const SPARSE: [&str; 6] = ["cameras", "images", "points3d", "rigs", "frames", "project"];
/// Descriptions of data sets.
const DATA_SETS: [&str; 6] = [
    "transforms.json",
    "transforms_train.json",
    "transforms_test.json",
    "transforms_val.json",
    "metadata.json",
    "database.db",
];

/// What a file is and what to do with it, where that is plain to see.
pub(crate) fn foreign(file: &Path) -> Option<(&'static str, String)> {
    if !file.is_file() || is_model(file) {
        return None;
    }
    let lower = |part: Option<&OsStr>| part.map_or_else(String::new, |part| part.to_string_lossy().to_lowercase());
    let [name, stem, ending] = [file.file_name(), file.file_stem(), file.extension()].map(lower);
    let of = |endings: &[&str]| endings.contains(&ending.as_str());
    if of(&FILMS) {
        Some(("a film, from which photos must be taken first", of_film(file)))
    } else if DATA_SETS.contains(&name.as_str()) || name.starts_with("transforms") && of(&["json"]) {
        Some(("a part of a data set", data_set(around(file))))
    } else if of(&["bin", "txt", "ini"]) && SPARSE.contains(&stem.as_str()) {
        Some(("a part of a COLMAP model", data_set(scene_around(file))))
    } else if of(&["zip"]) && check_model(file).is_ok() {
        None
    } else {
        of_ending(file, &of)
    }
}

/// The same where nothing but the ending counts.
fn of_ending(file: &Path, of: &dyn Fn(&[&str]) -> bool) -> Option<(&'static str, String)> {
    let shown = word(file);
    Some(if of(&ARCHIVES) {
        (
            "an archive, in which nothing is read",
            "unpack it, and name the folder or the file that comes out".to_owned(),
        )
    } else if of(&PICTURES) {
        (
            "a picture",
            format!(
                "name the folder that holds photos or a model of them, for example {}",
                word(around(file))
            ),
        )
    } else if of(&CLOUDS) {
        (
            "a point cloud of another format than PLY",
            format!(
                "CloudCompare, or `pdal translate {shown} points.ply`, makes a PLY file of it; `kiln train SCENE --init-ply points.ply` \
                 starts from its points"
            ),
        )
    } else if of(&SPLATS) {
        (
            "a file of splats of a format that is not read here",
            format!(
                "`splat-transform {shown} model.ply` makes a PLY file of it (`npm install -g @playcanvas/splat-transform`), and so \
                 does SuperSplat in a browser"
            ),
        )
    } else if of(&MESHES) {
        (
            "a mesh of a format that is not read here",
            "Blender or MeshLab write it as GLB, OBJ or PLY".to_owned(),
        )
    } else if of(&TRAINERS) {
        (
            "a state of another trainer",
            "name the PLY file that it exported, such as point_cloud/iteration_30000/point_cloud.ply".to_owned(),
        )
    } else {
        return None;
    })
}

fn data_set(folder: &Path) -> String {
    format!("name the folder of the data set, {}", word(folder))
}

/// The scene that a part of a COLMAP model lies in: above `sparse`, or around the file.
fn scene_around(file: &Path) -> &Path {
    let folder = around(file);
    let mut above = folder.ancestors().take(3);
    let scene = above
        .find(|folder| folder.ends_with("sparse"))
        .and_then(Path::parent)
        .unwrap_or(folder);
    match scene.as_os_str().is_empty() {
        true => Path::new("."),
        false => scene,
    }
}

/// What to do with a file that stands in the place of a PLY file of points.
pub(crate) fn instead_of_points(file: &Path) -> Option<String> {
    let ending = file.extension()?.to_string_lossy().to_lowercase();
    let endings = [&CLOUDS[..], &SPLATS, &MESHES].concat();
    let (what, instead) = foreign(file).filter(|_| endings.contains(&ending.as_str()))?;
    Some(format!("it is {what}: {instead}"))
}

/// How photos come out of a film.
pub(crate) fn of_film(film: &Path) -> String {
    let photos = Path::new("scene").join("images");
    // PowerShell of Windows 10 knows no `&&`.
    let and = if cfg!(windows) { "`, `" } else { " && " };
    format!(
        "`{MAKE_FOLDER} {}{and}ffmpeg -i {} -qscale:v 2 -vf fps=2 {}`, then `kiln train scene --colmap`; the guide `photos-to-splats` has \
         more",
        word(&photos),
        word(film),
        word(&photos.join("%04d.jpg"))
    )
}

/// What to say where a file stands in the place of a scene's folder.
pub(crate) fn instead_of_scene(file: &Path) -> String {
    match foreign(file) {
        Some((what, instead)) => format!("it is {what}: {instead}"),
        None if is_model(file) => {
            let shown = word(file);
            format!(
                "`kiln train SCENE --init-model {shown}` starts from a model, `--init-ply {shown}` from points; name the folder of the \
                 photos in the place of SCENE"
            )
        }
        None => {
            let what = "name the folder that holds photos or a model of them";
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            folder.map_or_else(
                || what.to_owned(),
                |folder| format!("{what}, for example {}", word(folder)),
            )
        }
    }
}

fn is_model(file: &Path) -> bool {
    read_start(file, 8).is_ok_and(|start| MODELS.iter().any(|mark| start.starts_with(mark)))
}

/// The folder that a file lies in.
fn around(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(Path::new(""));
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::jobs::shell::tests::plain;
    use kiln_scratch::Scratch;

    #[test]
    fn files_are_known_by_their_names() {
        let scratch = Scratch::new();
        for (name, what, instead) in [
            ("a.MP4", "a film", "ffmpeg -i D/a.MP4"),
            ("a.zip", "an archive", "unpack it"),
            ("a.tar.gz", "an archive", "unpack it"),
            ("garden/transforms.json", "a part of a data set", "D/garden"),
            ("garden/transforms_train.json", "a part of a data set", "D/garden"),
            (
                "garden/sparse/0/cameras.bin",
                "a part of a COLMAP model",
                "data set, D/garden",
            ),
            (
                "garden/sparse/points3D.txt",
                "a part of a COLMAP model",
                "data set, D/garden",
            ),
            ("model/images.txt", "a part of a COLMAP model", "data set, D/model"),
            ("garden/images/1.jpg", "a picture", "D/garden/images"),
            ("a.laz", "a point cloud", "pdal translate D/a.laz"),
            ("a.splat", "a file of splats", "splat-transform D/a.splat model.ply"),
            ("a.KSPLAT", "a file of splats", "SuperSplat"),
            ("a.stl", "a mesh", "Blender"),
            ("chkpnt30000.pth", "a state of another trainer", "point_cloud.ply"),
        ] {
            let path = scratch.write(name, "x");
            let (found, hint) = foreign(&path).unwrap();
            let hint = plain(&hint, scratch.path());
            assert!(
                found.starts_with(what) && hint.contains(instead),
                "{name}: {found}: {hint}"
            );
            let scene = instead_of_scene(&path);
            assert!(scene.starts_with(&format!("it is {what}")), "{scene}");
        }
        for (name, bytes) in [
            ("model.splat", "ply\n"),
            ("a.ply", "x"),
            ("notes.txt", "x"),
            ("a.spz", "x"),
            ("meta.json", "{}"),
        ] {
            assert_eq!(foreign(&scratch.write(name, bytes)), None, "{name}");
        }
        assert_eq!(foreign(&scratch.path().join("none.mp4")), None);
        let model = scratch.write("a.ply", "ply\n");
        assert!(instead_of_scene(&model).starts_with("`kiln train SCENE --init-model "));
    }
}
