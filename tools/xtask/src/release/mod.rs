//! `cargo xtask release`: everything that people install, from one commit, without a compiler on their side.
//!
//! Owns: `target/release-files`, where the files lie, `target/release-build`, where they are made, and `target/release-tools`. Promises: the
//! program in archive, package and wheel of a system is one file, and the files of a commit are the same bytes whenever and wherever they are
//! made by the same tools. Refuses: a tree with changes, and publishing.

mod bare;
mod licences;
mod manifests;
mod pack;
mod targets;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::python::Environment;
use crate::steps::Steps;
use crate::system::Need;
use crate::{setup, sha256};
use licences::Metadata;
use manifests::Release;
use pack::{GLIBC, Packer};
use targets::{ALL, Target};

const USAGE: &str = "usage: cargo xtask release [--only SYSTEM,...] [--try]
  builds the program for Linux and Windows, and packs archives, Debian packages, wheels, the weights, kiln-ray, a Containerfile, and manifests
  for scoop and winget where `repository` in Cargo.toml names the project's address; files and SHA256SUMS go to target/release-files
  --only  only these systems: linux, windows, aarch64; linux is always built: its program writes pages and completions
  --try   builds nothing: unpacks and installs what lies there in bare systems, and trains with each; needs root and debootstrap";

/// Where files of a release lie.
const FILES: &str = "target/release-files";
/// Where they are made.
const BUILD: &str = "target/release-build";
/// The weights, and the text on them.
const WEIGHTS: &str = "engine/assets/lpips_vgg_f16.safetensors";
const WEIGHTS_TEXT: &str = "engine/assets/README.md";
/// Digests of all other files.
const SUMS: &str = "SHA256SUMS";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut systems, mut is_try) = (ALL.to_vec(), false);
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--try" => is_try = true,
            "--only" => systems = chosen(words.next().unwrap_or_default())?,
            "--help" | "-h" => {
                crate::say(USAGE);
                return Ok(());
            }
            _ => return Err(Failure::usage(USAGE)),
        }
    }
    let mut steps = Steps::default();
    let result = match is_try {
        true => bare::run(root, &systems, &mut steps),
        false => {
            // Its program writes pages and completions.
            if !systems.contains(&Target::Linux) {
                systems.push(Target::Linux);
            }
            build(root, &systems, &mut steps)
        }
    };
    steps.report();
    result
}

/// The systems of a list of names.
fn chosen(names: &str) -> Result<Vec<Target>> {
    let mut wanted = Vec::new();
    for name in names.split(',') {
        let target = ALL.into_iter().find(|target| target.name() == name);
        let target = target.ok_or_else(|| Failure::usage(format!("there is no system `{name}`\n{USAGE}")))?;
        if !wanted.contains(&target) {
            wanted.push(target);
        }
    }
    Ok(wanted)
}

/// What all programs of a release are made with.
struct Builder<'a> {
    root: &'a Path,
    python: PathBuf,
    commit: String,
    packer: Packer<'a>,
    third_party: String,
}

fn build(root: &Path, systems: &[Target], steps: &mut Steps) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Failure::usage("releases are made on Linux on x86-64"));
    }
    if !git(root, &["status", "--porcelain"])?.is_empty() {
        return Err(Failure::new(
            "the working tree has changes; a release is made of a commit",
        ));
    }
    steps.time("set-up", || {
        let mut needs = vec![Need::PythonVenv];
        if systems.contains(&Target::Windows) {
            needs.extend([Need::Mingw, Need::Zip]);
        }
        setup::ensure(&needs)?;
        for target in systems {
            // Where the compiler is rustup's; others have their targets or fail with a message that says so.
            let added = Command::new("rustup")
                .args(["target", "add", target.triple()])
                .current_dir(root)
                .status();
            added.ok();
        }
        Ok(())
    })?;
    let python = tools(root, steps)?;
    let metadata = Metadata::of(root, Target::Linux.triple())?;
    let (version, repository) = metadata
        .project()
        .ok_or_else(|| Failure::new("cargo names no package `kiln`"))?;
    let (work, out) = (root.join(BUILD).join("work"), root.join(FILES));
    tree::empty(&work)?;
    tree::empty(&out)?;
    let time = git(root, &["log", "-1", "--format=%ct"])?;
    let builder = Builder {
        root,
        python,
        commit: git(root, &["rev-parse", "HEAD"])?,
        packer: Packer {
            version,
            time: &time,
            work: &work,
            out: &out,
        },
        third_party: licences::third_party(root)?,
    };

    let common = work.join("common");
    for target in ALL.into_iter().filter(|target| systems.contains(target)) {
        let program = builder.program(target, steps)?;
        steps.time(&format!("archives for {}", target.name()), || {
            if target == Target::Linux {
                tree::common(root, &program, &builder.third_party, &common)?;
            }
            builder.archives(target, &program, &common)
        })?;
    }
    steps.time("weights, kiln-ray, recipes", || {
        builder.weights()?;
        builder.ray()?;
        tree::copy(&root.join("tools/release/Containerfile"), &out.join("Containerfile"))?;
        builder.manifests(systems, repository)
    })?;
    sums(&out)
}

