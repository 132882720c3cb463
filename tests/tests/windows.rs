//! The program for Windows under Wine: what it writes has the bytes of what the program of this system writes, and it behaves the same where
//! the systems differ: locks, files that others hold, interrupts, paths. `cargo xtask windows` builds it and runs these tests.
//!
//! Wine does not show memory under pressure, a watchdog, paths of networks, or a window that is closed.
#![cfg(target_os = "linux")]
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

// The program has the same name.
#[path = "windows/mod.rs"]
mod windows;
