//! A plane cut into blocks that each fit.
//!
//! Blocks are the leaves of a k-d tree: the longer side is cut where the demand halves, until whoever asks finds that a block
//! fits. Cores are half-open and the outermost sides infinite, so that every place of the plane is in exactly one.

use crate::grid::Demand;
use crate::{Grid, Rect};

/// How far a side may be from a line of the grid, in cells: bounds are rounded.
const LINE: f64 = 1e-6;

/// A leaf of the tree, or what may become one.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What it answers for.
    pub core: Rect,
    /// World units around the core that it trains too.
    pub margin: f64,
    /// Gaussians that its core is to get.
    pub demand: u64,
    /// Gaussians that core and margin hold together.
    pub wide_demand: f64,
    /// Its first cells and those after its last.
    cells: [[usize; 2]; 2],
}

impl Block {
    fn of(demand: &Demand<'_>, core: Rect, cells: [[usize; 2]; 2], margin: f64) -> Self {
        let sides = core.within(&demand.grid().bounds()).sides();
        let margin = margin * sides[0].max(sides[1]);
        Self {
            core,
            margin,
            demand: demand.of_cells(cells[0], cells[1]),
            wide_demand: demand.of(&core.widened(margin)),
            cells,
        }
    }

    /// The whole plane.
    #[must_use]
    pub fn whole(demand: &Demand<'_>, margin: f64) -> Self {
        Self::of(demand, Rect::PLANE, [[0, 0], demand.grid().cells()], margin)
    }

    /// The block of a core that was cut along lines of this grid; none for any other.
    #[must_use]
    pub fn of_core(demand: &Demand<'_>, core: Rect, margin: f64) -> Option<Self> {
        let grid = demand.grid();
        let line = |axis: usize, side: f64, outermost: usize| {
            if side.is_infinite() {
                return Some(outermost);
            }
            let at = (side - grid.bounds().min[axis]) / grid.cell();
            let cell = at.round();
            let is_one = (at - cell).abs() < LINE && (0.0..=grid.cells()[axis] as f64).contains(&cell);
            is_one.then_some(cell as usize)
        };
        let [columns, rows] = grid.cells();
        let from = [line(0, core.min[0], 0)?, line(1, core.min[1], 0)?];
        let to = [line(0, core.max[0], columns)?, line(1, core.max[1], rows)?];
        (from[0] < to[0] && from[1] < to[1]).then(|| Self::of(demand, core, [from, to], margin))
    }

    /// Core and margin.
    #[must_use]
    pub fn wide(&self) -> Rect {
        self.core.widened(self.margin)
    }

    /// The block with the demand of another total.
    #[must_use]
    pub fn with(&self, demand: &Demand<'_>) -> Self {
        Self {
            demand: demand.of_cells(self.cells[0], self.cells[1]),
            wide_demand: demand.of(&self.wide()),
            ..self.clone()
        }
    }

    /// Its two halves, on the longer side first; none where a side is one cell.
    fn halves(&self, demand: &Demand<'_>, margin: f64) -> Vec<[Self; 2]> {
        let grid = demand.grid();
        let [from, to] = self.cells;
        let sides: [usize; 2] = std::array::from_fn(|axis| to[axis] - from[axis]);
        let order = if sides[1] > sides[0] { [1, 0] } else { [0, 1] };
        let cut = |axis: usize| {
            let at = middle(demand, from, to, axis)?;
            let cores = self.core.cut(axis, grid.line(axis, at));
            let (mut end, mut start) = (to, from);
            end[axis] = at;
            start[axis] = at;
            Some([
                Self::of(demand, cores[0], [from, end], margin),
                Self::of(demand, cores[1], [start, to], margin),
            ])
        };
        order.into_iter().filter_map(cut).collect()
    }
}

