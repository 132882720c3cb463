//! Faults that tests inject, and sizes and kernels that they force: no settings of a run, and in none of its files.
//!
//! They come from the hidden flag `--fault KEY=VALUE` and belong to the device that a run opens ([`super::OpenDevice`]), so that
//! a resumed run has those of its own command line and no others.

use kiln_config::nearest;
use kiln_kernels::views::Reduction;

/// What is made to go wrong, and what is forced; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Intersection capacity.
    pub i_cap: Option<u32>,
    /// Intersections that a run begins with although memory is not short, so that it may be planned again.
    pub first_i_cap: Option<u32>,
    /// Visible-record capacity.
    pub v_cap: Option<u32>,
    /// Gaussians per chunk, a power of two of at least 64. More than 2^19 need a device that binds more than 128 MiB.
    pub chunk: Option<u32>,
    /// Least bands of every step, and of views that are drawn in bands.
    pub bands: Option<u32>,
    /// Gaussians of a stored model on the device at once, when it is evaluated or rendered.
    pub resident: Option<u32>,
    /// Host memory that a stored model may take, MiB; more of it stays in its file.
    pub host_mib: Option<u32>,
    /// Bricks of voxels on the device at once, when a mesh is made.
    pub bricks: Option<u32>,
    /// Points of all views that a mesh is reconstructed from at most.
    pub points: Option<u32>,
    /// A reconstruction's finest lattice has 2 to the power of this cells along a side, whatever points and memory allow.
    pub poisson_depth: Option<u32>,
    /// How gradients are summed.
    pub reduction: Option<Reduction>,
    /// Sort without subgroup operations.
    pub no_subgroups: bool,
    /// Only what every Vulkan 1.2 device can run: kernels, and limits of the device.
    pub portable: bool,
    /// The driver dies when it opens the device, in the trial by another process.
    pub dying_driver: bool,
    /// Number, from 0, of the device allocation that fails as if the driver had no memory left.
    pub fail_allocation: Option<u64>,
    /// Spoil what fast kernels compute in the self-test at start, to see the portable ones step in.
    pub fail_self_test: bool,
    /// Iterations at whose beginning the device is lost, each once.
    pub lose_device_at: Vec<u32>,
    /// Memory budgets in place of the driver's, in the order of their iterations.
    pub budget: Vec<BudgetFault>,
    /// Measure how fast memory is read even where that does not show where it lies.
    pub probe: bool,
    /// Steps between two measurements of where the memory lies; 0 = only at the start.
    pub probe_every: Option<u32>,
    /// Silence of a device at work that is reported, milliseconds.
    pub silence_ms: Option<u32>,
    /// Iteration from which on measurements find the first block of memory in the host.
    pub spill_from: Option<u32>,
}

/// An entry of [`Faults::budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetFault {
    /// First iteration it holds for; 0 = planning.
    pub from: u32,
    /// Device memory this process may use, MiB.
    pub mib: u32,
}

/// A `--fault` that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No key and value.
    #[error("`--fault {found}` is not of the form `--fault KEY=VALUE`")]
    Form {
        /// The argument.
        found: String,
    },
    /// No such fault.
    #[error("no fault is named `{found}`")]
    Unknown {
        /// The key.
        found: String,
        /// Keys that exist, nearest first.
        known: Vec<String>,
    },
    /// A value that the fault does not take.
    #[error("the fault `{key}` is {found}, allowed: {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// What it takes.
        allowed: String,
    },
}

/// A key: what it takes, and how it is read; none for what it does not take.
struct Row {
    key: &'static str,
    allowed: &'static str,
    read: fn(&mut Faults, &str) -> Option<()>,
}

const COUNT: &str = "1 to 4294967295";
const NUMBER: &str = "a whole number";
const SWITCH: &str = "true or false";

