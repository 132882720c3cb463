//! Nearest neighbours of points, by a tree of halves.

/// Points of a part that is searched one by one.
const PART: usize = 12;

/// For each point the numbers of up to `K` others that are nearest, nearest first; of equals the first.
pub(super) fn nearest<const K: usize>(points: &[[f32; 3]]) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    let mut cuts = Vec::new();
    halve(points, &mut order, &mut cuts);
    let search = |own: usize| {
        let mut found = Found::<K> {
            own: own as u32,
            best: Vec::with_capacity(K + 1),
        };
        look(points, &order, &cuts, 0, &mut found);
        found.best.into_iter().map(|(_, number)| number).collect()
    };
    (0..points.len()).map(search).collect()
}

/// Halves of a part, in the order of the recursion: axis, value, and how many cuts the first half has.
struct Cut {
    axis: usize,
    at: f32,
    below: usize,
}

fn halve(points: &[[f32; 3]], order: &mut [u32], cuts: &mut Vec<Cut>) {
    if order.len() <= PART {
        return;
    }
    let axis = longest(points, order);
    let middle = order.len() / 2;
    let value = |number: u32| points[number as usize][axis];
    order.select_nth_unstable_by(middle, |&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
    let own = cuts.len();
    cuts.push(Cut {
        axis,
        at: value(order[middle]),
        below: 0,
    });
    let (below, above) = order.split_at_mut(middle);
    halve(points, below, cuts);
    cuts[own].below = cuts.len() - own - 1;
    halve(points, above, cuts);
}

/// The axis that these points span most of.
pub(super) fn longest(points: &[[f32; 3]], order: &[u32]) -> usize {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for &number in order {
        for (axis, value) in points[number as usize].into_iter().enumerate() {
            low[axis] = low[axis].min(value);
            high[axis] = high[axis].max(value);
        }
    }
    let span = |axis: usize| high[axis] - low[axis];
    (1..3).fold(
        0,
        |longest, axis| if span(axis) > span(longest) { axis } else { longest },
    )
}

struct Found<const K: usize> {
    own: u32,
    best: Vec<(f32, u32)>,
}

impl<const K: usize> Found<K> {
    fn reach(&self) -> f32 {
        match self.best.get(K - 1) {
            Some((distance, _)) => *distance,
            None => f32::INFINITY,
        }
    }

    fn offer(&mut self, distance: f32, number: u32) {
        if number == self.own {
            return;
        }
        let place = self.best.partition_point(|&(d, n)| (d, n) < (distance, number));
        if place < K {
            self.best.insert(place, (distance, number));
            self.best.truncate(K);
        }
    }
}

fn look<const K: usize>(points: &[[f32; 3]], order: &[u32], cuts: &[Cut], first: usize, found: &mut Found<K>) {
    let own = points[found.own as usize];
    if order.len() <= PART {
        for &number in order {
            let other = points[number as usize];
            let distance = (0..3).map(|k| (own[k] - other[k]).powi(2)).sum();
            found.offer(distance, number);
        }
        return;
    }
    let cut = &cuts[first];
    let (below, above) = order.split_at(order.len() / 2);
    let apart = own[cut.axis] - cut.at;
    let sides = [(below, first + 1), (above, first + 1 + cut.below)];
    let near = usize::from(apart >= 0.0);
    look(points, sides[near].0, cuts, sides[near].1, found);
    if apart * apart <= found.reach() {
        look(points, sides[1 - near].0, cuts, sides[1 - near].1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_by_trying_all() {
        let mut state = 3_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 20) as f32 / 64.0
        };
        let mut points: Vec<[f32; 3]> = (0..300).map(|_| [random(), random(), random()]).collect();
        points.extend(vec![[1.0, 2.0, 3.0]; 30]);
        let found = nearest::<5>(&points);
        for (own, found) in found.iter().enumerate() {
            let mut all: Vec<(f32, u32)> = (0..points.len())
                .filter(|&other| other != own)
                .map(|other| {
                    (
                        (0..3).map(|k| (points[own][k] - points[other][k]).powi(2)).sum(),
                        other as u32,
                    )
                })
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let wanted: Vec<u32> = all[..5].iter().map(|(_, number)| *number).collect();
            assert_eq!(*found, wanted, "{own}");
        }
        assert_eq!(nearest::<5>(&[[0.0; 3]; 2]), [vec![1], vec![0]]);
    }
}
