//! What happens when: the published schedules of MeshSplatting, outdoors and indoors.
//!
//! Iterations are numbered from 1, and events come after their iteration's update. Within an iteration triangles are pruned,
//! then split, then the opacity floor rises, so that a threshold is that of the floors before.

/// Every number of the schedules.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Iterations, which window and position rate are spread over.
    pub iterations: u32,
    /// Iterations between two events of a kind.
    pub every: u32,
    /// Subdivision comes after this iteration and before that.
    pub split: [u32; 2],
    /// What is split.
    pub splitting: SplitRule,
    /// Pruning comes after this iteration, and ends with subdivision's end and two events more.
    pub prune_from: u32,
    /// Least opacity and importance at the first pruning.
    pub prune_opacity: f32,
    /// What each rise of the floor adds to it.
    pub prune_step: f32,
    /// Largest size of a triangle, pixels.
    pub prune_size_px: f32,
    /// Importance counts where there are fewer training views than this: with more, one is not looked at between two events.
    pub prune_views: u32,
    /// The floor rises after this iteration; at the second one it reaches 0.9999.
    pub floor: [u32; 2],
    /// Whether the surface is connected after subdivision.
    pub connect: bool,
    /// Window exponent at the start and at the end.
    pub sigma: [f32; 2],
    /// From which iteration on a pixel has how many samples along each axis, ascending.
    pub supersample: Vec<(u32, u32)>,
    /// Iterations per degree of spherical harmonics.
    pub degree_every: u32,
    /// Highest degree.
    pub degree: u32,
    /// Learning rates.
    pub rates: Rates,
    /// Weights of the losses.
    pub losses: Losses,
}

/// Learning rates of Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Positions at the start and at the end, scene units; in between straight in the logarithm.
    pub position: [f32; 2],
    /// Weights of vertices.
    pub weight: f32,
    /// Colours of degree 0; higher degrees have a twentieth.
    pub color: f32,
}

/// Weights of the losses, and when they count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Mean opacity of triangles, before the floor rises.
    pub opacity: f32,
    /// Distance of vertices from the median depth, after the iteration.
    pub vertex_depth: (f32, u32),
    /// Largest such distance that counts, scene units.
    pub most_depth_difference: f32,
    /// Normals against those of depth, after the iteration.
    pub normals: (f32, u32),
}

/// Which triangles go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PruneRule {
    /// Those of at most this opacity.
    pub opacity: f32,
    /// Those that were larger, pixels.
    pub size_px: f32,
    /// Those of at most this importance; none says nothing.
    pub importance: Option<f32>,
}

/// Which triangles are split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitRule {
    /// Vertices aimed at, over those there are.
    pub growth: f32,
    /// Largest triangles that are split, too.
    pub largest: u32,
    /// Least area of a triangle that is sampled, squared scene units.
    pub least_area: f32,
}

/// What comes after an iteration, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct After {
    /// Triangles go.
    pub prune: Option<PruneRule>,
    /// Triangles are split; maxima are cleared.
    pub split: Option<SplitRule>,
    /// The floor rises to this; weights are rewritten.
    pub floor: Option<f32>,
    /// The surface is connected; maxima are cleared.
    pub connect: bool,
    /// Importances are cleared, so that they are those of the last look at each view.
    pub clear_importance: bool,
}

/// The highest floor.
const HIGHEST_FLOOR: f32 = 0.9999;
/// The floor at the iteration from which on it rises.
const LOWEST_FLOOR: f64 = 0.1;
/// Opacity of vertices at the start, where there is no floor yet.
pub const START_OPACITY: f64 = 0.28;
/// The floor at which a finished model is drawn and measured.
pub const FINAL_FLOOR: f32 = 0.999;
/// What goes at the end: triangles that are never at least half of a pixel.
pub const FINAL_RULE: PruneRule = PruneRule {
    opacity: 0.0,
    size_px: f32::INFINITY,
    importance: Some(0.5),
};

/// Iterations of the published schedules.
pub const PUBLISHED_ITERATIONS: u32 = 30_000;

/// Iterations between two events that a stretched schedule leaves.
const LEAST_BETWEEN_EVENTS: u32 = 10;

