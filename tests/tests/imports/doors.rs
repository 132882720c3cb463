//! Files are opened, written and removed in a few places, each with its reason.
//!
//! `kiln-files` reads and appends, `export::disk` writes: what they promise of pipes, devices, links and sizes holds only while there is no
//! second way in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::imports::paths::tokens;
use crate::imports::sources;

/// Functions of `fs` that open, write or remove what a path names. Looking, as `metadata` and `read_dir` do, is free.
const OF_FS: [&str; 13] = [
    "copy",
    "create_dir",
    "create_dir_all",
    "hard_link",
    "read",
    "read_to_string",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "rename",
    "set_permissions",
    "write",
    "symlink",
];

/// The same of types.
const OF_TYPES: [(&str, &[&str]); 3] = [
    (
        "File",
        &[
            "open",
            "create",
            "create_new",
            "create_buffered",
            "open_buffered",
            "options",
        ],
    ),
    ("image", &["open"]),
    ("ImageReader", &["open"]),
];

/// Where files may be opened otherwise, what is done there, and why it may be.
const ALLOWED: [(&str, &[&str], &str); 23] = [
    (
        "crates/files/src/lib.rs",
        &["OpenOptions"],
        "the door for reading and appending",
    ),
    (
        "engine/src/export/disk/mod.rs",
        &[
            "create_dir",
            "File::create_new",
            "rename",
            "remove_file",
            "File::open",
            "File::options",
        ],
        "the door for writing; folders are opened to be flushed, and files of Windows to see whether another program has them open",
    ),
    (
        "engine/src/export/atomic.rs",
        &["remove_file", "remove_dir_all"],
        "own temporary names of processes that are gone",
    ),
    (
        "engine/src/export/delivery/folder.rs",
        &["create_dir", "remove_dir_all"],
        "a fresh folder of a name that cannot be foreseen",
    ),
    (
        "engine/src/export/delivery/partition.rs",
        &["remove_file"],
        "own files in such a folder",
    ),
    (
        "crates/blocks/src/merge/sort.rs",
        &["File::create_new", "remove_file"],
        "own files in such a folder",
    ),
    (
        "engine/src/project/merge.rs",
        &["create_dir", "remove_dir_all", "remove_file"],
        "such a folder, and an evaluation that is stale",
    ),
    (
        "engine/src/project/write.rs",
        &[
            "File::create_new",
            "rename",
            "remove_dir_all",
            "remove_file",
            "remove_dir",
        ],
        "a draft of a project, made a moment before",
    ),
    (
        "engine/src/project/cut.rs",
        &["File::create_new", "rename", "remove_dir_all"],
        "a draft of a block, made a moment before",
    ),
    (
        "engine/src/project/masks.rs",
        &["create_dir_all", "File::create_new"],
        "masks in such a draft",
    ),
    ("crates/system/src/unix.rs", &["File::options"], "folders, to be locked"),
    (
        "crates/system/src/windows.rs",
        &["File::options"],
        "the files that stand for the locks of folders",
    ),
    (
        "engine/src/record/run_folder/presence.rs",
        &["remove_dir_all", "remove_file"],
        "the run's own files, links refused",
    ),
    (
        "engine/src/record/run_folder/mod.rs",
        &["remove_file"],
        "the run's own mark",
    ),
    (
        "engine/src/record/sinks/tensorboard/mod.rs",
        &["OpenOptions"],
        "a new file, of a name that is free",
    ),
    ("engine/src/jobs/block.rs", &["remove_file"], "the block's own record"),
    (
        "engine/src/jobs/poses/colmap.rs",
        &["create_dir_all"],
        "the folder that COLMAP works in",
    ),
    (
        "crates/system/src/surroundings.rs",
        &["File::options"],
        "devices, to see whether they may be opened",
    ),
    (
        "engine/src/serve/",
        &["File::open", "remove_file", "remove_dir"],
        "the server has a root of its own",
    ),
    (
        "crates/scratch/src/lib.rs",
        &["create_dir_all", "write", "remove_dir_all"],
        "tests",
    ),
    (
        "engine/src/export/disk/simulated.rs",
        &["create_dir_all", "write", "remove_dir_all"],
        "tests",
    ),
    (
        "engine/src/record/run_folder/golden.rs",
        &[
            "copy",
            "create_dir_all",
            "image::open",
            "read",
            "read_to_string",
            "remove_dir_all",
            "write",
        ],
        "tests",
    ),
    (
        "engine/src/cli/messages/mod.rs",
        &["create_dir_all", "read_to_string", "write"],
        "tests",
    ),
];

