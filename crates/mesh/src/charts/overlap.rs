//! Whether triangles in a plane overlap.

const NONE: u32 = u32::MAX;
/// Depth up to which two triangles may reach into each other, as a share of the chart: rounding.
const SLACK: f64 = 1e-10;
/// Most cells beside those of the triangles.
const MORE_CELLS: usize = 16;

type Triangle = [[f64; 2]; 3];

/// Twice the area of a triangle, positive counter-clockwise.
pub(super) fn turn(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Triangles that have a place of their own, by the cells of a grid that their boxes meet.
pub(super) struct Taken {
    low: [f64; 2],
    cell: f64,
    cells: [usize; 2],
    /// The last entry of each cell.
    last: Vec<u32>,
    /// Triangle, and the entry before it in its cell.
    entries: Vec<[u32; 2]>,
    slack: f64,
}

impl Taken {
    /// A grid over these triangles, none of which is taken.
    pub(super) fn new(triangles: &[Triangle]) -> Self {
        let corners = triangles.as_flattened().iter();
        let [low, high] = corners.fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[low, high], p| {
            [
                [low[0].min(p[0]), low[1].min(p[1])],
                [high[0].max(p[0]), high[1].max(p[1])],
            ]
        });
        let size = [high[0] - low[0], high[1] - low[1]];
        let longest = size[0].max(size[1]);
        let most = 2 * triangles.len() + MORE_CELLS;
        // As many cells as triangles, and for thin charts no more.
        let cell = (size[0] * size[1] / triangles.len() as f64)
            .sqrt()
            .max(longest / most as f64);
        let along = |size: f64| ((size / cell) as usize + 1).min(most + 1);
        let cells = if cell > 0.0 { size.map(along) } else { [1, 1] };
        Self {
            low,
            cell,
            cells,
            last: vec![NONE; cells[0] * cells[1]],
            entries: Vec::new(),
            slack: SLACK * longest,
        }
    }

    /// Takes triangle `i` of the triangles; false when it overlaps one that was taken before.
    pub(super) fn take(&mut self, triangles: &[Triangle], i: u32) -> bool {
        let triangle = &triangles[i as usize];
        let cell = |value: f64, axis: usize| match self.cell > 0.0 {
            true => (((value - self.low[axis]) / self.cell) as usize).min(self.cells[axis] - 1),
            false => 0,
        };
        let span = |axis: usize| {
            let [a, b, c] = [0, 1, 2].map(|k| triangle[k][axis]);
            cell(a.min(b).min(c), axis)..=cell(a.max(b).max(c), axis)
        };
        let (columns, rows) = (span(0), span(1));
        let width = self.cells[0];
        let met = || rows.clone().flat_map(|y| columns.clone().map(move |x| y * width + x));
        for cell in met() {
            let mut entry = self.last[cell];
            while entry != NONE {
                let [other, before] = self.entries[entry as usize];
                if overlap(triangle, &triangles[other as usize], self.slack) {
                    return false;
                }
                entry = before;
            }
        }
        for cell in met() {
            let entry = self.entries.len() as u32;
            self.entries.push([i, self.last[cell]]);
            self.last[cell] = entry;
        }
        true
    }
}

/// Whether no line along a side of one parts it from the other. Triangles without area overlap nothing.
fn overlap(a: &Triangle, b: &Triangle, slack: f64) -> bool {
    !parts(a, b, slack) && !parts(b, a, slack)
}

/// Whether `b` lies beyond a side of `a`, which is counter-clockwise.
fn parts(a: &Triangle, b: &Triangle, slack: f64) -> bool {
    if turn(a[0], a[1], a[2]) <= 0.0 {
        return true;
    }
    (0..3).any(|k| {
        let (from, to) = (a[k], a[(k + 1) % 3]);
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        b.iter().all(|&p| turn(from, to, p) <= slack * length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_insides_overlap() {
        let a = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]];
        for (b, wanted) in [
            (a, true),
            ([[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]], false),
            ([[2.0, 0.0], [4.0, 0.0], [3.0, 1.0]], false),
            ([[0.2, 0.2], [0.4, 0.2], [0.3, 0.4]], true),
            ([[-9.0, -9.0], [9.0, -9.0], [0.0, 9.0]], true),
            ([[1.0, 0.5], [5.0, 0.5], [5.0, 5.0]], true),
            ([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], false),
            ([[1.0, 1.0], [2.0, 2.0], [1.0, 3.0]], false),
        ] {
            assert_eq!(
                (overlap(&a, &b, 1e-10), overlap(&b, &a, 1e-10)),
                (wanted, wanted),
                "{b:?}"
            );
        }
        let all = [
            a,
            [[2.0, 0.0], [2.0, 2.0], [0.0, 2.0]],
            [[0.2, 0.2], [0.4, 0.2], [0.3, 0.4]],
        ];
        let mut taken = Taken::new(&all);
        assert_eq!([0, 1, 2].map(|i| taken.take(&all, i)), [true, true, false]);
        let points = [[[1.0; 2]; 3]; 4];
        let mut taken = Taken::new(&points);
        assert!((0..4).all(|i| taken.take(&points, i)));
    }
}
