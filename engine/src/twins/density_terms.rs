//! SuGaR's terms of the density and of normals around samples (Guedon and Lepetit 2024, sec. 4.1), and their gradients.
//!
//! A sample of Gaussian g is p = mu_g + R_g (1.5 s_g eps). The density there is d = sum a_j e^(-q_j / 2) over the neighbours j of
//! g, and beta the mean of their least deviations. The terms are means over samples:
//!
//! - density: |d - e^(-f^2 / (2 beta^2))|, f = (p - mu_g) . n_g;
//! - sdf: min(| beta sqrt(-2 ln(d / 16)) - |D(p) - z(p)| | / (E / 10), 10 E) with the depth map D, a constant, where p is seen;
//! - normals: |n_g - sum w_j n_j|^2 with n_j turned to n_g and weights a_j e^(-q_j / 2) |(p - mu_j) . n_j| / s_min,j^2 over their sum;
//!   only normals have a gradient.
//!
//! Gradients are by the rows that the density reads: centre, a rotation about the axes of the world, logs of the deviations,
//! opacity. [`by_parameters`] takes them on to what is trained.

use super::gaussian::{Gaussian, View};
use super::level::Row;
use super::rng;
use crate::kernels::neighbors::NONE;
use crate::math::{Real, Vec3, add, cross, dot, mat_vec, norm, scale, sigmoid, sub, transpose};

/// Spread of samples, standard deviations.
const SPREAD: f64 = 1.5;
/// Sums of weights and least deviations below it count as this.
const LEAST_WEIGHT: f64 = 1e-6;
const CHANNEL_OFFSET: u32 = 12;
const CHANNEL_SAMPLE: u32 = 13;

/// Owner of each of `samples` samples: the visible Gaussians, ascending ids, have equal shares.
#[must_use]
pub fn owners(visible: &[u32], samples: u32, seed: u32, iteration: u32) -> Vec<u32> {
    let count = visible.len() as u64;
    if count == 0 {
        return Vec::new();
    }
    let offset = u64::from(rng::bits(seed, iteration, 0, CHANNEL_OFFSET)) % count;
    let first = |rank: u64| (rank * u64::from(samples) + offset) / count;
    (0..)
        .zip(visible)
        .flat_map(|(rank, &id)| (first(rank)..first(rank + 1)).map(move |_| id))
        .collect()
}

/// What is drawn for a sample, standard normal along each axis of its Gaussian.
#[must_use]
pub fn draw<R: Real>(sample: u32, seed: u32, iteration: u32) -> Vec3<R> {
    [0, 1, 2].map(|axis| rng::normal::<R>(seed, iteration, sample, CHANNEL_SAMPLE + axis))
}

/// Gradient by a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowGradient<R> {
    /// By the centre.
    pub center: Vec3<R>,
    /// By a rotation about the axes of the world.
    pub turn: Vec3<R>,
    /// By the logs of the deviations.
    pub log_scale: Vec3<R>,
    /// By the opacity.
    pub opacity: R,
}

impl<R: Real> RowGradient<R> {
    /// None.
    pub const ZERO: Self = Self {
        center: [R::ZERO; 3],
        turn: [R::ZERO; 3],
        log_scale: [R::ZERO; 3],
        opacity: R::ZERO,
    };

    /// All values, in the order of the device's planes.
    #[must_use]
    pub fn values(&self) -> [R; 10] {
        let ([a, b, c], [d, e, f], [g, h, i]) = (self.center, self.turn, self.log_scale);
        [a, b, c, d, e, f, g, h, i, self.opacity]
    }
}

/// A depth map for the variant `sdf`, row by row, blended over the greatest depth.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a, R> {
    /// Depths.
    pub depths: &'a [R],
    /// Whose they are.
    pub view: &'a View<R>,
    /// Extent of the scene.
    pub extent: R,
}

