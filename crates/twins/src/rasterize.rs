//! Blends each tile's depth-sorted Gaussians front to back.
//!
//! Volume rendering of Gaussians as in Kerbl et al. 2023, equations 2 and 3:
//! `C = sum_i c_i alpha_i T_i`, `T_i = prod_{j<i} (1 - alpha_j)`, `alpha = min(0.99, opacity e^power)`,
//! `power = -(A dx^2 + C dy^2) / 2 - B dx dy`.

use super::project::{ALPHA_MIN, Visible};
use super::{TILE, tile_grid};
use kiln_scene::math::{Real, Sym2, Vec3};

/// Alpha never exceeds this, so the transmittance behind a Gaussian can be divided out again.
pub const ALPHA_MAX: f64 = 0.99;
/// Blending stops before the Gaussian that would take the transmittance below this.
pub const TRANSMITTANCE_MIN: f64 = 1e-4;

/// Depth-sorted lists of all tiles: what the sort leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileLists {
    /// `[start, end)` into `visible` for each tile, row-major.
    pub ranges: Vec<[u32; 2]>,
    /// Indices into the visible records, nearest first within a tile.
    pub visible: Vec<u32>,
}

/// A rendered image and what the backward pass needs to walk it again; one entry a pixel, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster<R> {
    /// Colour over the background, not clamped.
    pub rgb: Vec<Vec3<R>>,
    /// Transmittance left for the background.
    pub transmittance: Vec<R>,
    /// Entries of the tile's list up to and including the last that contributed; 0 when none did.
    pub last: Vec<u32>,
}

/// How one Gaussian covers one pixel.
#[derive(Clone, Copy, Debug)]
pub struct Coverage<R> {
    /// Centre minus pixel, pixels.
    pub d: [R; 2],
    /// e^power, the Gaussian's height at the pixel relative to its peak.
    pub falloff: R,
    /// Opacity at the pixel, at most [`ALPHA_MAX`].
    pub alpha: R,
}

/// Coverage of the pixel centred at `pixel`, or `None` when the Gaussian leaves it alone.
#[must_use]
pub fn coverage<R: Real>(mean_px: [R; 2], [a, b, c]: Sym2<R>, opacity: R, pixel: [R; 2]) -> Option<Coverage<R>> {
    let [dx, dy] = [mean_px[0] - pixel[0], mean_px[1] - pixel[1]];
    let power = R::of(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy;
    if power > R::ZERO {
        return None;
    }
    let falloff = power.exp();
    let alpha = (opacity * falloff).min(R::of(ALPHA_MAX));
    (alpha >= R::of(ALPHA_MIN)).then_some(Coverage {
        d: [dx, dy],
        falloff,
        alpha,
    })
}

/// Blends one pixel, sampled at `pixel`; `list` holds indices into `visible`, nearest first. Returns colour without background,
/// transmittance and the count stored in [`Raster::last`].
#[must_use]
pub fn blend_pixel<R: Real>(visible: &[Visible<R>], list: &[u32], pixel: [R; 2]) -> (Vec3<R>, R, u32) {
    let mut rgb = [R::ZERO; 3];
    let mut transmittance = R::ONE;
    let mut last = 0;
    for (position, &index) in list.iter().enumerate() {
        let splat = &visible[index as usize];
        let Some(cover) = coverage(splat.mean_px, splat.conic, splat.opacity, pixel) else {
            continue;
        };
        let behind = transmittance * (R::ONE - cover.alpha);
        if behind < R::of(TRANSMITTANCE_MIN) {
            break;
        }
        for (sum, colour) in rgb.iter_mut().zip(splat.rgb) {
            *sum += colour * cover.alpha * transmittance;
        }
        transmittance = behind;
        last = position as u32 + 1;
    }
    (rgb, transmittance, last)
}

/// The list of the tile that holds pixel (x, y).
#[must_use]
pub fn pixel_list(lists: &TileLists, width_px: u32, x: u32, y: u32) -> &[u32] {
    let tile = (y / TILE) * tile_grid(width_px, 1)[0] + x / TILE;
    let [start, end] = lists.ranges[tile as usize];
    &lists.visible[start as usize..end as usize]
}

/// Renders the image over `background`. `lists` has one range per tile of the
/// image.
#[must_use]
pub fn rasterize<R: Real>(
    size_px: [u32; 2],
    visible: &[Visible<R>],
    lists: &TileLists,
    background: Vec3<R>,
) -> Raster<R> {
    let n_px = size_px[0] as usize * size_px[1] as usize;
    let mut out = Raster {
        rgb: Vec::with_capacity(n_px),
        transmittance: Vec::with_capacity(n_px),
        last: Vec::with_capacity(n_px),
    };
    for y in 0..size_px[1] {
        for x in 0..size_px[0] {
            let pixel = [x, y].map(|v| R::of(f64::from(v)));
            let (rgb, transmittance, last) = blend_pixel(visible, pixel_list(lists, size_px[0], x, y), pixel);
            out.rgb
                .push(std::array::from_fn(|c| rgb[c] + transmittance * background[c]));
            out.transmittance.push(transmittance);
            out.last.push(last);
        }
    }
    out
}
