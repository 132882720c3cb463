//! Exit codes and hints of jobs.

use super::{Exit, Failure};
use crate::jobs::{JobError, PosesError, RequestError};

impl Failure for RequestError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotAModel { .. }
            | Self::SceneMoved { .. }
            | Self::RunAsScene { .. }
            | Self::ProjectAsScene { .. } => Exit::Data,
            Self::OutputIsScene { .. } => Exit::Output,
            _ => Exit::Usage,
        }
    }
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

impl Failure for PosesError {
    fn exit(&self) -> Exit {
        match self {
            Self::Absent => Exit::Setup,
            Self::Failed { .. } | Self::NoModel { .. } => Exit::Data,
            Self::System { .. } => Exit::Output,
            Self::Interrupted { signal, .. } => (*signal).into(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Absent => {
                let how = match cfg!(windows) {
                    true => "unpack its archive and add the folder to PATH, see https://colmap.github.io/install.html",
                    false => "`apt install colmap`, or see https://colmap.github.io/install.html",
                };
                Some(format!(
                    "{how}; poses may come from another machine too: Kiln needs its `sparse` folder beside the photos"
                ))
            }
            Self::Failed { log, .. } => Some(format!("all that it said is in {}", log.display())),
            Self::NoModel { log, .. } => Some(format!(
                "photos must overlap by two thirds and be sharp; what COLMAP said is in {}",
                log.display()
            )),
            Self::System { .. } | Self::Interrupted { .. } => None,
        }
    }
}

/// What a job's error stands for.
fn cause(error: &JobError) -> &dyn Failure {
    match error {
        JobError::Request(error) => error,
        JobError::Settings(error) => error,
        JobError::Poses(error) => error,
        JobError::Project(error) => error,
        JobError::Run(error) => error,
        JobError::NoSurface { error, .. } => cause(error),
    }
}

impl Failure for JobError {
    fn exit(&self) -> Exit {
        cause(self).exit()
    }
    fn hint(&self) -> Option<String> {
        let own = cause(self).hint();
        match self {
            Self::NoSurface { gaussians, .. } => Some(more_surface(*gaussians, own)),
            _ => own,
        }
    }
    fn reader_left(&self) -> bool {
        cause(self).reader_left()
    }
}

/// Which keys keep more of a coarse stage that left no surface; `own` is the hint of why.
fn more_surface(gaussians: u32, own: Option<String>) -> String {
    let fewer = "a larger `--steps-scaler` gives the coarse stage time between resets and prunings, a lower `prune` of the \
                 regularizer `density` and a lower `strategy.prune.opacity` keep more Gaussians";
    let level = "`mesh.method: poisson_depths` takes points where pixels have a depth, whatever the density";
    match (gaussians, own) {
        (0, _) => fewer.to_owned(),
        (_, None) => format!("{level}; {fewer}"),
        (_, Some(own)) => format!("{level}; {fewer}; {own}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::MeshError;

    fn hint(error: MeshError, gaussians: u32) -> (String, String) {
        let error = JobError::NoSurface {
            error: Box::new(error.into()),
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
