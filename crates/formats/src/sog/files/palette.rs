//! A palette of vectors that stand for all vectors: a tree of cuts, then k-means within its branches.
//!
//! The cell with the largest squared error is cut at its mean, across the value that varies most, until there are as many
//! cells as entries. A vector finds its branch, a subtree of at most [`BRANCH`] cells, by the cuts, and in it the nearest
//! entry; entries move to the means of their vectors a few times. Nothing is drawn by lot, and sums are taken in the order
//! of the vectors, so that the palette does not depend on the number of threads.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::thread;

/// Most values of a vector.
const MOST_VALUES: usize = 45;
/// Most entries among which a vector looks for the nearest.
const BRANCH: usize = 256;
/// How often entries move to the means of their vectors.
const MOVES: usize = 4;
/// Vectors that the palette is made of; of more, every n-th.
const MOST_SAMPLES: usize = 1 << 20;
/// Vectors between two questions whether they are wanted.
const ASK_EVERY: usize = 1 << 10;
/// Vectors that a thread takes at a time.
const PART: usize = 1 << 14;

/// Entries, and for each vector the place of its nearest.
pub(crate) struct Palette {
    /// `width` values an entry.
    pub(crate) entries: Vec<f32>,
    pub(crate) places: Vec<u16>,
}

/// Vectors by number.
pub(crate) trait Vectors: Sync {
    fn len(&self) -> usize;
    fn get(&self, index: usize) -> &[f32];
    /// False once the palette is cancelled.
    fn is_wanted(&self) -> bool {
        true
    }
}

/// A cut of the tree, or a branch.
#[derive(Clone, Copy, Debug)]
enum Node {
    Cut {
        axis: usize,
        at: f32,
        below: usize,
        above: usize,
    },
    Cell {
        entry: usize,
    },
}

/// A cell that may be cut.
struct Cell {
    node: usize,
    error: f64,
    cut: (usize, f32),
    members: Vec<u32>,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Cell {}
impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        // of equals the first one is cut first
        self.error.total_cmp(&other.error).then(other.node.cmp(&self.node))
    }
}

impl Cell {
    fn new(node: usize, members: Vec<u32>, vectors: &dyn Vectors, width: usize) -> Self {
        let (mut sums, mut squares) = ([0.0_f64; MOST_VALUES], [0.0_f64; MOST_VALUES]);
        for &member in &members {
            for ((sum, square), &value) in sums.iter_mut().zip(&mut squares).zip(vectors.get(member as usize)) {
                *sum += f64::from(value);
                *square += f64::from(value) * f64::from(value);
            }
        }
        let count = members.len() as f64;
        let spread = |axis: usize| (squares[axis] - sums[axis] * sums[axis] / count).max(0.0);
        let axis = (0..width).max_by(|&a, &b| spread(a).total_cmp(&spread(b))).unwrap_or(0);
        Self {
            node,
            error: (0..width).map(spread).sum(),
            cut: (axis, (sums[axis] / count) as f32),
            members,
        }
    }
}

/// The tree, whose cells are numbered so that those of a subtree follow each other.
struct Tree {
    nodes: Vec<Node>,
    n_cells: usize,
}

impl Tree {
    fn new(vectors: &dyn Vectors, samples: Vec<u32>, width: usize, most: usize) -> Self {
        let mut nodes = vec![Node::Cell { entry: 0 }];
        let mut heap = BinaryHeap::from([Cell::new(0, samples, vectors, width)]);
        let mut n_cells = 1;
        while n_cells < most && vectors.is_wanted() {
            let Some(cell) = heap.pop() else { break };
            let (axis, at) = cell.cut;
            let (below, above): (Vec<u32>, Vec<u32>) = cell
                .members
                .iter()
                .partition(|&&member| vectors.get(member as usize)[axis] < at);
            // all of a cell that cannot be cut are alike, but for rounding
            if below.is_empty() || above.is_empty() {
                continue;
            }
            let node = nodes.len();
            nodes[cell.node] = Node::Cut {
                axis,
                at,
                below: node,
                above: node + 1,
            };
            nodes.extend([Node::Cell { entry: 0 }; 2]);
            heap.push(Cell::new(node, below, vectors, width));
            heap.push(Cell::new(node + 1, above, vectors, width));
            n_cells += 1;
        }
        let mut tree = Self { nodes, n_cells: 0 };
        tree.number();
        tree
    }

