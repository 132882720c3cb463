//! What surrounds the process and decides which devices it can reach: system, container, drivers as files.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::wsl::is_wsl_at;

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Where drivers register with the loader of Vulkan.
const MANIFESTS: [&str; 3] = [
    "etc/vulkan/icd.d",
    "usr/share/vulkan/icd.d",
    "usr/local/share/vulkan/icd.d",
];

/// Variables that name drivers in place of these folders; the first one that is set counts.
const CHOOSERS: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Where WSL2 keeps the libraries of the card.
const WSL_LIBRARIES: &str = "/usr/lib/wsl/lib";

/// The machine as a process sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Windows itself, of which nothing but variables is looked up.
    pub windows: bool,
    /// Linux inside Windows.
    pub wsl: bool,
    /// `/dev/dxg`, by which WSL2 reaches the card.
    pub dxg: bool,
    /// The linker finds the libraries of the card under WSL2.
    pub knows_wsl_libraries: bool,
    /// Inside of a container.
    pub container: bool,
    /// NVIDIA's kernel driver answers here.
    pub nvidia: bool,
    /// `NVIDIA_DRIVER_CAPABILITIES`: the parts of that driver that a container was given.
    pub nvidia_capabilities: Option<String>,
    /// Render nodes, and whether this user may open them.
    pub render_nodes: Vec<(String, bool)>,
    /// Names of the manifests of drivers that the loader reads: those of a variable that chooses, else of the system's folders. Windows
    /// keeps them in its registry, where none is looked up.
    pub manifests: Vec<String>,
    /// The variable that chooses drivers.
    pub chosen_by: Option<&'static str>,
    /// Files that it names and that are not there.
    pub missing: Vec<String>,
}

impl Surroundings {
    /// Of this process.
    #[must_use]
    pub fn here() -> Self {
        let var = |name: &str| std::env::var_os(name);
        match cfg!(unix) {
            true => Self::read(Path::new("/"), &var),
            // There such folders are WSL's, or of whoever made them on the current drive.
            false => {
                let windows = Self {
                    windows: cfg!(windows),
                    ..Self::default()
                };
                Self::chosen(&var, &Path::to_owned, windows)
            }
        }
    }

    /// Of a process whose file system begins at `root` and whose variables `var` gives.
    #[must_use]
    pub fn read(root: &Path, var: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let text = |path: &str| kiln_files::read_text(&root.join(path), MOST_BYTES).unwrap_or_default();
        let is_there = |path: &str| root.join(path).exists();
        let names = |path: &str| -> Vec<String> {
            let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        };
        let groups = text("proc/1/cgroup");
        let in_group = ["docker", "kubepods", "containerd", "lxc", "libpod"];
        let mut manifests: Vec<String> = MANIFESTS.iter().flat_map(|folder| names(folder)).collect();
        manifests.sort();
        let mut render_nodes: Vec<(String, bool)> = names("dev/dri")
            .into_iter()
            .filter(|name| name.starts_with("renderD"))
            .map(|name| {
                let opened = File::options()
                    .read(true)
                    .write(true)
                    .open(root.join("dev/dri").join(&name));
                let refused = opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
                (format!("/dev/dri/{name}"), !refused)
            })
            .collect();
        render_nodes.sort();
        let mut linker = names("etc/ld.so.conf.d").into_iter();
        let knows = |text: &str| {
            text.lines()
                .any(|line| line.trim().trim_end_matches('/') == WSL_LIBRARIES)
        };
        let of_loader = var("LD_LIBRARY_PATH").unwrap_or_default();
        let around = Self {
            wsl: is_wsl_at(root, &|name| var(name).is_some()),
            dxg: is_there("dev/dxg"),
            knows_wsl_libraries: knows(&text("etc/ld.so.conf"))
                || linker.any(|name| knows(&text(&format!("etc/ld.so.conf.d/{name}"))))
                || std::env::split_paths(&of_loader).any(|folder| folder == Path::new(WSL_LIBRARIES)),
            container: is_there(".dockerenv")
                || is_there("run/.containerenv")
                || in_group.iter().any(|word| groups.contains(word)),
            nvidia: is_there("proc/driver/nvidia/version") || is_there("dev/nvidiactl"),
            render_nodes,
            manifests,
            ..Self::default()
        };
        let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        Self::chosen(var, &inside, around)
    }

    /// With what variables say; `inside` is where a path that they name is looked for.
    fn chosen(var: &dyn Fn(&str) -> Option<OsString>, inside: &dyn Fn(&Path) -> PathBuf, around: Self) -> Self {
        let mut around = Self {
            nvidia_capabilities: var("NVIDIA_DRIVER_CAPABILITIES").and_then(|text| text.into_string().ok()),
            ..around
        };
        let Some((name, list)) = CHOOSERS.into_iter().find_map(|name| Some((name, var(name)?))) else {
            return around;
        };
        let files = std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty());
        let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|path| inside(path).exists());
        let file_name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        around.chosen_by = Some(name);
        around.manifests = there.iter().filter_map(file_name).collect();
        around.missing = missing.iter().map(|path| path.display().to_string()).collect();
        around
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn a_variable_chooses_in_place_of_the_folders() {
        let scratch = Scratch::new();
        let root = scratch.path();
        let folder = root.join("usr/share/vulkan/icd.d");
        fs::create_dir_all(&folder).unwrap();
        for name in ["lvp_icd.x86_64.json", "dzn_icd.x86_64.json", "intel_icd.x86_64.json"] {
            fs::write(folder.join(name), "{}").unwrap();
        }
        assert_eq!(Surroundings::read(root, &|_| None).manifests.len(), 3);
        let files = ["/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "/none.json"];
        let list = std::env::join_paths(files).unwrap();
        let around = Surroundings::read(root, &|name| (name == "VK_DRIVER_FILES").then(|| list.clone()));
        assert_eq!(around.chosen_by, Some("VK_DRIVER_FILES"));
        assert_eq!(around.manifests, ["lvp_icd.x86_64.json"]);
        assert_eq!(around.missing, ["/none.json"]);
    }

    #[test]
    fn the_linker_knows_the_libraries_of_the_card_or_not() {
        let scratch = Scratch::new();
        let root = scratch.path();
        let folder = root.join("etc/ld.so.conf.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libc.conf"), "/usr/local/lib\n").unwrap();
        let knows = |paths: &str| {
            let var = |name: &str| (name == "LD_LIBRARY_PATH").then(|| OsString::from(paths));
            Surroundings::read(root, &var).knows_wsl_libraries
        };
        assert!(!knows("/opt"));
        assert!(knows(WSL_LIBRARIES));
        fs::write(folder.join("ld.wsl.conf"), "# made by WSL\n/usr/lib/wsl/lib\n").unwrap();
        assert!(knows(""));
    }
}
