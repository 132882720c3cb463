//! A triangle on the image: distances to its edges, its window, barycentrics, and their derivatives by its corners.
//!
//! Edge e goes from corner e to corner e + 1; corner e + 2 lies opposite.

use kiln_scene::math::{Real, dot, norm, scale, sub};

/// What is computed once for a triangle.
#[derive(Clone, Copy, Debug)]
pub struct Outline<R> {
    /// Corners, samples.
    pub points: [[R; 2]; 3],
    /// Outward unit normals of the edges.
    pub normals: [[R; 2]; 3],
    /// Lengths of the edges.
    pub lengths: [R; 3],
    /// Twice the area, not negative.
    pub area2: R,
    /// 1 where corners go round with x before y, else -1.
    pub turn: R,
    /// Radius of the incircle: twice the area over the perimeter.
    pub radius: R,
}

/// What a triangle is at a point of the image inside of it.
#[derive(Clone, Copy, Debug)]
pub struct Inside<R> {
    /// Signed distance to the nearest edge, below 0.
    pub phi: R,
    /// That edge.
    pub edge: usize,
    /// Barycentrics of the corners.
    pub shares: [R; 3],
}

/// Product of two vectors of the image that is the signed area between them.
fn cross2<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0] * b[1] - a[1] * b[0]
}

impl<R: Real> Outline<R> {
    /// The triangle with these corners.
    #[must_use]
    pub fn new(points: [[R; 2]; 3]) -> Self {
        let edges: [[R; 2]; 3] = std::array::from_fn(|e| sub(points[(e + 1) % 3], points[e]));
        let signed = cross2(edges[0], sub(points[2], points[0]));
        let turn = if signed < R::ZERO { -R::ONE } else { R::ONE };
        let lengths = edges.map(norm);
        let area2 = signed * turn;
        Self {
            points,
            normals: std::array::from_fn(|e| {
                let [x, y] = edges[e];
                [turn * y / lengths[e], -(turn * x / lengths[e])]
            }),
            lengths,
            area2,
            turn,
            radius: area2 / (lengths[0] + lengths[1] + lengths[2]),
        }
    }

    /// What it is at `p`; `None` outside of it and on its border.
    #[must_use]
    pub fn at(&self, p: [R; 2]) -> Option<Inside<R>> {
        let phi: [R; 3] = std::array::from_fn(|e| dot(self.normals[e], sub(p, self.points[e])));
        let mut edge = 0;
        for e in 1..3 {
            if phi[e] > phi[edge] {
                edge = e;
            }
        }
        // A comparison that NaN fails.
        let is_in = phi[edge] < R::ZERO;
        if !is_in {
            return None;
        }
        let opposite = |e: usize| -(phi[e] * self.lengths[e]) / self.area2;
        Some(Inside {
            phi: phi[edge],
            edge,
            shares: [opposite(1), opposite(2), opposite(0)],
        })
    }

    /// The window where the distance to the nearest edge is `phi`.
    #[must_use]
    pub fn window(&self, phi: R, sigma: R) -> R {
        (sigma * (-phi / self.radius).ln()).exp()
    }

    /// Adds to the corners what moves the distance of `p` to edge `e`, times `g`: the line turns about what p is opposite of.
    pub fn distance_backward(&self, p: [R; 2], e: usize, g: R, corners: &mut [[R; 2]; 3]) {
        let (a, b) = (e, (e + 1) % 3);
        let along = sub(self.points[b], self.points[a]);
        let t = dot(sub(p, self.points[a]), along) / (self.lengths[e] * self.lengths[e]);
        for (corner, share) in [(a, R::ONE - t), (b, t)] {
            for (sum, n) in corners[corner].iter_mut().zip(self.normals[e]) {
                *sum -= g * share * n;
            }
        }
    }

    /// Adds to the corners what moves the radius of the incircle, times `g`.
    pub fn radius_backward(&self, g: R, corners: &mut [[R; 2]; 3]) {
        let perimeter = self.lengths[0] + self.lengths[1] + self.lengths[2];
        for (k, corner) in corners.iter_mut().enumerate() {
            let (next, before) = ((k + 1) % 3, (k + 2) % 3);
            // Twice the area grows with the distance from the opposite edge, times its length.
            let by_area = scale(self.normals[next], -self.lengths[next]);
            let unit = |from: usize, length: R| scale(sub(self.points[k], self.points[from]), R::ONE / length);
            let (one, two) = (unit(next, self.lengths[k]), unit(before, self.lengths[before]));
            for i in 0..2 {
                corner[i] += g * (by_area[i] - self.radius * (one[i] + two[i])) / perimeter;
            }
        }
    }

    /// Adds to the corners what moves an affine value with `values` at the corners, times `g`, at a point with these barycentrics.
    pub fn affine_backward(&self, shares: [R; 3], values: [R; 3], g: R, corners: &mut [[R; 2]; 3]) {
        // Slope of the value over the image: corner e + 2 has the gradient of its barycentric along edge e's normal, inward.
        let mut slope = [R::ZERO; 2];
        for e in 0..3 {
            let factor = -(values[(e + 2) % 3] * self.lengths[e]) / self.area2;
            slope[0] += factor * self.normals[e][0];
            slope[1] += factor * self.normals[e][1];
        }
        for (corner, share) in corners.iter_mut().zip(shares) {
            corner[0] -= g * share * slope[0];
            corner[1] -= g * share * slope[1];
        }
    }
}
