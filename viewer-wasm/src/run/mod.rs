//! What a run folder says: `run.json`, the cameras, the metrics, the memory, the evaluations, the configuration.
//!
//! Owns the meaning of the files; where they come from is the page's business. Unknown keys are ignored, absent ones
//! are shown as `-`, and another schema version is refused by name.

pub(crate) mod cameras;
pub(crate) mod config;
pub(crate) mod evaluation;
pub(crate) mod memory;
pub(crate) mod metrics;
pub(crate) mod names;
pub(crate) mod project;
pub(crate) mod table;

use crate::json::{self, Value};
use crate::order::rising;

/// Version of the run folder's format that this viewer reads.
pub(crate) const SCHEMA_VERSION: u64 = 1;

/// `run.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunInfo {
    pub(crate) name: String,
    pub(crate) scene: String,
    pub(crate) status: String,
    /// Why it failed or stalled.
    pub(crate) message: Option<String>,
    pub(crate) done: u64,
    pub(crate) total: u64,
    /// Fused models by iteration.
    pub(crate) plys: Vec<Ply>,
    /// Iterations that were evaluated, with the path of their figures.
    pub(crate) evals: Vec<(u64, String)>,
    /// Mean and worst PSNR of the test views in the newest evaluation.
    pub(crate) test: Option<[f64; 2]>,
    /// Whether the run wrote the points it began with.
    pub(crate) has_input: bool,
    /// What its stages made beside the models: files of splats and meshes, relative to the run folder.
    pub(crate) parts: Vec<String>,
    /// The recipe that it was made by, and its seed; absent in runs of older versions.
    pub(crate) recipe: String,
    pub(crate) seed: Option<f64>,
    /// Size of the photos that were trained on, for people; `-` where that is not known.
    pub(crate) size: String,
}

/// `dataset.resolution` for people: a divisor of the photos' size, a width in pixels, or what is chosen by itself.
fn size_text(size: &str) -> String {
    match size {
        "-1" => "auto".to_owned(),
        "1" => "full".to_owned(),
        "2" | "4" | "8" => format!("1/{size}"),
        width => width.to_owned(),
    }
}

/// Files in a run folder that are no stage's.
const NO_PARTS: [&str; 2] = ["input.ply", "live.ply"];

/// Whether a file of a run is a model or a mesh that one of its stages made.
fn is_part(path: &str) -> bool {
    let made = ["ply", "glb", "obj"]
        .iter()
        .any(|ending| path.ends_with(&format!(".{ending}")));
    made && !NO_PARTS.contains(&path) && !path.starts_with("point_cloud/")
}

/// What a stage's file is, for people.
pub(crate) fn part_title(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match (folder, name) {
        ("", "coarse.ply") => "coarse splats".to_owned(),
        ("", "bound.ply") => "splats on the mesh".to_owned(),
        ("mesh", "mesh.ply") => "mesh".to_owned(),
        ("mesh", _) => format!("mesh, {name}"),
        _ => path.to_owned(),
    }
}

/// A model file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ply {
    pub(crate) iteration: u64,
    /// Relative to the run folder.
    pub(crate) path: String,
    /// Gaussians in it, or triangles.
    pub(crate) gaussians: u64,
    pub(crate) is_triangles: bool,
    pub(crate) bytes: u64,
}

/// Says that a file has another version than this viewer reads.
pub(crate) fn check_version(value: &Value, file: &str) -> Result<(), String> {
    match value.whole("schema_version") {
        Some(SCHEMA_VERSION) => Ok(()),
        Some(other) => Err(format!(
            "{file} has schema version {other} and this viewer reads version {SCHEMA_VERSION}; open it with the viewer \
             of the program that wrote it"
        )),
        None => Err(format!(
            "{file} states no schema version, so it was not written by Kiln"
        )),
    }
}

