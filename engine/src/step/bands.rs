//! A step in bands of tiles, for views with more tile intersections than there are slots.
//!
//! The host submits each [`Part`]: the prefix once, then reads the tile histogram and packs bands with [`pack_bands`];
//! forward per band; the loss once on the whole image; backward per band, which lists the band's intersections again and
//! adds to the gradient records; finish once. Splats meet their tiles in the same order as
//! without bands and sums go on where the last band left them, so image, gradients and, with the segmented reduction,
//! every byte are those of the unbanded step.
//!
//! On CPU drivers the loops of bands are unrolled, so that a step whose loops the driver cut comes here too.
//!
//! Views with more visible Gaussians than records take the programs of [`super::record_bands`] instead.
//!
//! Parts are programs of their own and repeat, so each holds the tensors that pass between them from its first command
//! to its last (see [`Program::hold`]).

use std::mem::offset_of;
use std::ops::Range;

use super::passes::{
    check_gradients, clear_gradients, draw, intersect, status, targets, update, upload, upload_uniforms, visible,
};
use super::{Capacities, DensityTensors, Part, Parts, StepTensors, density, losses, triangles};
use kiln_kernels::counters::Args;
use kiln_kernels::radix_sort::{SortBuffers, histogram_bytes};
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Intersections, Pixels, Variants};
use kiln_kernels::{bands, loss, prepare_args};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Bands that may be in flight.
pub const BAND_SLOTS: u32 = 16;

/// Tensors that only banded steps need.
#[derive(Clone, Copy, Debug)]
pub struct BandTensors {
    /// Sorting of a band's intersections.
    pub sort: SortBuffers,
    /// Splats of every tile, one word each.
    pub histogram: Span,
    /// Its copy for the host.
    pub histogram_back: Span,
    /// First and one-past-last tile of a band, two words a slot, [`BAND_SLOTS`] slots.
    pub ranges: Span,
    /// Bytes between slots of `ranges`.
    pub ranges_stride: u64,
}

impl BandTensors {
    /// Adds the tensors to `table`.
    #[must_use]
    pub fn new(table: &mut TensorTable, capacities: &Capacities, variants: &Variants) -> Self {
        let cap = capacities.band_cap();
        let tiles = 4 * u64::from(capacities.max_lists);
        let mut arena = |name: &str, tag, bytes| table.add(format!("bands/{name}"), Class::Arena, tag, bytes);
        let mut list = |name: &str| arena(name, Tag::Sort, 4 * u64::from(cap));
        let keys = [list("tile_keys"), list("tile_keys_other")];
        let values = [list("payloads"), list("payloads_other")];
        let sort = SortBuffers {
            keys,
            values,
            histogram: arena(
                "sort_histogram",
                Tag::Sort,
                histogram_bytes(cap, Args::IntersectionSort, variants),
            ),
        };
        let histogram = arena("tile_histogram", Tag::Pixels, tiles);
        let ranges_stride = 256;
        Self {
            sort,
            histogram,
            histogram_back: table.add("ring/tile_histogram", Class::Readback, Tag::Staging, tiles),
            ranges: table.add(
                "ring/bands",
                Class::Upload,
                Tag::Staging,
                u64::from(BAND_SLOTS) * ranges_stride,
            ),
            ranges_stride,
        }
    }

    /// The two words of slot `slot`.
    #[must_use]
    pub fn range(&self, slot: u32) -> Span {
        self.ranges.slice(u64::from(slot) * self.ranges_stride, 8)
    }
}

