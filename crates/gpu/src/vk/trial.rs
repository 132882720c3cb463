//! A device opened in another process first, because a driver that dies takes the process with it.
//!
//! Who has a program that opens a device says so once with [`try_with`]; without one nothing is tried. A trial takes as long as that
//! program's start, so it is for drivers that were seen to die alone: those that translate ([`Caps::translates`]), of which NVIDIA's
//! 610.88 under Mesa 26.1 ends in `vkCreateDevice` (wslg's issue 1492).

use std::ffi::OsString;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use super::{Caps, DriverDeath, VkError};

/// What such a program takes behind the number for the fault of a driver that dies.
pub const DIES: &str = "--dies";

/// A program and what it takes before the number of a device.
static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// From now on devices are tried by this program, whose last argument is then the number of a device. It ends with 0 where that opened.
/// Only the first call counts.
pub fn try_with(program: Vec<OsString>) {
    let _ = PROGRAM.set(program);
}

/// Opens a device in another process and sees how that ends; `dies` is a fault that ends it there. Answers of a driver that lives come
/// from the opening that follows.
///
/// # Errors
/// [`VkError::DriverDied`].
pub fn survives(caps: &Caps, dies: bool) -> Result<(), VkError> {
    match PROGRAM.get().map(Vec::as_slice) {
        Some([program, before @ ..]) => {
            let mut command = Command::new(program);
            command.args(before).arg(caps.index.to_string());
            if dies {
                command.arg(DIES);
            }
            run(command, caps)
        }
        _ => Ok(()),
    }
}

fn run(mut command: Command, caps: &Caps) -> Result<(), VkError> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Where no process starts, the device is opened without a trial.
    let Ok(status) = command.status() else { return Ok(()) };
    match death(status) {
        None => Ok(()),
        Some(how) => Err(VkError::DriverDied(Box::new(DriverDeath {
            device: caps.name.clone(),
            driver: caps.driver.clone(),
            how,
        }))),
    }
}

/// How a process died; none of one that came to an end of its own.
fn death(status: ExitStatus) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        status.signal().map(|number| {
            let name = match number {
                4 => " (illegal instruction)",
                6 => " (abort)",
                7 | 10 => " (bus error)",
                8 => " (arithmetic)",
                11 => " (invalid memory)",
                _ => "",
            };
            format!("signal {number}{name}")
        })
    }
    #[cfg(not(unix))]
    {
        status.code().and_then(exception)
    }
}

/// Of the exit code of a process on Windows: exceptions have their two highest bits set.
#[cfg(any(test, not(unix)))]
fn exception(code: i32) -> Option<String> {
    let code = code.cast_unsigned();
    (code >= 0xc000_0000).then(|| format!("exception {code:#010x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_driver_that_dies_is_named() {
        let caps = Caps {
            name: "Microsoft Direct3D12 (Card 80)".to_owned(),
            driver: "Dozen Mesa 26.1.0".to_owned(),
            translates: true,
            ..Caps::default()
        };
        let ends = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(command, &caps)
        };
        for lives in ["exit 0", "exit 5", "exit 139"] {
            assert!(ends(lives).is_ok(), "{lives}");
        }
        for (dies, how) in [
            ("kill -SEGV $$", "signal 11 (invalid memory)"),
            ("kill -9 $$", "signal 9"),
        ] {
            let text = ends(dies).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                text.contains("`Dozen Mesa 26.1.0`") && text.contains("Card 80") && text.contains(how),
                "{text}"
            );
        }
        // Without a program nothing is tried.
        assert!(run(Command::new("/none/such"), &caps).is_ok());
    }

    #[test]
    fn exceptions_of_windows_are_no_exit_codes() {
        let text = |code: u32| exception(code.cast_signed());
        assert_eq!(text(0xc000_0005).as_deref(), Some("exception 0xc0000005"));
        assert_eq!([0, 1, 5, 70, 139].map(text), [const { None }; 5]);
    }
}
