//! From a wanted level to one that is drawn: which chunk comes next, what has a place in the textures, and what makes room.
//!
//! Promises that no more splats are in the textures than the budget says; that of each leaf one level is drawn at a time, the
//! wanted one or, until that is there, the nearest that is; and that places are not used anew before an order without
//! their old splats was made. What looks at it again does so in this turn: [`Pager::next_chunk`] and [`Pager::take`] until
//! they give nothing, [`Pager::sort`] for every order.

mod news;

use std::ops::Range;

use super::choose::{Choice, choose};
use super::chunks::{self, Chunk};
use super::index::{Index, Run};
use super::leaf::{Place, State};
use super::slots::Slots;
use super::{GRAIN, room};
use crate::formats::sog;
use crate::framing::Sampler;
use crate::pack::balls;
use crate::ply::{Batch, Model, Refusal};
use crate::sort::{Sight, Sorter};

/// Leaves from which on their boxes say where the model lies, so that the first picture is taken from the right place.
const MANY_LEAVES: usize = 16;
/// Splats of chunks that are unpacked: with more no chunk is asked for, and those that may be wanted soon go.
const MOST_UNPACKED: usize = 1 << 19;

/// A piece on its way: what it is of, whether it is the last of that, and centres to frame the model by.
struct Piece {
    of: Option<(usize, usize)>,
    batch: Batch,
    sample: Vec<f32>,
}

/// A model of which a part is held.
pub(crate) struct Pager {
    index: Index,
    /// Most splats in the textures,
    budget: u32,
    /// and least that show any leaf at all.
    least: u32,
    most_unpacked: usize,
    model: Option<Model>,
    chunks: Vec<Chunk>,
    leaves: Vec<State>,
    slots: Slots,
    /// Places that the next order leaves free.
    leaving: Vec<Range<u32>>,
    /// The next last.
    queue: Vec<Piece>,
    sorter: Sorter,
    sampler: Sampler,
    /// What the boxes of the leaves say of where splats are, for the first piece;
    outline: Vec<f32>,
    /// whether they say it: with few leaves splats do.
    outlined: bool,
    sight: Option<Sight>,
    choice: Choice,
    clock: u64,
    /// Something changed that an order would show.
    changed: bool,
    told: [u32; 3],
}

impl Pager {
    /// Of a description, with a budget of splats.
    pub(crate) fn new(text: &[u8], budget: u32) -> Result<Self, Refusal> {
        let index = Index::parse(text)?;
        let mut chunks: Vec<Chunk> = Vec::new();
        chunks.resize_with(index.files.len(), Chunk::default);
        let (mut all, mut coarse, mut least) = (0, 0_u32, 0);
        for leaf in &index.leaves {
            for run in &leaf.runs {
                chunks[run.file].needs(run);
            }
            let ends = [leaf.runs.first(), leaf.runs.last()].map(|run| run.map_or(0, |run| run.count));
            all += u64::from(room(ends[0]) + room(ends[1]));
            coarse = coarse.saturating_add(ends[1]);
            least = least.max(room(ends[1]));
            if leaf.always {
                // Its size is not known yet.
                all += u64::from(budget);
            }
        }
        if let Some(chunk) = chunks.iter().find(|chunk| chunk.needed > chunks::MOST_SPLATS) {
            return Err(chunks::too_many(chunk.needed.into()));
        }
        // Leaves that look larger come first, whatever their size: each has to have room for its coarsest level.
        if least > budget {
            return Err(format!(
                "a part of it needs room for {least} splats, and the budget is {budget}; add `&budget={least}` to the address"
            ));
        }
        let budget = all.min(budget.into()) as u32 / GRAIN * GRAIN;
        let states = index.leaves.iter().map(|leaf| State {
            places: leaf.runs.iter().map(|_| None).collect(),
            shown: None,
        });
        Ok(Self {
            budget,
            least,
            most_unpacked: MOST_UNPACKED,
            model: None,
            leaves: states.collect(),
            slots: Slots::new(budget),
            leaving: Vec::new(),
            queue: Vec::new(),
            sorter: Sorter::default(),
            sampler: Sampler::new(coarse),
            outlined: index.leaves.len() >= MANY_LEAVES,
            outline: index.outline(),
            sight: None,
            choice: choose(&index.leaves, None, budget),
            clock: 0,
            changed: false,
            told: [0; 3],
            chunks,
            index,
        })
    }

    /// What the textures hold at most and how it is drawn, once a chunk has given its degree.
    pub(crate) fn model(&self) -> Option<Model> {
        self.model
    }

    /// Splats of the finest level.
    pub(crate) fn finest(&self) -> u32 {
        self.index.finest
    }

    /// Where the description of a chunk lies.
    pub(crate) fn path(&self, chunk: usize) -> &str {
        self.index.files.get(chunk).map_or("", String::as_str)
    }

