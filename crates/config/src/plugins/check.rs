//! Collects out-of-range option values.
//!
//! Options know their own ranges; they do not know which file and line a value came from. A [`Checker`] therefore
//! records key paths, and the configuration layer turns them into errors with a location.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// One option value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Key path from the root of the profile, one segment an element; list indices are decimal.
    pub path: Vec<String>,
    /// The value as a person would write it.
    pub found: String,
    /// What would have been accepted.
    pub allowed: String,
}

/// Walks option structs and remembers every [`Problem`], in order.
#[derive(Debug, Default)]
pub struct Checker {
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Checker {
    /// Runs `inside` with `key` appended to the current path.
    pub fn within(&mut self, key: impl Display, inside: impl FnOnce(&mut Self)) {
        self.path.push(key.to_string());
        inside(self);
        self.path.pop();
    }

    /// Requires `value` in a closed range. NaN is in no range.
    pub fn range<T: PartialOrd + Display>(&mut self, key: &str, value: T, allowed: RangeInclusive<T>) {
        let ok = allowed.contains(&value);
        self.require(key, ok, value, || format!("{} to {}", allowed.start(), allowed.end()));
    }

    /// Requires a finite number above zero and at most `most`.
    pub fn positive(&mut self, key: &str, value: f64, most: f64) {
        self.require(key, value > 0.0 && value <= most, value, || {
            format!("above 0, at most {most}")
        });
    }

    /// Requires any condition; `allowed` says what would have been accepted.
    pub fn require(&mut self, key: &str, ok: bool, found: impl Display, allowed: impl FnOnce() -> String) {
        if !ok {
            let mut path = self.path.clone();
            path.push(key.to_owned());
            self.problems.push(Problem {
                path,
                found: found.to_string(),
                allowed: allowed(),
            });
        }
    }

    /// Everything found, in the order it was checked.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_in_no_range_and_paths_nest() {
        let mut checker = Checker::default();
        checker.within("strategy", |c| {
            c.range("opacity", f64::NAN, 0.0..=1.0);
            c.range("every", 5, 1..=9);
            c.positive("eps", 0.0, 1.0);
        });
        let problems = checker.problems();
        assert_eq!(problems.len(), 2);
        assert_eq!(problems[0].path, ["strategy", "opacity"]);
        assert_eq!(
            (problems[0].found.as_str(), problems[0].allowed.as_str()),
            ("NaN", "0 to 1")
        );
        assert_eq!(problems[1].allowed, "above 0, at most 1");
    }
}
