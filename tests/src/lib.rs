//! Shared helpers of the integration tests.
//!
//! [`gpu`] opens a device with the validation layer and runs steps on it, [`scenes`] makes models and cameras,
//! [`twin`] runs the CPU reference for the same inputs, [`compare`] measures differences, [`child`] runs a test again
//! in a process of its own with other driver settings. Helpers stop the test with a message when anything is amiss.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

pub mod child;
pub mod compare;
pub mod gpu;
pub mod scenes;
pub mod twin;
