//! The two-level index of free ranges.
//!
//! M. Masmano, I. Ripoll, A. Crespo and J. Real: TLSF: a new dynamic memory allocator for real-time systems (ECRTS 2004):
//! sizes fall into classes by their highest bit and the [`SECOND_BITS`] bits below it; a bit map per level finds the
//! smallest class in use that is large enough. The ranges of all blocks share one index.

use super::super::{BlockId, Range};

/// Bits of the second level: classes are 1/32 of a power of two wide.
const SECOND_BITS: u32 = 5;
const SECOND: usize = 1 << SECOND_BITS;
const FIRST: usize = 64;
/// No node.
const NIL: u32 = u32::MAX;
/// The block of pieces that are no range.
const NOWHERE: BlockId = BlockId(u32::MAX);

/// Number of a range in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(pub(super) u32);

#[derive(Clone, Copy, Debug)]
struct Piece {
    block: BlockId,
    offset: u64,
    bytes: u64,
    free: bool,
    /// Neighbours in the block.
    before: u32,
    after: u32,
    /// Neighbours in the list of its class while free.
    previous: u32,
    next: u32,
}

/// Free and used ranges of a set of blocks.
#[derive(Debug)]
pub(super) struct Index {
    /// Ranges begin and end at multiples of this; a power of two.
    unit: u64,
    pieces: Vec<Piece>,
    /// Numbers of pieces that are not in use.
    vacant: Vec<u32>,
    heads: Box<[[u32; SECOND]; FIRST]>,
    first: u64,
    second: [u32; FIRST],
    free_bytes: u64,
}

/// The class that ranges of `bytes` are listed in.
fn class(bytes: u64) -> (usize, usize) {
    let first = bytes.max(1).ilog2();
    let second = match first.checked_sub(SECOND_BITS) {
        Some(shift) => (bytes >> shift) as usize - SECOND,
        None => 0,
    };
    (first as usize, second)
}

/// The first class all of whose ranges have at least `bytes`.
fn class_above(bytes: u64) -> (usize, usize) {
    let first = bytes.max(1).ilog2();
    match first.checked_sub(SECOND_BITS) {
        Some(shift) => class(bytes.saturating_add((1 << shift) - 1)),
        None => class(bytes),
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "numbers of pieces come from this index, classes from the functions above"
)]
impl Index {
    pub(super) fn new(unit: u64) -> Self {
        Self {
            unit: unit.max(1).next_power_of_two(),
            pieces: Vec::new(),
            vacant: Vec::new(),
            heads: Box::new([[NIL; SECOND]; FIRST]),
            first: 0,
            second: [0; FIRST],
            free_bytes: 0,
        }
    }

