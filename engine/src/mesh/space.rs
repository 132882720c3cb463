//! Where the voxels lie: chosen by the scene, unless it is set.

use std::fmt;

use serde::Serialize;

use super::MeshError;
use kiln_config::plugins::corners;
use kiln_config::{Mesh, MeshSpace};
use kiln_gaussians::Gaussians;
use kiln_kernels::fusion::{SIDE, Voxels};
use kiln_scene::Camera;
use kiln_scene::math::{cross, dot, sigmoid, sub};

/// Most bricks along an axis.
const MOST_BRICKS: u32 = 1024;
/// Most voxels along the longest side where the size of voxels is chosen here; of contracted space exactly so many at most.
const CHOSEN_VOXELS: [f64; 2] = [2048.0, 1024.0];
/// Share of the cameras that must look towards the focus, and share of the opacity that must lie around it, for a box.
const INWARD_SHARE: f64 = 0.9;
const INSIDE_SHARE: f64 = 0.95;
/// Where opacity counts as around the focus, radii.
const AROUND: f64 = 3.0;
/// Share of the opacity beyond each face of a chosen box.
const BEYOND_FACE: f64 = 0.005;
/// Least radius of the ball, scene extents: one camera near the focus must not shrink it to nothing.
const LEAST_RADIUS: f64 = 0.25;

/// What of the world has voxels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Space {
    /// A box.
    Bounded {
        /// Its smallest corner, world units.
        lower: [f32; 3],
        /// Its largest corner, world units.
        upper: [f32; 3],
        /// Side of a voxel, world units.
        voxel: f32,
    },
    /// Everything: a ball with equal voxels, and what is outside of it with ever larger ones.
    Contracted {
        /// Centre of the ball, world units.
        focus: [f32; 3],
        /// Its radius, world units.
        radius: f32,
        /// Side of a voxel in the ball, world units.
        voxel: f32,
    },
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bounded { lower, upper, voxel } => {
                write!(f, "bounded, {lower:.3?} to {upper:.3?}, voxels of {voxel:.5}")
            }
            Self::Contracted { focus, radius, voxel } => {
                write!(
                    f,
                    "contracted, a ball of {radius:.3} around {focus:.3?}, voxels of {voxel:.5} in it"
                )
            }
        }
    }
}

impl Space {
    /// The space that `options` ask for, or that suits what `cameras` see of `model`, in a scene of this extent and origin.
    ///
    /// # Errors
    /// [`MeshError::NoViews`] without cameras, [`MeshError::Voxels`] for voxels too small for the space.
    pub(crate) fn choose(
        options: &Mesh,
        model: &Gaussians,
        cameras: &[Camera],
        (extent, origin): (f32, [f64; 3]),
    ) -> Result<Self, MeshError> {
        if cameras.is_empty() {
            return Err(MeshError::NoViews);
        }
        let focus = focus(cameras, extent.into());
        let nearest = cameras.iter().map(|camera| distance(camera.position(), focus));
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        let radius = nearest.max(LEAST_RADIUS * f64::from(extent));
        let bounded = match options.space {
            MeshSpace::Bounded => true,
            MeshSpace::Contracted => false,
            MeshSpace::Auto => options.bounds.is_some() || is_looked_at(model, cameras, focus, radius),
        };
        let footprint = footprint(model, cameras);
        let voxel = |side: f64, most: f64| match options.voxel {
            Some(voxel) => f64::from(voxel),
            None => options.quality.voxel_scale() * footprint.unwrap_or(0.0).max(side / most),
        };
        let space = if bounded {
            let [lower, upper] = match options.bounds {
                Some(bounds) => corners(bounds, origin),
                None => box_around(model, focus, radius),
            };
            let side = (0..3).map(|i| f64::from(upper[i] - lower[i])).fold(0.0, f64::max);
            let voxel = voxel(side, CHOSEN_VOXELS[0]) as f32;
            Self::Bounded { lower, upper, voxel }
        } else {
            let voxel = voxel(4.0 * radius, CHOSEN_VOXELS[1]) as f32;
            Self::Contracted {
                focus: focus.map(|x| x as f32),
                radius: radius as f32,
                voxel,
            }
        };
        space.check()?;
        Ok(space)
    }

