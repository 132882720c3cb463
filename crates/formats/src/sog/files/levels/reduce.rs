//! Fewer Gaussians that look like more.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::cloud::Cloud;
use super::merge::{Body, merge};
use super::neighbors::nearest;
use crate::sog::Splats;

/// Others that a Gaussian may be merged with at first, and that show how large Gaussians are around it: its nearest.
const NEAR: usize = 8;
/// Most others that a merged one keeps.
const MOST_NEAR: usize = 2 * NEAR;

/// At most `most` Gaussians, at least one, for those of a cloud: of all pairs of neighbours the cheapest becomes one, again and again.
///
/// A pair costs what it changes in pictures, against the size of the Gaussians around it: where photographs were taken from
/// near, Gaussians are small, and a change of the same size in the world covers more pixels.
#[must_use]
pub fn reduce(cloud: &Cloud, most: usize) -> Cloud {
    let most = most.max(1);
    let mut now = cloud.clone();
    // a heap without pairs has left groups that know nothing of each other: the next one pairs those
    while now.len() > most {
        let mut merging = Merging::new(now);
        let mut excess = merging.cloud.len() - most;
        while excess > 0 && merging.cheapest() {
            excess -= 1;
        }
        now = merging.left();
    }
    now
}

/// A pair and what it costs; `ages` show whether both still are what they were.
#[derive(PartialEq)]
struct Pair {
    cost: f64,
    ends: [u32; 2],
    ages: [u32; 2],
}

impl Eq for Pair {}

impl Ord for Pair {
    /// The cheapest is the greatest; of equals the first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.ends.cmp(&self.ends))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A cloud whose pairs become one, in the place of the first of each.
struct Merging {
    cloud: Cloud,
    bodies: Vec<Body>,
    /// Logarithms of the mean areas around.
    around: Vec<f64>,
    near: Vec<Vec<u32>>,
    lives: Vec<bool>,
    /// How often a place was written.
    ages: Vec<u32>,
    pairs: BinaryHeap<Pair>,
}

impl Merging {
    fn new(cloud: Cloud) -> Self {
        let count = cloud.len();
        let bodies: Vec<Body> = (0..count).map(|index| Body::new(&cloud, index)).collect();
        let nearest = nearest::<NEAR>(&cloud.means);
        let log_area = |index: usize| libm::log(bodies[index].area.max(f64::MIN_POSITIVE));
        let around = (0..count)
            .map(|own| {
                let others: f64 = nearest[own].iter().map(|&other| log_area(other as usize)).sum();
                (others + log_area(own)) / (nearest[own].len() + 1) as f64
            })
            .collect();
        let mut near = nearest.clone();
        for (own, others) in nearest.iter().enumerate() {
            others.iter().for_each(|&other| near[other as usize].push(own as u32));
        }
        let mut merging = Self {
            cloud,
            bodies,
            around,
            near: Vec::new(),
            lives: vec![true; count],
            ages: vec![0; count],
            pairs: BinaryHeap::new(),
        };
        for (own, others) in near.iter_mut().enumerate() {
            others.sort_unstable();
            others.dedup();
            others
                .iter()
                .filter(|&&other| other as usize > own)
                .for_each(|&other| merging.offer(own as u32, other));
        }
        merging.near = near;
        merging
    }

    fn offer(&mut self, own: u32, other: u32) {
        let ends = [own.min(other), own.max(other)];
        let [a, b] = ends.map(|end| end as usize);
        let size = libm::exp(0.5 * (self.around[a] + self.around[b]));
        self.pairs.push(Pair {
            cost: self.bodies[a].cost(&self.bodies[b]) / size,
            ends,
            ages: [self.ages[a], self.ages[b]],
        });
    }

    /// Merges the cheapest pair; false when there is none.
    fn cheapest(&mut self) -> bool {
        while let Some(pair) = self.pairs.pop() {
            let [i, j] = pair.ends.map(|end| end as usize);
            if self.lives[i] && self.lives[j] && pair.ages == [self.ages[i], self.ages[j]] {
                self.unite(i, j);
                return true;
            }
        }
        false
    }

    /// Those that are left, in their order.
    fn left(self) -> Cloud {
        let mut left = Cloud::new(self.cloud.sh_degree);
        for index in (0..self.cloud.len()).filter(|&index| self.lives[index]) {
            left.push(&self.cloud, index);
        }
        left
    }

