//! Folders into archives and packages, the same bytes for the same files: names are sorted, times are the commit's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::targets::Target;
use super::tree::{copy, empty, write};
use crate::failure::{Failure, Result};
use crate::steps::line;

/// The oldest glibc that programs ask for: what zig links against.
pub(crate) const GLIBC: &str = "2.28";

/// Of what commit, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packer<'a> {
    /// Version of the release.
    pub(crate) version: &'a str,
    /// Seconds since 1970 of the commit.
    pub(crate) time: &'a str,
    /// Folder for what is being made.
    pub(crate) work: &'a Path,
    /// Folder for what is done.
    pub(crate) out: &'a Path,
}

impl Packer<'_> {
    /// `NAME.tar.gz` of the folder of that name.
    pub(crate) fn tar(&self, name: &str) -> Result<PathBuf> {
        let path = self.out.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.args([
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=u=rwX,go=rX",
        ])
        .arg(format!("--mtime=@{}", self.time))
        .args(["--use-compress-program=gzip -n9", "-C"])
        .arg(self.work)
        .arg("-cf")
        .arg(&path)
        .arg(name);
        done(tar)?;
        Ok(path)
    }

    /// `NAME.zip` of the folder of that name.
    pub(crate) fn zip(&self, name: &str) -> Result<PathBuf> {
        let path = self.out.join(format!("{name}.zip"));
        if path.exists() {
            fs::remove_file(&path).map_err(|e| Failure::io("remove", &path, e))?;
        }
        // Modes and times are in the archive; `-X` leaves users and further times out.
        let mut touch = Command::new("find");
        touch
            .arg(self.work.join(name))
            .args(["-exec", "touch", "-d"])
            .arg(format!("@{}", self.time));
        touch.args(["{}", "+"]);
        done(touch)?;
        let mut zip = Command::new("sh");
        zip.current_dir(self.work)
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .args([
                "-c",
                "chmod -R u=rwX,go=rX \"$1\" && find \"$1\" -type f | sort | zip -q -9 -X -@ \"$2\"",
                "sh",
                name,
            ])
            .arg(&path);
        done(zip)?;
        Ok(path)
    }

    /// The package of the program; `common` is what archives have beside it.
    pub(crate) fn deb(&self, target: Target, architecture: &str, program: &Path, common: &Path) -> Result<PathBuf> {
        let folder = self.work.join(format!("deb-{architecture}"));
        empty(&folder)?;
        let share = folder.join("usr/share");
        copy(program, &folder.join("usr/bin").join(target.program()))?;
        for page in super::tree::names(&common.join("man"))? {
            let to = share.join("man/man1").join(&page);
            copy(&common.join("man").join(&page), &to)?;
            let mut gzip = Command::new("gzip");
            gzip.args(["-n9"]).arg(&to);
            done(gzip)?;
        }
        let completions = common.join("completions");
        copy(
            &completions.join("kiln.bash"),
            &share.join("bash-completion/completions/kiln"),
        )?;
        copy(&completions.join("_kiln"), &share.join("zsh/vendor-completions/_kiln"))?;
        copy(
            &completions.join("kiln.fish"),
            &share.join("fish/vendor_completions.d/kiln.fish"),
        )?;
        copy(&common.join("configs"), &share.join("kiln/configs"))?;
        let documents = share.join("doc/kiln");
        for name in [
            "README.md",
            "CHANGELOG.md",
            "LICENSE-MIT",
            "LICENSE-APACHE",
            super::tree::THIRD_PARTY,
        ] {
            copy(&common.join(name), &documents.join(name))?;
        }
        copy(&common.join("docs"), &documents.join("docs"))?;
        let licence = "Kiln: MIT or Apache-2.0, at your choice; see LICENSE-MIT and LICENSE-APACHE. What it contains of others: THIRD-PARTY.txt.\n";
        write(&documents.join("copyright"), licence.as_bytes())?;
        let control = control(&[
            ("Package", "kiln"),
            ("Version", self.version),
            ("Architecture", architecture),
            ("Depends", &format!("libc6 (>= {GLIBC}), libvulkan1")),
            ("Recommends", "kiln-weights, mesa-vulkan-drivers"),
            ("Suggests", "colmap"),
            ("Section", "graphics"),
            ("Installed-Size", &kibibytes(&folder)?.to_string()),
            (
                "Description",
                "trains 3D Gaussian Splatting scenes inside a fixed GPU memory budget\n Runs on any Vulkan 1.2 card, headless; results are shown in a browser.",
            ),
        ]);
        self.debian(&folder, &control, &format!("kiln_{}_{architecture}.deb", self.version))
    }

    /// The package of the weights.
    pub(crate) fn weights_deb(&self, weights: &Path, text: &Path) -> Result<PathBuf> {
        let folder = self.work.join("deb-weights");
        empty(&folder)?;
        copy(
            weights,
            &folder
                .join("usr/share/kiln")
                .join(weights.file_name().unwrap_or_default()),
        )?;
        copy(text, &folder.join("usr/share/doc/kiln-weights/copyright"))?;
        let control = control(&[
            ("Package", "kiln-weights"),
            ("Version", self.version),
            ("Architecture", "all"),
            ("Enhances", "kiln"),
            ("Section", "graphics"),
            ("Installed-Size", &kibibytes(&folder)?.to_string()),
            ("Description", "weights of LPIPS (VGG16) as Kiln reads them"),
        ]);
        self.debian(&folder, &control, &format!("kiln-weights_{}_all.deb", self.version))
    }

    fn debian(&self, folder: &Path, control: &str, name: &str) -> Result<PathBuf> {
        write(&folder.join("DEBIAN/control"), control.as_bytes())?;
        let path = self.out.join(name);
        let mut modes = Command::new("chmod");
        modes.args(["-R", "u=rwX,go=rX"]).arg(folder);
        done(modes)?;
        let mut build = Command::new("dpkg-deb");
        build
            .env("SOURCE_DATE_EPOCH", self.time)
            .args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"])
            .arg(folder)
            .arg(&path)
            .stdout(Stdio::null());
        done(build)?;
        Ok(path)
    }
}

