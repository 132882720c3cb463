//! Finds the paths in Rust source that start at the crate's root.
//!
//! Owns: a tokenizer that knows comments, strings and characters, and the walk
//! over `use` trees and paths in code. Promises: the first name after `crate::`,
//! `$crate::` or enough `super::`, with its line. Refuses: macro expansion.

/// One use of a top-level module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Line of the source file, from 1.
    pub(crate) line: usize,
    /// The name that follows the crate's root.
    pub(crate) target: String,
}

/// All imports of a file whose module lies `depth` names below the root.
pub(crate) fn imports(source: &str, depth: usize, crate_names: &[&str]) -> Vec<Import> {
    let tokens = tokens(source);
    let text = |index: usize| tokens.get(index).map_or("", |(_, text)| text.as_str());
    let mut found = Vec::new();
    // Brace depth at which each inline module was opened: every one needs a `super` more.
    let mut inline = Vec::new();
    let mut braces = 0usize;
    let mut index = 0;
    while index < tokens.len() {
        match text(index) {
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                inline.pop_if(|opened| *opened == braces);
            }
            "mod" if text(index + 2) == "{" => inline.push(braces),
            name if crate_names.contains(&name) && text(index + 1) == "::" => {
                collect(&tokens, index + 2, &mut found);
            }
            "super" if index == 0 || text(index - 1) != "::" => {
                let mut count = 0;
                while text(index + 2 * count) == "super" && text(index + 2 * count + 1) == "::" {
                    count += 1;
                }
                if count == depth + inline.len() {
                    collect(&tokens, index + 2 * count, &mut found);
                }
            }
            _ => {}
        }
        index += 1;
    }
    found
}

type Token = (usize, String);

/// The first name at `start`, or the first name of each branch of a group there.
fn collect(tokens: &[Token], start: usize, found: &mut Vec<Import>) {
    let Some((line, first)) = tokens.get(start) else { return };
    if first != "{" {
        if is_name(first) {
            found.push(Import {
                line: *line,
                target: first.clone(),
            });
        }
        return;
    }
    let mut depth = 0usize;
    let mut branch_starts = false;
    for (line, text) in &tokens[start..] {
        match text.as_str() {
            "{" => {
                depth += 1;
                branch_starts = depth == 1;
            }
            "}" if depth == 1 => return,
            "}" => depth -= 1,
            "," => branch_starts = depth == 1,
            name => {
                if branch_starts && is_name(name) {
                    found.push(Import {
                        line: *line,
                        target: name.to_owned(),
                    });
                }
                branch_starts = false;
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single punctuation characters, each with its line; literals and comments are left out.
fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut list = Vec::new();
    let mut line = 1;
    let mut index = 0;
    while index < chars.len() {
        let start = index;
        let c = at(index);
        if c == '/' && at(index + 1) == '/' {
            while index < chars.len() && at(index) != '\n' {
                index += 1;
            }
        } else if c == '/' && at(index + 1) == '*' {
            index = after_block_comment(&chars, index);
        } else if c == '"' {
            index = after_string(&chars, index);
        } else if let Some(end) = after_raw_string(&chars, index) {
            index = end;
        } else if c == '\'' {
            index = after_quote(&chars, index);
        } else if c.is_alphabetic() || c == '_' {
            while at(index).is_alphanumeric() || at(index) == '_' {
                index += 1;
            }
            list.push((line, chars[start..index].iter().collect()));
        } else if c == ':' && at(index + 1) == ':' {
            list.push((line, "::".to_owned()));
            index += 2;
        } else {
            if !c.is_whitespace() {
                list.push((line, c.to_string()));
            }
            index += 1;
        }
        line += chars[start..index.min(chars.len())]
            .iter()
            .filter(|c| **c == '\n')
            .count();
    }
    list
}

fn after_block_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut index = start;
    while index < chars.len() {
        match chars.get(index..index + 2) {
            Some(['/', '*']) => depth += 1,
            Some(['*', '/']) => depth -= 1,
            _ => {
                index += 1;
                continue;
            }
        }
        index += 2;
        if depth == 0 {
            break;
        }
    }
    index
}

fn after_string(chars: &[char], start: usize) -> usize {
    let mut index = start + 1;
    while index < chars.len() && chars[index] != '"' {
        index += if chars[index] == '\\' { 2 } else { 1 };
    }
    index + 1
}

/// The end of `r"..."`, `r#"..."#`, `br"..."` and so on; `None` when there is none at `start`.
fn after_raw_string(chars: &[char], start: usize) -> Option<usize> {
    let before = start.checked_sub(1).and_then(|i| chars.get(i));
    if before.is_some_and(|c| c.is_alphanumeric() || *c == '_') {
        return None;
    }
    let mut index = start + usize::from(matches!(chars.get(start), Some('b' | 'c')));
    if chars.get(index) != Some(&'r') {
        return None;
    }
    index += 1;
    let hashes = chars[index..].iter().take_while(|c| **c == '#').count();
    index += hashes;
    if chars.get(index) != Some(&'"') {
        return None;
    }
    index += 1;
    while index < chars.len() {
        let closes =
            chars[index] == '"' && chars[index + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
        index += 1;
        if closes {
            return Some(index + hashes);
        }
    }
    Some(index)
}

/// The end of a character literal, or of the quote that starts a lifetime.
fn after_quote(chars: &[char], start: usize) -> usize {
    match (chars.get(start + 1), chars.get(start + 2)) {
        // The character after the backslash may itself be a quote.
        (Some('\\'), _) => {
            let rest = chars.get(start + 3..).unwrap_or_default();
            start + 4 + rest.iter().take_while(|c| **c != '\'').count()
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start + 1,
    }
}

#[test]
fn paths_are_found_in_use_trees_and_in_code() {
    let source = "use crate::{vk::{Device, crate_like}, memory,\n  self as root, scene::Camera};\n\
                  fn f() -> Vec<crate::kernels::Fill> { $crate::step::go() }\npub(crate) struct S;\n";
    let found: Vec<_> = imports(source, 1, &["crate"])
        .into_iter()
        .map(|i| (i.line, i.target))
        .collect();
    let want = [
        (1, "vk"),
        (1, "memory"),
        (2, "self"),
        (2, "scene"),
        (3, "kernels"),
        (3, "step"),
    ];
    assert_eq!(found, want.map(|(line, name)| (line, name.to_owned())));
}

#[test]
fn super_counts_inline_modules() {
    let source =
        "use super::vk;\nmod tests {\n  use super::local;\n  use super::super::memory::M;\n}\nuse super::eval;\n";
    let found: Vec<_> = imports(source, 1, &["crate"]).into_iter().map(|i| i.target).collect();
    assert_eq!(found, ["vk", "memory", "eval"]);
}

#[test]
fn comments_and_literals_are_passed_over() {
    let source = "// crate::vk\n/* crate::vk /* */ crate::vk */ /// [`crate::vk`]\n\
                  let s = \"crate::vk \\\" crate::vk\"; let r = r#\"crate::vk \" \"#; let c = '\"';\n\
                  let q = '\\''; fn f<'a>(x: &'a str) {}\nuse crate::scene;\n";
    let found = imports(source, 1, &["crate"]);
    assert_eq!(
        found,
        [Import {
            line: 5,
            target: "scene".to_owned()
        }]
    );
}
