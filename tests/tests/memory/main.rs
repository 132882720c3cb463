//! Allocators and drivers that have no memory.

mod backends;
mod failures;
mod fixtures;
