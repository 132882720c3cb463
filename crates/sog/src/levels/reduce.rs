//! Fewer Gaussians that look like more.

use super::cloud::Cloud;
use super::merge::{Body, push_merged};
use super::neighbors::nearest;
use crate::Splats;

/// Others that a Gaussian may be merged with: its nearest.
const CANDIDATES: usize = 8;
/// Share of the Gaussians that a round merges away at most: the cheapest pairs, so that dear ones wait for what the
/// cheap ones became.
const A_ROUND: usize = 4;

/// At most `most` Gaussians, at least one, for those of a cloud: pairs of neighbours become one, cheapest first.
#[must_use]
pub fn reduce(cloud: &Cloud, most: usize) -> Cloud {
    let most = most.max(1);
    let mut now = cloud.clone();
    while now.len() > most {
        let excess = now.len() - most;
        now = round(&now, excess.min(now.len() / A_ROUND).max(1));
    }
    now
}

/// One round: at most `n_pairs` pairs, at least one where there are two Gaussians.
fn round(cloud: &Cloud, n_pairs: usize) -> Cloud {
    let bodies: Vec<Body> = (0..cloud.len()).map(|index| Body::new(cloud, index)).collect();
    let mut pairs: Vec<(f64, u32, u32)> = Vec::new();
    for (own, near) in nearest::<CANDIDATES>(&cloud.means).into_iter().enumerate() {
        for other in near {
            let ends = [own as u32, other];
            let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            pairs.push((0.0, low, high));
        }
    }
    pairs.sort_unstable_by_key(|&(_, low, high)| (low, high));
    pairs.dedup();
    for (cost, low, high) in &mut pairs {
        *cost = bodies[*low as usize].cost(&bodies[*high as usize]);
    }
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    // the partner of each, itself for those that stay
    let mut partner: Vec<u32> = (0..cloud.len() as u32).collect();
    let mut left = n_pairs;
    for (_, low, high) in pairs {
        if left == 0 {
            break;
        }
        if partner[low as usize] == low && partner[high as usize] == high {
            (partner[low as usize], partner[high as usize]) = (high, low);
            left -= 1;
        }
    }
    let mut reduced = Cloud::new(cloud.sh_degree);
    for (own, &other) in partner.iter().enumerate() {
        match (own as u32).cmp(&other) {
            std::cmp::Ordering::Equal => reduced.push(cloud, own),
            std::cmp::Ordering::Less => push_merged(&mut reduced, cloud, &bodies, [own, other as usize]),
            std::cmp::Ordering::Greater => {}
        }
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::super::shape::shadow;
    use super::*;
    use crate::tests::Random;

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
        // two on one spot hide what one hides that is denser
        two.means[1] = two.means[0];
        let one = reduce(&two, 1);
        assert!((one.opacities[0] - 0.36).abs() < 1e-5, "{}", one.opacities[0]);
        // what would be more than opaque grows
        two.opacities = vec![1.0, 1.0];
        two.means[1] = [0.1, 5.0, 0.0];
        let one = reduce(&two, 1);
        assert!(one.opacities[0] <= 0.99 && one.log_scales[0].iter().any(|&log| log.exp() > 0.145));
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
