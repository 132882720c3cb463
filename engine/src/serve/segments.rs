//! The path of a request, in pieces that are safe to append to a folder.

/// Decodes the path of a URL into its segments. `None` for anything that a plain path does not need: a missing leading
/// `/`, empty segments in the middle, `.`, `..`, separators or control characters behind percent signs, broken percent
/// encoding, text that is not UTF-8, and hidden names. A single trailing `/` gives a last segment that is empty.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    let pieces: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let last = pieces.len() - 1;
    pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| match decode(piece)? {
            name if name.is_empty() && index == last => Some(name),
            name => is_plain(&name).then_some(name),
        })
        .collect()
}

/// Whether a name can stand for one entry of a folder and nothing else, on every system.
pub(super) fn is_plain(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || c == '/' || c == '\\' || (cfg!(windows) && c == ':');
    // A leading dot covers `.`, `..` and hidden files: the trainer writes none, and none is anybody's business.
    !name.is_empty() && !name.starts_with('.') && !name.contains(forbidden)
}

fn decode(piece: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(piece.len());
    let mut rest = piece.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| {
            char::from(byte?)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        bytes.push(digit(rest.next())? << 4 | digit(rest.next())?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_are_decoded_once() {
        let list = |path: &str| segments(path).map(|list| list.join("|"));
        assert_eq!(list("/").as_deref(), Some(""));
        assert_eq!(list("/runs/a%20b/run.json").as_deref(), Some("runs|a b|run.json"));
        assert_eq!(list("/%D0%B9").as_deref(), Some("й"));
        assert_eq!(list("/runs/a%2520b").as_deref(), Some("runs|a%20b"), "not twice");
        assert_eq!(list("/runs/").as_deref(), Some("runs|"));
    }

    #[test]
    fn escapes_are_refused() {
        for path in [
            "",
            "run.json",
            "//",
            "//etc/passwd",
            "/runs//run.json",
            "/..",
            "/../etc/passwd",
            "/runs/./run.json",
            "/runs/..",
            "/runs/%2e%2e/x",
            "/runs/%2E%2e%2fx",
            "/runs/..%2f..%2fetc",
            "/runs/a%2fb",
            "/runs/a%5cb",
            "/runs/a\\b",
            "/runs/a%00.json",
            "/runs/a%0d%0ab",
            "/runs/a%7f",
            "/runs/%",
            "/runs/%2",
            "/runs/%zz",
            "/runs/%+1",
            "/runs/%ff",
            "/runs/.git",
            "*",
        ] {
            assert_eq!(segments(path), None, "{path}");
        }
    }
}
