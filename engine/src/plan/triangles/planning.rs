//! Capacities and memory of a run that trains triangles.
//!
//! There is room for five triangles a vertex, or three where memory is short, and a record for each, so that no view can show
//! too many; what is short of room are intersections, and steps that want more run in bands. Vertices are `mesh_splatting.max_points`, or
//! under `up to N` what the budget holds of them.

use crate::plan::capacity::{CapacitySource, Origin, pixel_sizes};
use crate::plan::demand::{Demand, DemandSource};
use crate::plan::jobs::{Job, Jobs};
use crate::plan::planning::{Candidate, SIZE_STEP, largest, resident_bytes};
use crate::plan::readback::EvalReadback;
use crate::plan::room::RoomLimit;
use crate::plan::{Faults, PlanError, Remedies, TrianglesError, layout_of};
use crate::plan::{PlanReport, TrainPlan};
use crate::step::{self, BandTensors, Capacities, ResidentImages, StepTensors, Terms, TriangleSizes, Turns};
use kiln_config::{MostGaussians, Profile, TriangleGradient};
use kiln_gaussians::layout::chunk_within;
use kiln_gpu::memory::{Budget, PlanLimits};
use kiln_kernels::triangles::tile_px;
use kiln_kernels::views::Variants;
use kiln_program::TensorTable;
use kiln_scene::SceneIndex;

/// Triangles there is room for, a vertex, where memory is not short: connected surfaces were seen to have 4.1 to 4.6. What has no room
/// is missing from the surface, so intersections give way first,
const AMPLE: u32 = 5;
/// as far as this level.
const AMPLE_LEVEL: u32 = GENEROUS / 2;
/// The same where memory is short; fewer vertices would cost more than the faintest triangles.
const LEAST: u32 = 3;
/// Bytes that a vertex takes of the largest tensor that a pass binds whole: records of all its triangles.
const BOUND_BYTES: u64 = RECORD_BYTES * LEAST as u64;
/// Bytes of a triangle's record in it.
const RECORD_BYTES: u64 = 16;
/// Bytes of an intersection in such a tensor.
const INTERSECTION_BYTES: u64 = 16;
/// Bytes of a pixel in such a tensor.
const PIXEL_BYTES: u64 = 8;
/// Least intersections when memory is not short: small models have large triangles.
const GENEROUS_LEAST: u32 = 1 << 20;
/// Intersections a triangle at the most generous level,
const GENEROUS_PER_TRIANGLE: u32 = 3;
/// up to this many; beyond, one a triangle: where there are so many, most are small or out of view.
const GENEROUS_MOST: u32 = 1 << 23;
/// Triangles an intersection at the least level. A step that wants more runs in bands, and one tile of many never has as many.
const LEAST_SHARE: u32 = 3;
/// Tiles from which on they are many; in fewer, one may have all triangles.
const MANY_TILES: u32 = 64;
/// The most generous level.
const GENEROUS: u32 = 16;
/// Tiles of a triangle in what a run is expected to need.
const TILES: f64 = 3.0;

/// What a run begins or goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Vertices.
    pub vertices: u32,
    /// Triangles.
    pub triangles: u32,
}

impl Start {
    /// The first model of `points` points: a triangle each.
    #[must_use]
    pub fn of_points(points: usize) -> Self {
        let triangles = u32::try_from(points).unwrap_or(u32::MAX).min(u32::MAX / 3);
        Self {
            vertices: 3 * triangles,
            triangles,
        }
    }
}

