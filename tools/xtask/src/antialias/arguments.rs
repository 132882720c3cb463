//! What `cargo xtask antialias` is asked for.

use std::path::PathBuf;

use crate::failure::{Failure, Result};

/// Help text.
pub(super) const USAGE: &str = "usage: cargo xtask antialias [OPTIONS]
  --seeds 0,1,2       seeds [0,1,2]
  --iterations N      steps [7000]
  --size WxH          training photos, multiples of 8 px, from 128 on [512x384]
  --views N           photos, every 8th for testing [96]
  --points N          points to start from [20000]
  --max-gaussians N   most Gaussians [300000]
  --profile NAME      memory profile [auto]
  --out DIR           folder of scenes and runs; another size, number of views or of points needs another
                      [runs/antialias]
  --json FILE         rows and means [DIR/antialias.json]
  --kiln FILE         program to run; without it the release build of this tree
  -- ARGUMENTS        passed on to `kiln train`, for example --allow-cpu
Trains the recipe `mip` and the same with plain rasterisation at one scale and evaluates both at 1, 1/2, 1/4, 1/8 and 2.
Runs whose rows FILE has already, made by the same command and program, are not made again.";

/// Parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// `--seeds`
    pub seeds: Vec<u64>,
    /// `--iterations`
    pub iterations: u32,
    /// `--size`
    pub size: [u32; 2],
    /// `--views`
    pub views: u32,
    /// `--points`
    pub points: u32,
    /// `--max-gaussians`
    pub max_gaussians: u32,
    /// `--profile`
    pub profile: String,
    /// `--out`
    pub out: PathBuf,
    /// `--json`
    pub json: Option<PathBuf>,
    /// `--kiln`
    pub kiln: Option<PathBuf>,
    /// Arguments after `--`.
    pub passed_on: Vec<String>,
}

impl Arguments {
    /// Reads the arguments; none when help is asked for.
    ///
    /// # Errors
    /// Exit code 2 for an unknown, wrong or incomplete argument.
    pub fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut found = Self {
            seeds: vec![0, 1, 2],
            iterations: 7000,
            size: [512, 384],
            views: 96,
            points: 20_000,
            max_gaussians: 300_000,
            profile: "auto".to_owned(),
            out: PathBuf::from("runs/antialias"),
            json: None,
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
                "--seeds" => {
                    let text = value()?;
                    found.seeds = text.split(',').map(|seed| number(flag, seed)).collect::<Result<_>>()?;
                }
                "--iterations" => found.iterations = number(flag, &value()?)?,
                "--size" => found.size = size(&value()?)?,
                "--views" => found.views = number(flag, &value()?)?,
                "--points" => found.points = number(flag, &value()?)?,
                "--max-gaussians" => found.max_gaussians = number(flag, &value()?)?,
                "--profile" => found.profile = value()?,
                "--out" => found.out = value()?.into(),
                "--json" => found.json = Some(value()?.into()),
                "--kiln" => found.kiln = Some(value()?.into()),
                "--" => found.passed_on = rest.by_ref().cloned().collect(),
                _ => return Err(Failure::usage(format!("unknown argument `{arg}`\n{USAGE}"))),
            }
        }
        Ok(Some(found))
    }

    /// Where rows and means go.
    #[must_use]
    pub fn json(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| self.out.join("antialias.json"))
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T> {
    let wrong = || Failure::usage(format!("`{flag}` takes numbers, not `{text}`\n{USAGE}"));
    text.parse().map_err(|_| wrong())
}

/// Sides that can be halved three times.
fn size(text: &str) -> Result<[u32; 2]> {
    let sides = text
        .split_once('x')
        .and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    let fits = |sides: &[u32; 2]| sides.iter().all(|side| side % 8 == 0 && (128..=8192).contains(side));
    let wrong = || {
        Failure::usage(format!(
            "`--size` is WxH with multiples of 8 from 128 to 8192, not `{text}`\n{USAGE}"
        ))
    };
    sides.filter(fits).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>> {
        Arguments::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_the_rest_is_passed_on() {
        let found = parse("--size 160x128 --seeds 7 --out o -- --allow-cpu")
            .unwrap()
            .unwrap();
        assert_eq!((found.size, found.seeds.as_slice()), ([160, 128], [7].as_slice()));
        assert_eq!(
            (found.json(), found.passed_on),
            (PathBuf::from("o/antialias.json"), vec!["--allow-cpu".to_owned()])
        );
        assert_eq!(parse("--help").unwrap(), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, word) in [
            ("scene", "unknown argument `scene`"),
            ("--size 132x128", "multiples of 8"),
            ("--size 96x128", "from 128"),
            ("--size 64", "WxH"),
            ("--seeds a", "not `a`"),
            ("--views", "needs a value"),
        ] {
            let failure = parse(line).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }
}
