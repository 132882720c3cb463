//! Chunks: not there, on their way, unpacked, or not to be had.

use crate::address::encode;
use crate::formats::sog::{META, Meta};
use crate::pack::{GEOMETRY_WORDS, Layout, push_geometry, push_sh};
use crate::ply::Refusal;
use crate::splat::{Splat, UNSEEN};

use super::index::Run;

/// Most splats of a chunk. It is unpacked as a whole; `splat-transform` puts some 2^19 into one, Kiln a quarter of that.
pub(super) const MOST_SPLATS: u32 = 1 << 20;

/// Splats in the words of the textures.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub(super) geometry: Vec<u32>,
    pub(super) sh: Vec<u32>,
}

impl Packed {
    /// The splats of `meta` at an SH degree.
    fn of(meta: &Meta, files: &[&[u8]], degree: u32) -> Result<Self, Refusal> {
        let mut packed = Self::default();
        let read = meta.splats(files, |splat| {
            if packed.geometry.is_empty() {
                // The images hold as many as are announced.
                packed.geometry.reserve_exact(meta.count as usize * GEOMETRY_WORDS);
                packed.sh.reserve_exact(meta.count as usize * sh_words(degree));
            }
            // Places count: none is left out.
            let splat = Splat::of(splat).unwrap_or(UNSEEN);
            push_geometry(&splat, &mut packed.geometry);
            push_sh(&splat, degree, &mut packed.sh);
        });
        read.map_err(|e| e.to_string())?;
        Ok(packed)
    }

    /// A copy of some of them: geometry and harmonics.
    pub(super) fn part(&self, degree: u32, first: u32, count: u32) -> [Vec<u32>; 2] {
        [(&self.geometry, GEOMETRY_WORDS), (&self.sh, sh_words(degree))].map(|(words, of_one)| {
            let [first, count] = [first, count].map(|n| n as usize * of_one);
            words.get(first..first + count).unwrap_or_default().to_vec()
        })
    }
}

/// Says that a chunk holds more than is unpacked at once.
pub(super) fn too_many(count: u64) -> Refusal {
    format!("a chunk of it holds {count} splats, and chunks of at most {MOST_SPLATS} are read; write smaller ones")
}

fn sh_words(degree: u32) -> usize {
    Layout::new(0, degree).sh_texels() * 4
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Absent,
    /// Its description, once that has come.
    Coming(Option<Box<Meta>>),
    Held(Packed),
    /// Given up for now.
    Lost,
}

/// A chunk.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    state: State,
    /// Splats that leaves name.
    pub(super) needed: u32,
    /// When it was used last.
    pub(super) used: u64,
}

impl Chunk {
    pub(super) fn needs(&mut self, run: &Run) {
        self.needed = self.needed.max(run.offset + run.count);
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent)
    }

    pub(super) fn is_coming(&self) -> bool {
        matches!(self.state, State::Coming(_))
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    pub(super) fn packed(&self) -> Option<&Packed> {
        match &self.state {
            State::Held(packed) => Some(packed),
            _ => None,
        }
    }

    /// Splats that are unpacked here.
    pub(super) fn held(&self) -> usize {
        self.packed().map_or(0, |packed| packed.geometry.len() / GEOMETRY_WORDS)
    }

    /// Splats that are unpacked here or will be when it has come.
    pub(super) fn due(&self) -> usize {
        match &self.state {
            State::Coming(meta) => meta.as_ref().map_or(0, |meta| meta.count).max(self.needed.into()) as usize,
            _ => self.held(),
        }
    }

    pub(super) fn ask(&mut self) {
        self.state = State::Coming(None);
    }

    pub(super) fn lose(&mut self) {
        self.state = State::Lost;
    }

    /// Lets go of what is unpacked, or has what was lost asked for again.
    pub(super) fn forget(&mut self) {
        self.state = State::Absent;
    }

    /// Takes its description, which lies at `path`: the paths of its images.
    pub(super) fn describe(&mut self, meta: Meta, path: &str) -> Result<Vec<String>, Refusal> {
        if meta.count < self.needed.into() {
            return Err(format!(
                "it holds {} splats, and leaves name {}",
                meta.count, self.needed
            ));
        }
        if meta.count > MOST_SPLATS.into() {
            return Err(too_many(meta.count));
        }
        let folder = path
            .strip_suffix(META)
            .ok_or_else(|| format!("chunks whose description is not called {META} are not read"))?;
        let paths = meta.images().map(|name| format!("{folder}{}", encode(name))).collect();
        self.state = State::Coming(Some(Box::new(meta)));
        Ok(paths)
    }

    /// Takes its images.
    pub(super) fn come(&mut self, files: &[&[u8]], degree: u32) -> Result<(), Refusal> {
        if let State::Coming(Some(meta)) = &self.state {
            let packed = Packed::of(meta, files, degree)?;
            self.state = State::Held(packed);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn hold(&mut self, packed: Packed) {
        self.state = State::Held(packed);
    }
}
