//! Errors of the command line itself.

use std::path::PathBuf;

use super::flags::RefusedFlag;
use crate::config::{PROFILES, RECIPES, Shipped};
use crate::jobs::shell::word;
use crate::plan::FaultError;

/// Arguments that make no request.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The parser's own errors, and `--help` and `--version`.
    #[error("{}", without_prefix(.0))]
    Arguments(Box<clap::Error>),
    /// Flags of other trainers that have no equivalent, or values that they have there alone.
    #[error("{}", match &flags[..] {
        [RefusedFlag { flag, value: Some(value), .. }] => format!("`{value}` is no value of `{flag}`"),
        [RefusedFlag { flag, .. }] => format!("`{flag}` is not a flag of Kiln"),
        all => format!("{} flags are not understood here: {}", all.len(), shown(all).join(", ")),
    })]
    Refused {
        /// All of the command line.
        flags: Vec<RefusedFlag>,
    },
    /// An argument that is not UTF-8.
    #[error("the argument `{shown}` is not UTF-8 text")]
    NotText {
        /// The argument, with replacement characters.
        shown: String,
    },
    /// `--set` without a key and a value.
    #[error("`--set {found}` is not of the form `--set key.path=value`")]
    SetForm {
        /// The argument.
        found: String,
    },
    /// A `--fault` that means nothing.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// `--write` without a run folder.
    #[error("`--write` writes into a run folder, and {shown} is not one")]
    WriteNeedsRun {
        /// What was named.
        shown: String,
    },
    /// No format for an export.
    #[error("{}", match output {
        Some(path) => format!("the name of {} does not say in which format it is to be written", path.display()),
        None => "no format is given".to_owned(),
    })]
    NoFormat {
        /// Where the export was to go.
        output: Option<PathBuf>,
    },
    /// A file name that says another format than `--format`.
    #[error("{} ends as {ending} files do, and the format is {format}", output.display())]
    OtherEnding {
        /// Where the export was to go.
        output: PathBuf,
        /// The format that its ending stands for.
        ending: &'static str,
        /// The format that was asked for.
        format: &'static str,
    },
    /// `--spz-version` for another format.
    #[error("`--spz-version` is for SPZ files, and the format is {format}")]
    NotSpz {
        /// The format.
        format: &'static str,
    },
    /// PLY beside a PLY file.
    #[error("a PLY file beside the model would take its name")]
    PlyWithoutName,
    /// An export over the model that it is made from.
    #[error("{shown} is the model itself")]
    OverTheModel {
        /// The file.
        shown: String,
    },
    /// A merged model in another format.
    #[error("`kiln merge` writes PLY, and {} does not end in .ply", output.display())]
    MergedIsPly {
        /// Where the model was to go.
        output: PathBuf,
        /// The project.
        project: PathBuf,
    },
    /// A path that is not there.
    #[error("{shown} does not exist")]
    NothingThere {
        /// What was named.
        shown: String,
    },
    /// Something else where a model is wanted.
    #[error("{} is {what}", path.display())]
    NotAModel {
        /// What was named.
        path: PathBuf,
        /// What it is.
        what: String,
        /// What to name or do.
        instead: String,
    },
    /// The scene of a run is not where it was.
    #[error("the scene {} that {} was trained on is not there", path.display(), run.display())]
    SceneMoved {
        /// Where it was.
        path: PathBuf,
        /// The run.
        run: PathBuf,
        /// How to name where it is.
        instead: String,
    },
    /// A setting that the command does not read.
    #[error("`{command}` does not read `{key}` ({flag})")]
    Unread {
        /// The command.
        command: &'static str,
        /// The key.
        key: String,
        /// The flag that set it.
        flag: String,
    },
    /// A setting of models of triangles in a run of Gaussians.
    #[error("`{key}` ({flag}) is for models of triangles, and this run trains Gaussians")]
    OfTriangles {
        /// The key.
        key: String,
        /// The flag that set it.
        flag: String,
    },
    /// A setting for a model that is a mesh already.
    #[error("{} is a mesh already: `{key}` ({flag}) does not apply to it", path.display())]
    Converted {
        /// The model.
        path: PathBuf,
        /// The key.
        key: String,
        /// The flag that set it.
        flag: String,
    },
    /// A kernel for a model that states its own.
    #[error("{} says itself how it is drawn: {stated}; `{key}` is for files that do not", path.display())]
    KernelStated {
        /// The model.
        path: PathBuf,
        /// What it says.
        stated: String,
        /// The key that was set.
        key: String,
    },
    /// `kiln split` without a folder for the project.
    #[error("no folder is given for the project")]
    NoProjectFolder,
    /// `kiln split` for whatever card is here.
    #[error("no memory profile is named that blocks are to fit")]
    NoProfile,
    /// A block's run elsewhere than in the block.
    #[error("`{flag}` cannot be set for the block {}: its own settings name its run folder and its photos", block.display())]
    OfBlock {
        /// The block.
        block: PathBuf,
        /// The flag.
        flag: String,
    },
    /// A setting for a block that is cut.
    #[error("`{flag}` cannot be set when the block {} is cut: its halves keep the settings of the project", block.display())]
    OfCut {
        /// The block.
        block: PathBuf,
        /// The flag.
        flag: String,
    },
    /// A data set where a run is to go.
    #[error("{} is a data set, and no folder for a run", path.display())]
    OutputIsScene {
        /// The folder.
        path: PathBuf,
    },
    /// A model of no run, and no scene to look at it from.
    #[error("no scene is given")]
    NoSceneOfModel {
        /// How to name one, or do without.
        instead: String,
    },
    /// No scene on the command line and none in the configuration file.
    #[error("no scene is given")]
    NoScene,
    /// Recipe `bound` without a mesh.
    #[error("recipe `bound` needs a mesh to bind Gaussians to")]
    NoMesh,
    /// `kiln train --resume` and nothing else.
    #[error("no run is given that is to go on")]
    NoRunToResume,
    /// `kiln train --resume=FILE` and nothing else, of a file somewhere.
    #[error("{} lies in no run, and none is given that is to go on", checkpoint.display())]
    NoRunAround {
        /// The checkpoint.
        checkpoint: PathBuf,
    },
    /// A recipe for a run that goes on with its own settings.
    #[error("`--recipe {recipe}` changes nothing of the run {}, which goes on with the settings that it began with", run.display())]
    RecipeOfRun {
        /// The recipe.
        recipe: String,
        /// The run.
        run: PathBuf,
    },
    /// A run folder where a scene is wanted.
    #[error("{} is a run, not a scene", path.display())]
    RunAsScene {
        /// The folder.
        path: PathBuf,
    },
    /// A project that is to be split again.
    #[error("{} is a project of blocks, which is split already", path.display())]
    IsSplit {
        /// The folder.
        path: PathBuf,
        /// One of its blocks.
        block: PathBuf,
    },
    /// A project where a scene or one of its blocks is wanted.
    #[error("{} is a project of blocks, not a scene", path.display())]
    ProjectAsScene {
        /// The folder.
        path: PathBuf,
        /// The first of its blocks.
        block: PathBuf,
    },
}

