//! Exact nearest neighbours on the host, by a balanced k-d tree.
//!
//! Owns what initialisation needs: the mean squared distance of every point to its three nearest. Points split at
//! the median of the widest axis by position in the order, not by value, so piles of equal points stay balanced;
//! trees that split by value, and hash grids, degrade or fail on the outliers and repeats of sparse models.

use std::ops::Range;

/// Neighbours counted.
const NEIGHBORS: usize = 3;
/// Ranges this short are searched point by point.
const LEAF: usize = 12;
/// Threads are started only for more points than this.
const PARALLEL_FROM: usize = 4096;

/// Mean squared distance of each point to its three nearest other points, in squared world units.
///
/// With fewer than three other points the mean is over those there are, and 0 for a lone point. Equal points are at
/// distance 0 from each other. Coordinates must be finite.
#[must_use]
pub fn mean_squared_distances(points: &[[f32; 3]]) -> Vec<f64> {
    let tree = Tree::new(points);
    let threads = match points.len() {
        0..=PARALLEL_FROM => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from).min(16),
    };
    let share = points.len().div_ceil(threads).max(1);
    let mut by_tree_order = vec![0.0; points.len()];
    // neighbours in tree order are neighbours in space, which keeps the search in cache
    std::thread::scope(|scope| {
        for (part, out) in by_tree_order.chunks_mut(share).enumerate() {
            let tree = &tree;
            scope.spawn(move || {
                for (offset, mean) in out.iter_mut().enumerate() {
                    *mean = tree.mean_squared_distance(part * share + offset);
                }
            });
        }
    });
    let mut means = vec![0.0; points.len()];
    for (&(index, _), mean) in tree.points.iter().zip(by_tree_order) {
        means[index as usize] = mean;
    }
    means
}

/// Points ordered so that each range splits at its middle; the middle element is the node.
struct Tree {
    points: Vec<(u32, [f32; 3])>,
    /// Split axis of the node at each position.
    axes: Vec<u8>,
}

/// The smallest squared distances so far, ascending.
struct Nearest {
    squared: [f64; NEIGHBORS],
    found: usize,
}

impl Tree {
    fn new(points: &[[f32; 3]]) -> Self {
        let points = points.iter().zip(0..).map(|(&point, index)| (index, point)).collect();
        let mut tree = Self {
            points,
            axes: Vec::new(),
        };
        tree.axes = vec![0; tree.points.len()];
        let mut pending: Vec<Range<usize>> = std::iter::once(0..tree.points.len()).collect();
        while let Some(range) = pending.pop() {
            if range.len() <= LEAF {
                continue;
            }
            let part = &mut tree.points[range.clone()];
            let axis = widest_axis(part);
            let half = part.len() / 2;
            part.select_nth_unstable_by(half, |a, b| a.1[axis].total_cmp(&b.1[axis]));
            let middle = range.start + half;
            tree.axes[middle] = axis as u8;
            pending.extend([range.start..middle, middle + 1..range.end]);
        }
        tree
    }

    fn mean_squared_distance(&self, position: usize) -> f64 {
        let mut nearest = Nearest {
            squared: [f64::INFINITY; NEIGHBORS],
            found: 0,
        };
        self.search(0..self.points.len(), position, &mut nearest);
        let found = &nearest.squared[..nearest.found];
        found.iter().sum::<f64>() / (found.len().max(1) as f64)
    }

    fn search(&self, range: Range<usize>, from: usize, nearest: &mut Nearest) {
        if range.len() <= LEAF {
            for position in range {
                self.offer(position, from, nearest);
            }
            return;
        }
        let middle = range.start + range.len() / 2;
        let axis = usize::from(self.axes[middle]);
        self.offer(middle, from, nearest);
        let offset = f64::from(self.points[from].1[axis]) - f64::from(self.points[middle].1[axis]);
        let (below, above) = (range.start..middle, middle + 1..range.end);
        // equal values may lie on both sides; a point's own side is the one its position is in
        let own_below = below.contains(&from) || (offset < 0.0 && !above.contains(&from));
        let (near, far) = if own_below { (below, above) } else { (above, below) };
        self.search(near, from, nearest);
        if offset * offset < nearest.squared[NEIGHBORS - 1] {
            self.search(far, from, nearest);
        }
    }

    fn offer(&self, position: usize, from: usize, nearest: &mut Nearest) {
        if position == from {
            return;
        }
        let (a, b) = (self.points[position].1, self.points[from].1);
        let squared: f64 = (0..3)
            .map(|axis| (f64::from(a[axis]) - f64::from(b[axis])).powi(2))
            .sum();
        if squared >= nearest.squared[NEIGHBORS - 1] {
            return;
        }
        let place = nearest.squared.iter().take_while(|&&other| other <= squared).count();
        nearest.squared.copy_within(place..NEIGHBORS - 1, place + 1);
        nearest.squared[place] = squared;
        nearest.found = (nearest.found + 1).min(NEIGHBORS);
    }
}

fn widest_axis(points: &[(u32, [f32; 3])]) -> usize {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for (_, point) in points {
        for axis in 0..3 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    let width = |axis: usize| f64::from(high[axis]) - f64::from(low[axis]);
    (1..3).fold(
        0,
        |widest, axis| {
            if width(axis) > width(widest) { axis } else { widest }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scene::SplitMix64;

    fn by_hand(points: &[[f32; 3]]) -> Vec<f64> {
        let squared = |a: [f32; 3], b: [f32; 3]| (0..3).map(|i| (f64::from(a[i]) - f64::from(b[i])).powi(2)).sum();
        let mean = |i: usize| {
            let others = (0..points.len()).filter(|&j| j != i);
            let mut all: Vec<f64> = others.map(|j| squared(points[i], points[j])).collect();
            all.sort_by(f64::total_cmp);
            all.truncate(3);
            all.iter().sum::<f64>() / all.len().max(1) as f64
        };
        (0..points.len()).map(mean).collect()
    }

    fn cloud(count: usize, seed: u64, grid: f32) -> Vec<[f32; 3]> {
        let mut random = SplitMix64::new(seed);
        (0..count)
            .map(|_| [0; 3].map(|_: i32| (random.next_f32() * grid).round() / grid * 10.0))
            .collect()
    }

    #[test]
    fn equals_the_search_by_hand() {
        // coarse grids hold many equal points and equal coordinates
        for (count, grid) in [
            (0, 1.0),
            (1, 1.0),
            (2, 9.0),
            (3, 9.0),
            (4, 9.0),
            (13, 2.0),
            (700, 4.0),
            (900, 1e6),
        ] {
            let points = cloud(count, count as u64, grid);
            assert_eq!(
                mean_squared_distances(&points),
                by_hand(&points),
                "{count} points on a grid of {grid}"
            );
        }
    }

    #[test]
    fn threads_and_outliers_change_nothing() {
        let mut points = cloud(PARALLEL_FROM + 1500, 5, 1e7);
        points.push([3e37, -3e37, 0.0]);
        assert_eq!(mean_squared_distances(&points)[..200], by_hand(&points)[..200]);
        assert!(mean_squared_distances(&points).iter().all(|mean| mean.is_finite()));
    }

    #[test]
    fn piles_of_equal_points_are_quick() {
        let mut points = vec![[1.0, 2.0, 3.0]; 200_000];
        points.push([2.0, 2.0, 3.0]);
        let means = mean_squared_distances(&points);
        assert_eq!((means[0], means[199_999], means[200_000]), (0.0, 0.0, 1.0));
    }
}
