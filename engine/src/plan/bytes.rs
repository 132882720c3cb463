//! The byte table: what every tensor of a training plan costs, and per what.
//!
//! Tensors are named and sized in `step` and `train`; this table says the same a second time, as one list of bytes per
//! unit, and tests hold both against each other to the byte. It is what `kiln plan` prints and what a storage mode adds
//! its rows to: a mode is an arm in [`state`], everything else is shared.
//!
//! LPIPS is not in it: its workspace is cut to the arena that the step needs anyway (at least 64 MiB).

use serde::Serialize;

use crate::config::Storage;
use crate::kernels::counters::{Args, Counters};
use crate::kernels::densify::CONTROL_BYTES;
use crate::kernels::filter_3d::FilterCamera;
use crate::kernels::morton::SORT_ARGS;
use crate::kernels::radix_sort::histogram_bytes;
use crate::kernels::uniforms::StepUniforms;
use crate::kernels::views::{Reduction, Variants};
use crate::kernels::{exposure, histogram, loss, survey};
use crate::program::{ALIGNMENT, Class};
use crate::step::{BAND_SLOTS, Capacities, STAGING_BYTES, reorder_rows};

/// What a row is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A Gaussian of the capacity.
    Gaussian,
    /// A visible record.
    Visible,
    /// A tile intersection.
    Intersection,
    /// A tile intersection of one band.
    BandIntersection,
    /// A pixel of the largest image.
    Pixel,
    /// A tile of the largest image.
    Tile,
    /// A training camera.
    Camera,
    /// A step in flight.
    Slot,
    /// Once.
    Constant,
}

impl Unit {
    /// How many there are.
    #[must_use]
    pub fn count(self, c: &Capacities) -> u64 {
        match self {
            Self::Gaussian => c.n_cap.into(),
            Self::Visible => c.v_cap.into(),
            Self::Intersection => c.i_cap.into(),
            Self::BandIntersection => c.band_cap().into(),
            Self::Pixel => c.max_pixels.into(),
            Self::Tile => c.max_tiles.into(),
            Self::Camera => c.cameras.into(),
            Self::Slot => c.slots.into(),
            Self::Constant => 1,
        }
    }
}

/// The cost of one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Name of the tensor, without the number of its chunk.
    pub tensor: &'static str,
    /// Where it lives.
    pub class: Class,
    /// What `bits` is multiplied by.
    pub unit: Unit,
    /// Bits a unit.
    pub bits: u64,
}

impl Row {
    /// Bytes of the tensor, of all its chunks together.
    #[must_use]
    pub fn bytes(&self, c: &Capacities) -> u64 {
        let bytes = (self.unit.count(c) * self.bits).div_ceil(8);
        // Tensors are whole units of 16 bytes; those in chunks are so anyway.
        bytes.max(1).next_multiple_of(16)
    }
}

/// All rows for a storage mode.
#[derive(Clone, Debug, Serialize)]
pub struct ByteTable {
    rows: Vec<Row>,
    segmented: bool,
    ordered: bool,
}

