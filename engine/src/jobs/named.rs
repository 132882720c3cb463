//! What people name in the place of a model: a folder around it, a part of its run, a mesh.
//!
//! Looks at names and headers only. Says nothing of what it does not know: the error of whoever reads the path stands then.

use std::path::{Path, PathBuf};

use kiln_files::{is_empty, read_start};

use super::kinds::foreign;
use super::shell::word;
use super::{JobError, RequestError};
use crate::mesh::is_triangles;
use crate::project::{BlockFolder, ProjectFolder};
use crate::record::run_folder::record_path;
use crate::run::Location;

/// Bytes of a file that say what it is.
const HEADER_BYTES: u64 = 1 << 16;
/// Most bytes of the document of a GLB file.
const DOCUMENT_BYTES: u64 = 1 << 24;
/// What a GLB file of splats names in its document.
const SPLATS: &[u8] = b"KHR_gaussian_splatting";
/// Folders that are looked at for runs, and runs that are named.
const MOST_FOLDERS: usize = 1000;
const SHOWN: usize = 5;
/// Indices of SOG in a folder: with levels of detail, and without.
pub(crate) const SOG_INDICES: [&str; 2] = ["lod-meta.json", "meta.json"];
/// Folders of a run that hold states and models of it.
const PARTS: [&str; 2] = ["checkpoints", "point_cloud"];

/// What a model is named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A training begins with it.
    Train,
    /// Its figures.
    Eval,
    /// Pictures of it.
    Render,
    /// A mesh of it.
    Mesh,
    /// It in another format.
    Export,
    /// What its file holds.
    Inspect,
}

impl Purpose {
    /// The command.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Eval => "eval",
            Self::Render => "render",
            Self::Mesh => "mesh",
            Self::Export => "export",
            Self::Inspect => "inspect",
        }
    }
}

/// Finds the model of a run or a file.
///
/// # Errors
/// [`JobError::Request`] with what was named in its place, where that is plain to see, else [`JobError::Run`].
pub fn located(purpose: Purpose, target: &Path, iteration: Option<u32>) -> Result<Location, JobError> {
    let other = || other_than_a_model(purpose, target);
    if let Some(error) = other().filter(|_| target.is_file()) {
        return Err(error.into());
    }
    Location::find(target, iteration).map_err(|error| other().map_or_else(|| error.into(), JobError::from))
}

/// Why `target` is no model, where that is plain to see.
pub(crate) fn other_than_a_model(purpose: Purpose, target: &Path) -> Option<RequestError> {
    let (what, instead) = match target.is_dir() {
        true => of_folder(purpose, target)?,
        false => of_file(target)?,
    };
    Some(RequestError::NotAModel {
        path: target.to_owned(),
        what,
        instead,
    })
}

/// The same of a model of triangles, which is no model of Gaussians; `named` is what was typed.
pub(crate) fn is_of_triangles(model: &Path, named: &Path) -> Option<RequestError> {
    is_triangles(model).then(|| RequestError::NotAModel {
        path: model.to_owned(),
        what: "a model of triangles".to_owned(),
        instead: format!("`kiln mesh {}` writes it as a mesh", word(named)),
    })
}

fn of_folder(purpose: Purpose, folder: &Path) -> Option<(String, String)> {
    if let Some(index) = SOG_INDICES
        .map(|name| folder.join(name))
        .iter()
        .find(|path| path.is_file())
    {
        return Some(("a folder of SOG images".to_owned(), format!("name {}", word(index))));
    }
    if let Some(run) = run_around(folder) {
        return Some((
            format!("a part of the run {}", run.display()),
            format!("name {}", word(&run)),
        ));
    }
    let inspects = purpose == Purpose::Inspect;
    if inspects && ProjectFolder::is_one(folder) {
        let project = word(folder);
        let instead = format!(
            "`kiln status {project}` shows how far its blocks are, `kiln inspect {project}/blocks/NAME` one of them"
        );
        return Some(("a project of blocks".to_owned(), instead));
    }
    if !inspects && BlockFolder::is_one(folder) {
        let run = folder.join("run");
        return Some((
            "a block of a project".to_owned(),
            match record_path(&run).is_file() {
                true => format!("name its run, {}", word(&run)),
                false => format!("`kiln train {}` trains it", word(folder)),
            },
        ));
    }
    let runs = runs_in(folder);
    let first = runs.first()?;
    let shown = runs
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match runs.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some((
        format!("a folder of runs: {shown}{more}"),
        format!("name one of them, for example {}", word(&folder.join(first))),
    ))
}

