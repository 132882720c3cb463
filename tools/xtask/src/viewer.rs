//! `cargo xtask viewer`: builds the viewer's bundle and keeps its manifest.
//!
//! Owns: the folder `viewer-wasm/dist`. Promises: the bundle fits its budget, and the manifest names every source it was
//! made from, the compiler and the hash of each file. Refuses: downloading tools.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bundle::{self, Manifest};
use crate::failure::{Failure, Result};
use crate::{sha256, slim, steps};

const USAGE: &str = "usage: cargo xtask viewer [--page|--verify]
  (nothing)   build the viewer for browsers into viewer-wasm/dist (the first build takes minutes)
  --page      take over changed files of the page; refused when the module would change too
  --verify    compare hashes only; needs no tools";

const TARGET: &str = "wasm32-unknown-unknown";
/// What the module may use: 128-bit vectors, which browsers have had since 2023.
const FLAGS: &str = "-C target-feature=+simd128";
/// Most bytes of module, scripts and style sheet together, each compressed with brotli.
pub const BUDGET_BYTES: u64 = 226_800;

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => build(root),
        ["--page"] => page(root),
        ["--verify"] => verify(root),
        ["--help" | "-h"] => {
            crate::say(USAGE);
            Ok(())
        }
        _ => Err(Failure::usage(USAGE)),
    }
}

/// Fails when the bundle is not made from the sources as they are, naming what changed.
pub fn verify(root: &Path) -> Result<()> {
    let manifest = bundle::load(root)?;
    let problems = bundle::problems(root, &manifest)?;
    if problems.is_empty() {
        eprintln!("viewer: {} files, all current", manifest.files.len());
        return Ok(());
    }
    let list = problems.join("\n  ");
    Err(Failure::new(format!(
        "the viewer's bundle is not current:\n  {list}\nhint: run `cargo xtask viewer`"
    )))
}

fn build(root: &Path) -> Result<()> {
    let sources = bundle::sources(root)?;
    let compiler = Compiler::find(TARGET)?;
    let module = compiler.build(root)?;
    let fresh = fresh_folder(root)?;
    let bindgen = bind(root, &module, &fresh)?;
    make_slim(&fresh)?;
    let made_by = format!("{}; {bindgen}", compiler.version);
    finish(root, &fresh, sources, made_by)
}

/// Puts changed files of the page into the bundle and leaves the module as it is.
fn page(root: &Path) -> Result<()> {
    let before = bundle::load(root)?;
    let sources = bundle::sources(root)?;
    let of_module = |hashes: &bundle::Hashes| -> bundle::Hashes {
        let own = hashes.iter().filter(|(name, _)| !name.starts_with("viewer-wasm/page/"));
        own.map(|(name, hash)| (name.clone(), hash.clone())).collect()
    };
    if of_module(&before.sources) != of_module(&sources) {
        return Err(Failure::new(
            "sources of the module changed too\nhint: run `cargo xtask viewer`, which builds it",
        ));
    }
    let fresh = fresh_folder(root)?;
    let dist = bundle::viewer(root).join("dist");
    for name in ["kiln_viewer.js", "kiln_viewer_bg.wasm"] {
        let (from, to) = (dist.join(name), fresh.join(name));
        fs::copy(&from, &to).map_err(|e| Failure::io("copy", &from, e))?;
    }
    finish(root, &fresh, sources, before.made_by)
}

/// An empty folder for the next bundle.
fn fresh_folder(root: &Path) -> Result<PathBuf> {
    let fresh = target_folder(root).join("viewer-dist");
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&fresh).map_err(|e| Failure::io("create", &fresh, e))?;
    Ok(fresh)
}

/// Compresses the module in `fresh` and the page, and replaces the bundle.
fn finish(root: &Path, fresh: &Path, sources: bundle::Hashes, made_by: String) -> Result<()> {
    let page = bundle::viewer(root).join("page");
    let small = compress(fresh, fresh)? + compress(&page, fresh)?;

    if small > BUDGET_BYTES {
        return Err(Failure::new(format!(
            "the bundle has {small} bytes and may have {BUDGET_BYTES}; what grew it has to go, or be made smaller"
        )));
    }
    let mut files = BTreeMap::new();
    for name in bundle::names(fresh)? {
        let path = fresh.join(&name);
        let bytes = fs::read(&path).map_err(|e| Failure::io("read", &path, e))?;
        files.insert(name, sha256(&bytes));
    }
    bundle::replace(
        root,
        fresh,
        &Manifest {
            sources,
            files,
            made_by,
        },
    )?;
    eprintln!(
        "viewer: {} files in viewer-wasm/dist; module, scripts and style have {small} bytes compressed (at most {BUDGET_BYTES})",
        bundle::names(fresh)?.len()
    );
    Ok(())
}

/// Leaves out of the bindings what browsers do not need.
fn make_slim(folder: &Path) -> Result<()> {
    let text = |path: &Path| fs::read_to_string(path).map_err(|e| Failure::io("read", path, e));
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).map_err(|e| Failure::io("write", path, e));
    let (script, module) = (folder.join("kiln_viewer.js"), folder.join("kiln_viewer_bg.wasm"));
    let mut bindings = text(&script)?;
    let mut bytes = fs::read(&module).map_err(|e| Failure::io("read", &module, e))?;
    slim::number_imports(&mut bindings, &mut bytes);
    write(&script, slim::script(&bindings).as_bytes())?;
    write(&module, &bytes)
}

/// Where builds go.
fn target_folder(root: &Path) -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    set.map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// A Rust compiler with a standard library for another target, or the sources of one.
pub(crate) struct Compiler {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    version: String,
    /// Folder of the standard library's sources, which is then built too.
    pub(crate) std_source: Option<PathBuf>,
}

