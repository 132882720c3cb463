//! What makes a run fit that was refused for want of device memory.
//!
//! Nothing is estimated: each remedy is a plan of the same scene with one setting changed, and only those that fit are named, with the
//! bytes of their plans. Those that cost no quality come first, then the cheaper ones: docs/guide/storage.md has what storage costs.

use super::demand::Demand;
use super::first::{FirstModel, plan_first};
use super::planning::{SIZE_STEP, plan};
use super::remedy::Remedies;
use super::{BoundError, Faults, PlanError, TrianglesError, triangles};
use crate::config::{LpipsChoice, MostGaussians, Profile, Residency};
use crate::gaussians::layout::Storage;
use crate::kernels::views::Variants;
use crate::memory::{Budget, PlanLimits};
use crate::scene::SceneIndex;

/// Fewer Gaussians at the start are tried in this many steps.
const FEWER_STEPS: u32 = 64;

/// `error` with everything that would fit instead, where it is a refusal for want of device memory; `profile` is the one that was refused.
#[must_use]
pub fn with_remedies(
    mut error: PlanError,
    profile: &Profile,
    scene: &SceneIndex,
    (budget, limits): (Budget, PlanLimits),
    variants: &Variants,
    faults: &Faults,
) -> PlanError {
    let (needed_bytes, fitting) = match &error {
        PlanError::DoesNotFit {
            needed_bytes, fitting, ..
        } => (*needed_bytes, *fitting),
        PlanError::ImagesDoNotFit {
            images_bytes,
            other_bytes,
            ..
        } => (images_bytes + other_bytes, None),
        PlanError::Bound(BoundError::DoesNotFit { needed_bytes, .. })
        | PlanError::Triangles(
            TrianglesError::DoesNotFit { needed_bytes, .. } | TrianglesError::NoRoom { needed_bytes, .. },
        ) => (*needed_bytes, None),
        _ => return error,
    };
    // Background that the engine chooses goes before a run is refused.
    let Ok(first) = FirstModel::with_at_most(profile, scene, 0) else {
        return error;
    };
    let trial = Trial {
        first: &first,
        budget,
        limits,
        variants,
        faults,
    };
    let found = trial.all(profile, scene, needed_bytes, fitting);
    match &mut error {
        PlanError::DoesNotFit { remedies, .. }
        | PlanError::ImagesDoNotFit { remedies, .. }
        | PlanError::Bound(BoundError::DoesNotFit { remedies, .. })
        | PlanError::Triangles(TrianglesError::DoesNotFit { remedies, .. } | TrianglesError::NoRoom { remedies, .. }) =>
        {
            *remedies = found;
        }
        _ => {}
    }
    error
}

/// What changed plans have in common.
struct Trial<'a> {
    first: &'a FirstModel,
    budget: Budget,
    limits: PlanLimits,
    variants: &'a Variants,
    faults: &'a Faults,
}

