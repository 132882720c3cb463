//! Draw order: splats from far to near, by a counting sort of their depth in two rounds.
//!
//! Runs in a worker, in a second instance of the module. Splats that cannot reach into the picture are left out. Buckets are equal steps of the bits
//! of a positive float, which grow with its logarithm: near splats, whose order shows, get the finest steps. The first
//! round puts splats in 256 coarse buckets, the second sorts each of those by the finer bits. Either writes to 256 places
//! at once, which the first-level cache holds; a single round over all buckets would write all over memory.

use crate::math::Vec3;

/// Splats at or behind this depth are not drawn, world units; the trainer's near plane.
pub(crate) const NEAR: f32 = 0.2;
/// Bits of a bucket's number; with 16 even the widest scene has steps of about 1e-4 of the depth.
const BUCKET_BITS: u32 = 16;
/// Bit of a radius, its sign, of splats that are not to be drawn.
const UNSEEN: u16 = 0x8000;
/// Bucket behind all others, of splats that are not drawn.
const HIDDEN: u16 = u16::MAX;

/// What of the world a camera sees, and from where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sight {
    /// Rows whose products with (x, y, z, 1) are a point in camera axes: right, down, depth.
    pub(crate) rows: [[f32; 4]; 3],
    /// Least and largest right / depth and down / depth, wider than the picture by the margin that projection sees.
    pub(crate) slopes: [[f32; 2]; 2],
    /// How far beyond the slopes a splat is still seen, in its largest standard deviations.
    pub(crate) reach: [f32; 2],
    /// Pixels by which a step of the depth to the side moves a point in the picture.
    pub(crate) focal: f32,
}

impl Sight {
    /// Numbers in [`Self::words`].
    pub(crate) const WORDS: usize = 19;

    /// All of it as numbers for the worker.
    pub(crate) fn words(&self) -> [f32; Self::WORDS] {
        let parts = self.rows.as_flattened().iter().chain(self.slopes.as_flattened());
        let mut all = parts.chain(&self.reach).chain([&self.focal]).copied();
        std::array::from_fn(|_| all.next().unwrap_or(0.0))
    }

    /// What [`Self::words`] gave; sees nothing when there are fewer.
    pub(crate) fn of_words(words: &[f32]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or(0.0);
        Self {
            rows: std::array::from_fn(|row| std::array::from_fn(|column| word(4 * row + column))),
            slopes: std::array::from_fn(|axis| std::array::from_fn(|end| word(12 + 2 * axis + end))),
            reach: std::array::from_fn(|axis| word(16 + axis)),
            focal: word(18),
        }
    }
}

/// Positions and the memory that sorting them needs.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    axes: [Vec<f32>; 3],
    /// Largest standard deviation of each splat: the upper half of a float that is not less.
    radii: Vec<u16>,
    /// Smallest and largest of each axis.
    bounds: Option<[[f32; 2]; 3]>,
    buckets: Vec<u16>,
    /// Splats of coarse bucket after coarse bucket: finer bits above, index below.
    coarse: Vec<u32>,
    order: Vec<u32>,
}

