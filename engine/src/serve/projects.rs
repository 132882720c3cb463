//! Projects of blocks as the page shows them: what `kiln status --json` says of each, and where its blocks lie on a map.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::merged;
use super::root::{Project, Root};
use crate::project::{Area, BLOCKS, BlockStatus, Overview, PROJECT, project_overview};

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
    let mut left = MOST_BYTES;
    projects
        .iter()
        .take(PROJECTS)
        .map(|project| entry(root, project, &mut left))
        .collect()
}

fn entry(root: &Root, project: &Project, left: &mut u64) -> Value {
    let path = ["runs"].into_iter().chain(project.name.iter().map(String::as_str));
    let path = path.collect::<Vec<_>>().join("/");
    let overview = match refusal(root, &project.folder, left) {
        Some(problem) => Overview {
            status: None,
            problems: vec![problem],
        },
        None => project_overview(&project.folder),
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

/// Why a project is not looked at: links lead out of the root, or it is too large to be looked at again and again; else its bytes are
/// taken from those that are `left` of the answer.
fn refusal(root: &Root, project: &Path, left: &mut u64) -> Option<String> {
    let mut bytes = 0_u64;
    let mut looked_at = vec![project.join(PROJECT), project.join("progress.json")];
    let blocks = fs::read_dir(project.join(BLOCKS)).into_iter().flatten().flatten();
    for (at, block) in blocks.map(|block| block.path()).enumerate() {
        if at == MOST_BLOCKS {
            return Some(format!(
                "it has more than {MOST_BLOCKS} blocks, too many for this page; `kiln status` shows it"
            ));
        }
        looked_at.extend(["block.json", "done.json", "run/run.json", "run/metrics.jsonl"].map(|name| block.join(name)));
    }
    for path in looked_at.iter().filter(|path| path.exists()) {
        if !root.holds(path) {
            return Some(format!("{} leads out of the folder that is shown", path.display()));
        }
        let is_index = path.extension().is_some_and(|extension| extension == "json");
        bytes += fs::metadata(path).map_or(0, |file| if is_index { file.len() } else { 0 });
    }
    let Some(rest) = left.checked_sub(bytes) else {
        return Some(format!(
            "its files are {} MiB large, and {} MiB are read for this page, of all projects; `kiln status` shows it",
            bytes >> 20,
            MOST_BYTES >> 20
        ));
    };
    *left = rest;
    None
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
    use crate::scene::scratch::Scratch;

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
        folder.write("notes/project.json", "no blocks beside it: somebody else's");
        let root = Root::open(folder.path()).unwrap();
        let index = index(&root);
        let entries = index.as_array().unwrap();
        assert_eq!(entries.len(), 3, "{index}");
        for entry in entries {
            let problem = entry["problems"][0].as_str().unwrap();
            let name = entry["name"].as_str().unwrap();
            assert!(
                problem.starts_with(&format!("cannot read {name}/project.json: ")),
                "{problem}"
            );
            assert_eq!(entry["blocks"], json!([]));
        }
        assert!(index.to_string().contains("its version is 9 and this program knows 1"));
    }
}
