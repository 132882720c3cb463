//! Errors of the command line itself.

use std::path::PathBuf;

use super::flags::RefusedFlag;
use crate::jobs::shell::word;
use crate::plan::FaultError;
use kiln_config::{PROFILES, RECIPES, Shipped};

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
    /// An output whose path is one of the other system, and would be made here under that name.
    #[error("nothing is written to {shown}: it is a name that {other} has")]
    OtherSystem {
        /// What was named.
        shown: String,
        /// The system that it is a name of.
        other: &'static str,
        /// What to name.
        instead: String,
    },
    /// A path that is not there.
    #[error("{shown} does not exist")]
    NothingThere {
        /// What was named.
        shown: String,
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
                    let lines: Vec<String> = lines
                        .map(|(flag, refused)| format!("{flag}: {}", refused.instead))
                        .collect();
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
            Self::PlyWithoutName | Self::OverTheModel { .. } => Some("`-o FILE.ply` writes elsewhere".to_owned()),
            Self::MergedIsPly { output, project } => Some(format!(
                "`kiln merge {project}`, then `kiln export {project} -o {}`",
                word(output),
                project = word(project)
            )),
            Self::OtherSystem { instead, .. } => Some(instead.clone()),
            Self::NothingThere { .. } => Some("name a scene folder, a run folder or a PLY file".to_owned()),
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
