//! `cargo xtask shaders`: compiles the shaders, keeps the manifest and the Rust that is made from both.
//!
//! Owns: the folder `shaders/spv`. Promises: a module is replaced only when it
//! is stale, and the manifest names the compiler that made each one. Refuses
//! to compare modules of two compiler versions as if they were one.

use std::fs;
use std::path::Path;

use crate::compiler::Compiler;
use crate::failure::{Failure, Result};
use crate::kernels;
use crate::manifest::{self, Entry};
use crate::sha256;
use crate::source::{self, Output};

const USAGE: &str = "usage: cargo xtask shaders [--quick | --check | --verify]
  (nothing)   compile with the shaderc library (builds it once: minutes, needs cmake and g++)
  --quick     compile what is stale with the `glslc` program
  --check     compile again with the compilers that the manifest names, compare bytes
  --verify    compare hashes and the Rust that follows; needs no compiler";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => build(root, Compiler::Shaderc),
        ["--quick"] => build(root, Compiler::Glslc),
        ["--check"] => check(root),
        ["--verify"] => verify(root),
        ["--help" | "-h"] => {
            crate::say(USAGE);
            Ok(())
        }
        _ => Err(Failure::usage(USAGE)),
    }
}

/// Fails when a module is stale, missing or unlisted, naming each.
pub fn verify(root: &Path) -> Result<()> {
    let mut problems = manifest::problems(root)?;
    if problems.is_empty() {
        problems = kernels::problems(root)?;
    }
    if problems.is_empty() {
        eprintln!("shaders: {} modules, all current", manifest::modules(root)?.len());
        return Ok(());
    }
    let list = problems.join("\n  ");
    Err(Failure::new(format!(
        "shader modules are not current:\n  {list}\nhint: run `cargo xtask shaders`"
    )))
}

fn build(root: &Path, compiler: Compiler) -> Result<()> {
    let folder = manifest::folder(root);
    fs::create_dir_all(&folder).map_err(|e| Failure::io("create", &folder, e))?;
    let outputs = source::outputs(&root.join("shaders"))?;
    let mut entries = manifest::load(root)?;
    let version = compiler.version(root)?;

    let due: Vec<&Output> = outputs
        .iter()
        .filter(|output| match entries.get(&output.name) {
            None => true,
            // A quick build leaves what the library made: it is current, and better founded.
            Some(entry) => {
                manifest::stale(root, output, entry).is_some()
                    || (compiler == Compiler::Shaderc
                        && (entry.compiler != compiler.name() || entry.compiler_version != version))
            }
        })
        .collect();
    if !due.is_empty() {
        compiler.compile(root, &due, &folder)?;
    }
    for output in &due {
        let path = folder.join(&output.name);
        let bytes = fs::read(&path).map_err(|e| Failure::io("read", &path, e))?;
        let entry = Entry {
            source: output.source.clone(),
            defines: output.defines.clone(),
            source_sha256: output.source_sha256.clone(),
            spv_sha256: sha256(&bytes),
            compiler: compiler.name().to_owned(),
            compiler_version: version.clone(),
        };
        entries.insert(output.name.clone(), entry);
        eprintln!("shaders: {} ({} bytes)", output.name, bytes.len());
    }

    entries.retain(|name, _| outputs.iter().any(|o| o.name == *name));
    for name in manifest::modules(root)? {
        if !entries.contains_key(&name) {
            let path = folder.join(&name);
            fs::remove_file(&path).map_err(|e| Failure::io("remove", &path, e))?;
            eprintln!("shaders: removed {name}, which no source declares");
        }
    }
    manifest::save(root, &entries)?;
    eprintln!(
        "shaders: {} compiled, {} already current, {} files of Rust changed",
        due.len(),
        outputs.len() - due.len(),
        kernels::write(root)?
    );
    Ok(())
}

fn check(root: &Path) -> Result<()> {
    verify(root)?;
    let outputs = source::outputs(&root.join("shaders"))?;
    let entries = manifest::load(root)?;
    let scratch = std::env::temp_dir().join(format!("kiln-shaders-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|e| Failure::io("create", &scratch, e))?;
    let result = compare(root, &outputs, &entries, &scratch);
    fs::remove_dir_all(&scratch).map_err(|e| Failure::io("remove", &scratch, e))?;
    result
}

fn compare(root: &Path, outputs: &[Output], entries: &manifest::Entries, scratch: &Path) -> Result<()> {
    let mut problems = Vec::new();
    for compiler in [Compiler::Shaderc, Compiler::Glslc] {
        let made = |output: &&Output| entries.get(&output.name).is_some_and(|e| e.compiler == compiler.name());
        let mine: Vec<&Output> = outputs.iter().filter(made).collect();
        if mine.is_empty() {
            continue;
        }
        let version = compiler.version(root)?;
        compiler.compile(root, &mine, scratch)?;
        for output in mine {
            let Some(entry) = entries.get(&output.name) else {
                continue;
            };
            if entry.compiler_version != version {
                let made_by = &entry.compiler_version;
                problems.push(format!(
                    "{}: made by `{made_by}`, this machine has `{version}`",
                    output.name
                ));
                continue;
            }
            let path = scratch.join(&output.name);
            let bytes = fs::read(&path).map_err(|e| Failure::io("read", &path, e))?;
            if sha256(&bytes) != entry.spv_sha256 {
                problems.push(format!(
                    "{}: the rebuilt module differs from the one checked in",
                    output.name
                ));
            }
        }
    }
    let unknown = entries
        .iter()
        .filter(|(_, entry)| Compiler::named(&entry.compiler).is_none());
    problems.extend(unknown.map(|(name, entry)| format!("{name}: unknown compiler `{}`", entry.compiler)));
    if problems.is_empty() {
        eprintln!("shaders: {} modules rebuilt, all bytes equal", outputs.len());
        Ok(())
    } else {
        Err(Failure::new(format!(
            "shader check failed:\n  {}",
            problems.join("\n  ")
        )))
    }
}
