//! Blocks of 8 x 8 x 8 nodes of a lattice, some of them.

use crate::parallel;

/// Nodes along a block's side.
pub(super) const SIDE: usize = 8;
/// Nodes of a block; node (x, y, z) is number x + 8 y + 64 z.
pub(super) const NODES: usize = SIDE * SIDE * SIDE;
/// Nodes along the side of a block with those around it.
pub(super) const WIDE: usize = SIDE + 2;
/// A value per node.
pub(super) type Block = [f32; NODES];
/// The same with the nodes around: node (x, y, z) of the block is number x + 1 + 10 (y + 1) + 100 (z + 1).
pub(super) type Halo = [f32; WIDE * WIDE * WIDE];
/// No block.
const NONE: u32 = u32::MAX;

/// The place of a block on the Z curve; coordinates below 2^12.
pub(super) fn morton(place: [i32; 3]) -> u64 {
    place.iter().rev().fold(0, |code, &x| code << 1 | spread(x as u64))
}

/// The lowest 16 bits moved to every third place.
const fn spread(x: u64) -> u64 {
    let x = (x | x << 16) & 0xff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// What [`morton`] was made of.
fn unmorton(code: u64) -> [i32; 3] {
    [0, 1, 2].map(|axis| {
        let x = (code >> axis) & 0x1249_2492_4924_9249;
        let x = (x | x >> 2) & 0x10c3_0c30_c30c_30c3;
        let x = (x | x >> 4) & 0x100f_00f0_0f00_f00f;
        let x = (x | x >> 8) & 0xff00_00ff;
        ((x | x >> 16) & 0xffff) as i32
    })
}

/// Number of a node within its block.
pub(super) fn inner(node: [i32; 3]) -> usize {
    let [x, y, z] = node.map(|x| x as usize % SIDE);
    x + SIDE * (y + SIDE * z)
}

/// Places of blocks of one depth, in the order of the Z curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    codes: Vec<u64>,
}

impl Places {
    /// Every block of a lattice of 2^depth cells a side: nodes 0 to 2^depth.
    pub(super) fn all(depth: u32) -> Self {
        let most = last(depth);
        let axis = 0..=most;
        let places = axis
            .clone()
            .flat_map(|z| axis.clone().flat_map(move |y| (0..=most).map(move |x| [x, y, z])));
        Self::new(places)
    }

    /// The blocks with a node that is within `reach` nodes of one of these cells.
    pub(super) fn around(cells: impl Iterator<Item = [i32; 3]>, reach: i32, depth: u32) -> Self {
        let most = last(depth);
        let mut codes = Vec::new();
        let mut sorted = 0;
        let mut before = None;
        for cell in cells {
            let low = cell.map(|x| ((x - reach) >> 3).clamp(0, most));
            let high = cell.map(|x| ((x + 1 + reach) >> 3).clamp(0, most));
            if before.replace((low, high)) == Some((low, high)) {
                continue;
            }
            for z in low[2]..=high[2] {
                for y in low[1]..=high[1] {
                    codes.extend((low[0]..=high[0]).map(|x| morton([x, y, z])));
                }
            }
            // Cells come in the order of the curve, so most repeat one of the last.
            if codes.len() > 2 * sorted + 4096 {
                codes.sort_unstable();
                codes.dedup();
                sorted = codes.len();
            }
        }
        Self::sorted(codes)
    }

    /// With the parents of finer blocks and everything around those: what interpolation for them needs.
    pub(super) fn with_parents(self, finer: &Self, depth: u32) -> Self {
        let parents = finer.iter().map(|place| place.map(|x| (x >> 1) * SIDE as i32 + 3));
        let around = Self::around(parents, SIDE as i32, depth);
        Self::sorted([self.codes, around.codes].concat())
    }

    /// The blocks at these places, none of which is negative.
    pub(super) fn new(places: impl Iterator<Item = [i32; 3]>) -> Self {
        Self::sorted(places.map(morton).collect())
    }

