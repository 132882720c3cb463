//! `shaders/spv/manifest.json`: what each checked-in SPIR-V module was made from.
//!
//! Owns: the file's shape. Promises: sorted entries and one form per content,
//! so that a rebuild without changes leaves no diff. Refuses: unknown versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::sha256;
use crate::source::{self, Output};

const VERSION: u32 = 1;

/// One module of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Source file relative to the shader folder.
    pub source: String,
    /// Preprocessor definitions of the variant.
    pub defines: Vec<String>,
    /// Hash over source, includes and options.
    pub source_sha256: String,
    /// Hash of the SPIR-V file.
    pub spv_sha256: String,
    /// Name of the compiler: `shaderc` or `glslc`.
    pub compiler: String,
    /// Version line of the compiler.
    pub compiler_version: String,
}

/// All modules by file name.
pub type Entries = BTreeMap<String, Entry>;

/// Where the compiled modules and the manifest are.
pub fn folder(root: &Path) -> PathBuf {
    root.join("shaders").join("spv")
}

/// Reads the manifest; no file means no entries.
pub fn load(root: &Path) -> Result<Entries> {
    let path = folder(root).join("manifest.json");
    if !path.exists() {
        return Ok(Entries::new());
    }
    let text = fs::read_to_string(&path).map_err(|e| Failure::io("read", &path, e))?;
    parse(&text).ok_or_else(|| {
        Failure::new(format!(
            "{} is not a version 1 manifest; delete it and run `cargo xtask shaders`",
            path.display()
        ))
    })
}

/// Writes the manifest beside the modules.
pub fn save(root: &Path, entries: &Entries) -> Result<()> {
    let path = folder(root).join("manifest.json");
    let fresh = path.with_extension("json.new");
    fs::write(&fresh, print(entries)).map_err(|e| Failure::io("write", &fresh, e))?;
    fs::rename(&fresh, &path).map_err(|e| Failure::io("replace", &path, e))
}

fn print(entries: &Entries) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut rows = Vec::new();
    for (name, e) in entries {
        let defines: Vec<_> = e.defines.iter().map(|d| quoted(d)).collect();
        rows.push(format!(
            "    {}: {{\n      \"source\": {},\n      \"defines\": [{}],\n      \"source_sha256\": {},\n      \
             \"spv_sha256\": {},\n      \"compiler\": {},\n      \"compiler_version\": {}\n    }}",
            quoted(name),
            quoted(&e.source),
            defines.join(", "),
            quoted(&e.source_sha256),
            quoted(&e.spv_sha256),
            quoted(&e.compiler),
            quoted(&e.compiler_version),
        ));
    }
    format!(
        "{{\n  \"version\": {VERSION},\n  \"modules\": {{\n{}\n  }}\n}}\n",
        rows.join(",\n")
    )
}

fn parse(text: &str) -> Option<Entries> {
    #[derive(Deserialize)]
    struct File {
        version: u32,
        modules: Entries,
    }
    let file: File = serde_json::from_str(text).ok()?;
    (file.version == VERSION).then_some(file.modules)
}

/// Everything that is wrong between sources, manifest and modules; empty when all is current.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let entries = load(root)?;
    let outputs = source::outputs(&root.join("shaders"))?;
    let mut list = Vec::new();
    for output in &outputs {
        match entries.get(&output.name) {
            None => list.push(format!("{}: not compiled yet (source {})", output.name, output.source)),
            Some(entry) => list.extend(stale(root, output, entry)),
        }
    }
    for name in entries.keys().filter(|name| !outputs.iter().any(|o| o.name == **name)) {
        list.push(format!("{name}: in the manifest, but no source declares it"));
    }
    for name in modules(root)?.into_iter().filter(|name| !entries.contains_key(name)) {
        list.push(format!("{name}: a module that the manifest does not list"));
    }
    Ok(list)
}

/// Why the module of `output` is not current; `None` when it is.
pub fn stale(root: &Path, output: &Output, entry: &Entry) -> Option<String> {
    let name = &output.name;
    if entry.source != output.source || entry.source_sha256 != output.source_sha256 {
        return Some(format!(
            "{name}: {}, an include or an option changed since it was compiled",
            output.source
        ));
    }
    match fs::read(folder(root).join(name)) {
        Err(error) => Some(format!("{name}: cannot be read: {error}")),
        Ok(bytes) if sha256(&bytes) != entry.spv_sha256 => {
            Some(format!("{name}: its bytes are not those that the manifest names"))
        }
        Ok(_) => None,
    }
}

/// The names of the `.spv` files that exist, sorted.
pub fn modules(root: &Path) -> Result<Vec<String>> {
    let folder = folder(root);
    let mut names = Vec::new();
    if !folder.exists() {
        return Ok(names);
    }
    for entry in fs::read_dir(&folder).map_err(|e| Failure::io("list", &folder, e))? {
        let name = entry.map_err(|e| Failure::io("list", &folder, e))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if name.ends_with(".spv") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let entry = Entry {
            source: "a.comp".into(),
            defines: vec!["X=1".into(), "Y".into()],
            source_sha256: "00".into(),
            spv_sha256: "11".into(),
            compiler: "glslc".into(),
            compiler_version: "shaderc \"v1\"".into(),
        };
        let entries = Entries::from([("a.spv".to_owned(), entry.clone()), ("b.spv".to_owned(), entry)]);
        let text = print(&entries);
        assert_eq!(parse(&text).unwrap(), entries);
        assert!(parse(&text.replace("\"version\": 1", "\"version\": 2")).is_none());
        assert_eq!(parse(&print(&Entries::new())).unwrap(), Entries::new());
    }
}
