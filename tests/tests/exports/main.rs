//! Files for viewers, read back by others than the code that wrote them: compressed PLY by the viewer, GLB by the crate
//! `gltf`, SPZ by a reader that was written from the description of the format and has its own library for zstd. Every
//! attribute is held against the error that `docs/guide/export.md` states. Files of another program are read too.
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

mod compressed_ply;
mod glb;
mod levels;
mod model;
mod program;
mod read_again;
mod splat_transform;
mod spz;
mod spz_reader;
mod stopped;
mod tiles;
mod training;

// The viewer is made for browsers and shares only the parser of PLY headers with the engine; these are its parts that
// read files. Their own tests run here a second time.
#[allow(
    unused_imports,
    dead_code,
    reason = "only what reading needs is used, and which lint says so depends on the other"
)]
#[path = "../../../viewer-wasm/src/math.rs"]
mod math;
#[path = "../../../viewer-wasm/src/number.rs"]
mod number;
#[path = "../../../viewer-wasm/src/pack.rs"]
mod pack;
#[expect(dead_code, reason = "only what reading needs is used")]
#[path = "../../../viewer-wasm/src/ply/mod.rs"]
mod ply;
#[path = "../../../viewer-wasm/src/splat.rs"]
mod splat;
