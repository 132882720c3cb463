//! Arguments of `kiln-lab bench`.

use std::path::PathBuf;

use clap::Args;

use crate::program::Program;

/// What to measure, and where the results go.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Scene folders
    #[arg(required_unless_present = "curve", value_name = "SCENE")]
    pub scenes: Vec<PathBuf>,
    /// Recipe
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub recipe: String,
    /// Steps
    #[arg(long, value_name = "N", default_value_t = 7000)]
    pub iterations: u32,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Also cost against Gaussians (0.1 to 6 M) and pixels (0.5 to 4 MP), on synthetic scenes
    #[arg(long)]
    pub curve: bool,
    /// Memory rate of the lower bound, 10^9 bytes per second; without it the best rate that a pass reached
    #[arg(long, value_name = "GB/S")]
    pub bandwidth: Option<f64>,
    /// Folder of runs and bench.json
    #[arg(long, value_name = "DIR", default_value = "runs/bench")]
    pub out: PathBuf,
    /// Options of every measurement.
    #[command(flatten)]
    pub program: Program,
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

    fn parse(line: &str) -> Result<Arguments, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        let typed = Typed::try_parse_from(words);
        typed.map(|typed| typed.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn scenes_options_and_what_is_passed_on_are_told_apart() {
        let found = parse("a b --seed=3 --bandwidth 4300 --curve -- --max-gaussians 9").unwrap();
        assert_eq!(found.scenes, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!((found.seed, found.bandwidth, found.curve), (3, Some(4300.0), true));
        assert_eq!(found.program.passed_on, ["--max-gaussians", "9"]);
        assert!(parse("--curve").unwrap().scenes.is_empty());
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (line, word) in [
            ("", "<SCENE>"),
            ("a --seed", "a value is required for '--seed"),
            ("a --iterations=many", "invalid value 'many'"),
            ("a --fast", "unexpected argument '--fast'"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(word), "{message}");
        }
    }
}
