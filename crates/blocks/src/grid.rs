//! How many Gaussians each piece of the plane is to get.
//!
//! Owns the cells and their demand. Promises that the demand of all cells together is exactly the requested number, and that
//! sums over boxes cost the same for any box. What lies outside the grid counts for the cell of its border.

use crate::Rect;

/// Cells of the longer side.
pub const SIDE_CELLS: usize = 256;

/// Square cells over a piece of the plane, each with a weight.
#[derive(Clone, Debug)]
pub struct Grid {
    bounds: Rect,
    /// Cells of the sides.
    cells: [usize; 2],
    /// Side of a cell, world units.
    cell: f64,
    weights: Vec<u64>,
}

impl Grid {
    /// An empty grid over `bounds`, which are finite; the longer side has `side_cells` cells.
    #[must_use]
    pub fn new(bounds: Rect, side_cells: usize) -> Self {
        let sides = bounds.sides();
        let longer = sides[0].max(sides[1]);
        let usable = longer > 0.0 && longer.is_finite();
        let cell = if usable { longer / side_cells.max(1) as f64 } else { 1.0 };
        let cells = sides.map(|side| ((side / cell).ceil() as usize).clamp(1, side_cells.max(1)));
        let max = std::array::from_fn(|axis| bounds.min[axis] + cell * cells[axis] as f64);
        Self {
            bounds: Rect { min: bounds.min, max },
            cells,
            cell,
            weights: vec![0; cells[0] * cells[1]],
        }
    }

    /// The empty grid that covers exactly `bounds`, which are those of a grid whose longer side has `side_cells` cells.
    #[must_use]
    pub fn again(bounds: Rect, side_cells: usize) -> Self {
        let mut grid = Self::new(bounds, side_cells);
        // The bounds end with a whole cell, but for what was rounded: that must not become one more.
        grid.cells = bounds
            .sides()
            .map(|side| ((side / grid.cell).round() as usize).clamp(1, side_cells.max(1)));
        grid.bounds = bounds;
        grid.weights = vec![0; grid.cells[0] * grid.cells[1]];
        grid
    }

    /// What it covers: the bounds it was made for, the shorter side rounded up to whole cells.
    #[must_use]
    pub const fn bounds(&self) -> Rect {
        self.bounds
    }

    /// Cells of the two sides.
    #[must_use]
    pub const fn cells(&self) -> [usize; 2] {
        self.cells
    }

    /// Side of a cell, world units.
    #[must_use]
    pub const fn cell(&self) -> f64 {
        self.cell
    }

    /// The number of the cell of a place.
    #[must_use]
    pub fn index(&self, place: [f64; 2]) -> usize {
        let [x, y] = std::array::from_fn(|axis| {
            let cell = (place[axis] - self.bounds.min[axis]) / self.cell;
            // what is not a number becomes 0
            (cell.max(0.0) as usize).min(self.cells[axis] - 1)
        });
        y * self.cells[0] + x
    }

    /// Adds weight to the cell of a place.
    pub fn add(&mut self, place: [f64; 2], weight: u64) {
        let at = self.index(place);
        self.weights[at] = self.weights[at].saturating_add(weight);
    }

    /// Cells with any weight.
    #[must_use]
    pub fn used(&self) -> usize {
        self.weights.iter().filter(|weight| **weight > 0).count()
    }

    /// The coordinate where a column or a row of cells begins.
    #[must_use]
    pub fn line(&self, axis: usize, cell: usize) -> f64 {
        self.bounds.min[axis] + self.cell * cell as f64
    }

    /// The demand when `total` Gaussians are shared out by weight; without any weight all cells count the same.
    #[must_use]
    pub fn demand(&self, total: u64) -> Demand<'_> {
        let all: u128 = self.weights.iter().map(|weight| u128::from(*weight)).sum();
        let even = all == 0;
        let all = if even { self.weights.len() as u128 } else { all };
        let mut before = 0_u128;
        let mut given = 0_u64;
        let shares = self.weights.iter().map(|weight| {
            before += if even { 1 } else { u128::from(*weight) };
            // rounding the running sum leaves nothing over at the end
            let until = u64::try_from(before * u128::from(total) / all).unwrap_or(u64::MAX);
            let share = until - given;
            given = until;
            share
        });
        let shares: Vec<u64> = shares.collect();
        let width = self.cells[0] + 1;
        let mut sums = vec![0_u64; width * (self.cells[1] + 1)];
        for y in 0..self.cells[1] {
            let mut row = 0;
            for x in 0..self.cells[0] {
                row += shares[y * self.cells[0] + x];
                sums[(y + 1) * width + x + 1] = sums[y * width + x + 1] + row;
            }
        }
        Demand { grid: self, sums }
    }
}

