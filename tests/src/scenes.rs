//! Random models, cameras and targets: the same on every machine.

use kiln_gaussians::triangles::TriangleModel;
use kiln_gaussians::{Gaussians, layout};
use kiln_scene::{Camera, Fisheye};
use kiln_twins::rng::{bits, normal, uniform};

/// What varies between scenes.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Of every random number.
    pub seed: u32,
    /// Gaussians.
    pub count: u32,
    /// Image width and height, px.
    pub size: [u32; 2],
    /// SH degree stored and used.
    pub sh_degree: u32,
    /// Smallest and largest standard deviation, world units; the camera is 4 away and one unit is about `focal / 4` px.
    pub scales: [f32; 2],
    /// Smallest and largest opacity.
    pub opacities: [f32; 2],
    /// Focal length, px.
    pub focal: f32,
    /// Principal point minus the image centre, px.
    pub shift: [f32; 2],
    /// Half the side of the box the means lie in, world units.
    pub spread: [f32; 3],
    /// Largest 3D filter.
    pub filter_3d: f32,
    /// The camera is amid the Gaussians and sees them through this.
    pub lens: Option<Fisheye>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            seed: 1,
            count: 300,
            size: [64, 48],
            sh_degree: 3,
            scales: [0.03, 0.3],
            opacities: [0.05, 0.95],
            focal: 60.0,
            shift: [0.0, 0.0],
            spread: [2.4, 1.8, 1.5],
            filter_3d: 0.05,
            lens: None,
        }
    }
}

/// A lens with every term, which sees up to `reach` radians from its axis.
#[must_use]
pub fn fisheye(reach: f32) -> Fisheye {
    Fisheye {
        radial: [0.03, -0.01, 0.002, -0.0005],
        tangential: [2e-3, -1e-3],
        prism: [1e-3, 2e-3],
        reach,
    }
}

impl Scene {
    fn between(&self, [low, high]: [f32; 2], id: u32, channel: u32) -> f32 {
        low + (high - low) * uniform::<f32>(self.seed, 1, id, channel)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> Gaussians {
        let mut model = Gaussians {
            sh_degree: self.sh_degree,
            ..Gaussians::default()
        };
        let rest = model.rest_coefficients();
        for id in 0..self.count {
            let mean = std::array::from_fn(|i| self.between([-self.spread[i], self.spread[i]], id, i as u32));
            let quat = std::array::from_fn(|i| normal::<f32>(self.seed, 2, id, i as u32) * 1.5);
            let logs = self.scales.map(f32::ln);
            let log_scale = std::array::from_fn(|i| self.between(logs, id, 10 + i as u32));
            let opacity = self.between(self.opacities, id, 20);
            model.means.push(mean);
            model.quats.push(quat);
            model.log_scales.push(log_scale);
            model.logit_opacities.push((opacity / (1.0 - opacity)).ln());
            model.sh0.push(std::array::from_fn(|c| {
                0.8 * normal::<f32>(self.seed, 3, id, c as u32) + 0.6
            }));
            model
                .sh_rest
                .extend((0..3 * rest).map(|c| 0.15 * normal::<f32>(self.seed, 4, id, c as u32)));
            model.filter_3d.push(self.between([0.0, self.filter_3d], id, 30));
        }
        model
    }

    /// A patch of `side` by `side` connected vertices with `soup` single triangles around it.
    #[must_use]
    pub fn triangles(&self, side: u32, soup: u32) -> TriangleModel {
        let mut model = TriangleModel {
            degree: self.sh_degree,
            floor: 0.1,
            sigma: 0.6,
            ..TriangleModel::default()
        };
        let rest = layout::sh_coefficients(self.sh_degree) - 1;
        let random = |id: u32, channel: u32| normal::<f32>(self.seed, 7, id, channel);
        let mut add = |position: [f32; 3]| {
            let id = model.positions.len() as u32;
            model
                .positions
                .push(std::array::from_fn(|i| position[i] + 0.1 * random(id, i as u32)));
            let opacity = self.between(self.opacities, id, 40);
            model.weights.push((opacity / (1.0 - opacity)).ln());
            model
                .sh0
                .push(std::array::from_fn(|c| 0.8 * random(id, 3 + c as u32) + 0.6));
            let coefficients = (0..3 * rest as u32).map(|c| 0.15 * random(id, 6 + c));
            model.sh_rest.extend(coefficients);
        };
        let place = |at: u32| 2.8 * (at as f32 / (side - 1) as f32 - 0.5);
        for id in 0..side * side {
            add([place(id % side), place(id / side), 0.0]);
        }
        for t in 0..soup {
            let centre: [f32; 3] =
                std::array::from_fn(|i| self.between([-self.spread[i], self.spread[i]], t, 50 + i as u32));
            for k in 0..3 {
                let corner = |i: usize| centre[i] + 0.5 * normal::<f32>(self.seed, 8, 3 * t + k, i as u32);
                add(std::array::from_fn(corner));
            }
        }
        let cells = (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| y * side + x));
        let patch = cells.flat_map(|at| [[at, at + 1, at + side], [at + side + 1, at + side, at + 1]]);
        let single = (0..soup).map(|t| [0, 1, 2].map(|k| side * side + 3 * t + k));
        model.triangles = patch.chain(single).collect();
        model
    }

