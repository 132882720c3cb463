//! Exit codes, and the one place that prints an error.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::{ProfilesError, UsageError};
use crate::export::{DeliveryError, ExportError, FileError};
use crate::record::run_folder::RunFolderError;
use crate::run::interrupt::Signal;
use kiln_config::{AutoError, ConfigError};

/// What errors call the place that answers are printed to.
const STANDARD_OUTPUT: &str = "standard output";

/// The error of an answer that could not be printed.
pub(super) fn unprinted(error: io::Error) -> ExportError {
    ExportError::new(Path::new(STANDARD_OUTPUT), error)
}

/// Says that a command was interrupted that leaves all or nothing.
pub(super) fn interrupted(signal: Signal) -> Exit {
    // Losing a line of information is no reason to stop.
    let _ = writeln!(
        io::stderr(),
        "interrupted; nothing is written, and what was there is as it was"
    );
    signal.into()
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// A defect of the program.
    Internal = 1,
    /// Wrong arguments.
    Usage = 2,
    /// Wrong configuration.
    Config = 3,
    /// Wrong or missing scene data.
    Data = 4,
    /// No device that may be used.
    NoDevice = 5,
    /// The plan does not fit, or the device refused memory.
    DoesNotFit = 6,
    /// The output folder is not writable, or the disk is full.
    Output = 7,
    /// Memory spilled to the host where the profile forbids it.
    Spilled = 8,
    /// Setting up needs a package.
    Setup = 9,
    /// Training did not yield numbers.
    NotFinite = 10,
    /// A signal ended the process at once: what was done since the last checkpoint is lost. Set by
    /// [`interrupt`](crate::run::interrupt) itself.
    Unsaved = 71,
    /// The device was lost twice.
    DeviceLost = 70,
    /// Interrupted; what training reached is saved, other output is not there.
    Interrupted = 130,
    /// Asked to terminate; what training reached is saved, other output is not there.
    Terminated = 143,
}

impl From<Signal> for Exit {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Interrupt => Self::Interrupted,
            Signal::Terminate => Self::Terminated,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that ends the program: every layer's error enum says how.
pub trait Failure: Error {
    /// The exit code.
    fn exit(&self) -> Exit;

    /// What to do next, when the message does not say it.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Whether all that went wrong is that who read the answer has read enough, as `head` does: nothing to report.
    fn reader_left(&self) -> bool {
        false
    }
}

impl<E: Failure + 'static> From<E> for Box<dyn Failure> {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

impl Failure for UsageError {
    fn exit(&self) -> Exit {
        match self {
            Self::Arguments(error) if !error.use_stderr() => Exit::Ok,
            Self::NothingThere { .. } => Exit::Data,
            _ => Exit::Usage,
        }
    }
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl Failure for ConfigError {
    fn exit(&self) -> Exit {
        Exit::Config
    }
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl Failure for AutoError {
    fn exit(&self) -> Exit {
        match self {
            Self::CpuNotAllowed => Exit::NoDevice,
            Self::TooSmall { .. } => Exit::DoesNotFit,
            Self::Config(_) => Exit::Config,
        }
    }
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl Failure for ProfilesError {
    fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Config,
            Self::Write(_) => Exit::Output,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Write(_) => None,
        }
    }
    fn reader_left(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == ErrorKind::BrokenPipe)
    }
}

impl Failure for ExportError {
    fn exit(&self) -> Exit {
        Exit::Output
    }
    fn reader_left(&self) -> bool {
        matches!(self, Self::Io { path, reason }
            if path == Path::new(STANDARD_OUTPUT) && reason.kind() == ErrorKind::BrokenPipe)
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } => Some("`-o FOLDER` writes elsewhere".to_owned()),
            Self::DiskFull { .. } | Self::NotWritable { .. } => None,
        }
    }
}

impl Failure for DeliveryError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoGaussians | Self::Read(_) => Exit::Data,
            Self::OutsideCrop { .. } | Self::TooLarge { .. } | Self::Sog { .. } => Exit::Usage,
            Self::Exists { .. } => Exit::Output,
            Self::Stopped => Exit::Interrupted,
            Self::Write(error) => error.exit(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Exists { .. } => Some("`-o FOLDER` writes elsewhere".to_owned()),
            Self::Read(_) | Self::Stopped => None,
            Self::NoGaussians => Some("`kiln inspect FILE` shows what it holds".to_owned()),
            Self::OutsideCrop { .. } => {
                Some("`--crop` takes the smallest x,y,z and the largest, in the scene's coordinates".to_owned())
            }
            Self::TooLarge { .. } | Self::Sog { .. } => {
                Some("these make it smaller: `--max-splats N`, `--sh-degree N`, `--crop`, `--format spz`".to_owned())
            }
            Self::Write(error) => error.hint(),
        }
    }
}

impl Failure for FileError {
    fn exit(&self) -> Exit {
        Exit::Data
    }
}

