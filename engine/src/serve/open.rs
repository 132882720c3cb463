//! Opens the address in a browser.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};

/// Programs that open an address in the browser people use, the best first.
fn openers(wsl: bool) -> &'static [&'static str] {
    if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["explorer.exe"]
    } else if wsl {
        // The Windows side has the browser; `xdg-open` would look for one inside Linux.
        &["wslview", "explorer.exe", "xdg-open"]
    } else {
        &["xdg-open"]
    }
}

/// Whether this is Linux inside Windows.
pub(super) fn in_wsl() -> bool {
    let kernel = || fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    cfg!(target_os = "linux") && kernel().to_ascii_lowercase().contains("microsoft")
}

/// Opens `url` and does not wait for the browser. The name of the program that took it.
///
/// # Errors
/// When none of the programs starts. What a started program does afterwards is not looked at: `explorer.exe` reports
/// failure in any case.
pub fn open_browser(url: &str) -> io::Result<&'static str> {
    first_that_starts(openers(in_wsl()), url)
}

fn first_that_starts(programs: &[&'static str], url: &str) -> io::Result<&'static str> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for &program in programs {
        match start(program, url) {
            Ok(child) => {
                reap(child);
                return Ok(program);
            }
            Err(error) => failure = error,
        }
    }
    Err(io::Error::new(
        failure.kind(),
        format!("{}: {failure}", programs.join(", ")),
    ))
}

fn start(program: &str, url: &str) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn()
}

/// Takes the exit status of the child whenever it comes, so that no zombie stays.
fn reap(mut child: Child) {
    std::thread::spawn(move || child.wait());
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_next_program_is_tried() {
        assert_eq!(
            first_that_starts(&["kiln-no-such-opener", "true"], "http://x").unwrap(),
            "true"
        );
        let error = first_that_starts(&["kiln-no-such-opener"], "http://x").unwrap_err();
        assert!(error.to_string().contains("kiln-no-such-opener"), "{error}");
    }

    #[test]
    fn windows_browsers_come_first_under_wsl() {
        if cfg!(target_os = "linux") {
            assert_eq!(openers(true), ["wslview", "explorer.exe", "xdg-open"]);
            assert_eq!(openers(false), ["xdg-open"]);
        }
    }
}
