//! A device that is lost: what is known of it, and how a run goes on.
//!
//! The first loss costs the steps since the last checkpoint: everything on the device is given up, the device is opened
//! anew, and the run goes on from there with submissions half as long and with passes marked. A second one ends the run
//! with a report, because a device that is lost twice will be lost again.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::DeviceLoss;
use crate::export::write_json;
use crate::plan::{Faults, OpenDevice, PlanError, open_device};
use crate::record::run_folder::REPORT_FILE;
use kiln_config::{Care, Profile};

/// Attempts to open a device that was lost; drivers take a moment to come back.
const ATTEMPTS: u32 = 5;
/// Most bytes of a report.
const MOST_REPORT_BYTES: u64 = 1 << 20;
/// Between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// What `device_lost.json` holds.
#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    driver: &'a str,
    losses: &'a [DeviceLoss],
    advice: [&'static str; 3],
}

const ADVICE: [&str; 3] = [
    "`--resume` goes on from the newest checkpoint, with submissions half as long",
    "systems that reset devices that do not answer have a time limit to raise where that is not enough",
    "a device that is lost at different passes is often too hot, overclocked or short of power; always at the same pass \
     points to the driver: please report it with this file",
];

/// Writes the report into the run's folder and gives its path.
pub(super) fn write_report(root: &Path, open: &(String, String), losses: &[DeviceLoss]) -> Option<PathBuf> {
    let path = root.join(REPORT_FILE);
    let report = Report {
        device: &open.0,
        driver: &open.1,
        losses,
        advice: ADVICE,
    };
    // The error that it belongs to is reported anyway.
    write_json(&path, &report).ok().map(|()| path)
}

/// The last loss that the report in a run's folder lists, if there is one.
pub(super) fn last_loss(root: &Path) -> Option<DeviceLoss> {
    #[derive(Deserialize)]
    struct Losses {
        losses: Vec<DeviceLoss>,
    }
    let mut text = String::new();
    let file = kiln_files::open_regular(&root.join(REPORT_FILE)).ok()?;
    file.take(MOST_REPORT_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str::<Losses>(&text).ok()?.losses.pop()
}

/// The settings of a run after `loss`: submissions half as long, never longer than they are, and passes marked.
pub(super) fn careful(mut profile: Profile, loss: &DeviceLoss) -> Profile {
    let halved = match loss.submit_ms {
        0 => 50,
        ms => (ms / 2).max(1),
    };
    profile.care = Care {
        submit_ms: match profile.care.submit_ms {
            0 => halved,
            ms => ms.min(halved),
        },
        marks_passes: true,
    };
    profile
}

/// Opens the device of `profile` again, with `faults`.
///
/// # Errors
/// That of the last attempt.
pub(super) fn reopen(profile: &Profile, faults: &Faults) -> Result<OpenDevice, PlanError> {
    let mut attempt = 1;
    loop {
        match open_device(profile, faults.clone()) {
            Err(_) if attempt < ATTEMPTS => {
                attempt += 1;
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}
