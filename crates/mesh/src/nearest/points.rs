//! The nearest of some points, by a balanced k-d tree.

use std::ops::Range;

use super::{Hit, is_better};
use crate::Error;
use crate::mesh::finite;
use crate::vector::{V3, dot, sub, wide};

/// Ranges this short are searched point by point.
const LEAF: usize = 12;

/// Points ordered so that each range splits at its middle, along the axis in which it is widest. 17 B a point.
#[derive(Clone, Debug)]
pub struct Points {
    points: Vec<(u32, [f32; 3])>,
    /// Split axis of the node at each position.
    axes: Vec<u8>,
}

impl Points {
    /// A tree of points.
    ///
    /// # Errors
    /// [`Error::NotFinite`]; [`Error::TooMany`] from 2^32 points on.
    pub fn new(points: &[[f32; 3]]) -> Result<Self, Error> {
        if points.len() > u32::MAX as usize {
            return Err(Error::TooMany {
                what: "points",
                found: points.len() as u64,
                most: u32::MAX.into(),
                hint: "take fewer points",
            });
        }
        finite("position", points)?;
        let mut tree = Self {
            axes: vec![0; points.len()],
            points: (0..).zip(points.iter().copied()).collect(),
        };
        let mut pending: Vec<Range<usize>> = std::iter::once(0..points.len()).collect();
        while let Some(range) = pending.pop() {
            if range.len() <= LEAF {
                continue;
            }
            let part = &mut tree.points[range.clone()];
            let axis = widest_axis(part);
            let half = part.len() / 2;
            part.select_nth_unstable_by(half, |a, b| a.1[axis].total_cmp(&b.1[axis]).then(a.0.cmp(&b.0)));
            let middle = range.start + half;
            tree.axes[middle] = axis as u8;
            pending.extend([range.start..middle, middle + 1..range.end]);
        }
        Ok(tree)
    }

    /// The nearest point to a finite place; `None` of none.
    #[must_use]
    pub fn nearest(&self, place: [f32; 3]) -> Option<Hit> {
        let place = wide(place);
        let mut best = (f64::INFINITY, u32::MAX, 0);
        self.search(0..self.points.len(), place, &mut best);
        let &(index, point) = self.points.get(best.2)?;
        Some(Hit {
            index,
            distance: best.0.sqrt(),
            point: wide(point),
        })
    }

    /// Numbers of the `count` points nearest to a finite place, nearest first, of equally near ones the lowest number first; all where
    /// there are fewer.
    #[must_use]
    pub fn nearest_of(&self, place: [f32; 3], count: usize) -> Vec<u32> {
        let mut best = Vec::with_capacity(count.min(self.points.len()) + 1);
        if count > 0 {
            self.search_of(0..self.points.len(), wide(place), count, &mut best);
        }
        best.into_iter().map(|(_, index)| index).collect()
    }

    /// `best`: squared distance and number, ascending.
    fn search_of(&self, range: Range<usize>, place: V3, count: usize, best: &mut Vec<(f64, u32)>) {
        let offer = |position: usize, best: &mut Vec<(f64, u32)>| {
            let (index, point) = self.points[position];
            let d = sub(wide(point), place);
            let new = (dot(d, d), index);
            let at = best.partition_point(|known| is_better(*known, new));
            if at < count {
                best.insert(at, new);
                best.truncate(count);
            }
        };
        if range.len() <= LEAF {
            range.for_each(|position| offer(position, best));
            return;
        }
        let middle = range.start + range.len() / 2;
        let axis = usize::from(self.axes[middle]);
        let offset = place[axis] - f64::from(self.points[middle].1[axis]);
        let (below, above) = (range.start..middle, middle + 1..range.end);
        let (near, far) = if offset < 0.0 { (below, above) } else { (above, below) };
        self.search_of(near, place, count, best);
        offer(middle, best);
        let reach = if best.len() < count {
            f64::INFINITY
        } else {
            best[count - 1].0
        };
        if offset * offset <= reach {
            self.search_of(far, place, count, best);
        }
    }

