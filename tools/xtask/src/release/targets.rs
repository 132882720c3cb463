//! The systems that a release is built for.

/// A system and processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Linux on x86-64.
    Linux,
    /// Windows on x86-64.
    Windows,
    /// Linux on 64-bit ARM.
    Arm,
}

/// All, in the order they are built: programs of the first run on the machine that builds.
pub(crate) const ALL: [Target; 3] = [Target::Linux, Target::Windows, Target::Arm];

impl Target {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
            Self::Arm => "aarch64",
        }
    }

    /// Rust's name.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::Linux => "x86_64-unknown-linux-gnu",
            Self::Windows => "x86_64-pc-windows-gnu",
            Self::Arm => "aarch64-unknown-linux-gnu",
        }
    }

    /// What the names of archives end in.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Linux => "x86_64-linux",
            Self::Windows => "x86_64-windows",
            Self::Arm => "aarch64-linux",
        }
    }

    /// Debian's name of the processor; none for a system without its packages.
    pub(crate) fn debian(self) -> Option<&'static str> {
        match self {
            Self::Linux => Some("amd64"),
            Self::Windows => None,
            Self::Arm => Some("arm64"),
        }
    }

    /// Name of the program's file.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Linux | Self::Arm => "kiln",
            Self::Windows => "kiln.exe",
        }
    }
}