impl TrainPlan {
    /// Names every tensor and lists every pass of a run that trains triangles, as [`TrainPlan::new`] does for Gaussians.
    #[must_use]
    pub fn of_triangles(
        capacities: &Capacities,
        sizes: TriangleSizes,
        variants: &Variants,
        profile: &Profile,
        (resident_bytes, page_bytes): (&[u64], u64),
    ) -> Self {
        let mut table = TensorTable::default();
        let resident = ResidentImages::new(&mut table, resident_bytes.iter().copied(), page_bytes);
        let tensors = StepTensors::for_triangles(&mut table, capacities, sizes, variants, resident);
        let readback = EvalReadback::new(&mut table, &tensors);
        let [evaluate, evaluate_image] = readback.programs(&tensors);
        let mut jobs = Jobs::default();
        let pages = step::train_steps(&tensors).into_iter().enumerate();
        jobs.extend(pages.map(|(page, step)| (Job::Step(Terms::Image, page), step)));
        let bands = BandTensors::new(&mut table, capacities, variants);
        let copies = readback.copies(&tensors);
        jobs.add_bands(Terms::Image, Turns::Lists, step::banded(&tensors, &bands, &copies[..2]));
        jobs.extend([
            (Job::Evaluate { image: false }, evaluate),
            (Job::Evaluate { image: true }, evaluate_image),
            (Job::ClearStall, step::clear_stall(&tensors)),
            (Job::LeftOut, step::left_out(&tensors)),
        ]);
        Self {
            layout: layout_of(profile),
            table,
            tensors,
            readback,
            bands,
            record_bands: None,
            pair: None,
            jobs,
            histogram_back: None,
            lpips: None,
            probe: None,
        }
    }
}

/// Finds the largest capacities that fit the budget, for a run that begins or goes on with `start`.
///
/// Vertices are `mesh_splatting.max_points`; a bound (`up to N`) is lowered to what the budget holds, but never below those that there are.
///
/// # Errors
/// [`PlanError::Triangles`] when not even those fit, or fewer than a number that is set, or the machine has too little memory to connect the surface.
pub fn plan(
    profile: &Profile,
    scene: &SceneIndex,
    start: Start,
    (budget, limits): (Budget, PlanLimits),
    variants: &Variants,
    faults: &Faults,
) -> Result<(TrainPlan, PlanReport), PlanError> {
    let most = u32::try_from(limits.largest_tensor() / BOUND_BYTES).unwrap_or(u32::MAX);
    let asked = match profile.mesh_splatting().max_points {
        MostGaussians::Set(vertices) => vertices.max(start.vertices),
        MostGaussians::UpTo(_) => start.vertices,
    };
    if asked > most {
        return Err(TrianglesError::TooLarge { vertices: asked, most }.into());
    }
    let pixels = pixel_sizes(scene).map(|(w, h)| w * h).max().unwrap_or(0);
    let most_pixels = limits.largest_tensor() / PIXEL_BYTES;
    if u64::from(pixels) > most_pixels {
        return Err(TrianglesError::ImagesTooLarge {
            pixels,
            most: most_pixels,
        }
        .into());
    }
    let wanted = profile
        .mesh_splatting()
        .max_points
        .number()
        .min(most)
        .max(start.vertices);
    let search = Search {
        profile,
        scene,
        resident: resident_bytes(profile, scene),
        start,
        wanted,
        asked,
        budget,
        limits,
        variants,
        faults,
    };
    let best = search.best()?;
    check_memory(profile, vertices_of(&best), kiln_system::available_bytes())?;
    let demand = Demand {
        gaussians: start.triangles,
        visible_share: 1.0,
        mean_share: 1.0,
        intersections: TILES,
        per_visible: TILES,
        from: DemandSource::Assumed,
        bound: None,
        room: 0,
    };
    Ok(best.reported(&demand, budget))
}

/// What capacities are looked for.
struct Search<'a> {
    profile: &'a Profile,
    scene: &'a SceneIndex,
    /// Bytes of the photos that stay on the device.
    resident: Vec<u64>,
    start: Start,
    /// Vertices that there is to be room for,
    wanted: u32,
    /// and those without which the run does not start.
    asked: u32,
    budget: Budget,
    limits: PlanLimits,
    variants: &'a Variants,
    faults: &'a Faults,
}

