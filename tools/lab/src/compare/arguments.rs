//! Arguments of `kiln-lab compare`.

use std::path::{Path, PathBuf};

use clap::Args;
use xtask::failure::{Failure, Result};

use crate::program::Program;

/// What to train, and where the results go.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Rows that FILE already has, made by the same command and program, are not made again.")]
pub struct Arguments {
    /// Scene folders
    #[arg(required = true, value_name = "SCENE")]
    pub scenes: Vec<PathBuf>,
    /// Recipes, shipped ones or FILE.yaml
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "default")]
    pub recipes: Vec<String>,
    /// Seeds
    #[arg(long, value_name = "0,1,2", value_delimiter = ',', default_value = "0,1,2")]
    pub seeds: Vec<u64>,
    /// Steps, evaluated and saved at the last; without it as the recipe has it
    #[arg(long, value_name = "N")]
    pub iterations: Option<u32>,
    /// Most Gaussians of every run; without it as profile and recipe have it
    #[arg(long, value_name = "N")]
    pub max_gaussians: Option<u32>,
    /// Folder of the runs; `kiln view DIR` shows them with the table
    #[arg(long, value_name = "DIR", default_value = "runs/compare")]
    pub out: PathBuf,
    /// Rows and means [default: DIR/compare.json]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Options of every measurement.
    #[command(flatten)]
    pub program: Program,
}

impl Arguments {
    /// Names identify rows.
    ///
    /// # Errors
    /// Exit code 2 for two scenes, recipes or seeds of one name.
    pub(super) fn check(&self) -> Result<()> {
        distinct("scene", self.scenes.iter().map(|path| name_of(path)))?;
        distinct("recipe", self.recipes.iter().map(|recipe| recipe_name(recipe)))?;
        distinct("seed", self.seeds.iter().map(u64::to_string))
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

fn distinct(what: &str, names: impl Iterator<Item = String>) -> Result<()> {
    let mut seen = Vec::new();
    for name in names {
        if name.is_empty() || seen.contains(&name) {
            return Err(Failure::usage(format!(
                "two of a {what} called `{name}`, or one without a name\nhint: these names identify rows; rename one"
            )));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> std::result::Result<Arguments, String> {
        let words = std::iter::once("compare").chain(line.split_whitespace());
        let arguments = Typed::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .arguments;
        arguments.check().map_err(|failure| failure.message)?;
        Ok(arguments)
    }

    #[test]
    fn lists_options_and_what_is_passed_on_are_told_apart() {
        let found =
            parse("x/a b --recipes mip,my/own.yaml --seeds=3,4 --json t.json -- --allow-cpu --seeds 9").unwrap();
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
        assert_eq!(found.program.passed_on, ["--allow-cpu", "--seeds", "9"]);
        let plain = parse("a --out o").unwrap();
        assert_eq!(plain.json(), Path::new("o").join("compare.json"));
        assert_eq!(
            (plain.recipes, plain.seeds),
            (vec!["default".to_owned()], vec![0, 1, 2])
        );
    }

    #[test]
    fn what_is_missing_wrong_or_twice_there_is_named() {
        for (line, word) in [
            ("--seeds 0", "<SCENE>"),
            ("a --seeds", "a value is required for '--seeds"),
            ("a --seeds 1,x", "invalid value 'x'"),
            ("a --fast", "unexpected argument '--fast'"),
            ("x/a y/a", "two of a scene called `a`"),
            ("a --recipes mip,x/mip.yaml", "two of a recipe called `mip`"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(word), "{message}");
        }
    }
}
