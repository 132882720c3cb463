//! Measurements and long checks of Kiln that users of the engine do not need.
//!
//! [`mod@bench`], [`compare`] and [`antialias`] run the `kiln` program and read the folders it leaves; [`synth`] makes scenes
//! of any size; [`crash`] and [`mesa`] run tests of the repository longer, or on another driver; [`net`] compares digests;
//! [`mod@replay`] plays a `trace` on `allocators`. Layers: the subcommands use `comparison`, `program` and `files`, and those
//! import nothing of them. A library as well as a program, so that tests of the engine train on scenes of [`synth`].

mod allocators;
pub mod antialias;
pub mod bench;
pub mod compare;
mod comparison;
pub mod crash;
mod files;
pub mod mesa;
pub mod net;
mod program;
pub mod replay;
pub mod synth;
mod trace;
