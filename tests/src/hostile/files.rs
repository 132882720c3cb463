//! Formats of several files, each out of one input.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kiln::export::file_digest;
use kiln::mesh::MeshFile;
use kiln::project::{ProjectFolder, project_overview, project_status};
use kiln::record::run_folder::RunRecord;

use super::memory::bounded;
use super::{PICTURE, model, prepared, put, reach};

/// What stands between the files of an input of texts.
const SEPARATOR: u8 = 0x1e;

/// Files of a SOG folder, each with its length in 16 bits before it: with an even first byte `meta.json` and its images, otherwise
/// `lod-meta.json`, and those of the one chunk `0_0`.
pub fn sog_folder(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    const IMAGES: [&str; 8] = [
        "meta.json",
        "means_l.webp",
        "means_u.webp",
        "quats.webp",
        "scales.webp",
        "sh0.webp",
        "shN_centroids.webp",
        "shN_labels.webp",
    ];
    let root = prepared(&PLACE, "sog_folder", |root| {
        fs::create_dir_all(root.join("0_0")).expect("a temporary folder");
    });
    let Some((kind, mut rest)) = input.split_first() else {
        return;
    };
    let mut next = || {
        let (length, behind) = rest.split_first_chunk::<2>().unwrap_or((&[0; 2], &[]));
        let (file, behind) = behind.split_at(behind.len().min(u16::from_le_bytes(*length).into()));
        rest = behind;
        file
    };
    let (index, folder) = match kind & 1 {
        0 => (root.join("meta.json"), root.to_owned()),
        _ => (root.join("lod-meta.json"), root.join("0_0")),
    };
    if kind & 1 == 1 {
        put(&index, next());
    }
    for name in IMAGES {
        put(&folder.join(name), next());
    }
    let name = ["meta.json", "lod-meta.json"][usize::from(kind & 1)];
    bounded(input, || {
        if model(&index) {
            reach(name);
        }
    });
}

/// A mesh: with an even first byte GLB, otherwise OBJ, its library and its picture, separated by bytes 0x1e; no picture is a grey one.
pub fn meshes(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let root = prepared(&PLACE, "meshes", |_| {});
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    let path = if kind & 1 == 0 {
        let path = root.join("x.glb");
        put(&path, bytes);
        path
    } else {
        let mut parts = bytes.splitn(3, |byte| *byte == SEPARATOR);
        let path = root.join("x.obj");
        put(&path, parts.next().unwrap_or_default());
        put(&root.join("x.mtl"), parts.next().unwrap_or_default());
        put(&root.join("x.png"), parts.next().unwrap_or(PICTURE));
        path
    };
    bounded(input, || {
        if let Ok(file) = MeshFile::read(&path) {
            let n = file.mesh.positions().len();
            let corners = file.mesh.triangles().iter().flatten();
            assert!(corners.into_iter().all(|corner| (*corner as usize) < n));
            assert!(file.mesh.positions().iter().flatten().all(|value| value.is_finite()));
            reach(match (kind & 1, file.texture.is_some()) {
                (0, false) => "mesh.glb",
                (0, true) => "mesh.glb with a picture",
                (_, false) => "mesh.obj",
                (_, true) => "mesh.obj with its library and picture",
            });
        }
    });
}

/// Records of a project of one block: `project.json`, `block.json`, `done.json`, `run.json`, separated by bytes 0x1e. `DIGEST` stands for
/// that of the block.
pub fn records(input: &[u8]) {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let root = prepared(&PLACE, "records", |root| {
        fs::create_dir_all(root.join("blocks/b0000/run")).expect("a temporary folder");
    });
    let mut parts = input.splitn(4, |byte| *byte == SEPARATOR);
    let mut next = || parts.next().unwrap_or_default();
    let (project, block, done, run) = (next(), next(), next(), next());
    let folder = root.join("blocks/b0000");
    put(&folder.join("block.json"), block);
    let digest = file_digest(&folder.join("block.json")).unwrap_or_default();
    let signed = |text: &[u8]| String::from_utf8_lossy(text).replace("DIGEST", &digest).into_bytes();
    put(&root.join("project.json"), &signed(project));
    put(&folder.join("done.json"), &signed(done));
    let record = folder.join("run/run.json");
    put(&record, run);
    bounded(input, || read_records(root, &record));
}

fn read_records(root: &Path, record: &Path) {
    if let Ok(record) = RunRecord::read(record) {
        reach("run.json");
        let folder = root.join("blocks/b0000/run");
        let damaged = record.plys.iter().filter(|ply| ply.damage(&folder).is_some());
        assert!(damaged.count() <= record.plys.len());
    }
    let _ = project_overview(root);
    let Ok(project) = ProjectFolder::open(root) else {
        return;
    };
    reach("project.json");
    let _ = project_status(&project);
    for block in project.blocks().unwrap_or_default() {
        reach("block.json");
        if let Ok(Some(_)) = block.done() {
            reach("done.json");
        }
        let _ = project.check_inputs(&block);
    }
}