impl Trial<'_> {
    /// Device bytes of the plan for `profile` and `scene`, if it fits.
    fn bytes(&self, profile: &Profile, scene: &SceneIndex) -> Option<u64> {
        if !profile.is_allowed() {
            return None;
        }
        let both = (self.budget, self.limits);
        let planned = if profile.is_triangles() {
            let start = triangles::Start::of_points(self.first.gaussians.len());
            triangles::plan(profile, scene, start, both, self.variants, self.faults)
        } else {
            let demand = self.first.demand(profile, scene);
            plan(profile, scene, &demand, both.0, both.1, self.variants, self.faults)
        };
        planned.ok().map(|(_, report)| report.device_bytes)
    }

    /// Each change that fits alone; where none does, those that fit together.
    fn all(&self, profile: &Profile, scene: &SceneIndex, needed_bytes: u64, fitting: Option<u32>) -> Remedies {
        let mut remedies = Remedies::default();
        let changed = |change: &dyn Fn(&mut Profile)| {
            let mut profile = profile.clone();
            change(&mut profile);
            profile
        };
        let mut offer = |what: &str, change: &dyn Fn(&mut Profile)| {
            if let Some(bytes) = self.bytes(&changed(change), scene) {
                remedies.add(format!("`{what}`"), bytes);
            }
        };
        if profile.dataset.residency == Residency::Device {
            offer("--set dataset.residency=host", &|p| {
                p.dataset.residency = Residency::Host
            });
        }
        if profile.eval.lpips != LpipsChoice::Off {
            offer("--set eval.lpips=false", &|p| p.eval.lpips = LpipsChoice::Off);
        }
        let room = Remedies::of_room(needed_bytes, &self.budget);
        remedies.0.extend(room.0);
        let before = remedies.0.len();
        for storage in coarser(profile.memory.storage) {
            let coarse = changed(&|p| p.memory.storage = *storage);
            if let Some(bytes) = self.bytes(&coarse, scene) {
                remedies.add(format!("`--set memory.storage={}`", storage.name()), bytes);
            }
        }
        let mut degrees = (0..profile.model.sh_degree).rev();
        let of_degree = |degree: u32| Some((degree, self.bytes(&changed(&|p| p.model.sh_degree = degree), scene)?));
        if let Some((degree, bytes)) = degrees.find_map(of_degree) {
            remedies.add(format!("`--sh-degree {degree}`"), bytes);
        }
        let smaller = [2, 4].map(|divisor| (resolution(profile, scene, divisor), scene.rescaled(divisor.into())));
        let of_smaller = |(number, scene): &(i32, SceneIndex)| Some((*number, self.bytes(profile, scene)?));
        if let Some((number, bytes)) = smaller.iter().find_map(of_smaller) {
            remedies.add(format!("`--resolution {number}`"), bytes);
        }
        if let Some((what, bytes)) = self.fewer(profile, scene, fitting) {
            remedies.add(what, bytes);
        }
        if remedies.0.len() == before {
            // Nothing alone.
            if let Some((what, bytes)) = self.together(profile, scene, &smaller) {
                remedies.add(what, bytes);
            }
        }
        remedies
    }

    /// The first changes that fit together: the coarsest storage, then lower degrees, then `smaller` photos by their resolution.
    fn together(&self, profile: &Profile, scene: &SceneIndex, smaller: &[(i32, SceneIndex)]) -> Option<(String, u64)> {
        let mut all = profile.clone();
        let mut flags = Vec::new();
        if let Some(storage) = coarser(profile.memory.storage).last() {
            all.memory.storage = *storage;
            if all.is_allowed() {
                flags.push(format!("--set memory.storage={}", storage.name()));
            } else {
                all.memory.storage = profile.memory.storage;
            }
        }
        let fits = |all: &Profile, scene: &SceneIndex, flags: &[String]| {
            let bytes = self.bytes(all, scene).filter(|_| flags.len() > 1)?;
            Some((format!("`{}` together", flags.join(" ")), bytes))
        };
        let at = flags.len();
        for degree in (0..profile.model.sh_degree).rev() {
            all.model.sh_degree = degree;
            flags.truncate(at);
            flags.push(format!("--sh-degree {degree}"));
            let found = fits(&all, scene, &flags);
            if found.is_some() {
                return found;
            }
        }
        smaller.iter().find_map(|(number, scene)| {
            let resolution = format!("--resolution {number}");
            let flags: Vec<String> = flags.iter().cloned().chain([resolution]).collect();
            fits(&all, scene, &flags)
        })
    }

    /// The most Gaussians or vertices that fit, and how to say so.
    fn fewer(&self, profile: &Profile, scene: &SceneIndex, fitting: Option<u32>) -> Option<(String, u64)> {
        let with = |n: u32| {
            let mut profile = profile.clone();
            profile.memory.max_gaussians = MostGaussians::Set(n);
            profile
        };
        let said = |n: u32| format!("`--max-gaussians {n}`");
        if profile.is_triangles() || profile.is_bound() {
            // Their own errors name vertices, and meshes that fit.
            return None;
        }
        if let Some(n) = fitting {
            return self.bytes(&with(n), scene).map(|bytes| (said(n), bytes));
        }
        // Fewer than there are at the start: first by share, then as they would be, because fewer points make larger Gaussians.
        let initial = u32::try_from(self.first.gaussians.len()).unwrap_or(u32::MAX);
        let demand = self.first.demand(profile, scene);
        let both = (self.budget, self.limits);
        let fits = |n: u32| {
            let demand = Demand { gaussians: n, ..demand };
            plan(&with(n), scene, &demand, both.0, both.1, self.variants, self.faults).is_ok()
        };
        let step = SIZE_STEP.min(initial.div_ceil(FEWER_STEPS)).max(1);
        let (mut low, mut high) = (0, initial / step + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle * step) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let tries = [8, 7, 6, 4].map(|eighths| u64::from(low * step) * eighths / 8);
        tries.into_iter().filter(|n| *n > 0).find_map(|n| {
            let n = u32::try_from(n).ok()?;
            let profile = with(n);
            let planned = plan_first(&profile, scene, both.0, both.1, self.variants, self.faults);
            planned.ok().map(|(_, _, report)| (said(n), report.device_bytes))
        })
    }
}