    /// A camera four units from the origin, rolled and pitched a little.
    #[must_use]
    pub fn camera(&self) -> Camera {
        let (s, c) = 0.3_f32.sin_cos();
        let (sp, cp) = 0.2_f32.sin_cos();
        Camera {
            width_px: self.size[0],
            height_px: self.size[1],
            fx: self.focal,
            fy: self.focal * 0.9,
            cx: 0.5 * self.size[0] as f32 + self.shift[0],
            cy: 0.5 * self.size[1] as f32 + self.shift[1],
            rotation: [[c, -s, 0.0], [cp * s, cp * c, -sp], [sp * s, sp * c, cp]],
            translation: [0.1, -0.05, if self.lens.is_some() { 0.5 } else { 4.0 }],
            lens: self.lens,
        }
    }

    /// Ground truth: smooth colours with noise, packed RGB bytes.
    #[must_use]
    pub fn target(&self) -> Vec<u8> {
        let [w, h] = self.size;
        let mut bytes = Vec::with_capacity((3 * w * h) as usize);
        for y in 0..h {
            for x in 0..w {
                for c in 0..3 {
                    let wave = ((x * (3 + c) + y * (5 - c)) % 256) / 2;
                    bytes.push((wave + bits(self.seed, 5, y * w + x, c) % 128) as u8);
                }
            }
        }
        bytes
    }

    /// Gradients of a loss by blended planes, for every pixel normal and distance, of the size of those by colours.
    #[must_use]
    pub fn by_plane(&self) -> Vec<[f32; 4]> {
        let pixels = self.size[0] * self.size[1];
        let value = |i: u32, c: u32| 0.3 / pixels as f32 * normal::<f32>(self.seed, 11, i, c);
        (0..pixels)
            .map(|i| [value(i, 0), value(i, 1), value(i, 2), 0.25 * value(i, 3)])
            .collect()
    }

    /// What a loss of surfaces wants of every pixel's coverage, in the last place, `vec4` by pixel.
    #[must_use]
    pub fn by_coverage(&self) -> Vec<[f32; 4]> {
        let pixels = self.size[0] * self.size[1];
        let value = |i: u32| 0.3 / pixels as f32 * normal::<f32>(self.seed, 11, i, 4);
        (0..pixels).map(|i| [0.0, 0.0, 0.0, value(i)]).collect()
    }

    /// The mask of [`Scene::masked_target`]: an ellipse, a corner and scattered pixels do not count.
    #[must_use]
    pub fn mask(&self) -> Vec<bool> {
        let [w, h] = self.size;
        let counts = |x: u32, y: u32| {
            let (dx, dy) = (x as f32 / w as f32 - 0.4, y as f32 / h as f32 - 0.6);
            let ellipse = dx * dx + 4.0 * dy * dy < 0.06;
            let corner = x * 3 > w * 2 && y * 3 < h;
            !(ellipse || corner || bits(self.seed, 6, y * w + x, 0).is_multiple_of(17))
        };
        (0..h)
            .flat_map(|y| (0..w).map(move |x| (x, y)))
            .map(|(x, y)| counts(x, y))
            .collect()
    }

    /// [`Scene::target`] with [`Scene::mask`] behind it, as a masked photo has it.
    #[must_use]
    pub fn masked_target(&self) -> Vec<u8> {
        let mut bytes = self.target();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(self.mask().iter().map(|counts| if *counts { 255 } else { 0 }));
        bytes
    }
}