    fn unite(&mut self, i: usize, j: usize) {
        merge(&mut self.cloud, [i, j], [&self.bodies[i], &self.bodies[j]]);
        self.bodies[i] = Body::new(&self.cloud, i);
        self.around[i] = 0.5 * (self.around[i] + self.around[j]);
        self.ages[i] += 1;
        self.lives[j] = false;
        let mut near = std::mem::take(&mut self.near[i]);
        near.append(&mut std::mem::take(&mut self.near[j]));
        near.retain(|&other| other as usize != i && self.lives[other as usize]);
        near.sort_unstable();
        near.dedup();
        if near.len() > MOST_NEAR {
            let own = self.cloud.means[i];
            let distance = |other: u32| -> f32 {
                let mean = self.cloud.means[other as usize];
                (0..3).map(|k| (own[k] - mean[k]).powi(2)).sum()
            };
            near.sort_unstable_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
            near.truncate(MOST_NEAR);
        }
        for &other in &near {
            self.offer(i as u32, other);
            let theirs = &mut self.near[other as usize];
            if !theirs.contains(&(i as u32)) {
                theirs.push(i as u32);
            }
        }
        self.near[i] = near;
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::shadow;
    use super::*;
    use crate::sog::files::tests::Random;

    fn cloud(count: usize, degree: u32) -> Cloud {
        let random = Random::new(count, degree);
        let mut cloud = Cloud::new(degree);
        (0..count).for_each(|index| cloud.push(&random, index));
        cloud
    }

    /// Two equal Gaussians side by side: mean, variance along the line, colours and light are those of both.
    #[test]
    fn moments_of_two() {
        let mut two = Cloud::new(1);
        for (x, red) in [(-0.1, 0.0), (0.1, 1.0)] {
            two.means.push([x, 5.0, 0.0]);
            two.quats.push([1.0, 0.0, 0.0, 0.0]);
            two.log_scales.push([0.1_f32.ln(); 3]);
            two.opacities.push(0.2);
            two.sh0.push([red, 0.5, 0.5]);
            two.sh_rest.extend([red; 9]);
        }
        let one = reduce(&two, 1);
        assert_eq!((one.len(), one.means[0]), (1, [0.0, 5.0, 0.0]));
        assert_eq!((one.sh0[0], &one.sh_rest[..]), ([0.5; 3], &[0.5; 9][..]));
        let mut scales = one.log_scales[0].map(f32::exp);
        scales.sort_by(f32::total_cmp);
        let wanted = [0.1, 0.1, 0.02_f32.sqrt()];
        assert!(
            scales.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6),
            "{scales:?}"
        );
        let light = |cloud: &Cloud, index: usize| {
            f64::from(cloud.opacities[index]) * shadow(cloud.log_scales[index].map(|log| f64::from(log).exp()))
        };
        // they overlap a little, and there the light is taken once
        let (before, after) = (light(&two, 0) + light(&two, 1), light(&one, 0));
        assert!(after < before && after > 0.9 * before, "{before} {after}");
        // two on one spot take a + b - ab, and the product is half as wide in area
        two.means[1] = two.means[0];
        let one = reduce(&two, 1);
        assert!((one.opacities[0] - 0.38).abs() < 1e-5, "{}", one.opacities[0]);
        // none is more than opaque
        two.opacities = vec![1.0, 1.0];
        assert!((reduce(&two, 1).opacities[0] - 0.99).abs() < 1e-6);
    }

    /// The wanted number, exactly, the same each time; alike ones go before those that stand alone.
    #[test]
    fn counts_and_order() {
        let all = cloud(800, 1);
        for most in [799, 400, 37, 1, 0] {
            let few = reduce(&all, most);
            assert_eq!(few.len(), most.max(1));
            assert_eq!(few, reduce(&all, most));
            assert!(few.log_scales.iter().flatten().all(|v| v.is_finite()));
            assert!(
                few.quats
                    .iter()
                    .all(|q| (q.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-4)
            );
        }
        assert_eq!(reduce(&all, 900), all);
        // ten pairs of twins among eighty: the twins go
        let mut twins = cloud(80, 0);
        twins.opacities.iter_mut().for_each(|opacity| *opacity *= 0.3);
        for own in 0..10 {
            let whole = twins.clone();
            twins.push(&whole, own);
        }
        let few = reduce(&twins, 80);
        assert!(
            few.means
                .iter()
                .zip(&cloud(80, 0).means)
                .all(|(a, b)| (0..3).all(|k| (a[k] - b[k]).abs() < 1e-6))
        );
    }
}
