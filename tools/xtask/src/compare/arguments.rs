//! What `cargo xtask compare` is asked for.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// Help text.
pub(super) const USAGE: &str = "usage: cargo xtask compare SCENE... [OPTIONS]
  --recipes A,B       recipes, shipped ones or FILE.yaml [default]
  --seeds 0,1,2       seeds [0,1,2]
  --iterations N      steps, evaluated and saved at the last; without it as the recipe has it
  --max-gaussians N   most Gaussians of every run
  --profile NAME      memory profile [auto]
  --out DIR           folder of the runs; `kiln view DIR` shows them with the table [runs/compare]
  --json FILE         rows and means [DIR/compare.json]
  --kiln FILE         program to run; without it the release build of this tree
  -- ARGUMENTS        passed on to `kiln train`, for example --allow-cpu
Rows that FILE has already, made by the same command and program, are not made again.";

/// Parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Scene folders.
    pub scenes: Vec<PathBuf>,
    /// `--recipes`
    pub recipes: Vec<String>,
    /// `--seeds`
    pub seeds: Vec<u64>,
    /// `--iterations`
    pub iterations: Option<u32>,
    /// `--max-gaussians`
    pub max_gaussians: Option<u32>,
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
    /// Exit code 2 for an unknown or incomplete argument, when there is nothing to train, and for two scenes or recipes
    /// of one name.
    pub fn parse(args: &[String]) -> Result<Option<Self>> {
        let mut found = Self {
            scenes: Vec::new(),
            recipes: vec!["default".to_owned()],
            seeds: vec![0, 1, 2],
            iterations: None,
            max_gaussians: None,
            profile: "auto".to_owned(),
            out: PathBuf::from("runs/compare"),
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
                "--recipes" => found.recipes = value()?.split(',').map(str::to_owned).collect(),
                "--seeds" => {
                    let text = value()?;
                    found.seeds = text.split(',').map(|seed| number(flag, seed)).collect::<Result<_>>()?;
                }
                "--iterations" => found.iterations = Some(number(flag, &value()?)?),
                "--max-gaussians" => found.max_gaussians = Some(number(flag, &value()?)?),
                "--profile" => found.profile = value()?,
                "--out" => found.out = value()?.into(),
                "--json" => found.json = Some(value()?.into()),
                "--kiln" => found.kiln = Some(value()?.into()),
                "--" => found.passed_on = rest.by_ref().cloned().collect(),
                _ if arg.starts_with('-') => {
                    return Err(Failure::usage(format!("unknown argument `{arg}`\n{USAGE}")));
                }
                _ => found.scenes.push(arg.into()),
            }
        }
        if found.scenes.is_empty() {
            return Err(Failure::usage(format!("name a scene\n{USAGE}")));
        }
        distinct("scene", found.scenes.iter().map(|path| name_of(path)))?;
        distinct("recipe", found.recipes.iter().map(|recipe| recipe_name(recipe)))?;
        distinct("seed", found.seeds.iter().map(u64::to_string))?;
        Ok(Some(found))
    }

    /// Where rows and means go.
    #[must_use]
    pub fn json(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| self.out.join("compare.json"))
    }
}

/// The name of a scene: that of its folder.
pub(super) fn name_of(scene: &Path) -> String {
    let name = scene.file_name().unwrap_or(scene.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The name of a recipe: of a file that without folder and ending.
pub(super) fn recipe_name(recipe: &str) -> String {
    let name = recipe.rsplit(['/', '\\']).next().unwrap_or(recipe);
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
    stem.unwrap_or(name).to_owned()
}

/// Rows are told apart by names.
fn distinct(what: &str, names: impl Iterator<Item = String>) -> Result<()> {
    let mut seen = Vec::new();
    for name in names {
        if name.is_empty() || seen.contains(&name) {
            return Err(Failure::usage(format!(
                "two of a {what} called `{name}`, or one without a name"
            )));
        }
        seen.push(name);
    }
    Ok(())
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T> {
    let wrong = || Failure::usage(format!("`{flag}` takes numbers, not `{text}`\n{USAGE}"));
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
    fn lists_options_and_what_is_passed_on_are_told_apart() {
        let found = parse("x/a b --recipes mip,my/own.yaml --seeds=3,4 --json t.json -- --allow-cpu --seeds 9")
            .unwrap()
            .unwrap();
        assert_eq!(found.scenes, [PathBuf::from("x/a"), PathBuf::from("b")]);
        assert_eq!(found.recipes, ["mip", "my/own.yaml"]);
        assert_eq!(
            (recipe_name(&found.recipes[1]), name_of(&found.scenes[0])),
            ("own".into(), "a".into())
        );
        assert_eq!(
            (found.seeds.as_slice(), found.json()),
            ([3, 4].as_slice(), PathBuf::from("t.json"))
        );
        assert_eq!(found.passed_on, ["--allow-cpu", "--seeds", "9"]);
        assert_eq!(parse("a -h").unwrap(), None);
        assert_eq!(
            parse("a --out o").unwrap().unwrap().json(),
            Path::new("o").join("compare.json")
        );
    }

    #[test]
    fn what_is_missing_wrong_or_twice_there_is_named() {
        for (line, word) in [
            ("--seeds 0", "name a scene"),
            ("a --seeds", "needs a value"),
            ("a --seeds 1,x", "not `x`"),
            ("a --fast", "unknown argument `--fast`"),
            ("x/a y/a", "two of a scene called `a`"),
            ("a --recipes mip,x/mip.yaml", "two of a recipe called `mip`"),
        ] {
            let failure = parse(line).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }
}
