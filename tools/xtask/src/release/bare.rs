//! `cargo xtask release --try`: what was built, on systems that have nothing but a Vulkan driver and Python.
//!
//! Owns: `target/chroots`, where bare systems are made once and kept. Promises: every channel trains the bundled scene with the weights found,
//! and ends in the same bytes on one system. Refuses: to run without root, which `chroot` needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::targets::Target;
use super::{FILES, pack, tree};
use crate::failure::{Failure, Result};
use crate::setup;
use crate::steps::{self, Steps};
use crate::system::Need;
use crate::windows::Wine;

/// A system, as `debootstrap` makes it.
struct System {
    /// Its title.
    title: &'static str,
    /// Its code name.
    suite: &'static str,
    mirror: &'static str,
    /// The keys of its archive.
    keyring: &'static str,
    /// The script for it; older versions of `debootstrap` do not know new names.
    script: &'static str,
    components: &'static str,
}

const UBUNTU: &str = "http://archive.ubuntu.com/ubuntu";
const UBUNTU_KEYS: &str = "/usr/share/keyrings/ubuntu-archive-keyring.gpg";

const SYSTEMS: [System; 3] = [
    System {
        title: "Debian 12",
        suite: "bookworm",
        mirror: "http://deb.debian.org/debian",
        keyring: crate::system::DEBIAN_KEYRING,
        script: "/usr/share/debootstrap/scripts/sid",
        components: "main",
    },
    System {
        title: "Ubuntu 22.04",
        suite: "jammy",
        mirror: UBUNTU,
        keyring: UBUNTU_KEYS,
        script: "/usr/share/debootstrap/scripts/jammy",
        components: "main,universe",
    },
    System {
        title: "Ubuntu 24.04",
        suite: "noble",
        mirror: UBUNTU,
        keyring: UBUNTU_KEYS,
        script: "/usr/share/debootstrap/scripts/jammy",
        components: "main,universe",
    },
];
/// What a person has before Kiln comes: the loader, a driver, and Python for wheels.
const PACKAGES: &str = "libvulkan1,mesa-vulkan-drivers,python3,python3-venv";
/// The bundled scene.
const SCENE: &str = "tests/scenes/stilllife";
/// Some steps of it, with figures that need the weights.
const TRAIN: &str = "--profile cpu -r 8 --iterations 10 --set train.deterministic=true --set eval.lpips=true";
/// Stands for the folder of a system that is ready.
const READY: &str = ".ready";

/// Tries what lies in the folder of a release.
pub(super) fn run(root: &Path, systems: &[Target], steps: &mut Steps) -> Result<()> {
    if tree::said(Path::new("id"), &["-u"])?.trim_ascii() != b"0" {
        return Err(Failure::usage(
            "`chroot` needs root\nhint: `sudo cargo xtask release --try`",
        ));
    }
    let files = root.join(FILES);
    if !files.is_dir() {
        return Err(Failure::new(format!(
            "{} is not there\nhint: `cargo xtask release` makes it",
            files.display()
        )));
    }
    let files: Vec<PathBuf> = tree::names(&files)?.into_iter().map(|name| files.join(name)).collect();
    if systems.contains(&Target::Linux) {
        steps.time("set-up", || setup::ensure(&[Need::Debootstrap]))?;
        for system in &SYSTEMS {
            let folder = system.ensure(root, steps)?;
            bring(root, &files, &folder)?;
            for channel in ["archive", "package", "wheel"] {
                let mut inside = Command::new("unshare");
                inside
                    .args(["--mount", "--fork", "sh", "-e"])
                    .arg(folder.join("try/enter.sh"));
                inside.arg(&folder).arg(channel).arg(TRAIN);
                steps.run(&format!("{}: {channel}", system.title), inside, false)?;
            }
            equal(&folder.join("try"), system.title)?;
        }
    }
    if systems.contains(&Target::Windows) {
        windows(root, &files, steps)?;
    }
    if systems.contains(&Target::Arm) {
        arm(root, &files, steps)?;
    }
    Ok(())
}

/// Mounts what programs expect, and goes inside: `$1` is the system's folder, `$2` the channel, `$3` what is trained.
const ENTER: &str = r#"
mount -t proc proc "$1/proc"
cp /etc/resolv.conf "$1/etc/resolv.conf"
exec chroot "$1" /bin/sh -e /try/"$2".sh "$3"
"#;

