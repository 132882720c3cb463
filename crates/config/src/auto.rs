//! `--profile auto`: the largest shipped profile that fits what the device reports.

use super::{ConfigError, Inputs, PROFILES, resolve};

const GIB: f64 = (1u64 << 30) as f64;

/// What the device says it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of device-local memory that may be used now.
    pub bytes: u64,
    /// Bytes there are, in use by others or not.
    pub heap_bytes: u64,
    /// True when the driver runs on the CPU.
    pub is_cpu: bool,
}

/// `auto` found nothing to choose.
#[derive(Debug, thiserror::Error)]
pub enum AutoError {
    /// Only a CPU driver, and nobody said that is acceptable.
    #[error("the only Vulkan device is a CPU driver, which is slow")]
    CpuNotAllowed,
    /// Less memory than the smallest profile plans with.
    #[error(
        "the device offers {budget_gib:.2} of its {heap_gib:.2} GiB, less than the {smallest_gib:.2} GiB of the smallest \
         profile, `8gb`"
    )]
    TooSmall {
        /// What the device offers, GiB.
        budget_gib: f64,
        /// What it has, GiB.
        heap_gib: f64,
        /// What the smallest profile plans with, GiB.
        smallest_gib: f64,
    },
    /// A shipped profile is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl AutoError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::CpuNotAllowed => {
                Some("`--allow-cpu` or `--profile cpu` accepts it; `kiln doctor` shows what is missing".to_owned())
            }
            Self::TooSmall {
                budget_gib, heap_gib, ..
            } => {
                let less = format!(
                    "`--profile 8gb --set memory.cap_gib={:.1}` plans with less",
                    budget_gib * 0.9
                );
                Some(if *budget_gib < heap_gib * 0.8 {
                    format!("{less}; ending other programs that use the device leaves more")
                } else {
                    less
                })
            }
            Self::Config(error) => error.hint(),
        }
    }
}

/// Name of the shipped profile for a device: `cpu` on a CPU driver (if allowed), else the largest of `8gb`, `16gb` and
/// `24gb` whose `memory.cap_gib` fits the budget.
///
/// # Errors
/// [`AutoError`] when nothing fits or a CPU driver is not allowed.
pub fn choose(budget: Budget, allow_cpu: bool) -> Result<&'static str, AutoError> {
    if budget.is_cpu {
        return if allow_cpu {
            Ok("cpu")
        } else {
            Err(AutoError::CpuNotAllowed)
        };
    }
    let budget_gib = budget.bytes as f64 / GIB;
    let mut best = None;
    let mut smallest_gib = f64::INFINITY;
    for name in PROFILES
        .iter()
        .map(|shipped| shipped.short_name())
        .filter(|name| *name != "cpu")
    {
        let inputs = Inputs {
            profile: Some(name.to_owned()),
            ..Inputs::default()
        };
        let Some(cap) = resolve(&inputs)?.memory.cap_gib else {
            continue;
        };
        smallest_gib = smallest_gib.min(cap);
        if cap <= budget_gib {
            best = Some(name);
        }
    }
    best.ok_or(AutoError::TooSmall {
        budget_gib,
        heap_gib: budget.heap_bytes as f64 / GIB,
        smallest_gib,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn chooses_by_budget() {
        let gpu = |gib: f64| {
            choose(
                Budget {
                    bytes: (gib * GIB) as u64,
                    heap_bytes: (gib.max(8.0) * GIB) as u64,
                    is_cpu: false,
                },
                false,
            )
        };
        assert_eq!(gpu(7.2).unwrap(), "8gb");
        assert_eq!(gpu(15.2).unwrap(), "16gb");
        assert_eq!(gpu(23.0).unwrap(), "24gb");
        assert_eq!(gpu(139.0).unwrap(), "24gb");
        let error = gpu(4.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the device offers 4.00 of its 8.00 GiB, less than the 7.00 GiB of the smallest profile, `8gb`"
        );
        assert_eq!(
            error.hint().unwrap(),
            "`--profile 8gb --set memory.cap_gib=3.6` plans with less; ending other programs that use the device leaves more"
        );
        let cpu = Budget {
            bytes: u64::MAX,
            heap_bytes: u64::MAX,
            is_cpu: true,
        };
        assert_eq!(choose(cpu, true).unwrap(), "cpu");
        assert!(matches!(choose(cpu, false), Err(AutoError::CpuNotAllowed)));
    }
}
