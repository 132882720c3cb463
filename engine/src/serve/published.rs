//! The index of a run as others may see it: without what names places on this machine.

use serde_json::Value;

/// `run.json` without the command that made the run and the folder of its scene; `None` where nothing of that is in it, and for
/// what is no index.
pub(super) fn index(text: &str) -> Option<String> {
    let mut index: Value = serde_json::from_str(text).ok()?;
    let made_by = index.get_mut("made_by").and_then(Value::as_object_mut);
    let command = made_by.and_then(|made| made.remove("command"));
    let scene = index.get_mut("scene").and_then(Value::as_object_mut);
    let named = scene.and_then(|scene| {
        let name = scene.get("name")?.clone();
        scene.insert("path".to_owned(), name)
    });
    command.or(named).map(|_| format!("{index:#}\n"))
}