impl Search<'_> {
    /// A plan for so many vertices with room for `each` triangles a vertex, and for intersections at `level`.
    fn build(&self, vertices: u32, each: u32, level: u32) -> Result<Candidate, PlanError> {
        let (profile, scene, limits) = (self.profile, self.scene, self.limits);
        let sizes = TriangleSizes {
            vertices,
            exact: profile.mesh_splatting().gradient == TriangleGradient::Exact,
        };
        let triangles = vertices.saturating_mul(each).max(self.start.triangles);
        let (capacities, origin) = capacities(profile, scene, (sizes, triangles), level, limits, self.faults);
        let pages = (&self.resident[..], limits.largest_tensor());
        let plan = TrainPlan::of_triangles(&capacities, sizes, self.variants, profile, pages);
        Candidate::new(plan, origin, profile, scene, (self.budget, limits))
    }

    fn fits(&self, candidate: &Candidate) -> bool {
        candidate.needed_bytes <= self.budget.cap_bytes
    }

    /// The largest plan that fits: intersections give way first, then triangles, then vertices.
    fn best(&self) -> Result<Candidate, PlanError> {
        let (wanted, fits) = (self.wanted, |candidate: &Candidate| self.fits(candidate));
        let is_bindable = u64::from(wanted) * u64::from(AMPLE) * RECORD_BYTES <= self.limits.largest_tensor();
        let ample = match is_bindable {
            true => Some(self.build(wanted, AMPLE, AMPLE_LEVEL)?).filter(fits),
            false => None,
        };
        let each = if ample.is_some() { AMPLE } else { LEAST };
        let all = self.build(wanted, each, GENEROUS)?;
        if fits(&all) {
            return Ok(all);
        }
        if let Some(ample) = ample {
            let build = |level| self.build(wanted, AMPLE, level);
            return largest(AMPLE_LEVEL, GENEROUS, ample, build, fits);
        }
        let least = self.build(wanted, LEAST, 0)?;
        if fits(&least) {
            return largest(0, GENEROUS, least, |level| self.build(wanted, LEAST, level), fits);
        }
        self.fewer(least.needed_bytes)
    }

    /// The plan with as many vertices as fit, where those wanted take `needed_bytes`.
    fn fewer(&self, needed_bytes: u64) -> Result<Candidate, PlanError> {
        let start = self.start.vertices;
        let least = self.build(start, LEAST, 0)?;
        if !self.fits(&least) {
            return Err(self.does_not_fit(least.needed_bytes)?.into());
        }
        // Sizes on a fixed grid: a run that goes on with more vertices finds the same capacity.
        let (low, high) = (start.div_ceil(SIZE_STEP), self.wanted / SIZE_STEP + 1);
        let build = |k: u32| self.build((k * SIZE_STEP).max(start), LEAST, 0);
        let most = largest(low.saturating_sub(1), high, least, build, |c| self.fits(c))?;
        if self.asked == self.wanted {
            return Err(TrianglesError::NoRoom {
                needed_bytes,
                cap_bytes: self.budget.cap_bytes,
                vertices: self.wanted,
                fitting: vertices_of(&most),
                remedies: Remedies::of_room(needed_bytes, &self.budget),
            }
            .into());
        }
        Ok(most)
    }

    /// The error of a budget that holds not even the vertices that there are, which take `needed_bytes`.
    fn does_not_fit(&self, needed_bytes: u64) -> Result<TrianglesError, PlanError> {
        let build = |k: u32| self.build((k * SIZE_STEP).max(1000), LEAST, 0);
        let (smallest, high) = (build(0)?, self.start.vertices / SIZE_STEP + 1);
        let fitting = match self.fits(&smallest) {
            true => vertices_of(&largest(0, high, smallest, build, |c| self.fits(c))?),
            false => 0,
        };
        Ok(TrianglesError::DoesNotFit {
            needed_bytes,
            cap_bytes: self.budget.cap_bytes,
            vertices: self.start.vertices,
            fitting,
            remedies: Remedies::of_room(needed_bytes, &self.budget),
        })
    }
}

fn vertices_of(candidate: &Candidate) -> u32 {
    let sizes = candidate.plan.tensors.capacities.triangles;
    sizes.map_or(0, |sizes| sizes.vertices)
}

/// Refuses what could not be connected later for want of memory.
fn check_memory(profile: &Profile, vertices: u32, available: Option<u64>) -> Result<(), TrianglesError> {
    let connects = profile
        .triangle_schedule()
        .is_some_and(|settings| settings.connect && settings.connected_after() <= settings.iterations);
    let needs = |vertices: u32| kiln_triangles::host_bytes(vertices.into(), u64::from(LEAST) * u64::from(vertices));
    match available {
        Some(available_bytes) if connects && needs(vertices) > available_bytes => {
            let fitting = (0..=vertices / SIZE_STEP).map(|k| k * SIZE_STEP);
            Err(TrianglesError::HostMemory {
                vertices,
                needed_bytes: needs(vertices),
                available_bytes,
                fitting: fitting.rev().find(|&v| needs(v) <= available_bytes).unwrap_or(0),
            })
        }
        _ => Ok(()),
    }
}