/// The interpreter with what packs and links.
fn tools(root: &Path, steps: &mut Steps) -> Result<PathBuf> {
    let environment = Environment {
        title: "the release's tools",
        folder: "target/release-tools",
        lock: "tools/release/requirements.lock",
        editable: None,
    };
    environment.ensure(root, steps)
}

impl Builder<'_> {
    /// Builds wheel and program; the program's path.
    fn program(&self, target: Target, steps: &mut Steps) -> Result<PathBuf> {
        let stage = self.packer.work.join(format!("wheel-{}", target.suffix()));
        let folder = self.root.join("tools/release");
        let project = tree::read(&folder.join("pyproject.toml"))?
            .replace("@VERSION@", self.packer.version)
            .replace("@ENGINE@", &self.root.join("engine").to_string_lossy());
        tree::write(&stage.join("pyproject.toml"), project.as_bytes())?;
        tree::write(&stage.join(tree::THIRD_PARTY), self.third_party.as_bytes())?;
        tree::copy(&folder.join("README.md"), &stage.join("README.md"))?;
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            tree::copy(&self.root.join(name), &stage.join(name))?;
        }
        let wheels = stage.join("wheels");
        steps.run(
            &format!("program for {}", target.name()),
            self.maturin(target, &stage, &wheels),
            false,
        )?;
        let [name] = &tree::names(&wheels)?[..] else {
            return Err(Failure::new(format!("{} has not one wheel", wheels.display())));
        };
        let wheel = self.packer.out.join(name);
        tree::copy(&wheels.join(name), &wheel)?;
        let unpacked = stage.join("unpacked");
        pack::unzip(&self.python, &wheel, &unpacked)?;
        let program = unpacked
            .join(format!("kiln_splat-{}.data/scripts", self.packer.version))
            .join(target.program());
        // Python's module forgets which files may be run.
        let mut mode = Command::new("chmod");
        mode.arg("755").arg(&program);
        pack::done(mode)?;
        Ok(program)
    }

    fn maturin(&self, target: Target, stage: &Path, wheels: &Path) -> Command {
        let mut command = Command::new(self.python.with_file_name("maturin"));
        command
            .current_dir(stage)
            .args(["build", "--release", "--locked", "--target", target.triple(), "--out"])
            .arg(wheels);
        if target != Target::Windows {
            command.args([
                "--zig",
                "--compatibility",
                &format!("manylinux_{}", GLIBC.replace('.', "_")),
            ]);
        }
        // No path of this machine and no time belongs into the program.
        let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"));
        let places = [
            (self.root.display().to_string(), "kiln"),
            (home.unwrap_or_default(), "cargo"),
        ];
        let (mut rust, mut c) = (Vec::new(), Vec::new());
        for (place, name) in places.iter().filter(|(place, _)| !place.is_empty()) {
            rust.push(format!("--remap-path-prefix={place}={name}"));
            c.push(format!("-ffile-prefix-map={place}={name}"));
        }
        if target == Target::Windows {
            rust.push("-Clink-arg=-Wl,--no-insert-timestamp".to_owned());
        }
        // `maturin` finds zig as a module of the interpreter on the path.
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.python.parent().unwrap_or(Path::new("")).display().to_string();
        command
            .env("PATH", format!("{bin}:{path}"))
            .env("CARGO_TARGET_DIR", self.root.join(BUILD).join("cargo"))
            .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"))
            .env("CFLAGS", c.join(" "))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .env("SOURCE_DATE_EPOCH", self.packer.time)
            .env("KILN_COMMIT", &self.commit)
            .env("KILN_ENGINE_FOLDER", "");
        command
    }

    fn archives(&self, target: Target, program: &Path, common: &Path) -> Result<()> {
        let name = format!("kiln-{}-{}", self.packer.version, target.suffix());
        let folder = self.packer.work.join(&name);
        tree::empty(&folder)?;
        tree::copy(common, &folder)?;
        tree::copy(program, &folder.join(target.program()))?;
        match target.debian() {
            Some(architecture) => {
                self.packer.tar(&name)?;
                self.packer.deb(target, architecture, program, common)?;
            }
            None => {
                fs::remove_dir_all(folder.join("man")).map_err(|e| Failure::io("remove", &folder.join("man"), e))?;
                self.packer.zip(&name)?;
            }
        }
        Ok(())
    }

    /// The weights as archive, package and wheel.
    fn weights(&self) -> Result<()> {
        let (weights, text) = (self.root.join(WEIGHTS), self.root.join(WEIGHTS_TEXT));
        let file = weights.file_name().unwrap_or_default();
        let name = format!("kiln-weights-{}", self.packer.version);
        let folder = self.packer.work.join(&name);
        tree::copy(&weights, &folder.join(file))?;
        tree::copy(&text, &folder.join("README.md"))?;
        self.packer.tar(&name)?;
        self.packer.weights_deb(&weights, &text)?;

        let stage = self.packer.work.join("wheel-weights");
        let project =
            tree::read(&self.root.join("tools/release/weights.toml"))?.replace("@VERSION@", self.packer.version);
        tree::write(&stage.join("pyproject.toml"), project.as_bytes())?;
        tree::copy(&weights, &stage.join(file))?;
        tree::copy(&text, &stage.join("README.md"))?;
        self.wheel(&stage)
    }

    /// The wheel of `kiln-ray`, of a copy: a build writes into its folder.
    fn ray(&self) -> Result<()> {
        let (from, stage) = (self.root.join("tools/ray"), self.packer.work.join("wheel-ray"));
        for name in ["README.md", "pyproject.toml", "kiln_ray"] {
            tree::copy(&from.join(name), &stage.join(name))?;
        }
        self.wheel(&stage)
    }

    fn wheel(&self, stage: &Path) -> Result<()> {
        let mut command = Command::new(&self.python);
        command
            .args([
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-build-isolation",
                "-w",
            ])
            .arg(self.packer.out)
            .arg(stage)
            .env("SOURCE_DATE_EPOCH", self.packer.time);
        pack::done(command)
    }

    /// Manifests that name the address of the archive for Windows.
    fn manifests(&self, systems: &[Target], repository: Option<&str>) -> Result<()> {
        let Some(repository) = repository.filter(|_| systems.contains(&Target::Windows)) else {
            eprintln!(
                "no manifests for scoop and winget: they name an address, and Cargo.toml has no `repository`, or Windows is not built"
            );
            return Ok(());
        };
        let name = format!("kiln-{}-{}", self.packer.version, Target::Windows.suffix());
        let digest = digest(&self.packer.out.join(format!("{name}.zip")))?;
        let release = Release {
            version: self.packer.version,
            repository,
            name: &name,
            sha256: &digest,
        };
        tree::write(&self.packer.out.join("scoop/kiln.json"), release.scoop().as_bytes())?;
        for (file, text) in release.winget() {
            tree::write(&self.packer.out.join("winget").join(file), text.as_bytes())?;
        }
        Ok(())
    }
}

fn digest(path: &Path) -> Result<String> {
    Ok(sha256(&fs::read(path).map_err(|e| Failure::io("read", path, e))?))
}

/// Writes `SHA256SUMS`, and prints each file with its size.
fn sums(out: &Path) -> Result<()> {
    let mut text = String::new();
    for name in tree::names(out)? {
        let path = out.join(&name);
        if path.is_file() {
            let bytes = fs::metadata(&path).map_err(|e| Failure::io("read", &path, e))?.len();
            crate::say(format!("{:>9.2} MB  {}", bytes as f64 / 1e6, path.display()));
            text += &format!("{}  {}\n", digest(&path)?, name.display());
        }
    }
    tree::write(&out.join(SUMS), text.as_bytes())
}

fn git(root: &Path, args: &[&str]) -> Result<String> {
    let root = root.to_string_lossy();
    let said = tree::said(Path::new("git"), &[&["-C", root.as_ref()], args].concat())?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_name() {
        assert_eq!(chosen("windows,linux").ok(), Some(vec![Target::Windows, Target::Linux]));
        assert_eq!(chosen("aarch64,aarch64").ok(), Some(vec![Target::Arm]));
        assert!(chosen("macos").is_err_and(|failure| failure.message.contains("`macos`")));
    }
}