/// Lists the parts of a step and of an evaluation. `keep` receives copies of tensors that the host reads after an evaluation.
#[must_use]
pub fn banded(t: &StepTensors, b: &BandTensors, keep: &[(Span, Span)]) -> Parts {
    let t = &t.in_bands();
    let (s, pixels) = (&t.shared, &t.pixels);
    let is_resident = !t.resident.pages.is_empty();
    let (prefix, depth_order) = record_prefix(t, b, !is_resident);
    let records = records(t, depth_order);

    let image = [&records[..], &drawn(t)].concat();
    let sums = sums(t);
    let all = [&records[..], &pulled(t), &sums].concat();

    let mut forward = Program::new(t.named("banded step, forward"));
    forward.hold(&image);
    band_range(&mut forward, t, b);
    let lists = band_lists(&mut forward, t, b, depth_order);
    draw(&mut forward, t, &lists);
    forward.hold(&image);

    let whole = |pixels: Pixels| {
        let mut whole = Program::new(t.named("banded step, loss"));
        whole.hold(&image);
        losses::record(&mut whole, t, &pixels);
        clear_gradients(&mut whole, t);
        whole.hold(&all);
        whole
    };
    let losses = targets(t).into_iter().map(whole).enumerate();

    let mut backward = Program::new(t.named("banded step, backward"));
    backward.hold(&all);
    band_range(&mut backward, t, b);
    let lists = band_lists(&mut backward, t, b, depth_order);
    losses::gradients(&mut backward, t, &lists, pixels);
    backward.hold(&all);

    let mut finish = Program::new(t.named("banded step, finish"));
    finish.hold(&[&records[..], &updated(t), &sums, &seen(t)].concat());
    density::record(&mut finish, t);
    check_gradients(&mut finish, t);
    update(&mut finish, t);
    status(&mut finish, t);

    let mut metrics = Program::new(t.named("banded evaluation, metrics"));
    metrics.hold(&image);
    loss::record_metrics(&mut metrics, s, pixels, t.metric_sums);
    for (from, to) in keep {
        metrics.copy(*from, *to);
    }
    status(&mut metrics, t);
    let mut parts = Parts::from([
        (Part::Prefix, prefix),
        (Part::Forward, forward),
        (Part::Backward, backward),
        (Part::Finish, finish),
        (Part::Metrics, metrics),
    ]);
    parts.extend(is_resident.then(|| (Part::EvaluationPrefix, record_prefix(t, b, true).0)));
    parts.extend(losses.map(|(page, program)| (Part::Loss(page), program)));
    parts
}

/// The first part, with or without the photo, and the order of splats by depth.
fn record_prefix(t: &StepTensors, b: &BandTensors, with_photo: bool) -> (Program, Span) {
    let mut prefix = Program::new(t.named("banded step, prefix"));
    if with_photo {
        upload(&mut prefix, t);
    } else {
        upload_uniforms(&mut prefix, t);
    }
    let depth_order = visible(&mut prefix, t);
    match &t.triangles {
        Some(own) => kiln_kernels::triangles::record_histogram(&mut prefix, &t.shared, &own.records, b.histogram),
        None => bands::record_histogram(&mut prefix, &t.shared, &t.splats, b.histogram),
    }
    prefix.copy(b.histogram, b.histogram_back);
    status(&mut prefix, t);
    prefix.hold(&records(t, depth_order));
    (prefix, depth_order)
}

/// What every later part reads.
fn records(t: &StepTensors, depth_order: Span) -> Vec<Span> {
    if let Some(own) = &t.triangles {
        return triangles::held(own).into_iter().chain([depth_order]).collect();
    }
    let splats = &t.splats;
    let records = [splats.position, splats.conic, splats.color, depth_order];
    records.into_iter().chain(splats.plane).collect()
}

/// What bands draw of a view, for the loss.
pub(super) fn drawn(t: &StepTensors) -> Vec<Span> {
    let pixels = &t.pixels;
    let surface = pixels.surface.iter().flat_map(|surface| [surface.plane, surface.depth]);
    [pixels.image].into_iter().chain(last(t)).chain(surface).collect()
}

/// Each pixel's last contributor, where gradients are made of it.
fn last(t: &StepTensors) -> Option<Span> {
    t.triangles.is_none().then_some(t.pixels.last_contributor)
}

