//! What people read while COLMAP works.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crate::jobs::PosesNews;
use crate::record::words::{clock, count};

/// How often it is said how far a step is where lines are not redrawn.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Steps and their progress: one line that is redrawn, or one every [`SAY_EVERY`].
pub(super) struct PosesShown {
    on: bool,
    redraws: bool,
    /// The line that stands.
    standing: String,
    said_at: Duration,
}

impl PosesShown {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            on: !quiet,
            redraws: io::stderr().is_terminal(),
            standing: String::new(),
            said_at: Duration::ZERO,
        }
    }

    /// Losing a line of information is no reason to stop.
    pub(super) fn hear(&mut self, news: &PosesNews<'_>) {
        if !self.on {
            return;
        }
        let mut err = io::stderr();
        let _ = match news {
            PosesNews::Begins { step, photos, log } => {
                self.said_at = Duration::ZERO;
                let (photos, all) = (count(*photos, "photo"), log.display());
                writeln!(err, "COLMAP {step}: {photos} (all that it says: {all})")
            }
            PosesNews::Works { step, heard, spent } => self.works(step, heard, *spent),
            PosesNews::Ended { step, spent, well } => {
                if !std::mem::take(&mut self.standing).is_empty() {
                    let _ = write!(err, "\r\x1b[2K");
                }
                match well {
                    true => writeln!(err, "COLMAP {step}: done in {}", clock(*spent)),
                    false => Ok(()),
                }
            }
            PosesNews::WithoutGpu { step } => writeln!(err, "COLMAP {step} failed; once more without the GPU"),
        };
    }

    fn works(&mut self, step: &str, heard: &str, spent: Duration) -> io::Result<()> {
        let now = how_far(step, heard, spent);
        if self.redraws {
            if now == self.standing {
                return Ok(());
            }
            write!(io::stderr(), "\r\x1b[2K{now}")?;
            self.standing = now;
            return Ok(());
        }
        if spent.saturating_sub(self.said_at) < SAY_EVERY {
            return Ok(());
        }
        self.said_at = spent;
        writeln!(io::stderr(), "{now}")
    }
}

/// How far a step is that goes on for so long; it says nothing itself for minutes.
fn how_far(step: &str, heard: &str, spent: Duration) -> String {
    match heard {
        "" => format!("COLMAP {step}: {}", clock(spent)),
        heard => format!("COLMAP {step}: {heard}, {}", clock(spent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_what_it_says_and_its_time() {
        let spent = Duration::from_secs(127);
        assert_eq!(how_far("mapper", "", spent), "COLMAP mapper: 0:02:07");
        assert_eq!(
            how_far("mapper", "1 photo placed", spent),
            "COLMAP mapper: 1 photo placed, 0:02:07"
        );
    }
}
