//! Vertices into one view, and the triangles that are drawn there.

use super::window::Outline;
use super::{Settings, Vertex};
use crate::TILE;
use crate::gaussian::View;
use crate::project::TileRect;
use crate::sh::sh_basis;
use kiln_scene::math::{Real, Vec3, cross, dot, norm, scale, sigmoid, sub};

/// Triangles fainter than this are left out.
pub const OPACITY_MIN: f64 = 0.01;
/// Largest distance of a corner from the centre, samples; larger triangles are left out.
pub const SIZE_MAX: f64 = 1600.0;
/// The least such distance, and the least radius of the incircle, samples.
pub const SIZE_MIN: f64 = 1.0;
/// Least cosine between a triangle's normal and the ray to its centre.
pub const COSINE_MIN: f64 = 1e-3;
/// Corners lie beyond this share of the near plane's depth, centres beyond all of it.
pub const CORNER_NEAR: f64 = 0.05;

/// A vertex as a view sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected<R> {
    /// On the image, samples.
    pub point: [R; 2],
    /// Camera-space z, world units.
    pub z: R,
    /// Opacity after activation.
    pub opacity: R,
    /// Colour, not below 0.
    pub rgb: Vec3<R>,
    /// Channels whose colour was clamped at 0.
    pub clamped: [bool; 3],
}

/// A triangle that is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Facet<R> {
    /// Its number in the model.
    pub id: u32,
    /// On the image.
    pub outline: Outline<R>,
    /// Camera-space z of the corners.
    pub depths: [R; 3],
    /// Colours of the corners.
    pub colors: [Vec3<R>; 3],
    /// Opacity: that of the faintest corner.
    pub opacity: R,
    /// The faintest corner, the first of several.
    pub faintest: usize,
    /// Unit normal, camera space, turned towards the camera.
    pub normal: Vec3<R>,
    /// Camera-space z of the centre.
    pub depth: R,
    /// Largest distance of a corner from the projected centre, whole samples upwards.
    pub size: R,
    /// Tiles of its box, clamped to the image.
    pub rect: TileRect,
}

/// Pixels along the side of a tile that has a list: the largest power of two with at most [`TILE`] samples.
pub(super) fn list_px(samples: u32) -> u32 {
    (0..)
        .map(|k| TILE >> k)
        .find(|side| side * samples <= TILE)
        .unwrap_or(1)
}

/// Such tiles across and down an image.
pub(super) fn list_grid(size_px: [u32; 2], samples: u32) -> [u32; 2] {
    size_px.map(|side| side.div_ceil(list_px(samples)))
}

/// Focal lengths and principal point, samples.
pub type Lens<R> = ([R; 2], [R; 2]);

/// Those of a view.
#[must_use]
pub fn intrinsics<R: Real>(view: &View<R>, samples: u32) -> Lens<R> {
    let f = R::of(f64::from(samples));
    let half = R::of(0.5);
    (view.focal.map(|v| f * v), view.centre.map(|v| f * v - half))
}

/// Projects a vertex.
#[must_use]
pub fn project<R: Real>(vertex: &Vertex<R>, view: &View<R>, settings: &Settings) -> Projected<R> {
    let p = view.to_camera(vertex.position);
    let (focal, centre) = intrinsics(view, settings.samples);
    let away = sub(vertex.position, view.position);
    let direction = scale(away, R::ONE / norm(away));
    let basis = sh_basis(settings.sh_degree, direction);
    let mut rgb = [R::of(0.5); 3];
    for (weight, coefficient) in basis.iter().zip(vertex.sh) {
        for c in 0..3 {
            rgb[c] += *weight * coefficient[c];
        }
    }
    let floor = R::of(settings.opacity_floor);
    Projected {
        point: std::array::from_fn(|i| focal[i] * (p[i] / p[2]) + centre[i]),
        z: p[2],
        opacity: floor + (R::ONE - floor) * sigmoid(vertex.weight),
        rgb: rgb.map(|v| if v < R::ZERO { R::ZERO } else { v }),
        clamped: rgb.map(|v| v < R::ZERO),
    }
}

