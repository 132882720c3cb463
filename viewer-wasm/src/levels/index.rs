//! `lod-meta.json`, version 1: a tree of boxes whose leaves name runs of splats in chunks, one run a level.

use crate::address::encode;
use crate::json::{self, Value};
use crate::math::Vec3;
use crate::ply::Refusal;
use crate::run::safe_path;

use super::INDEX;

/// Most splats of a run.
const MOST_SPLATS: u64 = 1 << 24;

/// Splats of a leaf at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    /// Chunk that holds them,
    pub(crate) file: usize,
    /// the first of them there, and how many.
    pub(crate) offset: u32,
    pub(crate) count: u32,
}

/// A leaf: its box and its levels, the finest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) min: Vec3,
    pub(crate) max: Vec3,
    pub(crate) runs: Vec<Run>,
    /// Shown as it is from everywhere: the environment.
    pub(crate) always: bool,
}

/// All of a description.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) leaves: Vec<Leaf>,
    /// Descriptions of the chunks, percent-encoded, relative to this file.
    pub(crate) files: Vec<String>,
    /// Splats of the finest level.
    pub(crate) finest: u32,
}

impl Index {
    /// Reads a description.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let value = json::parse(&String::from_utf8_lossy(text)).map_err(|e| format!("{INDEX} is {e}"))?;
        // Before it had versions the format was as it is.
        if let version @ Some(2..) = value.whole("version") {
            return Err(format!(
                "{INDEX} is of version {}, and version 1 is read",
                version.unwrap_or(0)
            ));
        }
        let mut index = Self::default();
        for name in value.items("filenames") {
            index.name(name)?;
        }
        if let Some(name @ Value::Text(_)) = value.get("environment") {
            index.leaves.push(Leaf {
                min: [0.0; 3],
                max: [0.0; 3],
                // How many splats it has its own description says.
                runs: vec![Run {
                    file: index.files.len(),
                    offset: 0,
                    count: 0,
                }],
                always: true,
            });
            index.name(name)?;
        }
        let mut open = vec![value.get("tree").ok_or_else(|| format!("{INDEX} has no tree"))?];
        while let Some(part) = open.pop() {
            open.extend(part.items("children").iter().rev());
            index.leaf(part)?;
        }
        let finest = index.leaves.iter().filter_map(|leaf| leaf.runs.first());
        let finest: u64 = finest.map(|run| u64::from(run.count)).sum();
        index.finest =
            u32::try_from(finest).map_err(|_| format!("{INDEX} names {finest} splats, more than are shown"))?;
        if index.leaves.iter().all(|leaf| leaf.always) {
            return Err(format!("{INDEX} names no splats"));
        }
        Ok(index)
    }

    /// Two points inside each leaf, three numbers each. Leaves have about equally many splats.
    pub(super) fn outline(&self) -> Vec<f32> {
        let leaves = self.leaves.iter().filter(|leaf| !leaf.always);
        let points = leaves.flat_map(|leaf| {
            [0.25, 0.75].map(|share| [0, 1, 2].map(|axis| leaf.min[axis] + share * (leaf.max[axis] - leaf.min[axis])))
        });
        points.flatten().collect()
    }

    fn name(&mut self, name: &Value) -> Result<(), Refusal> {
        let path = match name {
            Value::Text(name) => safe_path(name),
            _ => None,
        };
        let path = path.ok_or_else(|| format!("{INDEX} names the file {}, which is not beside it", name.plain()))?;
        self.files.push(encode(&path));
        Ok(())
    }

    /// Takes the levels of a part of the tree that has any.
    fn leaf(&mut self, part: &Value) -> Result<(), Refusal> {
        let Some(Value::Object(levels)) = part.get("lods") else {
            return Ok(());
        };
        let wrong = || format!("a leaf in {INDEX} has no box, or names splats of a chunk that is not listed");
        let corner = |key: &str| {
            let numbers = part.get("bound")?.items(key).iter().filter_map(Value::as_number);
            let numbers: Vec<f32> = numbers.map(|v| v as f32).filter(|v| v.is_finite()).collect();
            Vec3::try_from(numbers).ok()
        };
        let mut runs = Vec::new();
        for (level, run) in levels {
            let read = || {
                let whole = |key| run.whole(key).filter(|value| *value <= MOST_SPLATS);
                let run = Run {
                    file: whole("file")? as usize,
                    offset: whole("offset")? as u32,
                    count: whole("count")? as u32,
                };
                (run.file < self.files.len()).then_some((level.parse::<u32>().ok()?, run))
            };
            runs.push(read().ok_or_else(wrong)?);
        }
        runs.retain(|(_, run)| run.count > 0);
        let runs = crate::order::rising(runs, |(level, _)| f64::from(*level));
        if !runs.is_empty() {
            self.leaves.push(Leaf {
                min: corner("min").ok_or_else(wrong)?,
                max: corner("max").ok_or_else(wrong)?,
                runs: runs.into_iter().map(|(_, run)| run).collect(),
                always: false,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const TEXT: &str = r#"{"version":1,"count":15,"counts":[10,5],"lodLevels":2,"environment":"env/meta.json",
        "filenames":["0_0/meta.json","1 0/meta.json"],"tree":{"bound":{"min":[0,0,0],"max":[4,1,1]},"children":[
        {"bound":{"min":[0,0,0],"max":[2,1,1]},"lods":{"1":{"file":1,"offset":0,"count":2},"0":{"file":0,"offset":0,"count":4}}},
        {"bound":{"min":[2,0,0],"max":[4,1,1]},"lods":{"0":{"file":0,"offset":4,"count":6},"1":{"file":1,"offset":2,"count":0}}}]}}"#;

    #[test]
    fn leaves_levels_and_the_environment() {
        let index = Index::parse(TEXT.as_bytes()).unwrap();
        assert_eq!(index.files, ["0_0/meta.json", "1%200/meta.json", "env/meta.json"]);
        assert_eq!((index.finest, index.leaves.len()), (10, 3));
        assert!(index.leaves[0].always && index.leaves[0].runs[0].file == 2);
        let counts = |leaf: &Leaf| leaf.runs.iter().map(|run| run.count).collect::<Vec<_>>();
        assert_eq!(counts(&index.leaves[1]), [4, 2], "the finest first");
        assert_eq!(counts(&index.leaves[2]), [6], "an empty level is none");
    }

    #[test]
    fn what_it_may_say_wrongly() {
        for (from, to, words) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"tree\"", "\"trunk\"", "no tree"),
            ("\"file\":1", "\"file\":7", "not listed"),
            ("\"count\":6", "\"count\":-6", "not listed"),
            ("\"max\":[2,1,1]", "\"max\":[2,1]", "no box"),
            ("0_0/meta", "../meta", "not beside it"),
            ("0_0/meta", "http://x/meta", "not beside it"),
            ("\"lods\"", "\"loads\"", ""),
            ("{", "", "not valid JSON"),
        ] {
            let read = Index::parse(TEXT.replacen(from, to, 1).as_bytes());
            assert!(words.is_empty() || read.unwrap_err().contains(words), "{words}");
        }
        let none = TEXT.replace("\"lods\"", "\"loads\"");
        assert!(Index::parse(none.as_bytes()).unwrap_err().contains("no splats"));
    }
}
