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