    /// Side of a voxel, world units; in contracted space of one in the ball.
    #[must_use]
    pub const fn voxel(&self) -> f32 {
        match self {
            Self::Bounded { voxel, .. } | Self::Contracted { voxel, .. } => *voxel,
        }
    }

    /// Length of the longest side, world units; of contracted space as if all of it were as in the ball.
    fn side(&self) -> f64 {
        match self {
            Self::Bounded { lower, upper, .. } => (0..3)
                .map(|i| f64::from(upper[i]) - f64::from(lower[i]))
                .fold(0.0, f64::max),
            Self::Contracted { radius, .. } => 4.0 * f64::from(*radius),
        }
    }

    fn check(&self) -> Result<(), MeshError> {
        let most = f64::from(MOST_BRICKS * SIDE);
        let voxel = f64::from(self.voxel());
        let side = self.side();
        match voxel > 0.0 && side.is_finite() && side > 0.0 && side / voxel <= most - f64::from(SIDE) {
            true => Ok(()),
            false => Err(MeshError::Voxels {
                voxel,
                side,
                least: side / (most - f64::from(SIDE)),
            }),
        }
    }

    /// The space as kernels take it, for surfaces heard of at `truncation` voxels.
    #[must_use]
    pub fn voxels(&self, truncation: f32) -> Voxels {
        let bricks = |side: f32| {
            let bricks = (f64::from(side) / f64::from(self.voxel()) / f64::from(SIDE)).ceil() as u32;
            bricks.clamp(1, MOST_BRICKS)
        };
        match *self {
            Self::Bounded { lower, upper, voxel } => Voxels {
                origin: lower,
                voxel,
                radius: 0.0,
                truncation,
                bricks: std::array::from_fn(|i| bricks(upper[i] - lower[i])),
            },
            Self::Contracted { focus, radius, voxel } => Voxels {
                origin: focus,
                voxel,
                radius,
                truncation,
                bricks: [bricks(4.0 * radius); 3],
            },
        }
    }
}

/// The point nearest to all optical axes, least squares. Axes that are nearly parallel meet nowhere: a weak pull towards the
/// point one extent before the cameras' mean decides then.
fn focus(cameras: &[Camera], extent: f64) -> [f64; 3] {
    const PULL: f64 = 1e-3;
    let n = cameras.len() as f64;
    let axis = |camera: &Camera| camera.rotation[2].map(f64::from);
    let position = |camera: &Camera| camera.position().map(f64::from);
    let mean = |of: &dyn Fn(&Camera) -> [f64; 3]| {
        let sum = cameras
            .iter()
            .map(of)
            .fold([0.0; 3], |sum, v| std::array::from_fn(|i| sum[i] + v[i]));
        sum.map(|x| x / n)
    };
    let (center, ahead) = (mean(&position), mean(&axis));
    let prior: [f64; 3] = std::array::from_fn(|i| center[i] + extent * ahead[i]);
    // Sum of (I - d d^T) (f - p) = 0, relative to the prior.
    let mut rows = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for camera in cameras {
        let (d, p) = (axis(camera), sub(position(camera), prior));
        let along = dot(d, p);
        for i in 0..3 {
            for j in 0..3 {
                rows[i][j] += f64::from(u8::from(i == j)) - d[i] * d[j];
            }
            right[i] += p[i] - d[i] * along;
        }
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row[i] += PULL * n;
    }
    let [a, b, c] = rows;
    let det = dot(a, cross(b, c));
    // The matrix is symmetric: its inverse has the cross products as rows.
    let solved = [
        dot(cross(b, c), right),
        dot(cross(c, a), right),
        dot(cross(a, b), right),
    ];
    std::array::from_fn(|i| prior[i] + solved[i] / det)
}

fn distance(a: [f32; 3], b: [f64; 3]) -> f64 {
    let d = sub(a.map(f64::from), b);
    dot(d, d).sqrt()
}

/// Centres and opacities that are numbers.
fn opaque(model: &Gaussians) -> impl Iterator<Item = ([f32; 3], f64)> {
    let pairs = model.means.iter().zip(&model.logit_opacities);
    let pairs = pairs.map(|(mean, logit)| (*mean, sigmoid(f64::from(*logit))));
    pairs.filter(|(mean, opacity)| mean.iter().all(|x| x.is_finite()) && opacity.is_finite())
}

