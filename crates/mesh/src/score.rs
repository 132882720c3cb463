//! How near a mesh is to the truth.
//!
//! Accuracy looks from points of the mesh to the truth, completeness from points of the truth to the mesh, whose triangles
//! are taken as they are. Precision and recall are the shares of these within a distance, F1 their harmonic mean (Knapitsch
//! et al. 2017, "Tanks and Temples"); Chamfer is the mean of the two mean distances.

use crate::nearest::{Points, Surface};
use crate::progress::Ticker;
use crate::sample::by_area;
use crate::vector::{V3, dot, double_area, norm, unit, wide};
use crate::{Error, Mesh, Progress, parallel};

#[cfg(test)]
mod tests;

/// Distance from a surface known exactly, in scene units, and the surface's normal at the nearest place.
pub type Distance<'a> = &'a (dyn Fn([f32; 3]) -> (f64, Option<[f32; 3]>) + Sync);

/// What a mesh is measured by.
#[derive(Clone, Copy)]
pub enum Truth<'a> {
    /// Points on the surface. A mesh without triangles is such a set, with normals or without.
    Points(&'a Mesh),
    /// A mesh.
    Mesh(&'a Mesh),
    /// An exact distance for accuracy, and points on the surface for completeness.
    Exact {
        /// Distance from the surface.
        distance: Distance<'a>,
        /// Points on it.
        points: &'a Mesh,
    },
}

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Points sampled on a mesh, by area.
    pub samples: u64,
    /// Seed of the sampling.
    pub seed: u64,
    /// Distances, scene units, for precision and recall.
    pub distances: Vec<f64>,
    /// Points of the mesh farther than this share of the truth's largest side from its box do not count; `None` counts all.
    pub margin: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            samples: 1_000_000,
            seed: 0,
            distances: Vec::new(),
            margin: Some(0.05),
        }
    }
}

/// Distances in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Points measured.
    pub points: u64,
    /// Mean distance, scene units.
    pub mean: f64,
    /// Half of the points are at most so far.
    pub median: f64,
    /// 95 % of the points are at most so far.
    pub percent_95: f64,
    /// Share of the points within each of the distances asked for.
    pub within: Vec<f64>,
    /// Angles between the normals, where both sides have them.
    pub normals: Option<Angles>,
}

/// Angles between normals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Angles {
    /// Mean of the angle between the lines, 0 to 90 degrees.
    pub mean: f64,
    /// Its median.
    pub median: f64,
    /// Share of the points whose normals face opposite ways.
    pub turned: f64,
}

/// How near a mesh is to the truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// From the mesh to the truth; its shares are precisions.
    pub accuracy: Side,
    /// From the truth to the mesh; its shares are recalls.
    pub completeness: Side,
    /// Mean of the two mean distances, scene units.
    pub chamfer: f64,
    /// F1 at each of the distances asked for.
    pub f1: Vec<f64>,
}

/// A distance, and the cosine between the normals there.
type Measured = (f64, Option<f64>);

/// Measures a mesh.
///
/// # Errors
/// [`Error::Setting`] for a distance or margin below 0; [`Error::Empty`] when the mesh has no area, the truth no points, or
/// nothing of the mesh lies near the truth; [`Error::Stopped`].
pub fn score(mesh: &Mesh, truth: Truth<'_>, settings: &Settings, progress: Progress<'_>) -> Result<Score, Error> {
    for &distance in &settings.distances {
        if distance.is_nan() || distance < 0.0 {
            return Err(Error::setting("distance of a score", distance, "0 or above"));
        }
    }
    if settings.samples == 0 {
        return Err(Error::setting("samples of a score", 0, "at least 1"));
    }
    let known = match truth {
        Truth::Points(points) | Truth::Exact { points, .. } => Oriented::points(points),
        Truth::Mesh(mesh) => Oriented::sampled(mesh, settings, 1)?,
    };
    let empty = |needs| Error::Empty { job: "a score", needs };
    let [low, high] = crate::mesh::bounds(&known.positions).ok_or(empty("points of the truth"))?;
    let mut found = Oriented::sampled(mesh, settings, 0)?;
    if let Some(margin) = settings.margin {
        if margin.is_nan() || margin < 0.0 {
            return Err(Error::setting("margin of a score", margin, "0 or above"));
        }
        let side = |i: usize| f64::from(high[i]) - f64::from(low[i]);
        let margin = margin * (0..3).map(side).fold(0.0, f64::max);
        found.retain(|p| {
            (0..3).all(|i| (f64::from(low[i]) - margin..=f64::from(high[i]) + margin).contains(&f64::from(p[i])))
        });
        if found.positions.is_empty() {
            return Err(empty("part near the truth"));
        }
    }
    let mut ticker = Ticker::new(progress, (known.positions.len() + found.positions.len()) as u64);
    let accuracy = match truth {
        Truth::Points(points) => {
            let tree = Points::new(&points.positions)?;
            found.measure(&mut ticker, |p| {
                let hit = tree.nearest(p).unwrap_or_default();
                let normal = points.normals.as_ref().map(|normals| wide(normals[hit.index as usize]));
                (hit.distance, normal)
            })?
        }
        Truth::Mesh(mesh) => found.measure_to(&Surface::new(mesh)?, mesh, &mut ticker)?,
        Truth::Exact { distance, .. } => found.measure(&mut ticker, |p| {
            let (distance, normal) = distance(p);
            (distance.abs(), normal.map(wide))
        })?,
    };
    let completeness = known.measure_to(&Surface::new(mesh)?, mesh, &mut ticker)?;
    ticker.finish()?;
    let accuracy = side(accuracy, &settings.distances);
    let completeness = side(completeness, &settings.distances);
    let f1 = |(&precision, &recall): (&f64, &f64)| match precision + recall > 0.0 {
        true => 2.0 * precision * recall / (precision + recall),
        false => 0.0,
    };
    Ok(Score {
        chamfer: 0.5 * (accuracy.mean + completeness.mean),
        f1: accuracy.within.iter().zip(&completeness.within).map(f1).collect(),
        accuracy,
        completeness,
    })
}

