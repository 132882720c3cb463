//! Opens the address in a browser.

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that opens an address in the browser people use, and what it takes before the address.
type Opener = (&'static str, &'static [&'static str]);

/// Opens what a browser is registered for; `explorer.exe` would open a folder for an address with a question mark.
const WINDOWS: Opener = ("rundll32.exe", &["url.dll,FileProtocolHandler"]);
/// The same where WSL is set not to have the folders of Windows' PATH.
const WINDOWS_BY_PATH: Opener = ("/mnt/c/Windows/System32/rundll32.exe", WINDOWS.1);

/// How long a program that starts is watched: one that finds no browser, or under WSL no Windows, fails at once.
const WATCHED: Duration = Duration::from_millis(500);

/// Programs that open an address, the best first.
fn openers(wsl: bool) -> &'static [Opener] {
    if cfg!(target_os = "macos") {
        &[("open", &[])]
    } else if cfg!(windows) {
        &[WINDOWS]
    } else if wsl {
        // The Windows side has the browser; `xdg-open` would look for one inside Linux.
        &[WINDOWS, WINDOWS_BY_PATH, ("wslview", &[]), ("xdg-open", &[])]
    } else {
        &[("xdg-open", &[])]
    }
}

/// Opens `url` and does not wait for the browser. The name of the program that took it.
///
/// # Errors
/// When none of the programs starts, or all fail at once. What a program does after that moment is not looked at.
pub fn open_browser(url: &str) -> io::Result<&'static str> {
    first_that_starts(openers(kiln_system::is_wsl()), url)
}

fn first_that_starts(openers: &[Opener], url: &str) -> io::Result<&'static str> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for &(program, before) in openers {
        match start(program, before, url).and_then(watched) {
            Ok(child) => {
                reap(child);
                return Ok(program);
            }
            Err(error) => failure = error,
        }
    }
    let names: Vec<&str> = openers.iter().map(|(program, _)| *program).collect();
    Err(io::Error::new(
        failure.kind(),
        format!("{}: {failure}", names.join(", ")),
    ))
}

fn start(program: &str, before: &[&str], url: &str) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(before)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn()
}

/// The child, unless it fails within a moment.
fn watched(mut child: Child) -> io::Result<Child> {
    let start = Instant::now();
    while start.elapsed() < WATCHED {
        match child.try_wait()? {
            Some(status) if status.success() => break,
            Some(status) => return Err(io::Error::other(status.to_string())),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    Ok(child)
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
    fn the_next_program_follows_one_that_does_not_start_or_fails() {
        let none: Opener = ("kiln-no-such-opener", &[]);
        // A program that every machine with this test has: the test itself.
        let own: &'static str = std::env::current_exe().unwrap().to_str().unwrap().to_owned().leak();
        assert_eq!(first_that_starts(&[none, (own, &["--list"])], "http://x").unwrap(), own);
        // One that starts and fails was not asked for anything.
        let fails: Opener = (own, &["--no-such-flag"]);
        assert_eq!(
            first_that_starts(&[fails, (own, &["--list"])], "http://x").unwrap(),
            own
        );
        assert!(first_that_starts(&[fails], "http://x").is_err());
        let error = first_that_starts(&[none], "http://x").unwrap_err();
        assert!(error.to_string().contains("kiln-no-such-opener"), "{error}");
    }

    #[test]
    fn windows_browsers_come_first_under_wsl() {
        let names = |wsl| openers(wsl).iter().map(|(program, _)| *program).collect::<Vec<_>>();
        if cfg!(target_os = "linux") {
            let by_path = "/mnt/c/Windows/System32/rundll32.exe";
            assert_eq!(names(true), ["rundll32.exe", by_path, "wslview", "xdg-open"]);
            assert_eq!(names(false), ["xdg-open"]);
        }
        if cfg!(windows) {
            assert_eq!(names(false), ["rundll32.exe"]);
        }
    }
}