impl UsageError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Arguments(error) if !error.use_stderr() => None,
            Self::Arguments(_) => Some("`--help` shows what is accepted, with examples".to_owned()),
            Self::NotText { .. } => None,
            Self::Refused { flags } => Some(match &flags[..] {
                [one] => one.instead.to_owned(),
                all => {
                    let lines = shown(all).into_iter().zip(all);
                    let lines: Vec<String> = lines.map(|(flag, refused)| format!("{flag}: {}", refused.instead)).collect();
                    lines.join("\n")
                }
            }),
            Self::SetForm { .. } => Some("for example `--set memory.cap_gib=6.5`".to_owned()),
            Self::Fault(error) => error.hint(),
            Self::WriteNeedsRun { .. } => Some("`--json` prints the figures of every view".to_owned()),
            Self::NoFormat { .. } => Some(
                "`--format` is ply, compressed-ply, spz, sog, streamed-sog, 3d-tiles or glb; or give `-o` a name that \
                 ends in .ply, .compressed.ply, .spz, .sog, .streamed-sog, .3d-tiles or .glb"
                    .to_owned(),
            ),
            Self::OtherEnding { .. } => {
                Some("leave out `--format`, or give the file the ending of its format".to_owned())
            }
            Self::NotSpz { .. } => Some("leave it out, or use `--format spz`".to_owned()),
            Self::PlyWithoutName | Self::OverTheModel { .. } => {
                Some("`-o FILE.ply` writes elsewhere".to_owned())
            }
            Self::MergedIsPly { output, project } => Some(format!(
                "`kiln merge {project}`, then `kiln export {project} -o {}`",
                word(output),
                project = word(project)
            )),
            Self::NothingThere { .. } => Some("name a scene folder, a run folder or a PLY file".to_owned()),
            Self::NotAModel { instead, .. } | Self::SceneMoved { instead, .. } => Some(instead.clone()),
            Self::Unread { .. } => Some(
                "leave it out; a stored model is drawn by `dataset`, `device`, `diagnose`, `eval`, `memory`, `model` \
                 and `mip.kernel_size`"
                    .to_owned(),
            ),
            Self::OfTriangles { .. } => Some(
                "`--recipe meshsplatting` trains triangles; `--max-gaussians N` says how many Gaussians there may be".to_owned(),
            ),
            Self::KernelStated { .. } => Some("leave the setting out".to_owned()),
            Self::Converted { .. } => Some("leave it out; `--format` and `-o` say what is written where".to_owned()),
            Self::NoProjectFolder => Some("`-o PROJECT` names it".to_owned()),
            Self::NoProfile => {
                Some("`--profile 8gb` is for 8 GB cards; `kiln profiles list` shows others, `--set memory.cap_gib=6.5` is any size".to_owned())
            }
            Self::OfBlock { .. } => Some("leave it out; `kiln split` decides it for all blocks of a project".to_owned()),
            Self::OfCut { .. } => Some("leave it out; `kiln split SCENE -o PROJECT` makes another project".to_owned()),
            Self::OutputIsScene { .. } => Some(
                "`-o FOLDER` names another; without `-o` the run goes to runs/SCENE".to_owned(),
            ),
            Self::NoSceneOfModel { instead } => Some(instead.clone()),
            Self::NoScene => {
                Some("name its folder on the command line, or `dataset.path` in the configuration file".to_owned())
            }
            Self::NoMesh => Some(
                "`--init-mesh FILE` names it (PLY, OBJ, GLB); `kiln mesh RUN` makes one of a trained model".to_owned(),
            ),
            Self::NoRunToResume => Some(
                "`kiln train --resume -o RUN` goes on with the run in that folder, `kiln train SCENE --resume` with the newest of \
                 that scene below `runs`"
                    .to_owned(),
            ),
            Self::NoRunAround { .. } => Some("`-o RUN` names its run, or a folder for a run of its own".to_owned()),
            Self::RecipeOfRun { recipe, .. } => Some(format!(
                "leave it out; `kiln train SCENE --recipe {recipe} -o FOLDER` trains another run"
            )),
            Self::RunAsScene { path } => {
                Some(format!("`kiln train --resume -o {}` goes on with it", word(path)))
            }
            Self::IsSplit { path, block } => {
                let (path, block) = (word(path), word(block));
                Some(format!(
                    "`kiln split {block}` cuts a block of it in two, `kiln status {path}` says how far it is, `kiln merge {path}` puts \
                     trained blocks together"
                ))
            }
            Self::ProjectAsScene { path, block } => Some(format!(
                "name one of its blocks: `kiln train {}`; `kiln status {}` lists them",
                word(block),
                word(path)
            )),
        }
    }
}

