//! One file per kernel family; the CPU twin of each under [`cpu`].

pub mod cpu;
