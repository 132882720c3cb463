//! What surrounds the process: system, container, drivers as files. From it follows why a device is missing, and what to do.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kiln_files::read_text;

use kiln_gpu::vk::{Caps, DeviceKind};

/// Most bytes of a file of the system that are read.
const MOST_BYTES: u64 = 1 << 20;

/// Vendor of NVIDIA's cards.
const NVIDIA: u32 = 0x10de;

/// Where drivers register with the loader.
const MANIFESTS: [&str; 3] = [
    "etc/vulkan/icd.d",
    "usr/share/vulkan/icd.d",
    "usr/local/share/vulkan/icd.d",
];

/// Variables that name drivers in place of these folders; the first one that is set counts.
const CHOOSERS: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// The machine as a process sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// Windows' Linux.
    wsl2: bool,
    /// `/dev/dxg`, by which WSL2 reaches the card.
    dxg: bool,
    /// Inside of a container.
    container: bool,
    /// NVIDIA's kernel driver answers here.
    nvidia: bool,
    /// `NVIDIA_DRIVER_CAPABILITIES`: the parts of that driver that a container was given.
    nvidia_capabilities: Option<String>,
    /// Render nodes, and whether this user may open them.
    render_nodes: Vec<(String, bool)>,
    /// Names of the drivers' manifests.
    manifests: Vec<String>,
    /// The variable that chooses drivers and the files it names that are not there.
    missing_choice: Option<(&'static str, Vec<String>)>,
}

/// What the loader said.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    /// There is no loader.
    NoLoader,
    /// It lists these; maybe none.
    Devices(&'a [Caps]),
}

impl Surroundings {
    /// Of this process.
    pub(super) fn here() -> Self {
        Self::read(Path::new("/"), &|name| std::env::var(name).ok())
    }

    /// Of a process whose file system begins at `root` and whose variables `var` gives.
    fn read(root: &Path, var: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = |path: &str| read_text(&root.join(path), MOST_BYTES).unwrap_or_default();
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
        let chosen = CHOOSERS.into_iter().find_map(|name| Some((name, var(name)?)));
        let missing_choice = chosen.and_then(|(name, list)| {
            let inside = |path: &str| root.join(PathBuf::from(path).strip_prefix("/").unwrap_or(Path::new(path)));
            let files = list
                .split(':')
                .filter(|path| !path.is_empty() && !inside(path).exists());
            let missing: Vec<String> = files.map(str::to_owned).collect();
            (!missing.is_empty()).then_some((name, missing))
        });
        Self {
            wsl2: text("proc/sys/kernel/osrelease").to_lowercase().contains("microsoft")
                || text("proc/version").to_lowercase().contains("microsoft"),
            dxg: is_there("dev/dxg"),
            container: is_there(".dockerenv")
                || is_there("run/.containerenv")
                || in_group.iter().any(|word| groups.contains(word)),
            nvidia: is_there("proc/driver/nvidia/version") || is_there("dev/nvidiactl"),
            nvidia_capabilities: var("NVIDIA_DRIVER_CAPABILITIES"),
            render_nodes,
            manifests,
            missing_choice,
        }
    }

    /// Why there is no more than what was found, and what to do; what comes first helps first.
    pub(super) fn advice(&self, found: Found<'_>) -> Vec<String> {
        let Found::Devices(devices) = found else {
            let inside = if self.container {
                " in the container's image"
            } else {
                ""
            };
            return vec![format!(
                "there is no Vulkan loader: install `libvulkan1` (Debian, Ubuntu), `vulkan-loader` (Fedora) or \
                 `vulkan-icd-loader` (Arch){inside}"
            )];
        };
        let mut lines = Vec::new();
        if let Some((variable, missing)) = &self.missing_choice {
            lines.push(format!(
                "`{variable}` names {}, which is not there; without the variable the loader looks for drivers itself",
                missing.join(", ")
            ));
        }
        let has_gpu = devices.iter().any(|d| d.kind != DeviceKind::Cpu);
        let has_nvidia = devices
            .iter()
            .any(|d| d.vendor_id == NVIDIA && d.kind != DeviceKind::Cpu);
        if self.nvidia && !has_nvidia {
            lines.push(self.nvidia_advice());
        }
        if self.wsl2 {
            lines.extend(self.wsl2_advice(devices, has_gpu));
        } else if !has_gpu && !self.nvidia {
            lines.extend(self.missing_gpu());
        }
        if !has_gpu {
            lines.push(match devices {
                [] if self.manifests.is_empty() => {
                    "no Vulkan driver is installed: install that of the card, or `mesa-vulkan-drivers` for Mesa's, the CPU \
                     driver among them"
                        .to_owned()
                }
                [] => format!("no driver of these finds a device: {}", self.manifests.join(", ")),
                _ => "only a CPU driver answers; training on it is slow and needs `--allow-cpu` or `--profile cpu`".to_owned(),
            });
        }
        lines
    }

