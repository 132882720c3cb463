//! `Range`: which bytes of a file a request asks for.

/// Bytes of a file to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of them.
    Whole,
    /// `length` bytes from `start`; at least one, all inside the file.
    Bytes {
        /// Offset of the first byte.
        start: u64,
        /// Number of bytes.
        length: u64,
    },
    /// None of the bytes asked for exists.
    Outside,
}

/// Reads a `Range` header for a file of `length` bytes (RFC 9110, 14.2). What is not one range of bytes is ignored, as
/// the standard allows: units that are not known, several ranges, and what cannot be read.
pub(super) fn part(header: &str, length: u64) -> Part {
    let Some((unit, range)) = header.trim().split_once('=') else {
        return Part::Whole;
    };
    if !unit.trim_end().eq_ignore_ascii_case("bytes") {
        return Part::Whole;
    }
    let Some((first, last)) = range.trim().split_once('-') else {
        return Part::Whole;
    };
    let (start, end) = match (number(first), number(last)) {
        // A suffix longer than the file means all of it.
        (None, Some(suffix)) if first.is_empty() => match suffix {
            0 => return Part::Outside,
            suffix => (length.saturating_sub(suffix), length),
        },
        (Some(start), None) if last.is_empty() => (start, length),
        (Some(start), Some(last)) if start <= last => (start, last.saturating_add(1).min(length)),
        _ => return Part::Whole,
    };
    if start >= length {
        return Part::Outside;
    }
    Part::Bytes {
        start,
        length: end - start,
    }
}

/// Digits only; `parse` alone would take a sign. A number beyond the largest is as good as the largest.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ranges() {
        let bytes = |start, length| Part::Bytes { start, length };
        for (header, expected) in [
            ("bytes=0-", bytes(0, 10)),
            ("bytes=0-0", bytes(0, 1)),
            ("bytes=3-5", bytes(3, 3)),
            ("bytes=9-", bytes(9, 1)),
            ("bytes=4-99", bytes(4, 6)),
            ("bytes=4-99999999999999999999999", bytes(4, 6)),
            ("bytes=-1", bytes(9, 1)),
            ("bytes=-10", bytes(0, 10)),
            ("bytes=-11", bytes(0, 10)),
            (" Bytes = 3-5 ", bytes(3, 3)),
            ("bytes=10-", Part::Outside),
            ("bytes=10-12", Part::Outside),
            ("bytes=99999999999999999999999-", Part::Outside),
            ("bytes=-0", Part::Outside),
        ] {
            assert_eq!(part(header, 10), expected, "{header}");
        }
    }

    #[test]
    fn empty_files_have_no_bytes() {
        for header in ["bytes=0-", "bytes=-5", "bytes=0-0"] {
            assert_eq!(part(header, 0), Part::Outside, "{header}");
        }
    }

    #[test]
    fn anything_else_is_ignored() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-3",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=0-1,3-4",
            "bytes=1 - 2",
            "lines=0-1",
            "bytes=0x1-",
            "bytes=--1",
        ] {
            assert_eq!(part(header, 10), Part::Whole, "{header}");
        }
    }
}