/// Points, with normals where there are any.
struct Oriented {
    positions: Vec<[f32; 3]>,
    normals: Option<Vec<[f32; 3]>>,
}

impl Oriented {
    fn points(points: &Mesh) -> Self {
        Self {
            positions: points.positions.clone(),
            normals: points.normals.clone(),
        }
    }

    /// Samples of a mesh; of two with one seed, `stream` distinguishes them.
    fn sampled(mesh: &Mesh, settings: &Settings, stream: u64) -> Result<Self, Error> {
        let samples = by_area(
            mesh,
            settings.samples,
            settings.seed.wrapping_mul(2).wrapping_add(stream),
        )?;
        Ok(Self {
            positions: samples.positions,
            normals: Some(samples.normals),
        })
    }

    fn retain(&mut self, mut keep: impl FnMut(&[f32; 3]) -> bool) {
        let kept: Vec<bool> = self.positions.iter().map(&mut keep).collect();
        let mut next = kept.iter();
        self.positions.retain(|_| next.next() == Some(&true));
        let mut next = kept.iter();
        if let Some(normals) = &mut self.normals {
            normals.retain(|_| next.next() == Some(&true));
        }
    }

    /// Distance of each point, by what gives distance and normal of the nearest place.
    fn measure(
        &self,
        ticker: &mut Ticker<'_>,
        nearest: impl Fn([f32; 3]) -> (f64, Option<V3>) + Sync,
    ) -> Result<Vec<Measured>, Error> {
        let order: Vec<u32> = (0..self.positions.len() as u32).collect();
        parallel::map(&order, ticker, |&i| {
            let (distance, normal) = nearest(self.positions[i as usize]);
            let own = self.normals.as_ref().map(|normals| wide(normals[i as usize]));
            let cosine = own
                .zip(normal)
                .and_then(|(a, b)| Some(dot(unit(a)?, unit(b)?).clamp(-1.0, 1.0)));
            (distance, cosine)
        })
    }

    fn measure_to(&self, surface: &Surface<'_>, mesh: &Mesh, ticker: &mut Ticker<'_>) -> Result<Vec<Measured>, Error> {
        self.measure(ticker, |p| {
            let hit = surface.nearest(p);
            let [a, b, c] = mesh.corners(mesh.triangles[hit.index as usize]);
            (hit.distance, Some(double_area(a, b, c)).filter(|&n| norm(n) > 0.0))
        })
    }
}

/// Figures of at least one point.
fn side(measured: Vec<Measured>, distances: &[f64]) -> Side {
    let count = measured.len() as f64;
    let mut away: Vec<f64> = measured.iter().map(|m| m.0).collect();
    let mean = away.iter().sum::<f64>() / count;
    let within = distances
        .iter()
        .map(|&most| away.iter().filter(|&&d| d <= most).count() as f64 / count)
        .collect();
    let cosines: Vec<f64> = measured.iter().filter_map(|m| m.1).collect();
    let normals = (!cosines.is_empty()).then(|| {
        let mut angles: Vec<f64> = cosines.iter().map(|c| libm::acos(c.abs()).to_degrees()).collect();
        let count = cosines.len() as f64;
        Angles {
            mean: angles.iter().sum::<f64>() / count,
            median: quantile(&mut angles, 0.5),
            turned: cosines.iter().filter(|&&c| c < 0.0).count() as f64 / count,
        }
    });
    Side {
        points: measured.len() as u64,
        mean,
        median: quantile(&mut away, 0.5),
        percent_95: quantile(&mut away, 0.95),
        within,
        normals,
    }
}

/// The value that this share of the values does not pass; 0 of none.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let at = ((share * values.len() as f64).ceil() as usize)
        .saturating_sub(1)
        .min(last);
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