/// What a source does with files outside of its tests, with the line.
fn doings(source: &str) -> Vec<(usize, String)> {
    let tokens = tokens(source);
    let text = |index: usize| tokens.get(index).map_or("", |(_, text)| text.as_str());
    let (mut found, mut braces, mut tests_at) = (Vec::new(), 0_usize, None);
    for (index, (line, token)) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => {
                if text(index.wrapping_sub(1)) == "tests" && text(index.wrapping_sub(2)) == "mod" {
                    tests_at = tests_at.or(Some(braces));
                }
                braces += 1;
            }
            "}" => {
                braces = braces.saturating_sub(1);
                tests_at = tests_at.filter(|at| *at < braces);
            }
            _ => {}
        }
        if tests_at.is_some() {
            continue;
        }
        let mut note = |name: String| found.push((*line, name));
        let behind = match text(index + 1) {
            "::" => text(index + 2),
            _ => "",
        };
        match token.as_str() {
            "OpenOptions" => note(token.clone()),
            "fs" if OF_FS.contains(&behind) => note(behind.to_owned()),
            // Names that are brought in from `fs` stand without it later.
            "fs" if behind == "{" => {
                let list = (index + 3..).map(text).take_while(|name| !matches!(*name, "}" | ""));
                list.filter(|name| OF_FS.contains(name))
                    .for_each(|name| note(name.to_owned()));
            }
            name => {
                let known = OF_TYPES.iter().find(|(of, _)| *of == name);
                if known.is_some_and(|(_, doings)| doings.contains(&behind)) {
                    note(format!("{name}::{behind}"));
                }
            }
        }
    }
    found
}

#[test]
fn there_is_no_second_way_in() {
    let root = xtask::root();
    let mut files = sources(&root.join("engine/src"));
    for folder in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        files.extend(sources(&folder.path().join("src")));
    }
    let (mut wrong, mut used) = (Vec::new(), BTreeMap::<&str, BTreeSet<String>>::new());
    for file in files {
        let path = file
            .strip_prefix(&root)
            .unwrap_or(&file)
            .to_string_lossy()
            .replace('\\', "/");
        // Tests in files of their own.
        if path.ends_with("/tests.rs") || path.contains("/tests/") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let allowed = ALLOWED.iter().find(|(place, ..)| path.starts_with(place));
        for (line, name) in doings(&text) {
            match allowed {
                Some((place, names, _)) if names.contains(&name.as_str()) => {
                    used.entry(place).or_default().insert(name);
                }
                _ => wrong.push(format!(
                    "{path}, line {line}: `{name}`: files are read by `kiln_files`, and written by `export::write_atomic`"
                )),
            }
        }
    }
    for (place, names, _) in ALLOWED {
        let unused = names
            .iter()
            .filter(|name| !used.get(place).is_some_and(|used| used.contains(**name)));
        wrong.extend(unused.map(|name| format!("{place} has no `{name}` any more: take it off the list")));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Whoever shows a folder to others opens what is in it below the folder's descriptor, and reads what was opened: no source of the server
/// reads by a path, and what it has read of projects goes through the opener that it hands over.
#[test]
fn what_is_served_is_opened_by_the_server_alone() {
    const BY_PATH: [&str; 6] = [
        "open_regular",
        "read_regular",
        "read_text",
        "read_start",
        "project_overview",
        "project_status",
    ];
    let root = xtask::root();
    let mut wrong = Vec::new();
    for file in sources(&root.join("engine/src/serve")) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let named = tokens(&text)
            .into_iter()
            .filter(|(_, name)| BY_PATH.contains(&name.as_str()));
        wrong.extend(named.map(|(line, name)| format!("{}, line {line}: `{name}`", file.display())));
    }
    assert!(wrong.is_empty(), "read by a path:\n{}\n", wrong.join("\n"));
}

#[test]
fn what_sources_do_with_files_is_seen() {
    let names = |source: &str| doings(source).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(
        names("use std::fs::{self, File, write};\nfn a() { let x = std::fs::File::open(p); fs::remove_dir_all(x) }"),
        ["write", "File::open", "remove_dir_all"]
    );
    assert_eq!(
        names("use std::fs::read as get; fs::OpenOptions::new(); image::open(p)"),
        ["read", "OpenOptions", "image::open"]
    );
    let harmless = "// fs::read\nfn a() { \"File::open\"; fs::metadata(p); AtomicFile::create(p) }\nmod tests { fn b() { fs::read(p) } }";
    assert_eq!(names(harmless), [""; 0]);
    assert_eq!(names("mod tests { fn b() {} }\nfn c() { fs::copy(a, b) }"), ["copy"]);
}
