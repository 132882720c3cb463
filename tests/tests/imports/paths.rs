//! Finds the paths in Rust source that lead to other parts of the house.
//!
//! Owns: a tokenizer that knows comments, strings and characters, and the walk
//! over `use` trees and paths in code. Promises: the names behind a crate's root,
//! however a path gets there, with their line. Refuses: macro expansion.

/// One path of a source file that leads to another part of the crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// Line of the source file, from 1.
    pub(crate) line: usize,
    /// The names behind the crate's root.
    pub(crate) path: Vec<String>,
    /// The name under which a `pub use` hands it on.
    pub(crate) exported: Option<String>,
    /// It stands in an inline module `tests`.
    pub(crate) in_test: bool,
}

/// A crate's name in paths, and the room that its root is; empty where the modules below the root are rooms.
pub(crate) type Root<'a> = (&'a str, &'a str);

/// All paths of the file of `module` that start at one of these roots, at `super`, or in `use` at `self` or at one of the
/// file's own modules.
pub(crate) fn imports(source: &str, module: &[String], roots: &[Root<'_>]) -> Vec<Import> {
    let tokens = tokens(source);
    let text = |index: usize| tokens.get(index).map_or("", |(_, text)| text.as_str());
    let mut found = Vec::new();
    // Inline modules, with the depth of braces at which each was opened: every one needs a `super` more.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut braces = 0usize;
    let mut index = 0;
    while index < tokens.len() {
        let place = || -> Vec<String> {
            module
                .iter()
                .chain(inline.iter().map(|(_, name)| name))
                .cloned()
                .collect()
        };
        let in_test = inline.iter().any(|(_, name)| name == "tests");
        let name = text(index);
        match name {
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                inline.pop_if(|(opened, _)| *opened == braces);
            }
            "mod" if text(index + 2) == "{" => inline.push((braces, text(index + 1).to_owned())),
            // Not the `use<'a>` of a type.
            "use" if text(index + 1) != "<" => {
                let exported = matches!(text(index.wrapping_sub(1)), "pub" | ")");
                let mut leaves = Vec::new();
                index = tree(&tokens, index + 1, &[], &mut leaves);
                for (line, path, alias) in leaves {
                    let Some(path) = absolute(&path, &place(), roots, true) else {
                        continue;
                    };
                    let exported = exported.then(|| alias.or_else(|| path.last().cloned()).unwrap_or_default());
                    found.push(Import {
                        line,
                        path,
                        exported,
                        in_test,
                    });
                }
                continue;
            }
            _ if text(index.wrapping_sub(1)) != "::"
                && (roots.iter().any(|(root, _)| *root == name) || name == "super") =>
            {
                let mut path = vec![name.to_owned()];
                while text(index + 1) == "::" && is_name(text(index + 2)) {
                    path.push(text(index + 2).to_owned());
                    index += 2;
                }
                let line = tokens.get(index).map_or(0, |(line, _)| *line);
                // `pub(crate)` and `pub(super)` are no paths.
                let path = Some(path).filter(|path| path.len() > 1);
                if let Some(path) = path.and_then(|path| absolute(&path, &place(), roots, false)) {
                    found.push(Import {
                        line,
                        path,
                        exported: None,
                        in_test,
                    });
                }
            }
            _ => {}
        }
        index += 1;
    }
    found
}

type Token = (usize, String);
/// Line, names and alias of a leaf.
type Leaf = (usize, Vec<String>, Option<String>);

/// Reads a tree of `use` from `at` on; returns the place behind it.
fn tree(tokens: &[Token], mut at: usize, prefix: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let mut path = prefix.to_vec();
    let mut alias = None;
    let mut line = 0;
    while let Some((here, text)) = tokens.get(at) {
        match text.as_str() {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|(_, text)| text != "}" && text != ";") {
                    at = tree(tokens, at, &path, leaves);
                    at += usize::from(tokens.get(at).is_some_and(|(_, text)| text == ","));
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            "as" => {
                alias = tokens.get(at + 1).map(|(_, name)| name.clone());
                at += 1;
            }
            "::" | "$" => {}
            "self" if !path.is_empty() => line = *here,
            name => {
                line = *here;
                path.push(name.to_owned());
            }
        }
        at += 1;
    }
    leaves.push((line, path, alias));
    at
}

