//! A leaf as it is held: where each of its levels lies in the textures, and which is drawn.

use std::ops::Range;

/// Splats of a level in the textures.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) ranges: Vec<Range<u32>>,
    /// All of them are on their way to the graphics device.
    pub(super) ready: bool,
    pub(super) used: u64,
}

/// A leaf: where each of its levels lies, and which is drawn.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) places: Vec<Option<Place>>,
    pub(super) shown: Option<usize>,
}

impl State {
    pub(super) fn is_ready(&self, level: usize) -> bool {
        matches!(&self.places[level], Some(place) if place.ready)
    }

    /// The level to draw: the wanted one, or else the next coarser, or else the next finer.
    pub(super) fn best(&self, wanted: usize) -> Option<usize> {
        let coarser = wanted..self.places.len();
        coarser.chain((0..wanted).rev()).find(|level| self.is_ready(*level))
    }
}
