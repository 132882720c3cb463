//! Tests of memory, which counts that of all threads: each in a process of its own.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::process::Command;

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Set in the process that runs one test.
const ALONE: &str = "KILN_MESH_ALONE";

/// Runs the body of the test of that name in a process of its own.
pub(crate) fn run(name: &str, body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture"]).env(ALONE, "1");
    assert!(child.status().unwrap().success());
}

/// Bytes taken at the peak of a job beyond those that were taken before.
pub(crate) fn peak_bytes<T>(job: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    job();
    (ALLOCATED.peak_usage() - before) as u64
}
