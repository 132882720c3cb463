//! The losses of a run.

use super::{Loss, Maps, Needs};

/// The losses that steps of a run have, each once and in the order of the family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    each: [Option<Loss>; Loss::ENTRIES.len()],
    /// Iterations of the run, over which weights fade.
    pub iterations: u32,
}

/// Options come from checked settings: none is NaN.
impl Eq for Losses {}

impl Losses {
    /// Those of a profile's `losses` that are on.
    #[must_use]
    pub fn new(losses: &[Loss], iterations: u32) -> Self {
        let mut own = Self {
            iterations,
            ..Self::default()
        };
        losses
            .iter()
            .filter(|loss| loss.is_on())
            .for_each(|loss| own.add(*loss));
        own
    }

    /// Adds one, in the place of another of its kind.
    pub fn add(&mut self, loss: Loss) {
        let mut places = Loss::ENTRIES.iter().zip(&mut self.each);
        if let Some((_, place)) = places.find(|(entry, _)| entry.kind == loss.kind()) {
            *place = Some(loss);
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.each.iter().flatten()
    }

    /// The first with such needs.
    pub fn find(&self, needs: impl Fn(Needs) -> bool) -> Option<&Loss> {
        self.iter().find(|loss| needs(loss.needs()))
    }

    /// True when some has such needs.
    pub fn need(&self, needs: impl Fn(Needs) -> bool) -> bool {
        self.find(needs).is_some()
    }

    /// True when some compares with these maps.
    #[must_use]
    pub fn need_maps(&self, maps: Maps) -> bool {
        self.need(|needs| needs.maps == Some(maps))
    }
}
