//! `memory.jsonl`: device memory over the run, by purpose.

use super::metrics::{Points, add};
use crate::json::Value;

/// The rows of `memory.jsonl` so far; bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    pub(crate) allocated: Points,
    pub(crate) reserved: Points,
    /// What the driver says the process uses.
    pub(crate) heap_usage: Points,
    /// What the driver lets it use.
    pub(crate) heap_budget: Points,
    /// Bytes by purpose, in the order of the file.
    pub(crate) tags: Vec<(String, Points)>,
    pub(crate) peak_reserved: f64,
}

impl Memory {
    /// Takes a line.
    pub(crate) fn push(&mut self, row: &Value) {
        let Some(it) = row.number("it") else {
            return;
        };
        for (key, points) in [
            ("allocated", &mut self.allocated),
            ("reserved", &mut self.reserved),
            ("heap_usage", &mut self.heap_usage),
            ("heap_budget", &mut self.heap_budget),
        ] {
            if let Some(value) = row.number(key) {
                add(points, it, value);
            }
        }
        self.peak_reserved = self.peak_reserved.max(row.number("peak_reserved").unwrap_or(0.0));
        let Some(Value::Object(tags)) = row.get("tags") else {
            return;
        };
        for (name, value) in tags {
            let Some(bytes) = value.as_number() else {
                continue;
            };
            let at = self
                .tags
                .iter()
                .position(|(known, _)| known == name)
                .unwrap_or_else(|| {
                    self.tags.push((name.clone(), Vec::new()));
                    self.tags.len() - 1
                });
            add(&mut self.tags[at].1, it, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Tail;
    use crate::run::golden;

    #[test]
    fn the_fixture_becomes_tags() {
        let mut memory = Memory::default();
        Tail::default()
            .push(golden("memory.jsonl").as_bytes())
            .iter()
            .for_each(|row| memory.push(row));
        assert_eq!(memory.reserved, [(1.0, 786_432.0)]);
        assert_eq!(memory.heap_budget, []);
        let names: Vec<_> = memory.tags.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            (names.as_slice(), memory.peak_reserved),
            (["other", "parameters"].as_slice(), 786_432.0)
        );
    }
}