impl Settings {
    /// As published for scenes outdoors; what the paper's code calls each number stands beside it.
    #[must_use]
    pub fn outdoor() -> Self {
        Self {
            iterations: PUBLISHED_ITERATIONS,
            every: 500,
            split: [500, 10_000],
            splitting: SplitRule {
                growth: 1.23,       // add_percentage
                largest: 100,       // splitt_large_triangles
                least_area: 7.5e-5, // size_probs_zero
            },
            prune_from: 4000,     // start_pruning
            prune_opacity: 0.235, // prune_triangles_threshold
            prune_step: 0.01,
            prune_size_px: 1400.0, // prune_size
            prune_views: 500,
            floor: [5000, 24_000], // start_opacity_floor, final_opacity_iter
            connect: true,
            sigma: [1.0, 1e-4],                          // set_sigma, sigma_until
            supersample: vec![(20_000, 2), (25_000, 4)], // start_upsampling, upscaling_factor
            degree_every: 1000,
            degree: 3,
            rates: Rates {
                position: [1.5e-3, 1.5e-5], // lr_triangles_points_init
                weight: 0.03,               // weight_lr
                color: 1.6e-3,              // feature_lr
            },
            losses: Losses {
                opacity: 1.9e-6,                // lambda_weight
                vertex_depth: (2.5e-4, 12_000), // lambda_vertex, start_vertex_opt
                most_depth_difference: 0.5,     // max_diff_threshold
                normals: (5e-5, 5000),          // lambda_normals, iteration_mesh
            },
        }
    }

    /// A published schedule laid over so many iterations: every number of them but those of `supersample`, `degree_every` and the run
    /// itself is scaled, and some are left between two events.
    #[must_use]
    pub fn stretched(mut self, iterations: u32) -> Self {
        let factor = f64::from(iterations) / f64::from(PUBLISHED_ITERATIONS);
        let scale = |step: &mut u32| *step = (f64::from(*step) * factor).round().min(f64::from(u32::MAX)) as u32;
        let [split_from, split_until] = &mut self.split;
        let [floor_from, floor_until] = &mut self.floor;
        let losses = &mut self.losses;
        for step in [
            split_from,
            split_until,
            &mut self.prune_from,
            floor_from,
            floor_until,
            &mut losses.vertex_depth.1,
            &mut losses.normals.1,
        ] {
            scale(step);
        }
        // Events need steps in between, and importance all views.
        let least = LEAST_BETWEEN_EVENTS.min(self.every);
        scale(&mut self.every);
        self.every = self.every.max(least);
        scale(&mut self.prune_views);
        self.floor[1] = self.floor[1].max(self.floor[0] + 1);
        self
    }

    /// As published for scenes indoors.
    #[must_use]
    pub fn indoor() -> Self {
        let outdoor = Self::outdoor();
        Self {
            split: [1000, 10_000],
            splitting: SplitRule {
                growth: 1.27,
                largest: 500,
                least_area: 0.0,
            },
            prune_from: 3000,
            prune_size_px: 1300.0,
            rates: Rates {
                weight: 0.05,
                color: 4e-3,
                ..outdoor.rates
            },
            losses: Losses {
                opacity: 0.0,
                normals: (1e-5, 12_000),
                ..outdoor.losses
            },
            ..outdoor
        }
    }

    /// The iteration after which the surface is connected.
    #[must_use]
    pub const fn connected_after(&self) -> u32 {
        self.split[1] + 2 * self.every
    }

    /// Whether the floor rises after an iteration: not while the surface is connected and finds its new shape.
    fn rises(&self, iteration: u32) -> bool {
        let pause = self.connected_after()..self.connected_after() + 3 * self.every;
        let due = iteration > self.floor[0] && iteration.is_multiple_of(self.every);
        due && iteration <= self.iterations && !pause.contains(&iteration)
    }

    /// The floor that a rise after an iteration reaches.
    fn reached(&self, iteration: u32) -> f32 {
        let [from, to] = self.floor.map(f64::from);
        let gone = (f64::from(iteration) - from) / (to - from).max(1.0);
        let most = f64::from(HIGHEST_FLOOR);
        (LOWEST_FLOOR + (most - LOWEST_FLOOR) * gone).min(most) as f32
    }

    /// The floor during an iteration, which its update uses.
    #[must_use]
    pub fn floor_at(&self, iteration: u32) -> f32 {
        let last = self.rises_before(iteration).last();
        last.map_or(0.0, |last| self.reached(last))
    }

    /// The rises after iterations before this one.
    fn rises_before(&self, iteration: u32) -> impl Iterator<Item = u32> {
        let due = (0..iteration).step_by(self.every.max(1) as usize);
        due.filter(|&due| self.rises(due))
    }

    /// What comes after an iteration of a run with so many training views.
    #[must_use]
    pub fn after(&self, iteration: u32, views: u32) -> After {
        let due = iteration.is_multiple_of(self.every);
        let threshold = || self.prune_opacity + self.prune_step * self.rises_before(iteration).count() as f32;
        let prunes = due && iteration > self.prune_from && iteration < self.connected_after();
        let splits = due && iteration > self.split[0] && iteration < self.split[1];
        After {
            prune: prunes.then(|| PruneRule {
                opacity: threshold(),
                size_px: self.prune_size_px,
                importance: (views < self.prune_views).then(threshold),
            }),
            split: splits.then_some(self.splitting),
            floor: self.rises(iteration).then(|| self.reached(iteration)),
            connect: self.connect && iteration == self.connected_after(),
            clear_importance: iteration.checked_add(views) == Some(self.iterations),
        }
    }

