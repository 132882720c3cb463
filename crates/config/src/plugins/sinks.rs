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
every_options!(
    /// Options of `tensorboard`: of scalars `every` itself, of the rest multiples of it.
    TensorboardOptions,
    10
);

impl TensorboardOptions {
    /// Steps between two records of the card's telemetry.
    #[must_use]
    pub const fn gpu_every(&self) -> u32 {
        5 * self.every
    }

    /// Steps between two records of memory.
    #[must_use]
    pub const fn memory_every(&self) -> u32 {
        10 * self.every
    }

    /// Steps between two histograms of the parameters, beside those of evaluations.
    #[must_use]
    pub const fn histogram_every(&self) -> u32 {
        100 * self.every
    }
}

/// Options of `console`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleOptions {}

impl Options for ConsoleOptions {}

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
            Self::Tensorboard(options) => Some(options.histogram_every()),
            _ => None,
        }
    }
}
