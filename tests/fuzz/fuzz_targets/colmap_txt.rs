//! See [`kiln_tests::hostile::colmap_txt`].
#![no_main]

use kiln_tests::hostile;

libfuzzer_sys::fuzz_target!(|input: &[u8]| hostile::colmap_txt(input));
