//! See [`kiln_tests::hostile::meshes`].
#![no_main]

use kiln_tests::hostile;

libfuzzer_sys::fuzz_target!(|input: &[u8]| hostile::meshes(input));