/// The line between cells that halves their demand best.
fn middle(demand: &Demand<'_>, from: [usize; 2], to: [usize; 2], axis: usize) -> Option<usize> {
    let all = demand.of_cells(from, to);
    let below = |at: usize| {
        let mut end = to;
        end[axis] = at;
        demand.of_cells(from, end)
    };
    // Without demand there is nothing to halve but the side.
    let miss = |at: &usize| match all {
        0 => (2 * at).abs_diff(from[axis] + to[axis]) as u64,
        _ => (2 * below(*at)).abs_diff(all),
    };
    (from[axis] + 1..to[axis]).min_by_key(miss)
}

/// What is thought of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can stay as it is.
    Fits,
    /// It has to be cut.
    TooLarge,
    /// It must not be made: its whole is to stay.
    TooSmall,
}

/// Why there are no blocks.
#[derive(Debug, thiserror::Error)]
pub enum CutError<E> {
    /// The callback failed.
    #[error(transparent)]
    Asked(E),
    /// A block does not fit and cannot be cut either.
    #[error("a block does not fit and cannot be cut further")]
    Stuck(Box<Block>),
    /// Fewer blocks than wanted can be made.
    #[error("no more than {0} blocks can be made")]
    Fewer(usize),
}

/// Cuts until `verdict` finds that every block fits; `margin` is a part of a block's longer side. A block whose halves are
/// too small is cut on the other side, or not at all. In the order of the tree, lower halves first.
///
/// # Errors
/// [`CutError::Stuck`] with the block that neither fits nor can be cut, and the errors of `verdict`.
pub fn cut<E>(
    demand: &Demand<'_>,
    margin: f64,
    mut verdict: impl FnMut(&Block) -> Result<Verdict, E>,
) -> Result<Vec<Block>, CutError<E>> {
    let whole = Block::whole(demand, margin);
    let fits = verdict(&whole).map_err(CutError::Asked)? != Verdict::TooLarge;
    // Each with whether it fits already; the next one to look at is last.
    let (mut open, mut done) = (vec![(whole, fits)], Vec::new());
    while let Some((block, fits)) = open.pop() {
        if fits {
            done.push(block);
            continue;
        }
        let Some([low, high]) = cut_once(&block, demand, margin, &mut verdict)? else {
            return Err(CutError::Stuck(Box::new(block)));
        };
        open.extend([high, low]);
    }
    Ok(done)
}

/// Cuts the block of most demand until there are `count`, whether they fit or not; halves that are too small are not made.
///
/// # Errors
/// [`CutError::Fewer`] when none of them can be cut any more, and the errors of `verdict`.
pub fn cut_into<E>(
    demand: &Demand<'_>,
    margin: f64,
    count: usize,
    mut verdict: impl FnMut(&Block) -> Result<Verdict, E>,
) -> Result<Vec<Block>, CutError<E>> {
    // Each with whether it can be cut.
    let mut blocks = vec![(Block::whole(demand, margin), true)];
    while blocks.len() < count {
        let open = blocks.iter().enumerate().filter(|(_, (_, can))| *can);
        // Of equals the first.
        let Some((at, _)) = open.max_by_key(|(at, (block, _))| (block.demand, std::cmp::Reverse(*at))) else {
            return Err(CutError::Fewer(blocks.len()));
        };
        match cut_once(&blocks[at].0, demand, margin, &mut verdict)? {
            Some(halves) => {
                blocks.splice(at..=at, halves.map(|(block, _)| (block, true)));
            }
            None => blocks[at].1 = false,
        }
    }
    Ok(blocks.into_iter().map(|(block, _)| block).collect())
}

/// Cuts one block in two, on its longer side or else on the other; none where one half of every pair is too small. The outer
/// sides of the halves are those of the block.
pub fn halve(
    block: &Block,
    demand: &Demand<'_>,
    margin: f64,
    mut is_too_small: impl FnMut(&Block) -> bool,
) -> Option<[Block; 2]> {
    let mut pairs = block.halves(demand, margin).into_iter();
    pairs.find(|halves| !halves.iter().any(&mut is_too_small))
}

/// The first pair of halves neither of which is too small, each with whether it fits.
type Halves = Option<[(Block, bool); 2]>;

