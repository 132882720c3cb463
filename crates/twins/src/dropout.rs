//! Gaussians that a training step leaves out, and how the others make up for them.
//!
//! DropGaussian (Park et al. 2025): a random share r of the Gaussians is not there in a step, and the opacities of the rest are
//! multiplied by `1 / (1 - r)`, so that views are about as opaque as with all of them. That may come to more than 1: pixels are
//! covered to 0.99 at most, and an opacity that was cut off would no longer be moved by any gradient.

use super::rng;
use kiln_kernels::generated::common::CHANNEL_DROPOUT;
use kiln_scene::math::Real;

/// What a step leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Share of the Gaussians, at least 0 and below 1.
    pub share: f32,
    /// Seed of the run.
    pub seed: u32,
    /// Iteration.
    pub iteration: u32,
}

impl Dropout {
    /// True when the step does without Gaussian `id`.
    #[must_use]
    pub fn drops(self, id: u32) -> bool {
        rng::uniform::<f32>(self.seed, self.iteration, id, CHANNEL_DROPOUT) < self.share
    }

    /// Factor of the opacities of those that are there.
    #[must_use]
    pub fn gain<R: Real>(self) -> R {
        R::ONE / (R::ONE - R::of(f64::from(self.share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_left_out_and_another_one_in_the_next_step() {
        let out = |share, iteration| -> Vec<u32> {
            let dropout = Dropout {
                share,
                seed: 4,
                iteration,
            };
            (0..20_000).filter(|id| dropout.drops(*id)).collect()
        };
        let (first, next) = (out(0.2, 7), out(0.2, 8));
        assert!((3800..4200).contains(&first.len()), "{}", first.len());
        let both = first.iter().filter(|id| next.contains(id)).count();
        assert!((650..950).contains(&both), "{both} twice");
        assert!(out(0.0, 7).is_empty());
        // A larger share leaves out those of a smaller one too.
        let more = out(0.3, 7);
        assert!(first.iter().all(|id| more.binary_search(id).is_ok()));
    }
}
