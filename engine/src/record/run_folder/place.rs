//! Where a run goes.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{RUN, record_path};
use super::{RunFolder, RunRecord};
use kiln_config;
use kiln_scene::file_safe;

/// Folder of runs without an output of their own.
const RUNS: &str = "runs";

/// Which run of a name is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// A new one, beside those that are there.
    New,
    /// The one without a number.
    First,
    /// The newest: the highest number.
    Newest,
}

impl Which {
    /// Of a run that goes on or that replaces what is in its way.
    #[must_use]
    pub const fn of(resume: bool, overwrite: bool) -> Self {
        match (resume, overwrite) {
            (true, _) => Self::Newest,
            (false, true) => Self::First,
            (false, false) => Self::New,
        }
    }
}

/// The folder of a run of a scene. With `output` alone it is that folder; with `output` and a name it is `output/NAME`,
/// so that a folder holds several runs, unless `output` is the folder of a run itself. Without `output` it is
/// `runs/NAME` or, for a new run, the first of `runs/NAME`, `runs/NAME-2`, ... that is not taken; for one that goes on the
/// last of these that is a run of the scene.
#[must_use]
pub fn place(run: &kiln_config::Run, scene: &str, which: Which) -> PathBuf {
    let name = run.name.as_deref().map(file_safe);
    match (&run.output, name) {
        (Some(output), Some(name)) if !Path::new(output).join(RUN).exists() => Path::new(output).join(name),
        (Some(output), _) => PathBuf::from(output),
        (None, name) => {
            let name = name.unwrap_or_else(|| file_safe(scene));
            let runs = Path::new(RUNS);
            match which {
                Which::New => RunFolder::unused(runs, &name),
                Which::First => runs.join(name),
                Which::Newest => newest(runs, &name, scene),
            }
        }
    }
}

/// The run `NAME-N` with the largest N below `parent` that is of the same scene, else `NAME`. Without a name of the scene it is
/// that of the run `NAME`.
fn newest(parent: &Path, name: &str, scene: &str) -> PathBuf {
    let first = parent.join(name);
    let scene_of = |folder: &Path| RunRecord::read(&record_path(folder)).ok().map(|run| run.scene.name);
    let wanted = match scene {
        "" => scene_of(&first),
        scene => Some(scene.to_owned()),
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let number = entry
            .file_name()
            .to_str()?
            .strip_prefix(name)?
            .strip_prefix('-')?
            .to_owned();
        // Written as `unused` writes it.
        let number = number
            .parse()
            .ok()
            .filter(|n: &u32| *n >= 2 && n.to_string() == number)?;
        let found = scene_of(&entry.path())?;
        // `room-2` may be a scene of its own, beside `room`.
        let is_same = wanted.as_ref() == Some(&found);
        is_same.then(|| (number, entry.path()))
    });
    numbered.max().map_or(first, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    fn run(name: Option<&str>, output: Option<&Path>) -> kiln_config::Run {
        kiln_config::Run {
            name: name.map(str::to_owned),
            output: output.map(|path| path.display().to_string()),
        }
    }

    #[test]
    fn several_runs_share_a_folder_by_name() {
        let scratch = Scratch::new();
        let root = scratch.path().join("runs");
        let at = |name, which| place(&run(name, Some(&root)), "garden", which);
        assert_eq!(at(None, Which::New), root);
        for which in [Which::New, Which::First, Which::Newest] {
            assert_eq!(at(Some("garden-1"), which), root.join("garden-1"));
            assert_eq!(
                at(Some("../x"), which),
                root.join("_.._x"),
                "a name never leaves the folder"
            );
        }
        // The folder that a message named goes on being meant when the name is typed again.
        scratch.write("runs/run.json", "{}");
        assert_eq!(at(Some("garden-1"), Which::Newest), root);
    }

    #[test]
    fn without_a_folder_runs_go_below_runs() {
        let at = |name, which| place(&run(name, None), "no such scene here", which);
        for which in [Which::First, Which::Newest] {
            assert_eq!(at(None, which), Path::new("runs").join(file_safe("no such scene here")));
            assert_eq!(
                at(Some("no such run here"), which),
                Path::new("runs").join(file_safe("no such run here"))
            );
        }
        assert_eq!(Which::of(true, false), Which::Newest);
        assert_eq!(
            [Which::of(false, true), Which::of(false, false)],
            [Which::First, Which::New]
        );
    }

    #[test]
    fn the_newest_run_of_a_name_goes_on() {
        let scratch = Scratch::new();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run/run.json");
        let text = fs::read_to_string(golden).unwrap();
        let scene = serde_json::from_str::<serde_json::Value>(&text).unwrap()["scene"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        let at = |scene: &str| newest(scratch.path(), "si", scene);
        let folder = |name: &str| scratch.path().join(name);
        assert_eq!(at(&scene), folder("si"));
        for name in ["si", "si-2", "si-9", "si-10", "si-010", "si-x", "six-11"] {
            scratch.write(&format!("{name}/run.json"), &text);
        }
        assert_eq!([at(&scene), at("")], [folder("si-10"), folder("si-10")]);
        // Neither a folder without a run, nor a run of another scene.
        scratch.write("si-11/file", "");
        let other = text.replace(&format!("\"{scene}\""), "\"another\"");
        scratch.write("si-12/run.json", other);
        assert_eq!([at(&scene), at("")], [folder("si-10"), folder("si-10")]);
        assert_eq!(at("another"), folder("si-12"));
    }
}
