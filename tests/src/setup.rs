//! What a test sets: a profile, and the faults that are injected beside it.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use kiln::plan::Faults;
use kiln_config::{Inputs, Override, Profile, resolve};

/// Pairs of keys and values: a key of the configuration, or `fault.NAME` for what `--fault` takes.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// The name of the fault that a key sets, if it sets one.
#[must_use]
pub fn fault(key: &str) -> Option<&str> {
    key.strip_prefix("fault.")
}

/// A profile with the faults that go with it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The profile.
    pub profile: Profile,
    /// What is made to go wrong.
    pub faults: Faults,
}

impl Setup {
    /// Profile `cpu` with `recipe` and `settings`, later ones winning.
    ///
    /// # Panics
    /// When a setting is wrong.
    #[must_use]
    pub fn new<'a>(recipe: &str, settings: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Self {
        let (mut overrides, mut faults) = (Vec::new(), Vec::new());
        for (key, value) in settings {
            match fault(key) {
                Some(name) => faults.push(format!("{name}={value}")),
                None => overrides.push(Override {
                    key: (*key).to_owned(),
                    value: (*value).to_owned(),
                    flag: "--set".to_owned(),
                }),
            }
        }
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            recipe: Some(recipe.to_owned()),
            overrides,
            ..Inputs::default()
        };
        Self {
            profile: resolve(&inputs).expect("settings of a test"),
            faults: Faults::read(faults).expect("faults of a test"),
        }
    }

    /// The same with the run in `output`.
    #[must_use]
    pub fn into_folder(mut self, output: &Path) -> Self {
        self.profile.run.output = Some(output.display().to_string());
        self
    }
}

impl Deref for Setup {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.profile
    }
}

impl DerefMut for Setup {
    fn deref_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }
}
