//! Kiln for Windows from inside WSL2: the same command for `kiln.exe`, printed or handed over.

mod paths;
mod stored;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kiln_system::wsl;

use super::{Exit, Failure, UsageError};
use crate::jobs::shell::argument_word;
use paths::{Argument, arguments};

/// The Windows program's file name.
pub(super) const WINDOWS_PROGRAM: &str = "kiln.exe";
/// The flag that hands over.
pub(super) const FLAG: &str = "--windows";

/// Why a command cannot be handed over.
#[derive(Debug, thiserror::Error)]
pub enum WindowsError {
    /// Not inside of Windows.
    #[error("`--windows` hands a command over to `kiln.exe` under WSL2, and this is not WSL2")]
    NotWsl,
    /// No program to hand over to.
    #[error("there is no `kiln.exe` in the folders of PATH")]
    NoProgram,
    /// A path that has no name on Windows.
    #[error("{path} has no name on Windows: {reason}")]
    Path {
        /// The path as typed.
        path: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The program does not start.
    #[error("{} did not start: {reason}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

impl Failure for WindowsError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotWsl => Exit::Usage,
            Self::Path { .. } => Exit::Data,
            Self::NoProgram | Self::Start { .. } => Exit::Setup,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotWsl => Some("leave the flag out".to_owned()),
            Self::NoProgram => Some(get_it()),
            Self::Path { .. } => None,
            Self::Start { .. } => Some(
                "Windows programs start where `/etc/wsl.conf` does not turn `interop` off and \
                 `/proc/sys/fs/binfmt_misc/WSLInterop` is there; `wsl --shutdown` on the Windows side brings it back"
                    .to_owned(),
            ),
        }
    }
}

fn get_it() -> String {
    "unpack `kiln-VERSION-x86_64-windows.zip` on a Windows drive, for example into C:\\kiln, and `export PATH=\"$PATH:/mnt/c/kiln\"`"
        .to_owned()
}

/// Goes on as `kiln.exe` with these arguments, which have no program name and no `--windows`: the terminal, signals and the exit code are
/// that program's. Returns only when that fails.
///
/// # Errors
/// [`WindowsError`].
pub fn run(typed: &[String]) -> Result<Exit, Box<dyn Failure>> {
    if !kiln_system::is_wsl() {
        return Err(WindowsError::NotWsl.into());
    }
    let program = wsl::find_program(WINDOWS_PROGRAM).ok_or(WindowsError::NoProgram)?;
    let arguments = translated(typed)?;
    let words: Vec<String> = arguments.iter().map(Argument::text).collect();
    // Losing a line of information is no reason to stop.
    let _ = announce(&mut io::stderr(), &arguments, &program);
    let reason = wsl::become_program(&program, &words);
    Err(WindowsError::Start { program, reason }.into())
}

fn announce(out: &mut dyn Write, arguments: &[Argument], program: &Path) -> io::Result<()> {
    writeln!(out, "note: {}", command_line(arguments))?;
    for line in arguments.iter().filter_map(stored::note) {
        writeln!(out, "note: {line}")?;
    }
    let here = wsl::to_windows(Path::new(".")).unwrap_or_default();
    for line in slow_places(arguments, &here, program) {
        writeln!(out, "warning: {line}")?;
    }
    writeln!(
        out,
        "note: Ctrl-C reaches it; where only the Linux side is killed, `{WINDOWS_PROGRAM}` may go on, and \
         `taskkill.exe /F /IM {WINDOWS_PROGRAM}` ends it"
    )
}

/// The command as it is typed in a shell of WSL.
fn command_line(arguments: &[Argument]) -> String {
    let words = arguments.iter().map(|argument| argument_word(&argument.text()));
    let all: Vec<String> = [WINDOWS_PROGRAM.to_owned()].into_iter().chain(words).collect();
    all.join(" ")
}

/// The arguments with every path by its Windows name.
fn translated(typed: &[String]) -> Result<Vec<Argument>, WindowsError> {
    let translate = |path: &str| {
        // One that is typed as Windows has it stays so.
        if wsl::linux_name(path).is_some() && !Path::new(path).exists() {
            return Ok(path.to_owned());
        }
        wsl::to_windows(Path::new(path)).map_err(|reason| WindowsError::Path {
            path: path.to_owned(),
            reason,
        })
    };
    let mut arguments = arguments(typed, &translate)?;
    stored::add(&mut arguments, typed, &translate)?;
    Ok(arguments)
}