impl Failure for RunFolderError {
    fn exit(&self) -> Exit {
        match self {
            Self::Write(error) => error.exit(),
            Self::Config(error) => error.exit(),
            Self::OtherScene { .. } | Self::Exists { .. } | Self::NotARun { .. } | Self::Busy { .. } => Exit::Output,
            Self::NoRun { .. } | Self::Unreadable { .. } => Exit::Data,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Write(error) => error.hint(),
            Self::Exists { .. } => {
                Some("`--resume` goes on with it, `--overwrite` deletes it, `-o FOLDER` writes elsewhere".to_owned())
            }
            Self::Unreadable { .. } => Some("it is damaged, or of another version of Kiln".to_owned()),
            Self::NoRun { .. } => Some("a run folder holds `run.json`; `kiln train SCENE` makes one".to_owned()),
            Self::OtherScene { .. } | Self::NotARun { .. } => Some(
                "`-o FOLDER` writes elsewhere; `-o FOLDER --name NAME` keeps several runs side by side in FOLDER"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// Prints `error: ...`, causes that the message does not contain yet, a blank line and `hint: ...`; gives the exit code.
/// A failure to print is ignored, because there is nowhere left to say so.
pub fn report(failure: &dyn Failure, out: &mut dyn Write) -> Exit {
    if failure.reader_left() {
        return Exit::Ok;
    }
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text += &format!("\n  because: {message}");
        }
        cause = error.source();
    }
    let _ = match failure.hint() {
        Some(hint) => writeln!(out, "error: {text}\n\nhint: {hint}"),
        None => writeln!(out, "error: {text}"),
    };
    failure.exit()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::cli::parse;
    use kiln_config::{Inputs, resolve};

    fn printed(failure: &dyn Failure) -> (String, Exit) {
        let mut out = Vec::new();
        let exit = report(failure, &mut out);
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn usage_and_configuration_errors() {
        let (text, exit) = printed(&parse(["kiln", "train", "s", "--set", "x"]).unwrap_err());
        assert_eq!(
            text,
            "error: `--set x` is not of the form `--set key.path=value`\n\nhint: for example `--set memory.cap_gib=6.5`\n"
        );
        assert_eq!(exit, Exit::Usage);
        let (text, exit) = printed(&parse(["kiln", "train", "s", "--stes", "x"]).unwrap_err());
        assert!(
            text.starts_with("error: unexpected argument '--stes' found\n"),
            "{text}"
        );
        assert_eq!(exit, Exit::Usage);
        let inputs = Inputs {
            recipe: Some("mop".to_owned()),
            ..Inputs::default()
        };
        let (text, exit) = printed(&resolve(&inputs).unwrap_err());
        assert_eq!(
            text,
            "error: no recipe is named `mop`\n\nhint: shipped, nearest first: mip, mcmc, demo, fast, bound, draft, sugar, default, quality, surface, \
             sugar_light, meshsplatting, meshsplatting_indoor; \
             a path to a recipe file must end in .yaml or .yml\n"
        );
        assert_eq!(exit, Exit::Config);
    }

    #[test]
    fn causes_are_printed_once() {
        let inputs = Inputs {
            file: Some("/nonexistent/f.yaml".into()),
            ..Inputs::default()
        };
        let (text, _) = printed(&resolve(&inputs).unwrap_err());
        assert_eq!(text.matches("os error").count(), 1, "{text}");
    }

    #[test]
    fn help_and_auto() {
        let help = parse(["kiln", "--help"]).unwrap_err();
        assert_eq!(help.exit(), Exit::Ok);
        assert_eq!(AutoError::CpuNotAllowed.exit(), Exit::NoDevice);
        assert_eq!(
            AutoError::TooSmall {
                budget_gib: 1.0,
                heap_gib: 8.0,
                smallest_gib: 7.0
            }
            .exit(),
            Exit::DoesNotFit
        );
    }

    #[test]
    fn output_errors() {
        let path = std::path::PathBuf::from("runs/a");
        let full = ExportError::new(&path, ErrorKind::StorageFull.into());
        assert_eq!(full.exit(), Exit::Output);
        assert_eq!(RunFolderError::Write(full).exit(), Exit::Output);
        assert_eq!(RunFolderError::NoRun { path: path.clone() }.exit(), Exit::Data);
        let (text, exit) = printed(&RunFolderError::Exists {
            path,
            status: "done",
            done: 30,
            total: 30,
        });
        assert_eq!(
            text,
            "error: runs/a already holds a run (status done, 30 of 30 iterations); resume it or choose another output \
             folder\n\nhint: `--resume` goes on with it, `--overwrite` deletes it, `-o FOLDER` writes elsewhere\n"
        );
        assert_eq!(exit, Exit::Output);
    }

    #[test]
    fn codes_are_what_scripts_rely_on() {
        let codes = [
            Exit::Ok,
            Exit::Internal,
            Exit::Usage,
            Exit::Config,
            Exit::Data,
            Exit::NoDevice,
            Exit::DoesNotFit,
            Exit::Output,
            Exit::Spilled,
            Exit::Setup,
            Exit::DeviceLost,
            Exit::Interrupted,
            Exit::Terminated,
        ];
        assert_eq!(
            codes.map(|code| code as u8),
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130, 143]
        );
    }
}
