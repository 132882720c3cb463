//! Outlines in a square, by a skyline.

/// Steps along the skyline in the width of an outline at which it is tried.
const TRIES: usize = 16;
/// Outlines, the highest, that are tried all along the skyline. For the others, which may be hundreds of thousands, that would
/// take minutes.
const SEARCHED: usize = 256;

/// What an outline covers of each column of texels, from its lowest row to its highest, both from its own lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outline {
    low: Vec<u32>,
    high: Vec<u32>,
}

impl Outline {
    /// The outline of triangles whose coordinates are at least 0, at a scale, half a texel inside; `None` when it is longer
    /// than `most` texels.
    pub(super) fn new(triangles: &[[[f64; 2]; 3]], scale: f64, most: u32) -> Option<Self> {
        let texel = |x: f64| x * scale + 0.5;
        let corners = || triangles.as_flattened().iter();
        let longest = corners().flatten().fold(0.0_f64, |longest, &x| longest.max(texel(x)));
        if longest >= f64::from(most) {
            return None;
        }
        let columns = corners().map(|p| texel(p[0]) as usize + 1).max()?;
        let mut outline = Self {
            low: vec![u32::MAX; columns],
            high: vec![0; columns],
        };
        for triangle in triangles {
            for k in 0..3 {
                let [a, b] = [triangle[k], triangle[(k + 1) % 3]].map(|p| p.map(texel));
                let (a, b) = if b[0] < a[0] { (b, a) } else { (a, b) };
                let slope = (b[1] - a[1]) / (b[0] - a[0]);
                for column in a[0] as usize..=b[0] as usize {
                    // The part of the side within the column; upright ones have no slope, and are in one.
                    let at = |x: f64| match slope.is_finite() {
                        true => a[1] + (x.clamp(a[0], b[0]) - a[0]) * slope,
                        false => a[1],
                    };
                    let (left, right) = (at(column as f64), at(column as f64 + 1.0));
                    let right = if slope.is_finite() { right } else { b[1] };
                    let (low, high) = (left.min(right).max(0.0) as u32, left.max(right) as u32);
                    outline.low[column] = outline.low[column].min(low);
                    outline.high[column] = outline.high[column].max(high);
                }
            }
        }
        Some(outline)
    }

    /// The row at which it lies on columns with these free rows; the last column that keeps it above `level` when it does.
    fn row_at(&self, free: &[u32], level: u32) -> Result<u32, usize> {
        let rows = free.iter().zip(&self.low).map(|(free, low)| free.saturating_sub(*low));
        match rows.clone().rposition(|row| row > level) {
            Some(column) => Err(column),
            None => Ok(rows.max().unwrap_or(0)),
        }
    }

    fn height(&self) -> u32 {
        self.high.iter().max().map_or(0, |high| high + 1)
    }
}

/// Where an outline lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Column and row of its lowest corner.
    pub(super) x: u32,
    pub(super) y: u32,
    /// Whether it was turned by half a turn.
    pub(super) is_turned: bool,
}

