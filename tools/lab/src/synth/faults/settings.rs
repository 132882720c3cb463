//! Which faults photos have.

use clap::{Args, ValueEnum};

/// What EXIF says of a photo's exposure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExifKind {
    /// Nothing
    None,
    /// The exposure that the photo has
    #[default]
    True,
    /// Another exposure, of the same spread
    Lies,
}

/// Faults of photos of solids; none of them by default.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Let figures stand in the photos to train on, elsewhere in each, and show in this share of their pixels; writes movers/NAME.png,
    /// white where nothing of them shows
    #[arg(long, value_name = "SHARE", value_parser = up_to_half)]
    pub movers: Option<f64>,
    /// Give every photo an exposure of its own with this standard deviation in stops, and a third of it for red and for blue
    #[arg(long, value_name = "STOPS", value_parser = stops)]
    pub drift: Option<f64>,
    /// What EXIF says of exposures that drift
    #[arg(long, value_enum, default_value_t, requires = "drift")]
    pub exif: ExifKind,
    /// Darken photos by 1 - K r^2, where r is 1 in the corners
    #[arg(long, value_name = "K", value_parser = below_one)]
    pub vignetting: Option<f64>,
    /// Raise what the camera writes, 0 to 1 after sRGB's curve, to this power
    #[arg(long, value_name = "GAMMA", value_parser = gamma)]
    pub response: Option<f64>,
    /// Blur this share of the photos to train on by a turn of the camera
    #[arg(long, value_name = "SHARE", value_parser = up_to_one)]
    pub blur: Option<f64>,
}

impl Faults {
    /// True where photos are what they are without faults.
    pub(in crate::synth) const fn is_none(&self) -> bool {
        self.movers.is_none()
            && self.drift.is_none()
            && self.vignetting.is_none()
            && self.response.is_none()
            && self.blur.is_none()
    }
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("a number from {least} to {most} is expected"))
}

fn up_to_half(text: &str) -> Result<f64, String> {
    within(text, 0.0, 0.5)
}

fn up_to_one(text: &str) -> Result<f64, String> {
    within(text, 0.0, 1.0)
}

fn below_one(text: &str) -> Result<f64, String> {
    within(text, 0.0, 0.95)
}

fn stops(text: &str) -> Result<f64, String> {
    within(text, 0.0, 3.0)
}

fn gamma(text: &str) -> Result<f64, String> {
    within(text, 0.2, 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_powers_are_checked() {
        assert_eq!(up_to_half("0.1"), Ok(0.1));
        for (parse, wrong) in [
            (up_to_half as fn(&str) -> Result<f64, String>, "0.6"),
            (up_to_one, "-0.1"),
            (below_one, "1"),
            (stops, "nan"),
            (gamma, "0"),
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