    /// Those of the blocks that `keep` names.
    pub(super) fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept = self.codes.iter().enumerate().filter(|&(block, _)| keep(block));
        let codes = kept.map(|(_, &code)| code).collect();
        Self { codes }
    }

    fn sorted(mut codes: Vec<u64>) -> Self {
        codes.sort_unstable();
        codes.dedup();
        codes.shrink_to_fit();
        Self { codes }
    }

    pub(super) const fn len(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = [i32; 3]> {
        self.codes.iter().map(|&code| unmorton(code))
    }

    pub(super) fn place(&self, block: usize) -> [i32; 3] {
        unmorton(self.codes[block])
    }

    /// The block at a place and those around, x fastest.
    fn near(&self, place: [i32; 3]) -> [u32; 27] {
        std::array::from_fn(|side| {
            let found = self.find(std::array::from_fn(|i| place[i] + offset(side)[i]));
            found.map_or(NONE, |found| found as u32)
        })
    }

    pub(super) fn find(&self, place: [i32; 3]) -> Option<usize> {
        match place.iter().all(|&x| x >= 0) {
            true => self.codes.binary_search(&morton(place)).ok(),
            false => None,
        }
    }
}

/// Offset to a neighbour, by its number, x fastest.
fn offset(side: usize) -> [i32; 3] {
    [side % 3, side / 3 % 3, side / 9].map(|x| x as i32 - 1)
}

/// Coordinate of the last blocks of a depth, which hold nodes 2^depth and no others.
pub(super) const fn last(depth: u32) -> i32 {
    (1 << depth) >> 3
}

/// Blocks that know their neighbours.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) depth: u32,
    pub(super) places: Places,
    /// Of each block it and those around, x fastest.
    near: Vec<[u32; 27]>,
}

/// Bytes per block of a [`Grid`].
pub(super) const GRID_BYTES: u64 = size_of::<(u64, [u32; 27])>() as u64;

impl Grid {
    pub(super) fn new(depth: u32, places: Places, threads: usize) -> Self {
        let mut near = vec![[NONE; 27]; places.len()];
        parallel::each(threads, near.iter_mut().enumerate(), |(block, near)| {
            *near = places.near(places.place(block));
        });
        Self { depth, places, near }
    }

    pub(super) const fn len(&self) -> usize {
        self.near.len()
    }

    /// Per axis and coordinate the share of a node's elements within the cube: 1, a half at its faces, 0 beyond. `None` of a
    /// block that does not touch the cube's border.
    pub(super) fn shares(&self, block: usize) -> Option<[[f32; SIDE]; 3]> {
        let place = self.places.place(block);
        let end = 1 << self.depth;
        let share = |node: i32| match node {
            node if node == 0 || node == end => 0.5,
            node if node < end => 1.0,
            _ => 0.0,
        };
        place
            .iter()
            .any(|&x| x == 0 || x == last(self.depth))
            .then(|| place.map(|x| std::array::from_fn(|i| share(x * SIDE as i32 + i as i32))))
    }

    /// Values of a block and of the nodes around it; what lies in blocks that are not there stays as it is in `halo`.
    pub(super) fn gather(&self, block: usize, values: &[Block], halo: &mut Halo) {
        gather(&self.near[block], values, halo);
    }

    /// The same at any place, there or not. Where blocks are not there, `beneath` gives what is beneath.
    pub(super) fn gather_at(&self, place: [i32; 3], values: &[Block], beneath: impl FnOnce() -> Halo) -> Halo {
        let near = self.places.near(place);
        let mut halo = match near.contains(&NONE) {
            true => beneath(),
            false => [0.0; WIDE * WIDE * WIDE],
        };
        gather(&near, values, &mut halo);
        self.mirror(place, &mut halo);
        halo
    }

    /// Makes nodes just beyond the faces of the cube equal to those just within: no slope across a face.
    pub(super) fn mirror(&self, place: [i32; 3], halo: &mut Halo) {
        for (axis, &x) in place.iter().enumerate() {
            let (beyond, within) = match x {
                0 => (0, 2),
                x if x == last(self.depth) => (2, 0),
                _ => continue,
            };
            let stride = WIDE.pow(axis as u32);
            for at in (0..halo.len()).filter(|at| at / stride % WIDE == beyond) {
                halo[at] = halo[at + within * stride - beyond * stride];
            }
        }
    }
}

/// Copies the values of a block and its neighbours that are there into a halo.
fn gather(near: &[u32; 27], values: &[Block], halo: &mut Halo) {
    let split = |at: usize| (at.div_ceil(SIDE), (at + SIDE - 1) % SIDE);
    for hz in 0..WIDE {
        let (bz, z) = split(hz);
        for hy in 0..WIDE {
            let (by, y) = split(hy);
            let row = &mut halo[WIDE * (hy + WIDE * hz)..][..WIDE];
            let (near, from) = (&near[3 * by + 9 * bz..][..3], SIDE * (y + SIDE * z));
            if near[0] != NONE {
                row[0] = values[near[0] as usize][from + SIDE - 1];
            }
            if near[1] != NONE {
                row[1..=SIDE].copy_from_slice(&values[near[1] as usize][from..][..SIDE]);
            }
            if near[2] != NONE {
                row[SIDE + 1] = values[near[2] as usize][from];
            }
        }
    }
}

