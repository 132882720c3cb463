//! Words that STYLE.md rules out are in no message, no head of a module and no page.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

/// Words that speak of things as of people, each between two characters that are no letters.
const RULED_OUT: [&str; 12] = [
    "told",
    "tells",
    "is asked",
    "are asked",
    "was asked",
    "were asked",
    "be asked",
    "nobody",
    "somebody",
    "is born",
    "are born",
    "newborn",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files below `folder` with one of these endings, but those of build folders.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "dist"].contains(&name.as_str()) {
                files(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// The words of `text` that are ruled out.
fn ruled_out(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let alone = |at: usize, word: &str| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        [before, after]
            .iter()
            .flatten()
            .all(|c| !c.is_alphanumeric() && *c != '_')
    };
    let has = |word: &&&str| text.match_indices(**word).any(|(at, word)| alone(at, word));
    RULED_OUT.iter().filter(has).copied().collect()
}

/// String literals and heads (`//!`) of a Rust file, each with its line.
fn said(source: &str) -> Vec<(usize, String)> {
    let chars: Vec<char> = source.chars().collect();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    let here = |at: usize, text: &str| text.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
    while let Some(&c) = chars.get(at) {
        let begin = line;
        if here(at, "//") {
            let end = (at..chars.len()).find(|&n| chars[n] == '\n').unwrap_or(chars.len());
            if here(at, "//!") {
                found.push((line, chars[at..end].iter().collect()));
            }
            at = end;
            continue;
        }
        if here(at, "r\"") || here(at, "r#") {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            let is_name = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
            if !is_name && chars.get(at + 1 + hashes) == Some(&'"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let first = at + 2 + hashes;
                let end = (first..chars.len()).find(|&n| here(n, &close)).unwrap_or(chars.len());
                found.push((begin, chars[first..end].iter().collect()));
                line += chars[at..end].iter().filter(|c| **c == '\n').count();
                at = end + close.len();
                continue;
            }
        }
        match c {
            '"' => {
                let first = at + 1;
                at = first;
                while chars.get(at).is_some_and(|c| *c != '"') {
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                let text: String = chars[first..at.min(chars.len())].iter().collect();
                line += text.matches('\n').count();
                // A line that ends with a backslash goes on behind the indent of the next.
                let joined: Vec<&str> = text.split("\\\n").map(str::trim_start).collect();
                found.push((begin, joined.concat()));
            }
            // A quote of one character, and no lifetime.
            '\'' if chars.get(at + 1) == Some(&'\\') => at += 3,
            '\'' if chars.get(at + 2) == Some(&'\'') => at += 2,
            '\n' => line += 1,
            _ => {}
        }
        at += 1;
    }
    found
}

#[test]
fn messages_and_heads_of_modules_speak_of_things() {
    let mut all = Vec::new();
    for folder in ["engine", "crates", "viewer-wasm/src", "tools"] {
        files(&root().join(folder), &[".rs"], &mut all);
    }
    assert!(all.len() > 700, "{} files", all.len());
    let (mut seen, mut found) = (0, Vec::new());
    for path in all {
        for (line, text) in said(&fs::read_to_string(&path).unwrap()) {
            seen += 1;
            let words = ruled_out(&text);
            if !words.is_empty() {
                found.push(format!("{}:{line}: {words:?}: {text}", path.display()));
            }
        }
    }
    assert!(seen > 15_000, "{seen} texts");
    assert!(found.is_empty(), "{} texts:\n{}", found.len(), found.join("\n"));
}

#[test]
fn pages_and_help_speak_of_things() {
    let mut all = Vec::new();
    files(&root(), &[".md"], &mut all);
    files(&root().join("viewer-wasm/page"), &[".html"], &mut all);
    files(&root().join("configs"), &[".json", ".yaml"], &mut all);
    files(&root().join("tests/golden/messages"), &[".txt", ".md"], &mut all);
    let (mut seen, mut found) = (0, Vec::new());
    for path in all {
        // It names the words.
        if path.ends_with("STYLE.md") {
            continue;
        }
        seen += 1;
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let words = ruled_out(line);
            if !words.is_empty() {
                found.push(format!("{}:{}: {words:?}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(seen > 50, "{seen} files");
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_walk_sees_what_it_has_to() {
    let source = "//! It tells.\n/// told\nfn f<'a>(c: char) { let _ = ('\"', \"is \\\n   asked\", r#\"a \"told\" b\"#); }\n// told\n";
    let found: Vec<_> = said(source)
        .into_iter()
        .map(|(line, text)| (line, ruled_out(&text)))
        .collect();
    assert_eq!(found, [(1, vec!["tells"]), (3, vec!["is asked"]), (4, vec!["told"])]);
    assert_eq!(ruled_out("retold, tellsy, TOLD"), ["told"]);
}
