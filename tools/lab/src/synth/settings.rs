//! What `kiln-lab synth` makes: the kind of scene, sizes, counts, and what is wrong with its photos.

use clap::{Args, ValueEnum, value_parser};

use super::faults::Faults;

/// Kinds of scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SyntheticKind {
    /// Wavy sheets of points, for speed and memory
    #[default]
    Sheets,
    /// Solid things in photos that agree with each other, for quality
    Solids,
}

/// What to make.
#[derive(Args, Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// What to show: sheets for speed and memory, solids for quality
    #[arg(long, value_enum, default_value_t)]
    pub kind: SyntheticKind,
    /// Points, which become Gaussians
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = value_parser!(u32).range(1..))]
    pub gaussians: u32,
    /// Points of sheets that every view sees; the others lie behind the cameras [default: all]
    #[arg(long, value_name = "N")]
    pub visible: Option<u32>,
    /// Width and height of the photos, px
    #[arg(long = "size", value_name = "WxH", default_value = "1297x840", value_parser = size)]
    pub size_px: [u32; 2],
    /// Take the photos of solids to train on with a fisheye of so many degrees, from nearby, and those that are held out with a
    /// pinhole of its focal length; without depth maps, normal maps and truth.ply
    #[arg(long, value_name = "DEGREES", value_parser = value_parser!(u32).range(40..=170))]
    pub fisheye: Option<u32>,
    /// Take them with the pinhole that sees the largest rectangle of what the fisheye would
    #[arg(long, requires = "fisheye")]
    pub flattened: bool,
    /// Photos
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = value_parser!(u32).range(1..=10_000))]
    pub views: u32,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u32,
    /// Points on all things of solids; those that two photos see become truth.ply
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    pub truth: u32,
    /// Rays along each side of a pixel of solids
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..=64))]
    pub samples: u32,
    /// What is wrong with photos of solids.
    #[command(flatten)]
    pub faults: Faults,
}

impl Default for Synthetic {
    /// What the program makes where nothing else is asked for.
    fn default() -> Self {
        Self {
            kind: SyntheticKind::Sheets,
            gaussians: 100_000,
            visible: None,
            size_px: [1297, 840],
            fisheye: None,
            flattened: false,
            views: 24,
            seed: 0,
            truth: 300_000,
            samples: 8,
            faults: Faults::default(),
        }
    }
}

/// Width and height, `1297x840`.
fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text
        .split_once('x')
        .and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    let fits = |sides: &[u32; 2]| sides.iter().all(|side| (16..=16_384).contains(side));
    sides
        .filter(fits)
        .ok_or_else(|| "width and height from 16 to 16384 are expected, for example 1297x840".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!(size("64x48"), Ok([64, 48]));
        for wrong in ["64", "64x", "8x48", "64x20000", "-64x48", "axb"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
