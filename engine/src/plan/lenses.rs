//! What a run cannot do with fisheyes that stay as they are.
//!
//! Owns the one place where a profile is held against the lenses of its scene: depths, planes and neighbours are looked for along the
//! straight rays of pinholes, and so is whatever a mesh holds. Training on images alone, with or without poses that move, is not
//! refused.

use crate::config::Profile;
use crate::plugins::Loss;
use crate::scene::SceneIndex;

/// A part of a run that needs pinholes, in a scene with photos that are none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{part} needs photos of pinholes, and {photos} of the scene, such as {name}, are of fisheyes and stay as they are \
     (`dataset.undistort: except_fisheye`)"
)]
pub struct LensError {
    /// The part, as people know it.
    pub part: &'static str,
    /// Photos of fisheyes that stay as they are.
    pub photos: usize,
    /// The first of them.
    pub name: String,
}

impl LensError {
    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        "`--set dataset.undistort=whole` undistorts them"
    }
}

/// Holds the profile against the lenses of the scene.
///
/// # Errors
/// [`LensError`] when a training or test photo is rendered through a fisheye and something in the run needs pinholes.
pub(super) fn check(profile: &Profile, scene: &SceneIndex) -> Result<(), LensError> {
    let mut kept = scene.views().filter(|(_, view)| view.camera.lens.is_some());
    let Some((_, first)) = kept.next() else {
        return Ok(());
    };
    match part(profile) {
        Some(part) => Err(LensError {
            part,
            photos: 1 + kept.count(),
            name: first.name.clone(),
        }),
        None => Ok(()),
    }
}

/// The first part of a run that needs pinholes.
fn part(profile: &Profile) -> Option<&'static str> {
    if profile.is_triangles() {
        return Some("a model of triangles (`model.kind`)");
    }
    if profile.sugar.is_some() {
        return Some("SuGaR (`sugar.stages`)");
    }
    if profile.is_bound() {
        return Some("a model on a mesh (`init.kind: mesh`)");
    }
    let of_loss = |loss: &Loss| match loss {
        Loss::Normals(_) => Some("the loss `normals`"),
        Loss::DnConsistency(_) => Some("the loss `dn_consistency`"),
        Loss::Depth(_) => Some("the loss `depth` (`dataset.depths`)"),
        Loss::NormalMap(_) => Some("the loss `normal_map` (`dataset.normals`)"),
        Loss::Neighbour(_) => Some("the loss `neighbour`"),
        Loss::L1(_) | Loss::Dssim(_) | Loss::Alpha(_) | Loss::Exposure(_) => None,
    };
    let mut losses = profile.losses.iter().filter(|loss| loss.weight() > 0.0);
    let of_density = || profile.density().map(|_| "the regularizer `density`");
    losses.find_map(of_loss).or_else(of_density)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::{Inputs, Override, resolve};
    use crate::plan::{pinhole_options, scene_options};
    use crate::scene::scratch::Scratch;

    /// A fisheye's photos and one of a pinhole's, on a line.
    fn scene() -> Scratch {
        let folder = Scratch::new();
        let cameras = "1 OPENCV_FISHEYE 40 30 20 20 20 15 0.01 0 0 0\n2 PINHOLE 40 30 35 35 20 15\n";
        folder.write("sparse/0/cameras.txt", cameras);
        let images: String = (0..4)
            .map(|n| format!("{} 1 0 0 0 {n} 0 0 {} v{n}.png\n\n", n + 1, 2 - n.min(1)))
            .collect();
        folder.write("sparse/0/images.txt", images);
        folder.write("sparse/0/points3D.txt", "1 0 0 5 255 0 0 0.1\n");
        for n in 0..4 {
            folder.write_png(&format!("images/v{n}.png"), 40, 30, 3, &[90; 3600]);
        }
        folder
    }

    fn profile(settings: &[(&str, &str)]) -> Profile {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        resolve(&Inputs {
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    #[test]
    fn what_needs_pinholes_is_refused_by_name() {
        let folder = scene();
        let checked = |undistort: &str, settings: &[(&str, &str)]| {
            let keep = [("dataset.hold_out", "false"), ("dataset.undistort", undistort)];
            let profile = profile(&[&keep, settings].concat());
            let scene = SceneIndex::load(folder.path(), &scene_options(&profile).unwrap()).unwrap();
            check(&profile, &scene).map_err(|error| error.to_string())
        };
        for (settings, part) in [
            (("losses", "[{ kind: l1 }, { kind: normals }]"), "the loss `normals`"),
            (
                ("losses", "[{ kind: l1 }, { kind: dn_consistency }]"),
                "the loss `dn_consistency`",
            ),
            (
                ("losses", "[{ kind: l1 }, { kind: neighbour }]"),
                "the loss `neighbour`",
            ),
            (("dataset.depths", "depths"), "the loss `depth` (`dataset.depths`)"),
            (
                ("dataset.normals", "normals"),
                "the loss `normal_map` (`dataset.normals`)",
            ),
            (("regularizers", "[{ kind: density }]"), "the regularizer `density`"),
        ] {
            let error = checked("except_fisheye", &[settings]).unwrap_err();
            let wanted = format!(
                "{part} needs photos of pinholes, and 3 of the scene, such as v1.png, are of fisheyes and stay as they are \
                 (`dataset.undistort: except_fisheye`)"
            );
            assert_eq!(error, wanted);
            assert_eq!(checked("whole", &[settings]), Ok(()), "{part}");
        }
        let poses = [("train.refine_poses", "{}")];
        assert_eq!(checked("except_fisheye", &[]), Ok(()));
        assert_eq!(checked("except_fisheye", &poses), Ok(()));
    }

    #[test]
    fn meshes_see_pinholes_of_the_same_photos() {
        let folder = scene();
        let profile = profile(&[("dataset.undistort", "except_fisheye")]);
        let has_lens = |options| {
            let scene = SceneIndex::load(folder.path(), &options).unwrap();
            scene.views().filter(|(_, view)| view.camera.lens.is_some()).count()
        };
        assert_eq!(has_lens(scene_options(&profile).unwrap()), 3);
        assert_eq!(has_lens(pinhole_options(&profile).unwrap()), 0);
    }
}