    /// Levels that are to be there, each once: the coarsest of all that is chosen first, then finer ones that are chosen.
    fn wanted(&self) -> impl Iterator<Item = (usize, usize)> {
        let last = |leaf: usize| self.leaves[leaf].places.len().saturating_sub(1);
        let coarsest = move |leaf: &usize| (*leaf, last(*leaf));
        let chosen = move |leaf: &usize| Some((*leaf, self.choice.levels[*leaf].filter(|level| *level < last(*leaf))?));
        let coarsest = self.choice.order.iter().map(coarsest);
        coarsest.chain(self.choice.order.iter().filter_map(chosen))
    }

    fn run(&self, (leaf, level): (usize, usize)) -> Run {
        self.index.leaves[leaf].runs[level]
    }

    /// A chunk that is to be fetched next. It is taken to be on its way from then on.
    pub(crate) fn next_chunk(&mut self) -> Option<usize> {
        if self.model.is_none() && self.chunks.iter().any(Chunk::is_coming) {
            return None;
        }
        self.trim();
        if self.chunks.iter().map(Chunk::due).sum::<usize>() > self.most_unpacked {
            return None;
        }
        let is_next = |of: &(usize, usize)| {
            self.leaves[of.0].places[of.1].is_none()
                && self.chunks[self.run(*of).file].is_absent()
                // The environment may have another degree than the model.
                && (self.model.is_some() || !self.index.leaves[of.0].always)
        };
        let found = self.wanted().find(is_next).map(|of| self.run(of).file)?;
        self.chunks[found].ask();
        Some(found)
    }

    /// Takes the description of a chunk; gives the paths of its images.
    pub(crate) fn describe(&mut self, chunk: usize, text: &[u8]) -> Result<Vec<String>, Refusal> {
        let meta = sog::describe(text)?;
        let (count, degree, filter) = (meta.count, meta.sh_degree(), sog::filter(&meta));
        let path = self.index.files.get(chunk).map_or("", String::as_str);
        let images = self.chunks[chunk].describe(meta, path)?;
        let spare = self.budget - self.least;
        let environment = self
            .index
            .leaves
            .iter_mut()
            .find(|leaf| leaf.always && leaf.runs[0].file == chunk);
        if let Some(leaf) = environment {
            if room(count as u32) > spare {
                return Err(format!(
                    "the environment has {count} splats, and there is room for {spare}; add a larger `&budget=` to the address"
                ));
            }
            leaf.runs[0].count = count as u32;
        } else if self.model.is_none() {
            self.model = Some(Model {
                count: self.budget,
                degree,
                filter,
                iteration: None,
            });
        }
        self.choose();
        Ok(images)
    }

    /// Takes the images of a chunk.
    pub(crate) fn come(&mut self, chunk: usize, files: &[&[u8]]) -> Result<(), Refusal> {
        let degree = self.degree();
        self.chunks[chunk].used = self.clock;
        self.chunks[chunk].come(files, degree)
    }

    /// A chunk cannot be had; what stands for it stays.
    pub(crate) fn lose(&mut self, chunk: usize) {
        self.chunks[chunk].lose();
        self.changed = true;
    }

    /// What was lost may be asked for again.
    pub(crate) fn forgive(&mut self, chunk: usize) {
        if self.chunks[chunk].is_lost() {
            self.chunks[chunk].forget();
            self.changed = true;
        }
    }

    fn degree(&self) -> u32 {
        self.model.map_or(0, |model| model.degree)
    }

    fn choose(&mut self) {
        self.choice = choose(&self.index.leaves, self.sight.as_ref(), self.budget);
    }

    /// The next piece for the graphics device, and centres to frame the model by.
    pub(crate) fn take(&mut self) -> Option<(Batch, Vec<f32>)> {
        while self.queue.is_empty() && self.place_next() {}
        self.trim();
        let piece = self.queue.pop()?;
        if let Some((leaf, level)) = piece.of
            && let Some(place) = &mut self.leaves[leaf].places[level]
        {
            place.ready = true;
            self.changed = true;
        }
        Some((piece.batch, piece.sample))
    }