/// What the update reads of a view beside records and their gradients.
fn updated(t: &StepTensors) -> Vec<Span> {
    let surface = t.pixels.surface.filter(|_| t.triangles.is_some());
    surface.map(|surface| surface.depth).into_iter().collect()
}

/// What the gradients of every band are made of: of the view, and of the loss.
pub(super) fn pulled(t: &StepTensors) -> Vec<Span> {
    let pixels = &t.pixels;
    let surface = pixels
        .surface
        .iter()
        .flat_map(|surface| [surface.gradient, surface.normal_gradient]);
    let image = [pixels.image].into_iter().chain(last(t)).chain([pixels.gradient]);
    image.chain(surface).chain(seen(t)).chain(updated(t)).collect()
}

/// What the terms of the density see of the view, after all bands.
pub(super) fn seen(t: &StepTensors) -> Vec<Span> {
    t.density
        .iter()
        .flat_map(|density| DensityTensors::seen(density, &t.pixels))
        .collect()
}

/// Gradients of the records.
fn sums(t: &StepTensors) -> Vec<Span> {
    if let Some(own) = &t.triangles {
        return triangles::sums(own);
    }
    let splats = &t.splats;
    let sums = [splats.gradient_a, splats.gradient_b, splats.gradient_c];
    sums.into_iter().chain(splats.gradient_d).collect()
}

/// Takes the band's range into the uniforms.
pub(super) fn band_range(program: &mut Program, t: &StepTensors, b: &BandTensors) {
    let at = offset_of!(StepUniforms, band_begin) as u64;
    program.copy_from_ring(b.range(0), b.ranges_stride, t.shared.uniforms.slice(at, 8));
}

/// Lists the intersections of the band in the uniforms.
pub(super) fn band_lists(program: &mut Program, t: &StepTensors, b: &BandTensors, depth_order: Span) -> Intersections {
    match &t.triangles {
        Some(own) => kiln_kernels::triangles::record_band_count(program, &t.shared, &own.records),
        None => bands::record_count(program, &t.shared, &t.splats),
    }
    intersect(program, t, depth_order, &b.sort, t.capacities.band_cap())
}

/// What remains of a step that is left out: its uniforms, and the group counts that later steps in flight set to none.
/// A densification, a filter or a reset may follow. Per ring slot.
#[must_use]
pub fn left_out(t: &StepTensors) -> Program {
    let mut program = Program::new("step left out");
    upload_uniforms(&mut program, t);
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    program
}

/// Clears the sticky word, so that steps do something again.
#[must_use]
pub fn clear_stall(t: &StepTensors) -> Program {
    let mut program = Program::new("clear stall");
    let at = offset_of!(kiln_kernels::counters::Counters, stalled) as u64;
    program.fill(t.shared.counters.slice(at, 4), 0);
    program
}

/// Cuts tiles into bands of at most `capacity` splats each, in tile order; `histogram` has the splats of every tile.
/// Makes at least `least` bands where there are as many tiles. A tile with more than `capacity` splats is alone.
#[must_use]
pub fn pack_bands(histogram: &[u32], capacity: u32, least: u32) -> Vec<Range<u32>> {
    let sums = running_sums(histogram);
    let tiles = u32::try_from(histogram.len()).unwrap_or(u32::MAX);
    pack(0..tiles, least, |band| span(&sums, band) <= u64::from(capacity))
}

/// Sums of the first 0, 1, 2, ... values.
pub(super) fn running_sums(values: &[u32]) -> Vec<u64> {
    let mut sum = 0;
    let mut sums = vec![0];
    sums.extend(values.iter().map(|value| {
        sum += u64::from(*value);
        sum
    }));
    sums
}

/// Sum over a range from [`running_sums`].
pub(super) fn span(sums: &[u64], range: &Range<u32>) -> u64 {
    let at = |index: u32| sums.get(index as usize).copied().unwrap_or(0);
    at(range.end).saturating_sub(at(range.start))
}

