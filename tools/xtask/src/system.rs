//! What the machine has of the things Kiln needs, by looking at files.
//!
//! Owns: the search for the Vulkan loader, drivers, layers and programs, along
//! the paths that the Vulkan loader documents. Promises: never loads anything.
//! Refuses: judging whether a driver works; only `kiln doctor` can.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Something that a task needs from the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The Vulkan loader, `libvulkan.so.1`.
    Loader,
    /// A Vulkan driver of any kind.
    Driver,
    /// The Khronos validation layer.
    ValidationLayer,
    /// The program `spirv-val`.
    SpirvVal,
    /// A browser that tests drive.
    Browser,
    /// Python with virtual environments.
    PythonVenv,
    /// A C compiler for Windows.
    Mingw,
    /// The programs `wine` and `wineserver`.
    Wine,
    /// The program `Xvfb`.
    Display,
    /// The program `zip`.
    Zip,
    /// The program `debootstrap`.
    Debootstrap,
    /// An emulator of ARM's processors.
    QemuArm,
    /// A C compiler for ARM.
    ArmCompiler,
    /// The C library for ARM.
    ArmLibrary,
}

impl Need {
    /// The Debian and Ubuntu package that brings it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Loader => "libvulkan1",
            Self::Driver => "mesa-vulkan-drivers",
            Self::ValidationLayer => "vulkan-validationlayers",
            Self::SpirvVal => "spirv-tools",
            Self::Browser => "chromium",
            Self::PythonVenv => "python3-venv",
            Self::Mingw => "gcc-mingw-w64-x86-64",
            Self::Wine => "wine",
            Self::Display => "xvfb",
            Self::Zip => "zip",
            Self::Debootstrap => "debootstrap",
            Self::QemuArm => "qemu-user-static",
            Self::ArmCompiler => "gcc-aarch64-linux-gnu",
            Self::ArmLibrary => "libc6-dev-arm64-cross",
        }
    }

    /// What it is, in the words of a message.
    pub fn title(self) -> &'static str {
        match self {
            Self::Loader => "the Vulkan loader (libvulkan.so.1)",
            Self::Driver => "a Vulkan driver (Mesa brings a CPU driver, lavapipe)",
            Self::ValidationLayer => "the Vulkan validation layer",
            Self::SpirvVal => "the program spirv-val",
            Self::Browser => "a browser for tests (Chromium or Chrome)",
            Self::PythonVenv => "Python with virtual environments",
            Self::Mingw => "a C compiler for Windows (mingw)",
            Self::Wine => "Wine, which runs programs for Windows",
            Self::Display => "a display without a screen (Xvfb)",
            Self::Zip => "the archiver `zip`",
            Self::Debootstrap => "what makes bare systems (debootstrap)",
            Self::QemuArm => "an emulator of ARM's processors (qemu)",
            Self::ArmCompiler => "a C compiler for ARM",
            Self::ArmLibrary => "the C library for ARM",
        }
    }

    /// Whether files on this machine say that it is there.
    pub fn is_met(self) -> bool {
        let environment = |name: &str| std::env::var_os(name);
        match self {
            Self::Loader => library("libvulkan.so.1", &environment),
            Self::Driver => drivers(&environment)
                .iter()
                .any(|file| library_exists(file, "ICD", &environment)),
            Self::ValidationLayer => validation_layer(&environment),
            Self::SpirvVal => program("spirv-val", &environment).is_some(),
            Self::Browser => browser().is_some(),
            Self::PythonVenv => has_python_venv(),
            Self::Mingw => program("x86_64-w64-mingw32-gcc", &environment).is_some(),
            Self::Wine => ["wine", "wineserver"]
                .iter()
                .all(|name| program(name, &environment).is_some()),
            Self::Display => program("Xvfb", &environment).is_some(),
            Self::Zip => program("zip", &environment).is_some(),
            Self::Debootstrap => ["/usr/sbin/debootstrap", "/sbin/debootstrap"]
                .iter()
                .any(|path| Path::new(path).is_file()),
            Self::QemuArm => program("qemu-aarch64-static", &environment).is_some(),
            Self::ArmCompiler => program("aarch64-linux-gnu-gcc", &environment).is_some(),
            Self::ArmLibrary => Path::new("/usr/aarch64-linux-gnu/include/stdio.h").is_file(),
        }
    }
}

/// Whether Mesa's CPU driver has a manifest here.
pub fn has_lavapipe() -> bool {
    let is_lavapipe = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("lvp_icd"))
    };
    drivers(&|name| std::env::var_os(name)).iter().any(is_lavapipe)
}

/// The keys that Debian signs its archive with.
pub const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Whether packages of Debian 12's backports run here.
pub fn has_bookworm_backports() -> bool {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    is_bookworm(&release) && Path::new(DEBIAN_KEYRING).exists()
}

fn is_bookworm(release: &str) -> bool {
    release.lines().any(|line| line == "VERSION_CODENAME=bookworm")
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The manifests of all drivers that the loader would look at.
fn drivers(environment: Environment<'_>) -> Vec<PathBuf> {
    // The loader reads nothing else when one of these is set; the older name counts when the newer is absent.
    let forced = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .iter()
        .find_map(|name| environment(name));
    let places = match forced {
        Some(list) => std::env::split_paths(&list).collect(),
        None => folders("icd.d", environment),
    };
    places.iter().flat_map(|place| manifests(place)).collect()
}

fn validation_layer(environment: Environment<'_>) -> bool {
    let mut places = folders("explicit_layer.d", environment);
    for name in ["VK_LAYER_PATH", "VK_ADD_LAYER_PATH"] {
        places.extend(environment(name).iter().flat_map(std::env::split_paths));
    }
    let named = |path: &PathBuf| path.file_name().is_some_and(|n| n == "VkLayer_khronos_validation.json");
    places
        .iter()
        .flat_map(|place| manifests(place))
        .any(|path| named(&path))
}

/// The JSON files at a place that may be a file or a folder.
fn manifests(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_path_buf()];
    }
    let entries = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
}

