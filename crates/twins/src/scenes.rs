//! Random scenes for the twins' tests.

use super::gaussian::{Gaussian, View};
use super::project::{Filter2d, Settings};
use super::rng::{normal, uniform};
use kiln_scene::Camera;
use kiln_scene::math::{Vec3, logit};

/// What varies between scenes.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) seed: u32,
    pub(super) count: u32,
    /// Range of standard deviations, world units; the camera is about 4 away with a focal length near the image width.
    pub(super) scales: [f64; 2],
    pub(super) opacities: [f64; 2],
}

/// Model, filters, view and a noise target of 37 x 27 pixels: neither side a multiple of a tile.
pub(super) struct Scene {
    pub(super) gaussians: Vec<Gaussian<f64>>,
    pub(super) filter_3d: Vec<f64>,
    pub(super) view: View<f64>,
    pub(super) target: Vec<Vec3<f64>>,
}

pub(super) fn settings(filter_2d: Filter2d, sh_degree: u32) -> Settings {
    Settings {
        filter_2d,
        sh_degree,
        tight_tiles: true,
        dropout: None,
        plane_depths: false,
    }
}

/// A camera looking at the origin from four units away, rolled and pitched a little, principal point off centre.
pub(super) fn camera() -> Camera {
    let (s, c) = 0.3_f32.sin_cos();
    let (sp, cp) = 0.2_f32.sin_cos();
    Camera {
        width_px: 37,
        height_px: 27,
        fx: 40.0,
        fy: 36.0,
        cx: 21.5,
        cy: 11.75,
        rotation: [[c, -s, 0.0], [cp * s, cp * c, -sp], [sp * s, sp * c, cp]],
        translation: [0.1, -0.05, 4.0],
        lens: None,
    }
}

pub(super) fn random(options: Options) -> Scene {
    let seed = options.seed;
    let between =
        |[low, high]: [f64; 2], id: u32, channel: u32| low + (high - low) * uniform::<f64>(seed, 1, id, channel);
    let gaussians = (0..options.count)
        .map(|id| Gaussian {
            mean: std::array::from_fn(|i| between([-1.5, 1.5], id, i as u32)),
            quat: std::array::from_fn(|i| normal::<f64>(seed, 2, id, i as u32) * 1.5),
            log_scale: std::array::from_fn(|i| {
                between([options.scales[0].ln(), options.scales[1].ln()], id, 10 + i as u32)
            }),
            logit_opacity: logit(between(options.opacities, id, 20)),
            sh: std::array::from_fn(|k| {
                std::array::from_fn(|c| {
                    let wide = if k == 0 { 0.8 } else { 0.15 };
                    wide * normal::<f64>(seed, 3, id, (3 * k + c) as u32) + if k == 0 { 0.6 } else { 0.0 }
                })
            }),
        })
        .collect();
    let view = View::new(&camera());
    let n_px = view.size_px[0] * view.size_px[1];
    Scene {
        gaussians,
        filter_3d: (0..options.count).map(|id| between([0.0, 0.08], id, 30)).collect(),
        view,
        target: (0..n_px)
            .map(|i| std::array::from_fn(|c| uniform(seed, 4, i, c as u32)))
            .collect(),
    }
}