    /// Window exponent of an iteration: 1 is a pyramid, towards 0 a solid triangle.
    #[must_use]
    pub fn sigma_at(&self, iteration: u32) -> f32 {
        let gone = f64::from(iteration.min(self.iterations)) / f64::from(self.iterations.max(1));
        let [from, to] = self.sigma.map(f64::from);
        (from + (to - from) * gone) as f32
    }

    /// Samples along each axis of a pixel in an iteration.
    #[must_use]
    pub fn supersample_at(&self, iteration: u32) -> u32 {
        let begun = self.supersample.iter().rev().find(|(from, _)| iteration >= *from);
        begun.map_or(1, |&(_, samples)| samples)
    }

    /// Degree of spherical harmonics of an iteration.
    #[must_use]
    pub fn degree_at(&self, iteration: u32) -> u32 {
        (iteration / self.degree_every.max(1)).min(self.degree)
    }

    /// Learning rate of positions in an iteration, scene units.
    #[must_use]
    pub fn position_rate_at(&self, iteration: u32) -> f32 {
        between(self.rates.position, iteration, self.iterations)
    }

    /// Weight of the mean opacity in an iteration.
    #[must_use]
    pub fn opacity_weight_at(&self, iteration: u32) -> f32 {
        if iteration < self.floor[0] {
            self.losses.opacity
        } else {
            0.0
        }
    }

    /// Weight of vertices' depths in an iteration.
    #[must_use]
    pub fn vertex_depth_weight_at(&self, iteration: u32) -> f32 {
        begun(self.losses.vertex_depth, iteration)
    }

    /// Weight of normals in an iteration.
    #[must_use]
    pub fn normals_weight_at(&self, iteration: u32) -> f32 {
        begun(self.losses.normals, iteration)
    }
}

/// A weight that counts after an iteration.
fn begun((weight, after): (f32, u32), iteration: u32) -> f32 {
    if iteration > after { weight } else { 0.0 }
}