    /// Gives a place to the next level that is unpacked and has none, or begins to make room for all of them; says whether one
    /// has a place now.
    fn place_next(&mut self) -> bool {
        let waits = |of: &(usize, usize)| {
            self.leaves[of.0].places[of.1].is_none() && self.chunks[self.run(*of).file].packed().is_some()
        };
        let (mut first, mut needed) = (None, 0);
        for of in self.wanted().filter(waits) {
            first = first.or(Some(of));
            needed += room(self.run(of).count);
        }
        let Some((leaf, level)) = first else {
            return false;
        };
        let run = self.run((leaf, level));
        let Some(ranges) = self.slots.take(run.count) else {
            self.make_room(needed);
            return false;
        };
        let degree = self.degree();
        let chunk = &mut self.chunks[run.file];
        chunk.used = self.clock;
        let Some(packed) = chunk.packed() else {
            return false;
        };
        let coarsest = level + 1 == self.leaves[leaf].places.len() && !self.index.leaves[leaf].always;
        let mut at = run.offset;
        let mut pieces = Vec::new();
        for range in &ranges {
            let count = range.end - range.start;
            let [geometry, sh] = packed.part(degree, at, count);
            at += count;
            self.sorter.put(range.start as usize, balls(&geometry));
            let sample = match (self.outlined, coarsest) {
                (false, true) => self.sampler.choose(balls(&geometry).map(|(centre, _)| centre)),
                (false, false) => Vec::new(),
                (true, _) => std::mem::take(&mut self.outline),
            };
            let batch = Batch {
                first: range.start,
                geometry,
                sh_first: range.start,
                sh,
            };
            pieces.push(Piece {
                of: None,
                batch,
                sample,
            });
        }
        if let Some(last) = pieces.last_mut() {
            last.of = Some((leaf, level));
        }
        pieces.reverse();
        // What has no splats has no pieces to wait for.
        let ready = pieces.is_empty();
        self.changed |= ready;
        self.queue = pieces;
        self.leaves[leaf].places[level] = Some(Place {
            ranges,
            ready,
            used: self.clock,
        });
        true
    }

    /// Has levels leave that are not wanted: those that are not drawn first, the longest unused of them first.
    fn make_room(&mut self, needed: u32) {
        let leaving: u32 = self.leaving.iter().map(|range| room(range.end - range.start)).sum();
        let mut lacking = i64::from(needed) - i64::from(self.slots.free() + leaving);
        let mut idle = Vec::new();
        for (at, leaf) in self.leaves.iter().enumerate() {
            let wanted = self.choice.levels[at];
            for (level, place) in leaf.places.iter().enumerate() {
                let stays = wanted.is_some_and(|wanted| level == wanted || level + 1 == leaf.places.len());
                if let Some(place) = place.as_ref().filter(|place| place.ready && !stays) {
                    let drawn = if leaf.shown == Some(level) { 1e15 } else { 0.0 };
                    idle.push((place.used as f64 + drawn, at, level));
                }
            }
        }
        for (_, at, level) in crate::order::rising(idle, |(key, ..)| *key) {
            if lacking <= 0 {
                break;
            }
            let leaf = &mut self.leaves[at];
            if leaf.shown == Some(level) {
                leaf.shown = None;
            }
            for range in leaf.places[level].take().map_or(Vec::new(), |place| place.ranges) {
                lacking -= i64::from(room(range.end - range.start));
                self.sorter.show(range.start as usize..range.end as usize, false);
                self.leaving.push(range);
            }
        }
        self.changed |= !self.leaving.is_empty();
    }

    /// Lets go of unpacked chunks, the longest unused first, but of none that a wanted level waits for.
    fn trim(&mut self) {
        loop {
            let held: usize = self.chunks.iter().map(Chunk::held).sum();
            if held <= self.most_unpacked {
                return;
            }
            let waits = |of: &(usize, usize)| self.leaves[of.0].places[of.1].is_none();
            let mut needed = vec![false; self.chunks.len()];
            for of in self.wanted().filter(waits) {
                needed[self.run(of).file] = true;
            }
            let idle = self.chunks.iter_mut().zip(needed);
            let idle = idle.filter(|(chunk, needed)| chunk.held() > 0 && !needed);
            let Some((oldest, _)) = idle.min_by_key(|(chunk, _)| chunk.used) else {
                return;
            };
            oldest.forget();
        }
    }

    /// The draw order of what a camera is to see. Levels that came are drawn from now on, and what leaves is drawn no more.
    pub(crate) fn sort(&mut self, sight: &Sight) -> &[u32] {
        self.sight = Some(*sight);
        self.clock += 1;
        self.choose();
        for (leaf, wanted) in self.leaves.iter_mut().zip(&self.choice.levels) {
            let best = wanted.and_then(|wanted| leaf.best(wanted));
            if let Some(Some(place)) = best.map(|best| &mut leaf.places[best]) {
                place.used = self.clock;
            }
            for (level, on) in [(leaf.shown, false), (best, true)] {
                if let Some(Some(place)) = level.map(|level| &leaf.places[level])
                    && leaf.shown != best
                {
                    for range in &place.ranges {
                        self.sorter.show(range.start as usize..range.end as usize, on);
                    }
                }
            }
            leaf.shown = best;
        }
        self.slots.give_back(&std::mem::take(&mut self.leaving));
        self.sorter.sort(sight)
    }
}

#[cfg(test)]
mod tests;