impl ByteTable {
    /// Rows of a plan that densifies. Tables with an entry for every group or block depend on the capacities. Training
    /// images that stay on the device take `resident_bytes`; with none, steps bring theirs along.
    #[must_use]
    pub fn new(storage: Storage, c: &Capacities, variants: &Variants, resident_bytes: u64) -> Self {
        let mut rows = state(storage, c);
        rows.extend(visible(c, variants));
        rows.extend(intersections(c, variants));
        rows.extend(images(c, variants));
        if resident_bytes > 0 {
            rows.push(row("images/resident", Class::Images, Unit::Constant, resident_bytes));
        }
        rows.extend(record_bands(c));
        rows.extend(densification(storage, c));
        rows.extend(reordering(c, variants));
        rows.extend(host(c, resident_bytes > 0));
        Self {
            rows,
            segmented: variants.reduction == Reduction::Segmented,
            ordered: variants.orders_tiles(),
        }
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Bytes per unit of everything in a class. Tables for whole groups and blocks count as constant.
    #[must_use]
    pub fn per(&self, class: Class, unit: Unit) -> f64 {
        let rows = self.rows.iter().filter(|r| r.class == class && r.unit == unit);
        rows.map(|r| r.bits).sum::<u64>() as f64 / 8.0
    }

    /// Bytes of all tensors of a class. For the arena, whose tensors share bytes, see [`ByteTable::moments`].
    #[must_use]
    pub fn class_bytes(&self, class: Class, c: &Capacities) -> u64 {
        let rows = self.rows.iter().filter(|r| r.class == class);
        rows.map(|r| r.bytes(c)).sum()
    }

    /// Moments of a training step at which most arena bytes can be live, with those bytes. Which is the worst depends on
    /// the intersections a visible Gaussian has, and on the image.
    #[must_use]
    pub fn moments(&self, c: &Capacities) -> [(&'static str, u64); 4] {
        let records = ["step/splat_position", "step/splat_conic", "step/splat_color"];
        // The fold finds a splat's partial sums again through these.
        let kept = ["step/tile_counts", "step/emission_start"];
        let lists = ["step/payloads", "step/owners", "step/tile_ranges"];
        let order: &[&str] = if self.ordered { &["step/tile_order"] } else { &[] };
        let image = ["step/image", "step/last_contributor", "step/image_gradient"];
        let compared = ["step/exposed_image", "step/ssim_maps"];
        let sums = ["step/gradient_a", "step/gradient_b", "step/gradient_c"];
        let partials = ["step/partial_a", "step/partial_b", "step/partial_c"];
        let bytes = |names: &[&[&str]]| -> u64 {
            let rows = self
                .rows
                .iter()
                .filter(|r| names.iter().any(|list| list.contains(&r.tensor)));
            rows.map(|r| r.bytes(c).next_multiple_of(ALIGNMENT)).sum()
        };
        let depth = [
            "step/depth_keys",
            "step/depth_keys_other",
            "step/depth_order",
            "step/depth_order_other",
            "step/depth_histogram",
            "step/tile_counts",
        ];
        let tiles = [
            "step/tile_keys",
            "step/tile_keys_other",
            "step/payloads_other",
            "step/tile_histogram",
            "step/payloads",
        ];
        let kept: &[&str] = if self.segmented { &kept } else { &[] };
        let partials: &[&str] = if self.segmented { &partials } else { &[] };
        [
            ("depth sort", bytes(&[&records, &depth])),
            ("tile sort", bytes(&[&records, kept, &tiles, &["step/owners"]])),
            ("loss", bytes(&[&records, kept, &lists, order, &image, &compared])),
            (
                "backward",
                bytes(&[&records, kept, &lists, order, &image, &sums, partials]),
            ),
        ]
    }
}

fn row(tensor: &'static str, class: Class, unit: Unit, bytes: u64) -> Row {
    Row {
        tensor,
        class,
        unit,
        bits: 8 * bytes,
    }
}

/// A row of `bytes` for every 256 units begun.
fn grouped(tensor: &'static str, class: Class, unit: Unit, bytes: u64, c: &Capacities) -> Row {
    row(tensor, class, Unit::Constant, bytes * unit.count(c).div_ceil(256))
}

/// What lives as long as the run, a Gaussian.
fn state(storage: Storage, c: &Capacities) -> Vec<Row> {
    let of = |tensor, bytes| row(tensor, Class::Persistent, Unit::Gaussian, bytes);
    // Values of the geometry and of SH, the latter in whole groups of four below f32.
    let (geometry, sh) = (11, 3 * u64::from((c.sh_degree + 1) * (c.sh_degree + 1)));
    let quads = 4 * sh.div_ceil(4);
    // Bytes of the geometry's moments, of colours, of their moments, of the scale of the second ones.
    let (geometry_moment, colors, color_moment, scale) = match storage {
        Storage::Exact => (4 * geometry, 4 * sh, 4 * sh, 0),
        Storage::Half => (4 * geometry, 2 * quads, 2 * quads, 4),
        Storage::Compact => (2 * (geometry + 1), 2 * quads, quads, 4),
    };
    // In how many optimiser steps SH took part.
    let seen = if c.deferred_steps > 0 { 4 } else { 0 };
    let mut rows = vec![
        of("model/geometry", 4 * geometry),
        of("model/geometry_m", geometry_moment),
        of("model/geometry_v", geometry_moment),
        of("model/sh", colors),
        of("model/sh_m", color_moment),
        of("model/sh_v", color_moment + scale + seen),
        of("model/filter_3d", 4),
        of("model/statistics", 12),
    ];
    rows.push(Row {
        bits: if c.clusters { 2 } else { 1 },
        ..of("model/visible_mask", 0)
    });
    rows
}

fn visible(c: &Capacities, variants: &Variants) -> Vec<Row> {
    let of = |tensor, bytes| row(tensor, Class::Arena, Unit::Visible, bytes);
    let once = |tensor, bytes| row(tensor, Class::Arena, Unit::Constant, bytes);
    let mut rows: Vec<Row> = [
        "step/splat_position",
        "step/splat_conic",
        "step/splat_color",
        "step/gradient_a",
        "step/gradient_b",
        "step/gradient_c",
    ]
    .map(|tensor| of(tensor, 16))
    .into();
    rows.extend(
        [
            "step/depth_keys",
            "step/depth_keys_other",
            "step/depth_order",
            "step/depth_order_other",
            "step/tile_counts",
        ]
        .map(|tensor| of(tensor, 4)),
    );
    rows.push(if variants.reduction == Reduction::Segmented {
        of("step/emission_start", 4)
    } else {
        once("step/emission_start", 4)
    });
    rows.push(once(
        "step/depth_histogram",
        histogram_bytes(c.v_cap, Args::VisibleSort, variants),
    ));
    rows.push(grouped("step/group_tiles", Class::Arena, Unit::Visible, 4, c));
    rows
}

fn intersections(c: &Capacities, variants: &Variants) -> Vec<Row> {
    let segmented = variants.reduction == Reduction::Segmented;
    let of = |tensor, bytes| row(tensor, Class::Arena, Unit::Intersection, bytes);
    let once = |tensor, bytes| row(tensor, Class::Arena, Unit::Constant, bytes);
    let segment = |tensor, bytes| {
        if segmented {
            of(tensor, bytes)
        } else {
            once(tensor, bytes)
        }
    };
    let band = |tensor| row(tensor, Class::Arena, Unit::BandIntersection, 4);
    vec![
        of("step/tile_keys", 4),
        of("step/tile_keys_other", 4),
        of("step/payloads", 4),
        of("step/payloads_other", 4),
        once(
            "step/tile_histogram",
            histogram_bytes(c.i_cap, Args::IntersectionSort, variants),
        ),
        segment("step/partial_a", 16),
        segment("step/partial_b", 16),
        segment("step/partial_c", 16),
        segment("step/owners", 4),
        band("bands/tile_keys"),
        band("bands/tile_keys_other"),
        band("bands/payloads"),
        band("bands/payloads_other"),
        once(
            "bands/sort_histogram",
            histogram_bytes(c.band_cap(), Args::IntersectionSort, variants),
        ),
    ]
}

fn images(c: &Capacities, variants: &Variants) -> Vec<Row> {
    let pixel = |tensor, bytes| row(tensor, Class::Arena, Unit::Pixel, bytes);
    let tile = |tensor, bytes| row(tensor, Class::Arena, Unit::Tile, bytes);
    let small = |tensor, bytes| row(tensor, Class::Small, Unit::Constant, bytes);
    let chunks = c.n_cap.div_ceil(c.chunk);
    let mut rows = vec![
        pixel("step/image", 16),
        pixel("step/last_contributor", 4),
        pixel("step/image_gradient", 16),
        pixel("step/ssim_maps", 36),
        tile("step/tile_ranges", 8),
        if variants.orders_tiles() {
            tile("step/tile_order", 4)
        } else {
            row("step/tile_order", Class::Arena, Unit::Constant, 4)
        },
        tile("step/loss_sums", 8),
        tile("step/metric_sums", 4 * u64::from(loss::METRIC_WORDS)),
        tile("bands/tile_histogram", 4),
        // Red, green, blue; and whether the pixel counts.
        row(
            "images/target",
            Class::Images,
            Unit::Pixel,
            if c.masked { 4 } else { 3 },
        ),
        grouped("small/group_visible", Class::Small, Unit::Gaussian, 4, c),
        // Behind the uniforms lies the table of missed optimiser steps.
        small("small/uniforms", size_of::<StepUniforms>() as u64 + c.rates_bytes()),
        small("small/counters", size_of::<Counters>() as u64),
        small("small/args", Args::table_bytes(chunks)),
        row(
            "small/filter_cameras",
            Class::Small,
            Unit::Camera,
            size_of::<FilterCamera>() as u64,
        ),
        small("small/filter_farthest", 4),
        small("small/histogram", histogram::BYTES),
    ];
    if c.losses.alpha {
        rows.push(tile("step/alpha_sums", 4));
    }
    if c.losses.exposure {
        rows.push(pixel("step/exposed_image", 16));
        let of = |tensor, unit, words: usize| row(tensor, Class::Small, unit, 4 * words as u64);
        rows.push(of("small/exposures", Unit::Camera, exposure::WORDS));
        rows.push(of("small/exposure_sums", Unit::Tile, exposure::VALUES));
    }
    rows
}

/// What bands with records of their own need: nothing where there is a record for every Gaussian.
fn record_bands(c: &Capacities) -> Vec<Row> {
    if c.v_cap >= c.n_limit {
        return Vec::new();
    }
    let of = |tensor, bytes| row(tensor, Class::Arena, Unit::Gaussian, bytes);
    let survey = 4 * u64::from(survey::PLANES);
    vec![
        Row {
            bits: 1,
            ..of("bands/mask", 0)
        },
        of("bands/gradient_a", 16),
        of("bands/gradient_b", 16),
        of("bands/gradient_c", 16),
        grouped("bands/groups", Class::Arena, Unit::Gaussian, 4, c),
        grouped("bands/group_rows", Class::Arena, Unit::Gaussian, 4, c),
        row("bands/tile_survey", Class::Arena, Unit::Tile, survey),
        row("ring/tile_survey", Class::Readback, Unit::Tile, survey),
    ]
}

fn densification(storage: Storage, c: &Capacities) -> Vec<Row> {
    let of = |tensor, bytes| row(tensor, Class::Arena, Unit::Gaussian, bytes);
    // A row of staging holds half of the Gaussians, a word each.
    let n = u64::from(c.n_cap);
    // Parameters, moments and the 3D filter move.
    let state = state(storage, c).into_iter();
    let bits: u64 = state
        .filter(|r| r.bits >= 32 && r.tensor != "model/statistics")
        .map(|r| r.bits)
        .sum();
    let all = bits / 32;
    let rows = (STAGING_BYTES / (2 * n)).clamp(1, all);
    vec![
        row("densify/control", Class::Arena, Unit::Constant, CONTROL_BYTES),
        of("densify/gradients", 4),
        of("densify/keys", 4),
        grouped("densify/group_counts", Class::Arena, Unit::Gaussian, 8, c),
        of("densify/from", 2),
        of("densify/to", 2),
        row("densify/staging", Class::Arena, Unit::Constant, 2 * n * rows),
    ]
}

/// The re-sort by place at the end of a densification; nothing where the order of creation stays.
fn reordering(c: &Capacities, variants: &Variants) -> Vec<Row> {
    if !c.sorted {
        return Vec::new();
    }
    let of = |tensor, bytes| row(tensor, Class::Arena, Unit::Gaussian, bytes);
    let histogram = histogram_bytes(c.n_cap, SORT_ARGS, variants);
    vec![
        of("reorder/keys", 4),
        of("reorder/keys_other", 4),
        of("reorder/order", 4),
        of("reorder/order_other", 4),
        row("reorder/histogram", Class::Arena, Unit::Constant, histogram),
        of("reorder/staging", 4 * u64::from(reorder_rows(c.n_cap))),
    ]
}

fn host(c: &Capacities, is_resident: bool) -> Vec<Row> {
    let ring = |tensor, class, bytes: u64| row(tensor, class, Unit::Slot, bytes.next_multiple_of(256));
    // Only evaluations bring their images when those of steps are resident, one at a time.
    let image_slots = if is_resident { Unit::Constant } else { Unit::Slot };
    vec![
        ring("ring/uniforms", Class::Upload, size_of::<StepUniforms>() as u64),
        Row {
            unit: image_slots,
            ..ring("ring/images", Class::Upload, c.image_bytes())
        },
        ring("ring/status", Class::Readback, size_of::<Counters>() as u64),
        row("ring/bands", Class::Upload, Unit::Constant, 256 * u64::from(BAND_SLOTS)),
        row("ring/histogram", Class::Readback, Unit::Constant, histogram::BYTES),
        row("ring/tile_histogram", Class::Readback, Unit::Tile, 4),
        row("ring/eval_image", Class::Readback, Unit::Pixel, 16),
        row("ring/eval_tile_ranges", Class::Readback, Unit::Tile, 8),
        row(
            "ring/eval_sums",
            Class::Readback,
            Unit::Tile,
            4 * u64::from(loss::METRIC_WORDS),
        ),
        row("staging/upload", Class::Upload, Unit::Constant, 8 << 20),
        row("staging/readback", Class::Readback, Unit::Constant, 8 << 20),
    ]
}
