//! Which triangles are split.

use std::cmp::Ordering;

use crate::Triangles;
use crate::schedule::SplitRule;

/// The first `count` in an order, in that order.
fn first<T: Copy>(mut all: Vec<T>, count: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if count < all.len() {
        all.select_nth_unstable_by(count, &order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

impl Triangles<'_> {
    /// Triangles to split on the way to `rule.growth` times as many vertices and at most `most_vertices`: one for each new
    /// vertex, without replacement, with probability in proportion to importance, then the largest ones. The most wanted come
    /// first; none is there twice.
    ///
    /// `uniform` is a random number between 0 and 1, both excluded, of each triangle. Keys u^(1/importance) sorted make
    /// exactly this distribution (Efraimidis and Spirakis 2006).
    #[must_use]
    pub fn sample(&self, rule: &SplitRule, most_vertices: u32, uniform: impl Fn(u32) -> f32) -> Vec<u32> {
        let vertices = self.positions.len();
        let target = (f64::from(rule.growth) * vertices as f64) as usize;
        let count = target.min(most_vertices as usize).saturating_sub(vertices);
        if count == 0 {
            return Vec::new();
        }
        let numbered = || (0_u32..).zip(self.triangles);
        let keys = numbered().filter_map(|(number, &triangle)| {
            let importance = f64::from(self.importance[number as usize]);
            // Comparisons that NaN fails.
            let counts = importance > 0.0 && self.area(triangle) >= f64::from(rule.least_area);
            counts.then(|| (-f64::from(uniform(number)).ln() / importance, number))
        });
        let sampled = first(keys.collect(), count, |a: &(f64, u32), b| {
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        let mut taken: Vec<u32> = sampled.into_iter().map(|(_, number)| number).collect();
        let areas = numbered().map(|(number, &triangle)| (self.area(triangle), number));
        let areas = areas.filter(|(area, _)| area.is_finite());
        let largest = first(areas.collect(), rule.largest as usize, |a, b| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
        });
        let mut known = taken.clone();
        known.sort_unstable();
        taken.extend(
            largest
                .into_iter()
                .map(|(_, number)| number)
                .filter(|number| known.binary_search(number).is_err()),
        );
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soups::{Soup, uniform};

    const RULE: SplitRule = SplitRule {
        growth: 1.25,
        largest: 0,
        least_area: 0.0,
    };

    #[test]
    fn one_for_each_new_vertex_up_to_the_cap() {
        let soup = Soup::random(400, 900, 1);
        let count = |rule: &SplitRule, most| soup.read().sample(rule, most, |id| uniform(1, id)).len();
        assert_eq!(count(&RULE, 4000), 100);
        assert_eq!(count(&RULE, 430), 30);
        assert_eq!((count(&RULE, 400), count(&RULE, 10)), (0, 0));
        let all = SplitRule { growth: 9.0, ..RULE };
        let candidates = soup.importance.iter().filter(|&&importance| importance > 0.0).count();
        assert_eq!(count(&all, u32::MAX), candidates, "those without importance never");
        // The largest come on top, none of them twice.
        let both = SplitRule { largest: 50, ..RULE };
        let sample = soup.read().sample(&both, 4000, |id| uniform(1, id));
        let mut sorted = sample.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), sample.len());
        assert!((101..=150).contains(&sample.len()), "{}", sample.len());
        assert_eq!(sample[..100], soup.read().sample(&RULE, 4000, |id| uniform(1, id)));
        assert_eq!(count(&both, 400), 0, "at the cap nothing");
    }

    #[test]
    fn shares_follow_importance() {
        // 12 triangles apart, of importance 1 to 4 each three times; one is taken.
        let mut soup = Soup::apart(12);
        for (t, importance) in soup.importance.iter_mut().enumerate() {
            *importance = (1 + t % 4) as f32 * 0.2;
        }
        let one = SplitRule { growth: 1.03, ..RULE };
        let mut counts = [0; 4];
        for seed in 0..6000 {
            let sample = soup.read().sample(&one, u32::MAX, |id| uniform(seed, id));
            assert_eq!(sample.len(), 1);
            counts[sample[0] as usize % 4] += 1;
        }
        for (k, &count) in (1..).zip(&counts) {
            assert!(
                (f64::from(count) / 600.0 / f64::from(k) - 1.0).abs() < 0.1,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn small_and_odd_ones_are_passed_by() {
        let mut soup = Soup::apart(10);
        // Scaled about its first corner: half the side, a quarter of the area of 0.5.
        let [a, b, c] = [9, 10, 11].map(|v: usize| soup.positions[v]);
        let half = |p: [f32; 3]| [0, 1, 2].map(|i| 0.5 * (a[i] + p[i]));
        (soup.positions[10], soup.positions[11]) = (half(b), half(c));
        soup.positions[0][0] = f32::NAN;
        soup.importance[1] = f32::NAN;
        soup.importance[2] = 0.0;
        let rule = SplitRule {
            growth: 9.0,
            least_area: 0.2,
            largest: 0,
        };
        let mut sample = soup.read().sample(&rule, u32::MAX, |id| uniform(3, id));
        sample.sort_unstable();
        assert_eq!(sample, [4, 5, 6, 7, 8, 9]);
        let largest = SplitRule { largest: 100, ..rule };
        assert_eq!(
            soup.read().sample(&largest, u32::MAX, |id| uniform(3, id)).len(),
            9,
            "all that are somewhere"
        );
    }
}