impl Compiler {
    /// One that can build for `target`.
    pub(crate) fn find(target: &str) -> Result<Self> {
        let rustc = PathBuf::from(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let sysroot = PathBuf::from(said(Command::new(&rustc).args(["--print", "sysroot"]))?);
        if sysroot.join("lib/rustlib").join(target).join("lib").is_dir() {
            let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            return Self::new(cargo, rustc, None);
        }
        // Debian's packages: a newer compiler and the standard library's sources.
        let (cargo, rustc) = (PathBuf::from("/usr/bin/cargo"), PathBuf::from("/usr/bin/rustc"));
        let std_source = PathBuf::from("/usr/lib/rustlib/src/rust/library");
        if cargo.is_file() && rustc.is_file() && std_source.is_dir() {
            return Self::new(cargo, rustc, Some(std_source));
        }
        Err(Failure::set_up(format!(
            "no Rust compiler here can build for {target}\nhint: `rustup target add {target}`, or on Debian \
             `sudo apt-get install -y rustc-web cargo-web rust-web-src`"
        )))
    }

    fn new(cargo: PathBuf, rustc: PathBuf, std_source: Option<PathBuf>) -> Result<Self> {
        let version = said(Command::new(&rustc).arg("--version"))?;
        Ok(Self {
            cargo,
            rustc,
            version,
            std_source,
        })
    }

    /// Builds the module and says where it is.
    fn build(&self, root: &Path) -> Result<PathBuf> {
        let folder = target_folder(root).join("viewer");
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(root)
            .args(["build", "--locked", "-p", "kiln-viewer", "--profile", "viewer"]);
        command.args(["--target", TARGET]).arg("--target-dir").arg(&folder);
        // Paths of this machine do not belong into the module.
        let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
        let mut flags = format!("{FLAGS} --remap-path-prefix={}=kiln", root.display());
        if let Ok(home) = home {
            flags += &format!(" --remap-path-prefix={home}/registry/src=crates");
        }
        command.env("RUSTC", &self.rustc);
        if let Some(source) = &self.std_source {
            // This compiler is not rustup's.
            command.env_remove("RUSTUP_TOOLCHAIN");
            flags += &format!(" --remap-path-prefix={}=std", source.display());
            // What a panic says, and values for debugging, are text that nobody sees in a browser.
            flags += " -Zlocation-detail=none -Zfmt-debug=none -Zunstable-options -Cpanic=immediate-abort";
            command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
            command.env("RUSTC_BOOTSTRAP", "1");
            if let Some(linker) = linker() {
                command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            }
        }
        command.env("RUSTFLAGS", flags);
        let status = command
            .status()
            .map_err(|e| Failure::new(format!("cannot start `{}`: {e}", steps::line(&command))))?;
        if !status.success() {
            return Err(Failure::new(format!("`{}` ended with {status}", steps::line(&command))));
        }
        Ok(folder.join(TARGET).join("viewer").join("kiln_viewer.wasm"))
    }
}

/// The linker that comes with the compiler of this workspace; Debian's own needs another package.
fn linker() -> Option<PathBuf> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    let hosts = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")).ok()?;
    let mut found = hosts.flatten().map(|host| host.path().join("bin/rust-lld"));
    found.find(|path| path.is_file())
}

/// Makes the JavaScript side; gives the version of what made it.
fn bind(root: &Path, module: &Path, folder: &Path) -> Result<String> {
    let helper = || {
        let manifest = root.join("tools").join("wasm-bindgen").join("Cargo.toml");
        let mut command = steps::cargo(root, &["run", "--quiet", "--release", "--locked", "--manifest-path"]);
        command.arg(manifest).arg("--");
        command
    };
    let status = helper().arg(module).arg(folder).arg("kiln_viewer").status();
    let done = status.map_err(|e| Failure::new(format!("cannot start cargo: {e}")))?;
    if !done.success() {
        return Err(Failure::new(format!(
            "kiln-wasm-bindgen ended with {done}; its message is above"
        )));
    }
    said(helper().arg("--version"))
}

/// Puts what compresses of a folder into another, compressed, scripts without what browsers do not need; gives the bytes of those that
/// the budget counts.
fn compress(folder: &Path, into: &Path) -> Result<u64> {
    let mut counted = 0;
    for name in bundle::names(folder)? {
        let extension = Path::new(&name).extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("wasm" | "js" | "css" | "html" | "svg")) {
            continue;
        }
        let output = into.join(format!("{name}.br"));
        let mut source = folder.join(&name);
        if extension == Some("js") && folder != into {
            let script = fs::read_to_string(&source).map_err(|e| Failure::io("read", &source, e))?;
            source = output.with_extension("");
            fs::write(&source, slim::script(&script)).map_err(|e| Failure::io("write", &source, e))?;
        }
        let mut command = Command::new("brotli");
        command
            .args(["--quality=11", "--lgwin=22", "--force"])
            .arg(&source)
            .arg("-o")
            .arg(&output);
        let status = command.stdin(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(Failure::set_up(
                "the program `brotli` does not run; it makes the bundle small\nhint: `sudo apt-get install -y brotli`",
            ));
        }
        if source.parent() != Some(folder) {
            fs::remove_file(&source).map_err(|e| Failure::io("remove", &source, e))?;
        }
        if matches!(extension, Some("wasm" | "js" | "css")) {
            counted += fs::metadata(&output)
                .map_err(|e| Failure::io("read", &output, e))?
                .len();
        }
    }
    Ok(counted)
}

/// The first line that a command prints.
fn said(command: &mut Command) -> Result<String> {
    let line = steps::line(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| Failure::new(format!("cannot start `{line}`: {e}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{line}` ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