/// What lies in WSL's own file system, and where to copy it: Windows reads it through a network of the machine's own. Where nothing named
/// is slow, that means the folder the command is started in, whose name on Windows is `here`, where runs go.
fn slow_places(arguments: &[Argument], here: &str, program: &Path) -> Vec<String> {
    let drive = drive_of(program);
    let paths = arguments.iter().filter_map(|argument| argument.path.as_ref());
    let slow: Vec<&paths::Translated> = paths.filter(|path| wsl::is_slow(&path.windows)).collect();
    let copy = |path: &paths::Translated| {
        let typed = Path::new(&path.typed);
        let name = typed.file_name().map(|name| name.to_string_lossy().into_owned());
        let there = format!("{drive}/{}", name.unwrap_or_else(|| "scene".to_owned()));
        match typed.exists() {
            true => format!(
                "{} lies in WSL's own file system, which {WINDOWS_PROGRAM} reads slowly: `cp -r {} {}`, then name the copy",
                path.typed,
                argument_word(&path.typed),
                argument_word(&there)
            ),
            false => format!(
                "{} goes to WSL's own file system, which {WINDOWS_PROGRAM} writes slowly: {} lies on a Windows drive",
                path.typed,
                argument_word(&there)
            ),
        }
    };
    let mut lines: Vec<String> = slow.into_iter().map(copy).collect();
    if lines.is_empty() && wsl::is_slow(here) {
        lines.push(format!(
            "this folder lies in WSL's own file system, where runs go that `-o` does not send to a Windows drive, for example to {drive}/runs"
        ));
    }
    lines
}

/// The Windows drive that the program lies on, as WSL mounts it.
fn drive_of(program: &Path) -> String {
    let text = program.to_string_lossy();
    match wsl::windows_name(&text).and_then(|name| name.chars().next()) {
        Some(letter) => format!("/mnt/{}", letter.to_ascii_lowercase()),
        None => "/mnt/c".to_owned(),
    }
}

/// What helps a command that ended with `exit`, beyond its own hint: under WSL2 without a card that answers the command for `kiln.exe`,
/// and the name of a path that is one of the other system.
#[must_use]
pub fn advice(exit: Exit, typed: &[String]) -> Option<String> {
    advice_on(Here::now(), exit, typed, wsl::find_program(WINDOWS_PROGRAM).as_deref())
}

/// Sides of a machine with Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    Windows,
    Wsl,
    /// No Windows at all.
    Elsewhere,
}

impl Here {
    fn now() -> Self {
        match (cfg!(windows), kiln_system::is_wsl()) {
            (true, _) => Self::Windows,
            (false, true) => Self::Wsl,
            (false, false) => Self::Elsewhere,
        }
    }
}

fn advice_on(here: Here, exit: Exit, typed: &[String], program: Option<&Path>) -> Option<String> {
    match (exit, here) {
        (Exit::NoDevice, Here::Wsl) => Some(other_program(typed, program)),
        (Exit::Usage | Exit::Config | Exit::Data | Exit::Output, Here::Windows) => other_name(typed, of_windows),
        (Exit::Usage | Exit::Config | Exit::Data | Exit::Output, Here::Wsl) => other_name(typed, of_wsl),
        _ => None,
    }
}

fn other_program(typed: &[String], program: Option<&Path>) -> String {
    let Some(program) = program else {
        return format!(
            "Kiln for Windows uses the card by its vendor's driver, from here too: {}",
            get_it()
        );
    };
    let command = match translated(typed) {
        Ok(arguments) => command_line(&arguments),
        Err(_) => format!("{WINDOWS_PROGRAM} ..."),
    };
    format!(
        "{} uses the card by its vendor's driver: `{command}`; the same command with `{FLAG}` hands it over",
        program.display()
    )
}