/// The names behind the crate's root of a path in `module`; `None` when it starts elsewhere.
fn absolute(path: &[String], module: &[String], roots: &[Root<'_>], in_use: bool) -> Option<Vec<String>> {
    let first = path.first()?.as_str();
    if let Some((_, room)) = roots.iter().find(|(root, _)| *root == first) {
        let room = Some((*room).to_owned()).filter(|room| !room.is_empty());
        return Some(room.into_iter().chain(path[1..].iter().cloned()).collect());
    }
    let supers = path.iter().take_while(|name| *name == "super").count();
    let rest = &path[supers + usize::from(first == "self")..];
    if supers == 0 && !in_use {
        return None;
    }
    let base = module.get(..module.len().checked_sub(supers)?)?;
    Some(base.iter().chain(rest).cloned().collect())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single punctuation characters, each with its line; literals and comments are left out.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
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

/// Line, path and exported name of what is found in the file of module `a::b`.
#[cfg(test)]
fn found(source: &str) -> Vec<(usize, String, Option<String>)> {
    let module = ["a", "b"].map(str::to_owned);
    let list = imports(source, &module, &[("crate", ""), ("kiln_scene", "scene")]).into_iter();
    list.map(|import| (import.line, import.path.join("::"), import.exported))
        .collect()
}

#[test]
fn paths_are_found_in_use_trees_and_in_code() {
    let source = "use crate::{vk::{self, Device, crate_like as c}, memory,\n  scene::Camera};\n\
                  fn f() -> Vec<crate::kernels::Fill> { $crate::step::go() }\npub(crate) struct S;\n\
                  pub(crate) use leaf::{Leaf, Other as Name};\nuse super::super::c::D;\n";
    let want = [
        (1, "vk", None),
        (1, "vk::Device", None),
        (1, "vk::crate_like", None),
        (1, "memory", None),
        (2, "scene::Camera", None),
        (3, "kernels::Fill", None),
        (3, "step::go", None),
        (5, "a::b::leaf::Leaf", Some("Leaf")),
        (5, "a::b::leaf::Other", Some("Name")),
        (6, "c::D", None),
    ];
    assert_eq!(
        found(source),
        want.map(|(line, path, exported)| (line, path.to_owned(), exported.map(str::to_owned)))
    );
}

#[test]
fn super_counts_inline_modules() {
    let source =
        "use super::vk;\nmod tests {\n  use super::local;\n  use super::super::memory::M;\n}\nuse super::eval;\n";
    let paths: Vec<String> = found(source).into_iter().map(|(_, path, _)| path).collect();
    assert_eq!(paths, ["a::vk", "a::b::local", "a::memory::M", "a::eval"]);
}

#[test]
fn comments_and_literals_are_passed_over() {
    let source = "// crate::vk\n/* crate::vk /* */ crate::vk */ /// [`crate::vk`]\n\
                  let s = \"crate::vk \\\" crate::vk\"; let r = r#\"crate::vk \" \"#; let c = '\"';\n\
                  let q = '\\''; fn f<'a>(x: &'a str) {}\nuse crate::scene;\n";
    assert_eq!(found(source), [(5, "scene".to_owned(), None)]);
}

#[test]
fn other_crates_are_rooms() {
    let source = "use kiln_scene::{Camera, load::index::I};\nfn f(c: kiln_scene::View) {}\n";
    let paths: Vec<String> = found(source).into_iter().map(|(_, path, _)| path).collect();
    assert_eq!(paths, ["scene::Camera", "scene::load::index::I", "scene::View"]);
}
