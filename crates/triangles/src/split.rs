//! Triangles in four, at the midpoints of their edges.

use crate::Triangles;

/// The model after subdivision. Old vertices keep their numbers, new ones follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The two vertices, lower first, between which each new vertex lies, in the order of the new ones' numbers. No two are
    /// equal.
    pub ends: Vec<[u32; 2]>,
    /// All triangles: those that were not split in their order, then four for each that was.
    pub triangles: Vec<[u32; 3]>,
    /// How many of the sample were split: its first ones.
    pub split: usize,
}

/// An edge of a sample: its ends, and the corner of the sample, 3 i + k, that begins it.
type Edge = (u32, u32, u32);

fn edge(triangle: [u32; 3], k: usize) -> [u32; 2] {
    let [a, b] = [triangle[k], triangle[(k + 1) % 3]];
    [a.min(b), a.max(b)]
}

impl Triangles<'_> {
    /// Splits the first triangles of a sample, as many as leave at most `most_vertices` vertices and `most_triangles`
    /// triangles; the sample names no triangle twice.
    ///
    /// Triangles with a common edge share its midpoint, which counts for the earliest of them. A triangle beside one that is
    /// split stays as it is, and the new vertex touches its edge. Attributes of new vertices are means: see
    /// [`rows`](crate::rows) and [`opacity`](crate::opacity).
    #[must_use]
    pub fn split(&self, sample: &[u32], [most_vertices, most_triangles]: [u32; 2]) -> Split {
        let room = |most: u32, used: usize| (most as usize).saturating_sub(used);
        let room_vertices = room(most_vertices, self.positions.len());
        // One becomes four.
        let sample = &sample[..sample.len().min(room(most_triangles, self.triangles.len()) / 3)];
        let parents: Vec<[u32; 3]> = sample.iter().map(|&t| self.triangles[t as usize]).collect();
        let mut edges: Vec<Edge> = (0..3 * parents.len())
            .map(|corner| {
                let [low, high] = edge(parents[corner / 3], corner % 3);
                (low, high, corner as u32)
            })
            .collect();
        edges.sort_unstable();
        // Of each corner the corner that has the midpoint.
        let mut owner = vec![0; edges.len()];
        for same in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            same.iter().for_each(|edge| owner[edge.2 as usize] = same[0].2);
        }
        drop(edges);
        // The same numbers become those of midpoints; an owner comes before those it owns for.
        let mut ends = Vec::new();
        let mut split = 0;
        let mut number = owner;
        for (i, &parent) in parents.iter().enumerate() {
            let own = |k: &usize| number[3 * i + k] as usize == 3 * i + k;
            if ends.len() + (0..3).filter(own).count() > room_vertices {
                break;
            }
            for k in 0..3 {
                let corner = 3 * i + k;
                let owner = number[corner] as usize;
                number[corner] = if owner == corner {
                    ends.push(edge(parent, k));
                    (self.positions.len() + ends.len() - 1) as u32
                } else {
                    number[owner]
                };
            }
            split = i + 1;
        }
        let mut is_split = vec![false; self.triangles.len()];
        sample[..split].iter().for_each(|&t| is_split[t as usize] = true);
        let mut triangles = Vec::with_capacity(self.triangles.len() + 3 * split);
        triangles.extend(
            self.triangles
                .iter()
                .zip(&is_split)
                .filter(|(_, split)| !**split)
                .map(|(t, _)| *t),
        );
        for (&[a, b, c], middles) in parents[..split].iter().zip(number.chunks_exact(3)) {
            let [ab, bc, ca] = [middles[0], middles[1], middles[2]];
            triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        Split { ends, triangles, split }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rows;
    use crate::soups::{Soup, uniform};

    const NO_CAP: [u32; 2] = [u32::MAX; 2];

    /// The soup after a split.
    fn after(soup: &Soup, split: &Split) -> Soup {
        let mut flat = soup.positions.as_flattened().to_vec();
        rows::append_means(&mut flat, 3, &split.ends);
        let positions = flat.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
        Soup::new(positions, split.triangles.clone())
    }

    fn area(soup: &Soup) -> f64 {
        soup.triangles.iter().map(|&t| soup.read().area(t)).sum()
    }

    #[test]
    fn neighbors_share_midpoints() {
        // A strip of 4 triangles has 9 edges.
        let soup = Soup::strip(4);
        let split = soup.read().split(&[2, 0, 3, 1], NO_CAP);
        assert_eq!((split.ends.len(), split.triangles.len(), split.split), (9, 16, 4));
        let unique: BTreeSet<_> = split.ends.iter().collect();
        assert_eq!(unique.len(), 9);
        let fine = after(&soup, &split);
        assert!((area(&fine) - area(&soup)).abs() < 1e-6);
        // Winding stays.
        let normal = |soup: &Soup, t: usize| {
            let [a, b, c] = soup.triangles[t].map(|v| soup.positions[v as usize]);
            (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        };
        assert!((0..4).all(|t| normal(&soup, t) > 0.0) && (0..16).all(|t| normal(&fine, t) > 0.0));
        // Those beside it stay whole.
        let one = soup.read().split(&[1], NO_CAP);
        assert_eq!(
            (one.ends.len(), &one.triangles[..3]),
            (3, &[0, 2, 3].map(|t| soup.triangles[t])[..])
        );
    }

    #[test]
    fn the_cap_is_met_and_never_passed() {
        // Triangles apart take three vertices each.
        let apart = Soup::apart(50);
        let sample: Vec<u32> = (0..50).rev().collect();
        for taken in 0..=50 {
            let split = apart.read().split(&sample, [150 + 3 * taken, u32::MAX]);
            assert_eq!(
                (split.split, split.ends.len()),
                (taken as usize, 3 * taken as usize),
                "the cap exactly"
            );
        }
        assert_eq!(apart.read().split(&sample, [u32::MAX, 50 + 3 * 7 + 2]).split, 7);
        assert_eq!(apart.read().split(&sample, [10, 10]).split, 0);
        for seed in 0..30 {
            let soup = Soup::random(60, 90, seed);
            let mut sample: Vec<u32> = (0..90).collect();
            sample.sort_by_key(|&t| uniform(seed as u32, t).to_bits());
            let all = soup.read().split(&sample, NO_CAP);
            for most in 60..=60 + all.ends.len() as u32 {
                let split = soup.read().split(&sample, [most, u32::MAX]);
                let vertices = 60 + split.ends.len();
                assert!(vertices <= most as usize);
                // What is there is what the whole sample begins with, and one triangle more would be too many.
                assert_eq!(split.ends, all.ends[..split.ends.len()]);
                if split.split < 90 {
                    let more = soup.read().split(&sample[..=split.split], NO_CAP);
                    assert!(60 + more.ends.len() > most as usize);
                }
                assert_eq!(split.triangles.len(), 90 + 3 * split.split);
                assert!(split.triangles.iter().flatten().all(|&v| (v as usize) < vertices));
            }
        }
    }

    #[test]
    fn midpoints_are_unique_and_areas_sum_as_before() {
        for seed in 0..30 {
            let soup = Soup::random(25, 40, seed);
            let sample: Vec<u32> = (0..40).filter(|t| !(t * 7 + seed as u32).is_multiple_of(3)).collect();
            let split = soup.read().split(&sample, NO_CAP);
            let wanted: BTreeSet<[u32; 2]> = sample
                .iter()
                .flat_map(|&t| (0..3).map(move |k| (t, k)))
                .map(|(t, k)| edge(soup.triangles[t as usize], k))
                .collect();
            let found: BTreeSet<[u32; 2]> = split.ends.iter().copied().collect();
            assert_eq!((split.ends.len(), &found), (wanted.len(), &wanted));
            let (before, now) = (area(&soup), area(&after(&soup, &split)));
            assert!((now / before - 1.0).abs() < 1e-5, "{now} of {before}");
        }
    }

    #[test]
    fn again_and_again_stays_whole() {
        let mut soup = Soup::strip(6);
        for round in 0..4 {
            let sample: Vec<u32> = (0..soup.triangles.len() as u32)
                .filter(|t| t % 2 == round % 2)
                .collect();
            let split = soup.read().split(&sample, [500, u32::MAX]);
            soup = after(&soup, &split);
            assert!(soup.positions.len() <= 500);
            let used: BTreeSet<u32> = soup.triangles.iter().flatten().copied().collect();
            assert_eq!(used.len(), soup.positions.len());
        }
        assert_eq!(soup.read().split(&[], NO_CAP).triangles, soup.triangles);
        let empty = Soup::new(vec![], vec![]);
        assert_eq!(empty.read().split(&[], NO_CAP), Split::default());
    }
}