/// Under WSL2, what uses the card in place of the CPU that this command is allowed to use.
pub(super) fn instead_of_cpu() -> Option<String> {
    let typed: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    kiln_system::is_wsl().then(|| other_program(&typed, wsl::find_program(WINDOWS_PROGRAM).as_deref()))
}

/// A hint for the first argument that is a path of the other system, by what that system's path is called here.
fn other_name(typed: &[String], translate: impl Fn(&str) -> Option<String>) -> Option<String> {
    typed
        .iter()
        .flat_map(|word| [Some(word.as_str()), word.rsplit_once('=').map(|(_, value)| value)])
        .flatten()
        .filter(|word| !Path::new(word).exists())
        .find_map(translate)
}

/// Refuses an output that the other system has a name for: `/mnt/d/runs` would become a folder of the current drive on Windows, and `D:\runs`
/// one in the current folder of Linux.
pub(super) fn refuse_output_elsewhere(typed: &[String]) -> Result<(), UsageError> {
    output_elsewhere(Here::now(), typed, &|path| Path::new(path).exists())
}

fn output_elsewhere(here: Here, typed: &[String], exists: &dyn Fn(&str) -> bool) -> Result<(), UsageError> {
    let (other, translate): (_, fn(&str) -> Option<String>) = match here {
        Here::Windows => ("WSL2", of_windows),
        Here::Wsl => ("Windows", of_wsl),
        Here::Elsewhere => return Ok(()),
    };
    // The first folder of a path of WSL2, all of one of Windows, which is a single name here.
    let is_here = |path: &str| match here {
        Here::Windows => {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let depth = if path.starts_with("/mnt/") { 2 } else { 1 };
            exists(&path[..ends.take(depth + 1).last().unwrap_or_default()])
        }
        _ => exists(path),
    };
    let flags = ["-o", "--output"];
    let behind = typed
        .windows(2)
        .filter(|pair| flags.contains(&pair[0].as_str()))
        .map(|pair| pair[1].as_str());
    let within = typed.iter().filter_map(|word| word.strip_prefix("--output="));
    for path in behind.chain(within).filter(|path| !is_here(path)) {
        if let Some(instead) = translate(path) {
            return Err(UsageError::OtherSystem {
                shown: path.to_owned(),
                other,
                instead,
            });
        }
    }
    Ok(())
}

/// On Windows, of a path of WSL.
fn of_windows(word: &str) -> Option<String> {
    if let Some(name) = wsl::windows_name(word) {
        return Some(format!(
            "{word} is a path of WSL2, which Windows calls {name}; `wslpath -w {word}` prints that name there"
        ));
    }
    let is_of_linux = ["/home/", "/root/", "/tmp/", "~/"]
        .iter()
        .any(|start| word.starts_with(start));
    is_of_linux.then(|| format!("{word} is a path of WSL2; `wslpath -w {word}` prints its Windows name there"))
}

