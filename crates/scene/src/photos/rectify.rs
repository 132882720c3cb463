//! From a picture taken through a lens to the one a pinhole would have taken.
//!
//! Owns the choice of the pinhole camera and the resampling. The pinhole keeps the focal lengths, so that the middle of
//! the picture keeps its detail. Its picture is the largest upright rectangle that lies inside the four curves which
//! the outermost pixels' centres become: no pixel of it is empty. The principal point moves with the rectangle's
//! corner and need not be in the middle. Two limits: no side becomes longer than twice the original (a fisheye's
//! would have no end), and a lens whose formula folds back before the edge is cut there. What is lost is reported as
//! the share of the original's area that the rectangle does not show. With [`Undistort::Whole`] it is the rectangle around the
//! curves, within the same limits, and pixels without a source in the original are marked.
//!
//! Pictures are resampled at full size, before they are resized: the place of every eighth pixel is computed exactly
//! and those between are interpolated (off by less than 0.02 px), so that no table as large as a picture is held; values
//! come from 4 x 4 pixels with the Keys cubic, a = -0.5 (Keys 1981), which keeps fine detail that two by two would blur.

use crate::formats::lens::Distortion;
use crate::{Intrinsics, Undistort};

/// Places along each side of the original that say how much of it a rectangle around it shows.
const AREA_POINTS: u32 = 128;
/// Points of each edge that are followed through the lens.
const EDGE_POINTS: u32 = 64;
/// No side grows by more than this.
const MAX_GROWTH: f64 = 2.0;
/// How far a sample may lie outside of the outermost pixels' centres, pixels; there the outermost pixels are repeated.
const SLACK_PX: f64 = 0.05;
/// A rectangle that does not fit is tried this much smaller, and at most this often.
const SHRINK: f64 = 0.99;
/// See [`SHRINK`].
const MAX_SHRINKS: u32 = 300;
/// A picture with a shorter side than this, pixels, is not worth training on.
const MIN_SIDE_PX: f64 = 16.0;
/// Distance of the exactly computed places, pixels.
const CELL_PX: usize = 8;
/// Fractions of a pixel that weights are tabulated for.
const PHASES: usize = 256;
/// Bits after the binary point of a weight.
const WEIGHT_BITS: u32 = 14;
/// Bits of a horizontal sum that are dropped, so that the vertical sum fits 32.
const DROPPED_BITS: u32 = 6;

/// A plan for one lens and picture size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rectification {
    distortion: Distortion,
    source: Intrinsics,
    source_px: (u32, u32),
    /// Distance from the optical axis, in the plane one unit in front of the camera, at which the lens folds back.
    fold: f64,
    /// Some pixels may be empty.
    pub(crate) has_empty: bool,
    /// The pinhole camera.
    pub(crate) pinhole: Intrinsics,
    /// Its picture's size.
    pub(crate) size_px: (u32, u32),
    /// Share of the original's area that is not shown, 0 to 1.
    pub(crate) lost: f64,
}

/// A rectangle in the plane one unit in front of the camera.
#[derive(Clone, Copy)]
struct Window {
    low: [f64; 2],
    high: [f64; 2],
}

