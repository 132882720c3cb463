//! The density of a model at places, on the host: for few places, one by one.

use kiln_mesh::nearest::Points;

use super::MeshError;
use kiln_gaussians::Gaussians;
use kiln_twins::gaussian::Gaussian;
use kiln_twins::level::{Row, density};

/// Gaussians whose sum a density is, the nearest ones.
const NEAREST: usize = 16;

/// A model whose density can be evaluated.
pub(super) struct Density<'a> {
    model: &'a Gaussians,
    /// Those with a finite centre.
    ids: Vec<usize>,
    tree: Points,
}

impl<'a> Density<'a> {
    /// A tree of the Gaussians, 25 bytes each.
    ///
    /// # Errors
    /// [`MeshError::Mesh`] from 2^32 Gaussians on.
    pub(super) fn of(model: &'a Gaussians) -> Result<Self, MeshError> {
        let is_finite = |(_, mean): &(usize, &[f32; 3])| mean.iter().all(|x| x.is_finite());
        let ids: Vec<usize> = model
            .means
            .iter()
            .enumerate()
            .filter(is_finite)
            .map(|(id, _)| id)
            .collect();
        let centers: Vec<[f32; 3]> = ids.iter().filter_map(|&id| model.means.get(id).copied()).collect();
        Ok(Self {
            model,
            ids,
            tree: Points::new(&centers)?,
        })
    }

    /// The density at each of some places: the sum of bells as high as the opacities of the nearest Gaussians.
    pub(super) fn at(&self, places: &[[f32; 3]]) -> Vec<f32> {
        let of = |place: &[f32; 3]| {
            let near = self.tree.nearest_of(*place, NEAREST);
            let rows: Vec<Row<f32>> = near.iter().filter_map(|&at| self.row(at)).collect();
            let all: Vec<u32> = (0..).take(rows.len()).collect();
            density(&rows, &all, *place)
        };
        places.iter().map(of).collect()
    }

    fn row(&self, at: u32) -> Option<Row<f32>> {
        let (model, id) = (self.model, *self.ids.get(at as usize)?);
        let gaussian = Gaussian {
            mean: *model.means.get(id)?,
            quat: *model.quats.get(id)?,
            log_scale: *model.log_scales.get(id)?,
            logit_opacity: *model.logit_opacities.get(id)?,
            ..Gaussian::ZERO
        };
        Some(Row::new(
            &gaussian,
            model.filter_3d.get(id).copied().unwrap_or_default(),
        ))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn bells_are_as_high_as_opacities_and_fall_off() {
        let model = Gaussians {
            means: vec![[0.0; 3], [f32::NAN, 0.0, 0.0], [10.0, 0.0, 0.0]],
            quats: vec![[1.0, 0.0, 0.0, 0.0]; 3],
            log_scales: vec![[0.0, 0.0, 0.5_f32.ln()]; 3],
            logit_opacities: vec![0.0, 5.0, 5.0],
            filter_3d: vec![0.0; 3],
            ..Gaussians::default()
        };
        let density = Density::of(&model).unwrap();
        let found = density.at(&[[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [5.0, 100.0, 0.0]]);
        let wanted = [0.5, 0.5 * (-2.0_f32).exp(), 0.5 * (-0.5_f32).exp(), 0.0];
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
        }
        assert!(Density::of(&Gaussians::default()).unwrap().at(&[[0.0; 3]]) == [0.0]);
    }
}
