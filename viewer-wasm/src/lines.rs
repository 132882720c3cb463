//! JSON lines that grow while one reads: whole lines now, a half-written last one later.

use crate::json::{self, Value};

/// Longest line kept while its end is missing, bytes; a longer one is dropped.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The end of a growing file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    /// Bytes taken so far.
    pub(crate) bytes: u64,
    /// Lines that were not JSON.
    pub(crate) bad: u32,
    partial: Vec<u8>,
}

impl Tail {
    /// Takes the next bytes and gives the values of the lines that are whole now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Value> {
        self.bytes += bytes.len() as u64;
        self.partial.extend_from_slice(bytes);
        let Some(end) = self.partial.iter().rposition(|&byte| byte == b'\n') else {
            if self.partial.len() > MAX_LINE_BYTES {
                self.partial.clear();
                self.bad += 1;
            }
            return Vec::new();
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        let text = String::from_utf8_lossy(&whole);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let parsed: Vec<_> = lines.map(json::parse).collect();
        self.bad += parsed.iter().filter(|line| line.is_err()).count() as u32;
        parsed.into_iter().flatten().collect()
    }

    /// Whether a line without its end is waiting.
    pub(crate) fn is_cut(&self) -> bool {
        !self.partial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_line_waits_for_its_other_half() {
        let mut tail = Tail::default();
        assert_eq!(tail.push(b"{\"it\":1}\n{\"it\"").len(), 1);
        assert!(tail.is_cut());
        let values = tail.push(b":2}\n\n");
        assert_eq!(values[0].number("it"), Some(2.0));
        assert_eq!((tail.bytes, tail.bad, tail.is_cut()), (19, 0, false));
    }

    #[test]
    fn damaged_lines_are_counted_and_passed_over() {
        let mut tail = Tail::default();
        assert_eq!(tail.push(b"{\"it\":1}\n\xff\xfe{\n{\"it\":3}\n").len(), 2);
        assert_eq!(tail.bad, 1);
        assert!(tail.push(&vec![b'x'; MAX_LINE_BYTES + 1]).is_empty());
        assert_eq!((tail.bad, tail.is_cut()), (2, false));
    }
}
