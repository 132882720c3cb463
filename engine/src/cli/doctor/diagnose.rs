//! Why a device is missing, and what to do: it follows from what surrounds the process.

use kiln_system::Surroundings;

use super::sentences::{Drivers, has_old_barriers};
use kiln_gpu::vk::{Caps, DeviceKind};

/// Vendor of NVIDIA's cards.
const NVIDIA: u32 = 0x10de;

/// What the loader said.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    /// There is no loader.
    NoLoader,
    /// It lists these; maybe none.
    Devices(&'a [Caps]),
}

/// Why there is no more than what was found in these surroundings, and what to do; what comes first helps first.
pub(super) fn advice(around: &Surroundings, found: Found<'_>) -> Vec<String> {
    let Found::Devices(devices) = found else {
        return vec![no_loader(around)];
    };
    let mut lines = Vec::new();
    if let Some(variable) = around.chosen_by.filter(|_| !around.missing.is_empty()) {
        lines.push(format!(
            "`{variable}` names {}, which is not there; without the variable the loader looks for drivers itself",
            around.missing.join(", ")
        ));
    }
    let has_gpu = devices.iter().any(|d| d.kind != DeviceKind::Cpu);
    let has_nvidia = devices
        .iter()
        .any(|d| d.vendor_id == NVIDIA && d.kind != DeviceKind::Cpu);
    if around.nvidia && !has_nvidia {
        lines.push(nvidia(around));
    }
    if around.wsl {
        lines.extend(wsl(around, devices, has_gpu));
    } else if !has_gpu && !around.nvidia {
        lines.extend(missing_gpu(around));
    }
    if !has_gpu {
        lines.extend(no_gpu(around, devices));
    }
    lines
}

fn no_loader(around: &Surroundings) -> String {
    if around.windows {
        return "there is no Vulkan loader, `vulkan-1.dll`: the driver from the card's vendor brings it".to_owned();
    }
    let inside = if around.container {
        " in the container's image"
    } else {
        ""
    };
    format!(
        "there is no Vulkan loader: install `libvulkan1` (Debian, Ubuntu), `vulkan-loader` (Fedora) or \
         `vulkan-icd-loader` (Arch){inside}"
    )
}

fn no_gpu(around: &Surroundings, devices: &[Caps]) -> Option<String> {
    if !devices.is_empty() {
        return Some(
            "only a CPU driver answers; training on it is slow and needs `--allow-cpu` or `--profile cpu`".to_owned(),
        );
    }
    let names = around.manifests.join(", ");
    match (around.chosen_by, around.manifests.is_empty()) {
        // All that it names is missing, which was said.
        (Some(_), true) => None,
        (Some(variable), false) => Some(format!(
            "`{variable}` chooses {names}, which finds no device; without the variable the loader looks for drivers itself"
        )),
        (None, false) => Some(format!("no driver of these finds a device: {names}")),
        (None, true) if around.windows => {
            Some("no Vulkan driver finds a device: install the driver from the card's vendor, not Windows' own".to_owned())
        }
        (None, true) => Some(
            "no Vulkan driver is installed: install that of the card, or `mesa-vulkan-drivers` for Mesa's, the CPU driver \
             among them"
                .to_owned(),
        ),
    }
}

fn nvidia(around: &Surroundings) -> String {
    let given = around.nvidia_capabilities.as_deref().unwrap_or("compute,utility");
    let has_graphics = given.split(',').any(|part| matches!(part.trim(), "graphics" | "all"));
    if around.container && !has_graphics {
        return format!(
            "the container has NVIDIA's driver without its Vulkan part (capabilities: {given}): start it with `--gpus all \
             -e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility`"
        );
    }
    if around.manifests.iter().any(|name| name.starts_with("nvidia")) {
        return "NVIDIA's driver is there and lists no device: its kernel module and libraries may be of different \
                versions, which a restart mends after an update"
            .to_owned();
    }
    "NVIDIA's driver is there without its Vulkan part: install `libnvidia-gl-VERSION` (Ubuntu), `nvidia-vulkan-icd` \
     (Debian) or the driver's full package"
        .to_owned()
}

