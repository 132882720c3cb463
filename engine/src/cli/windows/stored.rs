//! Paths that files of settings name: a file stays as it is, and the command sets those keys by their Windows names.

use kiln_config::resolve;
use serde_json::Value;

use super::paths::{Argument, Translated};
use crate::cli::parse::request_of;

/// The flag that sets a key.
const SET: &str = "--set";

/// Adds a setting for each key that a file of settings gives a path of Linux, and that the command does not set. What cannot be resolved
/// is for the Windows program to refuse.
///
/// # Errors
/// What `translate` says.
pub(super) fn add<E>(
    arguments: &mut Vec<Argument>,
    typed: &[String],
    translate: &dyn Fn(&str) -> Result<String, E>,
) -> Result<(), E> {
    let mut more = Vec::new();
    for (key, path) in paths(typed) {
        let windows = translate(&path)?;
        more.push(Argument {
            before: SET.to_owned(),
            path: None,
        });
        more.push(Argument {
            before: format!("{key}="),
            path: Some(Translated {
                typed: path,
                // As in settings that are typed.
                windows: windows.replace('\\', "/"),
                is_stored: true,
            }),
        });
    }
    let is_end = |argument: &Argument| argument.path.is_none() && argument.before == "--";
    let end = arguments.iter().position(is_end).unwrap_or(arguments.len());
    arguments.splice(end..end, more);
    Ok(())
}

/// What there is to say of such a setting.
pub(super) fn note(argument: &Argument) -> Option<String> {
    let path = argument.path.as_ref().filter(|path| path.is_stored)?;
    let key = argument.before.trim_end_matches('=');
    Some(format!(
        "the settings name {} as `{key}`, which is {} on Windows: `{SET}` says so there",
        path.typed, path.windows
    ))
}

/// Keys that are paths from the root in files of settings, in the order of their sections.
fn paths(typed: &[String]) -> Vec<(String, String)> {
    let request = request_of(typed);
    let Some(inputs) = request.as_ref().and_then(|request| request.inputs()) else {
        return Vec::new();
    };
    let resolved = resolve(inputs)
        .ok()
        .and_then(|profile| serde_json::to_value(profile).ok());
    let mut found = Vec::new();
    walk(String::new(), &resolved.unwrap_or_default(), &mut found);
    // Those of the command have their Windows names already.
    found.retain(|(key, _)| inputs.overrides.iter().all(|set| set.key != *key));
    found
}

fn walk(key: String, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if text.starts_with('/') => found.push((key, text.clone())),
        Value::Object(members) => {
            for (name, member) in members {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                walk(key, member, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::arguments;
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn keys_with_paths_of_files_are_set_by_their_windows_names() {
        let scratch = Scratch::new();
        let text = "dataset: { path: /mnt/d/garden, images: images_4 }\nrun: { output: /mnt/d/runs/a }\n\
                    init: { kind: ply, path: /mnt/e/points.ply }\n";
        let file = scratch.write("c.yaml", text).display().to_string();
        let translate = |path: &str| {
            Ok::<_, std::convert::Infallible>(match path.strip_prefix("/mnt/") {
                Some(rest) => format!(r"{}:\{}", &rest[..1].to_uppercase(), rest[2..].replace('/', r"\")),
                None => "FILE".to_owned(),
            })
        };
        let handed = |line: &str| {
            let words: Vec<String> = line.split(' ').map(|word| word.replace("FILE", &file)).collect();
            let Ok(mut read) = arguments(&words, &translate);
            let Ok(()) = add(&mut read, &words, &translate);
            let words: Vec<String> = read.iter().map(Argument::text).collect();
            (words.join(" "), read.iter().filter_map(note).collect::<Vec<_>>())
        };
        let (scene, output, points) = (
            " --set dataset.path=D:/garden",
            " --set run.output=D:/runs/a",
            " --set init.path=E:/points.ply",
        );
        let (line, notes) = handed("train --config FILE");
        assert_eq!(line, format!("train --config FILE{scene}{points}{output}"));
        assert_eq!(
            notes[0],
            "the settings name /mnt/d/garden as `dataset.path`, which is D:/garden on Windows: `--set` says so there"
        );
        assert_eq!(notes.len(), 3);
        // What the command sets is the command's.
        let (line, notes) =
            handed("train --config FILE -s /mnt/d/other --output=/mnt/d/b --set init.path=/mnt/d/p.ply");
        assert!(notes.is_empty() && !line.contains("garden"), "{line} {notes:?}");
        assert_eq!(
            handed("plan --config FILE -- /mnt/d/other").0,
            format!("plan --config FILE{points}{output} -- D:\\other")
        );
        for line in [
            "train garden --profile 8gb",
            "train --config none.yaml",
            "doctor",
            "no such command",
        ] {
            assert!(handed(line).1.is_empty(), "{line}");
        }
    }
}
