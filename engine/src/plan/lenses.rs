//! Whether photos of fisheyes can stay as they are in a run.

use super::losses::losses;
use crate::config::Profile;

/// True when something in a run looks along the straight rays of pinholes: for depths, planes and neighbours, or for what a mesh
/// holds. Training on images alone does not, with or without poses that move.
pub(super) fn needs_pinholes(profile: &Profile) -> bool {
    profile.is_triangles()
        || profile.sugar.is_some()
        || profile.is_bound()
        || losses(profile).need(|needs| needs.surface.is_some())
        || profile.density().is_some()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use crate::config::{Inputs, Override, Profile, resolve};
    use crate::plan::{pinhole_options, scene_options};
    use crate::scene::scratch::Scratch;
    use crate::scene::{SceneIndex, Undistort};

    fn profile(recipe: Option<&str>, settings: &[(&str, &str)]) -> Profile {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        resolve(&Inputs {
            recipe: recipe.map(str::to_owned),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    #[test]
    fn fisheyes_stay_where_nothing_needs_pinholes() {
        let read = |recipe, settings: &[(&str, &str)]| scene_options(&profile(recipe, settings)).unwrap().undistort;
        let kept = Undistort::ExceptFisheye;
        for recipe in ["default", "mcmc", "draft", "demo"] {
            assert_eq!(read(Some(recipe), &[]), kept, "{recipe}");
        }
        assert_eq!(read(None, &[("train.refine_poses", "{}")]), kept);
        assert_eq!(
            read(None, &[("losses", "[{ kind: l1 }, { kind: normals, weight: 0 }]")]),
            kept
        );
        for recipe in ["surface", "sugar", "meshsplatting"] {
            assert_eq!(read(Some(recipe), &[]), Undistort::Inside, "{recipe}");
        }
        for setting in [
            ("losses", "[{ kind: l1 }, { kind: normals }]"),
            ("losses", "[{ kind: l1 }, { kind: dn_consistency }]"),
            ("losses", "[{ kind: l1 }, { kind: neighbour }]"),
            ("dataset.depths", "depths"),
            ("dataset.normals", "normals"),
            ("regularizers", "[{ kind: density }]"),
        ] {
            assert_eq!(read(None, &[setting]), Undistort::Inside, "{setting:?}");
        }
        assert_eq!(read(None, &[("dataset.undistort", "inside")]), Undistort::Inside);
        assert_eq!(read(None, &[("dataset.undistort", "whole")]), Undistort::Whole);
    }

    /// A fisheye's photos and one of a pinhole's, on a line.
    #[test]
    fn meshes_see_pinholes_of_the_same_photos() {
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
        let has_lens = |options| {
            let scene = SceneIndex::load(folder.path(), &options).unwrap();
            scene.views().filter(|(_, view)| view.camera.lens.is_some()).count()
        };
        let profile = profile(None, &[]);
        assert_eq!(has_lens(scene_options(&profile).unwrap()), 3);
        assert_eq!(has_lens(pinhole_options(&profile).unwrap()), 0);
    }
}
