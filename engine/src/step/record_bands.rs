//! A step in bands of tiles, for views with more visible Gaussians than there are records.
//!
//! [`super::bands`] keeps the records of a view and takes turns with the lists of its tiles. Here the records take turns
//! too: each band culls the visible Gaussians again, to those that touch it, and has records, depth order and lists for
//! these alone. Nothing but image and gradients outlasts a band:
//!
//! - `prefix` marks every visible Gaussian and surveys their tiles. The host packs bands from the survey, see [`Survey`];
//! - `forward` per band makes records and lists and draws the band's tiles; `loss` runs once on the whole image;
//! - `backward` per band makes them once more. Gradients go on where earlier bands left them: they wait in a store with a
//!   row for every Gaussian there is room for, in parts as large as the chunks, because records change hands;
//! - `finish` checks and updates from the store.
//!
//! Records lie in id order in every band, so Gaussians of equal depth keep their order, every tile gets the list it would
//! have had, and image, gradients and, with the segmented reduction, every byte are those of the unbanded step.
//!
//! The store is the price: 48 bytes a Gaussian of capacity, 64 where surfaces are trained, in the arena from the loss to the update, when only one band's
//! records and lists are there beside it. Plans whose records suffice for all Gaussians have none of this.

use std::ops::Range;

use super::bands::{band_lists, band_range, drawn, pack, pulled, running_sums, seen, span};
use super::passes::{after_update, coefficients, records, status, targets, term_gradients, upload, upload_uniforms};
use super::{BandTensors, LevelTensors, Part, Parts, StepTensors, density, level, losses, surface};
use kiln_kernels::counters::WORD_VISIBLE;
use kiln_kernels::gradient_store::{self, InBand, Rows};
use kiln_kernels::surface_depth::Depths;
use kiln_kernels::views::{Chunk, Intersections, Pixels};
use kiln_kernels::{cull, loss, prepare_args, rasterize, tile_survey, update};
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Tensors that only steps with records in bands need.
#[derive(Clone, Debug)]
pub struct RecordBandTensors {
    /// Planes of [`tile_survey::PLANES`] words a tile.
    pub survey: Span,
    /// Its copy for the host.
    pub survey_back: Span,
    /// The chunks with the mask of a band.
    inside: Vec<Chunk>,
    /// First record of every 256 Gaussians, in a band.
    groups: Span,
    /// Gradients per chunk; none when only rendering.
    store: Vec<Rows>,
    /// First row of every 256 Gaussians in their chunk's part of the store.
    group_rows: Span,
    /// How many Gaussians the whole view shows, while counters have those of a band; one word.
    visible: Span,
}

impl RecordBandTensors {
    /// Adds the tensors to `table`, with a gradient store when `training`.
    #[must_use]
    pub fn new(table: &mut TensorTable, t: &StepTensors, training: bool) -> Self {
        let c = &t.capacities;
        let survey_bytes = 4 * u64::from(tile_survey::PLANES) * u64::from(c.max_tiles);
        let groups_bytes = 4 * u64::from(c.n_cap.div_ceil(256));
        let mut arena = |name: String, tag, bytes| table.add(format!("bands/{name}"), Class::Arena, tag, bytes);
        let mut mask = |chunk: &Chunk| {
            arena(
                format!("mask[{}]", chunk.index),
                Tag::Other,
                u64::from(chunk.stride) / 8,
            )
        };
        let inside = t
            .chunks
            .iter()
            .map(|chunk| Chunk {
                visible_mask: mask(chunk),
                ..*chunk
            })
            .collect();
        let mut store = Vec::new();
        for chunk in t.chunks.iter().filter(|_| training) {
            let bytes = 16 * u64::from(chunk.stride);
            let [a, b, c] = ["a", "b", "c"].map(|stream| {
                let name = format!("gradient_{stream}[{}]", chunk.index);
                arena(name, Tag::Gradients, bytes)
            });
            let d = t.splats.gradient_d.map(|_| {
                let name = format!("gradient_d[{}]", chunk.index);
                arena(name, Tag::Gradients, bytes)
            });
            store.push(Rows { a, b, c, d });
        }
        let groups = arena("groups".to_owned(), Tag::Other, groups_bytes);
        let group_rows = arena(
            "group_rows".to_owned(),
            Tag::Other,
            if training { groups_bytes } else { 4 },
        );
        // Without what tensors are rounded up by: a third of it is a plane, see `Survey::new`.
        let survey = arena("tile_survey".to_owned(), Tag::Pixels, survey_bytes).slice(0, survey_bytes);
        let visible = table.add("small/visible_of_view", Class::Small, Tag::Other, 4);
        let visible = visible.slice(0, 4);
        let survey_back = table.add("ring/tile_survey", Class::Readback, Tag::Staging, survey_bytes);
        Self {
            survey,
            survey_back: survey_back.slice(0, survey_bytes),
            inside,
            groups,
            store,
            group_rows,
            visible,
        }
    }

