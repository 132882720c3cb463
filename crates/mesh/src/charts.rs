//! Texture coordinates: which part of a picture covers which triangle.
//!
//! [`charts`] grows regions over faces while the normal stays near the chart's, projects each onto its plane, and packs
//! their boxes. [`grid`] gives two triangles a square of texels, whatever they are (the layout of SuGaR).

mod grid;
mod grow;
mod overlap;
mod pack;

#[cfg(test)]
mod tests;

pub use grid::{Grid, grid};

use grow::Region;
use pack::Rectangle;

use crate::progress::Ticker;
use crate::{Error, Mesh, Progress};

/// Directions within a quarter turn that are tried for a chart's box.
const TURNS: u32 = 16;
/// Halvings of the interval in which the scale is searched.
const SEARCHES: u32 = 12;
/// Largest picture, texels a side.
const MOST_TEXELS: u32 = 1 << 16;

/// How [`charts`] lays a picture out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Texels along the picture's side.
    pub size: u32,
    /// Texels between charts.
    pub gutter: u32,
    /// Largest angle between a triangle's normal and its chart's, degrees below 90.
    pub angle: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            size: 4096,
            gutter: 2,
            angle: 50.0,
        }
    }
}

/// What [`charts`] made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Chart of each triangle.
    pub chart_of: Vec<u32>,
    /// Number of charts.
    pub charts: u32,
    /// Share of the picture that triangles cover.
    pub fill: f64,
    /// Texels along a scene unit.
    pub texels_per_unit: f64,
}

/// Gives a mesh texture coordinates in charts, at the largest scale at which all fit.
///
/// Charts keep shapes up to the foreshortening of their angle. No two triangles overlap: one that would, as on a spiral, goes
/// to another chart. Border texels of charts are `gutter` texels apart, and their centres at least half a texel inside.
///
/// # Errors
/// [`Error::Empty`] without triangles; [`Error::Setting`]; [`Error::TooMany`] when not even the smallest charts fit;
/// [`Error::Stopped`].
pub fn charts(mesh: Mesh, settings: Settings, progress: Progress<'_>) -> Result<(Mesh, Layout), Error> {
    if !(1..=MOST_TEXELS).contains(&settings.size) {
        return Err(Error::setting("texture size", settings.size, "from 1 to 65536"));
    }
    if settings.gutter > settings.size {
        return Err(Error::setting(
            "texture gutter",
            settings.gutter,
            "at most the texture size",
        ));
    }
    if !(settings.angle >= 0.0 && settings.angle < 90.0) {
        return Err(Error::setting("angle of charts", settings.angle, "from 0 to below 90"));
    }
    if mesh.triangles.is_empty() {
        return Err(Error::Empty {
            job: "a texture",
            needs: "triangles",
        });
    }
    let mut ticker = Ticker::new(progress, mesh.triangles.len() as u64 * 5 / 4);
    let mut regions = grow::regions(&mesh, settings.angle.to_radians().cos(), &mut ticker)?;
    regions.iter_mut().for_each(Region::turn);
    let boxes: Vec<[f64; 2]> = regions.iter().map(|region| region.size()).collect();
    let (scale, places) = fit(&boxes, settings, &mut ticker)?;
    let side = f64::from(settings.size);
    let mut uvs = vec![[[0.0; 2]; 3]; mesh.triangles.len()];
    let mut layout = Layout {
        chart_of: vec![0; mesh.triangles.len()],
        charts: regions.len() as u32,
        fill: 0.0,
        texels_per_unit: scale,
    };
    for (chart, (region, place)) in (0..).zip(regions.iter().zip(&places)) {
        for (&triangle, corners) in region.triangles.iter().zip(&region.corners) {
            let texel = |p: &[f64; 2]| [0, 1].map(|i| f64::from(place[i]) + 0.5 + p[i] * scale);
            uvs[triangle as usize] = [0, 1, 2].map(|k| texel(&corners[k]).map(|x| (x / side) as f32));
            layout.chart_of[triangle as usize] = chart;
            layout.fill += 0.5 * overlap::turn(corners[0], corners[1], corners[2]) * (scale / side).powi(2);
        }
    }
    ticker.finish()?;
    Ok((mesh.with_uvs(uvs)?, layout))
}

/// The largest scale, texels a unit, at which boxes of these sizes fit, and where they lie.
fn fit(boxes: &[[f64; 2]], settings: Settings, ticker: &mut Ticker<'_>) -> Result<(f64, Vec<[u32; 2]>), Error> {
    let Settings { size, gutter, .. } = settings;
    // A chart touches a texel more than it is long, and the gutter behind the last one is outside.
    let side = size + gutter;
    let at = |scale: f64| {
        let texels = |x: f64| (x * scale).ceil().min(2.0 * f64::from(side)) as u32 + 1 + gutter;
        let rectangles: Vec<Rectangle> = boxes.iter().map(|size| size.map(texels)).collect();
        pack::pack(&rectangles, side)
    };
    let total: f64 = boxes.iter().map(|[w, h]| w * h).sum();
    let longest = boxes.iter().flatten().fold(0.0_f64, |a, &b| a.max(b));
    // Boxes that cover everything; or lines, that are as long as the picture.
    let mut high = (f64::from(size) / total.sqrt()).min(f64::from(size) / longest);
    if !high.is_finite() {
        high = 0.0;
    }
    let mut best = (0.0, at(0.0));
    let mut low = 0.0;
    for _ in 0..SEARCHES {
        ticker.step(0)?;
        // Most layouts come to 70 to 90 % of the bound.
        let middle = if low == 0.0 { 0.75 * high } else { 0.5 * (low + high) };
        match at(middle) {
            Some(places) => {
                low = middle;
                best = (middle, Some(places));
            }
            None => high = middle,
        }
    }
    match best {
        (scale, Some(places)) => Ok((scale, places)),
        (_, None) => Err(Error::TooMany {
            what: "charts",
            found: boxes.len() as u64,
            most: u64::from(side / (1 + gutter)).pow(2),
            hint: "raise the texture size, or decimate the mesh",
        }),
    }
}
