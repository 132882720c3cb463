//! Compiles GLSL compute shaders to SPIR-V with the shaderc library.
//!
//! Called by `cargo xtask shaders` as `kiln-shaderc FOLDER`, with one job a
//! line on standard input: source relative to FOLDER, output path, and any
//! number of `NAME=VALUE` or `NAME` definitions, divided by tabs.
//! `kiln-shaderc --version` prints what identifies a build.
//!
//! Promises: the options of `glslc --target-env=vulkan1.2 -O -fshader-stage=compute -I FOLDER`;
//! no output for a shader that does not compile. Refuses: includes outside FOLDER.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use shaderc::{
    CompileOptions, Compiler, EnvVersion, IncludeType, OptimizationLevel, ResolvedInclude, ShaderKind, TargetEnv,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            println!("{}", version());
            Ok(())
        }
        [folder] => compile_all(Path::new(folder)),
        _ => Err("usage: kiln-shaderc --version | kiln-shaderc FOLDER < JOBS".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The lock file fixes the library's sources, so its entry for them is the version.
fn version() -> String {
    let lock = include_str!("../Cargo.lock");
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"shaderc-sys\"");
    let number = lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = "))
        .unwrap_or("unknown");
    let (spirv, revision) = shaderc::get_spirv_version();
    format!(
        "shaderc-sys {}, SPIR-V {}.{} revision {revision}",
        number.trim_matches('"'),
        spirv >> 16,
        spirv >> 8 & 0xff
    )
}

fn compile_all(folder: &Path) -> Result<(), String> {
    let mut jobs = String::new();
    std::io::stdin()
        .read_to_string(&mut jobs)
        .map_err(|e| format!("cannot read the jobs: {e}"))?;
    let compiler = Compiler::new().map_err(|e| format!("shaderc does not start: {e}"))?;
    let errors: Vec<String> = jobs
        .lines()
        .filter_map(|job| compile(&compiler, folder, job).err())
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("\n"))
    }
}

fn compile(compiler: &Compiler, folder: &Path, job: &str) -> Result<(), String> {
    let mut fields = job.split('\t');
    let (Some(source), Some(output)) = (fields.next(), fields.next()) else {
        return Err(format!("the job `{job}` does not name a source and an output"));
    };
    let mut options = CompileOptions::new().map_err(|e| format!("shaderc does not start: {e}"))?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_2 as u32);
    options.set_optimization_level(OptimizationLevel::Performance);
    for define in fields {
        let (name, value) = define
            .split_once('=')
            .map_or((define, None), |(name, value)| (name, Some(value)));
        options.add_macro_definition(name, value);
    }
    options.set_include_callback(|name, kind, from, _depth| include(folder, name, kind, from));

    let path = folder.join(source);
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let artifact = compiler
        .compile_into_spirv(&text, ShaderKind::Compute, source, "main", Some(&options))
        .map_err(|e| format!("{output}:\n{e}"))?;
    if artifact.get_num_warnings() > 0 {
        eprint!("{}", artifact.get_warning_messages());
    }
    fs::write(output, artifact.as_binary_u8()).map_err(|e| format!("cannot write {output}: {e}"))
}

/// Looks beside the including file first, then in the folder, as `glslc -I FOLDER` does.
fn include(folder: &Path, name: &str, kind: IncludeType, from: &str) -> Result<ResolvedInclude, String> {
    let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
    let candidates = match kind {
        IncludeType::Relative => vec![beside, PathBuf::from(name)],
        IncludeType::Standard => vec![PathBuf::from(name)],
    };
    for path in candidates.iter().filter_map(|path| inside(path)) {
        if let Ok(content) = fs::read_to_string(folder.join(&path)) {
            return Ok(ResolvedInclude {
                resolved_name: path.to_string_lossy().into_owned(),
                content,
            });
        }
    }
    Err(format!("`{name}` is not in the shader folder"))
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
