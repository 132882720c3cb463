//! Names of the machine and its system, and where users keep data.

use std::path::PathBuf;

use crate::system;

/// Name of the machine in its network; none where the system does not say.
#[must_use]
pub fn host_name() -> Option<String> {
    system::host_name().filter(|name| !name.is_empty())
}

/// The operating system, such as `Debian GNU/Linux 12 (bookworm)` or `Windows 10.0.22631`, or its family.
#[must_use]
pub fn os_name() -> String {
    system::os_name().unwrap_or_else(|| std::env::consts::OS.to_owned())
}

/// The kernel's release; it distinguishes WSL2 from other Linux.
#[must_use]
pub fn kernel() -> Option<String> {
    system::kernel().filter(|release| !release.is_empty())
}

/// Folder of this user for data of programs: `LOCALAPPDATA` on Windows, else `XDG_DATA_HOME`, which is `.local/share` in the home folder unless set.
#[must_use]
pub fn data_folder() -> Option<PathBuf> {
    let named = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    match cfg!(windows) {
        true => named("LOCALAPPDATA"),
        false => named("XDG_DATA_HOME").or_else(|| named("HOME").map(|home| home.join(".local/share"))),
    }
}
