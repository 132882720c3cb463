//! What can be typed about projects: scenes in blocks.

use std::path::PathBuf;

use clap::Args;

use super::SettingsArgs;
use crate::project::SplitOptions;

#[derive(Debug, Args)]
#[command(mut_arg("output", |output| output.value_name("PROJECT").help("Project folder [run.output]")))]
pub(in crate::cli) struct SplitArgs {
    #[command(flatten)]
    pub(in crate::cli) settings: SettingsArgs,
    /// Gaussians of the whole scene; without it by the surface that photos show
    #[arg(long, value_name = "N", value_parser = count)]
    pub(in crate::cli) gaussians: Option<u64>,
    /// Number of blocks, or `auto`: as few as fit
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = blocks)]
    pub(in crate::cli) blocks: Blocks,
    /// What a block trains around its core, as a part of its longer side
    #[arg(long, value_name = "F", default_value_t = SplitOptions::default().margin, value_parser = margin)]
    pub(in crate::cli) margin: f64,
    /// Fewest training views of a block
    #[arg(long, value_name = "N", default_value_t = SplitOptions::default().min_views, value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) min_views: u32,
    /// Most training views of a block
    #[arg(long, value_name = "N", default_value_t = SplitOptions::default().max_views, value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) max_views: u32,
    /// What is up; without it as the photos say
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = direction)]
    pub(in crate::cli) up: Option<[f64; 3]>,
    /// Print the blocks and their plans, and write nothing; no `-o` is needed
    #[arg(long)]
    pub(in crate::cli) plan_only: bool,
    /// Print the project as JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MergeArgs {
    /// Project folder
    #[arg(value_name = "PROJECT")]
    pub(in crate::cli) project: PathBuf,
    /// PLY file of the merged model; without it PROJECT/merged/point_cloud.ply
    #[arg(short, long, alias = "out", value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Host memory to use at most, MiB
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u64).range(16..=1 << 24))]
    pub(in crate::cli) memory_mib: u64,
    /// Print the index as JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Print nothing but the path of the file
    #[arg(short, long, conflicts_with = "json")]
    pub(in crate::cli) quiet: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct StatusArgs {
    /// Project folder
    #[arg(value_name = "PROJECT")]
    pub(in crate::cli) project: PathBuf,
    /// Machine-readable output
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// A number of blocks; none for as few as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Blocks(pub(in crate::cli) Option<u32>);

fn blocks(text: &str) -> Result<Blocks, String> {
    let number = || text.parse().ok().filter(|count: &u32| (1..=100_000).contains(count));
    match text {
        "auto" => Ok(Blocks(None)),
        _ => match number() {
            Some(count) => Ok(Blocks(Some(count))),
            None => Err("auto or a number from 1 to 100000 is expected".to_owned()),
        },
    }
}

/// A number of Gaussians, also as 60M or 1.5e6.
fn count(text: &str) -> Result<u64, String> {
    let units = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
    let with_unit = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (digits, factor) = with_unit.unwrap_or((text, 1.0));
    let number = digits.parse().ok().map(|number: f64| (number * factor).round());
    let number = number.filter(|number| (1.0..=1e12).contains(number));
    number
        .map(|number| number as u64)
        .ok_or_else(|| "a number of Gaussians is expected, for example 60000000 or 60M".to_owned())
}

fn margin(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|margin: &f64| (0.0..=1.0).contains(margin));
    number.ok_or_else(|| "a number from 0 to 1 is expected, for example 0.05".to_owned())
}

fn direction(text: &str) -> Result<[f64; 3], String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let direction = numbers.and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
    direction
        .filter(|d| d.iter().all(|x| x.is_finite()) && d.iter().any(|x| *x != 0.0))
        .ok_or_else(|| "three numbers are expected, not all of them 0, for example 0,0,1".to_owned())
}
