//! The program and the library on the host: command line, documents, files that are read and written.

mod command_line;
#[cfg(unix)]
mod documents;
mod exports;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod images_memory;
mod inputs;
mod telemetry;
#[cfg(target_os = "linux")]
mod wsl;

// The viewer is made for browsers and shares the readers of `crates/formats` with the engine; these are its parts that
// read PLY files as they arrive, for `exports`. Their own tests run here a second time.
#[allow(
    unused_imports,
    dead_code,
    reason = "only what reading needs is used, and which lint says so depends on the other"
)]
#[path = "../../viewer-wasm/src/math.rs"]
mod math;
#[path = "../../viewer-wasm/src/number.rs"]
mod number;
#[path = "../../viewer-wasm/src/pack.rs"]
mod pack;
#[expect(dead_code, reason = "only what reading needs is used")]
#[path = "../../viewer-wasm/src/ply/mod.rs"]
mod ply;
#[path = "../../viewer-wasm/src/splat.rs"]
mod splat;
