//! Values beyond what a format holds, which are written as the nearest that it does.

use kiln_formats::sog::Splats;

/// What a format holds: the ends of logarithms of scales, and the largest coordinate and coefficients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Coordinates, world units.
    pub(super) position: f64,
    /// Smallest and largest logarithm of a scale.
    pub(super) log_scale: [f32; 2],
    /// Coefficients of degree 0.
    pub(super) color: f32,
    /// Those of higher degrees.
    pub(super) harmonic: f32,
}

/// Gaussians of a file with such values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Of positions.
    pub positions: u64,
    /// Of scales.
    pub scales: u64,
    /// Of colours.
    pub colors: u64,
    /// Of coefficients that colours change with the view by.
    pub harmonics: u64,
}

impl Cut {
    /// Counts them.
    pub(super) fn of(splats: &dyn Splats, ends: Ends) -> Self {
        let mut cut = Self::default();
        let [low, high] = ends.log_scale;
        for index in 0..splats.len() {
            let any = |is_beyond: bool| u64::from(is_beyond);
            let beyond = |values: &[f32], end: f32| values.iter().any(|value| value.abs() > end);
            cut.positions += any(splats
                .mean(index)
                .iter()
                .any(|value| f64::from(value.abs()) > ends.position));
            cut.scales += any(splats.log_scales(index).iter().any(|log| *log < low || *log > high));
            cut.colors += any(beyond(&splats.sh0(index), ends.color));
            cut.harmonics += any(beyond(splats.rest(index), ends.harmonic));
        }
        cut
    }

    /// What of how many Gaussians, for people; `None` where all is within.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        let parts = [
            ("positions", self.positions),
            ("scales", self.scales),
            ("colours", self.colors),
            ("harmonics", self.harmonics),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what} of {count}"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Chosen, Format, SpzVersion, deliver, read_model};
    use crate::export::PlyComments;
    use kiln_config::plugins::Subset;
    use kiln_gaussians::Gaussians;
    use kiln_scratch::Scratch;

    #[test]
    fn values_beyond_a_format_become_its_ends_and_are_counted() {
        let mut model = Gaussians {
            sh_degree: 1,
            means: (0..6).map(|i| [i as f32, 0.0, 0.0]).collect(),
            quats: vec![[1.0, 0.0, 0.0, 0.0]; 6],
            log_scales: vec![[-2.0; 3]; 6],
            logit_opacities: vec![0.0; 6],
            sh0: vec![[0.5; 3]; 6],
            sh_rest: vec![0.25; 54],
            filter_3d: vec![0.0; 6],
        };
        model.means[0] = [-3e7, 0.0, 0.0];
        model.log_scales[1] = [-12.0, -2.0, 6.5];
        model.log_scales[2][0] = 30.0;
        model.sh0[3] = [4.0, -5.0, 0.0];
        model.sh_rest[9 * 4] = -7.0;
        model.sh_rest[9 * 5 + 8] = 2.0;
        let scratch = Scratch::new();
        for (format, expected) in [
            (
                Format::Spz(SpzVersion::V3),
                Some("positions of 1, scales of 2, colours of 1, harmonics of 2"),
            ),
            (Format::CompressedPly, Some("scales of 1, harmonics of 1")),
            (Format::Glb, None),
            (Format::Ply, None),
        ] {
            let path = scratch.path().join(format!("a.{}", format.ending()));
            let chosen = Chosen::new(&model, &Subset::default()).unwrap();
            let delivered = deliver(&path, chosen, format, PlyComments::default()).unwrap();
            assert_eq!(delivered.cut.describe().as_deref(), expected, "{format:?}");
            let (back, _) = read_model(&path).unwrap();
            assert_eq!(back.len(), 6);
            let farthest = back.means.iter().map(|mean| mean[0]).fold(0.0, f32::min);
            // An end, and not what is left of the number in 24 bits.
            assert!(farthest < -8e6, "{format:?}: {farthest}");
        }
    }
}
