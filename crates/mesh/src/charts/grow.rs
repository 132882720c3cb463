//! Regions of faces that lie nearly in a plane.

use std::collections::VecDeque;

use super::TURNS;
use super::overlap::{Taken, turn};
use crate::edges::Edges;
use crate::progress::Ticker;
use crate::vector::{V3, dot, double_area, frame, norm, unit};
use crate::{Error, Mesh};

const NONE: u32 = u32::MAX;

/// Triangles of a chart and their corners in its plane.
pub(super) struct Region {
    pub(super) triangles: Vec<u32>,
    pub(super) corners: Vec<[[f64; 2]; 3]>,
}

/// Regions of triangles whose normals have at least a cosine with that of the region's first, the largest triangle that
/// is left. They grow breadth first over edges of two triangles; each triangle is in one.
pub(super) fn regions(mesh: &Mesh, least_cosine: f64, ticker: &mut Ticker<'_>) -> Result<Vec<Region>, Error> {
    let opposite = Edges::new(mesh).opposite(mesh.triangles.len());
    let areas: Vec<V3> = mesh
        .triangles
        .iter()
        .map(|&triangle| {
            let [a, b, c] = mesh.corners(triangle);
            double_area(a, b, c)
        })
        .collect();
    let mut order: Vec<u32> = (0..areas.len() as u32).collect();
    order.sort_by(|&a, &b| {
        norm(areas[b as usize])
            .total_cmp(&norm(areas[a as usize]))
            .then(a.cmp(&b))
    });
    let mut region_of = vec![NONE; areas.len()];
    let mut regions = Vec::new();
    let mut queue = VecDeque::new();
    for seed in order {
        if region_of[seed as usize] != NONE {
            continue;
        }
        let number = regions.len() as u32;
        let normal = unit(areas[seed as usize]).unwrap_or([0.0, 0.0, 1.0]);
        let mut triangles = Vec::new();
        region_of[seed as usize] = number;
        queue.push_back(seed);
        while let Some(triangle) = queue.pop_front() {
            triangles.push(triangle);
            for &corner in &opposite[3 * triangle as usize..][..3] {
                if corner == NONE || region_of[corner as usize / 3] != NONE {
                    continue;
                }
                let area = areas[corner as usize / 3];
                // One without area has no direction and lies in any plane.
                if dot(area, normal) >= least_cosine * norm(area) {
                    region_of[corner as usize / 3] = number;
                    queue.push_back(corner / 3);
                }
            }
        }
        let region = project(mesh, triangles, normal);
        let kept = separate(region, |triangle| region_of[triangle as usize] = NONE);
        ticker.step(kept.triangles.len() as u64)?;
        regions.push(kept);
    }
    Ok(regions)
}

fn project(mesh: &Mesh, triangles: Vec<u32>, normal: V3) -> Region {
    let (u, v) = frame(normal);
    let flat = |&triangle: &u32| {
        mesh.corners(mesh.triangles[triangle as usize])
            .map(|p| [dot(p, u), dot(p, v)])
    };
    Region {
        corners: triangles.iter().map(flat).collect(),
        triangles,
    }
}

/// Takes out of a region the triangles that overlap earlier ones; the first stays.
fn separate(region: Region, mut reject: impl FnMut(u32)) -> Region {
    let mut taken = Taken::new(&region.corners);
    let mut kept = Region {
        triangles: Vec::with_capacity(region.triangles.len()),
        corners: Vec::with_capacity(region.triangles.len()),
    };
    for (i, (&triangle, &corners)) in region.triangles.iter().zip(&region.corners).enumerate() {
        if taken.take(&region.corners, i as u32) {
            kept.triangles.push(triangle);
            kept.corners.push(corners);
        } else {
            reject(triangle);
        }
    }
    kept
}

impl Region {
    /// Turns the region so that its box is small, higher than wide, and begins at 0.
    pub(super) fn turn(&mut self) {
        let turned = |[x, y]: [f64; 2], turn: u32| {
            let (sin, cos) = (f64::from(turn) * std::f64::consts::FRAC_PI_2 / f64::from(TURNS)).sin_cos();
            [x * cos - y * sin, x * sin + y * cos]
        };
        let around = |turn: u32| {
            let corners = self.corners.as_flattened().iter().map(|&p| turned(p, turn));
            corners.fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[low, high], p| {
                [
                    [low[0].min(p[0]), low[1].min(p[1])],
                    [high[0].max(p[0]), high[1].max(p[1])],
                ]
            })
        };
        let size = |turn: u32| {
            let [low, high] = around(turn);
            [high[0] - low[0], high[1] - low[1]]
        };
        let area = |turn: u32| size(turn)[0] * size(turn)[1];
        let mut best = (0, area(0));
        for turn in 1..TURNS {
            let area = area(turn);
            if area < best.1 {
                best = (turn, area);
            }
        }
        // A quarter turn more stands it up.
        let [w, h] = size(best.0);
        let turn = if w > h { best.0 + TURNS } else { best.0 };
        let [low, _] = around(turn);
        for p in self.corners.as_flattened_mut() {
            let [x, y] = turned(*p, turn);
            *p = [x - low[0], y - low[1]];
        }
    }

    /// The corners of a turned region after half a turn more.
    pub(super) fn half_turned(&self) -> Vec<[[f64; 2]; 3]> {
        let [w, h] = self.size();
        self.corners
            .iter()
            .map(|corners| corners.map(|[x, y]| [w - x, h - y]))
            .collect()
    }

    /// Area in the plane.
    pub(super) fn area(&self) -> f64 {
        let area = |[a, b, c]: &[[f64; 2]; 3]| 0.5 * turn(*a, *b, *c);
        self.corners.iter().map(area).sum()
    }

    /// Width and height of a turned region.
    pub(super) fn size(&self) -> [f64; 2] {
        let corners = self.corners.as_flattened().iter();
        corners.fold([0.0; 2], |size, p| [size[0].max(p[0]), size[1].max(p[1])])
    }
}
