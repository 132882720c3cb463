//! Exit codes and hints of jobs.

use super::{Exit, Failure};
use crate::jobs::{JobError, RequestError};

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

/// What a job's error stands for.
fn cause(error: &JobError) -> &dyn Failure {
    match error {
        JobError::Request(error) => error,
        JobError::Settings(error) => error,
        JobError::Project(error) => error,
        JobError::Run(error) => error,
    }
}

impl Failure for JobError {
    fn exit(&self) -> Exit {
        cause(self).exit()
    }
    fn hint(&self) -> Option<String> {
        cause(self).hint()
    }
    fn reader_left(&self) -> bool {
        cause(self).reader_left()
    }
}