/// Under WSL, of a path of Windows.
fn of_wsl(word: &str) -> Option<String> {
    let name = wsl::linux_name(word)?;
    let quoted = if word.contains(['\\', '/']) {
        ""
    } else {
        ", where the shell has not taken its backslashes"
    };
    Some(format!("{word} is a path of Windows, which WSL2 calls {name}{quoted}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_path_of_the_other_system_is_named_as_this_one_does() {
        for line in [
            "train /mnt/d/garden",
            "train -s /mnt/d/garden",
            "plan --set dataset.path=/mnt/d/garden",
        ] {
            let hint = other_name(&words(line), of_windows).unwrap();
            assert!(
                hint.contains(r"Windows calls D:\garden; `wslpath -w /mnt/d/garden`"),
                "{hint}"
            );
        }
        let hint = other_name(&words("train /home/anna/garden"), of_windows).unwrap();
        assert!(hint.contains("`wslpath -w /home/anna/garden`"), "{hint}");
        for line in [r"train D:\garden", "train D:/garden --profile 8gb", "train D:garden"] {
            let hint = other_name(&words(line), of_wsl).unwrap();
            assert!(hint.contains("WSL2 calls /mnt/d/garden"), "{hint}");
        }
        assert_eq!(other_name(&words("train garden --crop 1:2"), of_wsl), None);
        assert_eq!(other_name(&words("train garden -o runs/a"), of_windows), None);
    }

    #[test]
    fn outputs_are_not_made_under_names_of_the_other_system() {
        let on = |here, line: &str, there: &str| {
            let refused = output_elsewhere(here, &words(line), &|path| path == there).err();
            refused.and_then(|error| error.hint())
        };
        for line in ["train garden -o /mnt/d/runs", "mesh runs/a --output=/mnt/d/runs"] {
            let hint = on(Here::Windows, line, "").unwrap();
            assert!(hint.contains(r"Windows calls D:\runs"), "{hint}");
            assert_eq!(
                on(Here::Windows, line, "/mnt/d"),
                None,
                "a folder of the drive may be called so"
            );
            assert_eq!(on(Here::Wsl, line, ""), None);
        }
        assert!(on(Here::Windows, "train garden -o /home/anna/runs", "").is_some());
        assert_eq!(on(Here::Windows, "train garden -o /home/anna/runs", "/home"), None);
        let hint = on(Here::Wsl, r"train garden -o D:\runs\a", "").unwrap();
        assert!(hint.contains("WSL2 calls /mnt/d/runs/a"), "{hint}");
        assert_eq!(on(Here::Wsl, r"train garden -o D:\runs\a", r"D:\runs\a"), None);
        assert_eq!(on(Here::Windows, r"train garden -o D:\runs\a", ""), None);
        assert_eq!(on(Here::Elsewhere, r"train garden -o D:\runs\a", ""), None);
    }

    #[test]
    fn paths_that_are_typed_as_windows_has_them_stay() {
        for path in [r"D:\garden", "D:/garden", r"\\wsl.localhost\Debian\home"] {
            let read = translated(&words(&format!("train {path} -q"))).unwrap();
            let text: Vec<String> = read.iter().map(Argument::text).collect();
            assert_eq!(text, ["train", path, "-q"]);
        }
    }

    #[test]
    fn advice_is_for_the_system_and_the_end_at_hand() {
        let on = |here, exit, line: &str| advice_on(here, exit, &words(line), None);
        assert_eq!(on(Here::Elsewhere, Exit::NoDevice, "train garden"), None);
        assert_eq!(on(Here::Elsewhere, Exit::Data, r"train D:\garden"), None);
        assert_eq!(on(Here::Wsl, Exit::DoesNotFit, r"train D:\garden"), None);
        let hint = on(Here::Wsl, Exit::NoDevice, "train garden").unwrap();
        assert!(hint.contains("kiln-VERSION-x86_64-windows.zip"), "{hint}");
        assert!(
            on(Here::Wsl, Exit::Data, r"train D:\garden")
                .unwrap()
                .contains("/mnt/d/garden")
        );
        assert!(
            on(Here::Windows, Exit::Data, "train /mnt/d/garden")
                .unwrap()
                .contains(r"D:\garden")
        );
    }

    #[test]
    fn files_of_linux_are_copied_to_the_drive_of_the_program() {
        let of = |typed: &str, windows: &str| Argument {
            before: String::new(),
            path: Some(paths::Translated {
                typed: typed.to_owned(),
                windows: windows.to_owned(),
                is_stored: false,
            }),
        };
        let temporary = std::env::temp_dir();
        let there = temporary.to_string_lossy();
        let (drive, share) = (r"D:\x", r"\\wsl$\Debian\x");
        let slow = [of(&there, r"\\wsl.localhost\Debian\tmp"), of("/none/runs", share)];
        let lines = slow_places(&slow, share, Path::new("/mnt/d/kiln/kiln.exe"));
        assert!(lines.len() == 2 && lines.concat().contains("`cp -r"), "{lines:?}");
        assert!(
            lines.concat().contains("/mnt/d/runs lies on a Windows drive"),
            "{lines:?}"
        );
        let quick = [of("/mnt/d/garden", r"D:\garden")];
        assert_eq!(
            slow_places(&quick, drive, Path::new("/opt/kiln.exe")),
            Vec::<String>::new()
        );
        let here = slow_places(&quick, share, Path::new("/opt/kiln.exe"));
        assert!(
            here.len() == 1 && here.concat().contains("for example to /mnt/c/runs"),
            "{here:?}"
        );
    }
}