/// Whether cameras look at the focus and nearly all of the model is around it.
fn is_looked_at(model: &Gaussians, cameras: &[Camera], focus: [f64; 3], radius: f64) -> bool {
    let inward = cameras.iter().filter(|camera| {
        let to = sub(focus, camera.position().map(f64::from));
        dot(camera.rotation[2].map(f64::from), to) > 0.0
    });
    let (mut inside, mut all) = (0.0, 0.0);
    for (mean, opacity) in opaque(model) {
        all += opacity;
        if distance(mean, focus) <= AROUND * radius {
            inside += opacity;
        }
    }
    inward.count() as f64 >= INWARD_SHARE * cameras.len() as f64 && inside >= INSIDE_SHARE * all
}

/// The box around nearly all opacity near the focus, and a twentieth of its longest side around that.
fn box_around(model: &Gaussians, focus: [f64; 3], radius: f64) -> [[f32; 3]; 2] {
    let near: Vec<_> = opaque(model)
        .filter(|(mean, _)| distance(*mean, focus) <= AROUND * radius)
        .collect();
    let whole = [-1.0, 1.0].map(|side| focus.map(|x| (x + side * radius) as f32));
    if near.is_empty() {
        return whole;
    }
    let all: f64 = near.iter().map(|(_, opacity)| opacity).sum();
    let mut corners = whole;
    for axis in 0..3 {
        let mut along: Vec<(f32, f64)> = near.iter().map(|(mean, opacity)| (mean[axis], *opacity)).collect();
        along.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        let mut faces = [None; 2];
        for (x, opacity) in along {
            sum += opacity;
            for (face, share) in faces.iter_mut().zip([BEYOND_FACE, 1.0 - BEYOND_FACE]) {
                if face.is_none() && sum >= share * all {
                    *face = Some(x);
                }
            }
        }
        for (corner, face) in corners.iter_mut().zip(faces) {
            corner[axis] = face.unwrap_or(corner[axis]);
        }
    }
    let [lower, upper] = corners;
    let side = (0..3).map(|i| upper[i] - lower[i]).fold(0.0, f32::max);
    // A flat or single thing still gets a box.
    let margin = if side > 0.0 {
        0.05 * side
    } else {
        (0.05 * radius) as f32
    };
    [lower.map(|x| x - margin), upper.map(|x| x + margin)]
}

/// What a pixel covers at the median depth of what a view shows, median over the views, world units; none where no view
/// shows anything.
fn footprint(model: &Gaussians, cameras: &[Camera]) -> Option<f64> {
    /// Gaussians that are looked at.
    const SAMPLE: usize = 1 << 16;
    let stride = model.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<_> = opaque(model)
        .step_by(stride)
        .filter(|(_, opacity)| *opacity > 0.1)
        .collect();
    let of_view = |camera: &Camera| {
        let depths = sample
            .iter()
            .filter_map(|(mean, _)| camera.sees(*mean).map(|[_, _, z]| z));
        median(depths.collect()).map(|z| z / camera.fx)
    };
    median(cameras.iter().filter_map(of_view).collect()).map(f64::from)
}