impl<R: Real> Map<'_, R> {
    /// Depth of a place, that of the map where it is seen, and how the latter changes with the place; none outside of the picture.
    fn at(&self, place: Vec3<R>) -> Option<(R, R, Vec3<R>)> {
        let view = self.view;
        let t = view.to_camera(place);
        if t[2] <= view.near_z {
            return None;
        }
        let half = R::of(0.5);
        let pixel = [0, 1].map(|i| view.focal[i] * t[i] / t[2] + view.centre[i] - half);
        let last = view.size_px.map(|side| f64::from(side) - 1.0);
        let at = pixel.map(|p| p.to_f64());
        if !(0..2).all(|i| (0.0..=last[i]).contains(&at[i])) {
            return None;
        }
        let low = [0, 1].map(|i| at[i].floor().min((last[i] - 1.0).max(0.0)) as usize);
        let high = [0, 1].map(|i| (low[i] + 1).min(last[i] as usize));
        let part = [0, 1].map(|i| pixel[i] - R::of(low[i] as f64));
        let depth = |x: usize, y: usize| self.depths[y * view.size_px[0] as usize + x];
        let mix = |a: R, b: R, t: R| a + (b - a) * t;
        let [d00, d10] = [depth(low[0], low[1]), depth(high[0], low[1])];
        let [d01, d11] = [depth(low[0], high[1]), depth(high[0], high[1])];
        let value = mix(mix(d00, d10, part[0]), mix(d01, d11, part[0]), part[1]);
        let across = mix(d10 - d00, d11 - d01, part[1]);
        let down = mix(d01 - d00, d11 - d10, part[0]);
        let by = [view.focal[0] / t[2] * across, view.focal[1] / t[2] * down];
        let by_z = -(by[0] * t[0] + by[1] * t[1]) / t[2];
        let slope = mat_vec(transpose(view.rotation), [by[0], by[1], by_z]);
        Some((t[2], value, slope))
    }
}

/// What the terms are.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, R> {
    /// Weight of the density, or of the distances.
    pub weight: R,
    /// Weight of the normals.
    pub normal: R,
    /// Distances are compared with this map.
    pub map: Option<Map<'a, R>>,
}

/// Means over samples, and the gradient of their weighted sum by each row.
#[derive(Clone, Debug)]
pub struct DensityLoss<R> {
    /// Samples that count.
    pub samples: u32,
    /// Mean of the density's term.
    pub density: R,
    /// Mean of the normals' term.
    pub normals: R,
    /// Weighted sum of both.
    pub total: R,
    /// Gradients.
    pub rows: Vec<RowGradient<R>>,
}

/// The thinnest axis of a row, the first of equal ones.
fn thin<R: Real>(row: &Row<R>) -> usize {
    let [x, y, z] = row.inverse;
    if x >= y {
        if x >= z { 0 } else { 2 }
    } else if y >= z {
        1
    } else {
        2
    }
}

fn axis<R: Real>(row: &Row<R>, axis: usize) -> Vec3<R> {
    row.rotation.map(|row| row[axis])
}

/// The terms at samples of `owners`, of which `draws` says what was drawn, and their gradients; `k` neighbours of each Gaussian
/// are in `near`.
#[must_use]
pub fn density_loss<R: Real>(
    rows: &[Row<R>],
    (near, k): (&[u32], usize),
    owners: &[u32],
    draws: &[Vec3<R>],
    terms: &Terms<'_, R>,
) -> DensityLoss<R> {
    let mut loss = DensityLoss {
        samples: 0,
        density: R::ZERO,
        normals: R::ZERO,
        total: R::ZERO,
        rows: vec![RowGradient::ZERO; rows.len()],
    };
    for (&g, &drawn) in owners.iter().zip(draws) {
        sample(rows, near_of(near, k, g), (g, drawn), terms, &mut loss);
    }
    let mean = R::ONE / R::of(f64::from(loss.samples.max(1)));
    loss.density = mean * loss.density;
    loss.normals = mean * loss.normals;
    loss.total = terms.weight * loss.density + terms.normal * loss.normals;
    for row in &mut loss.rows {
        row.center = scale(row.center, mean);
        row.turn = scale(row.turn, mean);
        row.log_scale = scale(row.log_scale, mean);
        row.opacity = mean * row.opacity;
    }
    loss
}

