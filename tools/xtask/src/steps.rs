//! Named steps: runs child processes and remembers how long each took.
//!
//! Owns: the time table. Promises: output of children is shown as it comes,
//! and a failure names its step. Refuses: going on after a failed step.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};

/// The steps done so far.
#[derive(Debug, Default)]
pub struct Steps {
    rows: Vec<(String, Duration)>,
    results: Vec<String>,
}

impl Steps {
    /// Times `work` under `name`; its failure gets the name in front.
    pub fn time<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("== {name}");
        let start = Instant::now();
        let result = work();
        self.rows.push((name.to_owned(), start.elapsed()));
        result.map_err(|f| Failure {
            code: f.code,
            message: format!("step `{name}`: {}", f.message),
        })
    }

    /// Runs a child process as a step. Its exit code becomes the failure's when `pass_code` is set.
    pub fn run(&mut self, name: &str, mut command: Command, pass_code: bool) -> Result<()> {
        self.time(name, || {
            eprintln!("$ {}", line(&command));
            let status = command.status().map_err(|e| not_started(&command, &e))?;
            let code = status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .filter(|_| pass_code)
                .unwrap_or(1);
            let message = || format!("`{}` ended with {status}", line(&command));
            if status.success() {
                Ok(())
            } else {
                Err(Failure {
                    code,
                    message: message(),
                })
            }
        })
    }

    /// Runs a `cargo test` as a step, and keeps its result lines, each with the name of its test program.
    pub fn run_tests(&mut self, name: &str, command: Command) -> Result<()> {
        let mut results = Vec::new();
        let outcome = self.time(name, || {
            let (found, ended) = run_test_command(command);
            results = found;
            ended
        });
        self.results.extend(results);
        outcome
    }

    /// Prints the time table, then the result lines of the tests.
    pub fn report(&self) {
        let total: Duration = self.rows.iter().map(|(_, time)| *time).sum();
        let width = self
            .rows
            .iter()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        eprintln!("\nwhere the time went");
        for (name, time) in self
            .rows
            .iter()
            .map(|(n, t)| (n.as_str(), t))
            .chain([("total", &total)])
        {
            let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
            eprintln!("  {name:width$}  {:>8.1} s  {share:>5.1} %", time.as_secs_f64());
        }
        if !self.results.is_empty() {
            eprintln!();
        }
        for result in &self.results {
            eprintln!("{result}");
        }
    }
}

/// Runs a `cargo test`; its result lines, and how it ended.
fn run_test_command(mut command: Command) -> (Vec<String>, Result<()>) {
    let text = line(&command);
    eprintln!("$ {text}");
    let mut results = Vec::new();
    let mut run = || {
        // One pipe for both streams keeps cargo's headings in front of the results they belong to.
        let (reader, writer) = std::io::pipe().map_err(|e| Failure::new(format!("cannot make a pipe: {e}")))?;
        let copy = writer
            .try_clone()
            .map_err(|e| Failure::new(format!("cannot make a pipe: {e}")))?;
        let mut child = command
            .stdout(copy)
            .stderr(writer)
            .spawn()
            .map_err(|e| not_started(&command, &e))?;
        // The command holds the pipe's writing end, and the reader waits for the last one to close.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        results = show(BufReader::new(reader));
        let status = child
            .wait()
            .map_err(|e| Failure::new(format!("`{text}` was lost: {e}")))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("`{text}` ended with {status}")))
        }
    };
    let ended = run();
    (results, ended)
}

/// Echoes the lines and picks the test results among them.
fn show(reader: impl std::io::BufRead) -> Vec<String> {
    let mut results = Vec::new();
    let mut program = String::new();
    for bytes in reader.split(b'\n').map_while(std::result::Result::ok) {
        let text = String::from_utf8_lossy(&bytes);
        let trimmed = text.trim();
        eprintln!("{text}");
        if let Some(name) = trimmed.strip_prefix("Running ").or(trimmed.strip_prefix("Doc-tests ")) {
            let kind = if trimmed.starts_with("Doc") { "doc " } else { "" };
            program = format!("{kind}{}", name.split(" (").next().unwrap_or(name));
        } else if trimmed.starts_with("test result:") {
            results.push(format!("{trimmed} [{program}]"));
        }
    }
    results
}

/// A cargo command that runs in the root of the repository.
pub fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root);
    command
}

/// The `kiln` program of a build profile (`debug`, `release`): this program lies in the same target folder.
pub fn kiln(profile: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(|e| Failure::new(format!("cannot find where xtask lies: {e}")))?;
    let target = own.parent().and_then(Path::parent);
    let target = target.ok_or_else(|| Failure::new(format!("{} is not in a target folder", own.display())))?;
    Ok(target
        .join(profile)
        .join(format!("kiln{}", std::env::consts::EXE_SUFFIX)))
}

/// The command as one would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    [name].into_iter().chain(args).collect::<Vec<_>>().join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "cannot start `{}`: {error}",
        command.get_program().to_string_lossy()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_carry_the_name_of_their_program() {
        let text = "   Running unittests src/lib.rs (target/debug/deps/a-1)\n\nrunning 1 test\n\
                    test result: ok. 1 passed; 0 failed\n   Doc-tests kiln\ntest result: ok. 0 passed; 0 failed\n";
        let want = [
            "test result: ok. 1 passed; 0 failed [unittests src/lib.rs]",
            "test result: ok. 0 passed; 0 failed [doc kiln]",
        ];
        assert_eq!(show(text.as_bytes()), want);
    }

    #[test]
    #[cfg(unix)]
    fn both_streams_of_a_test_run_are_read_in_order_and_its_status_counts() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo '     Running a.rs (x)' >&2; echo 'test result: 3.'; exit 3"]);
        let mut steps = Steps::default();
        let failed = steps.run_tests("tests", command).err();
        assert!(failed.is_some_and(|f| f.code == 1 && f.message.starts_with("step `tests`")));
        assert_eq!(steps.results, ["test result: 3. [a.rs]"]);
    }

    #[test]
    fn a_failed_step_is_named() {
        let mut steps = Steps::default();
        let failed = steps.time("format", || Err::<(), _>(Failure::set_up("x"))).err();
        assert_eq!(
            failed.map(|f| (f.code, f.message)),
            Some((9, "step `format`: x".to_owned()))
        );
        assert_eq!(steps.rows.len(), 1);
    }
}
