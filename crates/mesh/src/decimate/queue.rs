//! Edges by cost, in classes.

const NONE: u32 = u32::MAX;
/// Bits of a cost's mantissa that distinguish classes: costs of a class differ by at most a sixteenth.
const MANTISSA_BITS: u32 = 4;
/// Bits of a cost, as f32, that do not.
const DROPPED_BITS: u32 = 23 - MANTISSA_BITS;
/// Classes of all numbers from 0 to infinity.
const CLASSES: usize = (0xff << MANTISSA_BITS) + 1;

/// The last class.
pub(super) const LAST: u32 = CLASSES as u32 - 1;

/// The class of a cost, which is 0 or above.
pub(super) fn class(cost: f64) -> u32 {
    ((cost as f32).to_bits() >> DROPPED_BITS).min(LAST)
}

/// Edges, each once, that come out by class and within a class by number.
///
/// Neighbours in space have near numbers, so a class goes through the mesh from end to end and not to and fro, which is
/// what caches want. 4 B an edge, and 4 more for the class at hand.
pub(super) struct Queue {
    /// The last edge of each class, and before each edge another of its class.
    last: Vec<u32>,
    before: Vec<u32>,
    class: usize,
    /// Edges of the class at hand, ascending, and how many of them came out.
    batch: Vec<u32>,
    out: usize,
}

impl Queue {
    /// Edges 0, 1, 2 and so on of these classes.
    pub(super) fn new(mut classes: Vec<u32>) -> Self {
        let mut last = vec![NONE; CLASSES];
        // A list takes the place of the classes.
        for (class, edge) in classes.iter_mut().zip(0..) {
            *class = std::mem::replace(&mut last[*class as usize], edge);
        }
        Self {
            last,
            before: classes,
            class: 0,
            batch: Vec::new(),
            out: 0,
        }
    }

    /// The class of the edge that came out last.
    pub(super) const fn class(&self) -> u32 {
        self.class as u32
    }

    /// Puts in an edge that is not in; one of a class that has passed comes with the class at hand.
    pub(super) fn push(&mut self, edge: u32, class: u32) {
        let last = &mut self.last[self.class.max(class as usize)];
        self.before[edge as usize] = std::mem::replace(last, edge);
    }

    /// The lowest class that has an edge, at or above the one at hand.
    pub(super) fn lowest(&self) -> Option<u32> {
        if self.out < self.batch.len() {
            return Some(self.class());
        }
        let beyond = self.last.get(self.class..)?.iter().position(|&edge| edge != NONE)?;
        Some(self.class() + beyond as u32)
    }

    /// The next edge, if its class is at most this one. Further edges may be put in when there is none.
    pub(super) fn pop(&mut self, most: u32) -> Option<u32> {
        while self.out == self.batch.len() {
            let mut edge = std::mem::replace(self.last.get_mut(self.class)?, NONE);
            if edge == NONE {
                if self.class >= most.min(LAST) as usize {
                    return None;
                }
                self.class += 1;
                continue;
            }
            self.batch.clear();
            self.out = 0;
            while edge != NONE {
                self.batch.push(edge);
                edge = self.before[edge as usize];
            }
            self.batch.sort_unstable();
        }
        self.out += 1;
        self.batch.get(self.out - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_come_out_by_class_and_number() {
        let costs = [1.0, 0.0, 1.03, 5e-9, 1.0, 1e300, f64::INFINITY, 1.0];
        let mut queue = Queue::new(costs.map(class).to_vec());
        assert_eq!([(); 3].map(|()| queue.pop(LAST)), [Some(1), Some(3), Some(0)]);
        assert_eq!(queue.class(), class(1.0));
        assert_eq!(queue.lowest(), Some(class(1.0)));
        // One of a class that has passed, one of this class, one beyond.
        queue.push(1, class(0.5));
        queue.push(0, class(1.01));
        queue.push(3, class(2.0));
        let rest: Vec<u32> = std::iter::from_fn(|| queue.pop(LAST)).collect();
        assert_eq!(rest, [2, 4, 7, 0, 1, 3, 5, 6]);
        assert_eq!(queue.pop(LAST), None);
        queue.push(4, class(0.0));
        assert_eq!((queue.pop(LAST), queue.pop(LAST)), (Some(4), None));
    }

    #[test]
    fn nothing_beyond_a_limit_comes_out() {
        let mut queue = Queue::new([1.0, 4.0].map(class).to_vec());
        assert_eq!((queue.pop(class(0.1)), queue.lowest()), (None, Some(class(1.0))));
        assert_eq!([(); 2].map(|()| queue.pop(class(2.0))), [Some(0), None]);
        queue.push(0, class(3.0));
        assert_eq!((queue.lowest(), queue.pop(class(3.0))), (Some(class(3.0)), Some(0)));
        assert_eq!([(); 2].map(|()| queue.pop(LAST)), [Some(1), None]);
        assert_eq!(queue.lowest(), None);
    }

    #[test]
    fn classes_are_fine_enough() {
        for exponent in -100..100 {
            let cost = 1.37 * 2.0_f64.powi(exponent);
            assert!(class(cost * 1.07) > class(cost), "{cost}");
            assert!(class(cost) < CLASSES as u32);
        }
    }
}