fn wsl(around: &Surroundings, devices: &[Caps], has_gpu: bool) -> Option<String> {
    let drivers = Drivers::of(around, devices);
    if let Drivers::Translating(caps) = drivers {
        return has_old_barriers(&caps.driver).then(|| {
            format!(
                "`{}` is older than Mesa 24.1, whose dzn was the first to order indirect dispatches: a newer Mesa is in Kisak's \
                 PPA (`sudo add-apt-repository ppa:kisak/kisak-mesa`)",
                caps.driver
            )
        });
    }
    if has_gpu {
        return None;
    }
    Some(if !around.dxg {
        "WSL2 has no `/dev/dxg` here, so no card can be reached from Linux: `wsl --update` and a current driver on the Windows side \
         bring it"
            .to_owned()
    } else if !drivers.has_dzn() {
        "under WSL2 cards have no Vulkan driver of their own; `kiln.exe` uses the card directly, and inside of WSL2 Mesa's dzn \
         driver reaches it, which most distributions do not build"
            .to_owned()
    } else if !around.knows_wsl_libraries {
        "Mesa's dzn is there but finds no card, and the linker does not know `/usr/lib/wsl/lib`: `echo /usr/lib/wsl/lib | sudo tee \
         /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig`"
            .to_owned()
    } else {
        "Mesa's dzn is there but finds no card, although the linker knows `/usr/lib/wsl/lib`: a current driver on the Windows side \
         and `wsl --update` may bring it"
            .to_owned()
    })
}