/// Each channel's commands, as a person types them.
const CHANNELS: [(&str, &str); 3] = [
    (
        "archive",
        "cd /try; tar -xzf kiln-[0-9]*-x86_64-linux.tar.gz; tar -xzf kiln-weights-*.tar.gz
cp kiln-weights-*/*.safetensors kiln-[0-9]*-linux/
kiln=$(echo /try/kiln-[0-9]*-linux/kiln)
",
    ),
    (
        "package",
        "export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends /try/kiln_*_amd64.deb /try/kiln-weights_*.deb > /dev/null
kiln=$(command -v kiln); [ \"$(ls /usr/share/man/man1/kiln*.1.gz | wc -l)\" -gt 15 ]
",
    ),
    (
        "wheel",
        "python3 -m venv /try/venv
/try/venv/bin/pip install -q --disable-pip-version-check --no-index --find-links /try 'kiln-splat[lpips]'
kiln=/try/venv/bin/kiln
",
    ),
];

/// Trains with the program of a channel, and keeps the digest of its model.
const TRAINED: &str = r#"
[ ! -e /usr/bin/cc ] && [ ! -e /usr/bin/cargo ]
echo "$0: installed in $(($(date +%s) - began)) s"
"$kiln" --version
"$kiln" doctor
rm -rf "/try/run-$0"
"$kiln" train /try/scene -o "/try/run-$0" $1
# A figure: the weights were found.
grep -q '"lpips": 0[.]' "/try/run-$0/eval/iteration_10/metrics.json"
sha256sum < "/try/run-$0/point_cloud/iteration_10/point_cloud.ply" > "/try/$0.sha256"
"#;

impl System {
    /// Makes the system unless it is there.
    fn ensure(&self, root: &Path, steps: &mut Steps) -> Result<PathBuf> {
        let folder = root.join("target/chroots").join(self.suite);
        if folder.join(READY).exists() {
            return Ok(folder);
        }
        if !Path::new(self.keyring).exists() {
            return Err(Failure::set_up(format!(
                "{} is missing, which {} is signed with\nhint: package `ubuntu-keyring` of Ubuntu has it",
                self.keyring, self.title
            )));
        }
        tree::empty(&folder)?;
        let mut make = Command::new("debootstrap");
        make.args([
            "--variant=minbase",
            &format!("--include={PACKAGES}"),
            &format!("--components={}", self.components),
        ]);
        make.arg(format!("--keyring={}", self.keyring))
            .arg(self.suite)
            .arg(&folder)
            .args([self.mirror, self.script]);
        steps.run(&format!("{} from nothing", self.title), make, false)?;
        tree::write(&folder.join(READY), b"")?;
        Ok(folder)
    }
}

/// Files, scene and commands into a system.
fn bring(root: &Path, files: &[PathBuf], folder: &Path) -> Result<()> {
    let place = folder.join("try");
    tree::empty(&place)?;
    for file in files.iter().filter(|file| file.is_file()) {
        tree::copy(file, &place.join(file.file_name().unwrap_or_default()))?;
    }
    tree::copy(&root.join(SCENE), &place.join("scene"))?;
    tree::write(&place.join("enter.sh"), ENTER.as_bytes())?;
    for (channel, commands) in CHANNELS {
        // The channel's name is `$0` of what trains.
        let trained = TRAINED.replace("$0", channel);
        tree::write(
            &place.join(format!("{channel}.sh")),
            format!("began=$(date +%s)\n{commands}{trained}").as_bytes(),
        )?;
    }
    Ok(())
}

/// All channels of a system ended in the same model.
fn equal(place: &Path, title: &str) -> Result<()> {
    let digests: Vec<String> = CHANNELS
        .iter()
        .map(|(channel, _)| tree::read(&place.join(format!("{channel}.sha256"))))
        .collect::<Result<_>>()?;
    match digests.iter().all(|digest| *digest == digests[0]) {
        true => {
            eprintln!("{title}: archive, package and wheel end in {}", digests[0].trim());
            Ok(())
        }
        false => Err(Failure::new(format!(
            "{title}: the channels end in different models: {digests:?}"
        ))),
    }
}

/// The one file whose name begins and ends so.
fn file<'a>(files: &'a [PathBuf], begin: &str, end: &str) -> Result<&'a PathBuf> {
    let fits = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    };
    let found = files.iter().find(fits);
    found.ok_or_else(|| {
        Failure::new(format!(
            "no `{begin}...{end}` in {FILES}\nhint: `cargo xtask release` makes it"
        ))
    })
}

/// The folder that an archive holds, unpacked below `target/release-build/try`.
fn unpacked(root: &Path, archive: &Path, end: &str) -> Result<PathBuf> {
    let place = root.join(super::BUILD).join("try").join(end);
    tree::empty(&place)?;
    let mut command = match end {
        ".zip" => {
            let mut unzip = Command::new("python3");
            unzip.args(["-m", "zipfile", "-e"]).arg(archive).arg(&place);
            unzip
        }
        _ => {
            let mut tar = Command::new("tar");
            tar.arg("-xzf").arg(archive).arg("-C").arg(&place);
            tar
        }
    };
    command.current_dir(root);
    pack::done(command)?;
    let names = tree::names(&place)?;
    Ok(place.join(names.first().map(PathBuf::as_path).unwrap_or(Path::new(""))))
}

/// The archive for Windows under Wine.
fn windows(root: &Path, files: &[PathBuf], steps: &mut Steps) -> Result<()> {
    setup::ensure(&[Need::Loader, Need::Driver, Need::Mingw])?;
    let wine = Wine::ensure(root, steps)?;
    let folder = unpacked(root, file(files, "kiln-", "-windows.zip")?, ".zip")?;
    // What Wine 8 lacks.
    let mut library = Command::new("x86_64-w64-mingw32-gcc");
    library
        .current_dir(root.join("tests/windows"))
        .args(["-O2", "-s", "-shared", "-o"]);
    library
        .arg(folder.join("bcryptprimitives.dll"))
        .args(["bcryptprimitives.c", "-ladvapi32"]);
    pack::done(library)?;
    let weights = root.join(super::WEIGHTS);
    tree::copy(&weights, &folder.join(weights.file_name().unwrap_or_default()))?;
    let run = folder.with_file_name("run");
    let mut train = Command::new("wine");
    wine.settings(&mut train);
    train
        .current_dir(&folder)
        .arg("kiln.exe")
        .arg("train")
        .arg(root.join(SCENE))
        .arg("-o")
        .arg(&run);
    train.args(TRAIN.split_whitespace());
    steps.run("Wine: archive", train, false)?;
    let model = run.join("point_cloud/iteration_10/point_cloud.ply");
    eprintln!("Wine: the archive ends in {}", super::digest(&model)?);
    fs::remove_dir_all(&run).map_err(|e| Failure::io("remove", &run, e))
}

/// Under emulation, without a device: the program plans, and unit tests of crates that need none pass.
fn arm(root: &Path, files: &[PathBuf], steps: &mut Steps) -> Result<()> {
    steps.time("set-up for ARM", || {
        setup::ensure(&[Need::QemuArm, Need::ArmCompiler, Need::ArmLibrary])
    })?;
    let folder = unpacked(root, file(files, "kiln-", "-aarch64-linux.tar.gz")?, ".tar.gz")?;
    let emulator = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"];
    let mut plan = Command::new(emulator[0]);
    plan.args(&emulator[1..])
        .arg(folder.join("kiln"))
        .arg("plan")
        .arg(root.join(SCENE))
        .args(["--profile", "8gb"]);
    steps.run("ARM: plan", plan, false)?;
    let mut tests = steps::cargo(root, &["test", "--locked", "--lib", "--target", Target::Arm.triple()]);
    tests.args(UNIT.iter().flat_map(|name| ["-p", name]));
    // What the system says of memory is the emulator's.
    tests.args(["--no-fail-fast", "--", "--skip", "memory_is_as_predicted"]);
    tests
        .env("CARGO_TARGET_DIR", root.join(super::BUILD).join("arm"))
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
        .env("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", emulator.join(" "));
    steps.run_tests("ARM: unit tests", tests)
}

/// Crates without a device.
const UNIT: [&str; 10] = [
    "kiln-blocks",
    "kiln-files",
    "kiln-formats",
    "kiln-gaussians",
    "kiln-mesh",
    "kiln-ply",
    "kiln-program",
    "kiln-scene",
    "kiln-triangles",
    "kiln-twins",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_both_ends() {
        let files = ["a/kiln-1-x86_64-linux.tar.gz", "a/kiln-1-aarch64-linux.tar.gz"].map(PathBuf::from);
        assert_eq!(file(&files, "kiln-", "-aarch64-linux.tar.gz").ok(), Some(&files[1]));
        let missing = file(&files, "kiln-", "-windows.zip");
        assert!(missing.is_err_and(|failure| failure.message.contains("cargo xtask release")));
    }
}