    fn nvidia_advice(&self) -> String {
        let given = self.nvidia_capabilities.as_deref().unwrap_or("compute,utility");
        let has_graphics = given.split(',').any(|part| matches!(part.trim(), "graphics" | "all"));
        if self.container && !has_graphics {
            return format!(
                "the container has NVIDIA's driver without its Vulkan part (capabilities: {given}): start it with `--gpus all \
                 -e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility`"
            );
        }
        if self.manifests.iter().any(|name| name.starts_with("nvidia")) {
            return "NVIDIA's driver is there and lists no device: its kernel module and libraries may be of different \
                    versions, which a restart mends after an update"
                .to_owned();
        }
        "NVIDIA's driver is there without its Vulkan part: install `libnvidia-gl-VERSION` (Ubuntu), `nvidia-vulkan-icd` \
         (Debian) or the driver's full package"
            .to_owned()
    }

    fn wsl2_advice(&self, devices: &[Caps], has_gpu: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if devices.iter().any(|d| d.name.starts_with("Microsoft Direct3D12")) {
            lines.push(
                "this is Mesa's dzn driver over Direct3D 12, which calls itself not conformant: it runs the portable tier, and \
                 a build for Windows uses the card's own driver and is quicker"
                    .to_owned(),
            );
        } else if !has_gpu && !self.dxg {
            lines.push(
                "WSL2 has no `/dev/dxg` here, so no card can be reached: `wsl --update` and a current driver on the Windows side \
                 bring it"
                    .to_owned(),
            );
        } else if !has_gpu {
            lines.push(
                "under WSL2 cards have no Vulkan driver of their own; a build for Windows uses the card directly, and inside of \
                 WSL2 Mesa's dzn driver reaches it, which most distributions do not build"
                    .to_owned(),
            );
        }
        lines
    }