/// The values of a block without those around it.
pub(super) fn own(halo: &Halo) -> Block {
    let mut block = [0.0; NODES];
    for (row, to) in block.chunks_exact_mut(SIDE).enumerate() {
        let from = 1 + WIDE * (row % SIDE + 1 + WIDE * (row / SIDE + 1));
        to.copy_from_slice(&halo[from..from + SIDE]);
    }
    block
}

/// Values of a block and of the nodes around it by interpolation between those of its parent.
pub(super) fn refined(place: [i32; 3], parent: &Halo) -> Halo {
    let mut from = *parent;
    let mut to = *parent;
    for (axis, &x) in place.iter().enumerate() {
        let stride = WIDE.pow(axis as u32);
        let start = (x as usize & 1) * (SIDE / 2);
        for x in 0..WIDE {
            // Node x - 1 of the block lies between these two of the parent's half, which has one more before it.
            let (low, high) = (start + x.div_ceil(2), start + x / 2 + 1);
            for rest in 0..WIDE * WIDE {
                let base = rest % stride + rest / stride * stride * WIDE;
                to[base + x * stride] = 0.5 * (from[base + low * stride] + from[base + high * stride]);
            }
        }
        from = to;
    }
    from
}

/// The weight of a corner of a cell, by bits, at a place in it.
pub(super) fn trilinear(at: [f32; 3], corner: usize) -> f32 {
    let along = |axis: usize| match corner >> axis & 1 {
        1 => at[axis],
        _ => 1.0 - at[axis],
    };
    along(0) * along(1) * along(2)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn places_come_back() {
        for place in [[0, 0, 0], [1, 2, 3], [255, 256, 17], [2047, 0, 2048], [4095; 3]] {
            assert_eq!(unmorton(morton(place)), place);
        }
        assert_eq!(morton([1, 0, 0]), 1);
        assert_eq!(morton([0, 1, 0]), 2);
        assert_eq!(morton([0, 0, 2]), 32);
    }

    #[test]
    fn refining_keeps_linear_fields() {
        // f = x + 10 y + 100 z at nodes of the coarse lattice is the same function, halved, at those of the fine one.
        let depth = 5;
        let grid = Grid::new(depth, Places::all(depth), 2);
        let f = |node: [i32; 3]| (node[0] + 10 * node[1] + 100 * node[2]) as f32;
        let node = |place: [i32; 3], at: [usize; 3]| std::array::from_fn(|i| place[i] * SIDE as i32 + at[i] as i32);
        let values: Vec<Block> = grid
            .places
            .iter()
            .map(|place| std::array::from_fn(|n| f(node(place, [n % 8, n / 8 % 8, n / 64]))))
            .collect();
        for child in [[2, 2, 2], [3, 4, 5], [2, 5, 3]] {
            let parent = grid.places.find(child.map(|x| x >> 1)).unwrap();
            let mut halo = [f32::NAN; 1000];
            grid.gather(parent, &values, &mut halo);
            let fine = refined(child, &halo);
            for (at, value) in fine.iter().enumerate() {
                let node = node(child, [at % 10, at / 10 % 10, at / 100]);
                assert_eq!(2.0 * value, f(node.map(|x| x - 1)), "{child:?} {at}");
            }
        }
    }

    #[test]
    fn mirrored_nodes_have_no_slope() {
        let grid = Grid::new(5, Places::all(5), 1);
        let values: Vec<Block> = (0..grid.len())
            .map(|b| std::array::from_fn(|n| (b * NODES + n) as f32))
            .collect();
        for place in [[0, 1, 4], [4, 0, 0], [0, 0, 0]] {
            let mut halo = [0.0; 1000];
            grid.gather(grid.places.find(place).unwrap(), &values, &mut halo);
            grid.mirror(place, &mut halo);
            for (axis, x) in place.into_iter().enumerate() {
                let step = 10_usize.pow(axis as u32);
                let middle = 1 + 10 + 100;
                match x {
                    0 => assert_eq!(halo[middle - step], halo[middle + step]),
                    4 => assert_eq!(halo[middle + step], halo[middle - step]),
                    _ => {}
                }
            }
        }
    }
}
