//! `memory.storage`: what a model in fewer bits does not go together with.

use super::profile::Profile;
use crate::gaussians::layout::Storage;
use crate::plugins::Checker;

/// Refuses `half` where no kernel is made for it.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    let because = special_update(profile).filter(|_| profile.memory.storage == Storage::Half);
    c.within("memory", |c| {
        c.require("storage", because.is_none(), Storage::Half.name(), || {
            format!("exact or compact, because of {}", because.unwrap_or_default())
        });
    });
}

/// What asks for an optimiser step with more than the gradients of an image, in the words of a message.
fn special_update(profile: &Profile) -> Option<String> {
    if profile.is_bound() {
        return Some("`init.kind: mesh`".to_owned());
    }
    if profile.density().is_some() {
        return Some("the regularizer `density`".to_owned());
    }
    let loss = profile.loss_of_surfaces()?;
    Some(format!("the loss `{}`", loss.kind()))
}