impl Rectification {
    /// Chooses the pinhole camera for pictures of `size_px`; `None` when the lens leaves next to nothing of them.
    pub(crate) fn plan(
        distortion: Distortion,
        source: Intrinsics,
        size_px: (u32, u32),
        undistort: Undistort,
    ) -> Option<Self> {
        let lens = Through {
            distortion,
            source,
            size: [f64::from(size_px.0), f64::from(size_px.1)],
            fold: distortion.fold(),
        };
        let is_whole = undistort == Undistort::Whole;
        let mut window = match is_whole {
            false => lens.inside_of_edges(),
            true => lens.around_edges(),
        };
        let focal = [source.fx, source.fy];
        for (axis, focal) in focal.into_iter().enumerate() {
            let side = (window.high[axis] - window.low[axis]) * focal;
            let limit = MAX_GROWTH * lens.size[axis];
            if side > limit {
                window.scale(axis, limit / side);
            }
        }
        let mut shrinks = 0;
        while !is_whole && !lens.shows(&window) {
            shrinks += 1;
            let large = |axis: usize| (window.high[axis] - window.low[axis]) * focal[axis] >= MIN_SIDE_PX;
            if shrinks > MAX_SHRINKS || !large(0) || !large(1) {
                return None;
            }
            window.scale(0, SHRINK);
            window.scale(1, SHRINK);
        }
        let side = |axis: usize| (window.high[axis] - window.low[axis]) * focal[axis] + 1.0 + 1e-6;
        let picture = (side(0).floor() as u32, side(1).floor() as u32);
        let tiny = |side: u32, of: u32| f64::from(side) < MIN_SIDE_PX.min(f64::from(of));
        if tiny(picture.0, size_px.0) || tiny(picture.1, size_px.1) {
            return None;
        }
        let shown = match is_whole {
            false => lens.area(&window) / (lens.size[0] * lens.size[1]),
            true => lens.share(&window),
        };
        Some(Self {
            distortion,
            source,
            source_px: size_px,
            fold: lens.fold,
            has_empty: !lens.shows(&window),
            pinhole: Intrinsics {
                fx: source.fx,
                fy: source.fy,
                cx: 0.5 - window.low[0] * source.fx,
                cy: 0.5 - window.low[1] * source.fy,
            },
            size_px: picture,
            lost: (1.0 - shown).clamp(0.0, 1.0),
        })
    }

    /// 255 for each pixel that the original has something for, 0 for others.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let size = [self.source_px.0, self.source_px.1].map(f64::from);
        let is_shown = |x: u32, y: u32| {
            let at = [f64::from(x) + 0.5, f64::from(y) + 0.5];
            let [u, v] = self.ray_of(at);
            let place = self.source_of(at);
            let within = |(value, side): (f64, f64)| (0.5 - SLACK_PX..=side - 0.5 + SLACK_PX).contains(&value);
            u.hypot(v) <= self.fold && place.into_iter().zip(size).all(within)
        };
        let (width, height) = self.size_px;
        let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        rows.map(|(x, y)| if is_shown(x, y) { u8::MAX } else { 0 }).collect()
    }

    /// Resamples rows of pixels of `C` bytes, which must be those of a picture of the planned size.
    pub(crate) fn resample<const C: usize>(&self, pixels: &[u8]) -> Vec<u8> {
        let (width, height) = (self.size_px.0 as usize, self.size_px.1 as usize);
        let weights = cubic_weights();
        let source = Source::<C> {
            pixels,
            width: self.source_px.0 as usize,
            height: self.source_px.1 as usize,
            weights: &weights,
        };
        let line = |row: usize| -> Vec<[f32; 2]> {
            (0..=width.div_ceil(CELL_PX))
                .map(|column| {
                    let place = self.source_of([(column * CELL_PX) as f64 + 0.5, (row * CELL_PX) as f64 + 0.5]);
                    place.map(|value| (value - 0.5) as f32)
                })
                .collect()
        };
        let mix = |a: [f32; 2], b: [f32; 2], share: f32| [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
        let mut out = Vec::with_capacity(width * height * C);
        let (mut above, mut below) = (line(0), line(1));
        let mut places = above.clone();
        for y in 0..height {
            if y > 0 && y % CELL_PX == 0 {
                above = std::mem::replace(&mut below, line(y / CELL_PX + 1));
            }
            let down = (y % CELL_PX) as f32 / CELL_PX as f32;
            for ((place, a), b) in places.iter_mut().zip(&above).zip(&below) {
                *place = mix(*a, *b, down);
            }
            for (cell, ends) in places.windows(2).enumerate() {
                for x in 0..CELL_PX.min(width - cell * CELL_PX) {
                    let place = mix(ends[0], ends[1], x as f32 / CELL_PX as f32);
                    out.extend_from_slice(&source.at(place));
                }
            }
        }
        out
    }

    /// The ray that a place in the pinhole's picture belongs to.
    fn ray_of(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [
            (x - self.pinhole.cx) / self.pinhole.fx,
            (y - self.pinhole.cy) / self.pinhole.fy,
        ]
    }

    /// The place in the original, pixels, of a place in the pinhole's picture.
    pub(crate) fn source_of(&self, place: [f64; 2]) -> [f64; 2] {
        let [u, v] = self.distortion.apply(self.ray_of(place));
        [self.source.fx * u + self.source.cx, self.source.fy * v + self.source.cy]
    }
}

