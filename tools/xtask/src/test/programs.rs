//! The test programs of the workspace, and the tests in each.
//!
//! Owns: the build of everything. Promises: the list is cargo's, so that no program is left out. Refuses: programs that do not say
//! which tests they have.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::steps::{self, Steps};

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// What it is called: of integration tests their name, of unit tests the crate and its kind.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The folder of its package, in which it is started as cargo does.
    pub folder: PathBuf,
    /// Its tests, in order.
    pub tests: Vec<String>,
}

impl Program {
    /// What `--only` calls it: integration tests by their name, all others `unit`.
    pub(super) fn group(&self) -> &str {
        if self.folder.ends_with("tests") && !self.name.ends_with(')') {
            &self.name
        } else {
            super::UNIT
        }
    }
}

/// Builds everything in one go, so that nothing is built for two sets of features, and lists the tests.
pub(super) fn build(root: &Path, steps: &mut Steps) -> Result<Vec<Program>> {
    let mut programs = steps.time("build", || built(root))?;
    steps.time("list of tests", || {
        for program in &mut programs {
            program.tests = tests(program)?;
        }
        Ok(())
    })?;
    Ok(programs)
}

fn built(root: &Path) -> Result<Vec<Program>> {
    let args = [
        "build",
        "--workspace",
        "--all-targets",
        "--message-format=json-render-diagnostics",
    ];
    let mut command = steps::cargo(root, &args);
    let text = steps::line(&command);
    eprintln!("$ {text}");
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|e| Failure::new(format!("cannot start `{text}`: {e}")))?;
    let lines = child.stdout.take().map(BufReader::new);
    let lines = lines
        .into_iter()
        .flat_map(|reader| reader.lines().map_while(std::result::Result::ok));
    let mut programs: Vec<Program> = lines.filter_map(|line| program(&line)).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    let status = child
        .wait()
        .map_err(|e| Failure::new(format!("`{text}` was lost: {e}")))?;
    if status.success() {
        Ok(programs)
    } else {
        Err(Failure::new(format!("`{text}` ended with {status}")))
    }
}

/// The test program that a message of cargo names.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let target = &message["target"];
    let (name, kind) = (target["name"].as_str()?, target["kind"][0].as_str()?);
    let name = if kind == "test" {
        name.to_owned()
    } else {
        format!("{name} ({kind})")
    };
    Some(Program {
        name,
        path: path.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        tests: Vec::new(),
    })
}

fn tests(program: &Program) -> Result<Vec<String>> {
    let output = command(program).args(["--list", "--format", "terse"]).output();
    let output = output.map_err(|e| Failure::io("start", &program.path, e))?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "{} does not list its tests: {}",
            program.name, output.status
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Starts a program as cargo does.
pub(super) fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder);
    command
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn programs_are_artifacts_that_hold_tests() {
        let message = |test: bool, kind: &str| {
            format!(
                "{{\"reason\": \"compiler-artifact\", \"profile\": {{\"test\": {test}}}, \"executable\": \"/t/a-1\", \
                 \"manifest_path\": \"/r/tests/Cargo.toml\", \"target\": {{\"name\": \"a\", \"kind\": [\"{kind}\"]}}}}"
            )
        };
        let found = program(&message(true, "test"));
        let want = Program {
            name: "a".to_owned(),
            path: "/t/a-1".into(),
            folder: "/r/tests".into(),
            tests: Vec::new(),
        };
        assert_eq!(want.group(), "a");
        assert_eq!(found, Some(want));
        assert_eq!(
            program(&message(true, "bin")).map(|p| p.group().to_owned()),
            Some("unit".to_owned())
        );
        assert_eq!(
            program(&message(true, "lib")).map(|p| p.name),
            Some("a (lib)".to_owned())
        );
        assert_eq!(program(&message(false, "bin")), None);
        assert_eq!(program("warning: no JSON"), None);
    }
}
