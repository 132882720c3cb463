//! What `cargo xtask bench` is asked for.

use std::path::PathBuf;

use crate::failure::{Failure, Result};

/// Help text.
pub(super) const USAGE: &str = "usage: cargo xtask bench SCENE... [--curve] [OPTIONS]
  --recipe NAME       recipe [default]
  --profile NAME      memory profile [auto]
  --iterations N      steps [7000]
  --seed N            seed [0]
  --curve             also cost against Gaussians (0.1 to 6 M) and pixels (0.5 to 4 MP), on synthetic scenes
  --bandwidth GB/S    memory rate of the lower bound; without it the best rate that a pass reached
  --out DIR           folder of runs and bench.json [runs/bench]
  --kiln FILE         program to measure; without it the release build of this tree
  -- ARGUMENTS        passed on to `kiln train`, for example --max-gaussians 1000000";

/// Parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Scene folders.
    pub scenes: Vec<PathBuf>,
    /// `--recipe`
    pub recipe: String,
    /// `--profile`
    pub profile: String,
    /// `--iterations`
    pub iterations: u32,
    /// `--seed`
    pub seed: u64,
    /// `--curve`
    pub curve: bool,
    /// `--bandwidth`
    pub bandwidth_gb_s: Option<f64>,
    /// `--out`
    pub out: PathBuf,
    /// `--kiln`
    pub kiln: Option<PathBuf>,
    /// Arguments after `--`.
    pub passed_on: Vec<String>,
}

impl Arguments {
    /// Reads the arguments; none when help is asked for.
    ///
    /// # Errors
    /// Exit code 2 for an unknown or incomplete argument, and when there is nothing to measure.
    pub fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut found = Self {
            scenes: Vec::new(),
            recipe: "default".to_owned(),
            profile: "auto".to_owned(),
            iterations: 7000,
            seed: 0,
            curve: false,
            bandwidth_gb_s: None,
            out: PathBuf::from("runs/bench"),
            kiln: None,
            passed_on: Vec::new(),
        };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            let mut value = || {
                let next = value.clone().or_else(|| rest.next().cloned());
                next.ok_or_else(|| Failure::usage(format!("`{flag}` needs a value\n{USAGE}")))
            };
            match flag {
                "--help" | "-h" => return Ok(None),
                "--curve" => found.curve = true,
                "--recipe" => found.recipe = value()?,
                "--profile" => found.profile = value()?,
                "--iterations" => found.iterations = number(flag, &value()?)?,
                "--seed" => found.seed = number(flag, &value()?)?,
                "--bandwidth" => found.bandwidth_gb_s = Some(number(flag, &value()?)?),
                "--out" => found.out = value()?.into(),
                "--kiln" => found.kiln = Some(value()?.into()),
                "--" => found.passed_on = rest.by_ref().cloned().collect(),
                _ if arg.starts_with('-') => {
                    return Err(Failure::usage(format!("unknown argument `{arg}`\n{USAGE}")));
                }
                _ => found.scenes.push(arg.into()),
            }
        }
        if found.scenes.is_empty() && !found.curve {
            return Err(Failure::usage(format!("name a scene, or ask for --curve\n{USAGE}")));
        }
        Ok(Some(found))
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T> {
    let wrong = || Failure::usage(format!("`{flag}` is a number, not `{text}`\n{USAGE}"));
    text.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>> {
        Arguments::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn scenes_options_and_what_is_passed_on_are_told_apart() {
        let found = parse("a b --seed=3 --bandwidth 4300 --curve -- --max-gaussians 9")
            .unwrap()
            .unwrap();
        assert_eq!(found.scenes, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!((found.seed, found.bandwidth_gb_s, found.curve), (3, Some(4300.0), true));
        assert_eq!(found.passed_on, ["--max-gaussians", "9"]);
        assert_eq!(parse("a --help").unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (line, word) in [
            ("", "name a scene"),
            ("a --seed", "needs a value"),
            ("a --iterations=many", "not `many`"),
            ("a --fast", "unknown argument `--fast`"),
        ] {
            let failure = parse(line).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }
}
