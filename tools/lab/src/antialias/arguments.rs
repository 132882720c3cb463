//! Arguments of `kiln-lab antialias`.

use std::path::PathBuf;

use clap::Args;

use crate::program::Program;

const NOTE: &str = "\
Trains the recipe `mip` and the same with plain rasterisation at one scale and evaluates both at 1, 1/2, 1/4, 1/8 and 2.
Rows that FILE already has, made by the same command and program, are not made again.";

/// What to train, and where the results go.
#[derive(Args, Clone, Debug)]
#[command(after_help = NOTE)]
pub struct Arguments {
    /// Seeds
    #[arg(long, value_name = "0,1,2", value_delimiter = ',', default_value = "0,1,2")]
    pub seeds: Vec<u64>,
    /// Steps
    #[arg(long, value_name = "N", default_value_t = 7000)]
    pub iterations: u32,
    /// Width and height of the training photos, px: multiples of 8 from 128 to 8192
    #[arg(long, value_name = "WxH", default_value = "512x384", value_parser = size)]
    pub size: [u32; 2],
    /// Photos, every 8th for testing
    #[arg(long, value_name = "N", default_value_t = 96, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub views: u32,
    /// Points to start from
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub points: u32,
    /// Most Gaussians
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    pub max_gaussians: u32,
    /// Folder of scenes and runs; another size, number of views or of points needs another
    #[arg(long, value_name = "DIR", default_value = "runs/antialias")]
    pub out: PathBuf,
    /// Rows and means [default: DIR/antialias.json]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Options of every measurement.
    #[command(flatten)]
    pub program: Program,
}

impl Arguments {
    /// Where rows and means go.
    #[must_use]
    pub fn json(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| self.out.join("antialias.json"))
    }
}

/// Sides that can be halved three times.
fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text
        .split_once('x')
        .and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    let fits = |sides: &[u32; 2]| sides.iter().all(|side| side % 8 == 0 && (128..=8192).contains(side));
    let expected = "width and height are expected, multiples of 8 from 128 to 8192, for example 512x384";
    sides.filter(fits).ok_or_else(|| expected.to_owned())
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
        let words = std::iter::once("antialias").chain(line.split_whitespace());
        let typed = Typed::try_parse_from(words);
        typed.map(|typed| typed.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_read_and_the_rest_is_passed_on() {
        let found = parse("--size 160x128 --seeds 7 --out o -- --allow-cpu").unwrap();
        assert_eq!((found.size, found.seeds.as_slice()), ([160, 128], [7].as_slice()));
        assert_eq!(
            (found.json(), found.program.passed_on),
            (PathBuf::from("o/antialias.json"), vec!["--allow-cpu".to_owned()])
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, word) in [
            ("scene", "unexpected argument 'scene'"),
            ("--size 132x128", "multiples of 8"),
            ("--size 96x128", "from 128"),
            ("--size 64", "for example 512x384"),
            ("--seeds a", "invalid value 'a'"),
            ("--views", "a value is required for '--views"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(word), "{message}");
        }
    }
}