    /// The store and its table.
    fn kept(&self) -> Vec<Span> {
        let rows = self.store.iter();
        let rows = rows.flat_map(|rows| [Some(rows.a), Some(rows.b), Some(rows.c), rows.d].into_iter().flatten());
        rows.chain([self.group_rows]).collect()
    }

    /// The same for the steps of `t`: without rows that its records have nothing for.
    fn for_steps(&self, t: &StepTensors) -> Self {
        let mut tensors = self.clone();
        for rows in &mut tensors.store {
            rows.d = rows.d.filter(|_| t.splats.gradient_d.is_some());
        }
        tensors
    }

    fn band(&self) -> InBand<'_> {
        InBand {
            chunks: &self.inside,
            groups: self.groups,
        }
    }
}

/// Lists what draws a view with records in bands. `keep` receives copies of tensors that the host reads afterwards.
#[must_use]
pub fn render_in_bands(t: &StepTensors, b: &BandTensors, r: &RecordBandTensors, keep: &[(Span, Span)]) -> Parts {
    let t = &t.in_bands();
    let s = &t.shared;

    let image = drawn(t);
    let mut forward = Program::new(t.named("records in bands, forward"));
    forward.hold(&image);
    let lists = band_records(&mut forward, t, b, r);
    rasterize::record(&mut forward, s, &t.splats, &lists, &t.pixels, &t.variants);
    forward.hold(&image);

    let mut metrics = Program::new(t.named("records in bands, metrics"));
    metrics.hold(&image);
    loss::record_metrics(&mut metrics, s, &t.pixels, t.metric_sums);
    for (from, to) in keep {
        metrics.copy(*from, *to);
    }
    status(&mut metrics, t);
    Parts::from([
        (Part::Prefix, record_prefix(t, r, true, &[])),
        (Part::Forward, forward),
        (Part::Metrics, metrics),
    ])
}

/// [`render_in_bands`] of a view whose Gaussians come a part at a time: its first part comes again after bands have been drawn,
/// and leaves what they drew.
#[must_use]
pub fn render_in_parts(t: &StepTensors, b: &BandTensors, r: &RecordBandTensors, keep: &[(Span, Span)]) -> Parts {
    let mut parts = render_in_bands(t, b, r, keep);
    parts.insert(Part::Prefix, record_prefix(t, r, true, &drawn(t)));
    parts
}

/// Lists what draws a view as [`surface()`](super::surface()) does with records in bands; the image and the depth map outlast the
/// last part.
#[must_use]
pub fn surface_in_bands(
    t: &StepTensors,
    b: &BandTensors,
    r: &RecordBandTensors,
    depths: Depths,
    level: Option<&LevelTensors>,
) -> Parts {
    let t = &t.in_bands();
    let held = surface::outputs(t);
    let mut forward = Program::new("surface in bands, forward");
    forward.hold(&held);
    let lists = band_records(&mut forward, t, b, r);
    rasterize::record(&mut forward, &t.shared, &t.splats, &lists, &t.pixels, &t.variants);
    if let Some(level) = level {
        level::hits(&mut forward, t, level, (&r.inside, r.groups), &lists);
    }
    forward.hold(&held);

    let mut finish = Program::new("surface in bands, finish");
    finish.hold(&held);
    surface::depth_map(&mut finish, t, depths);
    status(&mut finish, t);
    finish.hold(&held);
    Parts::from([
        (Part::Prefix, record_prefix(t, r, false, &[])),
        (Part::Forward, forward),
        (Part::Finish, finish),
    ])
}

