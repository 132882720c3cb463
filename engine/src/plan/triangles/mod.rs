//! Models of triangles: the plan of their runs, the first one, and the schedule's values of a step.

mod planning;
mod start;

use kiln_triangles::schedule::Settings;

use kiln_config::Profile;
use kiln_config::plugins::AdamOptions;
use kiln_kernels::triangles::{TriangleUniforms, flags, tile_px};
use kiln_kernels::uniforms::{Group, StepUniforms, flags as step_flags};

pub use planning::{Start, plan};
pub use start::first_model;

/// Learning rate of colours of higher degrees, over that of degree 0.
const REST_SHARE: f64 = 0.05;

/// The seed of a profile as generators take it: 32 bits in which both halves count.
#[must_use]
pub fn seed(profile: &Profile) -> u32 {
    let seed = profile.train.seed;
    #[expect(clippy::cast_possible_truncation, reason = "folding 64 bits into 32 on purpose")]
    let folded = (seed ^ (seed >> 32)) as u32;
    folded
}

/// The block of the step of `iteration` for a model of `vertices` vertices whose opacities lie above `floor`. Pictures between
/// steps have the same block but for [`flags::MAXIMA`].
#[must_use]
pub fn block(settings: &Settings, iteration: u32, vertices: u32, floor: f32) -> TriangleUniforms {
    TriangleUniforms {
        sigma: settings.sigma_at(iteration),
        opacity_floor: floor,
        samples: settings.supersample_at(iteration),
        flags: flags::MAXIMA,
        vertices,
        opacity_weight: settings.opacity_weight_at(iteration),
        depth_weight: settings.vertex_depth_weight_at(iteration),
        depth_most: settings.losses.most_depth_difference,
        normals_weight: settings.normals_weight_at(iteration),
        reserved: [0; 3],
    }
}

/// Makes of uniforms that render a view those of the step of `iteration`, which is the optimiser's step number `steps`; weights of
/// losses on images stay.
pub fn train(u: &mut StepUniforms, settings: &Settings, iteration: u32, steps: u32) {
    u.iteration = iteration;
    u.list_tiles(tile_px(settings.supersample_at(iteration)));
    u.flags |= step_flags::UPDATE;
    u.sh_degree = settings.degree_at(iteration);
    [u.beta1, u.beta2] = AdamOptions::BETAS;
    u.epsilon = AdamOptions::EPSILON;
    let [first, second] = AdamOptions::BETAS.map(|beta| 1.0 - f64::from(beta).powf(f64::from(steps.max(1))));
    let color = f64::from(settings.rates.color);
    for (group, rate) in [
        (Group::Means, settings.position_rate_at(iteration).into()),
        (Group::Opacity, f64::from(settings.rates.weight)),
        (Group::Sh0, color),
        (Group::ShRest, REST_SHARE * color),
    ] {
        #[expect(clippy::cast_possible_truncation, reason = "rates fit f32")]
        if let (Some(r), Some(s)) = (
            u.adam_rate.get_mut(group as usize),
            u.adam_scale.get_mut(group as usize),
        ) {
            *r = (rate / first) as f32;
            *s = (1.0 / second.sqrt()) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_and_go_as_published() {
        let of = |settings: &Settings, iteration: u32| {
            let b = block(settings, iteration, 9, settings.floor_at(iteration));
            (b.samples, b.opacity_weight, b.depth_weight, b.normals_weight)
        };
        let outdoor = Settings::outdoor();
        assert_eq!(of(&outdoor, 1), (1, 1.9e-6, 0.0, 0.0));
        assert_eq!(of(&outdoor, 5001), (1, 0.0, 0.0, 5e-5));
        assert_eq!(of(&outdoor, 20_000), (2, 0.0, 2.5e-4, 5e-5));
        assert_eq!(of(&outdoor, 30_000), (4, 0.0, 2.5e-4, 5e-5));
        assert_eq!(of(&Settings::indoor(), 12_001), (1, 0.0, 2.5e-4, 1e-5));
        let end = block(&outdoor, 30_000, 9, outdoor.floor_at(30_000));
        assert!((end.sigma - 1e-4).abs() < 1e-7 && (end.opacity_floor - 0.9999).abs() < 1e-6);
    }

    #[test]
    fn rates_are_those_of_adam_with_its_corrections() {
        let mut u = StepUniforms::default();
        train(&mut u, &Settings::outdoor(), 1, 1);
        assert_eq!(u.sh_degree, 0);
        assert!((u.adam_rate[Group::Opacity as usize] - 0.3).abs() < 1e-6);
        let rates = [Group::ShRest, Group::Sh0].map(|group| u.adam_rate[group as usize]);
        assert!((rates[0] * 20.0 - rates[1]).abs() < 1e-8);
        train(&mut u, &Settings::outdoor(), 30_000, 30_000);
        assert_eq!(u.sh_degree, 3);
        assert!((u.adam_rate[Group::Means as usize] - 1.5e-5).abs() < 1e-9);
    }
}
