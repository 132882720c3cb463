//! What made a run: its command and the names of its settings.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kiln_config::{ConfigError, Inputs, LayerNames, Profile, layer_names};

/// What made a run; one that is resumed keeps its first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeBy {
    /// Arguments behind the program's name, as given; absent where no command line made the run, and in copies for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// The recipe, of a file its name without folders; null where none decides anything.
    pub recipe: Option<String>,
    /// The memory profile, of a file its name without folders; null where there is none.
    pub profile: Option<String>,
    /// `train.seed`
    pub seed: u64,
    /// `dataset.resolution`: a divisor of the photos' size, or a width in pixels.
    pub size: String,
    /// Iterations of the recipe where its schedule is scaled to fewer, as `--iterations` does; such a run goes on with its own schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_from: Option<u32>,
}

impl MadeBy {
    /// A run by this command with settings of these layers.
    ///
    /// # Errors
    /// When a layer cannot be read.
    pub fn new(command: Vec<String>, inputs: &Inputs) -> Result<Self, ConfigError> {
        let LayerNames { recipe, profile } = layer_names(inputs)?;
        Ok(Self {
            command,
            recipe: recipe.as_deref().map(without_folders),
            profile: profile.as_deref().map(without_folders),
            ..Self::default()
        })
    }

    /// The same with this program's version, and the seed and size of `profile`.
    #[must_use]
    pub fn with(self, profile: &Profile) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: profile.train.seed,
            size: profile.dataset.resolution.to_string(),
            ..self
        }
    }
}

fn without_folders(name: &str) -> String {
    let last = Path::new(name).file_name();
    last.map_or_else(|| name.to_owned(), |last| last.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{resolve, to_yaml};
    use kiln_scratch::Scratch;

    fn names(inputs: &Inputs) -> [Option<String>; 2] {
        let made = MadeBy::new(Vec::new(), inputs).unwrap();
        [made.recipe, made.profile]
    }

    #[test]
    fn names_are_those_of_the_layers() {
        let some = |name: &str| Some(name.to_owned());
        let scratch = Scratch::new();
        let draft = Inputs {
            recipe: some("draft"),
            profile: some("cpu"),
            ..Inputs::default()
        };
        assert_eq!(names(&Inputs::default()), [some("default"), None]);
        assert_eq!(names(&draft), [some("draft"), some("cpu")]);
        let file = |name: &str, text: &str| Inputs {
            file: Some(scratch.write(name, text)),
            ..Inputs::default()
        };
        assert_eq!(names(&file("a.yaml", "extends: recipes/mcmc\n")), [some("mcmc"), None]);
        assert_eq!(
            names(&file("b.yaml", "extends: profiles/8gb\ntrain: {seed: 3}\n")),
            [some("default"), some("8gb")]
        );
        // All settings of a run: no recipe decides anything.
        let whole = to_yaml(&resolve(&draft).unwrap()).unwrap();
        assert_eq!(names(&file("whole.yaml", &whole)), [None, None]);
        let own = scratch.write("own.yaml", "extends: recipes/draft\n");
        let own = Inputs {
            recipe: some(&own.display().to_string()),
            ..Inputs::default()
        };
        assert_eq!(names(&own), [some("own.yaml"), None], "folders stay private");
    }

    #[test]
    fn seed_and_size_are_those_of_the_run() {
        let profile = resolve(&Inputs::default()).unwrap();
        let made = MadeBy::default().with(&profile);
        assert_eq!(made.version, env!("CARGO_PKG_VERSION"));
        assert_eq!((made.seed, made.size.as_str()), (profile.train.seed, "-1"));
    }
}
