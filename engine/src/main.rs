//! The `kiln` program: parses arguments, calls the library, maps errors to exit codes.
fn main() {}
