//! `cargo xtask advisories`: the versions of `Cargo.lock` against known advisories, as they were on one day.
//!
//! Owns: `tools/xtask/advisories.json`, a dated copy of what the RustSec database says of versions. Promises: no network, so that a
//! check that passed passes again. Refuses: exceptions; a version that an advisory is of is to be replaced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

const USAGE: &str = "usage: cargo xtask advisories [--from CLONE]
  (nothing)      check the versions of all lock files
  --from CLONE   make the list anew, from a clone of https://github.com/RustSec/advisory-db";

const LIST: &str = "tools/xtask/advisories.json";
/// Locks of the workspace, and of what is built by itself.
const LOCKS: [&str; 4] = [
    "Cargo.lock",
    "tests/fuzz/Cargo.lock",
    "tools/shaderc/Cargo.lock",
    "tools/wasm-bindgen/Cargo.lock",
];

/// The list.
#[derive(Debug, Serialize, Deserialize)]
pub struct Advisories {
    /// Day of the database's commit.
    pub date: String,
    /// The commit.
    pub commit: String,
    /// All that are not withdrawn, sorted.
    pub advisories: Vec<Advisory>,
}

/// What is known of some versions of a package.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Advisory {
    /// The package.
    pub package: String,
    /// `RUSTSEC-` and a number.
    pub id: String,
    /// Requirements; a version that meets none is affected. Empty where all are.
    pub well: Vec<String>,
}

/// Runs the verb with its arguments.
///
/// # Errors
/// When a version is affected, or a file cannot be read.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check(root),
        ["--from", clone] => make(root, Path::new(clone)),
        ["--help" | "-h"] => {
            crate::say(USAGE);
            Ok(())
        }
        _ => Err(Failure::usage(USAGE)),
    }
}

/// Fails with all locked versions that an advisory is of.
///
/// # Errors
/// See [`run`].
pub fn check(root: &Path) -> Result<()> {
    let path = root.join(LIST);
    let text = read(&path)?;
    let list: Advisories = serde_json::from_str(&text).map_err(|e| Failure::io("read", &path, e))?;
    let mut found = Vec::new();
    let mut count = 0;
    for lock in LOCKS {
        for (package, version) in locked(&read(&root.join(lock))?) {
            count += 1;
            let of_package = list.advisories.iter().filter(|advisory| advisory.package == package);
            for advisory in of_package {
                if is_affected(&version, &advisory.well)? {
                    let id = &advisory.id;
                    found.push(format!(
                        "{lock}: {package} {version}: https://rustsec.org/advisories/{id}"
                    ));
                }
            }
        }
    }
    if found.is_empty() {
        crate::say(format!(
            "{count} locked packages, no advisory of {} or before",
            list.date
        ));
        return Ok(());
    }
    Err(Failure::new(format!(
        "versions with known defects:\n  {}\nhint: `cargo update -p PACKAGE` takes a newer one",
        found.join("\n  ")
    )))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))
}

/// Names and versions of a lock file.
fn locked(lock: &str) -> Vec<(String, String)> {
    let value = |line: &str, key: &str| {
        let quoted = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        quoted.strip_suffix('"').map(str::to_owned)
    };
    let lines: Vec<&str> = lock.lines().collect();
    let pairs = lines.windows(2);
    pairs
        .filter_map(|pair| Some((value(pair[0], "name")?, value(pair[1], "version")?)))
        .collect()
}

