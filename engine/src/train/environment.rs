//! What `env.json` says of device and kernels.

use super::OpenDevice;
use super::run_folder::{Engine, Environment, Host};
use crate::config::Profile;
use crate::kernels::views::Variants;
use crate::vk::Tier;

/// The environment of a run.
#[must_use]
pub(super) fn of(profile: &Profile, open: &OpenDevice, variants: &Variants) -> Environment {
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
    }
}
