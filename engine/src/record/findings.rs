//! What the guard reports: the details of its events.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Evidence that device memory lies in the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "evidence", rename_all = "snake_case")]
pub enum SpillEvidence {
    /// A block is read as slowly as over a bus.
    Probe {
        /// Which block.
        block: String,
        /// How fast it was read, GB/s.
        gb_s: f64,
        /// How fast a small block in use was read at the same time, GB/s.
        reference_gb_s: f64,
    },
    /// The driver counts more host memory for this process than it asked for.
    HostHeap {
        /// Bytes of the process in host memory that the device uses.
        host_heap_usage: u64,
        /// Bytes there should be: those before the run, and its rings.
        baseline: u64,
    },
    /// The system counts more host memory that the device uses for this process than it asked for.
    Shared {
        /// Bytes of the process in host memory that the device uses, by Windows' counter.
        shared_usage: u64,
        /// Bytes there should be: those before the run, and its rings.
        baseline: u64,
    },
    /// The driver counts more device memory for this process than it asked for.
    DeviceHeap {
        /// Bytes of the process in device memory.
        heap_usage: u64,
        /// Bytes there should be: those before the run, and its blocks.
        baseline: u64,
    },
}

impl fmt::Display for SpillEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: &u64| bytes >> 20;
        match self {
            Self::Probe {
                block,
                gb_s,
                reference_gb_s,
            } => write!(
                f,
                "{block} is read at {gb_s:.1} GB/s, memory in use at {reference_gb_s:.1} GB/s"
            ),
            Self::HostHeap {
                host_heap_usage,
                baseline,
            } => write!(
                f,
                "the driver counts {} MiB of host memory for this process, which asked for {} MiB",
                mib(host_heap_usage),
                mib(baseline)
            ),
            Self::Shared { shared_usage, baseline } => write!(
                f,
                "Windows counts {} MiB of shared GPU memory for this process, which asked for {} MiB",
                mib(shared_usage),
                mib(baseline)
            ),
            Self::DeviceHeap { heap_usage, baseline } => write!(
                f,
                "the driver counts {} MiB of device memory for this process, which asked for {} MiB",
                mib(heap_usage),
                mib(baseline)
            ),
        }
    }
}

/// Where the device's memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// On the device.
    Resident,
    /// Some of it in the host.
    Spilled,
    /// It cannot be measured.
    Unknown,
}

/// What the residency probe found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPlace {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How fast a small block in use was read, GB/s; null when nothing was measured.
    pub reference_gb_s: Option<f64>,
    /// The slowest block that was measured, GB/s.
    pub slowest_gb_s: Option<f64>,
    /// Which that is.
    pub slowest: Option<String>,
    /// Blocks that were measured.
    pub blocks: u32,
}

impl MemoryPlace {
    /// Nothing was measured, for `reason`.
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            verdict: Verdict::Unknown,
            reason: Some(reason.to_owned()),
            reference_gb_s: None,
            slowest_gb_s: None,
            slowest: None,
            blocks: 0,
        }
    }
}

impl fmt::Display for MemoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.verdict {
            Verdict::Resident => "the memory of the run lies on the device",
            Verdict::Spilled => "some of the memory of the run lies in the host",
            Verdict::Unknown => "where the memory of the run lies is unknown",
        })?;
        if let Some(reason) = &self.reason {
            write!(f, ": {reason}")?;
        }
        if let (Some(slowest), Some(gb_s), Some(reference)) = (&self.slowest, self.slowest_gb_s, self.reference_gb_s) {
            write!(
                f,
                "; slowest of {} blocks: {slowest} at {gb_s:.1} GB/s, reference {reference:.1} GB/s",
                self.blocks
            )?;
        }
        Ok(())
    }
}

/// What a run does when memory gets short, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Densifications remove Gaussians and add none.
    StopGrowth,
    /// Images are decoded when they are needed and not ahead of time.
    DropPrefetch,
    /// Steps run in bands of tiles, which touch less of the arena at a time.
    MoreBands,
}

/// A response that begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PressureChange {
    /// Which.
    pub response: Response,
    /// True when it begins or gets stronger, false when it ends or gets weaker.
    pub active: bool,
    /// Least number of bands from now on; null when steps run whole where they can, and for other responses.
    pub bands: Option<u32>,
    /// Device memory of this process then, bytes.
    pub heap_usage: u64,
    /// Device memory it may use then, bytes.
    pub heap_budget: u64,
}

impl fmt::Display for PressureChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let did = match (self.response, self.active, self.bands) {
            (Response::StopGrowth, true, _) => "the model stops growing".to_owned(),
            (Response::StopGrowth, false, _) => "the model may grow again".to_owned(),
            (Response::DropPrefetch, true, _) => "images are no longer decoded ahead of time".to_owned(),
            (Response::DropPrefetch, false, _) => "images are decoded ahead of time again".to_owned(),
            (Response::MoreBands, _, Some(bands)) => format!("steps run in at least {bands} bands"),
            (Response::MoreBands, _, None) => "steps run whole again".to_owned(),
        };
        let state = if self.active { "is short" } else { "is free again" };
        write!(
            f,
            "device memory {state}, {} MiB in use of {} MiB granted: {did}",
            self.heap_usage >> 20,
            self.heap_budget >> 20
        )
    }
}
