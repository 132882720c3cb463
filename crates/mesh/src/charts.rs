//! Texture coordinates: which part of a picture covers which triangle.
//!
//! [`charts`] grows regions over faces while the normal stays near the chart's, projects each onto its plane, and packs
//! their outlines. [`grid`] gives two triangles a square of texels, whatever they are (the layout of SuGaR).

mod grid;
mod grow;
mod overlap;
mod pack;

#[cfg(test)]
mod tests;

pub use grid::{Grid, grid};

use grow::Region;
use pack::{Outline, Place};

use crate::progress::Ticker;
use crate::{Error, Mesh, Progress};

/// Directions within a quarter turn that are tried for a chart's box.
const TURNS: u32 = 16;
/// Halvings of the interval in which the scale is searched.
const SEARCHES: u32 = 10;
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
/// to another chart. Texels that two charts touch are `gutter` texels apart.
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
    let (scale, places) = fit(&regions, settings, &mut ticker)?;
    let side = f64::from(settings.size);
    let mut uvs = vec![[[0.0; 2]; 3]; mesh.triangles.len()];
    let mut layout = Layout {
        chart_of: vec![0; mesh.triangles.len()],
        charts: regions.len() as u32,
        fill: 0.0,
        texels_per_unit: scale,
    };
    for (chart, (region, place)) in (0..).zip(regions.iter_mut().zip(&places)) {
        if place.is_turned {
            region.corners = region.half_turned();
        }
        let origin = [place.x, place.y].map(f64::from);
        for (&triangle, corners) in region.triangles.iter().zip(&region.corners) {
            let texel = |p: &[f64; 2]| [0, 1].map(|i| origin[i] + 0.5 + p[i] * scale);
            uvs[triangle as usize] = [0, 1, 2].map(|k| texel(&corners[k]).map(|x| (x / side) as f32));
            layout.chart_of[triangle as usize] = chart;
        }
        layout.fill += region.area() * (scale / side).powi(2);
    }
    ticker.finish()?;
    Ok((mesh.with_uvs(uvs)?, layout))
}

/// The largest scale, texels a unit, at which regions fit, and where they lie.
fn fit(regions: &[Region], settings: Settings, ticker: &mut Ticker<'_>) -> Result<(f64, Vec<Place>), Error> {
    let Settings { size, gutter, .. } = settings;
    let at = |scale: f64| {
        let outlines = |region: &Region| {
            let turned = Outline::new(&region.half_turned(), scale, size)?;
            Some([Outline::new(&region.corners, scale, size)?, turned])
        };
        pack::pack(&regions.iter().map(outlines).collect::<Option<Vec<_>>>()?, size, gutter)
    };
    let mut best = match at(0.0) {
        Some(places) => (0.0, places),
        None => {
            return Err(Error::TooMany {
                what: "charts",
                found: regions.len() as u64,
                most: u64::from(size.div_ceil(1 + gutter)).pow(2),
                hint: "raise the texture size, or decimate the mesh",
            });
        }
    };
    let area: f64 = regions.iter().map(Region::area).sum();
    let longest = regions.iter().flat_map(Region::size).fold(0.0, f64::max);
    // Charts that cover everything; or lines, that are as long as the picture.
    let mut high = (f64::from(size) / area.sqrt()).min(f64::from(size) / longest);
    if !high.is_finite() {
        return Ok(best);
    }
    let mut low = 0.0;
    for _ in 0..SEARCHES {
        ticker.step(0)?;
        // Most layouts fill half of the picture.
        let middle = if low == 0.0 { 0.7 * high } else { 0.5 * (low + high) };
        match at(middle) {
            Some(places) => {
                low = middle;
                best = (middle, places);
            }
            None => high = middle,
        }
    }
    Ok(best)
}