impl Sorter {
    /// Room for `count` splats, none of them there yet.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut sorter = Self::default();
        for axis in &mut sorter.axes {
            axis.reserve_exact(count);
        }
        sorter.radii.reserve_exact(count);
        sorter
    }

    /// Appends splats: finite centres and largest standard deviations.
    pub(crate) fn add(&mut self, splats: impl Iterator<Item = (Vec3, f32)>) {
        for (point, radius) in splats {
            let bounds = self.bounds.get_or_insert(point.map(|value| [value; 2]));
            for ((axis, ends), value) in self.axes.iter_mut().zip(bounds).zip(point) {
                axis.push(value);
                *ends = [ends[0].min(value), ends[1].max(value)];
            }
            self.radii.push(rounded_up(radius));
        }
    }

    /// Puts splats into places from `first` on, whatever was there; they are not drawn before [`Self::show`] says so.
    pub(crate) fn put(&mut self, first: usize, splats: impl Iterator<Item = (Vec3, f32)>) {
        for (at, (point, radius)) in (first..).zip(splats) {
            let n = self.len().max(at + 1);
            self.axes.iter_mut().for_each(|axis| axis.resize(n, 0.0));
            self.radii.resize(n, UNSEEN);
            let bounds = self.bounds.get_or_insert(point.map(|value| [value; 2]));
            for ((axis, ends), value) in self.axes.iter_mut().zip(bounds).zip(point) {
                axis[at] = value;
                *ends = [ends[0].min(value), ends[1].max(value)];
            }
            self.radii[at] = rounded_up(radius) | UNSEEN;
        }
    }

    /// Has splats drawn from now on, or not.
    pub(crate) fn show(&mut self, places: std::ops::Range<usize>, on: bool) {
        for radius in self.radii.get_mut(places).unwrap_or_default() {
            *radius = if on { *radius & !UNSEEN } else { *radius | UNSEEN };
        }
    }

    /// Splats it holds.
    pub(crate) fn len(&self) -> usize {
        self.radii.len()
    }

    /// Indices of the splats that are seen, farthest first. Those that reach into the picture are all there; some beside
    /// it are too.
    pub(crate) fn sort(&mut self, sight: &Sight) -> &[u32] {
        self.order.clear();
        let depths = self.depths(sight.rows[2]);
        let Some([near, far]) = depths.filter(|[_, far]| *far > NEAR) else {
            return &self.order;
        };
        let (near, far) = (near.max(NEAR).to_bits(), far.to_bits());
        let shift = (32 - (far - near).leading_zeros()).saturating_sub(BUCKET_BITS);
        self.fill_buckets(sight, far, shift);
        let mut places = [0; 256];
        let mut hidden = 0;
        for bucket in &self.buckets {
            places[usize::from(bucket >> 8)] += 1;
            hidden += usize::from(*bucket == HIDDEN);
        }
        first_places(&mut places);
        // The bits that an index leaves free: eight up to 16 million splats, fewer beyond.
        let index_bits = (32 - (self.len() as u32).leading_zeros()).max(24);
        self.coarse.resize(self.len() - hidden, 0);
        for (bucket, index) in self.buckets.iter().zip(0_u32..) {
            if *bucket == HIDDEN {
                continue;
            }
            let place = &mut places[usize::from(bucket >> 8)];
            let fine = u32::from(bucket & 0xff) >> (index_bits - 24);
            self.coarse[*place as usize] = fine << index_bits | index;
            *place += 1;
        }
        self.order.resize(self.coarse.len(), 0);
        // Every place has moved on to the end of its bucket.
        let mut first = 0;
        for end in places {
            let range = first..end as usize;
            first = range.end;
            sort_fine(&self.coarse[range.clone()], &mut self.order[range], index_bits);
        }
        &self.order
    }

    /// Smallest and largest depth of the box around all splats.
    fn depths(&self, [a, b, c, d]: [f32; 4]) -> Option<[f32; 2]> {
        let mut ends = [d; 2];
        for (weight, [low, high]) in [a, b, c].into_iter().zip(self.bounds?) {
            let (at_low, at_high) = (weight * low, weight * high);
            ends = [ends[0] + at_low.min(at_high), ends[1] + at_low.max(at_high)];
        }
        Some(ends)
    }

    /// Writes every splat's bucket, counted from the far end.
    fn fill_buckets(&mut self, sight: &Sight, far: u32, shift: u32) {
        let Sight {
            rows, slopes, reach, ..
        } = *sight;
        let [xs, ys, zs] = &self.axes;
        self.buckets.resize(xs.len(), 0);
        let splats = xs.iter().zip(ys).zip(zs).zip(&self.radii);
        for (bucket, (((x, y), z), radius)) in self.buckets.iter_mut().zip(splats) {
            let [right, down, depth] = rows.map(|[a, b, c, d]| a * x + b * y + c * z + d);
            let hidden = *radius & UNSEEN;
            let radius = f32::from_bits(u32::from(*radius) << 16);
            let beside = [right, down].into_iter().zip(slopes).zip(reach);
            // Without branches, so that several splats are looked at in one go.
            let seen = beside.fold((hidden == 0) & (depth > NEAR), |seen, ((at, [low, high]), reach)| {
                let beyond = reach * radius;
                seen & (at + beyond >= low * depth) & (at - beyond <= high * depth)
            });
            // Rounding may take a depth a little outside the box.
            let from_far = (far.max(depth.to_bits()) - depth.to_bits()) >> shift;
            let last = u32::from(HIDDEN) - 1;
            *bucket = if seen { from_far.min(last) as u16 } else { HIDDEN };
        }
    }
}

/// The upper half of a float that is not less.
fn rounded_up(radius: f32) -> u16 {
    let bits = radius.clamp(0.0, f32::MAX / 256.0).to_bits().saturating_add(0xffff);
    (bits >> 16) as u16
}

/// Writes the indices of one coarse bucket's `words` to `order`, by the bits above the index.
fn sort_fine(words: &[u32], order: &mut [u32], index_bits: u32) {
    let mut places = [0; 256];
    for word in words {
        places[(word >> index_bits) as usize] += 1;
    }
    first_places(&mut places);
    for word in words {
        let place = &mut places[(word >> index_bits) as usize];
        order[*place as usize] = word & ((1 << index_bits) - 1);
        *place += 1;
    }
}

