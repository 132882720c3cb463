//! What a Gaussian, a visible record, an intersection or a pixel costs, read off the tensors of a step.
//!
//! Nothing is counted by hand: tensors are listed for two capacities that differ in one number alone, and what the larger
//! list has more is divided by the difference. So the figures cannot differ from the plan's.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::kernels::views::Variants;
use crate::program::{Class, TensorTable};
use crate::step::{Capacities, StepTensors};

/// Units that are added: whole chunks, groups and blocks of everything.
const STEP: u32 = 1 << 20;

/// What bytes are counted per.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A Gaussian of the capacity.
    Gaussian,
    /// A visible record.
    Visible,
    /// A tile intersection.
    Intersection,
    /// A pixel of the largest image.
    Pixel,
}

/// Bytes per unit of each tensor of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct BytesPer(BTreeMap<String, (Class, f64)>);

impl BytesPer {
    /// Those of a step with capacities like `c`: its storage mode, SH degree, losses and order. Tables with an entry for
    /// every group or block are in them with the bytes of an entry over the size of a group.
    #[must_use]
    pub fn of(unit: Unit, c: &Capacities, variants: &Variants) -> Self {
        let with = |units: u32| {
            let mut c = Capacities {
                // Records never outnumber Gaussians.
                n_cap: 2 * STEP,
                n_limit: 2 * STEP,
                v_cap: STEP,
                i_cap: STEP,
                chunk: STEP,
                max_pixels: STEP,
                binding_bytes: u64::MAX,
                ..*c
            };
            match unit {
                Unit::Gaussian => (c.n_cap, c.n_limit) = (STEP + units, STEP + units),
                Unit::Visible => c.v_cap = units,
                Unit::Intersection => c.i_cap = units,
                Unit::Pixel => c.max_pixels = units,
            }
            let mut table = TensorTable::default();
            let tensors = StepTensors::new(&mut table, &c, variants);
            if c.surfaces() {
                let surfaces = tensors.for_surface_steps(&mut table);
                let _: Option<StepTensors> = surfaces.for_pair_steps(&mut table);
            }
            let mut bytes: BTreeMap<String, (Class, u64)> = BTreeMap::new();
            for tensor in table.tensors() {
                let name = tensor.name.split('[').next().unwrap_or_default().to_owned();
                bytes.entry(name).or_insert((tensor.class, 0)).1 += tensor.bytes;
            }
            bytes
        };
        let (less, more) = (with(STEP), with(2 * STEP));
        let per = more.into_iter().map(|(name, (class, bytes))| {
            let before = less.get(&name).map_or(0, |(_, bytes)| *bytes);
            (name, (class, (bytes - before) as f64 / f64::from(STEP)))
        });
        Self(per.collect())
    }

    /// Those of all tensors of a class.
    #[must_use]
    pub fn class(&self, class: Class) -> f64 {
        let of = self.0.values().filter(|(found, _)| *found == class);
        of.map(|(_, bytes)| bytes).sum()
    }

    /// Those of one tensor, all its chunks together; 0 for one that does not grow with the unit.
    #[must_use]
    pub fn tensor(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |(_, bytes)| *bytes)
    }
}
