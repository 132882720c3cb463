//! What `env.json` says of device and kernels.

use super::run_folder::{Allocation, Engine, Environment, Host};
use crate::plan::OpenDevice;
use kiln_config::Profile;
use kiln_gpu::vk::Tier;
use kiln_kernels::views::Variants;
use kiln_program::TensorTable;

/// Tensors that are listed.
const LARGEST: usize = 20;

/// The environment of a run with the tensors of `table`.
#[must_use]
pub(crate) fn of(profile: &Profile, open: &OpenDevice, variants: &Variants, table: &TensorTable) -> Environment {
    let caps = open.device.caps();
    let kernels = serde_json::to_value(variants)
        .ok()
        .and_then(|v| v.as_object().cloned())
        .unwrap_or_default();
    Environment {
        engine: Engine::this(),
        host: Host::this(),
        device: serde_json::to_value(caps).unwrap_or_default(),
        driver: caps.driver.clone(),
        tier: if open.tier == Tier::Fast { "fast" } else { "portable" }.to_owned(),
        seed: profile.train.seed,
        deterministic: profile.train.deterministic,
        kernels: kernels
            .into_iter()
            .map(|(name, value)| (name, value.to_string().replace('"', "")))
            .collect(),
        allocations: largest(table),
    }
}

fn largest(table: &TensorTable) -> Vec<Allocation> {
    let largest = table.largest(LARGEST).into_iter().map(|tensor| Allocation {
        name: tensor.name.clone(),
        class: tensor.class.name().to_owned(),
        tag: tensor.tag.name().to_owned(),
        bytes: tensor.bytes,
        shape: tensor.shape,
    });
    largest.collect()
}
