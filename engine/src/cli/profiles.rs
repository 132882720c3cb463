//! `kiln profiles`: what is shipped, and what a choice means in full.

use std::io::Write;

use super::Profiles;
use kiln_config::plugins::families;
use kiln_config::{ConfigError, Inputs, PROFILES, RECIPES, Shipped, resolve, rules_of, schema_json, to_yaml};

/// `kiln profiles` failed.
#[derive(Debug, thiserror::Error)]
pub enum ProfilesError {
    /// The configuration is wrong or a name does not exist.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The output cannot be written.
    #[error("cannot write to the standard output: {0}")]
    Write(#[from] std::io::Error),
}

/// Answers a `kiln profiles` request on `out`.
///
/// # Errors
/// [`ProfilesError`] for unknown names, wrong files and an unwritable output.
pub fn run(request: &Profiles, out: &mut dyn Write) -> Result<(), ProfilesError> {
    match request {
        Profiles::List => list(out)?,
        Profiles::Show { name, recipe } => write!(out, "{}", show(name, recipe.as_deref())?)?,
        Profiles::Schema => write!(out, "{}", schema_json())?,
    }
    Ok(())
}

fn list(out: &mut dyn Write) -> std::io::Result<()> {
    let mut rows = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        writeln!(out, "{title}")?;
        for (name, summary) in rows {
            writeln!(out, "  {name:<14} {summary}")?;
        }
        writeln!(out)
    };
    let shipped = |file: &'static Shipped| (file.short_name(), file.summary());
    let auto = (
        "auto",
        "the largest of these that fits the device; what is taken where none is named",
    );
    rows(
        "Profiles (--profile NAME)",
        &mut PROFILES.iter().map(shipped).chain([auto]),
    )?;
    rows("Recipes (--recipe NAME)", &mut RECIPES.iter().map(shipped))?;
    for family in families() {
        if !family.entries.is_empty() {
            let title = format!("Plugins of `{}`", family.key);
            rows(
                &title,
                &mut family.entries.iter().map(|entry| (entry.kind, entry.summary)),
            )?;
        }
    }
    Ok(())
}

/// A profile, a recipe or a file with every layer under it, as YAML.
fn show(name: &str, recipe: Option<&str>) -> Result<String, ConfigError> {
    let recipe = recipe.map(str::to_owned);
    let inputs = if RECIPES.iter().any(|shipped| shipped.short_name() == name) {
        Inputs {
            recipe: Some(name.to_owned()),
            ..Inputs::default()
        }
    } else if name.ends_with(".yaml") || name.ends_with(".yml") {
        Inputs {
            file: Some(name.into()),
            recipe,
            ..Inputs::default()
        }
    } else {
        Inputs {
            profile: Some(name.to_owned()),
            recipe,
            ..Inputs::default()
        }
    };
    let rules = rules_of(&inputs)?;
    let mut text = to_yaml(&resolve(&inputs)?)?;
    for rule in rules {
        // Comments, so that the output stays a configuration file.
        text += &format!("# adapts to scenes with {rule}\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn output(request: &Profiles) -> String {
        let mut out = Vec::new();
        run(request, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn shown(name: &str, recipe: Option<&str>) -> String {
        output(&Profiles::Show {
            name: name.to_owned(),
            recipe: recipe.map(str::to_owned),
        })
    }

    #[test]
    fn list_names_everything_shipped() {
        let text = output(&Profiles::List);
        for expected in [
            "  8gb            8 GB cards: at most 7.0 GiB\n",
            "  auto           the largest of these",
            "  demo           about 1500 steps for a small scene",
            "Plugins of `strategy`\n  adaptive_abs ",
            "  memory_jsonl   memory.jsonl",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn show_resolves_profiles_and_recipes() {
        let text = shown("16gb", Some("mip"));
        assert!(text.starts_with("version: 1\n"), "{text}");
        assert!(
            text.contains("cap_gib: 14.5") && text.contains("kind: adaptive_abs"),
            "{text}"
        );
        assert!(shown("demo", None).contains("iterations: 1500"));
        let unknown = Profiles::Show {
            name: "32gb".to_owned(),
            recipe: None,
        };
        let error = run(&unknown, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "no profile is named `32gb`");
    }

    #[test]
    fn schema_is_json() {
        let schema: serde_json::Value = serde_json::from_str(&output(&Profiles::Schema)).unwrap();
        assert_eq!(schema["properties"]["version"]["const"], 1);
        assert!(schema["required"].is_null());
    }
}