/// `vulkan/KIND` under every folder of the loader's search order.
fn folders(kind: &str, environment: Environment<'_>) -> Vec<PathBuf> {
    let list = |name: &str, default: &str| -> Vec<PathBuf> {
        let value = environment(name)
            .filter(|value| !value.is_empty())
            .unwrap_or_else(|| default.into());
        std::env::split_paths(&value).collect()
    };
    let home = environment("HOME").map(PathBuf::from).unwrap_or_default();
    let home_default = |tail: &str| home.join(tail).to_string_lossy().into_owned();
    let mut bases = list("XDG_CONFIG_HOME", &home_default(".config"));
    bases.extend(list("XDG_CONFIG_DIRS", "/etc/xdg"));
    bases.extend(["/usr/local/etc", "/etc"].map(PathBuf::from));
    bases.extend(list("XDG_DATA_HOME", &home_default(".local/share")));
    bases.extend(list("XDG_DATA_DIRS", "/usr/local/share:/usr/share"));
    bases.into_iter().map(|base| base.join("vulkan").join(kind)).collect()
}

/// Whether the library that a driver manifest names exists.
fn library_exists(manifest: &Path, section: &str, environment: Environment<'_>) -> bool {
    let Some(name) = library_path(manifest, section) else {
        return false;
    };
    if !name.contains('/') {
        return library(&name, environment);
    }
    // An absolute name replaces the folder in `join`; a relative one starts at the manifest.
    manifest.parent().unwrap_or(Path::new("/")).join(name).exists()
}

fn library_path(manifest: &Path, section: &str) -> Option<String> {
    let value: Value = serde_json::from_str(&fs::read_to_string(manifest).ok()?).ok()?;
    value[section]["library_path"].as_str().map(str::to_owned)
}

/// Whether the dynamic linker finds a library of that name.
fn library(name: &str, environment: Environment<'_>) -> bool {
    // Debian keeps ldconfig out of the search path of ordinary users.
    for ldconfig in ["/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"] {
        if let Ok(output) = Command::new(ldconfig).arg("-p").output()
            && output.status.success()
        {
            let text = String::from_utf8_lossy(&output.stdout);
            if text.lines().any(|line| line.split_whitespace().next() == Some(name)) {
                return true;
            }
            break;
        }
    }
    let paths = environment("LD_LIBRARY_PATH").unwrap_or_default();
    let machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let standard = [machine.as_str(), "/usr/lib64", "/usr/lib", "/lib", "/usr/local/lib"].map(PathBuf::from);
    std::env::split_paths(&paths)
        .chain(standard)
        .any(|folder| folder.join(name).exists())
}

/// The program of a browser that understands the DevTools protocol, when one is installed.
pub fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
        .iter()
        .find_map(|name| program(name, &|name| std::env::var_os(name)))
}

/// Whether Python makes virtual environments with pip in them; Debian keeps that in a package of its own.
fn has_python_venv() -> bool {
    let output = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Where the program of that name lies.
fn program(name: &str, environment: Environment<'_>) -> Option<PathBuf> {
    let paths = environment("PATH").unwrap_or_default();
    std::env::split_paths(&paths)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-system-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_driver_counts_only_when_its_library_exists() {
        let folder = scratch("driver");
        let file = folder.join("a_icd.json");
        fs::write(&file, r#"{"ICD": {"library_path": "./liba.so"}}"#).unwrap();
        let none = |_: &str| None;
        assert!(!library_exists(&file, "ICD", &none));
        fs::write(folder.join("liba.so"), "").unwrap();
        assert!(library_exists(&file, "ICD", &none));
        fs::write(&file, "not json").unwrap();
        assert!(!library_exists(&file, "ICD", &none));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_forced_list_replaces_the_folders_and_the_newer_name_wins() {
        let folder = scratch("forced");
        let (a, b) = (folder.join("a.json"), folder.join("b.json"));
        fs::write(&a, "{}").unwrap();
        fs::write(&b, "{}").unwrap();
        let old_name = |name: &str| (name == "VK_ICD_FILENAMES").then(|| a.clone().into_os_string());
        assert_eq!(drivers(&old_name), std::slice::from_ref(&a));
        let both = |name: &str| match name {
            "VK_DRIVER_FILES" => Some(b.clone().into_os_string()),
            "VK_ICD_FILENAMES" => Some(a.clone().into_os_string()),
            _ => None,
        };
        assert_eq!(drivers(&both), std::slice::from_ref(&b));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn debian_12_is_known_by_its_code_name() {
        assert!(is_bookworm("ID=debian\nVERSION_CODENAME=bookworm\n"));
        assert!(!is_bookworm("ID=ubuntu\nVERSION_CODENAME=noble\n"));
    }

    #[test]
    fn data_folders_are_searched() {
        let folder = scratch("folders");
        let icd = folder.join("vulkan/icd.d");
        fs::create_dir_all(&icd).unwrap();
        fs::write(icd.join("x.json"), "{}").unwrap();
        let environment = |name: &str| (name == "XDG_DATA_DIRS").then(|| folder.clone().into_os_string());
        assert!(drivers(&environment).contains(&icd.join("x.json")));
        fs::remove_dir_all(folder).unwrap();
    }
}
