//! What the losses of a profile go together with, by what they need.

use super::profile::Profile;
use crate::plugins::{Checker, Loss, Maps, Other, Surface};

/// Maps are there to be compared with: adds the losses that do.
pub(super) fn add_of_maps(profile: &mut Profile) {
    for loss in Loss::plain() {
        let has_maps = loss.needs().maps.is_some_and(|maps| profile.has_maps(maps));
        if has_maps && !profile.losses.iter().any(|listed| listed.kind() == loss.kind()) {
            profile.losses.push(loss);
        }
    }
}

/// What losses do not go together with: themselves, each other, and other settings.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    let mut refuse = |because: &dyn Fn(usize, &Loss) -> Option<String>| {
        for (i, loss) in profile.losses.iter().enumerate() {
            let because = because(i, loss);
            c.within("losses", |c| {
                c.within(i, |c| {
                    c.require("kind", because.is_none(), loss.kind(), || because.unwrap_or_default())
                });
            });
        }
    };
    let of = |loss: &Loss, surface| loss.needs().surface == Some(surface);
    let of_depths = profile.losses.iter().find(|loss| of(loss, Surface::Depths));
    refuse(&|i, loss| {
        let twice = profile.losses[..i].iter().any(|earlier| earlier.kind() == loss.kind());
        twice.then(|| "each loss once".to_owned())
    });
    refuse(&|_, loss| {
        let other = of_depths.filter(|_| of(loss, Surface::Planes))?.kind();
        Some(format!(
            "not together with `{other}`: that one blends depths where this one blends planes"
        ))
    });
    refuse(&|_, loss| {
        let maps = loss.needs().maps.filter(|maps| !profile.has_maps(*maps))?;
        Some(format!("{} together with `{}`, its maps", loss.kind(), maps.key()))
    });
    let others = [
        (Other::RefinedPoses, profile.train.refine_poses.is_some()),
        (Other::Density, profile.density().is_some()),
    ];
    for (other, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
        refuse(&|_, loss| {
            let (_, why) = loss.refuses().iter().find(|(refused, _)| *refused == other)?;
            Some(format!("not together with {}: {why}", other.name()))
        });
    }
}

impl Profile {
    /// The first loss that blends surfaces; none where images are all.
    #[must_use]
    pub(crate) fn loss_of_surfaces(&self) -> Option<&Loss> {
        self.losses.iter().find(|loss| loss.needs().surface.is_some())
    }

    /// True when photos have these maps.
    #[must_use]
    pub(crate) const fn has_maps(&self, maps: Maps) -> bool {
        match maps {
            Maps::Depths => self.dataset.depths.is_some(),
            Maps::Normals => self.dataset.normals.is_some(),
        }
    }
}
