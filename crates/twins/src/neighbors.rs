//! The nearest neighbours of every centre.

use kiln_gaussians::morton::{Frame, order};
use kiln_kernels::neighbors::NONE;

/// Where a centre counts as being that is not finite.
const NOWHERE: [f32; 3] = [1e38; 3];
/// Centres or boxes in a box.
const WIDTH: usize = 32;
/// From so many centres on they are searched by boxes.
const BY_BOXES_FROM: usize = 20_000;

/// Of each centre the ids of the `k` nearest, itself among them: by squared distance in f32, equal ones by id; [`NONE`]
/// behind the last of fewer.
#[must_use]
pub fn nearest(frame: &Frame, centers: &[[f32; 3]], k: usize) -> Vec<u32> {
    let is_finite = |center: &[f32; 3]| center.iter().all(|x| x.is_finite());
    let kept = |center: &[f32; 3]| if is_finite(center) { *center } else { NOWHERE };
    let places: Vec<[f32; 3]> = centers.iter().map(kept).collect();
    match centers.len() <= BY_BOXES_FROM {
        true => one_by_one(&places, k),
        false => by_boxes(&order(frame, centers), &places, k),
    }
}

/// What is meant.
fn one_by_one(centers: &[[f32; 3]], k: usize) -> Vec<u32> {
    let search = |&query: &[f32; 3]| {
        let mut best = Best::new(k);
        (0..)
            .zip(centers)
            .for_each(|(id, &center)| best.offer(squared(center, query), id));
        best.ids()
    };
    centers.iter().flat_map(search).collect()
}

fn squared(a: [f32; 3], b: [f32; 3]) -> f32 {
    length([0, 1, 2].map(|i| a[i] - b[i]))
}

/// Squared.
fn length([x, y, z]: [f32; 3]) -> f32 {
    x * x + y * y + z * z
}

/// The nearest so far, in order.
struct Best {
    found: Vec<(f32, u32)>,
}

impl Best {
    fn new(k: usize) -> Self {
        let found = vec![(f32::INFINITY, NONE); k];
        Self { found }
    }

    fn is_better(&self, found: (f32, u32)) -> bool {
        self.found.last().is_some_and(|&last| found < last)
    }

    fn offer(&mut self, squared: f32, id: u32) {
        if self.is_better((squared, id)) {
            let place = self.found.partition_point(|&other| other < (squared, id));
            self.found.pop();
            self.found.insert(place, (squared, id));
        }
    }

    fn ids(self) -> impl Iterator<Item = u32> {
        self.found.into_iter().map(|(_, id)| id)
    }
}

/// A box around centres, with the lowest of their ids.
#[derive(Clone, Copy)]
struct Bounds {
    low: [f32; 3],
    high: [f32; 3],
    lowest: u32,
}

impl Bounds {
    fn around(parts: &[Self]) -> Self {
        let none = Self {
            low: [f32::INFINITY; 3],
            high: [f32::NEG_INFINITY; 3],
            lowest: NONE,
        };
        parts.iter().fold(none, |a, b| Self {
            low: [0, 1, 2].map(|i| a.low[i].min(b.low[i])),
            high: [0, 1, 2].map(|i| a.high[i].max(b.high[i])),
            lowest: a.lowest.min(b.lowest),
        })
    }

    /// What no centre inside comes before.
    fn nearest(&self, query: [f32; 3]) -> (f32, u32) {
        let off = [0, 1, 2].map(|i| (self.low[i] - query[i]).max(query[i] - self.high[i]).max(0.0));
        (length(off), self.lowest)
    }
}

/// The same as [`one_by_one`], as the device does it: boxes over runs of `order`, descended from the top.
fn by_boxes(order: &[usize], centers: &[[f32; 3]], k: usize) -> Vec<u32> {
    let point = |&id: &usize| Bounds {
        low: centers[id],
        high: centers[id],
        lowest: id as u32,
    };
    let mut levels: Vec<Vec<Bounds>> = vec![order.iter().map(point).collect()];
    while let Some(below) = levels.last().filter(|below| below.len() > 1) {
        levels.push(below.chunks(WIDTH).map(Bounds::around).collect());
    }
    let mut found = vec![NONE; centers.len() * k];
    for (place, &id) in order.iter().enumerate() {
        let mut best = Best::new(k);
        // Its own box first.
        let mut own = place;
        visit(&levels, 0, own..own + 1, centers[id], &mut best);
        for level in 0..levels.len() {
            let start = own / WIDTH * WIDTH;
            let end = (start + WIDTH).min(levels[level].len());
            visit(&levels, level, start..own, centers[id], &mut best);
            visit(&levels, level, own + 1..end, centers[id], &mut best);
            own /= WIDTH;
        }
        best.ids().zip(&mut found[id * k..]).for_each(|(id, to)| *to = id);
    }
    found
}

fn visit(levels: &[Vec<Bounds>], level: usize, boxes: std::ops::Range<usize>, query: [f32; 3], best: &mut Best) {
    for at in boxes {
        let bounds = &levels[level][at];
        let (squared, lowest) = bounds.nearest(query);
        match level.checked_sub(1) {
            _ if !best.is_better((squared, lowest)) => {}
            None => best.offer(squared, lowest),
            Some(below) => {
                let end = ((at + 1) * WIDTH).min(levels[below].len());
                visit(levels, below, at * WIDTH..end, query, best);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    #[test]
    fn boxes_find_what_is_found_one_by_one() {
        let frame = Frame::new([0.5; 3], 2.0);
        for (count, steps, k) in [
            (0, 1.0, 3),
            (1, 1.0, 4),
            (5, 9.0, 8),
            (33, 2.0, 3),
            (1500, 8.0, 16),
            (3000, 1e6, 32),
        ] {
            let place = |id: u32| {
                let coarse = |axis| (rng::uniform::<f32>(7, 0, id, axis) * steps).round() / steps;
                match id % 100 {
                    7 => [f32::NAN, 0.0, 1.0],
                    8 => [3e38, -3e38, f32::INFINITY],
                    9 => [3e38, -3e38, id as f32],
                    _ => [0, 1, 2].map(coarse),
                }
            };
            let centers: Vec<[f32; 3]> = (0..count).map(place).collect();
            let wanted = nearest(&frame, &centers, k);
            let finite: Vec<[f32; 3]> = centers
                .iter()
                .map(|c| if c.iter().all(|x| x.is_finite()) { *c } else { NOWHERE })
                .collect();
            assert_eq!(by_boxes(&order(&frame, &centers), &finite, k), wanted, "{count}");
            for (id, near) in wanted.chunks(k).enumerate() {
                // Of equal centres the lowest come first, so a lone one is its own nearest.
                assert!(near.contains(&(id as u32)) || finite.iter().filter(|c| **c == finite[id]).count() > k);
                let beyond = near.iter().filter(|&&other| other == NONE).count();
                assert_eq!(beyond, k.saturating_sub(count as usize));
            }
        }
    }
}
