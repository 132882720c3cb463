//! A coarse stage of SuGaR that left no surface: which keys keep more of it.

use super::{Exit, Failure};
use crate::record::words::count;

/// No mesh can be made of what the coarse stage left.
#[derive(Debug, thiserror::Error)]
#[error("the coarse stage left {}, and no mesh can be made of them: {error}", count(*gaussians, "Gaussian"))]
pub(super) struct NoSurfaceOfCoarse {
    /// Why.
    pub(super) error: Box<dyn Failure>,
    /// Gaussians of its last model.
    pub(super) gaussians: u32,
}

impl Failure for NoSurfaceOfCoarse {
    fn exit(&self) -> Exit {
        self.error.exit()
    }

    fn hint(&self) -> Option<String> {
        let fewer = "a larger `--steps-scaler` gives the coarse stage time between resets and prunings, a lower `prune` of the \
                     regularizer `density` and a lower `strategy.prune.opacity` keep more Gaussians";
        let own = self.error.hint().filter(|_| self.gaussians > 0);
        let level = "`mesh.method: poisson_depths` takes points where pixels have a depth, whatever the density";
        Some(match (self.gaussians, own) {
            (0, _) => fewer.to_owned(),
            (_, None) => format!("{level}; {fewer}"),
            (_, Some(own)) => format!("{level}; {fewer}; {own}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::MeshError;

    fn hint(error: MeshError, gaussians: u32) -> (String, String) {
        let error = NoSurfaceOfCoarse {
            error: Box::new(error),
            gaussians,
        };
        assert_eq!(error.exit(), Exit::Data);
        (error.to_string(), error.hint().unwrap_or_default())
    }

    #[test]
    fn the_keys_that_keep_more_are_named() {
        let (message, said) = hint(MeshError::NoGaussians, 0);
        assert!(
            message.contains("left 0 Gaussians") && message.contains("the model has no Gaussians"),
            "{message}"
        );
        for key in ["--steps-scaler", "`density`", "`strategy.prune.opacity`"] {
            assert!(said.contains(key), "{key}: {said}");
        }
        assert!(!said.contains("poisson_depths"), "{said}");
        let space = "bounded".to_owned();
        let (message, said) = hint(MeshError::NoSurface { space }, 619);
        assert!(
            message.contains("left 619 Gaussians") && message.contains("no view shows"),
            "{message}"
        );
        for key in [
            "`mesh.method: poisson_depths`",
            "--steps-scaler",
            "mesh.space=contracted",
        ] {
            assert!(said.contains(key), "{key}: {said}");
        }
    }
}