fn near_of(near: &[u32], k: usize, g: u32) -> &[u32] {
    let list = &near[k * g as usize..][..k];
    let there = list.iter().position(|id| *id == NONE).unwrap_or(k);
    &list[..there]
}

/// A place that was drawn around a Gaussian.
struct Sample<'a, R> {
    own: &'a Row<R>,
    /// Thinnest axis of its Gaussian, which is its normal.
    own_thin: usize,
    normal: Vec3<R>,
    /// From the Gaussian's centre to the place, along its axes and the world's.
    local: Vec3<R>,
    from: Vec3<R>,
    place: Vec3<R>,
}

impl<'a, R: Real> Sample<'a, R> {
    fn new(own: &'a Row<R>, drawn: Vec3<R>) -> Self {
        let own_thin = thin(own);
        let local = [0, 1, 2].map(|i| R::of(SPREAD) * drawn[i] / own.inverse[i]);
        let from = mat_vec(own.rotation, local);
        Self {
            own,
            own_thin,
            normal: axis(own, own_thin),
            local,
            from,
            place: add(own.center, from),
        }
    }

    /// What the map shows at the place; none where it shows neither place nor Gaussian, or something else than the Gaussian.
    fn seen(&self, map: &Map<'_, R>) -> Option<(R, R, Vec3<R>)> {
        let own = self.own;
        let (z, depth, _) = map.at(own.center)?;
        let sight = sub(own.center, map.view.position);
        let turned = mat_vec(transpose(own.rotation), scale(sight, R::ONE / norm(sight)));
        let deviation = norm([0, 1, 2].map(|i| turned[i] / own.inverse[i]));
        if (z - depth).abs() > R::of(2.0) * deviation {
            return None;
        }
        map.at(self.place)
    }

    /// What a Gaussian near it is there.
    fn part(&self, row: &Row<R>) -> Part<R> {
        let (amount, v) = row.share(self.place);
        let steep = mat_vec(row.rotation, [0, 1, 2].map(|i| row.inverse[i] * v[i]));
        let axis_of = thin(row);
        let least = R::ONE / row.inverse[axis_of];
        let most = least.max(R::of(LEAST_WEIGHT));
        let weight = amount * (v[axis_of] * least).abs() / (most * most);
        let n = axis(row, axis_of);
        let turn = if dot(n, self.normal) < R::ZERO { -R::ONE } else { R::ONE };
        Part {
            amount,
            v,
            steep,
            axis_of,
            least,
            weight,
            normal: scale(n, turn),
        }
    }
}

/// What a Gaussian is at a sample.
struct Part<R> {
    /// Its density, a e^(-q / 2).
    amount: R,
    /// The offset in deviations along its axes.
    v: Vec3<R>,
    /// Minus the slope of the density's logarithm.
    steep: Vec3<R>,
    /// Its thinnest axis, and the deviation along it.
    axis_of: usize,
    least: R,
    /// Weight of its normal.
    weight: R,
    /// Its normal, turned to that of the sample.
    normal: Vec3<R>,
}

/// Sums over the Gaussians near a sample.
struct Around<R> {
    density: R,
    /// How the density changes with the place.
    slope: Vec3<R>,
    /// Their number, and the mean of their least deviations.
    found: R,
    beta: R,
    inverse_weights: R,
    /// From the mean of their normals to that of the sample.
    apart: Vec3<R>,
}

