//! Training: what happens at which iteration.

pub mod schedule;
