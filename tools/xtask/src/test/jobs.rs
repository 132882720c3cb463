//! Jobs: what one process does, a part of a test program or a command.
//!
//! Owns: how programs are cut. Promises: every test is in one job, tests of one module stay together, and what takes longest comes
//! first. Refuses: cutting programs whose tests share what takes long to start.

use std::process::Command;

use super::programs::{Program, command};
use super::times::Times;

/// A program is cut where modules end, into parts of about so many seconds: the last ones are to end together.
const PART_S: f64 = 60.0;
/// Programs that run whole, two tests at a time: these share a browser as long as one of them has it, and those a run and a build.
const WHOLE: [&str; 2] = ["browser", "windows"];

/// What one process does, or a few one after the other.
#[derive(Debug)]
pub(super) struct Job {
    /// For people.
    pub title: String,
    /// Name of the program in the table of times, empty for other commands.
    pub program: String,
    /// How many tests are to report a result.
    pub tests: usize,
    /// What it will take, seconds.
    pub seconds: f64,
    /// The commands.
    pub commands: Vec<Command>,
}

impl Job {
    /// Commands that are no test programs.
    pub(super) fn other(title: &str, seconds: f64, commands: Vec<Command>) -> Self {
        Self {
            title: title.to_owned(),
            program: String::new(),
            tests: 0,
            seconds,
            commands,
        }
    }
}

/// Jobs with all tests of all programs. `settings` prepares their commands.
pub(super) fn of(programs: &[Program], times: &Times, settings: impl Fn(&mut Command)) -> Vec<Job> {
    let mut jobs = Vec::new();
    for program in programs {
        let parts = parts(program, times);
        let is_cut = parts.len() > 1;
        let threads = if WHOLE.contains(&program.name.as_str()) { 2 } else { 1 };
        for tests in parts {
            let seconds = tests
                .iter()
                .map(|test| times.expected(&program.name, test))
                .sum::<f64>();
            let mut command = command(program);
            // The harness prints seconds per test, and lines that processes of a test cannot break, as unstable options, which it
            // takes from whoever sets this variable.
            command
                .env("RUSTC_BOOTSTRAP", "1")
                .args(["-Zunstable-options", "--report-time", "--format=json"])
                .arg(format!("--test-threads={threads}"));
            let mut title = program.name.clone();
            if let Some(first) = tests.first().filter(|_| is_cut) {
                command.arg("--exact").args(&tests);
                title = format!("{title}, {} and on", module(first));
            }
            settings(&mut command);
            jobs.push(Job {
                title,
                program: program.name.clone(),
                tests: tests.len(),
                seconds: seconds / f64::from(threads),
                commands: vec![command],
            });
        }
    }
    jobs
}

/// The module of a test, no deeper than a file of an integration test.
fn module(test: &str) -> String {
    let path: Vec<&str> = test.split("::").collect();
    path[..path.len().saturating_sub(1).min(2)].join("::")
}

/// The tests of a program, cut.
fn parts<'a>(program: &'a Program, times: &Times) -> Vec<Vec<&'a str>> {
    let mut parts: Vec<(f64, Vec<&str>)> = Vec::new();
    for group in program.tests.chunk_by(|a, b| module(a) == module(b)) {
        let seconds = group
            .iter()
            .map(|test| times.expected(&program.name, test))
            .sum::<f64>();
        let tests = group.iter().map(String::as_str);
        match parts.last_mut() {
            Some((sum, last)) if *sum + seconds <= PART_S || WHOLE.contains(&program.name.as_str()) => {
                *sum += seconds;
                last.extend(tests);
            }
            _ => parts.push((seconds, tests.collect())),
        }
    }
    parts.into_iter().map(|(_, tests)| tests).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    fn program(name: &str) -> Program {
        let tests = ["gpu::a::x", "gpu::a::y", "gpu::b::c::x", "gpu::b::y", "mesh::x"];
        Program {
            name: name.to_owned(),
            path: "/t/device-1".into(),
            folder: "/r".into(),
            tests: tests.map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn programs_are_cut_between_modules_and_no_test_is_lost() {
        let mut times = Times::default();
        for test in &program("device").tests {
            times.add("device", test, 25.0);
            times.add("browser", test, 25.0);
        }
        let device = program("device");
        assert_eq!(parts(&device, &times).concat(), device.tests);
        let sizes = |name| parts(&program(name), &times).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes("device"), [2, 2, 1]);
        assert_eq!(sizes("browser"), [5]);
        let jobs = of(&[program("device")], &times, |_| ());
        assert_eq!(jobs.iter().map(|job| job.tests).collect::<Vec<_>>(), [2, 2, 1]);
        let args: Vec<_> = jobs.iter().flat_map(|job| job.commands[0].get_args()).collect();
        assert!(program("device").tests.iter().all(|test| args.contains(&test.as_ref())));
    }
}