impl<R: Real> Around<R> {
    fn new(rows: &[Row<R>], near: &[u32], sample: &Sample<'_, R>) -> Self {
        let zero = R::ZERO;
        let (mut density, mut least, mut weights) = (zero, zero, zero);
        let (mut slope, mut around) = ([zero; 3], [zero; 3]);
        for &id in near {
            let part = sample.part(&rows[id as usize]);
            density += part.amount;
            slope = sub(slope, scale(part.steep, part.amount));
            least += part.least;
            weights += part.weight;
            around = add(around, scale(part.normal, part.weight));
        }
        let found = R::of(near.len() as f64);
        let inverse_weights = R::ONE / weights.max(R::of(LEAST_WEIGHT));
        Self {
            density,
            slope,
            found,
            beta: least / found,
            inverse_weights,
            apart: sub(sample.normal, scale(around, inverse_weights)),
        }
    }
}

/// A sample's term, and how it changes: with the density there, with beta, with the log of the own least deviation, and with the place
/// otherwise than by the density.
struct Term<R> {
    value: R,
    by_density: R,
    by_beta: R,
    by_thin: R,
    pull: Vec3<R>,
}

fn sign<R: Real>(x: R) -> R {
    if x > R::ZERO {
        R::ONE
    } else if x < R::ZERO {
        -R::ONE
    } else {
        R::ZERO
    }
}

impl<R: Real> Term<R> {
    /// The distance that the density says, against that of a map, which shows this at the sample.
    fn of_distance(weight: R, around: &Around<R>, map: &Map<'_, R>, (z, depth, slope): (R, R, Vec3<R>)) -> Self {
        let (zero, density, beta) = (R::ZERO, around.density, around.beta);
        let scaled = density / R::of(16.0);
        let inside = scaled > R::of(1e-16) && scaled < R::ONE;
        let root = (R::of(-2.0) * scaled.max(R::of(1e-16)).min(R::ONE).ln()).sqrt();
        let behind = depth - z;
        let off = beta * root - behind.abs();
        let unit = R::of(10.0) / map.extent;
        let most = R::of(10.0) * map.extent;
        let value = off.abs() * unit;
        let by_off = if value < most { weight * unit * sign(off) } else { zero };
        let by_density = if inside {
            -by_off * beta / (density * root)
        } else {
            zero
        };
        let row2 = map.view.rotation[2];
        Self {
            value: value.min(most),
            by_density,
            by_beta: by_off * root,
            by_thin: zero,
            pull: scale(sub(slope, row2), -by_off * sign(behind)),
        }
    }

    /// The density, against that of a flat Gaussian.
    fn of_density(weight: R, around: &Around<R>, sample: &Sample<'_, R>) -> Self {
        let ratio = sample.local[sample.own_thin] / around.beta;
        let target = (R::of(-0.5) * ratio * ratio).exp();
        let off = around.density - target;
        let by_density = weight * sign(off);
        Self {
            value: off.abs(),
            by_density,
            by_beta: -by_density * target * ratio * ratio / around.beta,
            by_thin: by_density * target * ratio * ratio,
            pull: [R::ZERO; 3],
        }
    }
}

/// Adds a sample's terms, and their gradients by the rows of its Gaussian and of those near it.
fn sample<R: Real>(
    rows: &[Row<R>],
    near: &[u32],
    (g, drawn): (u32, Vec3<R>),
    terms: &Terms<'_, R>,
    loss: &mut DensityLoss<R>,
) {
    let sample = Sample::new(&rows[g as usize], drawn);
    let seen = match &terms.map {
        None => None,
        Some(map) => {
            let Some(seen) = sample.seen(map) else { return };
            Some((map, seen))
        }
    };
    loss.samples += 1;
    let around = Around::new(rows, near, &sample);
    let term = match seen {
        Some((map, seen)) => Term::of_distance(terms.weight, &around, map, seen),
        None => Term::of_density(terms.weight, &around, &sample),
    };
    loss.density += term.value;
    loss.normals += dot(around.apart, around.apart);
    let by_normal = scale(around.apart, R::of(2.0) * terms.normal);
    own_gradient(&sample, &around, &term, by_normal, &mut loss.rows[g as usize]);
    for &id in near {
        let (row, sum) = (&rows[id as usize], &mut loss.rows[id as usize]);
        near_gradient(row, &sample, &around, &term, by_normal, sum);
    }
}