/// Modes of storage with fewer bits than `storage`.
const fn coarser(storage: Storage) -> &'static [Storage] {
    match storage {
        Storage::Exact => &[Storage::Half, Storage::Compact],
        Storage::Half => &[Storage::Compact],
        Storage::Compact => &[],
    }
}

/// `--resolution` for photos whose sides are a `divisor`th of those in `scene`.
fn resolution(profile: &Profile, scene: &SceneIndex, divisor: i32) -> i32 {
    let widest = scene.views().map(|(_, view)| view.source_width).max().unwrap_or(0);
    let width = i32::try_from(scene.largest_px().0).unwrap_or(i32::MAX);
    match profile.dataset.resolution {
        of @ (1 | 2 | 4 | 8) => of * divisor,
        -1 if widest == scene.largest_px().0 => divisor,
        _ => (width / divisor).max(16),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use super::*;
    use crate::config::{Inputs, Override, resolve};
    use crate::kernels::views::{Loops, Reduction, Threads};
    use crate::memory::{BlockRounding, GIB, MIB};
    use crate::plan::scene_options;

    const LIMITS: PlanLimits = PlanLimits {
        block_bytes: GIB,
        binding_bytes: 4 * GIB - 1,
        rounding: BlockRounding::NONE,
    };
    const VARIANTS: Variants = Variants {
        reduction: Reduction::Atomic,
        sort_subgroup: 32,
        threads: Threads::Pixels,
        loops: Loops::Long,
    };

    fn refused(settings: &[(&str, &str)], recipe: &str, budget: Budget) -> (PlanError, Profile, SceneIndex) {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        let profile = resolve(&Inputs {
            recipe: Some(recipe.to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap();
        let scene = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let scene = SceneIndex::load(&scene, &scene_options(&profile).unwrap()).unwrap();
        let faults = Faults::default();
        let error = plan_first(&profile, &scene, budget, LIMITS, &VARIANTS, &faults)
            .err()
            .unwrap();
        let error = with_remedies(error, &profile, &scene, (budget, LIMITS), &VARIANTS, &faults);
        (error, profile, scene)
    }

    fn named(error: &PlanError) -> Vec<&str> {
        let remedies = match error {
            PlanError::DoesNotFit { remedies, .. }
            | PlanError::ImagesDoNotFit { remedies, .. }
            | PlanError::Triangles(
                TrianglesError::DoesNotFit { remedies, .. } | TrianglesError::NoRoom { remedies, .. },
            ) => remedies,
            _ => unreachable!("{error}"),
        };
        remedies.0.iter().map(|remedy| remedy.what.as_str()).collect()
    }

    #[test]
    fn coarser_storage_is_named_before_a_smaller_model() {
        // An eighth of ten million under 8gb, in an eighth of the time.
        let budget = Budget::of_profile(7 * GIB / 8);
        let many = [("memory.max_gaussians", "1250000"), ("eval.lpips", "false")];
        let (error, mut profile, scene) = refused(&many, "default", budget);
        let found = named(&error);
        let [cap, half, compact, degree, fewer] = &found[..] else {
            unreachable!("{found:?}")
        };
        assert!(
            cap.contains("memory.cap_gib=") && cap.contains("on a card that has it"),
            "{cap}"
        );
        assert_eq!(
            [*half, *compact, *degree],
            [
                "`--set memory.storage=half`",
                "`--set memory.storage=compact`",
                "`--sh-degree 2`"
            ]
        );
        assert!(fewer.starts_with("`--max-gaussians "), "{fewer}");
        // The figures are those of the plans.
        profile.memory.storage = Storage::Half;
        let half = plan_first(&profile, &scene, budget, LIMITS, &VARIANTS, &Faults::default()).unwrap();
        let PlanError::DoesNotFit { remedies, .. } = &error else {
            unreachable!()
        };
        assert_eq!(remedies.0.get(1).unwrap().bytes, half.2.device_bytes);
        assert!(remedies.0.iter().skip(1).all(|remedy| remedy.bytes <= budget.cap_bytes));
    }

    #[test]
    fn what_does_not_fit_is_not_named() {
        // Far beyond what any storage holds.
        let budget = Budget::of_profile(GIB / 4);
        let many = [("memory.max_gaussians", "2000000"), ("eval.lpips", "false")];
        let (error, ..) = refused(&many, "default", budget);
        let found = named(&error);
        assert!(
            found
                .iter()
                .all(|what| !what.contains("storage") && !what.contains("sh-degree")),
            "{found:?}"
        );
        assert!(
            found.iter().any(|what| what.starts_with("`--max-gaussians ")),
            "{found:?}"
        );
        // A device that has no more cannot be given a larger cap, and nobody else holds any of it.
        let device = Budget::new(2 * GIB, None, Some(3 * GIB / 2));
        assert!(Remedies::of_room(3 * GIB, &device).0.is_empty());
        assert_eq!(
            Remedies::of_room(3 * GIB, &Budget::new(2 * GIB, Some(2 * GIB), None)).0,
            []
        );
        let crowded = Budget::new(8 * GIB, Some(2 * GIB), None);
        assert!(
            Remedies::of_room(3 * GIB, &crowded)
                .to_string()
                .contains("ending other programs")
        );
    }

    #[test]
    fn fewer_points_or_several_settings_help_where_the_start_is_too_large() {
        let many = [
            ("init", "{ kind: random_frustum, count: 60000 }"),
            ("eval.lpips", "false"),
        ];
        let budget = Budget::of_profile(48 * MIB);
        let (error, profile, scene) = refused(&many, "default", budget);
        let found = named(&error);
        let fewer = found.iter().find_map(|what| what.strip_prefix("`--max-gaussians "));
        assert!(fewer.is_some(), "{error}: {found:?}");
        let most: u32 = fewer.unwrap().trim_end_matches('`').parse().unwrap();
        let with = |n: u32| {
            let mut profile = profile.clone();
            profile.memory.max_gaussians = MostGaussians::Set(n);
            plan_first(&profile, &scene, budget, LIMITS, &VARIANTS, &Faults::default()).is_ok()
        };
        assert!(with(most) && !with(2 * most), "{most}");
    }

    #[test]
    fn vertices_that_were_asked_for_fit_or_are_refused() {
        let budget = Budget::of_profile(7 * GIB);
        let (error, mut profile, scene) = refused(&[("mesh_splatting.max_points", "8000000")], "meshsplatting", budget);
        let PlanError::Triangles(TrianglesError::NoRoom { fitting, vertices, .. }) = &error else {
            unreachable!("{error}")
        };
        assert!(
            (4_000_000..8_000_000).contains(fitting) && *vertices == 8_000_000,
            "{fitting}"
        );
        assert!(
            named(&error).iter().all(|what| !what.contains("storage")),
            "triangles have one"
        );
        let mut with = |most| {
            profile.mesh_splatting.get_or_insert_default().max_points = most;
            let planned = plan_first(&profile, &scene, budget, LIMITS, &VARIANTS, &Faults::default());
            planned.map(|(_, _, report)| report.capacities.triangles.unwrap().vertices)
        };
        assert_eq!(with(MostGaussians::Set(*fitting)).unwrap(), *fitting);
        assert_eq!(with(MostGaussians::Set(4_000_000)).unwrap(), 4_000_000);
        assert_eq!(with(MostGaussians::UpTo(8_000_000)).unwrap(), *fitting);
    }
}