/// Whether a version meets none of the requirements.
fn is_affected(version: &str, well: &[String]) -> Result<bool> {
    let wrong = |what: &str, e| Failure::new(format!("`{what}` is no version that is understood: {e}"));
    let version = Version::parse(version).map_err(|e| wrong(version, e))?;
    for text in well {
        let requirement = VersionReq::parse(text).map_err(|e| wrong(text, e))?;
        if requirement.matches(&version) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes the list from a clone of the database.
fn make(root: &Path, clone: &Path) -> Result<()> {
    let head = Command::new("git")
        .arg("-C")
        .arg(clone)
        .args(["log", "-1", "--format=%H %cs"])
        .output();
    let head = head.map_err(|e| Failure::new(format!("cannot start git: {e}")))?;
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    let Some((commit, date)) = head.split_once(' ') else {
        return Err(Failure::new(format!("{} is no clone", clone.display())));
    };
    let mut advisories = Vec::new();
    for package in entries(&clone.join("crates"))? {
        for path in entries(&package)? {
            advisories.extend(advisory(&read(&path)?));
        }
    }
    if advisories.is_empty() {
        return Err(Failure::new(format!("{} holds no advisory", clone.display())));
    }
    advisories.sort();
    let rows: Vec<String> = advisories
        .iter()
        .map(serde_json::to_string)
        .collect::<std::result::Result<_, _>>()
        .map_err(|e| Failure::new(e.to_string()))?;
    let text = format!(
        "{{\"date\": \"{date}\", \"commit\": \"{commit}\", \"advisories\": [\n{}\n]}}\n",
        rows.join(",\n")
    );
    let path = root.join(LIST);
    fs::write(&path, text).map_err(|e| Failure::io("write", &path, e))?;
    check(root)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |e| Failure::io("read", folder, e);
    let entries = fs::read_dir(folder).map_err(fail)?;
    entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(fail))
        .collect()
}

/// An advisory of the database, unless it is withdrawn or only a notice: a table in front of a text.
fn advisory(text: &str) -> Option<Advisory> {
    let table = text.strip_prefix("```toml")?.split("\n```").next()?;
    let quoted = |key: &str| {
        let line = table
            .lines()
            .find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
        Some(line?.trim().trim_matches('"').to_owned())
    };
    if quoted("withdrawn").is_some() || quoted("informational").as_deref() == Some("notice") {
        return None;
    }
    let versions = table.split("\n[versions]").nth(1).unwrap_or_default();
    let list = |key: &str| {
        let rest = versions.split(&format!("\n{key} = [")).nth(1).unwrap_or_default();
        let inside = rest.split(']').next().unwrap_or_default();
        inside
            .split('"')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    Some(Advisory {
        package: quoted("package")?,
        id: quoted("id")?,
        well: [list("patched"), list("unaffected")].concat(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn locked_versions_are_free_of_known_advisories() {
        check(&crate::root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    }

    /// A tag may name another commit tomorrow.
    #[test]
    fn actions_are_pinned_by_commits() {
        let mut pinned = 0;
        for path in entries(&crate::root().join(".github/workflows")).unwrap_or_default() {
            let text = read(&path).unwrap_or_default();
            for line in text.lines().filter(|line| line.contains("uses:")) {
                let commit = line.split_once('@').map_or("", |(_, commit)| commit);
                let commit = commit.split_whitespace().next().unwrap_or_default();
                let is_one = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(is_one, "{}: {line}", path.display());
                pinned += 1;
            }
        }
        assert!(pinned > 0);
    }

    #[test]
    fn versions_are_affected_unless_they_are_known_to_be_well() {
        let well = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (version, list, affected) in [
            ("1.2.3", well(&[]), true),
            ("1.2.3", well(&[">= 1.2.3"]), false),
            ("1.2.2", well(&[">= 1.2.3"]), true),
            ("0.9.20", well(&[">= 0.10.2", "< 0.10.0, >= 0.9.18"]), false),
            ("0.10.1", well(&[">= 0.10.2", "< 0.10.0, >= 0.9.18"]), true),
            ("0.3.9", well(&["^0.3.4"]), false),
            ("2.0.0-rc.1", well(&[">= 1.0.0"]), true),
        ] {
            let found = is_affected(version, &list).unwrap_or_else(|failure| panic!("{}", failure.message));
            assert_eq!(found, affected, "{version} {list:?}");
        }
    }

    #[test]
    fn advisories_and_locks_are_read() {
        let text = "```toml\n[advisory]\nid = \"RUSTSEC-1-2\"\npackage = \"x\"\n\n[versions]\npatched = [\n  \">= 2\",\n  \">= 1.5, < 2\",\n]\n\
                    unaffected = [\"< 1\"]\n[affected]\nfunctions = {}\n```\n\n# Title\n";
        let expected = Advisory {
            package: "x".to_owned(),
            id: "RUSTSEC-1-2".to_owned(),
            well: vec![">= 2".to_owned(), ">= 1.5, < 2".to_owned(), "< 1".to_owned()],
        };
        assert_eq!(advisory(text), Some(expected));
        assert_eq!(
            advisory(&text.replace("package", "withdrawn = \"2020-01-01\"\npackage")),
            None
        );
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b\",\n]\n";
        assert_eq!(locked(lock), [("a".to_owned(), "1.0.0".to_owned())]);
    }
}
