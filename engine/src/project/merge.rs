//! `kiln merge`: trained blocks to one model, with an index beside it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kiln_blocks::Rect;
use kiln_blocks::merge::{Frame, MergeError, Merged, Model, Options, Survey};

use super::folder::{BLOCKS, DONE, PROJECT, ProjectFolder, digest, evaluation_path, merged_path, read_record};
use super::lock::FolderLock;
use super::records::{FileRecord, MergedBlock, MergedBorder, MergedChunk, MergedIndex, VERSION};
use super::{BlockFolder, Done, ProjectError};
use crate::export::{
    AtomicFile, ExportError, make_folder, refuse_links_below, remove_left_of, temporary_name, write_json,
};

const MIB: u64 = 1 << 20;

/// What to merge.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeRequest {
    /// The model's file; none for one in the project.
    pub output: Option<PathBuf>,
    /// Host memory to take at most, MiB.
    pub memory_mib: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeReport {
    /// The model's file.
    pub output: PathBuf,
    /// Its index.
    pub index: MergedIndex,
    /// It was there already.
    pub was_there: bool,
}

/// Where the index of a merged model is.
#[must_use]
pub fn index_path(model: &Path) -> PathBuf {
    model.with_extension("index.json")
}

/// Names of blocks that were trained again after the model of a project was merged, or are being trained again; none where there is
/// no merged model with an index. A block that is not there, cut since or not copied, is none.
#[must_use]
pub fn trained_since(project: &Path) -> Vec<String> {
    let Ok(index) = read_record::<MergedIndex>(&index_path(&merged_path(project))) else {
        return Vec::new();
    };
    let is_merged = |block: &MergedBlock| {
        let folder = project.join(BLOCKS).join(&block.name);
        let done = read_record::<Done>(&folder.join(DONE));
        !folder.is_dir() || done.is_ok_and(|done| done.model.sha256 == block.sha256)
    };
    let others = index.blocks.into_iter().filter(|block| !is_merged(block));
    others.map(|block| block.name).collect()
}

/// Merges; `stop` is polled, and ends the merge, which then leaves everything as it was.
///
/// # Errors
/// [`ProjectError`] when a block is not trained or changed since, or a file cannot be written.
pub fn merge(
    project: &ProjectFolder,
    request: &MergeRequest,
    stop: &dyn Fn() -> bool,
) -> Result<MergeReport, ProjectError> {
    let blocks = project.blocks()?;
    let trained = all_trained(project, &blocks)?;
    let output = request.output.clone().unwrap_or_else(|| merged_path(&project.root));
    let project_digest = digest(&project.root.join(PROJECT))?;
    if let Some(index) = up_to_date(&output, &project_digest, &trained) {
        return Ok(MergeReport {
            output,
            index,
            was_there: true,
        });
    }
    let survey = survey(project, &trained, request.memory_mib * MIB, stop)?;
    let own = output == merged_path(&project.root);
    // One merge of a project at a time: two would take twice the disk. Elsewhere each has files of its own.
    let _lock = match output.parent() {
        Some(folder) if own => {
            refuse_links_below(folder)?;
            Some(FolderLock::take(folder)?)
        }
        _ => None,
    };
    let (file, merged) = written(&survey, &output, stop)?;
    if own {
        // Figures of another model; where there are none, or they cannot go, the merge is none the worse.
        let _ = fs::remove_file(evaluation_path(&project.root));
    }
    file.commit()?;
    let index = index_of(&output, project_digest, &trained, (&survey, merged));
    write_json(&index_path(&output), &index)?;
    Ok(MergeReport {
        output,
        index,
        was_there: false,
    })
}

/// A block with what its run left.
type Trained<'a> = (&'a BlockFolder, Done);

/// All blocks of a project.
///
/// # Errors
/// [`ProjectError::Untrained`] with those that have no model yet.
fn all_trained<'a>(project: &ProjectFolder, blocks: &'a [BlockFolder]) -> Result<Vec<Trained<'a>>, ProjectError> {
    let mut trained = Vec::new();
    let mut missing = Vec::new();
    for block in blocks {
        match block.done()? {
            Some(done) => trained.push((block, done)),
            None => missing.push(block.record.name.clone()),
        }
    }
    if missing.is_empty() {
        return Ok(trained);
    }
    Err(ProjectError::Untrained {
        path: project.root.clone(),
        missing,
        all: blocks.len(),
    })
}

