//! The part of a model that a file gets, and its values as files hold them.

use super::super::{Fused, fuse};
use super::contribution::strongest;
use super::{DeliveryError, Stop, quantize};
use kiln_config::plugins::{Subset, corners};
use kiln_gaussians::Gaussians;
use kiln_gaussians::layout::sh_coefficients;
use kiln_scene::math::sigmoid;

/// Gaussians of a model, by number.
///
/// Values come with the 3D filter folded in, unit rotations and SH cut to the degree that was asked for. Gaussians with a
/// value that is not finite are never among the chosen.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    model: &'a Gaussians,
    numbers: Vec<u32>,
    sh_degree: u32,
    stop: Stop<'a>,
}

impl<'a> Chosen<'a> {
    /// Chooses those inside the crop box, and of them the `max_splats` that contribute most, in the model's order.
    ///
    /// The contribution is opacity times the projected area, see `docs/guide/export.md`; of equals the first ones stay.
    ///
    /// # Errors
    /// [`DeliveryError::NoGaussians`] or [`DeliveryError::OutsideCrop`] when nothing is left.
    pub fn new(model: &'a Gaussians, subset: &Subset) -> Result<Self, DeliveryError> {
        let count = u32::try_from(model.len()).unwrap_or(u32::MAX);
        let mut chosen = Self {
            model,
            numbers: (0..count).filter(|&number| is_finite(model, number as usize)).collect(),
            sh_degree: subset.sh_degree.unwrap_or(3).min(model.sh_degree),
            stop: Stop::default(),
        };
        if chosen.is_empty() {
            return Err(DeliveryError::NoGaussians);
        }
        if let Some(crop) = subset.crop {
            let [low, high] = chosen.bounds();
            let [least, most] = corners(crop, subset.origin);
            let inside = |mean: [f32; 3]| (0..3).all(|axis| (least[axis]..=most[axis]).contains(&mean[axis]));
            chosen.numbers.retain(|&number| inside(model.means[number as usize]));
            if chosen.is_empty() {
                let [low, high] = [low, high].map(|corner| place(corner, subset.origin));
                return Err(DeliveryError::OutsideCrop { low, high });
            }
        }
        if let Some(most) = subset.max_splats {
            strongest(&mut chosen, most as usize);
        }
        Ok(chosen)
    }

    /// The same, wanted until `stop` says otherwise.
    #[must_use]
    pub fn until(self, stop: Stop<'a>) -> Self {
        Self { stop, ..self }
    }

    pub(super) const fn stop(&self) -> Stop<'a> {
        self.stop
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// SH degree of the file.
    #[must_use]
    pub const fn sh_degree(&self) -> u32 {
        self.sh_degree
    }

    /// Their numbers in the model, in the order of the file.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The same Gaussians in another order, or fewer of them.
    pub(super) fn numbers_mut(&mut self) -> &mut Vec<u32> {
        &mut self.numbers
    }

    /// Smallest and largest coordinates of the centres.
    pub(super) fn bounds(&self) -> [[f32; 3]; 2] {
        quantize::bounds(self)
    }

    fn number(&self, index: usize) -> usize {
        self.numbers[index] as usize
    }

    /// Centre of the Gaussian at a place of the order, world units.
    pub(super) fn mean(&self, index: usize) -> [f32; 3] {
        self.model.means[self.number(index)]
    }

    /// Rotation as a unit quaternion (w, x, y, z); none where the model's has no length.
    pub(super) fn quat(&self, index: usize) -> [f32; 4] {
        let quat = self.model.quats[self.number(index)].map(f64::from);
        let length = quat.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            quat.map(|v| (v / length) as f32)
        } else {
            [1.0, 0.0, 0.0, 0.0]
        }
    }

    /// Opacity and scales with the 3D filter folded in.
    pub(super) fn fused(&self, index: usize) -> Fused {
        let number = self.number(index);
        let model = self.model;
        fuse(
            model.log_scales[number],
            model.logit_opacities[number],
            model.filter_3d[number],
        )
    }

    /// Opacity after the sigmoid, filter folded in: 0 to 1.
    pub(super) fn opacity(&self, index: usize) -> f32 {
        let logit = f64::from(self.fused(index).logit_opacity);
        sigmoid(logit) as f32
    }

    /// Degree-0 colour coefficients.
    pub(super) fn sh0(&self, index: usize) -> [f32; 3] {
        self.model.sh0[self.number(index)]
    }

    /// Higher coefficients up to the file's degree, `[coefficient][channel]`.
    pub(super) fn sh_rest(&self, index: usize) -> &'a [f32] {
        let own = 3 * self.model.rest_coefficients();
        let start = self.number(index) * own;
        &self.model.sh_rest[start..start + 3 * self.rest_coefficients()]
    }

    /// Coefficients beyond degree 0 in the file: 0, 3, 8 or 15.
    pub(super) const fn rest_coefficients(&self) -> usize {
        sh_coefficients(self.sh_degree) - 1
    }
}