    /// Numbers the cells from left to right.
    fn number(&mut self) {
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            match &mut self.nodes[node] {
                Node::Cut { below, above, .. } => open.extend([*above, *below]),
                Node::Cell { entry } => {
                    *entry = self.n_cells;
                    self.n_cells += 1;
                }
            }
        }
    }

    /// For each node on top of a branch, the first entry of the branch and the one behind its last.
    fn branches(&self) -> Vec<[usize; 2]> {
        // entries of a node from those of the nodes below, which come later
        let mut spans = vec![[0, 0]; self.nodes.len()];
        for node in (0..self.nodes.len()).rev() {
            spans[node] = match self.nodes[node] {
                Node::Cut { below, above, .. } => [spans[below][0], spans[above][1]],
                Node::Cell { entry } => [entry, entry + 1],
            };
        }
        spans
    }

    /// Entries of the branch that a vector belongs to.
    fn branch(&self, spans: &[[usize; 2]], vector: &[f32]) -> [usize; 2] {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Cut { axis, at, below, above } if spans[node][1] - spans[node][0] > BRANCH => {
                    node = if vector[axis] < at { below } else { above };
                }
                _ => return spans[node],
            }
        }
    }

    /// The cell of a vector.
    fn cell(&self, vector: &[f32]) -> usize {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Cut { axis, at, below, above } => node = if vector[axis] < at { below } else { above },
                Node::Cell { entry } => return entry,
            }
        }
    }
}

impl Palette {
    /// A palette of at most `most` entries, 65536 at most, for vectors of `width` values, 45 at most. It is any when
    /// the vectors are not wanted any more.
    pub(crate) fn new(vectors: &dyn Vectors, width: usize, most: usize) -> Self {
        let every = vectors.len().div_ceil(MOST_SAMPLES).max(1);
        let samples: Vec<u32> = (0..vectors.len()).step_by(every).map(|index| index as u32).collect();
        let tree = Tree::new(vectors, samples.clone(), width, most.clamp(1, 1 << 16));
        let spans = tree.branches();
        let sample = |at: usize| vectors.get(samples[at] as usize);
        let mut places: Vec<u16> = for_all(vectors, samples.len(), |at| tree.cell(sample(at)) as u16);
        let mut entries = vec![0.0; tree.n_cells * width];
        for _ in 0..MOVES {
            means(&mut entries, width, &places, sample);
            places = for_all(vectors, samples.len(), |at| {
                nearest(&entries, width, tree.branch(&spans, sample(at)), sample(at))
            });
        }
        means(&mut entries, width, &places, sample);
        let places = for_all(vectors, vectors.len(), |index| {
            let vector = vectors.get(index);
            nearest(&entries, width, tree.branch(&spans, vector), vector)
        });
        Self { entries, places }
    }
}

/// Puts entries at the means of their vectors; those of none stay.
fn means<'a>(entries: &mut [f32], width: usize, places: &[u16], vector: impl Fn(usize) -> &'a [f32]) {
    let mut sums = vec![0.0_f64; entries.len()];
    let mut counts = vec![0_u32; entries.len() / width];
    for (at, &place) in places.iter().enumerate() {
        let place = usize::from(place);
        counts[place] += 1;
        for (sum, &value) in sums[place * width..].iter_mut().zip(vector(at)) {
            *sum += f64::from(value);
        }
    }
    for ((entry, sum), &count) in entries
        .chunks_exact_mut(width)
        .zip(sums.chunks_exact(width))
        .zip(&counts)
    {
        if count > 0 {
            for (value, sum) in entry.iter_mut().zip(sum) {
                *value = (sum / f64::from(count)) as f32;
            }
        }
    }
}