/// Adds what moves and turns the sample with its Gaussian.
fn own_gradient<R: Real>(
    sample: &Sample<'_, R>,
    around: &Around<R>,
    term: &Term<R>,
    by_normal: Vec3<R>,
    row: &mut RowGradient<R>,
) {
    let pull = add(term.pull, scale(around.slope, term.by_density));
    row.center = add(row.center, pull);
    row.turn = add(row.turn, add(cross(sample.from, pull), cross(sample.normal, by_normal)));
    let turned = mat_vec(transpose(sample.own.rotation), pull);
    for ((by_log, local), turned) in row.log_scale.iter_mut().zip(sample.local).zip(turned) {
        *by_log += local * turned;
    }
    row.log_scale[sample.own_thin] += term.by_thin;
}

/// Adds what changes density, beta and normals around the sample, for the Gaussian of `near` among those there.
fn near_gradient<R: Real>(
    near: &Row<R>,
    sample: &Sample<'_, R>,
    around: &Around<R>,
    term: &Term<R>,
    by_normal: Vec3<R>,
    row: &mut RowGradient<R>,
) {
    let part = sample.part(near);
    let offset = sub(sample.place, near.center);
    let bell = if near.opacity > R::ZERO {
        part.amount / near.opacity
    } else {
        R::ZERO
    };
    let by_amount = term.by_density * part.amount;
    row.center = add(row.center, scale(part.steep, by_amount));
    row.turn = add(row.turn, scale(cross(offset, part.steep), by_amount));
    for (by_log, v) in row.log_scale.iter_mut().zip(part.v) {
        *by_log += by_amount * v * v;
    }
    row.log_scale[part.axis_of] += term.by_beta / around.found * part.least;
    row.opacity += term.by_density * bell;
    row.turn = sub(
        row.turn,
        scale(cross(part.normal, by_normal), part.weight * around.inverse_weights),
    );
}

/// The gradient by what is trained, of a gradient by the row of a Gaussian with this 3D filter; colours have none.
#[must_use]
pub fn by_parameters<R: Real>(gaussian: &Gaussian<R>, filter_3d: f32, by_row: &RowGradient<R>) -> Gaussian<R> {
    let filter = R::of(f64::from(filter_3d));
    let length = norm(gaussian.quat);
    let [w, x, y, z] = gaussian.quat.map(|q| q / length);
    let turn = by_row.turn;
    let turned = add(scale(turn, w), cross(turn, [x, y, z]));
    let twice = R::of(2.0) / length;
    let kept = gaussian.log_scale.map(|s| {
        let raw = (R::of(2.0) * s).exp();
        raw / (raw + filter * filter)
    });
    let kept = if filter == R::ZERO { [R::ONE; 3] } else { kept };
    let compensation = (kept[0] * kept[1] * kept[2]).sqrt();
    let opacity = sigmoid(gaussian.logit_opacity);
    Gaussian {
        mean: by_row.center,
        quat: [
            -twice * dot(turn, [x, y, z]),
            twice * turned[0],
            twice * turned[1],
            twice * turned[2],
        ],
        log_scale: [0, 1, 2]
            .map(|i| by_row.log_scale[i] * kept[i] + by_row.opacity * opacity * compensation * (R::ONE - kept[i])),
        logit_opacity: by_row.opacity * compensation * opacity * (R::ONE - opacity),
        ..Gaussian::ZERO
    }
}

#[cfg(test)]
mod tests;
