//! Whole runs: what they learn, keep, refuse and survive.

mod bytes;
mod crash;
mod deferred;
mod deterministic;
mod guard;
mod images;
mod losses;
mod order;
mod parity;
mod plan;
mod program;
mod race;
mod resume;
mod run;
mod storage;
mod strategies;
