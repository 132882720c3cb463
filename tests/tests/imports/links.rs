//! Links between the project's pages lead somewhere.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every Markdown page of the project but those below build folders.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                pages(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Targets of `[words](target)` outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        if !in_block {
            let parts = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(parts.map(|(target, _)| target.to_owned()));
        }
    }
    found
}

#[test]
fn links_lead_to_pages_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = Vec::new();
    pages(&root, &mut all);
    assert!(all.len() > 20, "{all:?}");
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in &all {
        let text = fs::read_to_string(page).unwrap();
        for target in targets(&text) {
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = match path {
                "" => page.clone(),
                path => page.with_file_name(path),
            };
            let ok = file.exists()
                && (heading.is_empty()
                    || fs::read_to_string(&file).is_ok_and(|text| anchors(&text).iter().any(|a| a == heading)));
            if !ok {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(seen > 60, "{seen} links");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}
