//! Seconds per test: the table of the last run, by which the next one is arranged.
//!
//! Owns: `target/test-times.json`, an object of programs with an object of tests each, seconds. Promises: a table that cannot be
//! read counts as none. Refuses: nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};

/// What a test of unit tests, and one of an integration test, is taken to last before it has been measured, seconds.
const GUESS_S: [f64; 2] = [0.2, 3.0];
/// How many tests are printed.
const LONGEST: usize = 30;

/// Seconds of each test of each program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times(BTreeMap<String, BTreeMap<String, f64>>);

impl Times {
    /// The table in `file`.
    pub(super) fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        Self(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Writes the table.
    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.0).map_err(|e| Failure::io("write", file, e))?;
        fs::write(file, text + "\n").map_err(|e| Failure::io("write", file, e))
    }

    /// Adds a measured test.
    pub(super) fn add(&mut self, program: &str, test: &str, seconds: f64) {
        let tests = self.0.entry(program.to_owned()).or_default();
        tests.insert(test.to_owned(), seconds);
    }

    /// Takes over what was measured, program by program: of those, tests that are gone are forgotten.
    pub(super) fn replace(&mut self, measured: &Self) {
        self.0.extend(measured.0.clone());
    }

    /// What a test will last, measured or guessed.
    pub(super) fn expected(&self, program: &str, test: &str) -> f64 {
        let known = self.0.get(program).and_then(|tests| tests.get(test));
        let [unit, integration] = GUESS_S;
        known
            .copied()
            .unwrap_or(if program.ends_with(')') { unit } else { integration })
    }

    /// Programs by their seconds, then the longest tests.
    pub(super) fn report(&self) -> Vec<String> {
        let mut programs: Vec<(f64, &str, usize)> = Vec::new();
        let mut tests: Vec<(f64, &str, &str)> = Vec::new();
        for (program, times) in &self.0 {
            programs.push((times.values().sum(), program, times.len()));
            tests.extend(times.iter().map(|(test, s)| (*s, program.as_str(), test.as_str())));
        }
        programs.sort_by(|a, b| b.0.total_cmp(&a.0));
        tests.sort_by(|a, b| b.0.total_cmp(&a.0));
        let programs = programs
            .into_iter()
            .map(|(s, program, count)| format!("{s:>8.1} s  {program}: {count} tests"));
        let tests = tests
            .into_iter()
            .take(LONGEST)
            .map(|(s, program, test)| format!("{s:>8.1} s  {program} {test}"));
        ["seconds per program".to_owned()]
            .into_iter()
            .chain(programs)
            .chain([format!("the {LONGEST} longest tests")])
            .chain(tests)
            .collect()
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn longest_come_first_and_unknown_tests_are_guessed() {
        let mut times = Times::default();
        times.add("device", "gpu::a", 1.5);
        times.add("device", "gpu::b", 2.5);
        times.add("kiln (lib)", "c", 0.5);
        let lines = times.report();
        let at = |text: &str| lines.iter().position(|line| line.contains(text));
        assert!(at("device: 2 tests") < at("kiln (lib): 1 tests"), "{lines:?}");
        assert!(at("device gpu::b") < at("device gpu::a"), "{lines:?}");
        assert_eq!(times.expected("device", "gpu::b").to_bits(), 2.5_f64.to_bits());
        let mut newer = Times::default();
        newer.add("device", "gpu::a", 4.0);
        times.replace(&newer);
        assert_eq!(times.expected("device", "gpu::a").to_bits(), 4.0_f64.to_bits());
        assert_eq!(times.expected("kiln (lib)", "c").to_bits(), 0.5_f64.to_bits());
        assert!(times.expected("device", "gpu::new") > times.expected("kiln (lib)", "new"));
    }

    #[test]
    fn a_damaged_table_counts_as_none() {
        assert_eq!(Times::read(Path::new("/nowhere/times.json")), Times::default());
    }
}
