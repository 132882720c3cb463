//! The registry: every family with every plugin, in the order people see.

use super::family::Family;
use super::{Exporter, Init, Loss, Optimizer, Regularizer, Sink, Strategy};

/// Every family with every plugin: the registry.
#[must_use]
pub const fn families() -> [Family; 7] {
    [
        Family {
            key: "init",
            entries: Init::ENTRIES,
        },
        Family {
            key: "strategy",
            entries: Strategy::ENTRIES,
        },
        Family {
            key: "optimizer",
            entries: Optimizer::ENTRIES,
        },
        Family {
            key: "losses",
            entries: Loss::ENTRIES,
        },
        Family {
            key: "regularizers",
            entries: Regularizer::ENTRIES,
        },
        Family {
            key: "exporters",
            entries: Exporter::ENTRIES,
        },
        Family {
            key: "sinks",
            entries: Sink::ENTRIES,
        },
    ]
}
