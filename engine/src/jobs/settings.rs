//! Settings of a request, before scene and device are known.

use std::path::PathBuf;

use super::RequestError;
use kiln_config::{AutoError, Budget, ConfigError, Inputs, Profile, choose, extended_profile, resolve};

/// The inputs of a profile. With `--profile auto` the device's budget is one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Layers; `profile` is none for `auto`.
    pub inputs: Inputs,
    /// `--profile auto` was typed. Without `--profile`, a file's `extends` decides, else it is `auto` too.
    pub auto: bool,
}

impl Settings {
    /// The profile as far as it is known without a device: everything but what an automatic memory profile sets. Use
    /// its `device` section to choose the device whose budget [`Settings::resolve`] asks for.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong.
    pub fn preliminary(&self) -> Result<Profile, ConfigError> {
        resolve(&self.inputs)
    }

    /// True when the memory profile depends on the device.
    ///
    /// # Errors
    /// When the configuration file cannot be read or is not YAML.
    pub fn needs_device(&self) -> Result<bool, ConfigError> {
        if self.auto || self.inputs.profile.is_some() {
            return Ok(self.auto);
        }
        Ok(self
            .inputs
            .file
            .as_deref()
            .map(extended_profile)
            .transpose()?
            .flatten()
            .is_none())
    }

    /// The final profile on a device with this budget.
    ///
    /// # Errors
    /// [`AutoError`] when no shipped profile fits, a CPU driver is not allowed, or the configuration is wrong.
    pub fn resolve(&self, budget: Budget) -> Result<Profile, AutoError> {
        Ok(resolve(&self.inputs_on(budget)?)?)
    }

    /// The inputs of the final profile on a device with this budget.
    ///
    /// # Errors
    /// See [`Settings::resolve`].
    pub fn inputs_on(&self, budget: Budget) -> Result<Inputs, AutoError> {
        let preliminary = self.preliminary()?;
        if !self.needs_device()? {
            return match budget.is_cpu && !preliminary.device.allow_cpu {
                true => Err(AutoError::CpuNotAllowed),
                false => Ok(self.inputs.clone()),
            };
        }
        let name = choose(budget, preliminary.device.allow_cpu)?;
        Ok(Inputs {
            profile: Some(name.to_owned()),
            ..self.inputs.clone()
        })
    }

    /// The scene folder of a resolved profile.
    ///
    /// # Errors
    /// [`RequestError::NoScene`] when neither the command line nor a file names one.
    pub fn scene(profile: &Profile) -> Result<PathBuf, RequestError> {
        profile
            .dataset
            .path
            .as_deref()
            .map(PathBuf::from)
            .ok_or(RequestError::NoScene)
    }
}

/// Where a run resumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The latest checkpoint of the run folder.
    Latest,
    /// A checkpoint file.
    From(PathBuf),
}
