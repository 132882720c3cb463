//! Bytes from anywhere, handed to everything that reads files or requests.
//!
//! Each function is one fuzz target (`tests/fuzz`) and is called on the stored corpus by the test `hostile_input`. It must
//! come back: neither panic nor hang, nor take memory that the input does not justify. What a reader accepts must hold
//! what it promises.

mod files;
mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use kiln::export::{read_camera_path, read_cameras, read_model, read_ply, summarize_file, summarize_ply};
use kiln::serve::{Listen, Server};
use kiln::train::checkpoint;
use kiln_config::{Inputs, extended_profile, resolve};
use kiln_scene::{
    Axes, ImageOptions, SceneIndex, SceneOptions, Split, Undistort, ViewId, decode, photo_bytes, read_points,
};
use sha2::{Digest as _, Sha256};

pub use files::{meshes, records, sog_folder};
use memory::bounded;

/// A target: its name, which is also its folder of the corpus, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 14] = [
    ("colmap_bin", colmap_bin),
    ("colmap_txt", colmap_txt),
    ("transforms", transforms),
    ("ply", ply),
    ("delivered", delivered),
    ("sog_folder", sog_folder),
    ("meshes", meshes),
    ("records", records),
    ("checkpoint", checkpoint),
    ("config", config),
    ("masks", masks),
    ("depths", depths),
    ("normals", normals),
    ("http", http),
];

/// What was read to its end so far.
static REACHED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// What inputs were whole, so that their readers came to their ends: a target that never gets there looks at little.
#[must_use]
pub fn reached() -> BTreeSet<&'static str> {
    REACHED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn reach(what: &'static str) {
    REACHED.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
}

/// A grey PNG of 4 x 3 pixels.
const PICTURE: &[u8] = include_bytes!("../fuzz/picture.png");

/// A folder for the files of this process, in memory where the system has such a place.
fn folder(target: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let above = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let path = above.join(format!("kiln-hostile-{target}-{}", std::process::id()));
    fs::create_dir_all(&path).expect("a temporary folder");
    path
}

