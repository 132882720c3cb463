//! Shared helpers of the integration tests.
//!
//! [`gpu`] opens a device with the validation layer and runs steps on it, [`scenes`] makes models and cameras,
//! [`stages`] checks every kernel of a step, [`twin`] runs the CPU reference for the same inputs, [`compare`] measures
//! differences, [`cpu`] processor time, [`child`] runs a test again in a process of its own with other driver settings,
//! [`setup`] is a profile with faults, [`runs`] trains the bundled scene and reads what the run left behind, [`banded`] trains a small one that
//! runs short of memory, [`schema`] checks JSON against the shipped schemas, [`tfevents`] reads TensorBoard's event
//! files, [`view`] starts `kiln view`, [`http`] talks to it byte by byte, [`browser`] drives a headless browser,
//! [`static_host`] serves a folder as any web server would, [`projects`] makes projects of blocks.
//! [`captures`] makes captures as other programs write them, [`photos`] changes their pictures, [`programs`] has every pass that the engine can record, [`hostile`] feeds bytes to every reader, [`kill`] ends a process at a file operation.
//! Helpers stop the test with a message when anything is amiss.
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

pub mod banded;
pub mod browser;
pub mod captures;
pub mod child;
pub mod compare;
pub mod cpu;
pub mod gpu;
pub mod hostile;
pub mod http;
pub mod kill;
pub mod photos;
pub mod programs;
pub mod projects;
pub mod runs;
pub mod scenes;
pub mod schema;
pub mod setup;
pub mod stages;
pub mod static_host;
pub mod tfevents;
pub mod twin;
pub mod view;
