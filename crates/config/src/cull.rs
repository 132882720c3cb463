//! `cull`: which Gaussians the training cameras remove.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::named::{self, Named};
use crate::plugins::Checker;

/// Least distance of a floater's centre, less two standard deviations, from every training camera, in distances of the nearest sparse
/// points from their cameras (5th percentile over cameras).
const CLEARANCE: f32 = 0.5;

/// `cull`: by visibility from all training cameras, under every strategy; its name alone where `every` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = or_kind)]
pub struct Cull {
    /// Which Gaussians are removed.
    pub kind: CullKind,
    /// Iterations between two culls, from the first to the last of the run; 0 = only before the last evaluation, at which there
    /// always is one.
    #[serde(default)]
    pub every: u32,
}

/// `cull.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CullKind {
    /// What no training picture shows any of.
    Unseen,
    /// The same, and what is nearer to a training camera than half the distance of the nearest sparse points; nothing more in a scene
    /// without points.
    Floaters,
}

fn or_kind(schema: &mut schemars::Schema) {
    named::or_name(schema, &["unseen", "floaters"]);
}

impl Named for Cull {
    type Name = CullKind;
    const EXPECTED: &'static str = "null, unseen, floaters or a block of keys";

    fn named(kind: CullKind) -> Self {
        Self { kind, every: 0 }
    }

    fn block<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Cull {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        named::read(deserializer)
    }
}

impl Serialize for Cull {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The block always: rules report what they change key by key.
        Self::serialize(self, serializer)
    }
}

impl Cull {
    /// Least distance from a training camera's centre to a Gaussian's, less two standard deviations, in distances of the nearest sparse
    /// points from their cameras; 0 = none.
    #[must_use]
    pub const fn clearance(&self) -> f32 {
        match self.kind {
            CullKind::Unseen => 0.0,
            CullKind::Floaters => CLEARANCE,
        }
    }

    /// Ranges.
    pub(super) fn check(&self, c: &mut Checker) {
        c.range("every", self.every, 0..=10_000_000);
    }
}
