//! Imports inside the house go one way, through its crates and within them.
//!
//! `cli -> jobs -> serve, run, project -> mesh -> train -> record -> plan -> eval -> export -> step, plugins -> twins -> kernels -> memory -> vk ->
//! program`,
//! where each layer may import itself and everything to its right. `scene`, `gaussians` and `config` stand beside the
//! line: they know nothing of Vulkan, and nor do `twins` and `kernels`, which skip `memory, vk`. ARCHITECTURE.md explains why.
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

use paths::{Import, Root, imports};

/// Folders of crates, their names in paths, and the room that the root of each is; where that is empty, the modules below the root are
/// rooms.
const CRATES: [(&str, &str, &str); 8] = [
    ("crates/config", "kiln_config", "config"),
    ("crates/gaussians", "kiln_gaussians", "gaussians"),
    ("crates/gpu", "kiln_gpu", ""),
    ("crates/kernels", "kiln_kernels", "kernels"),
    ("crates/program", "kiln_program", "program"),
    ("crates/scene", "kiln_scene", "scene"),
    ("crates/twins", "kiln_twins", "twins"),
    ("engine", "kiln", ""),
];

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
const LEAVES: [(&str, &[&str]); 3] = [
    ("config", &["plugins", "gaussians", "scene"]),
    ("gaussians", &["scene"]),
    ("scene", &[]),
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

/// The path of a source file's module: `load/mod.rs` of the crate that is the room `scene` is `scene`, `load`.
fn module_path(room: &str, relative: &Path) -> Vec<String> {
    let names = relative.with_extension("");
    let names = names.iter().map(|part| part.to_string_lossy().into_owned());
    let room = Some(room.to_owned()).filter(|room| !room.is_empty());
    let is_root = room.is_some() && relative == Path::new("lib.rs");
    let mut path: Vec<String> = room.into_iter().chain(names.skip(usize::from(is_root))).collect();
    path.pop_if(|last| last == "mod");
    path
}

/// All modules of the house with their source.
fn house() -> BTreeMap<Vec<String>, String> {
    let mut modules = BTreeMap::new();
    for (folder, _, room) in CRATES {
        let src = xtask::root().join(folder).join("src");
        for file in sources(&src) {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
            modules.insert(module_path(room, file.strip_prefix(&src).unwrap_or(&file)), text);
        }
    }
    modules
}

/// Where paths of a module's file may start, and in which room.
fn roots(module: &[String]) -> Vec<Root<'static>> {
    let first = module.first().map_or("", String::as_str);
    let own = CRATES.iter().find(|(_, _, room)| *room == first);
    let others = CRATES.iter().map(|(_, name, room)| (*name, *room));
    others.chain([("crate", own.map_or("", |(_, _, room)| room))]).collect()
}

/// The room of a module: `plugins` lies in the crate of `config`, below it.
fn room(path: &[String]) -> Option<&str> {
    match path {
        [config, plugins, ..] if config == "config" && plugins == "plugins" => Some("plugins"),
        [first, ..] => Some(first),
        [] => None,
    }
}

#[test]
fn no_import_goes_back() {
    let house = house();
    // A path may also start at a macro or an item of the crate's root, which says nothing about layers.
    let is_room = |name: &str| name != "main" && house.keys().any(|path| room(path) == Some(name));

    let mut broken = Vec::new();
    for (module, text) in &house {
        // Roots only declare modules; the program is the command line's outermost part.
        let from = match room(module) {
            Some("lib") | None => continue,
            Some("main") => "cli",
            Some(name) => name,
        };
        for Import { line, path, .. } in imports(text, module, &roots(module)) {
            let Some(target) = room(&path).filter(|name| is_room(name)) else {
                continue;
            };
            if let Some(rule) = broken_rule(from, target) {
                broken.push(format!(
                    "{}, line {line}: `{from}` imports `{target}`: {rule}",
                    module.join("/")
                ));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The manifests are a second law: a crate that has no device below it cannot have one in its paths.
#[test]
fn crates_without_a_device_do_not_depend_on_it() {
    for (folder, name, _) in CRATES {
        let file = xtask::root().join(folder).join("Cargo.toml");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
        let has_device = text.contains("kiln-gpu =") || text.contains("ash =");
        assert_eq!(has_device, ["kiln_gpu", "kiln"].contains(&name), "{folder}");
    }
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
        ("scene", "config"),
        ("gaussians", "kernels"),
        ("config", "vk"),
        ("plugins", "config"),
        ("memory", "config"),
        ("train", "elsewhere"),
    ] {
        assert!(broken_rule(from, to).is_some(), "{from} -> {to}");
    }
}
