//! One Gaussian for two: moments, and how much the picture changes.

use super::cloud::Cloud;
use super::shape::{Covariance, shadow};

/// Highest opacity of a merged Gaussian; one that would need more grows instead.
const MOST_OPACITY: f64 = 0.99;
/// Share of a Gaussian's mean variance that is added in all directions where shapes are compared: how thin a disc is, is
/// not seen.
const BLUR: f64 = 0.02;
/// What a difference of colours of one costs against shapes that do not meet at all.
const COLOUR_COST: f64 = 1.0;

/// What pairs are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    mean: [f64; 3],
    covariance: Covariance,
    /// Covariance and its determinant as they are compared.
    blurred: (Covariance, f64),
    opacity: f64,
    /// Area of the mean shadow, and that times opacity: the light it takes.
    area: f64,
    pub(super) weight: f64,
    colour: [f64; 3],
}

impl Body {
    /// Of a Gaussian of a cloud.
    pub(super) fn new(cloud: &Cloud, index: usize) -> Self {
        let scales = cloud.log_scales[index].map(|log| f64::from(log).exp());
        let covariance = Covariance::new(cloud.quats[index], cloud.log_scales[index]);
        let (opacity, area) = (f64::from(cloud.opacities[index]), shadow(scales));
        Self {
            mean: cloud.means[index].map(f64::from),
            covariance,
            blurred: blurred(covariance),
            opacity,
            area,
            weight: opacity * area,
            colour: cloud.sh0[index].map(f64::from),
        }
    }

    /// The Gaussian for two: their mean and covariance by weights, spread of the centres included.
    fn merged(&self, other: &Self) -> ([f64; 3], Covariance, [f64; 2]) {
        let total = self.weight + other.weight;
        let share = if total > 0.0 { self.weight / total } else { 0.5 };
        let rest = 1.0 - share;
        let mean = std::array::from_fn(|k| share * self.mean[k] + rest * other.mean[k]);
        let offset = std::array::from_fn(|k| self.mean[k] - other.mean[k]);
        let within = self.covariance.mixed(share, other.covariance, rest);
        let covariance = within.mixed(1.0, Covariance::of_offset(offset), share * rest);
        (mean, covariance, [share, rest])
    }

    /// How much light goes elsewhere or changes its colour when one Gaussian stands for two.
    pub(super) fn cost(&self, other: &Self) -> f64 {
        let (mean, covariance, _) = self.merged(other);
        let merged = blurred(covariance);
        let moved = |body: &Self| {
            let offset = std::array::from_fn(|k| body.mean[k] - mean[k]);
            body.weight * (1.0 - overlap(body.blurred, merged, offset))
        };
        let both = self.weight * other.weight / (self.weight + other.weight).max(f64::MIN_POSITIVE);
        let colours = self
            .colour
            .iter()
            .zip(other.colour)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>();
        moved(self) + moved(other) + COLOUR_COST * both * colours.sqrt()
    }
}

fn blurred(covariance: Covariance) -> (Covariance, f64) {
    let wide = covariance.widened(BLUR * covariance.trace() / 3.0 + f64::MIN_POSITIVE);
    (wide, wide.determinant())
}

/// Bhattacharyya's coefficient: 1 for equal Gaussians, 0 for those that do not meet.
fn overlap((a, det_a): (Covariance, f64), (b, det_b): (Covariance, f64), offset: [f64; 3]) -> f64 {
    let between = a.mixed(0.5, b, 0.5);
    let determinant = between.determinant();
    let apart = between.distance(offset, determinant);
    let shapes = (det_a.sqrt() * det_b.sqrt() / determinant).sqrt();
    let found = (-apart / 8.0).exp() * shapes;
    // of shapes too small for 64 bits nothing is left
    if found.is_finite() { found.min(1.0) } else { 0.0 }
}

/// Adds the Gaussian for two of a cloud to another.
pub(super) fn push_merged(to: &mut Cloud, cloud: &Cloud, bodies: &[Body], [i, j]: [usize; 2]) {
    let (a, b) = (&bodies[i], &bodies[j]);
    let (mean, covariance, [share, rest]) = a.merged(b);
    let (quat, mut scales) = covariance.principal();
    // what both hide, of two that lie on each other only once
    let offset = std::array::from_fn(|k| a.mean[k] - b.mean[k]);
    let shared = a.opacity * b.opacity * (a.area * b.area).sqrt() * overlap(a.blurred, b.blurred, offset);
    let hidden = a.weight + b.weight - shared;
    let opacity = hidden / shadow(scales).max(f64::MIN_POSITIVE);
    if opacity > MOST_OPACITY {
        let grown = (opacity / MOST_OPACITY).sqrt();
        scales = scales.map(|scale| scale * grown);
    }
    to.means.push(mean.map(|v| v as f32));
    to.quats.push(quat);
    to.log_scales.push(scales.map(|scale| scale.max(1e-30).ln() as f32));
    to.opacities.push(opacity.clamp(0.0, MOST_OPACITY) as f32);
    let mixed = |a: f32, b: f32| (share * f64::from(a) + rest * f64::from(b)) as f32;
    to.sh0
        .push(std::array::from_fn(|k| mixed(cloud.sh0[i][k], cloud.sh0[j][k])));
    let values = cloud.sh_rest.len() / cloud.means.len();
    let rests = [i, j].map(|at| &cloud.sh_rest[at * values..][..values]);
    to.sh_rest
        .extend(rests[0].iter().zip(rests[1]).map(|(&a, &b)| mixed(a, b)));
}
