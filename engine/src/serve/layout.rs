//! Which files of a run folder are shown, and what they are.
//!
//! One list for serving and for exporting. Everything a person would look at is in it; checkpoints, TensorBoard events
//! and files of other programs in the folder are not.

use kiln_formats::sog::{INDEX, META};

/// Files at the top of a run folder.
const TOP: [&str; 8] = [
    "run.json",
    "cameras.json",
    "env.json",
    "config.resolved.yaml",
    "metrics.jsonl",
    "memory.jsonl",
    "input.ply",
    "live.ply",
];

/// What stages of a run leave beside its models.
const STAGES: [&str; 2] = ["coarse.ply", "bound.ply"];
/// Folder of a run's mesh, and endings of the files in it.
const MESH: &str = "mesh";
const MESH_FILES: [&str; 6] = ["ply", "obj", "mtl", "glb", "png", "json"];
/// The run of a stage that refines, inside of its run.
pub(super) const REFINED: &str = "refined";

/// Endings of the models that the page opens.
const MODELS: [&str; 5] = ["ply", "spz", "sog", "glb", "splat"];

/// Folders with pictures below `eval/iteration_N`.
const PICTURES: [&str; 4] = ["render", "error", "density", "density_proxy"];

/// The deepest path inside a run: names of images may have folders of their own.
pub(super) const DEPTH: usize = 8;

/// Whether a path inside a run folder is one of a run's files.
pub(super) fn is_shown<S: AsRef<str>>(path: &[S]) -> bool {
    let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    match path[..] {
        [name] => TOP.contains(&name) || STAGES.contains(&name),
        [MESH, name] => MESH_FILES.iter().any(|ending| has_extension(name, ending)),
        // One run may lie in another, and no third in that.
        [REFINED, ref inside @ ..] => inside.first() != Some(&REFINED) && is_shown(inside),
        ["eval", iteration, "metrics.json"] => is_iteration(iteration),
        ["eval", "gt", set, .., name] => is_set(set) && has_extension(name, "png"),
        ["eval", iteration, kind, set, .., name] => {
            is_iteration(iteration) && PICTURES.contains(&kind) && is_set(set) && has_extension(name, "png")
        }
        ["point_cloud", iteration, name] => is_iteration(iteration) && has_extension(name, "ply"),
        _ => false,
    }
}

/// Whether a file beside runs is a comparison of them, as `kiln-lab compare` and `antialias` write it.
pub(super) fn is_comparison(name: &str) -> bool {
    ["compare", "antialias"].iter().any(|kind| name.starts_with(kind)) && has_extension(name, "json")
}

/// Whether a folder inside a run may hold files of it; the run inside it has files of its own.
pub(super) fn may_hold<S: AsRef<str>>(folder: &[S]) -> bool {
    let first = folder.first().map(AsRef::as_ref);
    matches!(first, None | Some("eval" | "point_cloud" | MESH)) && folder.len() < DEPTH
}

fn is_iteration(name: &str) -> bool {
    name.strip_prefix("iteration_")
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_set(name: &str) -> bool {
    matches!(name, "train" | "test")
}

/// Whether a file is a model, by its name.
pub(super) fn is_model(name: &str) -> bool {
    MODELS.iter().any(|extension| has_extension(name, extension))
}

/// Whether a name ends so; capitals do not matter.
fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(stem, found)| !stem.is_empty() && found.eq_ignore_ascii_case(extension))
}

/// The media type of a file by its name.
pub(super) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("json" | "jsonl") => "application/json",
        Some("yaml") => "text/plain; charset=utf-8",
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        _ => "application/octet-stream",
    }
}

/// Whether a file is written once, or replaced as a whole, and asked for often enough to be worth keeping: models, images, and
/// the descriptions of Streamed SOG. Records grow while they are read, and are sent anew.
pub(super) fn may_be_kept(name: &str) -> bool {
    let images = ["webp", "png"];
    is_model(name) || images.iter().any(|extension| has_extension(name, extension)) || matches!(name, INDEX | META)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_told_by_their_names() {
        assert!(
            ["compare.json", "compare-7k.json", "antialias.json"]
                .into_iter()
                .all(is_comparison)
        );
        assert!(
            !["run.json", "secret.json", "compare.jsonl", "compare"]
                .into_iter()
                .any(is_comparison)
        );
    }

    #[test]
    fn models_images_and_descriptions_of_levels_may_be_kept() {
        for name in [
            "a.ply",
            "a.PLY",
            "a.splat",
            "a.Sog",
            "a.webp",
            "a.png",
            "lod-meta.json",
            "meta.json",
        ] {
            assert!(may_be_kept(name), "{name}");
        }
        for name in [
            "run.json",
            "metrics.json",
            "metrics.jsonl",
            ".ply",
            "ply",
            "a.meta.json",
        ] {
            assert!(!may_be_kept(name), "{name}");
        }
    }

    #[test]
    fn files_of_a_run_and_nothing_else() {
        let shown = |path: &str| is_shown(&path.split('/').collect::<Vec<_>>());
        for path in [
            "run.json",
            "metrics.jsonl",
            "config.resolved.yaml",
            "input.ply",
            "live.ply",
            "eval/iteration_7/metrics.json",
            "eval/iteration_7/render/test/a.png",
            "eval/iteration_7/density/train/room/a.b.png",
            "eval/iteration_7/density_proxy/train/a.png",
            "eval/gt/test/a.png",
            "point_cloud/iteration_30000/point_cloud.ply",
            "point_cloud/iteration_7/point_cloud_raw.ply",
            "point_cloud/iteration_7/triangles.ply",
            "coarse.ply",
            "bound.ply",
            "mesh/mesh.ply",
            "mesh/textured.glb",
            "mesh/report.json",
            "refined/run.json",
            "refined/point_cloud/iteration_7/point_cloud.ply",
            "refined/mesh/mesh.ply",
        ] {
            assert!(shown(path), "{path}");
        }
        for path in [
            "",
            "notes.txt",
            "secret.json",
            "checkpoints/checkpoint_00000010.kiln",
            "checkpoints/run.json",
            "events.out.tfevents.1",
            "eval",
            "eval/metrics.json",
            "eval/iteration_/metrics.json",
            "eval/iteration_x/metrics.json",
            "eval/iteration_7/metrics.jsonl",
            "eval/iteration_7/other/test/a.png",
            "eval/iteration_7/render/a.png",
            "eval/gt/other/a.png",
            "eval/gt/test/.png",
            "eval/gt/test/a.PNG.sh",
            "point_cloud/a.ply",
            "point_cloud/iteration_7/a.ply.tmp",
            "input.ply/x",
            "other.ply",
            "mesh/notes.txt",
            "mesh/deep/mesh.ply",
            "refined/refined/run.json",
            "refined/checkpoints/checkpoint_00000010.kiln",
        ] {
            assert!(!shown(path), "{path}");
        }
    }
}