/// A folder that `fill` prepares when it is first asked for.
fn prepared(place: &'static OnceLock<PathBuf>, target: &str, fill: impl FnOnce(&Path)) -> &'static Path {
    place.get_or_init(|| {
        let path = folder(target);
        fill(&path);
        path
    })
}

/// A file that stays open between inputs, and what it holds.
struct Kept {
    file: File,
    bytes: Vec<u8>,
}

/// Makes `bytes` the content of a file. Opening and truncating files is most of what an input would cost, so they stay open
/// and those that hold the right bytes already are left alone.
fn put(path: &Path, bytes: &[u8]) {
    static FILES: Mutex<BTreeMap<PathBuf, Kept>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(kept) = files.get_mut(path) else {
        let mut file = File::create(path).expect("a temporary file");
        file.write_all(bytes).expect("room for a temporary file");
        let bytes = bytes.to_owned();
        files.insert(path.to_owned(), Kept { file, bytes });
        return;
    };
    if kept.bytes == bytes {
        return;
    }
    kept.file.rewind().expect("a temporary file");
    kept.file.write_all(bytes).expect("room for a temporary file");
    if bytes.len() < kept.bytes.len() {
        kept.file.set_len(bytes.len() as u64).expect("a temporary file");
    }
    kept.bytes.clear();
    kept.bytes.extend_from_slice(bytes);
}

fn pictures(root: &Path) {
    for name in ["images/a.png", "images/b.png"] {
        fs::create_dir_all(root.join("images")).expect("a temporary folder");
        put(&root.join(name), PICTURE);
    }
}

/// Removes the folders that the targets made.
pub fn tidy() {
    let more = [
        "transforms-nerfstudio",
        "transforms-blender",
        "masks-image",
        "masks-mask",
    ];
    for target in TARGETS.map(|(target, _)| target).into_iter().chain(more) {
        let _ = fs::remove_dir_all(folder(target));
    }
}

/// Loads a scene and checks what trainers rely on, also with fisheyes as they are.
fn load(root: &Path, options: &SceneOptions) -> Option<SceneIndex> {
    let kept = SceneOptions {
        undistort: Undistort::ExceptFisheye,
        ..options.clone()
    };
    if let Some(scene) = load_once(root, &kept) {
        for (_, view) in scene.views() {
            let camera = &view.camera;
            let ray = camera.ray([0.3 * camera.width_px as f32, 0.2 * camera.height_px as f32]);
            assert!(
                camera.lens.is_none() || ray.is_none_or(|ray| ray.iter().all(|value| value.is_finite())),
                "a ray that is not finite"
            );
        }
    }
    load_once(root, options)
}

fn load_once(root: &Path, options: &SceneOptions) -> Option<SceneIndex> {
    let scene = SceneIndex::load(root, options).ok()?;
    for (_, view) in scene.views() {
        let camera = &view.camera;
        let numbers = camera.rotation.iter().flatten().chain(&camera.translation);
        assert!(
            numbers.clone().all(|value| value.is_finite()),
            "a camera that is not finite"
        );
    }
    let finite = |point: &kiln_scene::Point| point.position.iter().all(|value| value.is_finite());
    assert!(scene.points.iter().all(finite), "a point that is not finite");
    Some(scene)
}

/// Three files of a COLMAP model: two lengths of 16 bits, then cameras, images, points.
pub fn colmap_bin(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let root = prepared(&PLACE, "colmap_bin", |root| {
        pictures(root);
        fs::create_dir_all(root.join("sparse/0")).expect("a temporary folder");
    });
    let Some((lengths, rest)) = input.split_first_chunk::<4>() else {
        return;
    };
    let [a, b, c, d] = *lengths;
    let cut = |bytes: &[u8], length: [u8; 2]| bytes.len().min(u16::from_le_bytes(length).into());
    let (cameras, rest) = rest.split_at(cut(rest, [a, b]));
    let (images, points) = rest.split_at(cut(rest, [c, d]));
    for (name, bytes) in [("cameras", cameras), ("images", images), ("points3D", points)] {
        put(&root.join(format!("sparse/0/{name}.bin")), bytes);
    }
    load(root, &SceneOptions::default());
}

/// Three files of a COLMAP model as text, separated by bytes 0x1e.
pub fn colmap_txt(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let root = prepared(&PLACE, "colmap_txt", |root| {
        pictures(root);
        fs::create_dir_all(root.join("sparse/0")).expect("a temporary folder");
    });
    let mut parts = input.splitn(3, |byte| *byte == 0x1e);
    for name in ["cameras", "images", "points3D"] {
        put(
            &root.join(format!("sparse/0/{name}.txt")),
            parts.next().unwrap_or_default(),
        );
    }
    load(root, &SceneOptions::default());
}

/// What frames may name beside photos: points and a mask.
fn named_by_frames(root: &Path) {
    pictures(root);
    fs::create_dir_all(root.join("masks")).expect("a temporary folder");
    put(&root.join("masks/m.png"), PICTURE);
    let points = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 1\n";
    put(&root.join("p.ply"), points.as_bytes());
}

/// The first byte chooses the reader, the rest is its JSON: Nerfstudio and Blender, which are one reader for two files, a camera path or
/// `cameras.json`.
pub fn transforms(input: &[u8]) {
    static PLACES: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    let Some((kind, text)) = input.split_first() else {
        return;
    };
    let which = usize::from(*kind & 1);
    let name = ["nerfstudio", "blender"][which];
    let root = prepared(&PLACES[which], &format!("transforms-{name}"), named_by_frames);
    match kind & 3 {
        0 | 1 => {
            put(&root.join(["transforms.json", "transforms_train.json"][which]), text);
            load(root, &SceneOptions::default());
        }
        2 => {
            let path = root.join("path.json");
            put(&path, text);
            let _ = read_camera_path(&path);
        }
        _ => {
            let path = root.join("cameras.json");
            put(&path, text);
            let _ = read_cameras(&path);
        }
    }
}

/// A PLY file: as points, as Gaussians, and as something to describe.
pub fn ply(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let path = prepared(&PLACE, "ply", |_| {}).join("x.ply");
    put(&path, input);
    if let Ok((points, _)) = read_points(&path, [0.0; 3]) {
        assert!(points.iter().all(|p| p.position.iter().all(|value| value.is_finite())));
    }
    if let Ok((model, _)) = read_ply(&path) {
        let finite = |values: &[[f32; 3]]| values.iter().flatten().all(|value| value.is_finite());
        assert!(finite(&model.means) && finite(&model.log_scales) && finite(&model.sh0));
        assert_eq!(model.means.len(), model.logit_opacities.len());
    }
    let _ = summarize_ply(&path);
}

/// A file that models are handed out in; the first byte chooses its name.
pub fn delivered(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    let name = ["x.spz", "x.glb", "x.compressed.ply", "x.sog"][usize::from(*kind % 4)];
    let path = prepared(&PLACE, "delivered", |_| {}).join(name);
    put(&path, bytes);
    bounded(input, || {
        let _ = summarize_file(&path);
        if model(&path) {
            reach(name);
        }
    });
}

/// Reads a model and checks that it is whole; true for one with Gaussians.
fn model(path: &Path) -> bool {
    read_model(path).is_ok_and(|(model, _)| {
        let rest = 3 * model.rest_coefficients();
        assert_eq!(model.sh_rest.len(), rest * model.len());
        let parts = [
            model.quats.len(),
            model.log_scales.len(),
            model.sh0.len(),
            model.filter_3d.len(),
        ];
        assert_eq!(parts, [model.len(); 4]);
        !model.is_empty()
    })
}

/// A checkpoint. With a first byte of 1 the rest is a footer that gets its digest and 16 bytes of tensors before it;
/// otherwise it is the file.
pub fn checkpoint(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let path = prepared(&PLACE, "checkpoint", |_| {}).join("checkpoint_00000001.kiln");
    match input.split_first() {
        Some((1, footer)) => put(
            &path,
            &[
                &b"KILNCKP3sixteen bytes..."[..],
                footer,
                &(footer.len() as u64).to_le_bytes(),
                &Sha256::digest(footer),
                b"KILNCKP3",
            ]
            .concat(),
        ),
        _ => put(&path, input),
    }
    let _ = checkpoint::open(&path);
}

/// A configuration file.
pub fn config(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let path = prepared(&PLACE, "config", |_| {}).join("config.yaml");
    put(&path, input);
    // Most of it is no YAML; the shipped layers need not be read for that.
    if extended_profile(&path).is_ok() {
        let _ = resolve(&Inputs {
            file: Some(path),
            ..Inputs::default()
        });
    }
}

/// A picture: with an even first byte a mask, otherwise an image.
pub fn masks(input: &[u8]) {
    static PLACES: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    let which = usize::from(*kind & 1);
    let name = ["masks-mask", "masks-image"][which];
    let root = prepared(&PLACES[which], name, |root| {
        pictures(root);
        let text = r#"{"fl_x":4,"w":4,"h":3,"frames":[
            {"file_path":"images/a.png","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,3],[0,0,0,1]]}]}"#;
        put(&root.join("transforms.json"), text.as_bytes());
    });
    put(&root.join(["images/a.mask.png", "images/a.png"][which]), bytes);
    let options = SceneOptions {
        eval: false,
        ..SceneOptions::default()
    };
    if let Some(scene) = load(root, &options) {
        let id = ViewId {
            split: Split::Train,
            index: 0,
        };
        let background = ImageOptions::default().background;
        if let Ok(photo) = decode(&scene, id, background) {
            let camera = &scene.train[0].camera;
            let pixels = u64::from(camera.width_px) * u64::from(camera.height_px);
            assert_eq!(photo.bytes().len() as u64, photo_bytes(pixels, scene.parts()));
        }
    }
}

/// Kinds of maps of photos.
const MAP_ENDINGS: [&str; 3] = ["png", "exr", "npy"];

/// A depth map of a photo that shows twelve points; the first byte names its kind.
pub fn depths(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    let root = prepared(&PLACE, "depths", |root| {
        pictures(root);
        let text = r#"{"fl_x":4,"w":4,"h":3,"ply_file_path":"points.ply","frames":[
            {"file_path":"images/a.png","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]}"#;
        put(&root.join("transforms.json"), text.as_bytes());
        let mut points =
            "ply\nformat ascii 1.0\nelement vertex 12\nproperty float x\nproperty float y\nproperty float z\n\
                          end_header\n"
                .to_owned();
        for pixel in 0..12_u8 {
            // one in each pixel, at depths from 4 on; these cameras look along -z
            let [column, row] = [pixel % 4, pixel / 4].map(f32::from);
            let depth = 4.0 + f32::from(pixel);
            let [x, y] = [(column - 1.5) / 4.0 * depth, (1.0 - row) / 4.0 * depth];
            points += &format!("{x} {y} {}\n", -depth);
        }
        put(&root.join("points.ply"), points.as_bytes());
        for ending in MAP_ENDINGS {
            fs::create_dir_all(root.join(ending)).expect("a temporary folder");
        }
    });
    // a folder of each, because files stay
    let ending = MAP_ENDINGS[usize::from(*kind) % MAP_ENDINGS.len()];
    put(&root.join(ending).join(format!("a.{ending}")), bytes);
    let options = SceneOptions {
        eval: false,
        depths: Some(ending.into()),
        ..SceneOptions::default()
    };
    if let Some(scene) = load(root, &options) {
        let id = ViewId {
            split: Split::Train,
            index: 0,
        };
        if let Ok(photo) = decode(&scene, id, ImageOptions::default().background) {
            assert_eq!(photo.depths().map(<[_]>::len), Some(1 + 4 * 3));
        }
    }
}

/// A normal map of a photo; the first byte names its kind.
pub fn normals(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    let root = prepared(&PLACE, "normals", |root| {
        pictures(root);
        let text = r#"{"fl_x":4,"w":4,"h":3,"frames":[
            {"file_path":"images/a.png","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]}"#;
        put(&root.join("transforms.json"), text.as_bytes());
        for ending in MAP_ENDINGS {
            fs::create_dir_all(root.join(ending)).expect("a temporary folder");
        }
    });
    let ending = MAP_ENDINGS[usize::from(*kind) % MAP_ENDINGS.len()];
    put(&root.join(ending).join(format!("a.{ending}")), bytes);
    let options = SceneOptions {
        eval: false,
        normals: Some((ending.into(), Axes::Opengl)),
        ..SceneOptions::default()
    };
    if let Some(scene) = load(root, &options) {
        let id = ViewId {
            split: Split::Train,
            index: 0,
        };
        if let Ok(photo) = decode(&scene, id, ImageOptions::default().background) {
            assert_eq!(photo.normals().map(<[_]>::len), Some(4 * 3));
        }
    }
}

/// What a client sends to `kiln view`; `$` stands for the token.
pub fn http(input: &[u8]) {
    static SERVER: OnceLock<(Server, String)> = OnceLock::new();
    let (server, token) = SERVER.get_or_init(|| {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
        let listen = Listen {
            port: 0,
            ..Listen::default()
        };
        let server = Server::bind(&golden, &listen).expect("a port of this machine");
        let url = server.url();
        let (_, token) = url.split_once("token=").expect("a token in the address");
        let token = token.to_owned();
        (server, token)
    });
    let mut requests = Vec::new();
    for byte in input {
        match byte {
            b'$' => requests.extend_from_slice(token.as_bytes()),
            other => requests.push(*other),
        }
    }
    let answers = server.answer(&requests);
    assert!(
        answers.is_empty() || answers.starts_with(b"HTTP/1."),
        "no answer of HTTP"
    );
}