/// Cuts `tiles` into the longest bands that fit, at least `least` of them; a tile that fits nowhere is alone.
pub(super) fn pack(tiles: Range<u32>, least: u32, fits: impl Fn(&Range<u32>) -> bool) -> Vec<Range<u32>> {
    let mut list: Vec<Range<u32>> = Vec::new();
    for tile in tiles {
        match list.last_mut() {
            Some(band) if fits(&(band.start..tile + 1)) => band.end = tile + 1,
            _ => list.push(tile..tile + 1),
        }
    }
    while list.len() < least as usize {
        let widest = (0..list.len()).max_by_key(|i| list.get(*i).map_or(0, |b| b.end - b.start));
        let Some(at) = widest else { break };
        let Some(band) = list.get_mut(at).filter(|b| b.end - b.start > 1) else {
            break;
        };
        let middle = band.start + (band.end - band.start) / 2;
        let rest = middle..band.end;
        band.end = middle;
        list.insert(at + 1, rest);
    }
    list
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_kernels::views::{Loops, Threads};

    #[test]
    fn bands_cover_every_tile_once_and_fit() {
        let histogram = [5, 0, 7, 3, 3, 3, 0, 0, 12, 1, 2];
        for capacity in 12..40 {
            for least in 0..15 {
                let list = pack_bands(&histogram, capacity, least);
                assert!(list.len() >= least.min(11) as usize);
                let tiles: Vec<u32> = list.iter().cloned().flatten().collect();
                assert_eq!(tiles, (0..11).collect::<Vec<_>>());
                for band in &list {
                    let range = band.start as usize..band.end as usize;
                    let sum: u32 = histogram.get(range).into_iter().flatten().sum();
                    assert!(sum <= capacity, "{band:?} of {list:?}");
                }
            }
        }
        assert_eq!(pack_bands(&histogram, 36, 0).len(), 1);
        assert_eq!(pack_bands(&histogram, 12, 0), [0..3, 3..8, 8..9, 9..11]);
    }

    #[test]
    fn a_tile_that_never_fits_is_alone_and_no_tiles_need_no_band() {
        assert_eq!(pack_bands(&[1, 90, u32::MAX, 1], 10, 0), [0..1, 1..2, 2..3, 3..4]);
        assert!(pack_bands(&[], 10, 3).is_empty());
    }

    /// Arena bytes of the step with and without bands, for a million Gaussians at 1600 by 1064 pixels.
    #[test]
    fn bands_add_little_to_the_arena() {
        use kiln_gpu::memory::{BlockRounding, MIB, Plan, PlanLimits};
        use kiln_kernels::views::Reduction;
        let limits = PlanLimits {
            block_bytes: 1024 * MIB,
            binding_bytes: 128 * MIB,
            rounding: BlockRounding::NONE,
        };
        for reduction in [Reduction::Segmented, Reduction::Atomic] {
            let variants = Variants {
                reduction,
                sort_subgroup: 32,
                threads: Threads::Pixels,
                loops: Loops::Long,
            };
            let n = 1_000_000;
            let capacities = Capacities::new(n, n, 6 * n, 3, [(1600, 1064)]);
            let mut table = TensorTable::default();
            let tensors = StepTensors::new(&mut table, &capacities, &variants);
            let bands = BandTensors::new(&mut table, &capacities, &variants);
            let step = crate::step::train_step(&tensors);
            let parts = banded(&tensors, &bands, &[]);
            let bytes = |programs: &[&Program]| {
                let plan = Plan::new(&table, programs, limits).unwrap();
                (plan.class_bytes(Class::Arena), plan.arena_live_bytes)
            };
            let (whole, live) = bytes(&[&step]);
            let (both, both_live) = bytes(&parts.values().chain([&step]).collect::<Vec<_>>());
            assert_eq!(
                both_live, live,
                "{reduction:?}: no moment of a banded step holds more than the step"
            );
            assert!(
                both <= whole + whole / 32,
                "{reduction:?}: {whole} bytes, with bands {both}"
            );
        }
    }
}
