//! Streamed SOG: `lod-meta.json`, a tree of boxes whose leaves name runs of Gaussians in chunks, one run for each level.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::levels::{Cloud, Node, Tree, each_leaf};
use super::meta::Asset;
use super::read::{Taken, read};
use super::write::write_files;
use super::{Error, Get, META, Model, Put, Splats};

/// Name of the file that describes tree and chunks.
pub const INDEX: &str = "lod-meta.json";
/// Version of the format.
const VERSION: u32 = 1;
/// Gaussians of a chunk, at most.
const CHUNK: usize = 1 << 17;
/// Levels are halved until so few Gaussians are left, within these numbers of levels.
const LAST_LEVEL: usize = 1 << 17;
const LEVELS: std::ops::RangeInclusive<usize> = 4..=7;
/// Standard deviations that the box of a leaf takes in.
const REACH: f64 = 3.0;
/// Most chunks that are read.
const MOST_CHUNKS: usize = 1 << 16;

/// `lod-meta.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamedIndex {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asset: Option<Asset>,
    count: u64,
    counts: Vec<u64>,
    #[serde(rename = "lodLevels")]
    levels: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    filenames: Vec<String>,
    tree: Part,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    bound: Bound,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Part>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    lods: BTreeMap<u32, Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Bound {
    min: [f32; 3],
    max: [f32; 3],
}

/// Gaussians of a leaf at a level: a chunk, the first of them there, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    file: usize,
    offset: usize,
    count: usize,
}

impl Bound {
    const EMPTY: Self = Self {
        min: [f32::INFINITY; 3],
        max: [f32::NEG_INFINITY; 3],
    };

    fn add(&mut self, other: &Self) {
        for axis in 0..3 {
            self.min[axis] = self.min[axis].min(other.min[axis]);
            self.max[axis] = self.max[axis].max(other.max[axis]);
        }
    }

    fn of(cloud: &Cloud) -> Self {
        let [min, max] = cloud.bounds(REACH);
        Self { min, max }
    }
}

/// Levels for so many Gaussians, each half of the one before.
#[must_use]
pub fn n_levels(count: usize) -> usize {
    let halvings = (count / LAST_LEVEL).max(1).ilog2() as usize;
    (halvings + 1).clamp(*LEVELS.start(), *LEVELS.end())
}

/// Chunks of one level, being filled.
struct Level {
    number: usize,
    pending: Cloud,
    n_chunks: usize,
    /// Place of the pending chunk among all.
    file: usize,
}

impl Level {
    /// Writes the pending chunk.
    fn flush(&mut self, antialiased: bool, put: &mut Put<'_>) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let folder = format!("{}_{}", self.number, self.n_chunks);
        write_files(&self.pending, antialiased, &mut |name, bytes| {
            put(&format!("{folder}/{name}"), bytes)
        })?;
        self.n_chunks += 1;
        self.pending = Cloud::new(self.pending.sh_degree);
        Ok(())
    }
}

/// Writes chunks and, last, the description, and gives the number of Gaussians of each level.
///
/// `gather` gives a leaf's Gaussians by its number. Memory is that of the tree, a chunk a level, and a leaf a core.
///
/// # Errors
/// Those of `gather` and `put`.
pub fn write_streamed(
    tree: &Tree,
    sh_degree: u32,
    antialiased: bool,
    gather: &mut dyn FnMut(usize) -> Result<Cloud, Error>,
    put: &mut Put<'_>,
) -> Result<Vec<u64>, Error> {
    let n_levels = n_levels(tree.len());
    let mut filenames = Vec::new();
    let mut levels: Vec<Level> = (0..n_levels)
        .map(|number| Level {
            number,
            pending: Cloud::new(sh_degree),
            n_chunks: 0,
            file: usize::MAX,
        })
        .collect();
    let mut leaves = Vec::with_capacity(tree.n_leaves());
    let mut counts = vec![0_u64; n_levels];
    each_leaf(tree, n_levels, gather, &mut |_, halved| {
        let mut bound = Bound::EMPTY;
        let mut lods = BTreeMap::new();
        for (level, cloud) in levels.iter_mut().zip(&halved) {
            bound.add(&Bound::of(cloud));
            if level.pending.len() + cloud.len() > CHUNK {
                level.flush(antialiased, put)?;
            }
            if level.pending.is_empty() {
                level.file = filenames.len();
                filenames.push(format!("{}_{}/{META}", level.number, level.n_chunks));
            }
            let run = Run {
                file: level.file,
                offset: level.pending.len(),
                count: cloud.len(),
            };
            lods.insert(level.number as u32, run);
            counts[level.number] += cloud.len() as u64;
            level.pending.append(cloud);
        }
        leaves.push((bound, lods));
        Ok(())
    })?;
    for level in &mut levels {
        level.flush(antialiased, put)?;
    }
    let index = StreamedIndex {
        version: VERSION,
        asset: Some(Asset {
            generator: concat!("kiln ", env!("CARGO_PKG_VERSION")).to_owned(),
        }),
        count: counts.iter().sum(),
        counts: counts.clone(),
        levels: n_levels as u64,
        environment: None,
        filenames,
        tree: part(&tree.root, &mut leaves),
    };
    let text = serde_json::to_vec(&index).map_err(|e| Error::Io(e.into()))?;
    put(INDEX, &text)?;
    Ok(counts)
}

