//! Whole runs: what they learn, keep, refuse and survive.

mod bytes;
mod crash;
mod deterministic;
mod guard;
mod images;
mod losses;
mod parity;
mod plan;
mod program;
mod resume;
mod run;
mod storage;
mod strategies;
