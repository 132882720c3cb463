//! Linux inside Windows: whether this is it, and what a path is called on the other side.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 4096;
/// Shares under which Windows sees files of Linux, the current one first.
const SHARES: [&str; 2] = [r"\\wsl.localhost\", r"\\wsl$\"];

/// Whether this is Linux inside Windows.
#[must_use]
pub fn is_wsl() -> bool {
    cfg!(target_os = "linux") && is_wsl_at(Path::new("/"), &|name| std::env::var_os(name).is_some())
}

/// Whether a process is inside Windows whose file system begins at `root` and that has the variables which `has` knows: by the kernel's
/// release, by what WSL sets for its shells, or by its folder of sockets. Services and containers lack one or the other.
#[must_use]
pub fn is_wsl_at(root: &Path, has: &dyn Fn(&str) -> bool) -> bool {
    let release = kiln_files::read_text(&root.join("proc/sys/kernel/osrelease"), MOST_BYTES).unwrap_or_default();
    release.to_ascii_lowercase().contains("microsoft") || has("WSL_DISTRO_NAME") || root.join("run/WSL").is_dir()
}

/// What Windows calls a file on one of its drives that WSL calls `/mnt/d/...`; none for files of Linux, whose names only `wslpath` knows.
#[must_use]
pub fn windows_name(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/mnt/")?;
    let drive = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let below = rest.get(1..)?;
    if !below.is_empty() && !below.starts_with('/') {
        return None;
    }
    let below = below.trim_start_matches('/').replace('/', r"\");
    Some(format!(r"{}:\{below}", drive.to_ascii_uppercase()))
}

/// What WSL calls a file that Windows calls `D:\...` or `\\wsl.localhost\...`; none for what is no such name. A shell takes backslashes
/// away that are not quoted, so `D:garden` is one too.
#[must_use]
pub fn linux_name(path: &str) -> Option<String> {
    if let Some(rest) = SHARES.iter().find_map(|share| path.strip_prefix(share)) {
        let (_, below) = rest.split_once('\\').unwrap_or((rest, ""));
        return Some(format!("/{}", below.replace('\\', "/")));
    }
    let (drive, below) = path.split_once(':')?;
    let mut letters = drive.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    if letters.next().is_some() {
        return None;
    }
    let below = below.replace('\\', "/");
    let below = below.trim_matches('/');
    let root = format!("/mnt/{}", letter.to_ascii_lowercase());
    Some(match below.is_empty() {
        true => root,
        false => format!("{root}/{below}"),
    })
}

/// Whether a name of Windows is that of a file of Linux, which Windows' programs reach through a network of the machine's own.
#[must_use]
pub fn is_slow(windows: &str) -> bool {
    SHARES.iter().any(|share| windows.starts_with(share))
}

/// What Windows calls a file or folder that need not be there, by `wslpath`, which knows where drives are mounted; by the usual places
/// where that program is not there.
///
/// # Errors
/// When there is no folder that the path could be relative to.
pub fn to_windows(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    // `wslpath` refuses what is not there. Links of Linux lead nowhere on the other side.
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let below = path.strip_prefix(there).unwrap_or(Path::new(""));
    let there = there.canonicalize()?;
    let name = wslpath(&there).unwrap_or_else(|| usual_name(&there, &distribution()));
    let below = below.to_string_lossy().replace('/', r"\");
    Ok(match below.is_empty() {
        true => name,
        false => format!(r"{}\{below}", name.trim_end_matches('\\')),
    })
}

fn distribution() -> String {
    std::env::var("WSL_DISTRO_NAME").unwrap_or_else(|_| "Ubuntu".to_owned())
}

fn usual_name(path: &Path, distribution: &str) -> String {
    let text = path.to_string_lossy();
    let of_linux = || format!("{}{distribution}{}", SHARES[0], text.replace('/', r"\"));
    windows_name(&text).unwrap_or_else(of_linux)
}

fn wslpath(path: &Path) -> Option<String> {
    let mut command = Command::new("wslpath");
    command.arg("-w").arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let name = String::from_utf8(output.stdout).ok()?.trim_end().to_owned();
    (!name.is_empty()).then_some(name)
}

/// The first program of that file name in the folders of `PATH`.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Goes on as another program, which gets this one's terminal, signals and place in the process table, so that its exit code is this
/// one's. It returns only when that program does not start. Systems without such a call start nothing.
#[must_use]
pub fn become_program(program: &Path, arguments: &[String]) -> io::Error {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // The C library hands what the kernel does not know to a shell.
        if is_of_windows(program) && !starts_windows_programs(Path::new("/")) {
            return io::Error::new(
                io::ErrorKind::Unsupported,
                "the kernel has no entry for Windows programs",
            );
        }
        Command::new(program).args(arguments).exec()
    }
    #[cfg(not(unix))]
    {
        let _ = (program, arguments);
        io::ErrorKind::Unsupported.into()
    }
}

/// Whether a file begins as programs of Windows do.
#[cfg(unix)]
fn is_of_windows(program: &Path) -> bool {
    kiln_files::read_start(program, 2).is_ok_and(|start| start == b"MZ")
}

/// Whether the kernel has an entry for programs of Windows, as WSL makes one.
#[cfg(unix)]
fn starts_windows_programs(root: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(root.join("proc/sys/fs/binfmt_misc")) else {
        // Not known: trying shows it.
        return true;
    };
    entries.flatten().any(|entry| {
        let text = kiln_files::read_text(&entry.path(), MOST_BYTES).unwrap_or_default();
        text.lines().any(|line| line.trim() == "magic 4d5a")
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn names_of_drives_are_translated_both_ways() {
        for (linux, windows) in [
            ("/mnt/d/garden", r"D:\garden"),
            ("/mnt/c/Users/Anna/my scene", r"C:\Users\Anna\my scene"),
            ("/mnt/d", r"D:\"),
        ] {
            assert_eq!(windows_name(linux).as_deref(), Some(windows));
            assert_eq!(linux_name(windows).as_deref(), Some(linux));
        }
        for none in ["/mnt/data/garden", "/home/anna", "garden", "mnt/d/x", "/mnt/", ""] {
            assert_eq!(windows_name(none), None, "{none}");
        }
        for (windows, linux) in [
            ("d:/garden/", "/mnt/d/garden"),
            ("D:garden", "/mnt/d/garden"),
            (r"\\wsl.localhost\Ubuntu\home\anna", "/home/anna"),
            (r"\\wsl$\Ubuntu-24.04", "/"),
        ] {
            assert_eq!(linux_name(windows).as_deref(), Some(linux));
        }
        for none in ["garden", "dd:x", "http://x", r"\\server\share", "1:2", ":", ""] {
            assert_eq!(linux_name(none), None, "{none}");
        }
    }

    #[test]
    fn files_of_linux_have_the_name_of_a_share() {
        assert_eq!(
            usual_name(Path::new("/home/anna"), "Debian"),
            r"\\wsl.localhost\Debian\home\anna"
        );
        assert!(is_slow(r"\\wsl$\Debian\home") && !is_slow(r"D:\wsl.localhost") && !is_slow(r"\\server\share"));
    }

    #[cfg(unix)]
    #[test]
    fn programs_of_windows_start_where_the_kernel_has_an_entry() {
        let scratch = Scratch::new();
        let root = scratch.path();
        let folder = root.join("proc/sys/fs/binfmt_misc");
        assert!(starts_windows_programs(root), "not known");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("status"), "enabled\n").unwrap();
        assert!(!starts_windows_programs(root));
        let entry = "enabled\ninterpreter /init\nflags: PF\noffset 0\nmagic 4d5a\n";
        std::fs::write(folder.join("WSLInterop"), entry).unwrap();
        assert!(starts_windows_programs(root));
        for (text, is_one) in [("MZ\u{90}", true), ("#!/bin/sh", false), ("M", false)] {
            std::fs::write(root.join("kiln.exe"), text).unwrap();
            assert_eq!(is_of_windows(&root.join("kiln.exe")), is_one, "{text}");
        }
    }

    #[test]
    fn a_kernel_a_variable_or_a_folder_gives_wsl_away() {
        let scratch = Scratch::new();
        let root = scratch.path();
        let release = root.join("proc/sys/kernel/osrelease");
        std::fs::create_dir_all(release.parent().unwrap()).unwrap();
        let none = |_: &str| false;
        for (text, is_one) in [
            ("5.15.167.4-microsoft-standard-WSL2\n", true),
            ("4.4.0-19041-Microsoft\n", true),
            ("6.1.0-28-amd64\n", false),
        ] {
            std::fs::write(&release, text).unwrap();
            assert_eq!(is_wsl_at(root, &none), is_one, "{text}");
        }
        assert!(is_wsl_at(root, &|name| name == "WSL_DISTRO_NAME"));
        std::fs::create_dir_all(root.join("run/WSL")).unwrap();
        assert!(is_wsl_at(root, &none));
    }
}