fn cut_once<E>(
    block: &Block,
    demand: &Demand<'_>,
    margin: f64,
    verdict: &mut impl FnMut(&Block) -> Result<Verdict, E>,
) -> Result<Halves, CutError<E>> {
    for [low, high] in block.halves(demand, margin) {
        let below = verdict(&low).map_err(CutError::Asked)?;
        if below == Verdict::TooSmall {
            continue;
        }
        let above = verdict(&high).map_err(CutError::Asked)?;
        if above != Verdict::TooSmall {
            return Ok(Some([(low, below == Verdict::Fits), (high, above == Verdict::Fits)]));
        }
    }
    Ok(None)
}

/// The places that a grid over cameras and points covers: all cameras, and the points without the farthest hundredth on each
/// side of each axis.
#[must_use]
pub fn bounds(cameras: &[[f64; 2]], points: &[[f64; 2]]) -> Rect {
    let mut bounds = Rect {
        min: [f64::INFINITY; 2],
        max: [f64::NEG_INFINITY; 2],
    };
    let mut include = |axis: usize, value: f64| {
        if value.is_finite() {
            bounds.min[axis] = bounds.min[axis].min(value);
            bounds.max[axis] = bounds.max[axis].max(value);
        }
    };
    for axis in 0..2 {
        for camera in cameras {
            include(axis, camera[axis]);
        }
        let mut values: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        let cut = values.len() / 100;
        if !values.is_empty() {
            let low = *values.select_nth_unstable_by(cut, f64::total_cmp).1;
            let last = values.len() - 1 - cut;
            let high = *values.select_nth_unstable_by(last, f64::total_cmp).1;
            include(axis, low);
            include(axis, high);
        }
    }
    for axis in 0..2 {
        if bounds.min[axis] >= bounds.max[axis] {
            let middle = if bounds.min[axis].is_finite() {
                bounds.min[axis]
            } else {
                0.0
            };
            (bounds.min[axis], bounds.max[axis]) = (middle - 0.5, middle + 0.5);
        }
    }
    bounds
}