/// Turns counts into the place of each bucket's first splat.
fn first_places(counts: &mut [u32; 256]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::{Lens, Pose};

    /// Numbers that look random and are the same every time.
    fn noise(count: usize) -> Vec<f32> {
        let mut state = 12_345_u32;
        let step = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0 * 20.0 - 10.0
        };
        std::iter::repeat_with(step).take(count).collect()
    }

    /// Sees everything in front of it.
    fn all(depth: [f32; 4]) -> Sight {
        let wide = [-1e9, 1e9];
        Sight {
            rows: [[0.0; 4], [0.0; 4], depth],
            slopes: [wide; 2],
            reach: [0.0; 2],
            focal: 100.0,
        }
    }

    fn points(positions: &[f32]) -> impl Iterator<Item = (Vec3, f32)> {
        positions.as_chunks::<3>().0.iter().map(|point| (*point, 0.0))
    }

    #[test]
    fn order_is_far_to_near_and_leaves_out_what_is_behind() {
        let positions = noise(30_000);
        let mut sorter = Sorter::with_capacity(10_000);
        sorter.add(points(&positions[..9_000]));
        sorter.add(points(&positions[9_000..]));
        assert_eq!(sorter.len(), 10_000);
        let row = [0.6, 0.0, 0.8, 1.5];
        let depth = |i: u32| {
            let p = &positions[3 * i as usize..];
            0.6 * p[0] + 0.8 * p[2] + 1.5
        };
        let order = sorter.sort(&all(row)).to_vec();
        let visible = (0..10_000).filter(|&i| depth(i) > NEAR).count();
        assert_eq!(order.len(), visible);
        let mut seen = order.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), visible, "every visible splat once");
        // Two splats may be swapped only when their depths differ by less than a bucket.
        for pair in order.windows(2) {
            let (far, near) = (depth(pair[0]), depth(pair[1]));
            assert!(far >= near * (1.0 - 2e-3), "{far} before {near}");
        }
    }

    #[test]
    fn what_reaches_into_the_picture_is_there_and_most_beside_it_is_not() {
        let splats: Vec<(Vec3, f32)> = noise(40_000)
            .as_chunks::<4>()
            .0
            .iter()
            .map(|[x, y, z, r]| ([*x, *y, z + 8.0], r.abs() * 0.05))
            .collect();
        let mut sorter = Sorter::default();
        sorter.add(splats.iter().copied());
        let lens = Lens::plain([400, 300]);
        let pose = Pose::looking_at([0.0, 0.0, -1.0], [0.3, 0.1, 5.0], [0.0, -1.0, 0.0]);
        let sight = pose.sight(&lens, 1.0);
        assert_eq!(Sight::of_words(&sight.words()), sight);
        let order = sorter.sort(&sight).to_vec();
        let mut reaching = 0;
        for (splat, index) in splats.iter().zip(0_u32..) {
            let (point, radius) = *splat;
            let [x, y, depth] = pose.to_camera(point);
            // Three standard deviations of a ball, projected exactly.
            let reaches = |at: f32, axis: usize| {
                let centre = lens.focal[axis] * at / depth + lens.centre[axis];
                let px = 3.0 * radius * lens.focal[axis] / depth;
                centre + px > 0.0 && centre - px < lens.size[axis] as f32
            };
            let is_there = order.contains(&index);
            if depth > NEAR && reaches(x, 0) && reaches(y, 1) {
                reaching += 1;
                assert!(is_there, "{point:?} {radius}");
            }
        }
        assert!(
            reaching > 500 && order.len() < 3 * reaching,
            "{reaching} of {}",
            order.len()
        );
    }

    #[test]
    fn places_are_filled_shown_and_filled_anew() {
        let mut sorter = Sorter::default();
        let at = |depth: f32| ([0.0, 0.0, depth], 0.1);
        let look = all([0.0, 0.0, 1.0, 0.0]);
        sorter.put(4, [at(2.0), at(3.0)].into_iter());
        assert!(sorter.sort(&look).is_empty());
        sorter.show(4..6, true);
        assert_eq!(sorter.sort(&look), [5, 4]);
        sorter.put(0, [at(9.0)].into_iter());
        sorter.show(0..1, true);
        sorter.show(5..6, false);
        assert_eq!(sorter.sort(&look), [0, 4]);
        sorter.put(4, [at(1.0)].into_iter());
        assert_eq!(sorter.sort(&look), [0], "what is new is not drawn yet");
    }

    #[test]
    fn nothing_and_nothing_in_front_sort_to_nothing() {
        let mut sorter = Sorter::default();
        assert!(sorter.sort(&all([0.0, 0.0, 1.0, 0.0])).is_empty());
        sorter.add(points(&[0.0, 0.0, -1.0, 0.0, 0.0, 0.1]));
        assert!(sorter.sort(&all([0.0, 0.0, 1.0, 0.0])).is_empty());
        assert_eq!(sorter.sort(&all([0.0, 0.0, 1.0, 5.0])), [1, 0]);
    }

    #[test]
    fn equal_depths_keep_all_splats() {
        let mut sorter = Sorter::default();
        sorter.add(points(&[0.0, 0.0, 2.0].repeat(1000)));
        assert_eq!(sorter.sort(&all([0.0, 0.0, 1.0, 0.0])).len(), 1000);
    }
}
