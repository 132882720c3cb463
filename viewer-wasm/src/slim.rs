//! Sources of shaders without comments and indentation, made when the module is built.

/// Bytes of [`without_comments`].
pub(crate) const fn length(source: &str) -> usize {
    pass(source.as_bytes(), &mut [])
}

/// The source without what follows `//` in a line, without spaces at the start of lines, and without empty lines.
pub(crate) const fn without_comments<const N: usize>(source: &str) -> [u8; N] {
    let mut out = [0; N];
    pass(source.as_bytes(), &mut out);
    out
}

/// Bytes as the text they are.
pub(crate) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Writes what stays to `out` as far as it reaches; gives the number of bytes that stay.
const fn pass(source: &[u8], out: &mut [u8]) -> usize {
    let (mut at, mut kept) = (0, 0);
    let (mut starts, mut comment) = (true, false);
    while at < source.len() {
        let byte = source[at];
        comment |= byte == b'/' && at + 1 < source.len() && source[at + 1] == b'/';
        let ends = byte == b'\n';
        let stays = if ends {
            !starts
        } else {
            !comment && !(starts && byte == b' ')
        };
        if stays {
            if kept < out.len() {
                out[kept] = byte;
            }
            kept += 1;
        }
        if ends {
            (starts, comment) = (true, false);
        } else if stays {
            starts = false;
        }
        at += 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays() {
        const SOURCE: &str = "// about\nint a; // why\n\n    b = a / 2;\n  // more\n#define X 1\n";
        const SLIM: [u8; length(SOURCE)] = without_comments(SOURCE);
        assert_eq!(text(&SLIM), "int a; \nb = a / 2;\n#define X 1\n");
    }
}