/// The first part, with or without the photo; leaves `held` alone.
fn record_prefix(t: &StepTensors, r: &RecordBandTensors, with_photo: bool, held: &[Span]) -> Program {
    let (s, c) = (&t.shared, &t.capacities);
    let mut prefix = Program::new(t.named("records in bands, prefix"));
    prefix.hold(held);
    if with_photo {
        upload(&mut prefix, t);
    } else {
        upload_uniforms(&mut prefix, t);
    }
    prepare_args::record(&mut prefix, s, &t.chunks);
    // No records are made here, so there is no capacity to hold.
    cull::record(&mut prefix, s, &t.chunks, t.group_visible, c.n_cap, &t.variants);
    prefix.copy(visible_of(t), r.visible);
    tile_survey::record(&mut prefix, s, &t.chunks, r.survey, c.max_tiles);
    prefix.copy(r.survey, r.survey_back);
    status(&mut prefix, t);
    prefix.hold(held);
    prefix
}

/// Lists the parts of a training step with records in bands, and those of [`render_in_bands`].
#[must_use]
pub fn banded_records(t: &StepTensors, b: &BandTensors, r: &RecordBandTensors, keep: &[(Span, Span)]) -> Parts {
    let t = &t.in_bands();
    let r = &r.for_steps(t);
    let mut parts = render_in_bands(t, b, r, keep);
    let (s, splats, pixels) = (&t.shared, &t.splats, &t.pixels);
    let image = drawn(t);
    let store = r.kept();
    let all = [&pulled(t)[..], &store].concat();

    if !t.resident.pages.is_empty()
        && let Some(prefix) = parts.insert(Part::Prefix, record_prefix(t, r, false, &[]))
    {
        parts.insert(Part::EvaluationPrefix, prefix);
    }

    let whole = |pixels: Pixels| {
        let mut whole = Program::new(t.named("records in bands, loss"));
        whole.hold(&image);
        losses::record(&mut whole, t, &pixels);
        gradient_store::record_clear(&mut whole, s, &t.chunks, &r.store, r.group_rows);
        whole.hold(&all);
        whole
    };
    let losses = targets(t).into_iter().map(whole).enumerate();
    parts.extend(losses.map(|(page, program)| (Part::Loss(page), program)));

    let mut backward = Program::new(t.named("records in bands, backward"));
    backward.hold(&all);
    let lists = band_records(&mut backward, t, b, r);
    gradient_store::record_load(&mut backward, s, &t.chunks, &r.store, &r.band(), splats);
    losses::gradients(&mut backward, t, &lists, pixels);
    gradient_store::record_save(&mut backward, s, &t.chunks, &r.store, &r.band(), splats);
    backward.hold(&all);

    let mut finish = Program::new(t.named("records in bands, finish"));
    finish.hold(&[&store[..], &seen(t)].concat());
    finish.copy(r.visible, visible_of(t));
    density::record(&mut finish, t);
    gradient_store::record_check(&mut finish, s, &t.chunks, &r.store, t.group_visible);
    for (chunk, rows) in t.chunks.iter().zip(&r.store) {
        let chunk = std::slice::from_ref(chunk);
        losses::pose_gradient(&mut finish, t, chunk, r.group_rows, &rows.as_splats(splats));
        update::record(
            &mut finish,
            s,
            chunk,
            r.group_rows,
            &rows.as_splats(splats),
            coefficients(t),
            term_gradients(t),
        );
    }
    losses::update(&mut finish, t);
    after_update(&mut finish, t);
    status(&mut finish, t);
    parts.extend([(Part::Backward, backward), (Part::Finish, finish)]);
    parts
}

