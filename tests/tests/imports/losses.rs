//! A loss is two declarations, a kernel and its twin: no other room names it.

use super::engine;

/// Elsewhere a property that every loss has stands in the place of names; ARCHITECTURE.md, "Adding a loss", says where.
const ROOMS: [&str; 4] = ["kernels", "plugins", "step", "twins"];
/// In each room the loss' own file and a list.
const FILES: usize = 8;

/// True where `text` has `name` as more than the beginning of a plural.
fn names(text: &str, name: &str) -> bool {
    let is_plural = |at: usize| text[at + name.len()..].starts_with('s');
    text.match_indices(name).any(|(at, _)| !is_plural(at))
}

#[test]
fn a_loss_is_named_in_four_rooms() {
    // What maps of photos are, what shaders declare, and tests stand beside.
    const BESIDE: [&str; 4] = ["scene", "generated", "tests", "messages"];
    let named = engine().into_iter().filter(|(path, text)| {
        let production = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_beside = path.iter().any(|part| BESIDE.contains(&part.as_str()));
        let mut code = production.lines().filter(|line| !line.trim_start().starts_with("//"));
        !is_beside && code.any(|line| names(line, "normal_map") || names(line, "NormalMap"))
    });
    let files: Vec<String> = named.map(|(path, _)| path.join("/")).collect();
    let is_known = |file: &&String| ROOMS.iter().any(|room| file.starts_with(room));
    assert!(files.iter().all(|file| is_known(&file)), "{files:?}");
    assert!(files.len() <= FILES, "{} files name it: {files:?}", files.len());
}
