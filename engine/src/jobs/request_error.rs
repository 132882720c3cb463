//! Requests that cannot be done as they are.

use std::path::PathBuf;

use super::shell::word;

/// Parts of the request do not go together, or what it names is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
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

impl RequestError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
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