const ROWS: [Row; 22] = [
    row("i_cap", COUNT, |f, v| put(&mut f.i_cap, count(v))),
    row("first_i_cap", COUNT, |f, v| put(&mut f.first_i_cap, count(v))),
    row("v_cap", COUNT, |f, v| put(&mut f.v_cap, count(v))),
    row("chunk", "a power of two, 64 to 4194304", |f, v| {
        let fits = |n: &u32| n.is_power_of_two() && (64..=1 << 22).contains(n);
        put(&mut f.chunk, count(v).filter(fits))
    }),
    row("bands", COUNT, |f, v| put(&mut f.bands, count(v))),
    row("resident", COUNT, |f, v| put(&mut f.resident, count(v))),
    row("host_mib", NUMBER, |f, v| put(&mut f.host_mib, v.parse().ok())),
    row("bricks", COUNT, |f, v| put(&mut f.bricks, count(v))),
    row("points", COUNT, |f, v| put(&mut f.points, count(v))),
    row("poisson_depth", "5 to 11", |f, v| {
        put(&mut f.poisson_depth, count(v).filter(|depth| (5..=11).contains(depth)))
    }),
    row("reduction", "segmented, atomic or compare_exchange", |f, v| {
        let reductions = [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange];
        put(&mut f.reduction, reductions.into_iter().find(|r| r.name() == v))
    }),
    row("no_subgroups", SWITCH, |f, v| switch(&mut f.no_subgroups, v)),
    row("portable", SWITCH, |f, v| switch(&mut f.portable, v)),
    row("dying_driver", SWITCH, |f, v| switch(&mut f.dying_driver, v)),
    row("fail_allocation", NUMBER, |f, v| {
        put(&mut f.fail_allocation, v.parse().ok())
    }),
    row("fail_self_test", SWITCH, |f, v| switch(&mut f.fail_self_test, v)),
    row("lose_device_at", "iterations, for example 20,31", |f, v| {
        let iterations: Option<Vec<u32>> = v.split(',').map(|it| it.parse().ok()).collect();
        f.lose_device_at = iterations?;
        Some(())
    }),
    row(
        "budget",
        "FROM:MIB in rising order, for example 0:1500,230:60",
        |f, v| {
            let entry = |entry: &str| {
                let (from, mib) = entry.split_once(':')?;
                Some(BudgetFault {
                    from: from.parse().ok()?,
                    mib: mib.parse().ok()?,
                })
            };
            let entries: Option<Vec<BudgetFault>> = v.split(',').map(entry).collect();
            f.budget = entries.filter(|list| list.is_sorted_by(|a, b| a.from < b.from))?;
            Some(())
        },
    ),
    row("probe", SWITCH, |f, v| switch(&mut f.probe, v)),
    row("probe_every", NUMBER, |f, v| put(&mut f.probe_every, v.parse().ok())),
    row("silence_ms", COUNT, |f, v| put(&mut f.silence_ms, count(v))),
    row("spill_from", NUMBER, |f, v| put(&mut f.spill_from, v.parse().ok())),
];

const fn row(key: &'static str, allowed: &'static str, read: fn(&mut Faults, &str) -> Option<()>) -> Row {
    Row { key, allowed, read }
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n > 0)
}

fn put<T>(field: &mut Option<T>, value: Option<T>) -> Option<()> {
    *field = Some(value?);
    Some(())
}

fn switch(field: &mut bool, text: &str) -> Option<()> {
    *field = text.parse().ok()?;
    Some(())
}

impl Faults {
    /// Reads a list of `KEY=VALUE`; of two with one key the later wins.
    ///
    /// # Errors
    /// [`FaultError`] for the first that means nothing, and when `i_cap` is below `v_cap`.
    pub fn read(list: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, FaultError> {
        let mut faults = Self::default();
        for text in list {
            let text = text.as_ref();
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| FaultError::Form { found: text.to_owned() })?;
            let row = ROWS.iter().find(|row| row.key == key);
            let row = row.ok_or_else(|| FaultError::Unknown {
                found: key.to_owned(),
                known: nearest(key, ROWS.map(|row| row.key)),
            })?;
            (row.read)(&mut faults, value).ok_or_else(|| FaultError::Value {
                key: row.key,
                found: value.to_owned(),
                allowed: row.allowed.to_owned(),
            })?;
        }
        match (faults.v_cap, faults.i_cap) {
            (Some(v_cap), Some(i_cap)) if i_cap < v_cap => Err(FaultError::Value {
                key: "i_cap",
                found: i_cap.to_string(),
                allowed: format!("at least `v_cap`, {v_cap}"),
            }),
            _ => Ok(faults),
        }
    }