/// The counter of visible Gaussians.
fn visible_of(t: &StepTensors) -> Span {
    t.shared.counters.slice(4 * u64::from(WORD_VISIBLE), 4)
}

/// Takes the band's range into the uniforms, makes the records of its Gaussians and lists its intersections.
fn band_records(program: &mut Program, t: &StepTensors, b: &BandTensors, r: &RecordBandTensors) -> Intersections {
    band_range(program, t, b);
    cull::record_band(
        program,
        &t.shared,
        &t.chunks,
        &r.inside,
        r.groups,
        t.capacities.v_cap,
        &t.variants,
    );
    let depth_order = records(program, t, &r.inside, r.groups);
    band_lists(program, t, b, depth_order)
}

/// A tile with more splats than there are records: no band is small enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTooFull {
    /// Row-major number of the tile.
    pub tile: u32,
    /// Splats that touch it.
    pub splats: u32,
}

/// Where the tiles of the visible Gaussians lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Gaussians that touch each tile.
    pub splats: Vec<u32>,
    /// Gaussians whose first tile it is, tiles counted row by row.
    pub first: Vec<u32>,
    /// Gaussians whose last tile it is.
    pub last: Vec<u32>,
}

impl Survey {
    /// Takes the first `tiles` of each of three equally long planes.
    #[must_use]
    pub fn new(words: &[u32], tiles: u32) -> Self {
        let stride = words.len() / tile_survey::PLANES as usize;
        let plane = |index: usize| {
            let words = words.iter().skip(index * stride).take(tiles as usize);
            words.copied().collect()
        };
        Self {
            splats: plane(0),
            first: plane(1),
            last: plane(2),
        }
    }

