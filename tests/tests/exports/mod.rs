//! Files for viewers, read back by others than the code that wrote them: compressed PLY as the viewer packs it, GLB by the crate
//! `gltf`, SPZ by a reader that was written from the description of the format and has its own library for zstd. Every
//! attribute is held against the error that `docs/guide/export.md` states. Files of another program are read too.
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

mod compressed_ply;
mod glb;
mod levels;
pub(crate) mod model;
mod program;
mod read_again;
mod splat_transform;
mod spz;
mod spz_reader;
mod stopped;
mod tiles;
mod training;
