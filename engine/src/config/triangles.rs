//! What goes together with `model.kind` triangles.

use kiln_triangles::schedule::Settings;

use super::profile::{ModelKind, Profile};
use crate::gaussians::layout::Storage;
use crate::plugins::{Checker, DeferredSh, Init, Needs, Optimizer, Strategy};

/// What must be as it is for triangles, and what it is set to.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    if !profile.is_triangles() {
        return;
    }
    let why = |what: &str| {
        format!("{what}, because `model.kind` is triangles; `--recipe meshsplatting` has all that goes with it")
    };
    c.within("dataset", |c| {
        let depths = profile.dataset.depths.as_deref();
        c.require("depths", depths.is_none(), depths.unwrap_or_default(), || why("null"));
        let normals = profile.dataset.normals.as_ref().map(|maps| maps.path.as_str());
        c.require("normals", normals.is_none(), normals.unwrap_or_default(), || {
            why("null")
        });
    });
    c.within("memory", |c| {
        let storage = profile.memory.storage;
        c.require("storage", storage == Storage::Exact, storage.name(), || why("exact"));
    });
    c.within("train", |c| {
        c.require("dropout", profile.train.dropout <= 0.0, profile.train.dropout, || {
            why("0")
        });
        let poses = profile.train.refine_poses.is_none();
        c.require("refine_poses", poses, "on", || why("null"));
    });
    c.within("init", |c| {
        let of_points = !matches!(profile.init, Init::Model(_) | Init::Mesh(_));
        c.require("kind", of_points, profile.init.kind(), || why("one of points"));
    });
    c.within("strategy", |c| {
        let fixed = matches!(profile.strategy, Strategy::Fixed(_));
        c.require("kind", fixed, profile.strategy.kind(), || why("fixed"));
    });
    c.require("cull", profile.cull.is_none(), "on", || why("null"));
    let sugar = profile.sugar.is_none();
    c.require("sugar", sugar, "a block", || why("null"));
    c.within("optimizer", |c| {
        let Optimizer::AdamFused(adam) = &profile.optimizer;
        c.require("deferred_sh", adam.deferred_sh != DeferredSh::On, "on", || {
            why("auto or off")
        });
    });
    c.within("losses", |c| {
        for (i, loss) in profile.losses.iter().enumerate() {
            let of_images = loss.needs() == Needs::NOTHING;
            c.within(i, |c| c.require("kind", of_images, loss.kind(), || why("l1 or dssim")));
        }
    });
    let terms = profile.regularizers.len();
    c.require("regularizers", terms == 0, format!("a list of {terms}"), || why("[]"));
}

impl Profile {
    /// True when the model is of triangles with shared vertices.
    #[must_use]
    pub fn is_triangles(&self) -> bool {
        self.model.kind == ModelKind::Triangles
    }

    /// The schedules of a model of triangles; none for models of Gaussians.
    #[must_use]
    pub fn triangle_schedule(&self) -> Option<Settings> {
        let degrees = [self.schedule.sh_every, self.model.sh_degree];
        self.is_triangles()
            .then(|| self.mesh_splatting().schedule(self.schedule.iterations, degrees))
    }

    /// Most points of a first model, and the key that says so; none where no key does.
    pub(crate) fn most_points(&self) -> Option<u32> {
        self.is_triangles()
            .then(|| self.mesh_splatting().max_points.number() / 3)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::{Inputs, Override, resolve};

    fn profile(recipe: &str, settings: &[(&str, &str)], steps_scaler: Option<f64>) -> Result<Profile, String> {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        let inputs = Inputs {
            recipe: Some(recipe.to_owned()),
            overrides: settings.iter().map(set).collect(),
            steps_scaler,
            ..Inputs::default()
        };
        resolve(&inputs).map_err(|error| error.to_string())
    }

    #[test]
    fn recipes_are_the_published_schedules() {
        let of = |name| profile(name, &[], None).unwrap().triangle_schedule().unwrap();
        assert_eq!(of("meshsplatting"), Settings::outdoor());
        assert_eq!(of("meshsplatting_indoor"), Settings::indoor());
        assert_eq!(profile("default", &[], None).unwrap().triangle_schedule(), None);
    }

    #[test]
    fn what_does_not_go_with_triangles_is_refused_by_name() {
        for (key, value, found) in [
            ("strategy", "{ kind: adaptive }", "strategy.kind"),
            ("cull", "unseen", "cull"),
            ("memory.storage", "half", "memory.storage"),
            ("losses", "[{ kind: l1 }, { kind: normals }]", "losses.1.kind"),
            ("regularizers", "[{ kind: flat }]", "regularizers"),
            ("train.refine_poses", "{}", "train.refine_poses"),
            ("train.dropout", "0.1", "train.dropout"),
            ("init", "{ kind: model, path: a.ply }", "init.kind"),
            ("dataset.depths", "depth", "dataset.depths"),
            ("dataset.normals", "normal", "dataset.normals"),
            ("mesh_splatting.max_points", "10", "mesh_splatting.max_points"),
            (
                "mesh_splatting.supersample",
                "[[200, 2], [100, 4]]",
                "mesh_splatting.supersample.1",
            ),
            (
                "mesh_splatting.supersample",
                "[[200, 9]]",
                "mesh_splatting.supersample.0.1",
            ),
            ("mesh_splatting.length", "0", "mesh_splatting.length"),
            ("mesh_splatting.growth", "2", "mesh_splatting.growth"),
        ] {
            let error = profile("meshsplatting", &[(key, value)], None).unwrap_err();
            assert!(error.contains(found), "{key}: {error}");
        }
        assert!(profile("default", &[("model.kind", "triangles")], None).is_err());
    }

    #[test]
    fn steps_are_scaled_together() {
        let short = profile("meshsplatting", &[], Some(0.01))
            .unwrap()
            .triangle_schedule()
            .unwrap();
        assert_eq!((short.iterations, short.every, short.split), (300, 10, [5, 100]));
        assert_eq!((short.supersample, short.floor), (vec![(200, 2), (250, 4)], [50, 240]));
        let one = profile("meshsplatting", &[], Some(0.00003))
            .unwrap()
            .triangle_schedule()
            .unwrap();
        assert_eq!((one.every, one.prune_views, one.supersample), (10, 0, vec![(1, 4)]));
    }
}
