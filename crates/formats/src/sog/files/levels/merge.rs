//! One Gaussian for two: moments, and how much pictures change.
//!
//! Pictures are thought of as orthographic views along the three axes of the world, in which a Gaussian is one of two dimensions and
//! the product of two has an integral in closed form. What lies behind is not known: a change of opacity counts as one of
//! colour, with a fixed weight.

use super::cloud::Cloud;
use super::shape::{Covariance, Flat, deviation, shadow};

/// Highest opacity of a merged Gaussian.
const MOST_OPACITY: f64 = 0.99;
/// What a squared change of opacity costs against one of colour.
const OPACITY_COST: f64 = 0.05;
/// Colour for a coefficient of degree 0.
const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Integral of the product of two equal Gaussians against that of one of them, in two dimensions.
const OF_TWINS: f64 = 0.5;

/// What pairs are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    mean: [f64; 3],
    covariance: Covariance,
    views: [Flat; 3],
    /// Integral of its square in all views, for an opacity of one.
    square: f64,
    opacity: f64,
    /// Area of the mean shadow, and that times opacity: the light it takes.
    pub(super) area: f64,
    weight: f64,
    colour: [f64; 3],
}

/// The Gaussian for two, and the shares of both in its colour.
struct Union {
    mean: [f64; 3],
    covariance: Covariance,
    opacity: f64,
    shares: [f64; 2],
    /// Share of their light that both take together.
    taken: f64,
}

impl Body {
    /// Of a Gaussian of a cloud.
    pub(super) fn new(cloud: &Cloud, index: usize) -> Self {
        let scales = cloud.log_scales[index].map(deviation);
        let covariance = Covariance::new(cloud.quats[index], cloud.log_scales[index]);
        let views = covariance.views();
        let (opacity, area) = (f64::from(cloud.opacities[index]), shadow(scales));
        Self {
            mean: cloud.means[index].map(f64::from),
            covariance,
            views,
            square: shared(&views, &views, [0.0; 3]),
            opacity,
            area,
            weight: opacity * area,
            colour: cloud.sh0[index].map(|value| SH_C0 * f64::from(value)),
        }
    }

    fn offset(&self, from: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| self.mean[k] - from[k])
    }

    /// Mean and covariance of both by weights, spread of the centres included, and the opacity that takes the light of both;
    /// `product` is the integral of the product of their shapes.
    fn united(&self, other: &Self, product: f64) -> Union {
        let total = self.weight + other.weight;
        let share = if total > 0.0 { self.weight / total } else { 0.5 };
        let rest = 1.0 - share;
        let mean = std::array::from_fn(|k| share * self.mean[k] + rest * other.mean[k]);
        let within = self.covariance.mixed(share, other.covariance, rest);
        let spread = Covariance::of_offset(self.offset(other.mean));
        let covariance = within.mixed(1.0, spread, share * rest);
        // where both lie, a + b - ab of the light is taken
        let alike = product / (self.square * other.square).sqrt().max(f64::MIN_POSITIVE);
        let twice = OF_TWINS * alike * self.opacity * other.opacity * (self.area * other.area).sqrt();
        let opacity = (total - twice) / shadow(covariance.deviations()).max(f64::MIN_POSITIVE);
        Union {
            mean,
            covariance,
            opacity: opacity.clamp(0.0, MOST_OPACITY),
            shares: [share, rest],
            taken: 1.0 - twice / total.max(f64::MIN_POSITIVE),
        }
    }

    /// How much pictures change when one Gaussian stands for two: squared differences of colour and opacity, integrated.
    pub(super) fn cost(&self, other: &Self) -> f64 {
        let product = shared(&self.views, &other.views, self.offset(other.mean));
        let union = self.united(other, product);
        let views = union.covariance.views();
        let [with_a, with_b] = [self, other].map(|body| shared(&body.views, &views, body.offset(union.mean)));
        let [a, b] = [self, other].map(|body| union.taken * body.opacity);
        let c = union.opacity;
        let opacities = a * a * self.square
            + b * b * other.square
            + c * c * shared(&views, &views, [0.0; 3])
            + 2.0 * (a * b * product - a * c * with_a - b * c * with_b);
        let colours: f64 = (0..3)
            .map(|k| {
                let both = union.shares[0] * self.colour[k] + union.shares[1] * other.colour[k];
                let (a, b) = (a * (self.colour[k] - both), b * (other.colour[k] - both));
                a * a * self.square + b * b * other.square + 2.0 * a * b * product
            })
            .sum();
        let cost = OPACITY_COST * opacities.max(0.0) + colours.max(0.0);
        if cost.is_finite() { cost } else { f64::MAX }
    }
}

/// Integral of the product of two shapes, in all views.
fn shared(a: &[Flat; 3], b: &[Flat; 3], [x, y, z]: [f64; 3]) -> f64 {
    let offsets = [[x, y], [x, z], [y, z]];
    (0..3).map(|view| a[view].shared(&b[view], offsets[view])).sum()
}

/// Puts the Gaussian for two of a cloud in the place of the first.
pub(super) fn merge(cloud: &mut Cloud, [i, j]: [usize; 2], [a, b]: [&Body; 2]) {
    let union = a.united(b, shared(&a.views, &b.views, a.offset(b.mean)));
    let (quat, scales) = union.covariance.principal();
    cloud.means[i] = union.mean.map(|v| v as f32);
    cloud.quats[i] = quat;
    cloud.log_scales[i] = scales.map(|scale| scale.max(1e-30).ln() as f32);
    cloud.opacities[i] = union.opacity as f32;
    let [share, rest] = union.shares;
    let mixed = |a: f32, b: f32| (share * f64::from(a) + rest * f64::from(b)) as f32;
    cloud.sh0[i] = std::array::from_fn(|k| mixed(cloud.sh0[i][k], cloud.sh0[j][k]));
    let values = cloud.sh_rest.len() / cloud.means.len();
    for k in 0..values {
        cloud.sh_rest[i * values + k] = mixed(cloud.sh_rest[i * values + k], cloud.sh_rest[j * values + k]);
    }
}
