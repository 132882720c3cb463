//! Processes: whether one is there, and the end of this one.

use crate::system;

/// True when no such process runs; false also where the system does not say.
#[must_use]
pub fn is_gone(process: u32) -> bool {
    system::is_gone(process)
}

/// Ends this process without waiting for anything, not even for what libraries would do at an orderly end.
pub fn end_now(code: u8) -> ! {
    system::end_now(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_an_ended_one_is_gone() -> std::io::Result<()> {
        assert!(!is_gone(std::process::id()));
        let mut child = std::process::Command::new(std::env::current_exe()?)
            .args(["--exact", "no such test"])
            .stdout(std::process::Stdio::null())
            .spawn()?;
        let process = child.id();
        child.wait()?;
        drop(child);
        assert!(is_gone(process));
        Ok(())
    }
}