/// Names of the runs right below a folder, sorted.
fn runs_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries
        .take(MOST_FOLDERS)
        .filter(|entry| record_path(&entry.path()).is_file());
    let mut names: Vec<String> = runs
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The run that a folder of states or models, or something in one, lies in.
fn run_around(path: &Path) -> Option<PathBuf> {
    let part = path
        .ancestors()
        .take(2)
        .find(|folder| PARTS.iter().any(|part| folder.ends_with(part)))?;
    let run = part.parent()?;
    let run = if run.as_os_str().is_empty() {
        Path::new(".")
    } else {
        run
    };
    record_path(run).is_file().then(|| run.to_owned())
}

fn of_file(file: &Path) -> Option<(String, String)> {
    // Whatever its name promises: no format has a file without a byte.
    if file.metadata().is_ok_and(|found| is_empty(&found)) {
        return Some(("an empty file".to_owned(), "copy or export it again".to_owned()));
    }
    if let Some((what, instead)) = foreign(file) {
        return Some((what.to_owned(), instead));
    }
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_mesh = match ending.to_ascii_lowercase().as_str() {
        "kiln" => {
            let what = "a checkpoint, from which `kiln train --resume` goes on".to_owned();
            let instead = match run_around(file) {
                Some(run) => format!("name its run, {}", word(&run)),
                None => "name a run, or a PLY file".to_owned(),
            };
            return Some((what, instead));
        }
        "obj" => file.is_file(),
        "ply" => is_mesh_ply(&start(file, HEADER_BYTES)?) && !is_triangles(file),
        "glb" => is_mesh_glb(&start(file, DOCUMENT_BYTES)?),
        _ => false,
    };
    is_mesh.then(|| {
        (
            "a mesh".to_owned(),
            format!(
                "`kiln eval SCENE --mesh {0}` holds it against the photos of a scene, `kiln render SCENE --mesh {0} -o FOLDER` draws it",
                word(file)
            ),
        )
    })
}

fn start(file: &Path, most: u64) -> Option<Vec<u8>> {
    read_start(file, most).ok()
}

/// True for the header of a PLY file with faces and without opacities.
fn is_mesh_ply(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let Some((header, _)) = text.split_once("end_header") else {
        return false;
    };
    let mut lines = header.lines();
    lines.next().is_some_and(|line| line.trim_end() == "ply")
        && header.contains("element face ")
        && !header.contains("element face 0\n")
        && !header.contains(" opacity")
}