    /// True when capacities are forced.
    #[must_use]
    pub const fn forces_capacities(&self) -> bool {
        self.i_cap.is_some() || self.v_cap.is_some()
    }

    /// Those of a run that goes on after its device was lost before iteration `next`: it is not lost there again.
    pub(crate) fn after_loss(mut self, next: u32) -> Self {
        self.lose_device_at.retain(|it| *it > next);
        self
    }
}

impl FaultError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Form { .. } => Some("for example `--fault bands=3`".to_owned()),
            Self::Unknown { known, .. } => Some(format!("known, nearest first: {}", known.join(", "))),
            Self::Value { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn every_key_is_read() {
        let faults = Faults::read([
            "i_cap=900",
            "first_i_cap=800",
            "v_cap=400",
            "chunk=256",
            "bands=3",
            "resident=300",
            "host_mib=0",
            "bricks=7",
            "points=20000",
            "poisson_depth=6",
            "reduction=compare_exchange",
            "no_subgroups=true",
            "portable=true",
            "fail_allocation=0",
            "fail_self_test=true",
            "dying_driver=true",
            "lose_device_at=21,30",
            "budget=0:1500,230:60",
            "probe=true",
            "probe_every=0",
            "silence_ms=2",
            "spill_from=0",
        ])
        .unwrap();
        let entry = |from, mib| BudgetFault { from, mib };
        let wanted = Faults {
            i_cap: Some(900),
            first_i_cap: Some(800),
            v_cap: Some(400),
            chunk: Some(256),
            bands: Some(3),
            resident: Some(300),
            host_mib: Some(0),
            bricks: Some(7),
            points: Some(20_000),
            poisson_depth: Some(6),
            reduction: Some(Reduction::CompareExchange),
            no_subgroups: true,
            portable: true,
            fail_allocation: Some(0),
            fail_self_test: true,
            dying_driver: true,
            lose_device_at: vec![21, 30],
            budget: vec![entry(0, 1500), entry(230, 60)],
            probe: true,
            probe_every: Some(0),
            silence_ms: Some(2),
            spill_from: Some(0),
        };
        assert_eq!(faults, wanted);
        assert_eq!(Faults::read(["bands=3", "bands=4"]).unwrap().bands, Some(4));
        assert_eq!(Faults::read([""; 0]).unwrap(), Faults::default());
        assert_eq!(faults.after_loss(21).lose_device_at, [30]);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let reported = |list: &[&str]| {
            let error = Faults::read(list).unwrap_err();
            (error.to_string(), error.hint().unwrap_or_default())
        };
        let (message, hint) = reported(&["bnads=3"]);
        assert_eq!(message, "no fault is named `bnads`");
        assert!(hint.starts_with("known, nearest first: bands, "), "{hint}");
        assert_eq!(
            reported(&["bands"]).0,
            "`--fault bands` is not of the form `--fault KEY=VALUE`"
        );
        for (text, allowed) in [
            ("bands=0", COUNT),
            ("chunk=100", "a power of two, 64 to 4194304"),
            ("probe=maybe", SWITCH),
            ("lose_device_at=", "iterations, for example 20,31"),
            ("spill_from=-1", NUMBER),
            (
                "budget=50:1,50:2",
                "FROM:MIB in rising order, for example 0:1500,230:60",
            ),
        ] {
            let (key, value) = text.split_once('=').unwrap();
            assert_eq!(
                reported(&[text]).0,
                format!("the fault `{key}` is {value}, allowed: {allowed}")
            );
        }
        assert_eq!(
            reported(&["v_cap=400", "i_cap=300"]).0,
            "the fault `i_cap` is 300, allowed: at least `v_cap`, 400"
        );
    }
}
