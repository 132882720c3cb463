//! The two shader compilers: the `shaderc` library and the `glslc` program.
//!
//! Owns: how each is called. Promises: the same options for both. Refuses to
//! guess: a compiler's message is passed on whole, with the shader's name.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Result};
use crate::source::{OPTIONS, Output};

/// A shader compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// The `shaderc` library, built from source by the package in `tools/shaderc`.
    Shaderc,
    /// The `glslc` program found in `PATH`.
    Glslc,
}

impl Compiler {
    /// The name that manifests use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shaderc => "shaderc",
            Self::Glslc => "glslc",
        }
    }

    /// The compiler of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Shaderc, Self::Glslc].into_iter().find(|c| c.name() == name)
    }

    /// One line that identifies the compiler's version.
    pub fn version(self, root: &Path) -> Result<String> {
        let mut command = match self {
            Self::Shaderc => shaderc(root),
            Self::Glslc => Command::new("glslc"),
        };
        let output = command
            .arg("--version")
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| self.absent(&e))?;
        if !output.status.success() {
            return Err(self.absent(&output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("Target"));
        Ok(lines.collect::<Vec<_>>().join("; "))
    }

    /// Compiles every output into `folder`, which exists.
    pub fn compile(self, root: &Path, outputs: &[&Output], folder: &Path) -> Result<()> {
        match self {
            Self::Shaderc => self.compile_by_library(root, outputs, folder),
            Self::Glslc => self.compile_by_program(root, outputs, folder),
        }
    }

    fn compile_by_program(self, root: &Path, outputs: &[&Output], folder: &Path) -> Result<()> {
        let shaders = root.join("shaders");
        let mut errors = Vec::new();
        for output in outputs {
            let result = Command::new("glslc")
                .args(OPTIONS)
                .arg("-I")
                .arg(&shaders)
                .args(output.defines.iter().map(|define| format!("-D{define}")))
                .arg(shaders.join(&output.source))
                .arg("-o")
                .arg(folder.join(&output.name))
                .output()
                .map_err(|e| self.absent(&e))?;
            if !result.status.success() {
                errors.push(format!("{}:\n{}", output.name, String::from_utf8_lossy(&result.stderr)));
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Failure::new(errors.join("\n")))
        }
    }

    /// The helper takes one job a line: source, output and definitions, divided by tabs.
    fn compile_by_library(self, root: &Path, outputs: &[&Output], folder: &Path) -> Result<()> {
        let mut jobs = String::new();
        for output in outputs {
            let path = folder.join(&output.name);
            jobs += &format!("{}\t{}", output.source, path.display());
            for define in &output.defines {
                jobs += &format!("\t{define}");
            }
            jobs.push('\n');
        }
        let mut child = shaderc(root)
            .arg(root.join("shaders"))
            .stdin(Stdio::piped())
            .stdout(Stdio::inherit())
            .spawn()
            .map_err(|e| self.absent(&e))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(jobs.as_bytes()).map_err(|e| self.absent(&e))?;
        }
        let status = child.wait().map_err(|e| self.absent(&e))?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!(
                "kiln-shaderc stopped with {status}; its messages are above"
            )))
        }
    }

    fn absent(self, reason: &dyn std::fmt::Display) -> Failure {
        let hint = match self {
            Self::Shaderc => {
                "it is built from C++ sources, for which `cmake` and `g++` are needed: \
                 `apt-get install cmake g++`, or use `cargo xtask shaders --quick`"
            }
            Self::Glslc => "install it with `apt-get install glslc` (Debian) or from the Vulkan SDK",
        };
        Failure::set_up(format!(
            "the compiler `{}` does not run: {reason}\nhint: {hint}",
            self.name()
        ))
    }
}

fn shaderc(root: &Path) -> Command {
    let manifest: PathBuf = root.join("tools").join("shaderc").join("Cargo.toml");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--");
    command
}
