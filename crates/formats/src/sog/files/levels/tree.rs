//! A tree of boxes over centres: halves along the longest side, down to leaves.

use super::neighbors::longest;

/// A part of the tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Two halves.
    Halves(Box<[Node; 2]>),
    /// A leaf, by its number.
    Leaf(usize),
}

/// Leaves of at most so many Gaussians each.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The top.
    pub root: Node,
    /// Numbers of the Gaussians, leaf after leaf.
    order: Vec<u32>,
    /// Where leaves begin, and the end.
    starts: Vec<usize>,
}

impl Tree {
    /// Divides Gaussians by their centres into leaves of at most `most`. Leaves that follow each other are neighbours.
    #[must_use]
    pub fn new(centres: &[[f32; 3]], most: usize) -> Self {
        let mut order: Vec<u32> = (0..centres.len() as u32).collect();
        let mut starts = vec![0];
        let root = part(centres, &mut order, most.max(1), &mut starts);
        Self { root, order, starts }
    }

    /// How many Gaussians there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many leaves there are: at least one.
    #[must_use]
    pub fn n_leaves(&self) -> usize {
        self.starts.len() - 1
    }

    /// Numbers of a leaf's Gaussians, ascending.
    #[must_use]
    pub fn members(&self, leaf: usize) -> &[u32] {
        &self.order[self.starts[leaf]..self.starts[leaf + 1]]
    }
}

fn part(centres: &[[f32; 3]], order: &mut [u32], most: usize, starts: &mut Vec<usize>) -> Node {
    if order.len() <= most {
        order.sort_unstable();
        let leaf = starts.len() - 1;
        starts.push(starts[leaf] + order.len());
        return Node::Leaf(leaf);
    }
    let axis = longest(centres, order);
    let middle = order.len() / 2;
    let value = |number: u32| centres[number as usize][axis];
    order.select_nth_unstable_by(middle, |&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    let (below, above) = order.split_at_mut(middle);
    let below = part(centres, below, most, starts);
    Node::Halves(Box::new([below, part(centres, above, most, starts)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_one_leaf_and_leaves_do_not_overlap() {
        let centres: Vec<[f32; 3]> = (0..1000_u32)
            .map(|i| [(i * 7919 % 1000) as f32, (i * 104_729 % 997) as f32 * 0.3, 1.0])
            .collect();
        let tree = Tree::new(&centres, 100);
        assert_eq!(tree.n_leaves(), 16);
        let mut all: Vec<u32> = (0..16).flat_map(|leaf| tree.members(leaf).to_vec()).collect();
        assert!((0..16).all(|leaf| tree.members(leaf).is_sorted() && tree.members(leaf).len() <= 100));
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<u32>>());
        // the first cut is across x
        let below = (0..8)
            .flat_map(|leaf| tree.members(leaf))
            .map(|&i| centres[i as usize][0]);
        assert!(below.fold(0.0, f32::max) < 500.0);
        assert_eq!(
            (Tree::new(&[], 5).n_leaves(), Tree::new(&[[0.0; 3]; 9], 4).n_leaves()),
            (1, 3)
        );
    }
}
