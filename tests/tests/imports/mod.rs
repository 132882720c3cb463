//! Imports inside the engine go one way.
//!
//! `cli -> jobs -> serve, run, project -> mesh -> train -> record -> plan -> eval -> export -> step, plugins -> twins -> kernels -> memory -> vk ->
//! program`,
//! where each layer may import itself and everything to its right. `scene`, `gaussians` and `config` stand beside the
//! line: they know nothing of Vulkan, and nor do `twins` and `kernels`, which skip `memory, vk`. `math` imports nothing. ARCHITECTURE.md
//! explains why.
#![expect(clippy::panic, reason = "tests stop at the first surprise")]

mod doors;
mod knots;
mod links;
mod losses;
mod paths;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paths::{Import, imports};

/// The line of layers, from the top down; modules of one layer may import each other.
const LAYERS: [&[&str]; 15] = [
    &["cli"],
    &["jobs"],
    &["serve", "run", "project"],
    &["mesh"],
    &["train"],
    &["record"],
    &["plan"],
    &["eval"],
    &["export"],
    &["step", "plugins"],
    &["twins"],
    &["kernels"],
    &["memory"],
    &["vk"],
    &["program"],
];

/// The modules without Vulkan, and the only modules that each may import.
const LEAVES: [(&str, &[&str]); 5] = [
    ("config", &["plugins", "gaussians", "scene", "math"]),
    ("triangles", &["gaussians", "scene", "math"]),
    ("gaussians", &["scene", "math"]),
    ("scene", &["math"]),
    ("math", &[]),
];

/// Kernels are declared as data, without a device: of what lies below them they see `program` alone.
const WITHOUT_DEVICE: [&str; 3] = ["kernels", "twins", "plugins"];

/// `config` holds the plugins' option types, so none of these may look at it.
const BELOW_CONFIG: [&str; 6] = ["plugins", "twins", "kernels", "memory", "vk", "program"];

/// The rule that an import breaks, or `None` when it is allowed.
fn broken_rule(from: &str, to: &str) -> Option<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let leaf = |name: &str| LEAVES.iter().find(|(leaf, _)| *leaf == name);
    if from == to {
        return None;
    }
    for name in [from, to] {
        if layer(name).is_none() && leaf(name).is_none() {
            return Some(format!(
                "`{name}` has no place in the order yet: give it one in this test"
            ));
        }
    }
    if let Some((_, allowed)) = leaf(from) {
        let list = if allowed.is_empty() {
            "nothing".to_owned()
        } else {
            format!("only {}", allowed.join(", "))
        };
        return (!allowed.contains(&to)).then(|| format!("`{from}` is a leaf without Vulkan and imports {list}"));
    }
    if to == "config" && BELOW_CONFIG.contains(&from) {
        return Some("`config` imports `plugins`, so `plugins` and what lies below must not import `config`".into());
    }
    if WITHOUT_DEVICE.contains(&from) && ["memory", "vk"].contains(&to) {
        return Some(format!("`{from}` knows no device; tensors and passes are in `program`"));
    }
    let back = layer(to).is_some_and(|to| Some(to) < layer(from));
    let line = || LAYERS.map(|layer| layer.join(", ")).join(" -> ");
    back.then(|| format!("imports go one way: {}", line()))
}

/// All Rust files under a folder, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display()));
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module path of a source file: `scene/load/mod.rs` is `scene`, `load`.
fn module_path(relative: &Path) -> Vec<String> {
    let names = relative.with_extension("");
    let mut path: Vec<String> = names.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    path.pop_if(|last| last == "mod");
    path
}

/// The engine's modules with their source.
fn engine() -> BTreeMap<Vec<String>, String> {
    let src = xtask::root().join("engine").join("src");
    let named = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
        (module_path(file.strip_prefix(&src).unwrap_or(&file)), text)
    };
    sources(&src).into_iter().map(named).collect()
}

#[test]
fn no_import_goes_back() {
    let engine = engine();
    // A path may also start at a macro or an item of the crate's root, which says nothing about layers.
    let is_module = |name: &str| {
        name != "main"
            && engine
                .keys()
                .any(|path| path.first().is_some_and(|first| first == name))
    };

    let mut broken = Vec::new();
    for (module, text) in &engine {
        // The root only declares the modules; the program is the command line's outermost part.
        let (from, crate_names): (&str, &[&str]) = match module.first().map(String::as_str) {
            Some("lib") | None => continue,
            Some("main") => ("cli", &["crate", "kiln"]),
            Some(name) => (name, &["crate"]),
        };
        for Import { line, path, .. } in imports(text, module, crate_names) {
            let Some(target) = path.first().filter(|name| is_module(name)) else {
                continue;
            };
            if let Some(rule) = broken_rule(from, target) {
                broken.push(format!(
                    "engine/src/{}, line {line}: `{from}` imports `{target}`: {rule}",
                    module.join("/")
                ));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_rules_are_those_of_the_architecture_page() {
    for (from, to) in [
        ("cli", "vk"),
        ("cli", "jobs"),
        ("jobs", "run"),
        ("run", "train"),
        ("train", "record"),
        ("record", "plan"),
        ("plan", "eval"),
        ("eval", "export"),
        ("step", "plugins"),
        ("plugins", "kernels"),
        ("kernels", "program"),
        ("memory", "program"),
        ("memory", "vk"),
        ("vk", "program"),
        ("config", "plugins"),
        ("gaussians", "scene"),
        ("kernels", "scene"),
        ("kernels", "math"),
        ("scene", "math"),
        ("train", "config"),
    ] {
        assert_eq!(broken_rule(from, to), None, "{from} -> {to}");
    }
    for (from, to) in [
        ("vk", "kernels"),
        ("vk", "memory"),
        ("kernels", "memory"),
        ("program", "memory"),
        ("memory", "step"),
        ("kernels", "plugins"),
        ("step", "train"),
        ("plan", "record"),
        ("record", "train"),
        ("train", "run"),
        ("export", "eval"),
        ("run", "cli"),
        ("jobs", "cli"),
        ("run", "jobs"),
        ("eval", "cli"),
        ("scene", "gaussians"),
        ("gaussians", "kernels"),
        ("math", "scene"),
        ("config", "vk"),
        ("plugins", "config"),
        ("memory", "config"),
        ("train", "elsewhere"),
    ] {
        assert!(broken_rule(from, to).is_some(), "{from} -> {to}");
    }
}
