//! How high the ground is, and where a ray meets it.
//!
//! Heights are the medians of the points of each cell; cells without points take that of the nearest that has some. A ray is
//! followed to a level plane, the height looked up there, and so on a few times: exact on plains, close on slopes.

use std::collections::VecDeque;

use crate::{Grid, Rect};

/// Times that the height under a ray is looked up.
const LOOK_UPS: u32 = 6;
/// How far a ray is followed, in sides of the grid: what it meets beyond is horizon.
const FARTHEST: f64 = 4.0;

/// The height of every cell of a grid.
#[derive(Clone, Debug)]
pub struct Heights {
    grid: Grid,
    heights: Vec<f64>,
    typical: f64,
}

impl Heights {
    /// Those of points, each with its place in the plane and its height, over `bounds` in cells of which the longer side has
    /// `side_cells`.
    #[must_use]
    pub fn of(bounds: Rect, side_cells: usize, points: impl Iterator<Item = ([f64; 2], f64)>) -> Self {
        let grid = Grid::new(bounds, side_cells);
        let [columns, rows] = grid.cells();
        let mut by_cell = vec![Vec::new(); columns * rows];
        for (place, height) in points.filter(|(place, height)| height.is_finite() && grid.bounds().contains(*place)) {
            by_cell[grid.index(place)].push(height);
        }
        let mut all: Vec<f64> = by_cell.iter().flatten().copied().collect();
        let typical = median(&mut all).unwrap_or(0.0);
        let mut heights: Vec<Option<f64>> = by_cell.iter_mut().map(|heights| median(heights)).collect();
        let mut open: VecDeque<usize> = (0..heights.len()).filter(|cell| heights[*cell].is_some()).collect();
        while let Some(cell) = open.pop_front() {
            let (x, y) = (cell % columns, cell / columns);
            let beside = [
                (x > 0).then(|| cell - 1),
                (x + 1 < columns).then(|| cell + 1),
                (y > 0).then(|| cell - columns),
                (y + 1 < rows).then(|| cell + columns),
            ];
            for next in beside.into_iter().flatten() {
                if heights[next].is_none() {
                    heights[next] = heights[cell];
                    open.push_back(next);
                }
            }
        }
        Self {
            grid,
            heights: heights.into_iter().map(|height| height.unwrap_or(typical)).collect(),
            typical,
        }
    }

    /// The height at a place.
    #[must_use]
    pub fn at(&self, place: [f64; 2]) -> f64 {
        self.heights[self.grid.index(place)]
    }

    /// Where a ray from a place at `height` meets the ground, when it goes on by `along` in the plane and by `rise` in height. A
    /// ray that does not come down ends far out in its direction.
    #[must_use]
    pub fn hit(&self, place: [f64; 2], height: f64, along: [f64; 2], rise: f64) -> [f64; 2] {
        let sides = self.grid.bounds().sides();
        let speed = along[0].hypot(along[1]);
        let farthest = FARTHEST * sides[0].max(sides[1]).max(self.grid.cell());
        let most = if speed > 0.0 { farthest / speed } else { f64::INFINITY };
        let go = |steps: f64| std::array::from_fn(|axis| place[axis] + steps * along[axis]);
        let steps_to = |ground: f64| {
            let steps = (ground - height) / rise;
            if rise < 0.0 && steps >= 0.0 {
                steps.min(most)
            } else {
                most
            }
        };
        let mut ground = self.typical;
        for _ in 0..LOOK_UPS {
            let steps = steps_to(ground);
            if !steps.is_finite() {
                return place;
            }
            ground = self.at(go(steps));
        }
        let steps = steps_to(ground);
        if steps.is_finite() { go(steps) } else { place }
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Rect = Rect {
        min: [0.0, 0.0],
        max: [10.0, 10.0],
    };

    #[test]
    fn rays_meet_plains_and_steps() {
        // Low to the left, a plateau of height 2 from x = 5.
        let points = (0..100).map(|i| {
            let place = [f64::from(i % 10) + 0.5, f64::from(i / 10) + 0.5];
            (place, if place[0] < 5.0 { 0.0 } else { 2.0 })
        });
        let heights = Heights::of(BOUNDS, 10, points);
        assert_eq!(heights.at([1.0, 1.0]), 0.0);
        assert_eq!(heights.at([9.0, 1.0]), 2.0);
        let hit = heights.hit([1.0, 5.0], 10.0, [0.0, 0.0], -1.0);
        assert_eq!(hit, [1.0, 5.0]);
        let hit = heights.hit([0.0, 5.0], 10.0, [1.0, 0.0], -1.0);
        assert_eq!(hit, [8.0, 5.0], "the plateau is met before the low ground would be");
        let up = heights.hit([5.0, 5.0], 10.0, [1.0, 0.0], 1.0);
        assert_eq!(up, [45.0, 5.0], "the sky is far away");
        let level = heights.hit([5.0, 5.0], 10.0, [0.0, -1.0], 0.0);
        assert_eq!(level, [5.0, -35.0]);
    }

    #[test]
    fn cells_without_points_are_as_high_as_the_nearest() {
        let heights = Heights::of(
            BOUNDS,
            10,
            [([0.5, 0.5], 7.0), ([0.6, 0.4], 7.5), ([0.4, 0.4], 6.5)].into_iter(),
        );
        assert_eq!(heights.at([9.5, 9.5]), 7.0);
        let none = Heights::of(BOUNDS, 10, std::iter::empty());
        assert_eq!(none.hit([5.0, 5.0], 3.0, [0.0; 2], -1.0), [5.0, 5.0]);
    }
}
