//! Blends the triangles of every sample front to back and averages a pixel's samples.

use super::project::{Facet, Projected, facet, list_grid, list_px, project};
use super::window::Inside;
use super::{Settings, Vertex};
use crate::gaussian::View;
use crate::project::ALPHA_MIN;
use crate::rasterize::{TRANSMITTANCE_MIN, TileLists};
use crate::{radix_sort, tile_intersect, tile_ranges};
use kiln_scene::math::{Real, Vec3};

/// Alpha never exceeds this.
pub const ALPHA_MAX: f64 = 0.999;

/// One view: vertices, triangles that are drawn, the lists of the tiles.
#[derive(Clone, Debug)]
pub struct Scene<R> {
    /// Of every vertex.
    pub projected: Vec<Projected<R>>,
    /// In the order of the model.
    pub facets: Vec<Facet<R>>,
    /// Nearest first in every tile.
    pub lists: TileLists,
}

/// What a pixel shows; means over its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pixel<R> {
    /// Over the background, not clamped.
    pub rgb: Vec3<R>,
    /// Left for the background.
    pub transmittance: R,
    /// Sum of normals by blending weights, camera space.
    pub normal: Vec3<R>,
    /// Sum of depths by blending weights.
    pub depth: R,
    /// Depth of the last triangle before which more than half the light was left, at the sample next to the pixel's centre; 0 =
    /// none.
    pub median: R,
}

/// How a triangle covers a sample.
#[derive(Clone, Copy, Debug)]
pub struct Coverage<R> {
    /// Where the sample lies in it.
    pub inside: Inside<R>,
    /// The window.
    pub window: R,
    /// Opacity by window, at most [`ALPHA_MAX`].
    pub alpha: R,
}

/// A view and its tile lists.
#[must_use]
pub fn scene<R: Real>(vertices: &[Vertex<R>], triangles: &[[u32; 3]], view: &View<R>, settings: &Settings) -> Scene<R> {
    let projected: Vec<_> = vertices.iter().map(|v| project(v, view, settings)).collect();
    let facets: Vec<Facet<R>> = (0..)
        .zip(triangles)
        .filter_map(|(id, corners)| facet(id, corners.map(|v| &projected[v as usize]), view, settings))
        .collect();
    let keys: Vec<u32> = facets
        .iter()
        .map(|f| tile_intersect::depth_key(f.depth, view.near_z))
        .collect();
    let numbers: Vec<u32> = (0..facets.len() as u32).collect();
    let order = radix_sort::sort_pairs(&keys, &numbers).1;
    let grid = list_grid(view.size_px, settings.samples);
    let (mut tiles, mut of_tiles) = (Vec::new(), Vec::new());
    for index in order {
        let rect = facets[index as usize].rect;
        for row in rect.min[1]..rect.max[1] {
            for column in rect.min[0]..rect.max[0] {
                tiles.push(row * grid[0] + column);
                of_tiles.push(index);
            }
        }
    }
    let (tiles, visible) = radix_sort::sort_pairs(&tiles, &of_tiles);
    let ranges = tile_ranges::tile_ranges(&tiles, (grid[0] * grid[1]) as usize);
    Scene {
        projected,
        facets,
        lists: TileLists { ranges, visible },
    }
}

/// Coverage of the sample at `p`, or `None` when the triangle leaves it alone.
#[must_use]
pub fn coverage<R: Real>(facet: &Facet<R>, p: [R; 2], sigma: R) -> Option<Coverage<R>> {
    let inside = facet.outline.at(p)?;
    let window = facet.outline.window(inside.phi, sigma);
    let alpha = (facet.opacity * window).min(R::of(ALPHA_MAX));
    (alpha >= R::of(ALPHA_MIN)).then_some(Coverage { inside, window, alpha })
}

/// Adds `factor` times `value`.
fn add<R: Real>(sum: &mut Vec3<R>, value: Vec3<R>, factor: R) {
    for (sum, value) in sum.iter_mut().zip(value) {
        *sum += value * factor;
    }
}

/// Value between the corners' values.
pub(super) fn mix<R: Real>(shares: [R; 3], values: [R; 3]) -> R {
    shares[0] * values[0] + shares[1] * values[1] + shares[2] * values[2]
}

