//! Ctrl-C under Wine: what was reached is saved, and the run goes on.

use std::process::Command;

use kiln_tests::runs::{self, Scratch};

use super::folders::long_run;
use super::program::{done, kiln_exe};

#[test]
fn ctrl_c_saves_and_the_run_goes_on() {
    let scratch = Scratch::new("windows-signal");
    let output = scratch.join("run");
    let mut running = long_run(&output);
    let sent = Command::new("kill")
        .args(["-INT", &running.child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
    let code = running.child.wait().expect("its end").code();
    let text = std::fs::read_to_string(&running.log).expect("text");
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("interrupted after"), "{text}");
    let reached = runs::json(&output.join("run.json"))["iterations"]["done"]
        .as_u64()
        .expect("a number");
    assert_eq!(runs::checkpoints(&output).len(), 1);
    assert!(!runs::raw_model(&output, u32::try_from(reached).expect("small")).is_empty());
    let more = (reached + 5).to_string();
    done(
        kiln_exe()
            .arg("train")
            .arg("--output")
            .arg(&output)
            .args(["--resume", "--iterations", &more]),
    );
}
