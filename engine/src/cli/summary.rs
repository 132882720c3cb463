//! How a run ended, for people and for programs.

use std::path::{Path, PathBuf};

use crate::jobs::shell::word;
use crate::record::run_folder::{PlyKind, REFINED, RunRecord, record_path};
use crate::record::words::count;
use crate::run::RunEnd;

/// The last JSON line.
pub(super) fn last_line(end: &RunEnd) -> serde_json::Value {
    serde_json::json!({
        "type": "end",
        "status": if end.signal.is_some() { "interrupted" } else { "done" },
        "iterations": end.iterations,
        "test_psnr": end.test_psnr,
        "folder": end.folder.display().to_string(),
    })
}

/// How a run ended; one of a block that is not over goes on by the block's name.
pub(super) fn summary(end: &RunEnd, block: Option<&Path>, made: &[(&str, PathBuf)]) -> String {
    let (folder, iterations) = (word(&end.folder), count(end.iterations, "iteration"));
    if end.signal.is_some() {
        let again = match block {
            Some(block) => word(block),
            None => format!("--resume -o {folder}"),
        };
        return format!(
            "interrupted after {iterations}; `kiln train {again}` goes on from there, `kiln view {folder}` shows the model as it is"
        );
    }
    match made {
        [] => format!("{}; `kiln view {folder}` shows it", outcome(end)),
        made => format!("{}\n{}", outcome(end), look_at(&end.folder, made)),
    }
}

/// How a run ended that was not interrupted.
pub(super) fn outcome(end: &RunEnd) -> String {
    let psnr = end
        .test_psnr
        .map_or_else(String::new, |psnr| format!(", test PSNR {psnr:.2} dB"));
    format!(
        "done: {}{psnr}, {}",
        count(end.iterations, "iteration"),
        word(&end.folder)
    )
}

/// What a run made beside a model of Gaussians, a line each, and how to look at it.
pub(super) fn look_at(root: &Path, made: &[(&str, PathBuf)]) -> String {
    let mut text = String::new();
    for (what, path) in made {
        text += &format!("{what:<14} {}\n", word(path));
    }
    let them = if made.len() == 1 { "it" } else { "them" };
    text + &format!("`kiln view {}` shows {them}", word(root))
}

/// The meshes of a run, its model of triangles, and what its stages made, with a name each.
pub(super) fn made(root: &Path) -> Vec<(&'static str, PathBuf)> {
    let Ok(record) = RunRecord::read(&record_path(root)) else {
        return Vec::new();
    };
    let mut made = Vec::new();
    let last = record.plys.last().filter(|ply| ply.kind == PlyKind::Triangles);
    made.extend(last.map(|ply| ("triangles", root.join(&ply.path))));
    let is_mesh = |file: &&String| [".ply", ".obj", ".glb"].iter().any(|ending| file.ends_with(ending));
    let meshes = record.files.iter().filter(is_mesh);
    let of = |folder: &'static str| meshes.clone().filter(move |file| file.starts_with(folder));
    made.extend(of("mesh/").map(|file| ("mesh", root.join(file))));
    let refined = RunRecord::read(&record_path(&root.join(REFINED))).ok();
    let refined = refined.and_then(|refined| refined.plys.into_iter().rfind(|ply| ply.kind == PlyKind::Fused));
    made.extend(refined.map(|ply| ("refined model", root.join(REFINED).join(ply.path))));
    made.extend(of("refined/mesh/").map(|file| ("textured mesh", root.join(file))));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_on_by_its_own_name() {
        let end = RunEnd {
            folder: "city/blocks/b0000/run".into(),
            iterations: 70,
            signal: Some(crate::run::interrupt::Signal::Interrupt),
            test_psnr: None,
            device_bytes: 0,
        };
        assert_eq!(
            summary(&end, Some(Path::new("city/blocks/b0000")), &[]),
            "interrupted after 70 iterations; `kiln train city/blocks/b0000` goes on from there, `kiln view city/blocks/b0000/run` \
             shows the model as it is"
        );
        assert!(summary(&end, None, &[]).contains("`kiln train --resume -o city/blocks/b0000/run` goes on"));
        let done = RunEnd {
            signal: None,
            iterations: 1,
            ..end
        };
        assert_eq!(
            summary(&done, None, &[]),
            "done: 1 iteration, city/blocks/b0000/run; `kiln view city/blocks/b0000/run` shows it"
        );
        let made = [("mesh", PathBuf::from("run/mesh/mesh.ply"))];
        assert_eq!(
            summary(&done, None, &made),
            "done: 1 iteration, city/blocks/b0000/run\nmesh           run/mesh/mesh.ply\n`kiln view city/blocks/b0000/run` shows it"
        );
    }
}
