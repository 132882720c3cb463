//! Errors of the command line itself.

use std::path::PathBuf;

use crate::plan::FaultError;

/// Arguments that make no request.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The parser's own errors, and `--help` and `--version`.
    #[error("{}", without_prefix(.0))]
    Arguments(Box<clap::Error>),
    /// A flag of other trainers that has no equivalent.
    #[error("`{flag}` is not a flag of Kiln")]
    Refused {
        /// The flag as typed.
        flag: String,
        /// What to use instead.
        instead: &'static str,
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
    #[error("`--write` writes into a run folder, and {shown} is none")]
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
    /// A path that is not there.
    #[error("{shown} does not exist")]
    NothingThere {
        /// What was named.
        shown: String,
    },
    /// The scene of a run is not where it was.
    #[error("the scene {} that {} was trained on is not there", path.display(), run.display())]
    SceneMoved {
        /// Where it was.
        path: PathBuf,
        /// The run.
        run: PathBuf,
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
    /// A setting for a model that is a mesh already.
    #[error("{} is a mesh already, which `{key}` ({flag}) says nothing about", path.display())]
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
    #[error("`{flag}` is nothing that can be set for the block {}: it says itself where its run goes and which photos it sees", block.display())]
    OfBlock {
        /// The block.
        block: PathBuf,
        /// The flag.
        flag: String,
    },
    /// A setting for a block that is cut.
    #[error("`{flag}` is nothing that can be set where the block {} is cut: its halves are made as the project was", block.display())]
    OfCut {
        /// The block.
        block: PathBuf,
        /// The flag.
        flag: String,
    },
    /// No scene on the command line and none in the configuration file.
    #[error("no scene is given")]
    NoScene,
    /// `kiln train --resume` and nothing else.
    #[error("no run is given that is to go on")]
    NoRunToResume,
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
            Self::Refused { instead, .. } => Some((*instead).to_owned()),
            Self::SetForm { .. } => Some("for example `--set memory.cap_gib=6.5`".to_owned()),
            Self::Fault(error) => error.hint(),
            Self::WriteNeedsRun { .. } => Some("`--json` prints the figures of every view".to_owned()),
            Self::NoFormat { .. } => Some(
                "`--format` is ply, compressed-ply, spz, sog, streamed-sog or glb; or give `-o` a name that ends in .ply, \
                 .compressed.ply, .spz, .sog, .streamed-sog or .glb"
                    .to_owned(),
            ),
            Self::OtherEnding { .. } => {
                Some("leave out `--format`, or give the file the ending of its format".to_owned())
            }
            Self::NotSpz { .. } => Some("leave it out, or use `--format spz`".to_owned()),
            Self::PlyWithoutName | Self::OverTheModel { .. } => {
                Some("`-o FILE.ply` writes elsewhere".to_owned())
            }
            Self::NothingThere { .. } => Some("name a scene folder, a run folder or a PLY file".to_owned()),
            Self::SceneMoved { run, .. } => {
                let run = super::shell::word(run);
                Some(format!(
                    "name its folder after the run: `kiln eval {run} SCENE`; `kiln render {run} --cameras {run}/cameras.json` needs \
                     none"
                ))
            }
            Self::Unread { .. } => Some(
                "leave it out; a stored model is drawn by `dataset`, `device`, `diagnose`, `eval`, `memory`, `model` \
                 and `mip.kernel_size`"
                    .to_owned(),
            ),
            Self::KernelStated { .. } => Some("leave the setting out".to_owned()),
            Self::Converted { .. } => Some("leave it out; `--format` and `-o` say what is written where".to_owned()),
            Self::NoProjectFolder => Some("`-o PROJECT` names it".to_owned()),
            Self::NoProfile => {
                Some("`--profile 8gb` is for 8 GB cards; `kiln profiles list` shows others, `--set memory.cap_gib=6.5` is any size".to_owned())
            }
            Self::OfBlock { .. } => Some("leave it out; `kiln split` decides it for all blocks of a project".to_owned()),
            Self::OfCut { .. } => Some("leave it out; `kiln split SCENE -o PROJECT` makes another project".to_owned()),
            Self::NoScene => {
                Some("name its folder on the command line, or `dataset.path` in the configuration file".to_owned())
            }
            Self::NoRunToResume => Some(
                "`kiln train --resume -o RUN` goes on with the run in that folder, `kiln train SCENE --resume` with the newest of \
                 that scene below `runs`"
                    .to_owned(),
            ),
            Self::RunAsScene { path } => {
                Some(format!("`kiln train --resume -o {}` goes on with it", super::shell::word(path)))
            }
            Self::IsSplit { path, block } => {
                let (path, block) = (super::shell::word(path), super::shell::word(block));
                Some(format!(
                    "`kiln split {block}` cuts a block of it in two, `kiln status {path}` says how far it is, `kiln merge {path}` puts \
                     trained blocks together"
                ))
            }
            Self::ProjectAsScene { path, block } => Some(format!(
                "name one of its blocks: `kiln train {}`; `kiln status {}` lists them",
                super::shell::word(block),
                super::shell::word(path)
            )),
        }
    }
}

/// The parser starts its messages with `error: `, which the reporter adds for every error, and ends them with a sentence
/// on `--help`, which is a hint.
fn without_prefix(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let (text, _) = text.split_once("For more information").unwrap_or((text, ""));
    // its advice for what begins with a hyphen and is no flag; nobody names a scene so
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("' as a value, use '-- "))
        .collect();
    lines.join("\n").replace("\n\n\n", "\n\n").trim_end().to_owned()
}
