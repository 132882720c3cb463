//! `env.json`: what a run was made with.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::RunFolderError;
use kiln_program::Shape;

/// Commit that an optimised engine was built from; `unknown` in development builds and without git.
pub const COMMIT: &str = env!("KILN_COMMIT");

/// Largest `env.json` that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The machine, the device and the program of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The program.
    pub engine: Engine,
    /// The machine.
    pub host: Host,
    /// Everything known of the device.
    pub device: serde_json::Value,
    /// Name and version of the device's driver.
    pub driver: String,
    /// Tier of kernels in use.
    pub tier: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// True when the same inputs give the same bytes.
    pub deterministic: bool,
    /// Variant in use of each kernel that has several.
    pub kernels: BTreeMap<String, String>,
    /// The largest tensors of the plan, largest first.
    #[serde(default)]
    pub allocations: Vec<Allocation>,
}

/// A tensor of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Its name.
    pub name: String,
    /// What it lives in: `persistent`, `arena`, ...; tensors of the arena share bytes.
    pub class: String,
    /// What it is for: `parameters`, `optimizer`, ...
    pub tag: String,
    /// Its size.
    pub bytes: u64,
    /// Rows and bytes of each, where it is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

impl Environment {
    /// Reads an `env.json`.
    ///
    /// # Errors
    /// [`RunFolderError::Unreadable`] when it is absent, too large or damaged.
    pub fn read(path: &Path) -> Result<Self, RunFolderError> {
        let fail = |reason: String| RunFolderError::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let text = kiln_files::read_text(path, MAX_BYTES).map_err(|error| fail(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| fail(error.to_string()))
    }

    /// Device and driver, for people.
    #[must_use]
    pub fn device_line(&self) -> String {
        let name = self.device.get("name").and_then(serde_json::Value::as_str);
        format!("{}, {}", name.unwrap_or("unknown"), self.driver)
    }
}

/// The program of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    /// Version.
    pub version: String,
    /// Commit it was built from, or `unknown`.
    pub commit: String,
    /// True for a build without optimisation; its speed says nothing.
    pub debug_build: bool,
}

impl Engine {
    /// This program.
    #[must_use]
    pub fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.to_owned(),
            debug_build: cfg!(debug_assertions),
        }
    }
}

/// The machine of a run; what the system does not report is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system, e.g. `Debian GNU/Linux 12 (bookworm)`, or its family.
    pub os: String,
    /// Kernel release; distinguishes WSL2 from other Linux.
    pub kernel: Option<String>,
    /// Processor architecture.
    pub arch: String,
    /// Processor cores this process may use.
    pub cores: Option<usize>,
    /// Host memory, bytes.
    pub memory_bytes: Option<u64>,
}

impl Host {
    /// This machine.
    #[must_use]
    pub fn this() -> Self {
        Self {
            os: kiln_system::os_name(),
            kernel: kiln_system::kernel(),
            arch: std::env::consts::ARCH.to_owned(),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            memory_bytes: kiln_system::memory().map(|memory| memory.total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers() {
        let host = Host::this();
        assert!(!host.os.is_empty() && host.cores.is_some() && host.memory_bytes.is_some());
    }

    #[test]
    fn the_commit_is_a_hash_or_unknown() {
        assert!(COMMIT == "unknown" || COMMIT.len() >= 7, "{COMMIT}");
    }
}
