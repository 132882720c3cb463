//! What colours an OBJ file: the library that it names, and the pictures that the library names.

use std::io::{BufRead, Read as _};

use super::read::text;
use crate::Error;

/// Longest line, bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Most pictures that are distinguished.
const MOST: usize = 64;

/// The material library that an OBJ file names first (`mtllib`).
///
/// # Errors
/// [`Error::Io`].
pub fn library(input: impl BufRead) -> Result<Option<String>, Error> {
    let mut found = None;
    lines(input, |word, rest| {
        if word == "mtllib" && found.is_none() {
            found = Some(rest.to_owned());
        }
        found.is_none()
    })?;
    Ok(found)
}

/// The pictures of a material library that colour surfaces (`map_Kd`), each once, in their order.
///
/// # Errors
/// [`Error::Io`].
pub fn pictures(input: impl BufRead) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    lines(input, |word, rest| {
        // Options with their numbers come before the name.
        let name = match rest.starts_with('-') {
            true => rest.rsplit(char::is_whitespace).next().unwrap_or(rest),
            false => rest,
        };
        if word == "map_Kd" && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
        found.len() < MOST
    })?;
    Ok(found)
}

/// Gives the first word and the rest of every line that has both, until `false` is returned.
fn lines(mut input: impl BufRead, mut each: impl FnMut(&str, &str) -> bool) -> Result<(), Error> {
    let (mut raw, mut is_first) = (Vec::new(), true);
    loop {
        raw.clear();
        if (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut raw)? == 0 {
            return Ok(());
        }
        let line = text(&raw, std::mem::take(&mut is_first));
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some((word, rest)) = line.split_once(char::is_whitespace)
            && !each(word, rest.trim())
        {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn marks_and_other_encodings_hide_no_name() {
        let obj = b"\xef\xbb\xbfmtllib br\xfccke.mtl\r\nv 0 0 0\r\n";
        assert_eq!(library(&obj[..]).unwrap().unwrap(), "brücke.mtl");
        let mtl = "\u{feff}map_Kd brücke 場.png\r\n";
        assert_eq!(pictures(mtl.as_bytes()).unwrap(), ["brücke 場.png"]);
    }

    #[test]
    fn names_are_found_with_their_spaces() {
        let obj = "# mtllib no.mtl\nv 0 0 0\nmtllib my mesh.mtl\nmtllib second.mtl\n";
        assert_eq!(library(obj.as_bytes()).unwrap().unwrap(), "my mesh.mtl");
        assert_eq!(library(&b"v 0 0 0\nmtllib\n"[..]).unwrap(), None);
        let mtl = "newmtl a\nKd 1 1 1\nmap_Kd skin one.png\nnewmtl b\nmap_Kd -s 1 1 1 b.png\nmap_Kd skin one.png\nmap_Ks s.png";
        assert_eq!(pictures(mtl.as_bytes()).unwrap(), ["skin one.png", "b.png"]);
        assert!(pictures(&b"newmtl a\n"[..]).unwrap().is_empty());
    }
}