/// Colour between the corners' colours.
pub(super) fn mix_color<R: Real>(shares: [R; 3], colors: &[Vec3<R>; 3]) -> Vec3<R> {
    std::array::from_fn(|c| mix(shares, [colors[0][c], colors[1][c], colors[2][c]]))
}

/// Blends a sample at `p`, without the background, and says how many entries of the list there are up to the last that
/// contributed. `seen` receives each contributor's record and blending weight.
pub fn blend_sample<R: Real>(
    facets: &[Facet<R>],
    list: &[u32],
    p: [R; 2],
    sigma: R,
    mut seen: impl FnMut(u32, R),
) -> (Pixel<R>, usize) {
    let mut out = Pixel {
        rgb: [R::ZERO; 3],
        transmittance: R::ONE,
        normal: [R::ZERO; 3],
        depth: R::ZERO,
        median: R::ZERO,
    };
    let mut last = 0;
    for (place, &index) in list.iter().enumerate() {
        let facet = &facets[index as usize];
        let Some(cover) = coverage(facet, p, sigma) else {
            continue;
        };
        let behind = out.transmittance * (R::ONE - cover.alpha);
        if behind < R::of(TRANSMITTANCE_MIN) {
            break;
        }
        let weight = cover.alpha * out.transmittance;
        let rgb = mix_color(cover.inside.shares, &facet.colors);
        let depth = mix(cover.inside.shares, facet.depths);
        add(&mut out.rgb, rgb, weight);
        add(&mut out.normal, facet.normal, weight);
        out.depth += weight * depth;
        if out.transmittance > R::of(0.5) {
            out.median = depth;
        }
        seen(index, weight);
        out.transmittance = behind;
        last = place + 1;
    }
    (out, last)
}

/// Samples of a pixel: their places, in the order in which they are drawn.
pub fn samples<R: Real>([x, y]: [u32; 2], samples: u32) -> impl Iterator<Item = [R; 2]> {
    let place = move |at: u32, step: u32| R::of(f64::from(at * samples + step));
    (0..samples * samples).map(move |s| [place(x, s % samples), place(y, s / samples)])
}

/// The list of the tile that a pixel is in.
pub(super) fn list_of<'a, R: Real>(scene: &'a Scene<R>, view: &View<R>, pixel: [u32; 2], samples: u32) -> &'a [u32] {
    let [column, row] = pixel.map(|at| at / list_px(samples));
    let tile = row * list_grid(view.size_px, samples)[0] + column;
    let [start, end] = scene.lists.ranges[tile as usize];
    &scene.lists.visible[start as usize..end as usize]
}

/// Renders a view over `background`, one entry a pixel, and the largest blending weight of every facet.
#[must_use]
pub fn rasterize<R: Real>(
    scene: &Scene<R>,
    view: &View<R>,
    settings: &Settings,
    background: Vec3<R>,
) -> (Vec<Pixel<R>>, Vec<R>) {
    let mut importance = vec![R::ZERO; scene.facets.len()];
    let sigma = R::of(settings.sigma);
    let f = settings.samples;
    let share = R::ONE / R::of(f64::from(f * f));
    let middle = (f / 2 * f + f / 2) as usize;
    let [width, height] = view.size_px;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let pixels = pixels.map(|at| {
        let list = list_of(scene, view, at, f);
        let mut out: Option<Pixel<R>> = None;
        for (s, p) in samples(at, f).enumerate() {
            let seen = |index: u32, weight: R| {
                let most = &mut importance[index as usize];
                *most = most.max(weight);
            };
            let (sample, _) = blend_sample(&scene.facets, list, p, sigma, seen);
            let sum = out.get_or_insert(Pixel {
                rgb: [R::ZERO; 3],
                transmittance: R::ZERO,
                normal: [R::ZERO; 3],
                depth: R::ZERO,
                median: R::ZERO,
            });
            add(&mut sum.rgb, sample.rgb, share);
            add(&mut sum.rgb, background, sample.transmittance * share);
            add(&mut sum.normal, sample.normal, share);
            sum.transmittance += sample.transmittance * share;
            sum.depth += sample.depth * share;
            if s == middle {
                sum.median = sample.median;
            }
        }
        out.unwrap_or(Pixel {
            rgb: background,
            transmittance: R::ONE,
            normal: [R::ZERO; 3],
            depth: R::ZERO,
            median: R::ZERO,
        })
    });
    (pixels.collect(), importance)
}
