//! Where a run goes.

use std::path::{Path, PathBuf};

use super::{RUN, RunFolder};
use crate::config;
use crate::scene::file_safe;

/// Folder of the runs that are not told where to go.
const RUNS: &str = "runs";

/// The folder of a run of a scene. With `output` alone it is that folder; with `output` and a name it is `output/NAME`,
/// so that a folder holds several runs, unless `output` is the folder of a run itself. Without `output` it is
/// `runs/NAME` or, for a new run, the first of `runs/NAME`, `runs/NAME-2`, ... that is not taken.
#[must_use]
pub fn place(run: &config::Run, scene: &str, resume: bool) -> PathBuf {
    let name = run.name.as_deref().map(file_safe);
    match (&run.output, name) {
        (Some(output), Some(name)) if !Path::new(output).join(RUN).exists() => Path::new(output).join(name),
        (Some(output), _) => PathBuf::from(output),
        (None, name) => {
            let name = name.unwrap_or_else(|| file_safe(scene));
            if resume {
                Path::new(RUNS).join(name)
            } else {
                RunFolder::unused(Path::new(RUNS), &name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::scratch::Scratch;

    fn run(name: Option<&str>, output: Option<&Path>) -> config::Run {
        config::Run {
            name: name.map(str::to_owned),
            output: output.map(|path| path.display().to_string()),
        }
    }

    #[test]
    fn several_runs_share_a_folder_by_name() {
        let scratch = Scratch::new();
        let root = scratch.path().join("runs");
        let at = |name, resume| place(&run(name, Some(&root)), "garden", resume);
        assert_eq!(at(None, false), root);
        for resume in [false, true] {
            assert_eq!(at(Some("garden-1"), resume), root.join("garden-1"));
            assert_eq!(
                at(Some("../x"), resume),
                root.join("_.._x"),
                "a name never leaves the folder"
            );
        }
        // The folder that a message named goes on being meant when the name is typed again.
        scratch.write("runs/run.json", "{}");
        assert_eq!(at(Some("garden-1"), true), root);
    }

    #[test]
    fn without_a_folder_runs_go_below_runs() {
        let at = |name, resume| place(&run(name, None), "no such scene here", resume);
        assert_eq!(at(None, true), Path::new("runs").join(file_safe("no such scene here")));
        assert_eq!(
            at(Some("no such run here"), true),
            Path::new("runs").join(file_safe("no such run here"))
        );
    }
}