fn part(node: &Node, leaves: &mut [(Bound, BTreeMap<u32, Run>)]) -> Part {
    match node {
        Node::Leaf(leaf) => {
            let (bound, lods) = std::mem::replace(&mut leaves[*leaf], (Bound::EMPTY, BTreeMap::new()));
            Part {
                bound,
                children: Vec::new(),
                lods,
            }
        }
        Node::Halves(halves) => {
            let children: Vec<Part> = halves.iter().map(|half| part(half, leaves)).collect();
            let mut bound = Bound::EMPTY;
            children.iter().for_each(|child| bound.add(&child.bound));
            Part {
                bound,
                children,
                lods: BTreeMap::new(),
            }
        }
    }
}

impl StreamedIndex {
    /// Reads and checks a description.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let index: Self = serde_json::from_slice(text)
            .map_err(|e| Error::damaged(format!("its description of levels makes no sense: {e}")))?;
        if index.version != VERSION {
            return Err(Error::damaged(format!(
                "it is Streamed SOG of version {}; version {VERSION} is read",
                index.version
            )));
        }
        if index.filenames.len() > MOST_CHUNKS {
            return Err(Error::damaged(format!(
                "it names {} chunks; at most {MOST_CHUNKS} are read",
                index.filenames.len()
            )));
        }
        // each chunk is read once, so that memory grows with what the files hold
        let mut names: Vec<&str> = index.filenames.iter().map(String::as_str).collect();
        let is_plain = |name: &&str| name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if let Some(other) = names.iter().find(|name| !is_plain(name)) {
            return Err(Error::damaged(format!("{other:?} is no name of a chunk in its folder")));
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::damaged(format!("it names the chunk {:?} twice", twice[0])));
        }
        Ok(index)
    }

    /// Chunks that leaves show at a level, each once, in the order of the leaves.
    ///
    /// # Errors
    /// [`Error::Damaged`] when a leaf names a chunk that is not there.
    pub fn chunks(&self, level: u32) -> Result<Vec<&str>, Error> {
        let mut seen = vec![false; self.filenames.len()];
        let mut chunks = Vec::new();
        let mut open = vec![&self.tree];
        while let Some(part) = open.pop() {
            open.extend(part.children.iter().rev());
            let Some(run) = part.lods.get(&level) else { continue };
            let seen = seen
                .get_mut(run.file)
                .ok_or_else(|| Error::damaged(format!("a leaf names chunk {}, which is not listed", run.file)))?;
            if !std::mem::replace(seen, true) {
                chunks.push(self.filenames[run.file].as_str());
            }
        }
        Ok(chunks)
    }
}

