//! Runs one test of the calling binary again in a child process with other environment variables: driver settings such
//! as the subgroup width are read once per process.

use std::process::Command;

/// Set in a child; its value names what the child should do.
pub const ROLE: &str = "KILN_TEST_ROLE";

/// The role of this process, when it is a child.
#[must_use]
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Runs test `name` of this binary, which stands in `module` (`module_path!()`), in a child with `role` and the extra
/// `environment`; returns what it printed.
///
/// # Panics
/// When the child fails; its output is in the message.
pub fn run(module: &str, name: &str, role: &str, environment: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().expect("path of the test binary");
    // Tests are named by their path in the binary.
    let name = &module
        .split_once("::")
        .map_or_else(|| name.to_owned(), |(_, path)| format!("{path}::{name}"));
    let output = Command::new(program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .envs(environment.iter().copied())
        .output()
        .expect("child process");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success(),
        "child `{role}` of {name} with {environment:?} failed:\n{text}"
    );
    assert!(text.contains("1 passed"), "no test is called {name}:\n{text}");
    text
}