impl RunInfo {
    /// Reads `run.json`.
    ///
    /// # Errors
    /// A sentence for the page.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value = json::parse(text).map_err(|e| format!("run.json is {e}"))?;
        check_version(&value, "run.json")?;
        let iterations = value.get("iterations").unwrap_or(&Value::Null);
        let mut plys: Vec<(bool, Ply)> = value.items("plys").iter().filter_map(ply).collect();
        // Where an iteration has both kinds, the fused one is smaller and drawn alike.
        plys = rising(plys, |(fused, ply)| {
            ply.iteration as f64 + if *fused { 0.0 } else { 0.5 }
        });
        plys.dedup_by_key(|(_, ply)| ply.iteration);
        let evals = value.items("evals").iter();
        let mut evals: Vec<_> = evals
            .filter_map(|row| Some((row.whole("iteration")?, inner_path(row.text("path")?)?)))
            .collect();
        evals = rising(evals, |(iteration, _)| *iteration as f64);
        evals.dedup_by_key(|(iteration, _)| *iteration);
        let newest = value
            .items("evals")
            .iter()
            .rev()
            .find(|row| row.whole("iteration") == evals.last().map(|last| last.0));
        let test = newest.and_then(|row| {
            let test = row.get("test")?;
            Some([test.number("psnr_image")?, test.get("worst")?.number("psnr_image")?])
        });
        let made_by = value.get("made_by").unwrap_or(&Value::Null);
        let text = |key: &str| value.text(key).unwrap_or("-").to_owned();
        let files = value.items("files").iter().filter_map(|file| match file {
            Value::Text(file) => Some(file.as_str()),
            _ => None,
        });
        Ok(Self {
            name: text("name"),
            scene: value
                .get("scene")
                .and_then(|scene| scene.text("name"))
                .unwrap_or("-")
                .to_owned(),
            status: text("status"),
            message: value.text("message").map(str::to_owned),
            done: iterations.whole("done").unwrap_or(0),
            total: iterations.whole("total").unwrap_or(0),
            plys: plys.into_iter().map(|(_, ply)| ply).collect(),
            evals,
            test,
            has_input: files.clone().any(|file| file == "input.ply"),
            parts: files.filter(|file| is_part(file)).filter_map(inner_path).collect(),
            recipe: made_by.text("recipe").unwrap_or("-").to_owned(),
            seed: made_by.number("seed"),
            size: size_text(made_by.text("size").unwrap_or("-")),
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.status == "running"
    }
}

fn ply(row: &Value) -> Option<(bool, Ply)> {
    let ply = Ply {
        iteration: row.whole("iteration")?,
        path: inner_path(row.text("path")?)?,
        gaussians: row.whole("gaussians").unwrap_or(0),
        is_triangles: row.text("kind") == Some("triangles"),
        bytes: row.whole("bytes").unwrap_or(0),
    };
    Some((row.text("kind") == Some("fused"), ply))
}

/// A path that stays inside a folder it is appended to; `None` for any other.
pub(crate) fn inner_path(path: &str) -> Option<String> {
    let named = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    (named && !path.contains('\\')).then(|| path.to_owned())
}

/// A path that stays inside the page's folder: an inner one that does not begin with a scheme.
pub(crate) fn safe_path(path: &str) -> Option<String> {
    let first = path.split('/').next().unwrap_or_default();
    let scheme = first.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    inner_path(path).filter(|_| !scheme)
}

/// The paths of `runs.json`, without those that leave the page's folder.
///
/// # Errors
/// A sentence for the page.
pub(crate) fn parse_index(text: &str) -> Result<Vec<String>, String> {
    let value = json::parse(text).map_err(|e| format!("runs.json is {e}"))?;
    if !matches!(value, Value::Array(_)) {
        return Err("runs.json is not an array of folders".to_owned());
    }
    let paths = value.as_items().iter().filter_map(|item| match item {
        Value::Text(path) => safe_path(path),
        _ => None,
    });
    Ok(paths.collect())
}

#[cfg(test)]
pub(crate) fn golden(file: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/run/").to_owned() + file;
    std::fs::read_to_string(&path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_fixture_run_is_read() {
        let run = RunInfo::parse(&golden("run.json")).unwrap();
        assert_eq!(
            (run.name.as_str(), run.scene.as_str(), run.total),
            ("golden", "two-views", 40)
        );
        assert!(!run.is_running());
        assert_eq!((run.recipe.as_str(), run.seed), ("demo", Some(0.0)));
        assert_eq!(
            ["-1", "1", "4", "1600", "-"].map(size_text),
            ["auto", "full", "1/4", "1600", "-"]
        );
        assert_eq!(run.plys.len(), 1, "raw and fused of one iteration are one model");
        assert_eq!(run.plys[0].path, "point_cloud/iteration_40/point_cloud.ply");
        assert!(run.test.is_some_and(|[mean, worst]| mean >= worst && worst > 0.0));
        assert_eq!(run.evals.iter().map(|(it, _)| *it).collect::<Vec<_>>(), [20, 40]);
    }

    #[test]
    fn what_stages_made_is_listed() {
        let files = r#"["coarse.ply","input.ply","live.ply","mesh/mesh.ply","mesh/report.json","mesh/textured.glb","point_cloud/a.ply","../x.ply"]"#;
        let run = RunInfo::parse(&format!(r#"{{"schema_version":1,"files":{files}}}"#)).unwrap();
        assert_eq!(run.parts, ["coarse.ply", "mesh/mesh.ply", "mesh/textured.glb"]);
        let titles: Vec<String> = run.parts.iter().map(|path| part_title(path)).collect();
        assert_eq!(titles, ["coarse splats", "mesh", "mesh, textured.glb"]);
        assert!(run.has_input);
    }

    #[test]
    fn another_version_and_other_files_are_refused_by_name() {
        let newer = golden("run.json").replace("\"schema_version\": 1", "\"schema_version\": 9");
        assert!(RunInfo::parse(&newer).unwrap_err().contains("schema version 9"));
        assert!(RunInfo::parse("{}").unwrap_err().contains("not written by Kiln"));
        assert!(RunInfo::parse("{").unwrap_err().contains("run.json is not valid JSON"));
        let bare = RunInfo::parse("{\"schema_version\": 1}").unwrap();
        assert_eq!((bare.name.as_str(), bare.plys.len()), ("-", 0));
    }

    #[test]
    fn paths_cannot_leave_their_folder() {
        let index =
            "[\"runs/a\", \"../b\", \"/etc\", \"http://x/y\", \"runs/../..\", \"a\\\\b\", 3, \"\", \"runs//x\"]";
        assert_eq!(parse_index(index).unwrap(), ["runs/a"]);
        // A colon is a scheme's only behind letters in the first folder.
        let dated = "[\"runs/2026-11-22T12:30:00\", \"2026-11-22T12:30\", \"c:/x\", \"data:x\"]";
        assert_eq!(
            parse_index(dated).unwrap(),
            ["runs/2026-11-22T12:30:00", "2026-11-22T12:30"]
        );
        assert!(parse_index("{}").is_err());
        let outside = "{\"schema_version\":1,\"plys\":[{\"iteration\":1,\"path\":\"../x.ply\",\"kind\":\"fused\"}]}";
        assert!(RunInfo::parse(outside).unwrap().plys.is_empty());
    }
}