/// A place of a model in the coordinates of the data set.
fn place(relative: [f32; 3], origin: [f64; 3]) -> [f64; 3] {
    // Of an f32 no more digits than it has: 0.1 stays 0.1.
    let digits = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
    std::array::from_fn(|axis| origin[axis] + digits(relative[axis]))
}

fn is_finite(model: &Gaussians, number: usize) -> bool {
    let rest = 3 * model.rest_coefficients();
    let values = model.means[number]
        .iter()
        .chain(&model.quats[number])
        .chain(&model.log_scales[number])
        .chain(&model.sh0[number])
        .chain(&model.sh_rest[number * rest..(number + 1) * rest])
        .chain([&model.logit_opacities[number], &model.filter_3d[number]]);
    values.into_iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn model(n: usize) -> Gaussians {
        Gaussians {
            sh_degree: 2,
            means: (0..n).map(|i| [i as f32, 0.0, -1.0]).collect(),
            quats: vec![[0.0, 2.0, 0.0, 0.0]; n],
            log_scales: vec![[-3.0; 3]; n],
            logit_opacities: vec![0.0; n],
            sh0: vec![[0.5; 3]; n],
            sh_rest: (0..n * 24).map(|value| value as f32).collect(),
            filter_3d: vec![0.0; n],
        }
    }

    #[test]
    fn boxes_are_closed_and_degrees_are_cut() {
        let model = model(10);
        let subset = Subset {
            crop: Some([3.0, -1.0, -1.0, 5.0, 1.0, -1.0]),
            sh_degree: Some(1),
            ..Subset::default()
        };
        let chosen = Chosen::new(&model, &subset).unwrap();
        assert_eq!((chosen.numbers(), chosen.sh_degree()), (&[3, 4, 5][..], 1));
        assert_eq!(chosen.bounds(), [[3.0, 0.0, -1.0], [5.0, 0.0, -1.0]]);
        assert_eq!(chosen.sh_rest(1), &model.sh_rest[4 * 24..4 * 24 + 9]);
        assert_eq!(chosen.quat(0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(chosen.opacity(0), 0.5);
        let higher = Subset {
            sh_degree: Some(3),
            ..Subset::default()
        };
        assert_eq!(Chosen::new(&model, &higher).unwrap().sh_degree(), 2);
    }

    #[test]
    fn nothing_left_is_an_error_that_says_where_the_model_is() {
        let far = Subset {
            crop: Some([10.0, 0.0, 0.0, 11.0, 1.0, 1.0]),
            ..Subset::default()
        };
        let model = model(3);
        let error = Chosen::new(&model, &far).unwrap_err();
        let DeliveryError::OutsideCrop { low, high } = error else {
            unreachable!("{error}");
        };
        assert_eq!((low, high), ([0.0, 0.0, -1.0], [2.0, 0.0, -1.0]));
        let empty = Gaussians::default();
        assert!(matches!(Chosen::new(&empty, &far), Err(DeliveryError::NoGaussians)));
    }

    #[test]
    fn values_that_no_file_can_hold_are_left_out() {
        let mut model = model(6);
        model.means[0][2] = f32::NAN;
        model.sh_rest[24 * 2 - 1] = f32::INFINITY;
        model.logit_opacities[3] = f32::NEG_INFINITY;
        model.quats[4] = [0.0; 4];
        let chosen = Chosen::new(&model, &Subset::default()).unwrap();
        assert_eq!(chosen.numbers(), [2, 4, 5]);
        assert_eq!(chosen.quat(1), [1.0, 0.0, 0.0, 0.0]);
    }
}
