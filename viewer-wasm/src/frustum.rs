//! A camera drawn as a pyramid: vertices for lines and for the photograph on its base.

use crate::camera::{Lens, Pose};
use crate::math::Vec3;

/// Floats a vertex: position, colour with opacity, texture place with layer (-1: none).
pub(crate) const VERTEX_FLOATS: usize = 10;
type Vertex = [f32; VERTEX_FLOATS];

/// Vertices of a camera.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outline {
    /// Two a line.
    pub(crate) lines: Vec<Vertex>,
    /// Three a triangle.
    pub(crate) triangles: Vec<Vertex>,
}

/// How a camera is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    /// Distance from the centre to the base, world units.
    pub(crate) depth: f32,
    /// Colour and opacity.
    pub(crate) tint: [f32; 4],
    /// Slot of its photograph.
    pub(crate) thumbnail: Option<u32>,
}

/// Corners of the base, from top left around.
fn corners(pose: &Pose, lens: &Lens, depth: f32) -> [Vec3; 4] {
    let [width, height] = lens.size.map(|side| side as f32);
    [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]].map(|[x, y]| {
        let ray = [
            (x - lens.centre[0]) / lens.focal[0],
            (y - lens.centre[1]) / lens.focal[1],
            1.0,
        ];
        pose.to_world(ray.map(|v| v * depth))
    })
}

/// The pyramid of a camera.
pub(crate) fn outline(pose: &Pose, lens: &Lens, style: &Style) -> Outline {
    let base = corners(pose, lens, style.depth);
    let vertex = |[x, y, z]: Vec3, [u, v, layer]: Vec3| {
        let [r, g, b, a] = style.tint;
        [x, y, z, r, g, b, a, u, v, layer]
    };
    let plain = |point: Vec3| vertex(point, [0.0, 0.0, -1.0]);
    let mut out = Outline::default();
    for side in 0..4 {
        out.lines.extend([plain(pose.position), plain(base[side])]);
        out.lines.extend([plain(base[side]), plain(base[(side + 1) % 4])]);
    }
    // A short stroke over the middle of the upper edge says where up is.
    let middle: Vec3 = std::array::from_fn(|i| 0.5 * (base[0][i] + base[1][i]));
    let above: Vec3 = std::array::from_fn(|i| middle[i] + 0.12 * (base[0][i] - base[3][i]));
    out.lines.extend([plain(middle), plain(above)]);
    if let Some(slot) = style.thumbnail {
        let place = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        for at in [0, 1, 2, 0, 2, 3] {
            let [u, v] = place[at];
            let mut corner = vertex(base[at], [u, v, slot as f32]);
            corner[6] = 0.85;
            out.triangles.push(corner);
        }
    }
    out
}

/// The camera under a point of the window, pixels: the nearest apex or base middle within `reach_px`.
pub(crate) fn pick(
    cameras: &[(Pose, Lens)],
    depth: f32,
    eye: &Pose,
    lens: &Lens,
    at: [f32; 2],
    reach_px: f32,
) -> Option<usize> {
    let distance = |point: Vec3| {
        let [x, y, z] = eye.to_camera(point);
        let px = |axis: usize, v: f32| v / z * lens.focal[axis] + lens.centre[axis] - at[axis];
        (z > 0.02).then(|| px(0, x).hypot(px(1, y)))
    };
    let mut best = (reach_px, None);
    for (index, (pose, lens)) in cameras.iter().enumerate() {
        let base = corners(pose, lens, depth);
        let middle = std::array::from_fn(|i| base.iter().map(|corner| corner[i]).sum::<f32>() / 4.0);
        for found in [distance(pose.position), distance(middle)].into_iter().flatten() {
            if found < best.0 {
                best = (found, Some(index));
            }
        }
    }
    best.1
}

/// Colour of a quality from 0 (worst) to 1 (best): from a warm to a cool tone of even lightness.
pub(crate) fn quality_tint(share: f32) -> Vec3 {
    const WORST: Vec3 = [0.91, 0.39, 0.26];
    const MIDDLE: Vec3 = [0.86, 0.74, 0.35];
    const BEST: Vec3 = [0.25, 0.66, 0.62];
    let share = share.clamp(0.0, 1.0);
    let (from, to, t) = if share < 0.5 {
        (WORST, MIDDLE, share * 2.0)
    } else {
        (MIDDLE, BEST, share * 2.0 - 1.0)
    };
    std::array::from_fn(|i| from[i] + t * (to[i] - from[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front() -> (Pose, Lens) {
        let pose = Pose {
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            position: [0.0; 3],
        };
        (
            pose,
            Lens {
                size: [200, 100],
                focal: [100.0; 2],
                centre: [100.0, 50.0],
            },
        )
    }

    #[test]
    fn the_base_is_the_picture_at_its_depth() {
        let (pose, lens) = front();
        let style = Style {
            depth: 2.0,
            tint: [1.0; 4],
            thumbnail: Some(3),
        };
        let drawn = outline(&pose, &lens, &style);
        assert_eq!((drawn.lines.len(), drawn.triangles.len()), (18, 6));
        assert_eq!(drawn.triangles[0][..3], [-2.0, -1.0, 2.0]);
        assert_eq!(drawn.triangles[0][7..], [0.0, 0.0, 3.0]);
        assert!(
            outline(
                &pose,
                &lens,
                &Style {
                    thumbnail: None,
                    ..style
                }
            )
            .triangles
            .is_empty()
        );
    }

    #[test]
    fn the_camera_under_the_pointer_is_found() {
        let (eye, lens) = front();
        let at = |x: f32| {
            (
                Pose {
                    position: [x, 0.0, 5.0],
                    ..eye
                },
                lens,
            )
        };
        let cameras = [at(-1.0), at(1.0)];
        assert_eq!(pick(&cameras, 0.1, &eye, &lens, [121.0, 50.0], 10.0), Some(1));
        assert_eq!(pick(&cameras, 0.1, &eye, &lens, [100.0, 50.0], 10.0), None);
        let behind = [(
            Pose {
                position: [0.0, 0.0, -5.0],
                ..eye
            },
            lens,
        )];
        assert_eq!(pick(&behind, 0.1, &eye, &lens, [100.0, 50.0], 1e9), None);
    }

    #[test]
    fn worse_is_warmer() {
        assert!(quality_tint(0.0)[0] > quality_tint(1.0)[0]);
        assert_eq!(quality_tint(f32::MIN), quality_tint(0.0));
    }
}