/// Where outlines, given as they are and turned by half a turn, lie in a square of side `side`, at least `gutter` texels from each other; `None` when they do not fit.
///
/// The highest first, each where it comes lowest, and of such places the first tried (the packing of Levy et al. 2002,
/// "Least squares conformal maps", section 4); beyond the first [`SEARCHED`] each at the next place that is low enough, see
/// [`Sweep`].
pub(super) fn pack(outlines: &[[Outline; 2]], side: u32, gutter: u32) -> Option<Vec<Place>> {
    let mut order: Vec<u32> = (0..outlines.len() as u32).collect();
    order.sort_by_key(|&i| {
        let [outline, _] = &outlines[i as usize];
        (std::cmp::Reverse((outline.height(), outline.low.len())), i)
    });
    let mut places = vec![Place::default(); outlines.len()];
    // The first free row of each column.
    let mut skyline = vec![0_u32; side as usize];
    let mut sweep = Sweep::default();
    for (number, i) in order.into_iter().enumerate() {
        let both @ [own, turned] = &outlines[i as usize];
        let (y, x, is_turned) = if number < SEARCHED {
            match (lowest(&skyline, own), lowest(&skyline, turned)) {
                (Some((y, _)), Some((lower, at))) if lower < y => (lower, at, true),
                (Some((y, x)), _) => (y, x, false),
                (None, _) => return None,
            }
        } else {
            sweep.next(&skyline, both)?
        };
        let outline = if is_turned { turned } else { own };
        if outline.height() > side - y.min(side) {
            return None;
        }
        places[i as usize] = Place {
            x: x as u32,
            y,
            is_turned,
        };
        for (column, high) in (x..).zip(&outline.high) {
            let near = column.saturating_sub(gutter as usize)..(column + gutter as usize + 1).min(skyline.len());
            for free in &mut skyline[near] {
                *free = (*free).max(y + high + 1 + gutter);
            }
        }
    }
    Some(places)
}

/// Goes along the skyline again and again and gives every outline the next place at or below a level, which rises when there was
/// none all along: rows of outlines that become lower and lower, with little left between them.
#[derive(Default)]
struct Sweep {
    column: usize,
    level: u32,
    has_placed: bool,
}

impl Sweep {
    /// Row, column and whether the outline is turned there; `None` when the level has left the square.
    fn next(&mut self, skyline: &[u32], both: &[Outline; 2]) -> Option<(u32, usize, bool)> {
        let width = both[0].low.len();
        let last = skyline.len().checked_sub(width)?;
        loop {
            while self.column <= last {
                let x = self.column;
                match both
                    .each_ref()
                    .map(|outline| outline.row_at(&skyline[x..x + width], self.level))
                {
                    [Err(own), Err(turned)] => self.column += own.min(turned) + 1,
                    [own, turned] => {
                        let is_turned = turned.unwrap_or(u32::MAX) < own.unwrap_or(u32::MAX);
                        self.column += width;
                        self.has_placed = true;
                        return (if is_turned { turned } else { own }).ok().map(|y| (y, x, is_turned));
                    }
                }
            }
            self.column = 0;
            if !self.has_placed {
                self.level += (both[0].height() / 16).max(1);
                if self.level as usize >= skyline.len() {
                    return None;
                }
            }
            self.has_placed = false;
        }
    }
}

