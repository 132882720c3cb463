//! Models for tests.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use crate::{Triangles, opacity};

/// A model of its own.
#[derive(Clone, Debug)]
pub(crate) struct Soup {
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) weights: Vec<f32>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) importance: Vec<f32>,
    pub(crate) sizes_px: Vec<f32>,
}

/// A random number between 0 and 1, both excluded (Steele, Lea and Flood 2014).
pub(crate) fn uniform(seed: u32, id: u32) -> f32 {
    let mut z = (u64::from(seed) << 32 | u64::from(id))
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((z ^ (z >> 31)) >> 41) as f32 + 0.5) / (1_u32 << 23) as f32
}

impl Soup {
    /// Opacity 0.5 and importance 1 everywhere, 10 pixels large.
    pub(crate) fn new(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Self {
        Self {
            weights: vec![opacity::weight(0.5, 0.0); positions.len()],
            importance: vec![1.0; triangles.len()],
            sizes_px: vec![10.0; triangles.len()],
            positions,
            triangles,
        }
    }

    /// A flat strip of triangles, the next sharing an edge with each, wound alike.
    pub(crate) fn strip(triangles: u32) -> Self {
        let positions = (0..triangles + 2).map(|v| [v as f32 * 0.5, (v % 2) as f32, 0.0]);
        let triangle = |t: u32| {
            if t.is_multiple_of(2) {
                [t, t + 2, t + 1]
            } else {
                [t, t + 1, t + 2]
            }
        };
        Self::new(positions.collect(), (0..triangles).map(triangle).collect())
    }

    /// Triangles of area 0.5 that share nothing.
    pub(crate) fn apart(triangles: u32) -> Self {
        let corner = |v: u32| [(v / 3) as f32 * 2.0 + f32::from(v % 3 == 1), f32::from(v % 3 == 2), 0.0];
        let positions = (0..3 * triangles).map(corner).collect();
        Self::new(
            positions,
            (0..triangles).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
        )
    }

    /// Random triangles of three vertices between random vertices.
    pub(crate) fn random(vertices: u32, triangles: u32, seed: u64) -> Self {
        let random = |id: u32| uniform(seed as u32, id);
        let positions = (0..vertices).map(|v| [0, 1, 2].map(|axis| random(3 * v + axis)));
        let triangle = |t: u32| {
            let first = (random(5000 + 2 * t) * vertices as f32) as u32 % vertices;
            let step = 1 + (random(5001 + 2 * t) * 7.0) as u32;
            [first, (first + step) % vertices, (first + 2 * step + 1) % vertices]
        };
        let mut soup = Self::new(positions.collect(), (0..triangles).map(triangle).collect());
        for (v, weight) in (0..).zip(&mut soup.weights) {
            *weight = opacity::weight(f64::from(random(20_000 + v)), 0.0);
        }
        for (t, (importance, size_px)) in (0..).zip(soup.importance.iter_mut().zip(&mut soup.sizes_px)) {
            *importance = (random(30_000 + t) * 1.25 - 0.25).max(0.0);
            *size_px = random(40_000 + t) * 50.0;
        }
        soup
    }

    /// Sets the opacities of the vertices.
    pub(crate) fn opacities(&mut self, opacities: &[f64]) {
        for (weight, &to) in self.weights.iter_mut().zip(opacities) {
            *weight = opacity::weight(to, 0.0);
        }
    }

    pub(crate) fn read(&self) -> Triangles<'_> {
        let vertices = (&self.positions[..], &self.weights[..], 0.0);
        Triangles::new(vertices, &self.triangles, (&self.importance, &self.sizes_px)).unwrap()
    }
}
