//! Projects of blocks as the page shows them: what `kiln status --json` says of each, and where its blocks lie on a map.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::merged;
use super::root::{Project, Root};
use crate::project::{Area, BLOCKS, BlockStatus, Overview, project_overview_by};

/// Projects in the index; more are left out.
const PROJECTS: usize = 20;
/// Bytes of indices that are read for one answer.
const MOST_BYTES: u64 = 32 << 20;
/// Blocks of a project that are looked at.
const MOST_BLOCKS: usize = 4096;

/// All projects below the root.
pub(super) fn index(root: &Root) -> Value {
    // One answer is made at a time: what several take does not add up.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let projects = root.projects();
    let left = Cell::new(MOST_BYTES);
    projects
        .iter()
        .take(PROJECTS)
        .map(|project| entry(root, project, &left))
        .collect()
}

fn entry(root: &Root, project: &Project, left: &Cell<u64>) -> Value {
    let path = ["runs"].into_iter().chain(project.name.iter().map(String::as_str));
    let path = path.collect::<Vec<_>>().join("/");
    let overview = match has_too_many(&project.folder) {
        true => Overview::of_too_many(MOST_BLOCKS),
        false => project_overview_by(&project.folder, &|path| open(root, path, left), MOST_BLOCKS),
    };
    let problems: Vec<String> = overview.problems.iter().map(|text| root.without_folder(text)).collect();
    let mut entry = json!({
        "path": path,
        "name": project.name.last().map_or(root.own_name(), String::as_str),
        "problems": problems,
        "blocks": [],
    });
    let model = project.folder.join(merged::FOLDER).join(merged::MODEL);
    if model.is_file() {
        entry["merged"] = format!("{path}/{}", merged::FOLDER).into();
    }
    let Some(status) = overview.status else {
        return entry;
    };
    let frame = Frame::of(&status.bounds);
    entry["map"] = frame.as_ref().map_or(Value::Null, |frame| frame.shape().into());
    let block = |block: &BlockStatus| {
        let run = project.folder.join(BLOCKS).join(&block.name).join("run");
        let mut value = serde_json::to_value(block).unwrap_or_default();
        value["message"] = block.message.as_ref().map(|text| root.without_folder(text)).into();
        let area = frame.as_ref().zip(block.core.as_ref());
        value["area"] = area.and_then(|(frame, core)| frame.place(core)).into();
        let whole = block.name.trim_end_matches(['a', 'b']);
        value["half_of"] = (whole != block.name)
            .then_some(&block.name[..block.name.len() - 1])
            .into();
        let has_run = run.join("run.json").is_file();
        value["run"] = has_run.then(|| format!("{path}/{BLOCKS}/{}/run", block.name)).into();
        value
    };
    entry["blocks"] = status.blocks.iter().map(block).collect();
    entry
}

/// Whether a folder of blocks has more entries than are looked at.
fn has_too_many(project: &Path) -> bool {
    let entries = fs::read_dir(project.join(BLOCKS)).into_iter().flatten();
    entries.take(MOST_BLOCKS + 1).count() > MOST_BLOCKS
}

/// Opens a file of a project for the page: one inside of the root, whose bytes are taken from those that are `left` of the answer. The
/// end of a file of metrics is little.
fn open(root: &Root, path: &Path, left: &Cell<u64>) -> io::Result<File> {
    let leads_out = || io::Error::new(io::ErrorKind::InvalidInput, "it leads out of the folder that is shown");
    let file = root.open_at(path).ok_or_else(leads_out)?;
    let is_index = path.extension().is_some_and(|extension| extension == "json");
    let bytes = if is_index { file.metadata()?.len() } else { 0 };
    let rest = left.get().checked_sub(bytes).ok_or_else(|| {
        let most = MOST_BYTES >> 20;
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "{most} MiB are read for this page, of all projects, and no room is left for it; `kiln status` shows it"
            ),
        )
    })?;
    left.set(rest);
    Ok(file)
}

/// The piece of the plane that a map shows; its longer side is 1 on the map.
struct Frame {
    min: [f64; 2],
    max: [f64; 2],
    scale: f64,
}