/// What of the blocks' models is kept; each is the one that its run wrote.
fn survey(
    project: &ProjectFolder,
    trained: &[Trained<'_>],
    memory_bytes: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Survey, ProjectError> {
    let models = trained.iter().map(|(block, done)| Model {
        path: block.root.join(&done.model.name),
        core: Rect::from(&block.record.core),
    });
    let bounds = Rect::from(&project.record.bounds);
    let margins = trained.iter().map(|(block, _)| block.record.margin);
    let width = margins.fold(f64::INFINITY, f64::min);
    let options = Options {
        frame: frame(project, &bounds),
        memory_bytes,
    };
    let ground = (&project.record.ground).into();
    let survey = Survey::of(models.collect(), ground, options, (&bounds, width), stop).map_err(of_merge)?;
    for ((block, done), kept) in trained.iter().zip(&survey.kept) {
        if kept.digest != done.model.sha256 {
            return Err(ProjectError::Changed {
                path: block.root.join(&done.model.name),
                found: "it is not the model that the run of the block wrote".to_owned(),
            });
        }
    }
    Ok(survey)
}

/// The merged model in a file that is still to be committed.
fn written(survey: &Survey, output: &Path, stop: &dyn Fn() -> bool) -> Result<(AtomicFile, Merged), ProjectError> {
    let scratch = Scratch::beside(output)?;
    let mut file = AtomicFile::create(output)?;
    let no_room = |e: io::Error| ProjectError::NoRoom {
        path: output.parent().unwrap_or(output).to_owned(),
        needed_mib: (2 * survey.bytes()).div_ceil(MIB),
        reason: e.to_string(),
    };
    // Room for the model and, for a moment, for the buckets: both are there at the worst moment.
    file.reserve(survey.bytes()).map_err(no_room)?;
    let probe = AtomicFile::create(&scratch.path.join("room")).map_err(ProjectError::from);
    probe?.reserve(survey.bytes()).map_err(no_room)?;
    let merged = survey.write(&mut file, output, &scratch.path, stop).map_err(of_merge)?;
    Ok((file, merged))
}

/// The index of a merged model.
fn index_of(
    output: &Path,
    project: String,
    trained: &[Trained<'_>],
    (survey, merged): (&Survey, Merged),
) -> MergedIndex {
    let blocks = trained.iter().zip(&survey.kept).map(|((block, _), kept)| MergedBlock {
        name: block.record.name.clone(),
        sha256: kept.digest.clone(),
        trained: kept.trained,
        kept: kept.kept,
    });
    let chunks = merged.chunks.iter().map(|chunk| MergedChunk {
        first: chunk.first,
        count: chunk.count,
        centers: chunk.centers,
        reach: chunk.reach,
    });
    MergedIndex {
        version: VERSION,
        model: FileRecord {
            name: output.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: merged.digest,
        },
        bytes: merged.bytes,
        gaussians: survey.count(),
        project,
        blocks: blocks.collect(),
        borders: borders(trained, survey),
        chunks: chunks.collect(),
    }
}

/// The index of a model that is there already: of this project, of these models, whole.
fn up_to_date(output: &Path, project: &str, trained: &[Trained<'_>]) -> Option<MergedIndex> {
    let index: MergedIndex = read_record(&index_path(output)).ok()?;
    let same = index.project == project
        && index.blocks.len() == trained.len()
        && index
            .blocks
            .iter()
            .zip(trained)
            .all(|(merged, (_, done))| merged.sha256 == done.model.sha256);
    let whole = fs::metadata(output).is_ok_and(|file| file.len() == index.bytes);
    (same && whole && digest(output).ok()? == index.model.sha256).then_some(index)
}

/// What Gaussians are ordered by: the middle of the scene's bounds, and half of their longer side.
fn frame(project: &ProjectFolder, bounds: &Rect) -> Frame {
    let axes = project.record.ground.axes;
    let middle = [0, 1].map(|axis| 0.5 * (bounds.min[axis] + bounds.max[axis]));
    let sides = bounds.sides();
    let extent = 0.5 * sides[0].max(sides[1]);
    Frame {
        center: std::array::from_fn(|i| middle[0] * axes[0][i] + middle[1] * axes[1][i]),
        extent: if extent > 0.0 && extent.is_finite() {
            extent
        } else {
            1.0
        },
    }
}

fn borders(trained: &[Trained<'_>], survey: &Survey) -> Vec<MergedBorder> {
    let blocks: Vec<&BlockFolder> = trained.iter().map(|(block, _)| *block).collect();
    let views: Vec<BTreeSet<&String>> = blocks
        .iter()
        .map(|block| block.record.train_views.iter().collect())
        .collect();
    let border = |count: &kiln_blocks::merge::BorderCount| {
        let [low, high] = count.border.blocks;
        Some(MergedBorder {
            blocks: [
                blocks.get(low)?.record.name.clone(),
                blocks.get(high)?.record.name.clone(),
            ],
            axis: count.border.axis,
            at: count.border.at,
            along: count.border.along,
            shared_views: views.get(low)?.intersection(views.get(high)?).count(),
            width: count.width,
            density: count.density(),
        })
    };
    survey.borders.iter().filter_map(border).collect()
}

/// A folder for buckets beside the output, new and of a random name; it goes away with the value. What killed merges
/// left goes first.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn beside(output: &Path) -> Result<Self, ProjectError> {
        let fail = |e| ExportError::new(output, e);
        let name = output.file_name().unwrap_or_default();
        let path = output.with_file_name(temporary_name(name).map_err(fail)?);
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
            make_folder(folder)?;
        }
        remove_left_of(output);
        fs::create_dir(&path).map_err(fail)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is removed by the next merge.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The errors of a merge as those of a project, a full disk among them.
fn of_merge(error: MergeError) -> ProjectError {
    match error {
        MergeError::Write { path, source } => ExportError::new(&path, source).into(),
        other => ProjectError::Merge(other),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

    /// A project that somebody sends may hold links of any name.
    #[cfg(unix)]
    #[test]
    fn links_beside_the_output_lead_nowhere() {
        let (project, theirs) = (Scratch::new(), Scratch::new());
        theirs.write("kept", "theirs");
        project.write("merged/other", "");
        let output = project.path().join("merged/point_cloud.ply");
        for name in [".point_cloud.ply.merge", ".point_cloud.ply.4294967295-0.tmp"] {
            std::os::unix::fs::symlink(theirs.path(), output.with_file_name(name)).unwrap();
        }
        let scratch = super::Scratch::beside(&output).unwrap();
        fs::write(scratch.path.join("bucket"), "ours").unwrap();
        drop(scratch);
        assert_eq!(fs::read_to_string(theirs.path().join("kept")).unwrap(), "theirs");
        assert_eq!(fs::read_dir(theirs.path()).unwrap().count(), 1);
    }

    #[test]
    fn blocks_trained_after_the_merge_are_named() {
        let scratch = Scratch::new();
        let block =
            |name: &str| serde_json::json!({ "name": name, "sha256": format!("{name} 1"), "trained": 9, "kept": 5 });
        let index = serde_json::json!({
            "version": VERSION, "model": { "name": "point_cloud.ply", "sha256": "" }, "bytes": 0, "gaussians": 10, "project": "",
            "blocks": [block("b0000"), block("b0001"), block("b0002")], "borders": [], "chunks": []
        });
        let done = |name: &str, sha256: &str| {
            let done = serde_json::json!({
                "version": VERSION, "block": "", "typed": [], "model": { "name": "model.ply", "sha256": sha256 }, "gaussians": 9,
                "iterations": 1, "test_psnr": null, "seconds": 1.0, "device": ""
            });
            scratch.write(&format!("blocks/{name}/done.json"), done.to_string());
        };
        assert!(trained_since(scratch.path()).is_empty(), "nothing was merged");
        scratch.write("merged/point_cloud.index.json", index.to_string());
        for name in ["b0000", "b0001", "b0002"] {
            done(name, &format!("{name} 1"));
        }
        assert!(trained_since(scratch.path()).is_empty());
        done("b0001", "b0001 2");
        let _ = fs::remove_file(scratch.path().join("blocks/b0002/done.json"));
        assert_eq!(trained_since(scratch.path()), ["b0001", "b0002"]);
        let _ = fs::remove_dir_all(scratch.path().join("blocks/b0002"));
        assert_eq!(
            trained_since(scratch.path()),
            ["b0001"],
            "a block that was cut or not copied"
        );
    }
}