/// A grid over [`bounds`] with [`SIDE_CELLS`](crate::SIDE_CELLS) cells.
#[must_use]
pub fn grid_over(cameras: &[[f64; 2]], points: &[[f64; 2]]) -> Grid {
    Grid::new(bounds(cameras, points), crate::SIDE_CELLS)
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    type Never = std::convert::Infallible;

    /// A grid of 64 x 32 cells, one unit each, whose demand lies mostly to the left.
    fn grid() -> Grid {
        let mut grid = Grid::new(
            Rect {
                min: [0.0; 2],
                max: [64.0, 32.0],
            },
            64,
        );
        for x in 0..64 {
            for y in 0..32 {
                let weight = if x < 16 { 7 } else { 1 };
                grid.add([f64::from(x) + 0.5, f64::from(y) + 0.5], weight);
            }
        }
        grid
    }

    pub(crate) fn random(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn blocks_fit_and_tile_the_plane() {
        let grid = grid();
        let demand = grid.demand(100_000);
        let most = 9000.0;
        let blocks = cut::<Never>(&demand, 0.15, |block| {
            Ok(match block.wide_demand <= most {
                true => Verdict::Fits,
                false => Verdict::TooLarge,
            })
        });
        let blocks = blocks.unwrap();
        assert!(blocks.len() > 11, "{}", blocks.len());
        assert!(blocks.iter().all(|block| block.wide_demand <= most));
        assert!(blocks.iter().all(|block| block.wide_demand >= block.demand as f64));
        assert_eq!(blocks.iter().map(|block| block.demand).sum::<u64>(), 100_000);
        let mut state = 7;
        for _ in 0..100_000 {
            let place = [0, 1].map(|_| (random(&mut state) - 0.5) * 400.0);
            assert_eq!(blocks.iter().filter(|block| block.core.contains(place)).count(), 1);
        }
        // On the lines themselves, too.
        for block in &blocks {
            let corner = block.core.min.map(|side| side.max(-1e9));
            assert_eq!(blocks.iter().filter(|block| block.core.contains(corner)).count(), 1);
        }
    }

    #[test]
    fn a_number_of_blocks_shares_the_demand() {
        let grid = grid();
        let demand = grid.demand(1000);
        let blocks = cut_into::<Never>(&demand, 0.1, 4, |_| Ok(Verdict::Fits)).unwrap();
        let shares: Vec<u64> = blocks.iter().map(|block| block.demand).collect();
        assert_eq!(shares.len(), 4);
        assert!(shares.iter().all(|share| (200..=300).contains(share)), "{shares:?}");
        let other = grid.demand(2000);
        assert_eq!(blocks.iter().map(|block| block.with(&other).demand).sum::<u64>(), 2000);
    }

    #[test]
    fn leaves_are_found_by_their_cores_and_halved() {
        let grid = grid();
        let demand = grid.demand(100_000);
        let leaves = cut_into::<Never>(&demand, 0.1, 7, |_| Ok(Verdict::Fits)).unwrap();
        let mut state = 3;
        for leaf in &leaves {
            let found = Block::of_core(&demand, leaf.core, 0.1).unwrap();
            assert_eq!(&found, leaf);
            let halves = halve(&found, &demand, 0.1, |_| false).unwrap();
            assert_eq!(halves[0].demand + halves[1].demand, leaf.demand);
            assert!(halves.iter().all(|half| half.margin <= leaf.margin));
            for _ in 0..10_000 {
                let place = [0, 1].map(|_| (random(&mut state) - 0.5) * 400.0);
                let owners = halves.iter().filter(|half| half.core.contains(place)).count();
                assert_eq!(owners, usize::from(leaf.core.contains(place)));
            }
        }
        assert_eq!(halve(&leaves[0], &demand, 0.1, |_| true), None);
        let elsewhere = Rect::PLANE.cut(0, 3.5)[0];
        assert_eq!(Block::of_core(&demand, elsewhere, 0.1), None, "no line of the grid");
        assert_eq!(Block::of_core(&demand, Rect::PLANE.cut(0, -7.0)[0], 0.1), None);
    }

    #[test]
    fn small_halves_are_not_made() {
        let grid = grid();
        let demand = grid.demand(1000);
        let small = |least: f64| {
            move |block: &Block| {
                let sides = block.core.within(&grid_bounds()).sides();
                Ok::<_, Never>(match sides {
                    [x, _] if x < least => Verdict::TooSmall,
                    [x, y] if x * y > 600.0 => Verdict::TooLarge,
                    _ => Verdict::Fits,
                })
            }
        };
        let grid_bounds_ok = cut(&demand, 0.0, small(33.0)).unwrap();
        assert!(
            grid_bounds_ok
                .iter()
                .all(|block| block.core.min[0] == f64::NEG_INFINITY),
            "cut on y alone"
        );
        let stuck = cut::<Never>(&demand, 0.0, |block| {
            Ok(match block.core == Rect::PLANE {
                true => Verdict::TooLarge,
                false => Verdict::TooSmall,
            })
        });
        assert!(matches!(stuck, Err(CutError::Stuck(_))));
        let fewer = cut_into::<Never>(&demand, 0.0, 3, |_| Ok(Verdict::TooSmall));
        assert!(matches!(fewer, Err(CutError::Fewer(1))));
    }

    const fn grid_bounds() -> Rect {
        Rect {
            min: [0.0; 2],
            max: [64.0, 32.0],
        }
    }

    #[test]
    fn bounds_leave_out_stray_points() {
        let points: Vec<[f64; 2]> = (0..1000).map(|i| [f64::from(i), 5.0]).chain([[1e9, -1e9]]).collect();
        let found = bounds(&[[-3.0, 5.0]], &points);
        assert_eq!(found.min, [-3.0, 4.5]);
        assert_eq!(found.max, [990.0, 5.5]);
        assert_eq!(bounds(&[], &[]).sides(), [1.0, 1.0]);
    }
}