impl Frame {
    /// The bounds of a project; nothing where they are no box.
    fn of(bounds: &Area) -> Option<Self> {
        let [Some(x0), Some(y0)] = bounds.min else { return None };
        let [Some(x1), Some(y1)] = bounds.max else { return None };
        let longer = (x1 - x0).max(y1 - y0);
        let is_box = x1 > x0 && y1 > y0 && longer.is_finite();
        is_box.then_some(Self {
            min: [x0, y0],
            max: [x1, y1],
            scale: 1.0 / longer,
        })
    }

    /// Width and height of the map.
    fn shape(&self) -> Vec<f64> {
        [0, 1]
            .map(|axis| (self.max[axis] - self.min[axis]) * self.scale)
            .to_vec()
    }

    /// Left, top, width and height of a core on the map, from the top down. What is outside is cut off: cores at the edge have no end.
    fn place(&self, core: &Area) -> Option<Vec<f64>> {
        let low = [0, 1].map(|axis| core.min[axis].map_or(self.min[axis], |side| side.max(self.min[axis])));
        let high = [0, 1].map(|axis| core.max[axis].map_or(self.max[axis], |side| side.min(self.max[axis])));
        let size = [0, 1].map(|axis| (high[axis] - low[axis]) * self.scale);
        let is_shown = size.iter().all(|side| side.is_finite() && *side > 0.0);
        let left = (low[0] - self.min[0]) * self.scale;
        let top = (self.max[1] - high[1]) * self.scale;
        is_shown.then(|| vec![left, top, size[0], size[1]])
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    fn area(min: [Option<f64>; 2], max: [Option<f64>; 2]) -> Area {
        Area { min, max }
    }

    #[test]
    fn cores_are_drawn_to_scale_and_end_with_the_project() {
        let frame = Frame::of(&area([Some(-10.0), Some(0.0)], [Some(10.0), Some(5.0)])).unwrap();
        assert_eq!(frame.shape(), [1.0, 0.25]);
        // Without an end to the left and below.
        let west = frame.place(&area([None, None], [Some(-5.0), Some(2.5)])).unwrap();
        assert_eq!(west, [0.0, 0.125, 0.25, 0.125]);
        let east = frame.place(&area([Some(-5.0), None], [None, None])).unwrap();
        assert_eq!(east, [0.25, 0.0, 0.75, 0.25]);
        assert_eq!(frame.place(&area([Some(11.0), None], [None, None])), None);
        assert_eq!(frame.place(&area([Some(3.0), None], [Some(1.0), None])), None);
        assert!(Frame::of(&area([None, None], [None, None])).is_none());
        assert!(Frame::of(&area([Some(0.0), Some(0.0)], [Some(0.0), Some(1.0)])).is_none());
    }

    /// A file that is swapped as soon as it was opened, and one that is swapped as soon as somebody looked where it lies.
    #[cfg(unix)]
    #[test]
    fn what_was_opened_is_what_is_shown() {
        use std::collections::BTreeMap;
        use std::os::unix::fs::symlink;
        use std::path::PathBuf;

        let (folder, outside) = (Scratch::new(), Scratch::new());
        let block = r#"{"version": 1, "name": "b0000", "core": {"min": [null, null], "max": [null, null]}, "margin": 1.0, "demand": 7,
            "train_views": [], "test_views": [], "steps_scaler": null, "max_gaussians": null, "divided": false, "files": [],
            "planned": {"gaussians": 7, "device_bytes": 9, "cap_bytes": 9}}"#;
        let digest = crate::export::digest_of(block.as_bytes());
        let project = format!(
            r#"{{"version": 1, "scene": {{"path": "", "images": "", "sparse": "", "model": [], "photos": []}},
            "settings": {{"profile": null, "recipe": null, "file": null, "typed": [], "steps_scaler": null}},
            "options": {{"gaussians": null, "blocks": null, "margin": 0.0, "min_views": 1, "max_views": 9, "up": null}},
            "ground": {{"axes": [[1, 0, 0], [0, 1, 0]], "up": [0, 0, 1]}}, "gaussians": 7, "views_used": 1, "test_views": [],
            "bounds": {{"min": [0, 0], "max": [1, 1]}}, "blocks": [{{"name": "b0000", "digest": "{digest}"}}]}}"#
        );
        let done = format!(
            r#"{{"version": 1, "block": "{digest}", "typed": [], "model": {{"name": "model.ply", "sha256": ""}}, "gaussians": 7,
            "iterations": 5, "test_psnr": null, "seconds": 1, "device": "d"}}"#
        );
        let inside = |root: &str| {
            folder.write(&format!("{root}/project.json"), &project);
            folder.write(&format!("{root}/blocks/b0000/block.json"), block);
            folder.write(&format!("{root}/blocks/b0000/done.json"), &done);
            folder.write(&format!("{root}/blocks/b0000/model.ply"), "");
            folder.path().join(root)
        };
        let secret = outside.write("secret", r#"{"version": "SECRET"}"#);
        let root = Root::open(folder.path()).unwrap();
        let left = Cell::new(MOST_BYTES);
        let swap = |path: &Path| {
            fs::remove_file(path).unwrap();
            symlink(&secret, path).unwrap();
        };

        let opened = std::cell::RefCell::new(BTreeMap::<PathBuf, u32>::new());
        let whole = inside("after");
        let overview = project_overview_by(
            &whole,
            &|path| {
                let file = open(&root, path, &left)?;
                swap(path);
                *opened.borrow_mut().entry(path.to_owned()).or_default() += 1;
                Ok(file)
            },
            MOST_BLOCKS,
        );
        assert_eq!(overview.problems, [""; 0]);
        assert_eq!(overview.status.unwrap().blocks[0].iteration, 5);
        let opened = opened.into_inner();
        assert!(
            opened.len() == 3 && opened.values().all(|times| *times == 1),
            "{opened:?}"
        );

        for name in ["project.json", "blocks/b0000/block.json", "blocks/b0000/done.json"] {
            let whole = inside(&format!("before-{}", name.replace('/', "-")));
            let overview = project_overview_by(
                &whole,
                &|path| {
                    if path.ends_with(name) {
                        swap(path);
                    }
                    open(&root, path, &left)
                },
                MOST_BLOCKS,
            );
            let text = format!("{overview:?}");
            assert!(
                text.contains("it leads out of the folder that is shown") && !text.contains("SECRET"),
                "{text}"
            );
        }
        // As many blocks as are looked at, and as many bytes.
        let whole = inside("bounds");
        let overview = |left: &Cell<u64>, most| project_overview_by(&whole, &|path| open(&root, path, left), most);
        assert!(overview(&left, 0).problems[0].contains("more than 0 blocks"));
        let short = Cell::new(project.len() as u64 + 1);
        let text = format!("{:?}", overview(&short, 1));
        assert!(
            text.contains("block.json") && text.contains("no room is left for it"),
            "{text}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_without_the_folder() {
        let folder = Scratch::new();
        for (name, text) in [
            ("half", "{\"version\": 1,"),
            ("foreign", "{}"),
            ("newer", "{\"version\": 9}"),
        ] {
            folder.write(&format!("{name}/project.json"), text);
            folder.write(&format!("{name}/blocks/b0000/block.json"), "{");
        }
        folder.write("notes/project.json", "no blocks beside it: another program's");
        let root = Root::open(folder.path()).unwrap();
        let index = index(&root);
        let entries = index.as_array().unwrap();
        assert_eq!(entries.len(), 3, "{index}");
        for entry in entries {
            let problem = entry["problems"][0].as_str().unwrap();
            let name = entry["name"].as_str().unwrap();
            assert!(
                problem
                    .replace('\\', "/")
                    .starts_with(&format!("cannot read {name}/project.json: ")),
                "{problem}"
            );
            assert_eq!(entry["blocks"], json!([]));
        }
        assert!(index.to_string().contains("its version is 9 and this program knows 1"));
    }
}