/// Flags as typed, with the values that are not understood.
fn shown(flags: &[RefusedFlag]) -> Vec<String> {
    let shown = flags.iter().map(|refused| match &refused.value {
        Some(value) => format!("`{} {value}`", refused.flag),
        None => format!("`{}`", refused.flag),
    });
    shown.collect()
}

/// The parser starts its messages with `error: `, which the reporter adds for every error, and ends them with a sentence
/// on `--help`, which is a hint.
fn without_prefix(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (text, _) = text.split_once("For more information").unwrap_or((text, ""));
    // its advice for what begins with a hyphen and is no flag; nobody names a scene so
    let lines = text.lines().filter(|line| !line.contains("' as a value, use '-- "));
    let lines: Vec<String> = lines.map(with_files).collect();
    lines.join("\n").replace("\n\n\n", "\n\n").trim_end().to_owned()
}

/// The parser lists shipped names, and files of people are named too.
fn with_files(line: &str) -> String {
    let first = |shipped: &[Shipped]| shipped.first().map_or("", Shipped::short_name);
    let list = line.trim_start().strip_prefix("[possible values: ");
    let lead = match list {
        Some(list) if list.starts_with(first(&PROFILES)) => "auto, ",
        Some(list) if list.starts_with(first(&RECIPES)) => "",
        _ => return line.to_owned(),
    };
    let line = line.replacen(": ", &format!(": {lead}"), 1);
    line.replacen(']', ", or FILE.yaml]", 1)
}