fn median(mut values: Vec<f32>) -> Option<f32> {
    let middle = values.len() / 2;
    values.sort_by(f32::total_cmp);
    values.get(middle).copied()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};

    fn options(set: &[(&str, &str)]) -> Mesh {
        let set = set.iter().map(|(key, value)| Override {
            key: format!("mesh.{key}"),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        });
        let inputs = Inputs {
            profile: Some("cpu".to_owned()),
            overrides: set.collect(),
            ..Inputs::default()
        };
        resolve(&inputs).unwrap().mesh
    }

    /// A camera at a place of a circle of radius 4 at height 1, looking at the axis, or away from it.
    fn camera(turn: f64, outwards: bool) -> Camera {
        let (sin, cos) = turn.sin_cos();
        let sign = if outwards { 1.0 } else { -1.0 };
        let forward = [sign * cos, sign * sin, 0.0];
        let right = cross(forward, [0.0, 0.0, 1.0]);
        let rows = [right, cross(forward, right), forward];
        let position = [4.0 * cos, 4.0 * sin, 1.0];
        Camera {
            width_px: 400,
            height_px: 300,
            fx: 400.0,
            fy: 400.0,
            cx: 200.0,
            cy: 150.0,
            rotation: rows.map(|row| row.map(|x| x as f32)),
            translation: rows.map(|row| -dot(row, position) as f32),
            lens: None,
        }
    }

    fn cameras(outwards: bool) -> Vec<Camera> {
        (0..24).map(|i| camera(f64::from(i) * 0.2618, outwards)).collect()
    }

    /// Opaque Gaussians on a cross of arms `half` long around the axis at height 1.
    fn model(half: f32) -> Gaussians {
        let means: Vec<[f32; 3]> = (-100..=100)
            .flat_map(|i| {
                let x = half * i as f32 / 100.0;
                [[x, 0.0, 1.0], [0.0, x, 1.0], [0.0, 0.0, 1.0 + x]]
            })
            .collect();
        Gaussians {
            logit_opacities: vec![2.0; means.len()],
            means,
            ..Gaussians::default()
        }
    }

    #[test]
    fn what_cameras_stand_around_is_bounded() {
        let space = Space::choose(&options(&[]), &model(0.5), &cameras(false), (4.4, [0.0; 3])).unwrap();
        let Space::Bounded { lower, upper, voxel } = space else {
            unreachable!("{space}")
        };
        for (i, middle) in [0.0, 0.0, 1.0].into_iter().enumerate() {
            assert!((lower[i] + upper[i] - 2.0 * middle).abs() < 0.05, "{space}");
            assert!((0.9..1.2).contains(&(upper[i] - lower[i])), "{space}");
        }
        // A pixel at a depth of 4 covers 0.01.
        assert!((voxel - 0.01).abs() < 1e-3, "{space}");
    }

    #[test]
    fn what_is_all_around_is_contracted() {
        for (cameras, half) in [(cameras(true), 40.0), (cameras(false), 40.0), (cameras(true), 0.5)] {
            let space = Space::choose(&options(&[]), &model(half), &cameras, (4.4, [0.0; 3])).unwrap();
            let Space::Contracted { focus, radius, voxel } = space else {
                unreachable!("{space}")
            };
            assert!(focus[0].abs() < 0.01 && focus[1].abs() < 0.01, "{space}");
            assert!((radius - 4.0).abs() < 0.01, "{space}");
            assert!(voxel >= 4.0 * radius / 1024.0 - 1e-6, "{space}");
            assert!(space.voxels(4.0).all() <= 1 << 21);
        }
    }

    #[test]
    fn settings_decide() {
        let choose = |set: &[(&str, &str)]| Space::choose(&options(set), &model(0.5), &cameras(false), (4.4, [0.0; 3]));
        let boxed = choose(&[("box", "[-1, -2, 0, 1, 2, 3]"), ("voxel", "0.1")]).unwrap();
        let Space::Bounded { lower, upper, voxel } = boxed else {
            unreachable!("{boxed}")
        };
        assert_eq!((lower, upper, voxel), ([-1.0, -2.0, 0.0], [1.0, 2.0, 3.0], 0.1));
        assert_eq!(boxed.voxels(4.0).bricks, [3, 5, 4]);
        let contracted = choose(&[("space", "contracted"), ("voxel", "0.5")]).unwrap();
        assert_eq!(contracted.voxels(4.0).bricks, [4; 3]);
        let fine = choose(&[("voxel", "0.00001")]).unwrap_err();
        let MeshError::Voxels { side, least, .. } = fine else {
            unreachable!("{fine}")
        };
        assert!(
            choose(&[("voxel", &(1.001 * least).to_string())]).is_ok(),
            "{side} {least}"
        );
        let none = Space::choose(&options(&[]), &model(0.5), &[], (4.4, [0.0; 3])).unwrap_err();
        assert!(matches!(none, MeshError::NoViews));
    }

    /// Nothing, one thing, things at no place: there is a space all the same.
    #[test]
    fn odd_models_have_a_space() {
        for means in [vec![], vec![[0.1, 0.2, 0.9]], vec![[f32::NAN; 3]; 4]] {
            let model = Gaussians {
                logit_opacities: vec![1.0; means.len()],
                means,
                ..Gaussians::default()
            };
            for cameras in [cameras(false), vec![camera(0.0, false)]] {
                let space = Space::choose(&options(&[]), &model, &cameras, (4.4, [0.0; 3])).unwrap();
                assert!(space.voxel() > 0.0 && space.voxels(4.0).all() > 0, "{space}");
            }
        }
    }
}
