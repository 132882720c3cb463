//! Runs one test of the calling binary again in a child process with other environment variables: driver settings such
//! as the subgroup width are read once per process.

use std::path::Path;
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
    let mut command = again(module, name, role);
    finish(command.envs(environment.iter().copied()))
}

/// The same in a child whose CPU driver has vectors of `bits` bits and one thread.
///
/// # Panics
/// When the child fails.
pub fn run_with_vectors(module: &str, name: &str, role: &str, bits: &str) -> String {
    let mut command = again(module, name, role);
    set_vectors(&mut command, bits);
    finish(command.env("LP_NUM_THREADS", "1"))
}

/// Has Mesa's CPU driver use vectors of `bits` bits, which is 32 times the lanes of a subgroup, in the program that `command`
/// starts.
///
/// The driver takes compiled shaders out of its cache without asking for which width they were compiled. So those of another
/// width have a cache of their own: in the common one they would be found by everyone else, and run several times slower.
///
/// # Panics
/// When the test binary is nowhere.
pub fn set_vectors(command: &mut Command, bits: &str) {
    let program = std::env::current_exe().expect("path of the test binary");
    let folder = program.parent().unwrap_or(Path::new("."));
    command
        .env("LP_NATIVE_VECTOR_WIDTH", bits)
        .env("MESA_SHADER_CACHE_DIR", folder.join(format!("mesa-{bits}")));
}

/// This test binary with nothing but test `name` of `module`.
fn again(module: &str, name: &str, role: &str) -> Command {
    let program = std::env::current_exe().expect("path of the test binary");
    // Tests are named by their path in the binary.
    let name = module
        .split_once("::")
        .map_or_else(|| name.to_owned(), |(_, path)| format!("{path}::{name}"));
    let mut command = Command::new(program);
    command
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(ROLE, role);
    command
}

fn finish(command: &mut Command) -> String {
    let output = command.output().expect("child process");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?} failed:\n{text}");
    assert!(text.contains("1 passed"), "there is no such test: {command:?}\n{text}");
    text
}
