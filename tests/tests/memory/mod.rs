//! Drivers that have no memory.

mod failures;
mod fixtures;
