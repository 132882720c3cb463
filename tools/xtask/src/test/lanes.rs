//! Lanes: jobs side by side, the longest first.
//!
//! Owns: the results of tests. Promises: all jobs run, whatever fails; the output of a job that failed is printed whole; a test that
//! reports no result is a failure. Refuses: going on in silence, each job prints a line.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::jobs::Job;
use super::times::Times;
use crate::failure::{Failure, Result};
use crate::steps;

/// Most lanes: more than these share memory and a device to no use.
const MOST: usize = 8;

/// One more than cores: tests also wait, for a browser, for a process that they have started.
fn count() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores + 1).min(MOST)
}

/// What a job left.
struct Done {
    program: String,
    times: BTreeMap<String, f64>,
    problems: Vec<String>,
}

/// Runs all jobs; adds what the tests took to `times`.
pub(super) fn run(mut jobs: Vec<Job>, times: &mut Times) -> Result<()> {
    jobs.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let all = jobs.len();
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let work = || {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        std::iter::from_fn(next)
            .map(|(number, job)| one(job, &format!("{}/{all}", number + 1)))
            .collect::<Vec<_>>()
    };
    let lanes = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..count()).map(|_| scope.spawn(work)).collect();
        lanes
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect::<Vec<_>>()
    });
    let mut problems = Vec::new();
    for lane in lanes {
        for done in lane.map_err(|_| Failure::new("a thread that ran tests panicked"))? {
            for (test, seconds) in done.times {
                times.add(&done.program, &test, seconds);
            }
            problems.extend(done.problems);
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("failed:\n  {}", problems.join("\n  "))))
}

fn one(job: Job, number: &str) -> Done {
    let start = Instant::now();
    let (mut output, mut times, mut problems) = (String::new(), BTreeMap::new(), Vec::new());
    for mut command in job.commands {
        let ended = follow(&mut command, |line| {
            let Some(result) = result(line).filter(|_| job.tests > 0) else {
                output.extend([line, "\n"]);
                return;
            };
            if !result.passed {
                problems.push(format!("{} {}", job.program, result.test));
                output.extend(["---- ", &result.test, "\n", &result.output, "\n"]);
            }
            times.insert(result.test, result.seconds);
        });
        if let Err(failure) = ended {
            problems.push(format!("{}: {}", job.title, failure.message));
        }
    }
    if times.len() != job.tests {
        let (found, title) = (times.len(), &job.title);
        problems.push(format!("{title}: {found} of {} tests report a result", job.tests));
    }
    if !problems.is_empty() {
        eprint!("{output}");
    }
    let verdict = if problems.is_empty() { "passed" } else { "FAILED" };
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{number} {verdict} {}: {} tests, {seconds:.1} s", job.title, job.tests);
    Done {
        program: job.program,
        times,
        problems,
    }
}

/// Runs a command and hands out each line of both its streams, in the order in which they are written.
fn follow(command: &mut Command, mut line: impl FnMut(&str)) -> Result<()> {
    // Test programs that run in part have hundreds of names.
    let mut text = steps::line(command);
    if let Some((at, _)) = text.char_indices().nth(120) {
        text.truncate(at);
        text.push_str(" ...");
    }
    let pipe = |e| Failure::new(format!("cannot make a pipe: {e}"));
    let (reader, writer) = std::io::pipe().map_err(pipe)?;
    let copy = writer.try_clone().map_err(pipe)?;
    let started = command.stdin(Stdio::null()).stdout(copy).stderr(writer).spawn();
    let mut child = started.map_err(|e| Failure::new(format!("cannot start `{text}`: {e}")))?;
    // The command holds the pipe's writing end, and the reader waits for the last one to close.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    for bytes in BufReader::new(reader).split(b'\n').map_while(std::result::Result::ok) {
        line(&String::from_utf8_lossy(&bytes));
    }
    let status = child
        .wait()
        .map_err(|e| Failure::new(format!("`{text}` was lost: {e}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{text}` ended with {status}")))
    }
}

/// A test that has ended.
#[derive(Debug, PartialEq)]
struct Ended {
    test: String,
    passed: bool,
    seconds: f64,
    /// What it printed, when it failed.
    output: String,
}

/// Reads the harness's message about the end of a test. Processes that a test starts may have left words in front of it.
fn result(line: &str) -> Option<Ended> {
    let at = line.find("{ \"type\": \"test\"")?;
    let message: Value = serde_json::from_str(&line[at..]).ok()?;
    let passed = match message["event"].as_str()? {
        "ok" => true,
        "failed" => false,
        _ => return None,
    };
    Some(Ended {
        test: message["name"].as_str()?.to_owned(),
        passed,
        seconds: message["exec_time"].as_f64()?,
        output: message["stdout"].as_str().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    fn message(test: &str, event: &str) -> String {
        format!(r#"{{ "type": "test", "name": "{test}", "event": "{event}", "exec_time": 0.5, "stdout": "said" }}"#)
    }

    #[test]
    fn results_are_read_with_their_seconds() {
        let ended = |passed| {
            Some(Ended {
                test: "a::b".to_owned(),
                passed,
                seconds: 0.5,
                output: "said".to_owned(),
            })
        };
        assert_eq!(result(&message("a::b", "ok")), ended(true));
        assert_eq!(result(&format!("a child{}", message("a::b", "failed"))), ended(false));
        assert_eq!(result(&message("a::b", "started")), None);
        assert_eq!(result("test a::b ... ok"), None);
    }

    #[cfg(unix)]
    fn job(script: &str, tests: usize, seconds: f64) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut job = Job::other(script, seconds, vec![command]);
        job.program = "p".to_owned();
        job.tests = tests;
        job
    }

    #[test]
    #[cfg(unix)]
    fn a_failed_test_a_lost_one_and_a_failed_command_are_failures_and_all_jobs_run() {
        let mut times = Times::default();
        let jobs = vec![
            job(&format!("echo '{}' >&2", message("a", "ok")), 1, 1.0),
            job(&format!("echo '{}'; exit 101", message("b", "failed")), 1, 1.0),
            job(&format!("echo '{}'", message("c", "ok")), 2, 1.0),
            job("exit 3", 0, 0.0),
        ];
        let failed = run(jobs, &mut times).err().map_or(String::new(), |f| f.message);
        for part in ["p b", "1 of 2 tests report a result", "ended with exit status: 3"] {
            assert!(failed.contains(part), "{failed}");
        }
        assert!(!failed.contains("p a"), "{failed}");
        for test in ["a", "b", "c"] {
            assert_eq!(times.expected("p", test).to_bits(), 0.5_f64.to_bits(), "{test}");
        }
    }
}
