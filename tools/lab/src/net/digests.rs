//! Digests by name, and what differs between two sets of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use xtask::failure::{Failure, Result};

/// Bytes at the end of a checkpoint: the length of its footer, a digest, and a mark.
const TAIL_BYTES: usize = 48;

/// SHA-256 by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Digests(BTreeMap<String, String>);

impl Digests {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a file, or all files of a folder with their paths in it.
    ///
    /// # Errors
    /// [`Failure`] when one cannot be read, or a folder holds none.
    pub(super) fn add(&mut self, name: &str, path: &Path) -> Result<()> {
        if !path.is_dir() {
            let bytes = fs::read(path).map_err(|e| Failure::io("read", path, e))?;
            self.put(name, &bytes);
            return Ok(());
        }
        let before = self.len();
        let entries = fs::read_dir(path).map_err(|e| Failure::io("list", path, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| Failure::io("list", path, e))?;
            self.add(
                &format!("{name}/{}", entry.file_name().to_string_lossy()),
                &entry.path(),
            )?;
        }
        match self.len() > before {
            true => Ok(()),
            false => Err(Failure::new(format!("{} holds no file", path.display()))),
        }
    }

    /// Adds a checkpoint without its seconds and its settings, which name folders.
    ///
    /// # Errors
    /// [`Failure`] when it is none.
    pub(super) fn add_checkpoint(&mut self, name: &str, path: &Path) -> Result<()> {
        let bytes = fs::read(path).map_err(|e| Failure::io("read", path, e))?;
        let bytes = timeless(&bytes).ok_or_else(|| Failure::new(format!("{} is no checkpoint", path.display())))?;
        self.put(name, &bytes);
        Ok(())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) {
        self.0.insert(name.to_owned(), format!("{:x}", Sha256::digest(bytes)));
    }

    /// A line each, as `sha256sum` writes them.
    pub(super) fn text(&self) -> String {
        let lines = self.0.iter().map(|(name, digest)| format!("{digest}  {name}\n"));
        lines.collect()
    }

    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once("  "));
        Self(
            pairs
                .map(|(digest, name)| (name.to_owned(), digest.to_owned()))
                .collect(),
        )
    }

    /// What differs from these digests to `now`, a line each.
    pub(super) fn differences(&self, now: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let differ = names
            .into_iter()
            .filter_map(|name| match (self.0.get(name), now.0.get(name)) {
                (Some(one), Some(other)) if one == other => None,
                (Some(_), Some(_)) => Some(format!("differs  {name}")),
                (None, _) => Some(format!("new      {name}")),
                (_, None) => Some(format!("missing  {name}")),
            });
        differ.collect()
    }
}

/// A checkpoint's planes and state, without what the clock and the folder decide.
fn timeless(bytes: &[u8]) -> Option<Vec<u8>> {
    let tail = bytes.len().checked_sub(TAIL_BYTES)?;
    let length = u64::from_le_bytes(bytes.get(tail..tail + 8)?.try_into().ok()?);
    let footer = tail.checked_sub(usize::try_from(length).ok()?)?;
    let mut state: Value = serde_json::from_slice(&bytes[footer..tail]).ok()?;
    let fields = state.get_mut("state")?.as_object_mut()?;
    for field in ["t_s", "profile"] {
        fields.remove(field)?;
    }
    Some([&bytes[..footer], state.to_string().as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_line_each_and_texts_come_back() {
        let mut before = Digests::default();
        before.put("a", b"1");
        before.put("b b", b"2");
        let mut now = Digests::parse(&before.text());
        assert_eq!(before, now);
        assert!(before.differences(&now).is_empty());
        now.put("b b", b"3");
        now.put("c", b"4");
        now.0.remove("a");
        assert_eq!(before.differences(&now), ["missing  a", "differs  b b", "new      c"]);
    }

    #[test]
    fn seconds_and_settings_of_a_checkpoint_do_not_count() {
        let checkpoint = |seconds: &str, planes: &str| {
            let footer = format!(r#"{{"state":{{"t_s":{seconds},"profile":{{"a":{seconds}}},"iteration":7}}}}"#);
            let mut bytes = format!("{planes}{footer}").into_bytes();
            bytes.extend((footer.len() as u64).to_le_bytes());
            bytes.extend([seconds.len() as u8; 40]);
            timeless(&bytes)
        };
        assert!(checkpoint("1.5", "xyz").is_some());
        assert_eq!(checkpoint("1.5", "xyz"), checkpoint("22.25", "xyz"));
        assert_ne!(checkpoint("1.5", "xyz"), checkpoint("1.5", "xyy"));
        assert_eq!([timeless(b""), timeless(&[255; 60])], [None, None]);
    }
}