/// True for a GLB file whose document is whole and names no splats.
fn is_mesh_glb(start: &[u8]) -> bool {
    let length = start.get(12..16).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let length = length.map_or(0, u32::from_le_bytes) as usize;
    let document = start.get(20..).and_then(|rest| rest.get(..length));
    start.starts_with(b"glTF")
        && document.is_some_and(|text| {
            !text.windows(SPLATS.len()).any(|word| word == SPLATS) && text.windows(8).any(|word| word == b"\"meshes\"")
        })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::jobs::shell::tests::plain;
    use kiln_scratch::Scratch;

    fn refused(scratch: &Scratch, purpose: Purpose, name: &str) -> String {
        let error = other_than_a_model(purpose, &scratch.path().join(name));
        error.map_or_else(String::new, |error| {
            let text = format!("{error}; {}", error.hint().unwrap());
            plain(&text, scratch.path())
        })
    }

    #[test]
    fn folders_around_and_inside_a_run_name_it() {
        let scratch = Scratch::new();
        for name in ["a", "b"] {
            scratch.write(&format!("runs/{name}/run.json"), "{}");
            scratch.write(&format!("runs/{name}/point_cloud/iteration_7/point_cloud.ply"), "ply");
        }
        scratch.write("runs/a/checkpoints/checkpoint_00000007.kiln", "state");
        assert_eq!(
            refused(&scratch, Purpose::Eval, "runs"),
            "D/runs is a folder of runs: a, b; name one of them, for example D/runs/a"
        );
        for part in ["point_cloud", "point_cloud/iteration_7", "checkpoints"] {
            let said = refused(&scratch, Purpose::Eval, &format!("runs/a/{part}"));
            assert_eq!(
                said,
                format!("D/runs/a/{part} is a part of the run D/runs/a; name D/runs/a")
            );
        }
        let checkpoint = refused(
            &scratch,
            Purpose::Inspect,
            "runs/a/checkpoints/checkpoint_00000007.kiln",
        );
        assert!(checkpoint.ends_with("goes on; name its run, D/runs/a"), "{checkpoint}");
        for well in ["runs/a", "runs/a/point_cloud/iteration_7/point_cloud.ply", "nothing"] {
            assert_eq!(refused(&scratch, Purpose::Eval, well), "");
        }
    }

    #[test]
    fn projects_blocks_and_folders_of_sog_are_refused() {
        let scratch = Scratch::new();
        scratch.write("city/project.json", "{}");
        scratch.write("city/blocks/b0000/block.json", "{}");
        scratch.write("x.streamed-sog/lod-meta.json", "{}");
        assert!(refused(&scratch, Purpose::Inspect, "city").contains("`kiln status D/city` shows"));
        assert_eq!(
            refused(&scratch, Purpose::Eval, "city/blocks/b0000"),
            "D/city/blocks/b0000 is a block of a project; `kiln train D/city/blocks/b0000` trains it"
        );
        assert_eq!(
            refused(&scratch, Purpose::Inspect, "city/blocks/b0000"),
            "",
            "a block is a scene"
        );
        assert_eq!(
            refused(&scratch, Purpose::Export, "x.streamed-sog"),
            "D/x.streamed-sog is a folder of SOG images; name D/x.streamed-sog/lod-meta.json"
        );
    }

    #[test]
    fn files_without_a_byte_are_called_empty_whatever_their_name() {
        let scratch = Scratch::new();
        let endings = "ply compressed.ply spz sog glb splat ksplat json obj kiln";
        for ending in endings.split(' ') {
            let name = format!("a.{ending}");
            scratch.write(&name, "");
            for purpose in [Purpose::Eval, Purpose::Export, Purpose::Inspect] {
                let said = refused(&scratch, purpose, &name);
                assert_eq!(said, format!("D/{name} is an empty file; copy or export it again"));
            }
        }
    }

    #[test]
    fn meshes_are_no_models() {
        let scratch = Scratch::new();
        let header = |rest: &str| {
            format!("ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\n{rest}end_header\n")
        };
        let faces = "element face 1\nproperty list uchar int vertex_indices\n";
        scratch.write("mesh.ply", header(faces));
        scratch.write("model.ply", header("property float opacity\n"));
        scratch.write("both.ply", header(&format!("property float opacity\n{faces}")));
        scratch.write("mesh.obj", "v 0 0 0\n");
        let glb = |document: &str| {
            let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
            bytes.extend(u32::try_from(document.len()).unwrap().to_le_bytes());
            bytes.extend(b"JSON");
            bytes.extend(document.bytes());
            bytes
        };
        scratch.write("mesh.glb", glb(r#"{"meshes":[]}"#));
        scratch.write(
            "splats.glb",
            glb(r#"{"meshes":[],"extensionsUsed":["KHR_gaussian_splatting"]}"#),
        );
        for mesh in ["mesh.ply", "mesh.obj", "mesh.glb"] {
            assert!(
                refused(&scratch, Purpose::Eval, mesh)
                    .starts_with(&format!("D/{mesh} is a mesh; `kiln eval SCENE --mesh D/{mesh}`"))
            );
        }
        for model in ["model.ply", "both.ply", "splats.glb"] {
            assert_eq!(refused(&scratch, Purpose::Eval, model), "");
        }
    }
}