/// Room for the intersections of a view at `level`, for so many triangles and tiles.
fn intersections(triangles: u32, level: u32, tiles: u32) -> u32 {
    let generous = triangles
        .saturating_mul(GENEROUS_PER_TRIANGLE)
        .min(triangles.max(GENEROUS_MOST))
        .max(GENEROUS_LEAST);
    let share = if tiles < MANY_TILES { 1 } else { LEAST_SHARE };
    let least = triangles.div_ceil(share).max(triangles.min(GENEROUS_LEAST));
    let more = u64::from(generous - least) * u64::from(level.min(GENEROUS)) / u64::from(GENEROUS);
    least.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

/// Capacities for a model of `sizes` and so many triangles at `level`, and where they come from.
fn capacities(
    profile: &Profile,
    scene: &SceneIndex,
    (sizes, triangles): (TriangleSizes, u32),
    level: u32,
    limits: PlanLimits,
    faults: &Faults,
) -> (Capacities, Origin) {
    let least = faults.i_cap.unwrap_or(0);
    let mut c = Capacities::new(triangles, triangles, least, profile.model.sh_degree, pixel_sizes(scene));
    c.binding_bytes = limits.binding_bytes;
    c.masked = scene.masked;
    c.cameras = u32::try_from(scene.train.len()).unwrap_or(u32::MAX);
    c.chunk = match faults.chunk {
        Some(chunk) => chunk.next_multiple_of(256),
        None => chunk_within(limits.largest_tensor()),
    };
    c.triangles = Some(sizes);
    let own = profile.mesh_splatting();
    let samples = own.supersample.iter().map(|&[_, samples]| samples).max();
    c.list_tiles(tile_px(samples.unwrap_or(1)), pixel_sizes(scene));
    if faults.i_cap.is_none() {
        let bound = u32::try_from(limits.largest_tensor() / INTERSECTION_BYTES).unwrap_or(u32::MAX);
        c.i_cap = intersections(triangles, level, c.max_lists).min(bound);
    }
    let source = match level {
        _ if faults.forces_capacities() => CapacitySource::Forced,
        GENEROUS.. => CapacitySource::Generous,
        0 => CapacitySource::Short,
        _ => CapacitySource::Budget,
    };
    let short_of = (source == CapacitySource::Short).then_some(RoomLimit::Budget);
    (c, Origin { source, short_of })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, resolve};

    #[test]
    fn room_for_intersections_rises_with_the_level_and_ends_where_triangles_are_many() {
        for triangles in [256, 400_000, 3_000_000, 12_000_000, 24_000_000, u32::MAX] {
            let list: Vec<u32> = (0..=GENEROUS)
                .map(|level| intersections(triangles, level, 1700))
                .collect();
            assert!(
                list.is_sorted() && list.iter().all(|i| *i >= triangles / LEAST_SHARE),
                "{triangles}: {list:?}"
            );
        }
        let of = |triangles| [0, GENEROUS].map(|level| intersections(triangles, level, 1700));
        assert_eq!(of(400_000), [400_000, 1_200_000]);
        assert_eq!(of(12_000_000), [4_000_000, 12_000_000]);
        assert_eq!(intersections(12_000_000, 0, 4), 12_000_000);
    }

    #[test]
    fn a_surface_that_memory_could_not_connect_is_refused_with_the_number_that_fits() {
        let recipe = |name: &str| {
            resolve(&Inputs {
                recipe: Some(name.to_owned()),
                ..Inputs::default()
            })
            .unwrap()
        };
        let mut profile = recipe("meshsplatting");
        let refused = check_memory(&profile, 4_000_000, Some(1 << 30)).unwrap_err();
        let fitting = match refused {
            TrianglesError::HostMemory { fitting, .. } => fitting,
            _ => 0,
        };
        assert!(check_memory(&profile, fitting, Some(1 << 30)).is_ok() && fitting > 100_000);
        assert!(refused.hint().contains(&fitting.to_string()));
        profile.mesh_splatting.get_or_insert_default().delaunay = false;
        assert!(check_memory(&profile, 4_000_000, Some(1 << 30)).is_ok());
        profile = recipe("meshsplatting");
        profile.schedule.iterations = 7000;
        assert!(check_memory(&profile, 4_000_000, Some(1 << 30)).is_ok());
    }
}