impl Window {
    /// Makes one axis smaller, around the point that is nearest to the optical axis.
    fn scale(&mut self, axis: usize, factor: f64) {
        let (low, high) = (self.low[axis], self.high[axis]);
        let fixed = if low <= high {
            0.0_f64.clamp(low, high)
        } else {
            0.5 * (low + high)
        };
        self.low[axis] = fixed + (low - fixed) * factor;
        self.high[axis] = fixed + (high - fixed) * factor;
    }

    /// Points along its border, all the way round.
    fn border(&self) -> impl Iterator<Item = [f64; 2]> {
        let Self { low, high } = *self;
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let step = move |n: u32| f64::from(n) / f64::from(EDGE_POINTS);
        let edge = move |from: [f64; 2], to: [f64; 2]| {
            (0..EDGE_POINTS).map(move |n| [mix(from[0], to[0], step(n)), mix(from[1], to[1], step(n))])
        };
        let corners = [low, [high[0], low[1]], high, [low[0], high[1]]];
        (0..4).flat_map(move |n| edge(corners[n], corners[(n + 1) % 4]))
    }
}

/// A lens in front of a picture.
struct Through {
    distortion: Distortion,
    source: Intrinsics,
    size: [f64; 2],
    fold: f64,
}

impl Through {
    /// The rectangle inside the four curves that the edges become. Parts of an edge that no ray reaches are passed over;
    /// [`Self::shows`] catches what is wrong with the result.
    fn inside_of_edges(&self) -> Window {
        let far = self.fold;
        let (mut low, mut high) = ([-far; 2], [far; 2]);
        let (w, h) = (self.size[0], self.size[1]);
        for n in 0..=EDGE_POINTS {
            let t = f64::from(n) / f64::from(EDGE_POINTS);
            let (x, y) = (0.5 + (w - 1.0) * t, 0.5 + (h - 1.0) * t);
            if let Some([u, _]) = self.ray([0.5, y]) {
                low[0] = low[0].max(u);
            }
            if let Some([u, _]) = self.ray([w - 0.5, y]) {
                high[0] = high[0].min(u);
            }
            if let Some([_, v]) = self.ray([x, 0.5]) {
                low[1] = low[1].max(v);
            }
            if let Some([_, v]) = self.ray([x, h - 0.5]) {
                high[1] = high[1].min(v);
            }
        }
        Window { low, high }
    }

    /// The rectangle around the four curves that the edges become. Where no ray reaches an edge there is no end to that side.
    fn around_edges(&self) -> Window {
        let (w, h) = (self.size[0], self.size[1]);
        let centre = [self.source.cx, self.source.cy];
        let (mut low, mut high) = ([0.0_f64; 2], [0.0_f64; 2]);
        for n in 0..=EDGE_POINTS {
            let t = f64::from(n) / f64::from(EDGE_POINTS);
            let (x, y) = (0.5 + (w - 1.0) * t, 0.5 + (h - 1.0) * t);
            for place in [[0.5, y], [w - 0.5, y], [x, 0.5], [x, h - 0.5]] {
                let off = [place[0] - centre[0], place[1] - centre[1]];
                let length = off[0].hypot(off[1]).max(1.0);
                let far = off.map(|off| self.fold * off / length);
                let ray = self.ray(place).unwrap_or(far);
                for ((low, high), ray) in low.iter_mut().zip(&mut high).zip(ray) {
                    (*low, *high) = (low.min(ray), high.max(ray));
                }
            }
        }
        Window { low, high }
    }

    /// Share of the picture's places that a window shows.
    fn share(&self, window: &Window) -> f64 {
        let at = |n: u32, side: f64| (f64::from(n) + 0.5) / f64::from(AREA_POINTS) * side;
        let places = (0..AREA_POINTS * AREA_POINTS).map(|n| [n % AREA_POINTS, n / AREA_POINTS]);
        let inside = |ray: [f64; 2]| (0..2).all(|axis| (window.low[axis]..=window.high[axis]).contains(&ray[axis]));
        let shown = places.filter(|[x, y]| {
            let place = [at(*x, self.size[0]), at(*y, self.size[1])];
            self.ray(place).is_some_and(inside)
        });
        shown.count() as f64 / f64::from(AREA_POINTS * AREA_POINTS)
    }