    /// On a machine that is neither NVIDIA's nor WSL2.
    fn missing_gpu(&self) -> Option<String> {
        let closed: Vec<&str> = self
            .render_nodes
            .iter()
            .filter(|(_, open)| !open)
            .map(|(name, _)| name.as_str())
            .collect();
        if !closed.is_empty() {
            return Some(format!(
                "this user may not open {}: `sudo usermod -aG render $USER`, then log in again",
                closed.join(", ")
            ));
        }
        (self.container && self.render_nodes.is_empty()).then(|| {
            "the container sees no GPU: start it with `--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility` \
             (NVIDIA) or `--device /dev/dri` (AMD, Intel)"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scratch::Scratch;

    /// A machine of files, each with its text, and variables.
    fn machine(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Surroundings {
        let scratch = Scratch::new();
        for (path, text) in files {
            scratch.write(path, text);
        }
        let var = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Surroundings::read(scratch.path(), &var)
    }

    fn device(name: &str, kind: DeviceKind, vendor_id: u32) -> Caps {
        let mut caps = Caps::default();
        (caps.name, caps.kind, caps.vendor_id) = (name.to_owned(), kind, vendor_id);
        caps
    }

    fn cpu() -> Caps {
        device("llvmpipe (LLVM 15)", DeviceKind::Cpu, 0x10005)
    }

    /// Stops unless there is advice for each of `words`, in this order, and no other.
    fn tells(around: &Surroundings, found: Found<'_>, words: &[&str]) {
        let lines = around.advice(found);
        assert_eq!(lines.len(), words.len(), "{lines:#?}");
        for (line, word) in lines.iter().zip(words) {
            assert!(line.contains(word), "`{word}` is not in: {line}");
        }
    }

    const LAVAPIPE: (&str, &str) = ("usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "{}");
    const WSL: (&str, &str) = ("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
    const DOCKER: (&str, &str) = (".dockerenv", "");
    const NVIDIA_MODULE: (&str, &str) = ("proc/driver/nvidia/version", "NVRM version: 570\n");

    #[test]
    fn a_machine_with_a_card_needs_no_advice() {
        let card = [device("Card 80", DeviceKind::Discrete, NVIDIA), cpu()];
        tells(&machine(&[LAVAPIPE, NVIDIA_MODULE], &[]), Found::Devices(&card), &[]);
        tells(
            &machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &[]),
            Found::Devices(&card),
            &[],
        );
    }

    #[test]
    fn without_a_loader_its_package_is_named() {
        tells(&machine(&[], &[]), Found::NoLoader, &["`libvulkan1`"]);
        tells(&machine(&[DOCKER], &[]), Found::NoLoader, &["in the container's image"]);
    }

    #[test]
    fn containers_are_told_what_they_were_not_given() {
        let around = machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &[]);
        let cpu = [cpu()];
        tells(
            &around,
            Found::Devices(&cpu),
            &["capabilities: compute,utility", "only a CPU driver"],
        );
        let graphics = [("NVIDIA_DRIVER_CAPABILITIES", "compute,video")];
        let around = machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &graphics);
        tells(
            &around,
            Found::Devices(&cpu),
            &[
                "NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility",
                "only a CPU driver",
            ],
        );
        // With graphics, what is missing is something else.
        let all = [("NVIDIA_DRIVER_CAPABILITIES", "all")];
        let around = machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &all);
        tells(
            &around,
            Found::Devices(&cpu),
            &["without its Vulkan part: install", "only a CPU"],
        );
        let cgroup = ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
        tells(
            &machine(&[LAVAPIPE, cgroup], &[]),
            Found::Devices(&cpu),
            &["`--device /dev/dri`", "only a CPU driver"],
        );
    }

    #[test]
    fn wsl2_is_told_of_its_three_states() {
        let cpu = [cpu()];
        tells(
            &machine(&[LAVAPIPE, WSL], &[]),
            Found::Devices(&cpu),
            &["no `/dev/dxg`", "only a CPU driver"],
        );
        let around = machine(&[LAVAPIPE, WSL, ("dev/dxg", "")], &[]);
        tells(
            &around,
            Found::Devices(&cpu),
            &["a build for Windows uses the card directly", "only a CPU driver"],
        );
        let dzn = [device("Microsoft Direct3D12 (Card 80)", DeviceKind::Discrete, 0x1414)];
        tells(&around, Found::Devices(&dzn), &["dzn driver over Direct3D 12"]);
    }

    #[test]
    fn drivers_that_are_missing_or_misnamed_are_told_apart() {
        tells(
            &machine(&[], &[]),
            Found::Devices(&[]),
            &["no Vulkan driver is installed"],
        );
        tells(
            &machine(&[LAVAPIPE], &[]),
            Found::Devices(&[]),
            &["lvp_icd.x86_64.json"],
        );
        let chosen = [("VK_ICD_FILENAMES", "/usr/share/vulkan/icd.d/nvidia_icd.json")];
        tells(
            &machine(&[LAVAPIPE], &chosen),
            Found::Devices(&[]),
            &[
                "`VK_ICD_FILENAMES` names /usr/share/vulkan/icd.d/nvidia_icd.json",
                "lvp_icd",
            ],
        );
        let there = [("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")];
        tells(
            &machine(&[LAVAPIPE], &there),
            Found::Devices(&[cpu()]),
            &["only a CPU driver"],
        );
        // The kernel's half of NVIDIA's driver alone, and both halves that do not fit together.
        tells(
            &machine(&[LAVAPIPE, NVIDIA_MODULE], &[]),
            Found::Devices(&[cpu()]),
            &["`nvidia-vulkan-icd`", "only a CPU driver"],
        );
        let manifest = ("etc/vulkan/icd.d/nvidia_icd.json", "{}");
        tells(
            &machine(&[LAVAPIPE, NVIDIA_MODULE, manifest], &[]),
            Found::Devices(&[cpu()]),
            &["different versions", "only a CPU driver"],
        );
    }
}
