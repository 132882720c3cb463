//! Training: what happens at which iteration, and what a run says and leaves behind.
//!
//! [`schedule`] is pure arithmetic on iteration numbers; [`events`] are the rows a run emits and [`sinks`] where they go;
//! [`run_folder`] owns the folder's layout and its index; [`clock`] and [`interrupt`] are time and Ctrl-C.

pub mod clock;
pub mod events;
pub mod interrupt;
pub mod run_folder;
pub mod schedule;
pub mod sinks;