/// The column and row from which on an outline lies lowest.
fn lowest(skyline: &[u32], outline: &Outline) -> Option<(u32, usize)> {
    let width = outline.low.len();
    let last = skyline.len().checked_sub(width)?;
    let step = (width / TRIES).max(1);
    let mut best: Option<(u32, usize)> = None;
    for x in (0..last).step_by(step).chain([last]) {
        let most = best.map_or(u32::MAX, |(y, _)| y);
        let mut y = 0;
        // In parts, so that a place that is too high is left early.
        for (free, low) in skyline[x..x + width].chunks(64).zip(outline.low.chunks(64)) {
            let part = free.iter().zip(low).map(|(free, low)| free.saturating_sub(*low));
            y = part.fold(y, u32::max);
            if y >= most {
                break;
            }
        }
        if y < most {
            best = Some((y, x));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;

    fn rectangle(w: u32, h: u32) -> [Outline; 2] {
        let outline = Outline {
            low: vec![0; w as usize],
            high: vec![h - 1; w as usize],
        };
        [outline.clone(), outline]
    }

    /// A triangle moved to where outlines begin, and the same turned.
    fn triangle(corners: [[f64; 2]; 3]) -> [Outline; 2] {
        let least = |axis: usize, sign: f64| corners.iter().map(|p| sign * p[axis]).fold(f64::MAX, f64::min);
        [1.0, -1.0].map(|sign| {
            let moved = corners.map(|p| [sign * p[0] - least(0, sign), sign * p[1] - least(1, sign)]);
            Outline::new(&[moved], 1.0, 99).unwrap()
        })
    }

    /// Puts outlines into the smallest square, checks that they lie apart, and says how much of it they fill.
    fn packed(outlines: &[[Outline; 2]], gutter: u32) -> f64 {
        let side = (1..).find(|&side| pack(outlines, side, gutter).is_some()).unwrap();
        let places = pack(outlines, side, gutter).unwrap();
        let mut owner = vec![usize::MAX; (side * side) as usize];
        let mut covered = 0;
        for (i, (Place { x, y, is_turned }, outline)) in places.iter().zip(outlines).enumerate() {
            let outline = &outline[usize::from(*is_turned)];
            for (column, (low, high)) in outline.low.iter().zip(&outline.high).enumerate() {
                for row in y + low..=y + high {
                    let owner = &mut owner[(row * side) as usize + *x as usize + column];
                    assert_eq!(*owner, usize::MAX);
                    *owner = i;
                    covered += 1;
                }
            }
        }
        let (side, gutter) = (side as usize, gutter as usize);
        for (at, &own) in owner.iter().enumerate().filter(|(_, own)| **own != usize::MAX) {
            for (row, column) in
                (at / side..=at / side + gutter).flat_map(|y| (at % side..=at % side + gutter).map(move |x| (y, x)))
            {
                if row < side && column < side {
                    assert!([own, usize::MAX].contains(&owner[row * side + column]));
                }
            }
        }
        f64::from(covered) / (side * side) as f64
    }

    #[test]
    fn outlines_lie_inside_and_apart() {
        for seed in 0..10 {
            let random = Random::new(seed);
            let side = |i: u64| 1 + (random.unit(i).powi(3) * 30.0) as u32;
            let rectangles: Vec<[Outline; 2]> = (0..150).map(|i| rectangle(side(2 * i), side(2 * i + 1))).collect();
            assert!(packed(&rectangles, 0) > 0.8);
            packed(&rectangles, 2);
            // Triangles of all kinds.
            let corner = |i: u64| [random.unit(i) * 30.0, random.unit(i + 1) * 30.0];
            let corners = |i: u64| [corner(6 * i), corner(6 * i + 2), corner(6 * i + 4)];
            let outlines: Vec<[Outline; 2]> = (0..60).map(|i| triangle(corners(i))).collect();
            packed(&outlines, 1);
        }
    }

    #[test]
    fn steps_lie_on_steps() {
        // Two halves of a square, cut along its diagonal: the second is the first one turned.
        let up = [[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]];
        let halves = [triangle(up), triangle(up)];
        assert_eq!(
            (halves[0][0].high[0], halves[0][0].high[20], halves[0][1].low[20]),
            (20, 1, 0)
        );
        assert!(packed(&halves, 0) > 0.8);
        let upright = Outline::new(&[[[0.0, 0.0], [0.0, 9.0], [0.0, 4.0]]], 1.0, 99).unwrap();
        assert_eq!((upright.low, upright.high), (vec![0], vec![9]));
        assert_eq!(Outline::new(&[up], 5.0, 99), None);
    }

    #[test]
    fn exact_fits_fit() {
        let fits = |rectangles: &[[u32; 2]], side| {
            let outlines: Vec<[Outline; 2]> = rectangles.iter().map(|&[w, h]| rectangle(w, h)).collect();
            pack(&outlines, side, 0).is_some()
        };
        assert!(fits(&[[4, 4]], 4) && !fits(&[[5, 1]], 4) && !fits(&[[1, 5]], 4));
        assert!(fits(&[[2, 2]; 4], 4) && !fits(&[[2, 2]; 5], 4) && fits(&[], 4));
        assert!(fits(&[[1, 1]; 16], 4) && fits(&[[4, 1]; 4], 4) && !fits(&[[4, 1]; 5], 4));
    }
}