    /// Cuts the tiles numbered `within` into bands of at most `v_cap` visible Gaussians and `band_cap` intersections each, in tile order and
    /// at least `least` where there are as many tiles.
    ///
    /// A Gaussian that touches a band has its first tile before the band's end and its last tile not before its begin;
    /// there are no more of them than of intersections. A single tile's count is exact. Longer bands leave one record in
    /// 64 free, because the passes that survey, cull and count may round a tile at the rim of a splat differently.
    ///
    /// # Errors
    /// [`TileTooFull`] when a tile alone has more splats than records.
    pub fn pack(
        &self,
        within: Range<u32>,
        v_cap: u32,
        band_cap: u32,
        least: u32,
    ) -> Result<Vec<Range<u32>>, TileTooFull> {
        let mut tiles = (0u32..).zip(&self.splats);
        let full = tiles.find(|(tile, splats)| within.contains(tile) && **splats > v_cap);
        if let Some((tile, splats)) = full {
            return Err(TileTooFull { tile, splats: *splats });
        }
        let [splats, first, last] = [&self.splats, &self.first, &self.last].map(|plane| running_sums(plane));
        let (room, band_cap) = (u64::from(v_cap - v_cap / 64), u64::from(band_cap));
        Ok(pack(within, least, |band| {
            let pairs = span(&splats, band);
            let begun = span(&first, &(0..band.end));
            let ended = span(&last, &(0..band.start));
            pairs <= band_cap && pairs.min(begun.saturating_sub(ended)) <= room
        }))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::step::Capacities;
    use kiln_gpu::memory::{BlockRounding, MIB, Plan, PlanLimits};
    use kiln_kernels::views::{Loops, Reduction, Threads, Variants};

    /// Gaussians on a grid of 4 by 3 tiles, each the set of tiles it touches.
    const TOUCHED: [&[u32]; 7] = [
        &[0, 1, 4, 5, 8, 9],
        &[1],
        &[1, 2],
        &[2, 6, 10],
        &[3],
        &[5, 6, 7, 9, 10, 11],
        &[11],
    ];

    /// Planes lie one behind the other whatever the number of tiles.
    #[test]
    fn surveys_are_thirds_of_what_is_copied() {
        for tiles in [1, 2, 3, 35, 60] {
            let size = (16 * tiles, 16);
            let capacities = Capacities::new(600, 300, 3000, 0, [size]);
            let variants = Variants {
                reduction: Reduction::Atomic,
                sort_subgroup: 0,
                threads: Threads::Columns,
                loops: Loops::Long,
            };
            let mut table = TensorTable::default();
            let tensors = StepTensors::for_rendering(&mut table, &capacities, &variants);
            let records = RecordBandTensors::new(&mut table, &tensors, false);
            let words = [records.survey, records.survey_back].map(|span| span.bytes / 4);
            assert_eq!(words, [3 * u64::from(tiles); 2]);
        }
    }

    fn surveyed() -> Survey {
        let mut words = vec![0; 36];
        for tiles in TOUCHED {
            for tile in tiles {
                words[*tile as usize] += 1;
            }
            words[12 + tiles[0] as usize] += 1;
            words[24 + *tiles.last().unwrap() as usize] += 1;
        }
        Survey::new(&words, 12)
    }

    #[test]
    fn bands_hold_what_they_touch() {
        let survey = surveyed();
        for v_cap in 3..9 {
            for band_cap in v_cap..22 {
                for least in [0, 4, 12] {
                    let bands = survey.pack(0..12, v_cap, band_cap, least).unwrap();
                    let tiles: Vec<u32> = bands.iter().cloned().flatten().collect();
                    assert_eq!(tiles, (0..12).collect::<Vec<_>>());
                    assert!(bands.len() >= least as usize);
                    for band in &bands {
                        let inside = |tiles: &&&[u32]| tiles.iter().any(|tile| band.contains(tile));
                        let visible = TOUCHED.iter().filter(inside).count();
                        let pairs = TOUCHED.concat().into_iter().filter(|tile| band.contains(tile)).count();
                        assert!(visible <= v_cap as usize && pairs <= band_cap as usize, "{band:?}");
                    }
                }
            }
        }
        assert_eq!(survey.pack(0..12, 7, 100, 0).unwrap().len(), 1, "all fit");
    }

    #[test]
    fn a_tile_with_more_splats_than_records_is_named() {
        let full = TileTooFull { tile: 1, splats: 3 };
        assert_eq!(surveyed().pack(0..12, 2, 100, 0), Err(full));
    }

    /// Arena bytes with records for a third of two million Gaussians, in the whole step and in bands, against a plan with
    /// records for all.
    #[test]
    fn few_records_and_the_store_cost_less_than_all_records() {
        let limits = PlanLimits {
            block_bytes: 1024 * MIB,
            binding_bytes: 128 * MIB,
            rounding: BlockRounding::NONE,
        };
        let variants = Variants {
            reduction: Reduction::Atomic,
            sort_subgroup: 32,
            threads: Threads::Pixels,
            loops: Loops::Long,
        };
        let n = 2_000_000;
        let arena = |v_cap: u32| {
            let capacities = Capacities::new(n, v_cap, 2 * n, 3, [(1600, 1064)]);
            let mut table = TensorTable::default();
            let t = StepTensors::new(&mut table, &capacities, &variants);
            let b = BandTensors::new(&mut table, &capacities, &variants);
            let step = crate::step::train_step(&t);
            let mut parts = vec![crate::step::banded(&t, &b, &[])];
            if capacities.may_see_too_many() {
                let r = RecordBandTensors::new(&mut table, &t, true);
                parts.push(banded_records(&t, &b, &r, &[]));
            }
            let programs: Vec<&Program> = parts.iter().flat_map(Parts::values).chain([&step]).collect();
            Plan::new(&table, &programs, limits).unwrap().class_bytes(Class::Arena)
        };
        let (all, few) = (arena(n), arena(n / 3));
        assert!(few < all - all / 8, "records for all {all} bytes, for a third {few}");
    }
}
