//! The Gaussians of a trained model as the first model of another run.

use std::path::Path;

use crate::export::{Chosen, ModelFile, fuse, model_origin, read_model_file};
use crate::plan::PlanError;
use kiln_config::plugins::Subset;
use kiln_config::{MostGaussians, Profile};
use kiln_gaussians::Gaussians;
use kiln_gaussians::init::InitError;
use kiln_gaussians::layout::sh_coefficients;
use kiln_scene::math::sub;

/// Reads the model in `path` with all its parameters, in the degree of `profile`, how many Gaussians the file has, and what there is
/// to say of it: of more than `memory.max_gaussians` it takes those that contribute most, as `kiln export --max-splats` does. Positions
/// become relative to `origin`.
///
/// Where the run has a 3D filter, that of the file is dropped, because one is computed before the first step; where it has none it
/// is folded into opacities and scales. Coefficients above the file's degree are 0.
///
/// # Errors
/// [`PlanError::Ply`] when the file holds no model, [`PlanError::Init`] when it has no Gaussian.
pub(super) fn read(
    path: &Path,
    profile: &Profile,
    origin: [f64; 3],
) -> Result<(Gaussians, usize, Vec<String>), PlanError> {
    let ModelFile {
        mut model,
        comments,
        notes,
    } = read_model_file(path)?;
    let from = model_origin(path, &comments, origin)?;
    if from != origin {
        model.move_by(sub(from, origin));
    }
    let offered = model.len();
    if offered == 0 {
        return Err(InitError::NoGaussians.into());
    }
    if let MostGaussians::Set(most) = profile.memory.max_gaussians
        && offered > most as usize
    {
        let subset = Subset {
            max_splats: Some(most),
            ..Subset::default()
        };
        let chosen = Chosen::new(&model, &subset).map_err(|_| InitError::NoGaussians)?;
        let places: Vec<usize> = chosen.numbers().iter().map(|&number| number as usize).collect();
        model = model.taken(&places);
    }
    if !profile.has_filter_3d() {
        let shapes = model.log_scales.iter_mut().zip(&mut model.logit_opacities);
        for ((log_scales, logit), filter) in shapes.zip(&model.filter_3d) {
            let fused = fuse(*log_scales, *logit, *filter);
            (*log_scales, *logit) = (fused.log_scales, fused.logit_opacity);
        }
    }
    model.filter_3d.fill(0.0);
    Ok((of_degree(model, profile.model.sh_degree), offered, notes.lines()))
}

/// The same model with room for coefficients up to `degree`.
fn of_degree(mut model: Gaussians, degree: u32) -> Gaussians {
    let (before, after) = (3 * model.rest_coefficients(), 3 * (sh_coefficients(degree) - 1));
    if before != after {
        let mut rest = vec![0.0; after * model.len()];
        let kept = before.min(after);
        if kept > 0 {
            for (to, from) in rest.chunks_exact_mut(after).zip(model.sh_rest.chunks_exact(before)) {
                to[..kept].copy_from_slice(&from[..kept]);
            }
        }
        (model.sh_rest, model.sh_degree) = (rest, degree);
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_cut_and_filled() {
        let model = Gaussians {
            sh_degree: 1,
            means: vec![[0.0; 3]; 2],
            sh_rest: (0..18).map(|n| n as f32).collect(),
            ..Gaussians::default()
        };
        assert_eq!(of_degree(model.clone(), 1), model);
        let none = of_degree(model.clone(), 0);
        assert_eq!((none.sh_degree, none.sh_rest.len()), (0, 0));
        let more = of_degree(model.clone(), 2);
        assert_eq!(more.sh_rest[..9], model.sh_rest[..9]);
        assert_eq!(more.sh_rest[9..24], [0.0; 15]);
        assert_eq!(more.sh_rest[24..33], model.sh_rest[9..]);
        assert_eq!(of_degree(none, 1).sh_rest, [0.0; 18]);
    }
}
