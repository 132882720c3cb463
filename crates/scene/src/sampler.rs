//! Which view is trained next.
//!
//! Owns the order of training views: every epoch visits each view once, in an order that depends only on the seed
//! and the epoch number. The state that a checkpoint must keep is therefore four numbers; orders are recomputed.

use serde::{Deserialize, Serialize};

use super::random::SplitMix64;

/// Most views a sampler accepts, so that a damaged state cannot ask for an absurd order.
const MAX_VIEWS: u32 = 1 << 24;

/// Draws view numbers without replacement, epoch after epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SamplerState", into = "SamplerState")]
pub struct ViewSampler {
    state: SamplerState,
    order: Vec<u32>,
}

/// What identifies a position in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplerState {
    seed: u64,
    views: u32,
    epoch: u64,
    cursor: u32,
}

/// A saved sampler state that no sampler can have been in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("view sampler state is damaged: {views} views, cursor {cursor}")]
pub struct SamplerStateError {
    views: u32,
    cursor: u32,
}

impl ViewSampler {
    /// A sampler over view numbers `0..views`; `None` when there are none, or more than 2^24.
    #[must_use]
    pub fn new(views: u32, seed: u64) -> Option<Self> {
        Self::try_from(SamplerState {
            seed,
            views,
            epoch: 0,
            cursor: 0,
        })
        .ok()
    }

    /// Number of views drawn from.
    #[must_use]
    pub fn views(&self) -> u32 {
        self.state.views
    }

    /// The view number of this step; the sampler moves on.
    pub fn draw(&mut self) -> usize {
        let view = self.order[self.state.cursor as usize];
        self.state.cursor += 1;
        if self.state.cursor == self.state.views {
            self.state.epoch += 1;
            self.state.cursor = 0;
            self.order = epoch_order(self.state);
        }
        view as usize
    }

    /// The next `count` view numbers in the order [`Self::draw`] will give them, for prefetching.
    #[must_use]
    pub fn upcoming(&self, count: usize) -> Vec<usize> {
        let rest = &self.order[self.state.cursor as usize..];
        if count <= rest.len() {
            return rest[..count].iter().map(|&view| view as usize).collect();
        }
        let mut ahead = self.clone();
        (0..count).map(|_| ahead.draw()).collect()
    }
}

/// Fisher-Yates shuffle of an epoch's views.
fn epoch_order(state: SamplerState) -> Vec<u32> {
    let mut random = SplitMix64::stream(state.seed, state.epoch);
    let mut order: Vec<u32> = (0..state.views).collect();
    for last in (1..state.views).rev() {
        order.swap(last as usize, random.below(last + 1) as usize);
    }
    order
}

impl TryFrom<SamplerState> for ViewSampler {
    type Error = SamplerStateError;

    fn try_from(state: SamplerState) -> Result<Self, Self::Error> {
        if state.cursor >= state.views || state.views > MAX_VIEWS {
            return Err(SamplerStateError {
                views: state.views,
                cursor: state.cursor,
            });
        }
        Ok(Self {
            state,
            order: epoch_order(state),
        })
    }
}

impl From<ViewSampler> for SamplerState {
    fn from(sampler: ViewSampler) -> Self {
        sampler.state
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn draw(sampler: &mut ViewSampler, count: usize) -> Vec<usize> {
        (0..count).map(|_| sampler.draw()).collect()
    }

    #[test]
    fn every_epoch_is_a_permutation_and_epochs_differ() {
        let mut sampler = ViewSampler::new(35, 42).unwrap();
        let epochs: Vec<_> = (0..4).map(|_| draw(&mut sampler, 35)).collect();
        for epoch in &epochs {
            let mut sorted = epoch.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..35).collect::<Vec<_>>());
        }
        assert_ne!(epochs[0], epochs[1]);
        assert_ne!(epochs[1], epochs[2]);
        assert_eq!(epochs[0], draw(&mut ViewSampler::new(35, 42).unwrap(), 35));
        assert_ne!(epochs[0], draw(&mut ViewSampler::new(35, 43).unwrap(), 35));
    }

    #[test]
    fn saved_state_continues_the_sequence() {
        let mut sampler = ViewSampler::new(11, 7).unwrap();
        draw(&mut sampler, 29);
        let saved = serde_json::to_string(&sampler).unwrap();
        let mut restored: ViewSampler = serde_json::from_str(&saved).unwrap();
        assert_eq!(restored, sampler);
        let ahead = sampler.upcoming(40);
        assert_eq!(ahead, draw(&mut sampler, 40));
        assert_eq!(ahead, draw(&mut restored, 40));
    }

    #[test]
    fn impossible_states_are_refused() {
        assert!(ViewSampler::new(0, 1).is_none());
        for text in [
            r#"{"seed":1,"views":3,"epoch":0,"cursor":3}"#,
            r#"{"seed":1,"views":0,"epoch":0,"cursor":0}"#,
            r#"{"seed":1,"views":4294967295,"epoch":0,"cursor":0}"#,
            r#"{"seed":1,"views":3,"epoch":0}"#,
        ] {
            assert!(serde_json::from_str::<ViewSampler>(text).is_err());
        }
        assert_eq!(ViewSampler::new(1, 9).unwrap().upcoming(3), [0, 0, 0]);
    }
}