/// A place in camera space from where it is on the image.
#[must_use]
pub fn unproject<R: Real>(point: [R; 2], z: R, (focal, centre): Lens<R>) -> Vec3<R> {
    let [x, y] = std::array::from_fn(|i| (point[i] - centre[i]) / focal[i] * z);
    [x, y, z]
}

/// Normal of the triangle with these corners before it is normalised and turned.
pub(super) fn raw_normal<R: Real>(p: [Vec3<R>; 3]) -> Vec3<R> {
    cross(sub(p[1], p[0]), sub(p[2], p[0]))
}

/// The triangle as it is drawn; `None` when it is not.
#[must_use]
pub fn facet<R: Real>(id: u32, corners: [&Projected<R>; 3], view: &View<R>, settings: &Settings) -> Option<Facet<R>> {
    let depths = corners.map(|c| c.z);
    let third = R::of(1.0 / 3.0);
    let depth = (depths[0] + depths[1] + depths[2]) * third;
    let corner_near = R::of(CORNER_NEAR) * view.near_z;
    // Comparisons that NaN fails, here and below.
    let before = depth > view.near_z && depths.iter().all(|z| *z > corner_near);
    if !before {
        return None;
    }
    let mut faintest = 0;
    for k in 1..3 {
        if corners[k].opacity < corners[faintest].opacity {
            faintest = k;
        }
    }
    let opacity = corners[faintest].opacity;
    let is_seen = opacity >= R::of(OPACITY_MIN);
    if !is_seen {
        return None;
    }
    let lens = intrinsics(view, settings.samples);
    let camera = corners.map(|c| unproject(c.point, c.z, lens));
    let centre: Vec3<R> = std::array::from_fn(|i| (camera[0][i] + camera[1][i] + camera[2][i]) * third);
    let raw = raw_normal(camera);
    let facing = dot(raw, centre);
    let length = norm(raw);
    let faces = facing.abs() >= R::of(COSINE_MIN) * length * norm(centre) && length > R::ZERO;
    if !faces {
        return None;
    }
    let towards = if facing > R::ZERO { -R::ONE } else { R::ONE };
    let outline = Outline::new(corners.map(|c| c.point));
    let (focal, principal) = lens;
    let middle: [R; 2] = std::array::from_fn(|i| focal[i] * (centre[i] / centre[2]) + principal[i]);
    let reach = corners
        .iter()
        .fold(R::ZERO, |most, c| most.max(norm(sub(c.point, middle))));
    let size = reach.ceil();
    let least = R::of(SIZE_MIN);
    let is_sized = size <= R::of(SIZE_MAX) && size >= least && outline.radius >= least;
    if !is_sized {
        return None;
    }
    let grid = list_grid(view.size_px, settings.samples);
    let side = R::of(f64::from(list_px(settings.samples) * settings.samples));
    let tile = |i: usize, v: R| {
        let tile = (v / side).floor().max(R::of(-1.0)).min(R::of(f64::from(grid[i])));
        tile.to_f64() as i64
    };
    let low = |i: usize| corners[0].point[i].min(corners[1].point[i]).min(corners[2].point[i]);
    let high = |i: usize| corners[0].point[i].max(corners[1].point[i]).max(corners[2].point[i]);
    let inside = |i: usize, tile: i64| u32::try_from(tile).unwrap_or(0).min(grid[i]);
    let rect = TileRect {
        min: std::array::from_fn(|i| inside(i, tile(i, low(i)))),
        max: std::array::from_fn(|i| inside(i, tile(i, high(i)) + 1)),
    };
    let shown = rect.max[0] > rect.min[0] && rect.max[1] > rect.min[1];
    shown.then_some(Facet {
        id,
        outline,
        depths,
        colors: corners.map(|c| c.rgb),
        opacity,
        faintest,
        normal: scale(raw, towards / length),
        depth,
        size,
        rect,
    })
}