/// Reads the finest level of a folder, and its environment, of its `lod-meta.json` and others as `get` gives them by name.
///
/// # Errors
/// [`Error::Damaged`], which says what is wrong, and those of `get`.
pub fn read_streamed(text: &[u8], get: &mut Get<'_>) -> Result<Model, Error> {
    let index = StreamedIndex::parse(text)?;
    let mut chunks = index.chunks(0)?;
    chunks.extend(index.environment.as_deref());
    let (mut whole, mut taken): (Option<Model>, _) = (None, Taken::default());
    for chunk in chunks {
        let folder = chunk.strip_suffix(META).ok_or_else(|| {
            Error::damaged(format!(
                "it names the chunk {chunk:?}, whose description is not called {META}"
            ))
        })?;
        let read = read(&get(chunk)?, u64::MAX, &mut taken, &mut |name| {
            get(&format!("{folder}{name}"))
        })?;
        match &mut whole {
            None => whole = Some(read),
            Some(whole) => whole.append(read),
        }
    }
    whole.ok_or_else(|| Error::damaged("it names no chunk of level 0"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::levels::LEAF;
    use super::super::read_files;
    use super::super::tests::Random;
    use super::*;

    fn written(splats: &dyn Splats) -> (BTreeMap<String, Vec<u8>>, Vec<u64>) {
        let mut files = BTreeMap::new();
        let centres: Vec<[f32; 3]> = (0..splats.len()).map(|index| splats.mean(index)).collect();
        let tree = Tree::new(&centres, LEAF);
        let mut gather = |leaf: usize| {
            let mut cloud = Cloud::new(splats.sh_degree());
            let members = tree.members(leaf);
            members.iter().for_each(|&member| cloud.push(splats, member as usize));
            Ok(cloud)
        };
        let counts = write_streamed(&tree, splats.sh_degree(), true, &mut gather, &mut |name, bytes| {
            files.insert(name.to_owned(), bytes.to_vec());
            Ok(())
        });
        (files, counts.unwrap())
    }

    /// Every level has half of the one before, every run lies in its chunk and runs cover it, boxes hold their Gaussians, and
    /// the finest level comes back whole.
    #[test]
    fn levels_runs_and_boxes() {
        let splats = Random::new(LEAF + 4000, 0);
        let (files, counts) = written(&splats);
        assert_eq!(
            (counts.len(), counts[0], counts[1]),
            (4, splats.len() as u64, splats.len() as u64 / 2)
        );
        let index = StreamedIndex::parse(&files[INDEX]).unwrap();
        assert_eq!((index.count, &index.counts), (counts.iter().sum(), &counts));
        assert_eq!(index.tree.children.len(), 2);
        let mut next = vec![0; index.filenames.len()];
        for leaf in &index.tree.children {
            for (level, run) in &leaf.lods {
                assert_eq!(run.offset, next[run.file], "level {level}");
                next[run.file] += run.count;
            }
            let run = leaf.lods[&0];
            let chunk = &index.filenames[run.file];
            let model = read_files(&files[chunk], &mut |name| Ok(files[&chunk.replace(META, name)].clone())).unwrap();
            for mean in &model.means[run.offset..run.offset + run.count] {
                let inside = |axis: usize| (leaf.bound.min[axis]..=leaf.bound.max[axis]).contains(&mean[axis]);
                assert!((0..3).all(inside), "{mean:?} {:?}", leaf.bound);
            }
        }
        for (file, count) in index.filenames.iter().zip(next) {
            let meta = super::super::Meta::parse(&files[file]).unwrap();
            assert_eq!((meta.count, meta.antialias), (count as u64, Some(true)));
        }
        let get = |files: &BTreeMap<String, Vec<u8>>, name: &str| {
            files
                .get(name)
                .cloned()
                .ok_or_else(|| Error::damaged(format!("no {name}")))
        };
        let model = read_streamed(&files[INDEX], &mut |name| get(&files, name)).unwrap();
        assert_eq!((model.means.len(), model.sh_degree), (splats.len(), 0));
        let text = String::from_utf8(files[INDEX].clone()).unwrap();
        for (from, to, words) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"file\":0", "\"file\":99", "chunk 99"),
            ("0_0/meta.json", "0_0/other.json", "0_0/other.json"),
            ("0_0/meta.json", "9_9/meta.json", "no 9_9/meta.json"),
            ("0_0/meta.json", "1_0/meta.json", "twice"),
            ("0_0/meta.json", "1_0//meta.json", "no name of a chunk"),
            ("0_0/meta.json", "./1_0/meta.json", "no name of a chunk"),
            ("{", "[", "makes no sense"),
        ] {
            let changed = text.replacen(from, to, 1);
            let error = read_streamed(changed.as_bytes(), &mut |name| get(&files, name))
                .unwrap_err()
                .to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    #[test]
    fn numbers_of_levels() {
        assert_eq!(
            [1, 1 << 20, 1 << 22, 20_000_000, 1 << 40].map(n_levels),
            [4, 4, 6, 7, 7]
        );
    }
}
