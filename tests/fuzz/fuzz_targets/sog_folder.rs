//! See [`kiln_tests::hostile::sog_folder`].
#![no_main]

use kiln_tests::hostile;

libfuzzer_sys::fuzz_target!(|input: &[u8]| hostile::sog_folder(input));