/// The nearest of the entries `from..to`; of equals the first.
fn nearest(entries: &[f32], width: usize, [from, to]: [usize; 2], vector: &[f32]) -> u16 {
    let mut best = (f32::INFINITY, from);
    for (at, entry) in entries[from * width..to * width].chunks_exact(width).enumerate() {
        // sums side by side become one vector instruction
        let mut sums = [0.0_f32; 8];
        let (whole, tail) = entry.as_chunks::<8>();
        let (own, own_tail) = vector.as_chunks::<8>();
        for (a, b) in whole.iter().zip(own) {
            for lane in 0..8 {
                sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
            }
        }
        let tail: f32 = tail.iter().zip(own_tail).map(|(a, b)| (a - b) * (a - b)).sum();
        let distance = sums.iter().sum::<f32>() + tail;
        if distance < best.0 {
            best = (distance, from + at);
        }
    }
    best.1 as u16
}

/// What `each` says of all numbers below `count`, by all cores; nothing once the vectors are not wanted.
fn for_all(vectors: &dyn Vectors, count: usize, each: impl Fn(usize) -> u16 + Sync) -> Vec<u16> {
    let mut all = vec![0; count];
    let threads = thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(count.div_ceil(PART))
        .max(1);
    let each = &each;
    let share = count.div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (part, places) in all.chunks_mut(share).enumerate() {
            let mut work = move || {
                for (at, place) in places.iter_mut().enumerate() {
                    if at.is_multiple_of(ASK_EVERY) && !vectors.is_wanted() {
                        break;
                    }
                    *place = each(part * share + at);
                }
            };
            match threads {
                1 => work(),
                _ => drop(scope.spawn(work)),
            }
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rows(Vec<f32>, usize);

    impl Vectors for Rows {
        fn len(&self) -> usize {
            self.0.len() / self.1
        }
        fn get(&self, index: usize) -> &[f32] {
            &self.0[index * self.1..][..self.1]
        }
    }

    fn noise(count: usize) -> Vec<f32> {
        let mut state = 1_u32;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect()
    }

    fn error(rows: &Rows, palette: &Palette) -> f64 {
        let of = |index: usize| {
            let entry = &palette.entries[usize::from(palette.places[index]) * rows.1..];
            rows.get(index)
                .iter()
                .zip(entry)
                .map(|(a, b)| f64::from(a - b).powi(2))
                .sum::<f64>()
        };
        (0..rows.len()).map(of).sum::<f64>() / rows.len() as f64
    }

    /// As many entries as different vectors: nothing is lost. Fewer: the error is that of the finest cut into so many.
    #[test]
    fn few_vectors_are_kept_and_many_are_near() {
        let mut few = noise(9 * 40);
        few.extend_from_within(..9 * 20);
        let few = Rows(few, 9);
        let palette = Palette::new(&few, 9, 64);
        assert_eq!((palette.entries.len(), palette.places.len()), (9 * 40, 60));
        assert_eq!(error(&few, &palette), 0.0);
        // 256 entries for points of a square: 16 x 16 cells at best
        let many = Rows(noise(2 * 30_000), 2);
        let palette = Palette::new(&many, 2, 256);
        let grid = 2.0 / 12.0 / 256.0;
        let found = error(&many, &palette);
        assert!(found < 1.06 * grid, "{found} {grid}");
    }

    #[test]
    fn branches_and_threads_change_little_and_nothing() {
        let rows = Rows(noise(24 * 20_000), 24);
        let [coarse, fine] = [200, 2000].map(|most| error(&rows, &Palette::new(&rows, 24, most)));
        assert!(fine < 0.9 * coarse && coarse < 24.0 / 12.0);
        let places = |palette: Palette| palette.places;
        assert_eq!(
            places(Palette::new(&rows, 24, 700)),
            places(Palette::new(&rows, 24, 700))
        );
        let one = Rows(vec![0.5; 3 * 100], 3);
        assert_eq!(Palette::new(&one, 3, 50).entries, [0.5; 3]);
        assert_eq!(Palette::new(&Rows(Vec::new(), 3), 3, 50).places, [0_u16; 0]);
    }
}
