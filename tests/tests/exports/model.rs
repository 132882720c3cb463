//! Models, what a file of them has to say, and how far it is off.

use kiln::export::{PlyComments, RenderMode};
use kiln_gaussians::Gaussians;
use kiln_scene::SplitMix64;

/// What the header of a model with the screen-space filter of Mip-Splatting says.
pub(crate) const MIP: PlyComments = PlyComments {
    render_mode: Some(RenderMode::Mip),
    kernel_size: Some(0.1),
    iteration: Some(30_000),
    origin: None,
};

/// A Gaussian with the 3D filter folded in, in the axes of PLY files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Splat {
    pub(crate) mean: [f64; 3],
    /// Unit, w x y z.
    pub(crate) quat: [f64; 4],
    pub(crate) log_scale: [f64; 3],
    /// 0 to 1.
    pub(crate) opacity: f64,
    pub(crate) sh0: [f64; 3],
    /// Red, green and blue of each further coefficient.
    pub(crate) rest: Vec<[f64; 3]>,
}

/// `count` Gaussians in a cube of side 6: needles and discs at all angles, some with a 3D filter, colours a bit beyond
/// black and white.
pub(crate) fn random(count: usize, sh_degree: u32, seed: u64) -> Gaussians {
    let mut random = SplitMix64::new(seed);
    let mut between = |low: f32, high: f32| low + (high - low) * random.next_f32();
    let rest = ((sh_degree + 1).pow(2) - 1) as usize * 3;
    let mut model = Gaussians {
        sh_degree,
        ..Gaussians::default()
    };
    for _ in 0..count {
        model.means.push([0; 3].map(|_| between(-3.0, 3.0)));
        model.quats.push([0; 4].map(|_| between(-1.0, 1.0)));
        model.log_scales.push([0; 3].map(|_| between(-7.0, -2.0)));
        model.logit_opacities.push(between(-6.0, 8.0));
        model.sh0.push([0; 3].map(|_| between(-2.5, 2.5)));
        model.sh_rest.extend((0..rest).map(|_| between(-0.9, 0.9)));
        let filter = between(-0.02, 0.02);
        model.filter_3d.push(filter.max(0.0));
    }
    model
}

/// What a file has to say of a Gaussian, from the definitions and in 64 bits.
pub(crate) fn truth(model: &Gaussians, number: usize, sh_degree: u32) -> Splat {
    let wide = |v: [f32; 3]| v.map(f64::from);
    let filter = f64::from(model.filter_3d[number]);
    let scales = wide(model.log_scales[number]).map(f64::exp);
    let widened = scales.map(|s| s.hypot(filter));
    let dimmed: f64 = scales.iter().zip(widened).map(|(s, w)| s / w).product();
    let quat = model.quats[number].map(f64::from);
    let length = quat.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (own, kept) = (model.rest_coefficients(), (sh_degree + 1).pow(2) as usize - 1);
    let rest = &model.sh_rest[number * own * 3..][..kept * 3];
    Splat {
        mean: wide(model.means[number]),
        quat: quat.map(|v| v / length),
        log_scale: widened.map(f64::ln),
        opacity: dimmed / (1.0 + f64::from(-model.logit_opacities[number]).exp()),
        sh0: wide(model.sh0[number]),
        rest: rest
            .chunks_exact(3)
            .map(|rgb| [0, 1, 2].map(|i| f64::from(rgb[i])))
            .collect(),
    }
}

/// The Gaussian of the model that a splat of a file stands for: the nearest.
pub(crate) fn original(model: &Gaussians, splat: &Splat) -> usize {
    let distance = |mean: &[f32; 3]| -> f64 {
        let parts = mean.iter().zip(splat.mean);
        parts.map(|(a, b)| (f64::from(*a) - b).powi(2)).sum()
    };
    let all = model.means.iter().enumerate();
    let nearest = all.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    nearest.expect("a model with Gaussians").0
}

/// Largest differences of a file from a model, attribute by attribute.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    pub(crate) mean: f64,
    pub(crate) quat: f64,
    pub(crate) log_scale: f64,
    pub(crate) opacity: f64,
    pub(crate) sh0: f64,
    /// Coefficients of degree 1.
    pub(crate) sh1: f64,
    /// Those of higher degrees.
    pub(crate) sh: f64,
}

impl Errors {
    pub(crate) fn add(&mut self, read: &Splat, truth: &Splat) {
        let most = |a: &[f64], b: &[f64]| {
            let pairs = a.iter().zip(b);
            pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
        };
        let turned = read.quat.map(|v| -v);
        let quat = most(&read.quat, &truth.quat).min(most(&turned, &truth.quat));
        assert_eq!(read.rest.len(), truth.rest.len(), "coefficients");
        for (k, (a, b)) in read.rest.iter().zip(&truth.rest).enumerate() {
            let error = if k < 3 { &mut self.sh1 } else { &mut self.sh };
            *error = error.max(most(a, b));
        }
        for (error, found) in [
            (&mut self.mean, most(&read.mean, &truth.mean)),
            (&mut self.quat, quat),
            (&mut self.log_scale, most(&read.log_scale, &truth.log_scale)),
            (&mut self.opacity, (read.opacity - truth.opacity).abs()),
            (&mut self.sh0, most(&read.sh0, &truth.sh0)),
        ] {
            *error = error.max(found);
        }
    }

    /// Of a whole file, whose Gaussians are those of the model in any order.
    pub(crate) fn of(model: &Gaussians, splats: &[Splat], sh_degree: u32) -> Self {
        let mut errors = Self::default();
        let mut seen = vec![false; model.len()];
        for splat in splats {
            let number = original(model, splat);
            assert!(!std::mem::replace(&mut seen[number], true), "{number} is there twice");
            errors.add(splat, &truth(model, number, sh_degree));
        }
        errors
    }

    /// Stops when an attribute is further off than stated.
    pub(crate) fn within(&self, stated: &Self) {
        for (name, found, allowed) in [
            ("mean", self.mean, stated.mean),
            ("rotation", self.quat, stated.quat),
            ("log scale", self.log_scale, stated.log_scale),
            ("opacity", self.opacity, stated.opacity),
            ("sh0", self.sh0, stated.sh0),
            ("degree 1", self.sh1, stated.sh1),
            ("degrees 2 and 3", self.sh, stated.sh),
        ] {
            assert!(found <= allowed, "{name} is {found} off, stated are {allowed}");
        }
    }
}

/// Half a turn about x, which leads from the axes of SPZ and glTF to those of PLY files and back.
pub(crate) fn turned(mut splat: Splat) -> Splat {
    use kiln_twins::sh::sh_basis;
    let turn = |[x, y, z]: [f64; 3]| [x, -y, -z];
    splat.mean = turn(splat.mean);
    let [w, x, y, z] = splat.quat;
    splat.quat = [w, x, -y, -z];
    // A coefficient changes its sign where its function does.
    let direction = [0.48, 0.6, 0.64];
    let (here, there) = (sh_basis::<f64>(3, direction), sh_basis::<f64>(3, turn(direction)));
    for (k, coefficient) in splat.rest.iter_mut().enumerate() {
        *coefficient = coefficient.map(|v| v * (here[k + 1] * there[k + 1]).signum());
    }
    splat
}
