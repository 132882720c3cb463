//! Three sentences: what this machine is, which drivers answer, and what is best to use.

use std::path::Path;

use kiln_system::Surroundings;

use kiln_gpu::vk::{Caps, DeviceKind};

/// What answers, the best of it.
#[derive(Clone, Copy)]
pub(super) enum Drivers<'a> {
    /// A card's own driver.
    Own(&'a Caps),
    /// A driver for another interface, Mesa's dzn for Direct3D 12.
    Translating(&'a Caps),
    /// A CPU driver; dzn is there and finds no card, or is not there.
    Cpu(&'a Caps, bool),
    /// None; dzn is there, or not.
    None(bool),
}

impl<'a> Drivers<'a> {
    /// Of these devices.
    pub(super) fn of(around: &Surroundings, devices: &'a [Caps]) -> Self {
        let has_dzn = around.manifests.iter().any(|name| name.starts_with("dzn"));
        let (cards, others): (Vec<&Caps>, Vec<&Caps>) = devices.iter().partition(|caps| caps.kind != DeviceKind::Cpu);
        let own = cards.iter().find(|caps| !caps.translates);
        match (own.or(cards.first()), others.first()) {
            (Some(caps), _) if caps.translates => Self::Translating(caps),
            (Some(caps), _) => Self::Own(caps),
            (None, Some(caps)) => Self::Cpu(caps, has_dzn),
            (None, None) => Self::None(has_dzn),
        }
    }

    /// Whether dzn is there.
    pub(super) const fn has_dzn(self) -> bool {
        matches!(self, Self::Translating(_) | Self::Cpu(_, true) | Self::None(true))
    }
}

/// Whether this is a dzn that does not order indirect dispatches, which Mesa's has done since 24.1.
pub(super) fn has_old_barriers(driver: &str) -> bool {
    let version = driver.split_once("Mesa ").map_or("", |(_, version)| version);
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), minor) => (major, minor.unwrap_or(0)) < (24, 1),
        _ => false,
    }
}

/// The sentences. `program` is `kiln.exe`, where WSL finds it.
pub(super) fn sentences(around: &Surroundings, devices: &[Caps], program: Option<&Path>) -> [String; 3] {
    let drivers = Drivers::of(around, devices);
    [
        machine(around, program),
        answers(drivers),
        best(around, drivers, program),
    ]
}

fn machine(around: &Surroundings, program: Option<&Path>) -> String {
    let inside = if around.container { " in a container" } else { "" };
    match (around.wsl, program) {
        (true, Some(program)) => format!(
            "This is Linux under WSL2{inside}, and Kiln for Windows is at {}.",
            program.display()
        ),
        (true, None) => format!("This is Linux under WSL2{inside}, and no `kiln.exe` is on its PATH."),
        (false, _) => format!("This is {}{inside}.", kiln_system::os_name()),
    }
}

fn answers(drivers: Drivers<'_>) -> String {
    let without = |has_dzn| {
        if has_dzn {
            "; Mesa's dzn is installed and finds no card"
        } else {
            ""
        }
    };
    match drivers {
        Drivers::Own(caps) => format!("`{}` answers through a driver of its own, {}.", caps.name, caps.driver),
        Drivers::Translating(caps) => format!(
            "`{}` answers through Mesa's dzn ({}), which translates to Direct3D 12 and calls itself not conformant{}.",
            caps.name,
            caps.driver,
            match has_old_barriers(&caps.driver) {
                true => "; before Mesa 24.1 it does not order indirect dispatches, and results are wrong",
                false => "",
            }
        ),
        Drivers::Cpu(caps, has_dzn) => format!("Only a CPU driver answers, `{}`{}.", caps.name, without(has_dzn)),
        Drivers::None(has_dzn) => format!("No Vulkan device answers{}.", without(has_dzn)),
    }
}

