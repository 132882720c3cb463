//! Validators: tags by which a browser knows whether its cached file is current.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// The entity tag of a file: its length, when it was last written, to the nanosecond, and which file it is: one that took the
/// place of another of equal length within a tick of a coarse clock is a new one. None where the system does not know.
pub(super) fn entity_tag(metadata: &Metadata) -> Option<String> {
    let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "\"{:x}-{:x}-{:x}\"",
        metadata.len(),
        written.as_nanos(),
        identity(metadata)
    ))
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// When it was made, in tenths of a microsecond: the number of a file is not to be had without opening it.
#[cfg(windows)]
fn identity(metadata: &Metadata) -> u64 {
    std::os::windows::fs::MetadataExt::creation_time(metadata)
}

/// Whether an `If-None-Match` header names a tag (RFC 9110, 13.1.2); weak ones count.
pub(super) fn names(header: &str, tag: &str) -> bool {
    let same = |found: &str| found == "*" || found.strip_prefix("W/").unwrap_or(found) == tag;
    header.split(',').map(str::trim).any(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_weak_tags() {
        let tag = "\"5-a\"";
        for header in ["\"5-a\"", "W/\"5-a\"", "\"x\", \"5-a\"", "*", " \"5-a\" "] {
            assert!(names(header, tag), "{header}");
        }
        for header in ["", "5-a", "\"5\"", "\"5-ab\"", "w/\"5-a\""] {
            assert!(!names(header, tag), "{header}");
        }
    }
}
