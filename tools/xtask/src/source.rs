//! Shader sources: which outputs a file declares and what each depends on.
//!
//! Owns: the `kiln-variant` lines, the include graph and the source hash.
//! Promises: outputs in a fixed order, hashes that change when anything that
//! reaches the compiler changes. Refuses: includes outside the shader folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::sha256;

/// Options that every shader is compiled with, in the words of `glslc`.
pub const OPTIONS: [&str; 3] = ["--target-env=vulkan1.2", "-O", "-fshader-stage=compute"];

/// One SPIR-V module to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// File name in `shaders/spv`: `fill.spv` or `fill.wide.spv`.
    pub name: String,
    /// Source file relative to the shader folder: `fill.comp`.
    pub source: String,
    /// Preprocessor definitions, `NAME=VALUE` or `NAME`, as written.
    pub defines: Vec<String>,
    /// Hash over the source, everything it includes, and the options.
    pub source_sha256: String,
}

/// Every output that the `*.comp` files directly in `shaders` declare, sorted by name.
pub fn outputs(shaders: &Path) -> Result<Vec<Output>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(shaders).map_err(|e| Failure::io("list", shaders, e))? {
        let path = entry.map_err(|e| Failure::io("list", shaders, e))?.path();
        if path.extension().is_none_or(|ext| ext != "comp") {
            continue;
        }
        let (Some(file), Some(stem)) = (name_of(path.file_name()), name_of(path.file_stem())) else {
            return Err(Failure::new(format!(
                "{} is not a valid UTF-8 file name",
                path.display()
            )));
        };
        let text = read(&path)?;
        let files = closure(shaders, Path::new(&file))?;
        for (variant, defines) in variants(&text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))? {
            let name = variant.map_or_else(|| format!("{stem}.spv"), |v| format!("{stem}.{v}.spv"));
            let source_sha256 = hash(&files, &defines);
            let output = Output {
                name: name.clone(),
                source: file.clone(),
                defines,
                source_sha256,
            };
            if let Some(other) = found.insert(name.clone(), output) {
                return Err(Failure::new(format!(
                    "{name} is declared twice: by {file} and by {}",
                    other.source
                )));
            }
        }
    }
    Ok(found.into_values().collect())
}

type Variant = (Option<String>, Vec<String>);

/// The variants that a source declares; without a declaration there is one, unnamed.
fn variants(text: &str) -> std::result::Result<Vec<Variant>, String> {
    let mut list: Vec<Variant> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = line.trim().strip_prefix("// kiln-variant:") else {
            continue;
        };
        let mut words = rest.split_whitespace().map(str::to_owned);
        let name = words.next().ok_or(format!(
            "line {}: kiln-variant needs a name, or `-` for none",
            index + 1
        ))?;
        let plain = name == "-";
        if !plain && !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!(
                "line {}: variant name `{name}` may hold letters, digits and `_` only",
                index + 1
            ));
        }
        list.push(((!plain).then_some(name), words.collect()));
    }
    if list.is_empty() {
        list.push((None, Vec::new()));
    }
    Ok(list)
}

/// The file and all it includes, by path relative to the shader folder.
fn closure(shaders: &Path, first: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![first.to_path_buf()];
    while let Some(file) = pending.pop() {
        if files.contains_key(&file) {
            continue;
        }
        let text = read(&shaders.join(&file))?;
        for include in text.lines().filter_map(included) {
            // The compilers look beside the including file first, then in the include path.
            let beside = file.parent().unwrap_or(Path::new("")).join(include);
            let target = [beside, PathBuf::from(include)]
                .into_iter()
                .filter_map(|path| inside(&path))
                .find(|path| shaders.join(path).is_file())
                .ok_or_else(|| {
                    Failure::new(format!(
                        "{} includes `{include}`, which is not in the shader folder",
                        file.display()
                    ))
                })?;
            pending.push(target);
        }
        files.insert(file, text);
    }
    Ok(files)
}

fn included(line: &str) -> Option<&str> {
    let rest = line
        .trim_start()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?
        .trim_start();
    rest.strip_prefix('"')?.split('"').next()
}

/// Resolves `..` by name; `None` when the path leaves the folder.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => clean.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(clean)
}

fn hash(files: &BTreeMap<PathBuf, String>, defines: &[String]) -> String {
    let mut all = String::new();
    for (path, text) in files {
        let name = path.to_string_lossy().replace('\\', "/");
        all += &format!("file {name} {}\n{text}\n", text.len());
    }
    all += &format!("options {}\ndefines {}\n", OPTIONS.join(" "), defines.join(" "));
    sha256(all.as_bytes())
}

fn read(path: &Path) -> Result<String> {
    // Line ends are normalised so that a checkout with CRLF has the same hash.
    fs::read_to_string(path)
        .map(|text| text.replace("\r\n", "\n"))
        .map_err(|e| Failure::io("read", path, e))
}

fn name_of(part: Option<&std::ffi::OsStr>) -> Option<String> {
    part?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_source_without_declarations_has_one_plain_variant() {
        assert_eq!(variants("#version 450\n").unwrap(), [(None, vec![])]);
    }

    #[test]
    fn declared_variants_keep_their_definitions_in_order() {
        let list = variants("// kiln-variant: - A=1\n  // kiln-variant: wide B=2 C\n").unwrap();
        assert_eq!(list[0], (None, vec!["A=1".to_owned()]));
        assert_eq!(
            list[1],
            (Some("wide".to_owned()), vec!["B=2".to_owned(), "C".to_owned()])
        );
        assert!(variants("// kiln-variant:\n").is_err());
        assert!(variants("// kiln-variant: a/b\n").is_err());
    }

    #[test]
    fn includes_are_found_beside_and_in_the_folder_and_change_the_hash() {
        let folder = std::env::temp_dir().join(format!("xtask-source-{}", std::process::id()));
        fs::create_dir_all(folder.join("common")).unwrap();
        fs::write(folder.join("a.comp"), "#include \"common/b.glsl\"\n").unwrap();
        fs::write(folder.join("common/b.glsl"), "# include \"c.glsl\"\n").unwrap();
        fs::write(folder.join("common/c.glsl"), "const int x = 1;\n").unwrap();
        let before = outputs(&folder).unwrap();
        fs::write(folder.join("common/c.glsl"), "const int x = 2;\n").unwrap();
        let after = outputs(&folder).unwrap();
        assert_eq!(before[0].name, "a.spv");
        assert_ne!(before[0].source_sha256, after[0].source_sha256);
        fs::write(folder.join("a.comp"), "#include \"../outside.glsl\"\n").unwrap();
        assert!(outputs(&folder).unwrap_err().message.contains("outside.glsl"));
        fs::remove_dir_all(folder).unwrap();
    }
}