/// A value that goes from one to another, straight in the logarithm; 0 where one of them is 0.
fn between([from, to]: [f32; 2], iteration: u32, iterations: u32) -> f32 {
    if from <= 0.0 || to <= 0.0 {
        return 0.0;
    }
    let gone = f64::from(iteration.min(iterations)) / f64::from(iterations.max(1));
    let [from, to] = [from, to].map(|x| f64::from(x).ln());
    (from + (to - from) * gone).exp() as f32
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Iterations after which something happens.
    fn when(settings: &Settings, what: impl Fn(&After) -> bool) -> Vec<u32> {
        (1..=30_000).filter(|&i| what(&settings.after(i, 200))).collect()
    }

    fn every_500(from: u32, to: u32) -> Vec<u32> {
        (from..=to).step_by(500).collect()
    }

    #[test]
    fn events_come_when_published() {
        for (settings, splits, prunes) in [(Settings::outdoor(), 1000, 4500), (Settings::indoor(), 1500, 3500)] {
            assert_eq!(when(&settings, |after| after.split.is_some()), every_500(splits, 9500));
            assert_eq!(
                when(&settings, |after| after.prune.is_some()),
                every_500(prunes, 10_500)
            );
            let floors = [every_500(5500, 10_500), every_500(12_500, 30_000)];
            assert_eq!(floors.each_ref().map(Vec::len), [11, 36]);
            assert_eq!(when(&settings, |after| after.floor.is_some()), floors.concat());
            assert_eq!(when(&settings, |after| after.connect), [11_000]);
            assert_eq!(when(&settings, |after| after.clear_importance), [29_800]);
            let soup = Settings {
                connect: false,
                ..settings
            };
            assert_eq!(when(&soup, |after| after.connect), [0_u32; 0]);
        }
    }

    #[test]
    fn thresholds_follow_the_floors_before() {
        let outdoor = Settings::outdoor();
        let opacity = |iteration| outdoor.after(iteration, 200).prune.unwrap().opacity;
        for (iteration, wanted) in [(4500, 0.235), (5500, 0.235), (6000, 0.245), (10_500, 0.335)] {
            assert!((opacity(iteration) - wanted).abs() < 1e-6, "{iteration}");
        }
        let rule = |settings: &Settings, views| settings.after(5000, views).prune.unwrap();
        assert_eq!(rule(&outdoor, 499).importance, Some(0.235));
        assert_eq!(rule(&outdoor, 500).importance, None);
        assert_eq!(
            (rule(&outdoor, 9).size_px, rule(&Settings::indoor(), 9).size_px),
            (1400.0, 1300.0)
        );
        let split = |settings: Settings| settings.after(2000, 9).split.unwrap();
        let (out, inside) = (split(Settings::outdoor()), split(Settings::indoor()));
        assert_eq!((out.growth, out.largest, out.least_area), (1.23, 100, 7.5e-5));
        assert_eq!((inside.growth, inside.largest, inside.least_area), (1.27, 500, 0.0));
    }

    #[test]
    fn the_floor_rises_to_its_end() {
        let settings = Settings::outdoor();
        let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
        let floor = |iteration| settings.after(iteration, 9).floor.unwrap();
        assert!(near(floor(5500), 0.1 + 0.8999 * 500.0 / 19_000.0));
        assert!(near(floor(23_500), 0.1 + 0.8999 * 18_500.0 / 19_000.0));
        assert_eq!([24_000, 27_000, 30_000].map(floor), [0.9999; 3]);
        assert_eq!([1, 4000, 5500].map(|i| settings.floor_at(i)), [0.0; 3]);
        for iteration in [5501, 6000] {
            assert_eq!(settings.floor_at(iteration), floor(5500));
        }
        // Through the pause.
        for iteration in [10_501, 11_000, 12_500] {
            assert_eq!(settings.floor_at(iteration), floor(10_500));
        }
        assert_eq!(settings.floor_at(30_001), 0.9999);
        // The last pruning takes nobody for opacity: the floor has passed its threshold.
        assert!(settings.after(10_500, 9).prune.unwrap().opacity < settings.floor_at(10_500));
    }

    #[test]
    fn what_changes_slowly() {
        let (outdoor, indoor) = (Settings::outdoor(), Settings::indoor());
        let near = |a: f32, b: f32| (a / b - 1.0).abs() < 1e-5;
        assert_eq!(
            (outdoor.sigma_at(0), outdoor.sigma_at(30_000), outdoor.sigma_at(40_000)),
            (1.0, 1e-4, 1e-4)
        );
        assert!(near(outdoor.sigma_at(15_000), 0.500_05));
        let samples = [19_999, 20_000, 24_999, 25_000, 30_000].map(|i| outdoor.supersample_at(i));
        assert_eq!(samples, [1, 2, 2, 4, 4]);
        assert_eq!(
            [1, 999, 1000, 2999, 3000, 30_000].map(|i| outdoor.degree_at(i)),
            [0, 0, 1, 2, 3, 3]
        );
        assert!(near(outdoor.position_rate_at(0), 1.5e-3) && near(outdoor.position_rate_at(15_000), 1.5e-4));
        assert!(near(outdoor.position_rate_at(30_000), 1.5e-5));
        assert_eq!([4999, 5000].map(|i| outdoor.opacity_weight_at(i)), [1.9e-6, 0.0]);
        assert_eq!(indoor.opacity_weight_at(1), 0.0);
        assert_eq!(
            [12_000, 12_001].map(|i| outdoor.vertex_depth_weight_at(i)),
            [0.0, 2.5e-4]
        );
        assert_eq!([5000, 5001].map(|i| outdoor.normals_weight_at(i)), [0.0, 5e-5]);
        assert_eq!([12_000, 12_001].map(|i| indoor.normals_weight_at(i)), [0.0, 1e-5]);
        assert_eq!((indoor.rates.color, indoor.rates.weight), (4e-3, 0.05));
    }

    #[test]
    fn a_schedule_is_stretched_as_a_whole() {
        for settings in [Settings::outdoor(), Settings::indoor()] {
            assert_eq!(settings.clone().stretched(PUBLISHED_ITERATIONS), settings);
        }
        let tenth = Settings::indoor().stretched(3000);
        assert_eq!((tenth.every, tenth.split, tenth.floor), (50, [100, 1000], [500, 2400]));
        assert_eq!((tenth.prune_from, tenth.prune_views), (300, 50));
        assert_eq!((tenth.losses.vertex_depth.1, tenth.losses.normals.1), (1200, 1200));
        let one = Settings::outdoor().stretched(1);
        assert_eq!((one.every, one.prune_views, one.floor), (10, 0, [0, 1]));
    }

    #[test]
    fn short_runs_keep_the_numbers_and_odd_settings_do_no_harm() {
        let short = Settings {
            iterations: 7000,
            ..Settings::outdoor()
        };
        assert_eq!(when(&short, |after| after.floor.is_some()), every_500(5500, 7000));
        assert!(!short.after(7000, 7000).clear_importance);
        let odd = Settings {
            iterations: 0,
            every: 1,
            degree_every: 0,
            floor: [9, 9],
            supersample: vec![],
            ..Settings::outdoor()
        };
        assert_eq!(odd.supersample_at(5), 1);
        assert!(odd.sigma_at(3).is_finite() && odd.position_rate_at(3).is_finite());
        assert_eq!(odd.degree_at(7), 3);
        assert!(!odd.after(10, u32::MAX).clear_importance);
    }
}