    /// `bytes` in whole units.
    pub(super) fn round(&self, bytes: u64) -> u64 {
        bytes.max(1).next_multiple_of(self.unit)
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    fn store(&mut self, piece: Piece) -> u32 {
        match self.vacant.pop() {
            Some(at) => {
                self.pieces[at as usize] = piece;
                at
            }
            None => {
                self.pieces.push(piece);
                u32::try_from(self.pieces.len() - 1).unwrap_or(NIL)
            }
        }
    }

    fn list(&mut self, at: u32) {
        let piece = self.pieces[at as usize];
        let (f, s) = class(piece.bytes);
        let head = std::mem::replace(&mut self.heads[f][s], at);
        if head != NIL {
            self.pieces[head as usize].previous = at;
        }
        let piece = &mut self.pieces[at as usize];
        (piece.previous, piece.next, piece.free) = (NIL, head, true);
        self.first |= 1 << f;
        self.second[f] |= 1 << s;
        self.free_bytes += piece.bytes;
    }

    fn unlist(&mut self, at: u32) {
        let piece = self.pieces[at as usize];
        let (f, s) = class(piece.bytes);
        match piece.previous {
            NIL => self.heads[f][s] = piece.next,
            previous => self.pieces[previous as usize].next = piece.next,
        }
        if piece.next != NIL {
            self.pieces[piece.next as usize].previous = piece.previous;
        }
        if self.heads[f][s] == NIL {
            self.second[f] &= !(1 << s);
            if self.second[f] == 0 {
                self.first &= !(1 << f);
            }
        }
        self.pieces[at as usize].free = false;
        self.free_bytes -= piece.bytes;
    }

    /// Adds a block, all of it free; `bytes` is in whole units.
    pub(super) fn add_block(&mut self, block: BlockId, bytes: u64) {
        let at = self.store(Piece {
            block,
            offset: 0,
            bytes,
            free: false,
            before: NIL,
            after: NIL,
            previous: NIL,
            next: NIL,
        });
        self.list(at);
    }

    /// Finds the smallest class that serves; ranges of the request's own class are looked at before a larger one is cut.
    fn find(&self, bytes: u64) -> Option<u32> {
        let (f, s) = class(bytes);
        let mut at = self.heads[f][s];
        while at != NIL {
            let piece = &self.pieces[at as usize];
            if piece.bytes >= bytes {
                return Some(at);
            }
            at = piece.next;
        }
        let (f, s) = class_above(bytes);
        let here = self.second[f] & (u32::MAX << s);
        let (f, s) = if here != 0 {
            (f, here.trailing_zeros() as usize)
        } else {
            let above = if f + 1 < FIRST {
                self.first & (u64::MAX << (f + 1))
            } else {
                0
            };
            if above == 0 {
                return None;
            }
            let f = above.trailing_zeros() as usize;
            (f, self.second[f].trailing_zeros() as usize)
        };
        Some(self.heads[f][s])
    }

    /// Takes a range of `bytes` in whole units from the free ones.
    pub(super) fn allocate(&mut self, bytes: u64) -> Option<Node> {
        let bytes = self.round(bytes);
        let at = self.find(bytes)?;
        self.unlist(at);
        let piece = self.pieces[at as usize];
        if piece.bytes > bytes {
            let rest = self.store(Piece {
                offset: piece.offset + bytes,
                bytes: piece.bytes - bytes,
                before: at,
                after: piece.after,
                ..piece
            });
            if piece.after != NIL {
                self.pieces[piece.after as usize].before = rest;
            }
            let taken = &mut self.pieces[at as usize];
            (taken.bytes, taken.after) = (bytes, rest);
            self.list(rest);
        }
        Some(Node(at))
    }

    /// Gives a range back and joins it with its free neighbours; returns the free range it is part of then.
    pub(super) fn free(&mut self, node: Node) -> Node {
        let mut at = node.0;
        let after = self.pieces[at as usize].after;
        if after != NIL && self.pieces[after as usize].free {
            self.unlist(after);
            self.join(at, after);
        }
        let before = self.pieces[at as usize].before;
        if before != NIL && self.pieces[before as usize].free {
            self.unlist(before);
            self.join(before, at);
            at = before;
        }
        self.list(at);
        Node(at)
    }

    /// Makes `right` a part of `left`; both are unlisted.
    fn join(&mut self, left: u32, right: u32) {
        let gone = self.pieces[right as usize];
        let kept = &mut self.pieces[left as usize];
        (kept.bytes, kept.after) = (kept.bytes + gone.bytes, gone.after);
        if gone.after != NIL {
            self.pieces[gone.after as usize].before = left;
        }
        self.pieces[right as usize].block = NOWHERE;
        self.vacant.push(right);
    }

    /// Where a range lies.
    pub(super) fn range(&self, node: Node) -> Range {
        let Piece {
            block, offset, bytes, ..
        } = self.pieces[node.0 as usize];
        Range { block, offset, bytes }
    }

    /// True when a free range is all of its block.
    pub(super) fn is_whole(&self, node: Node) -> bool {
        let piece = &self.pieces[node.0 as usize];
        piece.before == NIL && piece.after == NIL
    }

    /// Bytes of the largest free range.
    pub(super) fn largest_free(&self) -> u64 {
        let Some(f) = (self.first != 0).then(|| 63 - self.first.leading_zeros() as usize) else {
            return 0;
        };
        let s = 31 - self.second[f].leading_zeros() as usize;
        let mut at = self.heads[f][s];
        let mut largest = 0;
        while at != NIL {
            let piece = &self.pieces[at as usize];
            largest = largest.max(piece.bytes);
            at = piece.next;
        }
        largest
    }

    fn pieces_of(&self, block: BlockId) -> impl Iterator<Item = (u32, &Piece)> {
        (0..).zip(&self.pieces).filter(move |(_, piece)| piece.block == block)
    }

    /// Takes the free ranges of `block` off the lists, so that nothing is placed there until [`Index::reopen`].
    pub(super) fn close(&mut self, block: BlockId) -> Vec<Node> {
        let free: Vec<u32> = self
            .pieces_of(block)
            .filter(|(_, p)| p.free)
            .map(|(at, _)| at)
            .collect();
        for at in &free {
            self.unlist(*at);
        }
        free.into_iter().map(Node).collect()
    }

    /// Lists what [`Index::close`] took off.
    pub(super) fn reopen(&mut self, closed: Vec<Node>) {
        for node in closed {
            self.list(node.0);
        }
    }

    /// Forgets a block and every range in it.
    pub(super) fn forget(&mut self, block: BlockId) {
        let gone: Vec<(u32, bool)> = self.pieces_of(block).map(|(at, piece)| (at, piece.free)).collect();
        for (at, free) in gone {
            if free {
                self.unlist(at);
            }
            self.pieces[at as usize].block = NOWHERE;
            self.vacant.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::collections::BTreeMap;

    use super::*;

    /// xorshift64*: the same numbers every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n
        }
    }

    #[test]
    fn classes_are_ordered_and_as_narrow_as_promised() {
        let mut last = (0, 0);
        for bytes in (1..5000).chain((0..2000).map(|k| (1 << 33) + k * 77_777)) {
            let of = class(bytes);
            assert!(of >= last || bytes == 1 << 33, "{bytes}");
            last = of;
            let above = class_above(bytes);
            assert!(above >= of && class(bytes.next_power_of_two()) >= above, "{bytes}");
        }
    }

    #[test]
    fn random_ranges_never_overlap_and_join_again() {
        for (seed, unit) in [(1, 256), (2, 256), (3, 1024), (4, 65_536)] {
            let mut random = Random(seed);
            let mut index = Index::new(unit);
            let sizes = [1 << 26, 1 << 24, 40 * unit];
            for (block, bytes) in (0..).map(BlockId).zip(sizes) {
                index.add_block(block, index.round(bytes));
            }
            let total = index.free_bytes();
            let mut live: Vec<(Node, u64)> = Vec::new();
            // (block, offset) -> end
            let mut taken: BTreeMap<(BlockId, u64), u64> = BTreeMap::new();
            for _ in 0..20_000 {
                if random.below(100) < 55 {
                    let exponent = random.below(20);
                    let wanted = 1 + random.below(1 << exponent) * 16;
                    let Some(node) = index.allocate(wanted) else {
                        assert!(
                            index.largest_free() < index.round(wanted),
                            "a range of {wanted} was there"
                        );
                        continue;
                    };
                    let Range { block, offset, bytes } = index.range(node);
                    assert!(bytes >= wanted && bytes < wanted + unit && offset % unit == 0);
                    assert!(offset + bytes <= index.round(sizes[block.0 as usize]));
                    if let Some((_, end)) = taken
                        .range(..=(block, offset))
                        .next_back()
                        .filter(|(k, _)| k.0 == block)
                    {
                        assert!(*end <= offset, "overlaps the range below");
                    }
                    let above = taken.range((block, offset)..).next().filter(|(k, _)| k.0 == block);
                    assert!(
                        above.is_none_or(|(k, _)| offset + bytes <= k.1),
                        "overlaps the range above"
                    );
                    taken.insert((block, offset), offset + bytes);
                    live.push((node, bytes));
                } else if !live.is_empty() {
                    let (node, _) = live.swap_remove(random.below(live.len() as u64) as usize);
                    let range = index.range(node);
                    taken.remove(&(range.block, range.offset)).unwrap();
                    index.free(node);
                }
                let used: u64 = live.iter().map(|(_, bytes)| bytes).sum();
                assert_eq!(index.free_bytes() + used, total);
            }
            let mut whole = 0;
            for (node, _) in live.drain(..) {
                let joined = index.free(node);
                whole += usize::from(index.is_whole(joined));
            }
            assert_eq!(index.free_bytes(), total);
            assert!(whole <= sizes.len());
            assert_eq!(
                index.largest_free(),
                index.round(sizes[0]),
                "the largest block is one range again"
            );
            for (block, bytes) in (0..).map(BlockId).zip(sizes) {
                let free = index.close(block);
                assert_eq!(free.len(), 1, "block {} is in pieces", block.0);
                assert_eq!(index.range(free[0]).bytes, index.round(bytes));
            }
        }
    }
}
