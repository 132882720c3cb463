//! Gaussians in memory, one array for each attribute.

use super::super::Splats;
use super::super::splats::rest_values;
use super::shape::{Covariance, deviation, shadow};

/// Gaussians, with all filters folded in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cloud {
    /// SH degree, 0 to 3.
    pub sh_degree: u32,
    /// Centres, world units.
    pub means: Vec<[f32; 3]>,
    /// Unit quaternions (w, x, y, z).
    pub quats: Vec<[f32; 4]>,
    /// Natural logarithms of the standard deviations.
    pub log_scales: Vec<[f32; 3]>,
    /// Opacities, 0 to 1.
    pub opacities: Vec<f32>,
    /// Colour coefficients of degree 0.
    pub sh0: Vec<[f32; 3]>,
    /// Coefficients of higher degrees, `[Gaussian][coefficient][channel]`.
    pub sh_rest: Vec<f32>,
}

impl Cloud {
    /// No Gaussians of a degree.
    #[must_use]
    pub fn new(sh_degree: u32) -> Self {
        Self {
            sh_degree,
            ..Self::default()
        }
    }

    /// Adds a Gaussian of other ones.
    pub fn push(&mut self, splats: &dyn Splats, index: usize) {
        self.means.push(splats.mean(index));
        self.quats.push(splats.quat(index));
        self.log_scales.push(splats.log_scales(index));
        self.opacities.push(splats.opacity(index));
        self.sh0.push(splats.sh0(index));
        self.sh_rest.extend_from_slice(splats.rest(index));
    }

    /// The same Gaussians in Morton order of their centres: neighbours in space become neighbours in images.
    #[must_use]
    pub fn in_morton_order(&self) -> Self {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for mean in &self.means {
            for axis in 0..3 {
                low[axis] = low[axis].min(mean[axis]);
                high[axis] = high[axis].max(mean[axis]);
            }
        }
        let key = |mean: &[f32; 3]| {
            let cell = |axis: usize| {
                let share =
                    (f64::from(mean[axis]) - f64::from(low[axis])) / (f64::from(high[axis]) - f64::from(low[axis]));
                // an axis without extent gives 0 / 0, which becomes 0
                (share * f64::from(CELLS)) as u64
            };
            (0..3).map(|axis| spread(cell(axis)) << axis).sum::<u64>()
        };
        let mut keyed: Vec<(u64, usize)> = self.means.iter().map(key).zip(0..).collect();
        keyed.sort_unstable();
        let mut ordered = Self::new(self.sh_degree);
        for (_, index) in keyed {
            ordered.push(self, index);
        }
        ordered
    }

    /// Standard deviation of the ball that has the mean shadow of a Gaussian.
    #[must_use]
    pub fn size(&self, index: usize) -> f64 {
        let area = shadow(self.log_scales[index].map(deviation));
        (area / std::f64::consts::PI).sqrt()
    }

    /// Smallest and largest coordinates within so many standard deviations of all centres.
    #[must_use]
    pub fn bounds(&self, deviations: f64) -> [[f32; 3]; 2] {
        let mut bounds = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];
        for (index, mean) in self.means.iter().enumerate() {
            let reach = self.reach(index).map(|deviation| (deviations * deviation) as f32);
            for axis in 0..3 {
                // Numbers in files must be finite.
                bounds[0][axis] = bounds[0][axis].min((mean[axis] - reach[axis]).max(f32::MIN));
                bounds[1][axis] = bounds[1][axis].max((mean[axis] + reach[axis]).min(f32::MAX));
            }
        }
        bounds
    }

    /// Standard deviations of a Gaussian along the world's axes.
    fn reach(&self, index: usize) -> [f64; 3] {
        let Covariance([xx, _, _, yy, _, zz]) = Covariance::new(self.quats[index], self.log_scales[index]);
        [xx, yy, zz].map(|variance| variance.max(0.0).sqrt())
    }

    /// Adds all Gaussians of another one of the same degree.
    pub fn append(&mut self, other: &Self) {
        self.means.extend_from_slice(&other.means);
        self.quats.extend_from_slice(&other.quats);
        self.log_scales.extend_from_slice(&other.log_scales);
        self.opacities.extend_from_slice(&other.opacities);
        self.sh0.extend_from_slice(&other.sh0);
        self.sh_rest.extend_from_slice(&other.sh_rest);
    }
}

/// Cells of an axis, one less.
const CELLS: u32 = (1 << 16) - 1;

/// Two zero bits after each of the lowest 16.
fn spread(value: u64) -> u64 {
    (0..16).map(|bit| (value >> bit & 1) << (3 * bit)).sum()
}

impl Splats for Cloud {
    fn len(&self) -> usize {
        self.means.len()
    }
    fn sh_degree(&self) -> u32 {
        self.sh_degree
    }
    fn mean(&self, index: usize) -> [f32; 3] {
        self.means[index]
    }
    fn quat(&self, index: usize) -> [f32; 4] {
        self.quats[index]
    }
    fn log_scales(&self, index: usize) -> [f32; 3] {
        self.log_scales[index]
    }
    fn opacity(&self, index: usize) -> f32 {
        self.opacities[index]
    }
    fn sh0(&self, index: usize) -> [f32; 3] {
        self.sh0[index]
    }
    fn rest(&self, index: usize) -> &[f32] {
        let values = rest_values(self.sh_degree);
        &self.sh_rest[index * values..][..values]
    }
}
