//! A file of JSON objects, one a line, that only grows.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::export::ExportError;

/// Bytes read at a time when looking for the last line's end.
const CHUNK: u64 = 4096;

/// Appends lines to a file through a buffer.
pub(crate) struct JsonLines {
    path: PathBuf,
    file: BufWriter<File>,
    /// The line being made; kept so that steady state does not allocate.
    line: Vec<u8>,
}

impl JsonLines {
    /// Opens or makes the file. A last line that a crash cut short is removed, because it would join the next one.
    pub(crate) fn append(path: &Path) -> Result<Self, ExportError> {
        let open = || {
            let mut file = kiln_files::open_appending(path)?;
            let length = file.seek(SeekFrom::End(0))?;
            let whole = whole_lines(&mut file, length)?;
            if whole < length {
                file.set_len(whole)?;
            }
            Ok(file)
        };
        let file = open().map_err(|source| ExportError::new(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            line: Vec::new(),
        })
    }

    /// Appends one object. The whole line goes to the buffer at once.
    pub(crate) fn write(&mut self, row: &impl Serialize) -> Result<(), ExportError> {
        self.line.clear();
        let result = serde_json::to_writer(&mut self.line, row).map_err(io::Error::from);
        self.line.push(b'\n');
        result
            .and_then(|()| self.file.write_all(&self.line))
            .map_err(|source| ExportError::new(&self.path, source))
    }

    /// Hands the buffer to the system.
    pub(crate) fn flush(&mut self) -> Result<(), ExportError> {
        self.file.flush().map_err(|source| ExportError::new(&self.path, source))
    }
}

/// Bytes up to and with the last line feed.
fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;
    use std::fs;

    #[test]
    fn lines_are_appended_across_openings() {
        let folder = Scratch::new();
        let path = folder.path().join("rows.jsonl");
        for number in 0..3 {
            let mut rows = JsonLines::append(&path).unwrap();
            rows.write(&[number]).unwrap();
            rows.flush().unwrap();
        }
        assert_eq!(fs::read_to_string(path).unwrap(), "[0]\n[1]\n[2]\n");
    }

    #[test]
    fn a_torn_last_line_is_removed() {
        let folder = Scratch::new();
        let long = format!("{{}}\n[\"{}", "x".repeat(3 * CHUNK as usize));
        let cases = [("[1]\n[2", "[1]\n[9]\n"), ("[1", "[9]\n"), (long.as_str(), "{}\n[9]\n")];
        for (before, after) in cases {
            let path = folder.write("rows.jsonl", before);
            let mut rows = JsonLines::append(&path).unwrap();
            rows.write(&[9]).unwrap();
            rows.flush().unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), after);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = Scratch::new();
        let victim = folder.write("victim", "theirs");
        let path = folder.path().join("rows.jsonl");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(JsonLines::append(&path).is_err());
        assert_eq!(fs::read_to_string(victim).unwrap(), "theirs");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_with_the_path() {
        let path = Path::new("/dev/full");
        let mut rows = JsonLines {
            path: path.to_owned(),
            file: BufWriter::new(fs::OpenOptions::new().write(true).open(path).unwrap()),
            line: Vec::new(),
        };
        rows.write(&[1]).unwrap();
        let error = rows.flush().unwrap_err();
        assert!(matches!(&error, ExportError::DiskFull { path, .. } if path == Path::new("/dev/full")));
    }
}