/// Fields of a package, and who it is from.
fn control(fields: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        text += &format!("{name}: {value}\n");
    }
    text + "Maintainer: The authors of Kiln <kiln@localhost>\nPriority: optional\n"
}

/// Size of all files below a folder, rounded up.
fn kibibytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for name in super::tree::names(folder)? {
        let path = folder.join(name);
        bytes += match path.is_dir() {
            true => kibibytes(&path)? * 1024,
            false => fs::metadata(&path).map_err(|e| Failure::io("read", &path, e))?.len(),
        };
    }
    Ok(bytes.div_ceil(1024))
}

/// Runs a command to its end.
pub(crate) fn done(mut command: Command) -> Result<()> {
    let status = command.status();
    let status = status.map_err(|e| Failure::new(format!("cannot start `{}`: {e}", line(&command))))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("`{}` ended with {status}", line(&command)))),
    }
}

/// Unpacks a wheel or another ZIP archive into an empty folder.
pub(crate) fn unzip(python: &Path, archive: &Path, folder: &Path) -> Result<()> {
    empty(folder)?;
    let mut command = Command::new(python);
    command.args(["-m", "zipfile", "-e"]).arg(archive).arg(folder);
    done(command)
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Two folders with the same files, made at different times, give the same archives.
    #[test]
    fn archives_do_not_depend_on_when_files_were_made() {
        let folder = std::env::temp_dir().join(format!("xtask-pack-{}", std::process::id()));
        let mut digests = Vec::new();
        for (round, mode) in [(0, 0o600), (1, 0o644)] {
            let (work, out) = (
                folder.join(format!("work-{round}")),
                folder.join(format!("out-{round}")),
            );
            super::super::tree::make(&out).unwrap();
            write(&work.join("kiln-1/b.txt"), b"b").unwrap();
            write(&work.join("kiln-1/a/a.txt"), b"a").unwrap();
            let file = work.join("kiln-1/b.txt");
            fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            fs::File::open(&file)
                .unwrap()
                .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(round))
                .unwrap();
            let packer = Packer {
                version: "1",
                time: "1700000000",
                work: &work,
                out: &out,
            };
            let archives = [packer.tar("kiln-1").unwrap(), packer.weights_deb(&file, &file).unwrap()];
            digests.push(archives.map(|path| crate::sha256(&fs::read(path).unwrap())));
        }
        assert_eq!(digests[0], digests[1]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn fields_stand_one_to_a_line() {
        let text = control(&[("Package", "kiln"), ("Version", "1")]);
        assert!(text.starts_with("Package: kiln\nVersion: 1\nMaintainer: "), "{text}");
    }
}