/// Gaussians of every cell, summed up from the first corner.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    grid: &'a Grid,
    sums: Vec<u64>,
}

impl Demand<'_> {
    /// The grid.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        self.grid
    }

    /// Gaussians of the cells `from..to`.
    #[must_use]
    pub fn of_cells(&self, from: [usize; 2], to: [usize; 2]) -> u64 {
        let at = |x: usize, y: usize| self.sums[y * (self.grid.cells[0] + 1) + x];
        at(to[0], to[1]) + at(from[0], from[1]) - at(from[0], to[1]) - at(to[0], from[1])
    }

    /// Gaussians in a box; cells that are cut count by their area.
    #[must_use]
    pub fn of(&self, rect: &Rect) -> f64 {
        let cells = rect.within(&self.grid.bounds);
        let place = |corner: [f64; 2]| -> [f64; 2] {
            std::array::from_fn(|axis| {
                let cell = (corner[axis] - self.grid.bounds.min[axis]) / self.grid.cell;
                cell.clamp(0.0, self.grid.cells[axis] as f64)
            })
        };
        let (low, high) = (place(cells.min), place(cells.max));
        if low[0] >= high[0] || low[1] >= high[1] {
            return 0.0;
        }
        self.until(high[0], high[1]) + self.until(low[0], low[1])
            - self.until(low[0], high[1])
            - self.until(high[0], low[1])
    }

    /// Gaussians from the first corner up to a place in cells.
    fn until(&self, x: f64, y: f64) -> f64 {
        let [columns, rows] = self.grid.cells;
        let (left, low) = ((x as usize).min(columns - 1), (y as usize).min(rows - 1));
        let (u, v) = (x - left as f64, y - low as f64);
        let at = |x: usize, y: usize| self.sums[y * (columns + 1) + x] as f64;
        let row = |y: usize| at(left, y) * (1.0 - u) + at(left + 1, y) * u;
        row(low) * (1.0 - v) + row(low + 1) * v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid::new(
            Rect {
                min: [0.0, 10.0],
                max: [8.0, 14.0],
            },
            4,
        )
    }

    #[test]
    fn cells_are_square_and_take_what_lies_outside() {
        let grid = grid();
        assert_eq!((grid.cells(), grid.cell()), ([4, 2], 2.0));
        for (place, cell) in [
            ([0.0, 10.0], 0),
            ([-9.0, 99.0], 4),
            ([7.9, 13.9], 7),
            ([f64::NAN, f64::INFINITY], 4),
        ] {
            assert_eq!(grid.index(place), cell, "{place:?}");
        }
        assert_eq!(grid.line(1, 1), 12.0);
    }

    #[test]
    fn a_grid_is_found_again_by_its_bounds() {
        let mut state = 5;
        for _ in 0..1000 {
            let [x, y, width, height] = [0; 4].map(|_| crate::cut::tests::random(&mut state));
            let min = [1e4 * (x - 0.5), 3.0 * y];
            let bounds = Rect {
                min,
                max: [min[0] + 7.0 * width + 0.01, min[1] + 500.0 * height + 0.01],
            };
            let grid = Grid::new(bounds, 256);
            let again = Grid::again(grid.bounds(), 256);
            assert_eq!((grid.cells(), grid.bounds()), (again.cells(), again.bounds()));
        }
    }

    #[test]
    fn shares_add_up_to_what_was_asked_for() {
        let mut grid = grid();
        for (at, weight) in [3, 0, 7, 1, 0, 0, 5, 1].into_iter().enumerate() {
            grid.add([2.0 * (at % 4) as f64, 10.0 + 2.0 * (at / 4) as f64], weight);
        }
        for total in [0, 1, 10, 1_000_003] {
            let demand = grid.demand(total);
            assert_eq!(demand.of_cells([0, 0], [4, 2]), total);
            assert_eq!(demand.of(&Rect::PLANE), total as f64);
        }
        let demand = grid.demand(17);
        assert_eq!(demand.of_cells([2, 0], [3, 2]), 12);
        // Half of the first cell.
        let half = Rect {
            min: [1.0, 0.0],
            max: [2.0, 12.0],
        };
        assert_eq!(demand.of(&half), 1.5);
        assert_eq!(
            demand.of(&half.within(&Rect {
                min: [5.0; 2],
                max: [1.0; 2]
            })),
            0.0
        );
        assert_eq!(grid.used(), 5);
    }

    #[test]
    fn nothing_known_is_even() {
        let grid = grid();
        let demand = grid.demand(80);
        assert_eq!(demand.of_cells([0, 0], [1, 1]), 10);
    }
}
