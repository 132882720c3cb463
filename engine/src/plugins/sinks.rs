//! Where events of a run go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options, family::family};

family! {
    /// A receiver of events.
    Sink {
        Console(ConsoleOptions) = "console", "progress line and messages on stderr";
        MetricsJsonl(MetricsJsonlOptions) = "metrics_jsonl", "metrics.jsonl: training, evaluation and event records";
        MemoryJsonl(MemoryJsonlOptions) = "memory_jsonl", "memory.jsonl: allocated, reserved and budget bytes";
        Tensorboard(TensorboardOptions) = "tensorboard", "event file for TensorBoard: scalars, histograms, images";
    }
}

macro_rules! every_options {
    ($(#[$doc:meta])* $name:ident, $default:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// Steps between two records; 1 to 100 000.
            pub every: u32,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { every: $default }
            }
        }

        impl Options for $name {
            fn check(&self, checker: &mut Checker) {
                checker.range("every", self.every, 1..=100_000);
            }
        }
    };
}

every_options!(
    /// Options of `metrics_jsonl`.
    MetricsJsonlOptions,
    10
);
every_options!(
    /// Options of `memory_jsonl`.
    MemoryJsonlOptions,
    100
);

/// Options of `console`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleOptions {
    /// Seconds between two progress lines when stderr is not a terminal; 1 to 3600.
    pub every_s: u32,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self { every_s: 10 }
    }
}

impl Options for ConsoleOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("every_s", self.every_s, 1..=3600);
    }
}

/// Options of `tensorboard`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TensorboardOptions {
    /// Steps between two records of loss, speed and number of Gaussians; 1 to 100 000.
    pub every: u32,
    /// Steps between two records of the card's telemetry; 1 to 100 000.
    pub gpu_every: u32,
    /// Steps between two records of memory; 1 to 100 000.
    pub memory_every: u32,
    /// Steps between two histograms of the parameters, beside those of evaluations; 100 to 1 000 000.
    pub histogram_every: u32,
    /// Longest side of an image, pixels; larger ones are reduced. 16 to 4096.
    pub image_px: u32,
}

impl Default for TensorboardOptions {
    fn default() -> Self {
        Self {
            every: 10,
            gpu_every: 50,
            memory_every: 100,
            histogram_every: 1000,
            image_px: 512,
        }
    }
}

impl Options for TensorboardOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("every", self.every, 1..=100_000);
        checker.range("gpu_every", self.gpu_every, 1..=100_000);
        checker.range("memory_every", self.memory_every, 1..=100_000);
        checker.range("histogram_every", self.histogram_every, 100..=1_000_000);
        checker.range("image_px", self.image_px, 16..=4096);
    }
}

impl Sink {
    /// True when this sink shows memory.
    #[must_use]
    pub const fn wants_memory(&self) -> bool {
        !matches!(self, Self::MetricsJsonl(_))
    }

    /// Steps between two histograms of the parameters; none when the sink shows none.
    #[must_use]
    pub const fn histogram_every(&self) -> Option<u32> {
        match self {
            Self::Tensorboard(options) => Some(options.histogram_every),
            _ => None,
        }
    }
}