fn best(around: &Surroundings, drivers: Drivers<'_>, program: Option<&Path>) -> String {
    if let Drivers::Own(_) = drivers {
        return "It is the best there is here, and is used without a flag.".to_owned();
    }
    let rest = match drivers {
        Drivers::Translating(caps) if has_old_barriers(&caps.driver) => "; dzn needs a newer Mesa first",
        Drivers::Translating(_) => "; dzn is the second choice",
        _ => "",
    };
    match (around.wsl, program) {
        (true, Some(_)) => format!(
            "Best is `kiln.exe`, which uses the card by its vendor's driver: `kiln --windows` with any command hands it over{rest}."
        ),
        (true, None) => format!(
            "Best is Kiln for Windows, which uses the card by its vendor's driver and is called from here as `kiln.exe`: unpack \
             `kiln-VERSION-x86_64-windows.zip` on a Windows drive and put its folder on the PATH{rest}."
        ),
        (false, _) => match drivers {
            Drivers::Translating(_) => {
                "Best is a driver of the card's own, if its vendor has one for this system.".to_owned()
            }
            _ => "Best is the driver of a card; without one, `--profile cpu` trains small scenes.".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, driver: &str, kind: DeviceKind) -> Caps {
        let mut caps = Caps::default();
        (caps.name, caps.driver, caps.kind) = (name.to_owned(), driver.to_owned(), kind);
        caps.translates = driver.starts_with("Dozen");
        caps
    }

    fn wsl(manifests: &[&str]) -> Surroundings {
        Surroundings {
            wsl: true,
            manifests: manifests.iter().map(|name| (*name).to_owned()).collect(),
            ..Surroundings::default()
        }
    }

    /// Stops unless each sentence has its words.
    fn says(around: &Surroundings, devices: &[Caps], program: Option<&str>, words: [&str; 3]) {
        let said = sentences(around, devices, program.map(Path::new));
        for (sentence, word) in said.iter().zip(words) {
            assert!(
                sentence.contains(word) && sentence.ends_with('.'),
                "`{word}`: {sentence}"
            );
        }
    }

    const EXE: Option<&str> = Some("/mnt/c/kiln/kiln.exe");

    #[test]
    fn each_state_of_wsl2_has_its_sentences() {
        let cpu = [device("llvmpipe", "llvmpipe Mesa 22.3.6", DeviceKind::Cpu)];
        says(
            &wsl(&[]),
            &cpu,
            EXE,
            ["at /mnt/c/kiln/kiln.exe", "Only a CPU driver", "`kiln --windows`"],
        );
        says(
            &wsl(&[]),
            &cpu,
            None,
            ["no `kiln.exe`", "`llvmpipe`.", "-x86_64-windows.zip"],
        );
        let dzn = wsl(&["dzn_icd.x86_64.json"]);
        says(
            &dzn,
            &cpu,
            None,
            ["WSL2", "dzn is installed and finds no card", "Kiln for Windows"],
        );
        says(
            &dzn,
            &[],
            EXE,
            ["WSL2", "No Vulkan device answers; Mesa's dzn", "`kiln.exe`"],
        );
        let card = |driver| [device("Microsoft Direct3D12 (Card 80)", driver, DeviceKind::Discrete)];
        says(
            &dzn,
            &card("Dozen Mesa 25.0.7"),
            EXE,
            ["WSL2", "not conformant.", "dzn is the second choice"],
        );
        says(
            &dzn,
            &card("Dozen Mesa 24.0.9"),
            None,
            ["WSL2", "results are wrong", "a newer Mesa first"],
        );
        let mut both = card("Dozen Mesa 25.0.7").to_vec();
        both.push(device("Card 80", "Vendor 1", DeviceKind::Discrete));
        says(
            &dzn,
            &both,
            EXE,
            [
                "WSL2",
                "`Card 80` answers through a driver of its own",
                "without a flag",
            ],
        );
    }

    #[test]
    fn other_machines_have_theirs() {
        let here = Surroundings::default();
        let container = Surroundings {
            container: true,
            ..Surroundings::default()
        };
        let card = [device("Card 80", "Vendor 1", DeviceKind::Discrete)];
        says(&here, &card, None, ["This is ", "Vendor 1.", "without a flag"]);
        let cpu = [device("llvmpipe", "llvmpipe", DeviceKind::Cpu)];
        says(
            &container,
            &cpu,
            None,
            [" in a container.", "Only a CPU driver", "`--profile cpu`"],
        );
        says(
            &here,
            &[],
            None,
            ["This is ", "No Vulkan device answers.", "the driver of a card"],
        );
    }

    #[test]
    fn barriers_came_with_24_1() {
        for (driver, is_old) in [
            ("Dozen Mesa 24.0.9", true),
            ("Dozen Mesa 23.1.0-devel (git-1)", true),
            ("Dozen Mesa 24.1.0-rc1", false),
            ("Dozen Mesa 25.0.7-2", false),
            ("Dozen", false),
        ] {
            assert_eq!(has_old_barriers(driver), is_old, "{driver}");
        }
    }
}