/// On a machine that is neither NVIDIA's nor WSL2.
fn missing_gpu(around: &Surroundings) -> Option<String> {
    let closed: Vec<&str> = around
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
    (around.container && around.render_nodes.is_empty()).then(|| {
        "the container sees no GPU: start it with `--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility` \
         (NVIDIA) or `--device /dev/dri` (AMD, Intel)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "tests stop at the first surprise")]
    use std::ffi::OsString;

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
            found.map(|(_, value)| OsString::from(value))
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

    fn dzn(driver: &str) -> Caps {
        let mut caps = device("Microsoft Direct3D12 (Card 80)", DeviceKind::Discrete, NVIDIA);
        (caps.driver, caps.translates) = (driver.to_owned(), true);
        caps
    }

    /// Stops unless there is advice for each of `words`, in this order, and no other.
    fn advises(around: &Surroundings, found: Found<'_>, words: &[&str]) {
        let lines = advice(around, found);
        assert_eq!(lines.len(), words.len(), "{lines:#?}");
        for (line, word) in lines.iter().zip(words) {
            assert!(line.contains(word), "`{word}` is not in: {line}");
        }
    }

    const LAVAPIPE: (&str, &str) = ("usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "{}");
    const WSL: (&str, &str) = ("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
    const DXG: (&str, &str) = ("dev/dxg", "");
    const DZN: (&str, &str) = ("usr/share/vulkan/icd.d/dzn_icd.x86_64.json", "{}");
    const DOCKER: (&str, &str) = (".dockerenv", "");
    const NVIDIA_MODULE: (&str, &str) = ("proc/driver/nvidia/version", "NVRM version: 570\n");

    #[test]
    fn a_machine_with_a_card_needs_no_advice() {
        let card = [device("Card 80", DeviceKind::Discrete, NVIDIA), cpu()];
        advises(&machine(&[LAVAPIPE, NVIDIA_MODULE], &[]), Found::Devices(&card), &[]);
        advises(
            &machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &[]),
            Found::Devices(&card),
            &[],
        );
    }

    #[test]
    fn without_a_loader_its_package_is_named() {
        advises(&machine(&[], &[]), Found::NoLoader, &["`libvulkan1`"]);
        advises(&machine(&[DOCKER], &[]), Found::NoLoader, &["in the container's image"]);
    }

    #[test]
    fn containers_are_told_what_they_were_not_given() {
        let around = machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &[]);
        let cpu = [cpu()];
        advises(
            &around,
            Found::Devices(&cpu),
            &["capabilities: compute,utility", "only a CPU driver"],
        );
        let graphics = [("NVIDIA_DRIVER_CAPABILITIES", "compute,video")];
        let around = machine(&[LAVAPIPE, DOCKER, NVIDIA_MODULE], &graphics);
        advises(
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
        advises(
            &around,
            Found::Devices(&cpu),
            &["without its Vulkan part: install", "only a CPU"],
        );
        let cgroup = ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
        advises(
            &machine(&[LAVAPIPE, cgroup], &[]),
            Found::Devices(&cpu),
            &["`--device /dev/dri`", "only a CPU driver"],
        );
    }

    #[test]
    fn wsl2_has_five_states() {
        let cpu = [cpu()];
        advises(
            &machine(&[LAVAPIPE, WSL], &[]),
            Found::Devices(&cpu),
            &["no `/dev/dxg`", "only a CPU driver"],
        );
        let around = machine(&[LAVAPIPE, WSL, DXG], &[]);
        advises(
            &around,
            Found::Devices(&cpu),
            &["`kiln.exe` uses the card directly", "only a CPU driver"],
        );
        let around = machine(&[LAVAPIPE, DZN, WSL, DXG], &[]);
        advises(
            &around,
            Found::Devices(&cpu),
            &["does not know `/usr/lib/wsl/lib`: `echo", "only a CPU driver"],
        );
        let linker = ("etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n");
        let around = machine(&[LAVAPIPE, DZN, WSL, DXG, linker], &[]);
        advises(
            &around,
            Found::Devices(&cpu),
            &["although the linker knows", "only a CPU driver"],
        );
        // dzn gives a card's own vendor. What it is, the three sentences say.
        advises(&around, Found::Devices(&[dzn("Dozen Mesa 25.0.7")]), &[]);
        advises(
            &around,
            Found::Devices(&[dzn("Dozen Mesa 23.3.6")]),
            &["older than Mesa 24.1"],
        );
    }

    #[test]
    fn windows_is_no_place_for_packages_of_linux() {
        let around = Surroundings {
            windows: true,
            ..Surroundings::default()
        };
        advises(&around, Found::NoLoader, &["`vulkan-1.dll`"]);
        advises(&around, Found::Devices(&[]), &["the driver from the card's vendor"]);
    }

    #[test]
    fn drivers_that_are_missing_or_misnamed_are_told_apart() {
        advises(
            &machine(&[], &[]),
            Found::Devices(&[]),
            &["no Vulkan driver is installed"],
        );
        advises(
            &machine(&[LAVAPIPE], &[]),
            Found::Devices(&[]),
            &["lvp_icd.x86_64.json"],
        );
        let chosen = [("VK_ICD_FILENAMES", "/usr/share/vulkan/icd.d/nvidia_icd.json")];
        advises(
            &machine(&[LAVAPIPE], &chosen),
            Found::Devices(&[]),
            &["`VK_ICD_FILENAMES` names /usr/share/vulkan/icd.d/nvidia_icd.json"],
        );
        // What the loader does not read is not listed.
        let there = [("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")];
        let around = machine(&[LAVAPIPE, DZN], &there);
        let lines = advice(&around, Found::Devices(&[]));
        assert!(
            lines.len() == 1 && lines[0].contains("`VK_DRIVER_FILES` chooses lvp_icd.x86_64.json, which"),
            "{lines:?}"
        );
        let there = [("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")];
        advises(
            &machine(&[LAVAPIPE], &there),
            Found::Devices(&[cpu()]),
            &["only a CPU driver"],
        );
        // The kernel's half of NVIDIA's driver alone, and both halves that do not fit together.
        advises(
            &machine(&[LAVAPIPE, NVIDIA_MODULE], &[]),
            Found::Devices(&[cpu()]),
            &["`nvidia-vulkan-icd`", "only a CPU driver"],
        );
        let manifest = ("etc/vulkan/icd.d/nvidia_icd.json", "{}");
        advises(
            &machine(&[LAVAPIPE, NVIDIA_MODULE, manifest], &[]),
            Found::Devices(&[cpu()]),
            &["different versions", "only a CPU driver"],
        );
    }
}