    /// `best`: squared distance, number, position in the order.
    fn search(&self, range: Range<usize>, place: V3, best: &mut (f64, u32, usize)) {
        if range.len() <= LEAF {
            range.for_each(|position| self.offer(position, place, best));
            return;
        }
        let middle = range.start + range.len() / 2;
        let axis = usize::from(self.axes[middle]);
        let offset = place[axis] - f64::from(self.points[middle].1[axis]);
        let (below, above) = (range.start..middle, middle + 1..range.end);
        let (near, far) = if offset < 0.0 { (below, above) } else { (above, below) };
        self.search(near, place, best);
        self.offer(middle, place, best);
        // Equal ones may have a lower number.
        if offset * offset <= best.0 {
            self.search(far, place, best);
        }
    }

    fn offer(&self, position: usize, place: V3, best: &mut (f64, u32, usize)) {
        let (index, point) = self.points[position];
        let d = sub(wide(point), place);
        let squared = dot(d, d);
        if is_better((squared, index), (best.0, best.1)) {
            *best = (squared, index, position);
        }
    }
}

fn widest_axis(points: &[(u32, [f32; 3])]) -> usize {
    let first = points.first().map_or([0.0; 3], |p| p.1);
    let [low, high] = points.iter().fold([first; 2], |[low, high], (_, p)| {
        [
            std::array::from_fn(|i| low[i].min(p[i])),
            std::array::from_fn(|i| high[i].max(p[i])),
        ]
    });
    let width = |axis: usize| f64::from(high[axis]) - f64::from(low[axis]);
    (1..3).fold(
        0,
        |widest, axis| if width(axis) > width(widest) { axis } else { widest },
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;

    fn cloud(count: u64, seed: u64, steps: f64) -> Vec<[f32; 3]> {
        let random = Random::new(seed);
        let x = |i: u64| ((random.unit(i) * steps).round() / steps) as f32 * 10.0;
        (0..count).map(|i| [x(3 * i), x(3 * i + 1), x(3 * i + 2)]).collect()
    }

    #[test]
    fn equals_the_search_by_hand() {
        // Coarse coordinates have many equal points and distances.
        for (count, steps) in [(1, 5.0), (13, 2.0), (500, 4.0), (700, 1e6)] {
            let points = cloud(count, count, steps);
            let tree = Points::new(&points).unwrap();
            for query in cloud(300, count + 1, steps * 2.0) {
                let squared = |p: [f32; 3]| dot(sub(wide(p), wide(query)), sub(wide(p), wide(query)));
                let wanted = (0..points.len()).min_by(|&a, &b| squared(points[a]).total_cmp(&squared(points[b])));
                let hit = tree.nearest(query).unwrap();
                assert_eq!(Some(hit.index as usize), wanted);
                assert_eq!(hit.distance, squared(points[hit.index as usize]).sqrt());
                let mut order: Vec<u32> = (0..points.len() as u32).collect();
                order.sort_by(|&a, &b| squared(points[a as usize]).total_cmp(&squared(points[b as usize])));
                order.truncate(16);
                assert_eq!(tree.nearest_of(query, 16), order);
            }
        }
    }

    #[test]
    fn piles_and_outliers_are_quick_and_nothing_is_nothing() {
        let mut points = vec![[1.0, 2.0, 3.0]; 100_000];
        points.push([3e37, -3e37, 0.0]);
        let tree = Points::new(&points).unwrap();
        assert_eq!(tree.nearest([3e37, -1e37, 0.0]).unwrap().index, 100_000);
        let hit = tree.nearest([1.0, 2.0, 4.0]).unwrap();
        assert_eq!((hit.index, hit.distance, hit.point), (0, 1.0, [1.0, 2.0, 3.0]));
        assert_eq!(Points::new(&[]).unwrap().nearest([0.0; 3]), None);
        assert!(Points::new(&[[f32::NAN, 0.0, 0.0]]).is_err());
    }
}
