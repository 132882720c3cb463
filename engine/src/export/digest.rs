//! Digests of bytes and of whole files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use kiln_files::open_regular;

use sha2::{Digest as _, Sha256};

const PIECE_BYTES: usize = 1 << 20;

/// SHA-256 of a file's bytes, as 64 hexadecimal digits.
///
/// # Errors
/// Those of reading.
pub fn file_digest(path: &Path) -> io::Result<String> {
    digest_of_file(open_regular(path)?)
}

/// [`file_digest`] of a file that is open.
///
/// # Errors
/// Those of reading.
pub(crate) fn digest_of_file(mut file: File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            bytes => digest.update(&piece[..bytes]),
        }
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// SHA-256 of some bytes, as 64 hexadecimal digits.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