    /// The ray that a place in the picture belongs to.
    fn ray(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let Intrinsics { fx, fy, cx, cy } = self.source;
        self.distortion.invert([(x - cx) / fx, (y - cy) / fy], self.fold)
    }

    /// The place in the picture where a ray arrives.
    fn place(&self, ray: [f64; 2]) -> [f64; 2] {
        let [u, v] = self.distortion.apply(ray);
        [self.source.fx * u + self.source.cx, self.source.fy * v + self.source.cy]
    }

    /// True when all of a window's border, and so all of the window, is in the picture.
    fn shows(&self, window: &Window) -> bool {
        let [width, height] = self.size;
        let within = |value: f64, side: f64| (0.5 - SLACK_PX..=side - 0.5 + SLACK_PX).contains(&value);
        window.low[0] <= window.high[0]
            && window.low[1] <= window.high[1]
            && window.border().all(|ray| {
                let [x, y] = self.place(ray);
                ray[0].hypot(ray[1]) <= self.fold && within(x, width) && within(y, height)
            })
    }

    /// Area of the picture that a window shows, square pixels; the window's half pixel of border counts.
    fn area(&self, window: &Window) -> f64 {
        let half = [0.5 / self.source.fx, 0.5 / self.source.fy];
        let grown = Window {
            low: [window.low[0] - half[0], window.low[1] - half[1]],
            high: [window.high[0] + half[0], window.high[1] + half[1]],
        };
        let points: Vec<[f64; 2]> = grown.border().map(|ray| self.place(ray)).collect();
        let next = points.iter().cycle().skip(1);
        let doubled: f64 = points.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum();
        0.5 * doubled.abs()
    }
}

/// Four weights for every fraction of a pixel; each four add up to one.
fn cubic_weights() -> Vec<[i32; 4]> {
    const A: f64 = -0.5;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| (((x - 5.0) * x + 8.0) * x - 4.0) * A;
    let one = 1 << WEIGHT_BITS;
    let fixed = |weight: f64| (weight * f64::from(one)).round() as i32;
    (0..PHASES)
        .map(|phase| {
            let x = phase as f64 / PHASES as f64;
            let mut weights = [far(1.0 + x), near(x), near(1.0 - x), far(2.0 - x)].map(fixed);
            weights[if x < 0.5 { 1 } else { 2 }] += one - weights.iter().sum::<i32>();
            weights
        })
        .collect()
}

/// The picture that is sampled, `C` bytes a pixel.
struct Source<'a, const C: usize> {
    pixels: &'a [u8],
    width: usize,
    height: usize,
    weights: &'a [[i32; 4]],
}

impl<const C: usize> Source<'_, C> {
    /// The value at a place, counted in pixels from the first pixel's centre.
    fn at(&self, [x, y]: [f32; 2]) -> [u8; C] {
        let (left, across) = split(x, self.width);
        let (top, down) = split(y, self.height);
        let across = &self.weights[across];
        let columns: [usize; 4] = std::array::from_fn(|tap| before(left + tap, self.width));
        let mut sums = [1 << (2 * WEIGHT_BITS - DROPPED_BITS - 1); C];
        for (tap, weight) in self.weights[down].iter().enumerate() {
            let start = before(top + tap, self.height) * self.width * C;
            let row = &self.pixels[start..start + self.width * C];
            let pixels: [&[u8]; 4] = columns.map(|column| &row[column * C..column * C + C]);
            for (channel, sum) in sums.iter_mut().enumerate() {
                let taps = pixels.iter().zip(across);
                let line: i32 = taps.map(|(pixel, weight)| i32::from(pixel[channel]) * weight).sum();
                *sum += (line >> DROPPED_BITS) * weight;
            }
        }
        sums.map(|sum| (sum >> (2 * WEIGHT_BITS - DROPPED_BITS)).clamp(0, 255) as u8)
    }
}

/// The pixel at or before a place, and the fraction of a pixel behind it.
fn split(place: f32, side: usize) -> (usize, usize) {
    let steps = (place.clamp(0.0, (side - 1) as f32) * PHASES as f32 + 0.5) as usize;
    (steps / PHASES, steps % PHASES)
}

/// The pixel before another, within the picture.
fn before(index: usize, side: usize) -> usize {
    index.saturating_sub(1).min(side - 1)
}

#[cfg(test)]
mod tests;
