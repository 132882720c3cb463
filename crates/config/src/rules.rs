//! Ranges and cross-checks of a profile, and what is derived at the end.

use super::profile::{Memory, Mip, Profile, Schedule};
use super::{DeviceChoice, SugarStage, bound, losses, storage, sugar, triangles};
use crate::plugins::{Checker, DeferredSh, Loss, Optimizer, Regularizer};
use kiln_gaussians::layout::Storage;

/// Largest iteration count and iteration number.
const MAX_STEPS: u32 = 10_000_000;
/// Steps between two densifications, and between two resets of opacities, that `--steps-scaler` leaves.
const LEAST_BETWEEN_DENSIFICATIONS: u32 = 10;
const LEAST_BETWEEN_RESETS: u32 = 300;
/// Longest list of iterations.
const MAX_LIST: usize = 1000;

/// Every range and cross-check, in the order of the file.
pub(super) fn check(profile: &Profile, c: &mut Checker) {
    c.range("version", profile.version, 1..=1);
    c.within("run", |c| {
        for (key, text, wanted) in [
            ("name", &profile.run.name, "a name"),
            ("output", &profile.run.output, "a folder"),
        ] {
            let is_blank = text.as_deref().is_some_and(|text| text.trim().is_empty());
            c.require(key, !is_blank, "empty", || format!("null or {wanted}"));
        }
    });
    c.within("dataset", |c| {
        let r = profile.dataset.resolution;
        c.require("resolution", r == -1 || (1..=65_536).contains(&r), r, || {
            "-1 or 1 to 65536".to_owned()
        });
        let images = &profile.dataset.images;
        c.require("images", !images.is_empty(), "empty", || "a folder name".to_owned());
        c.range("cache_gib", profile.dataset.cache_gib, 0.001..=4096.0);
        c.require("masks", !profile.dataset.masks.is_empty(), "empty", || {
            "auto, off or a folder".to_owned()
        });
        let depths = profile.dataset.depths.as_deref();
        c.require("depths", depths != Some(""), "empty", || "null or a folder".to_owned());
        let normals = profile.dataset.normals.as_ref();
        c.require(
            "normals",
            normals.is_none_or(|maps| !maps.path.is_empty()),
            "empty",
            || "null or a folder".to_owned(),
        );
    });
    c.within("model", |c| {
        c.range("sh_degree", profile.model.sh_degree, 0..=3);
        if let Some(near) = profile.model.near {
            c.positive("near", near.into(), 1e9);
        }
    });
    c.within("mip", |c| check_mip(&profile.mip, c));
    if let Some(cull) = profile.cull {
        c.within("cull", |c| cull.check(c));
    }
    c.within("memory", |c| check_memory(&profile.memory, c));
    storage::check_together(profile, c);
    c.within("schedule", |c| check_schedule(&profile.schedule, c));
    c.within("train", |c| {
        c.range(
            "gaussians_per_root_pixel",
            profile.train.gaussians_per_root_pixel,
            0.0..=10_000.0,
        );
        c.range("dropout", profile.train.dropout, 0.0..=0.5);
        let of_triangles = profile.is_triangles() && profile.learns_photo_colors();
        c.require("photo_colors", !of_triangles, "on", || {
            "auto or off, because `model.kind` is triangles".to_owned()
        });
        if let Some(poses) = profile.train.refine_poses {
            c.within("refine_poses", |c| {
                c.range("lr", poses.lr, 1e-6..=0.1);
                c.range("lr_end", poses.lr_end, 1e-8..=0.1);
                c.range("test_steps", poses.test_steps, 0..=10_000);
            });
        }
    });
    c.within("eval", |c| {
        c.range("views_logged", profile.eval.views_logged, 0..=10_000);
    });
    c.within("device", |c| {
        if let Some(DeviceChoice::Named(name)) = &profile.device.select {
            c.require("select", !name.trim().is_empty(), "an empty text", || {
                "a number, a part of a device's name, or its uuid".to_owned()
            });
        }
    });
    c.within("mesh", |c| profile.mesh.check(c));
    if let Some(own) = &profile.sugar {
        c.within("sugar", |c| own.check(profile.schedule.iterations, c));
    }
    if let Some(own) = &profile.bound {
        c.within("bound", |c| own.check(c));
    }
    bound::check_together(profile, c);
    sugar::check_together(profile, c);
    if let Some(own) = &profile.mesh_splatting {
        c.within("mesh_splatting", |c| own.check(c));
    }
    triangles::check_together(profile, c);
    c.within("init", |c| profile.init.check(c));
    c.within("strategy", |c| profile.strategy.check(c));
    c.within("optimizer", |c| {
        profile.optimizer.check(c);
        let Optimizer::AdamFused(adam) = &profile.optimizer;
        let on = adam.deferred_sh == DeferredSh::On;
        c.require("deferred_sh", !(on && profile.train.deterministic), "on", || {
            "auto or off, because `train.deterministic` is on: a save would show in later bytes".to_owned()
        });
        let storage = profile.memory.storage;
        c.require("deferred_sh", !(on && storage != Storage::Exact), "on", || {
            format!(
                "auto or off, because `memory.storage` is {}, whose moments are too coarse to make up for many steps at once",
                storage.name()
            )
        });
    });
    let of_surface = profile.loss_of_surfaces();
    c.within("optimizer", |c| {
        let Optimizer::AdamFused(adam) = &profile.optimizer;
        let on = adam.deferred_sh == DeferredSh::On;
        c.require("deferred_sh", !(on && profile.is_bound()), "on", || {
            "auto or off, because `init.kind` is mesh".to_owned()
        });
        c.require("deferred_sh", !(on && of_surface.is_some()), "on", || {
            format!(
                "auto or off, because of the loss `{}`: it needs every Gaussian's colour up to date",
                of_surface.map_or("", Loss::kind)
            )
        });
    });
    c.within("optimizer", |c| {
        let Optimizer::AdamFused(adam) = &profile.optimizer;
        let on = adam.deferred_sh == DeferredSh::On;
        c.require("deferred_sh", !(on && profile.density().is_some()), "on", || {
            "auto or off, because of the regularizer `density`: its update knows no colours that wait".to_owned()
        });
        c.require("deferred_sh", !(on && profile.adam_restart().is_some()), "on", || {
            "auto or off, because of `sugar`: colours that wait cannot start anew".to_owned()
        });
    });
    c.within("losses", |c| check_list(&profile.losses, c, |loss, c| loss.check(c)));
    c.require(
        "losses",
        profile.losses.iter().any(|loss| loss.weight() > 0.0),
        "without any weight",
        || "at least one loss with a weight above 0".to_owned(),
    );
    losses::check_together(profile, c);
    c.within("regularizers", |c| {
        check_list(&profile.regularizers, c, |term, c| term.check(c));
        for (i, term) in profile.regularizers.iter().enumerate() {
            let twice = profile.regularizers[..i]
                .iter()
                .any(|earlier| earlier.kind() == term.kind());
            c.within(i, |c| {
                c.require("kind", !twice, term.kind(), || "each regularizer once".to_owned());
            });
        }
    });
    c.within("exporters", |c| {
        check_list(&profile.exporters, c, |exporter, c| exporter.check(c));
        for (i, exporter) in profile.exporters.iter().enumerate() {
            let mut earlier = profile.exporters[..i].iter();
            let twice = earlier.any(|earlier| earlier.kind() == exporter.kind());
            c.within(i, |c| {
                c.require("kind", !twice, exporter.kind(), || {
                    "each exporter once: two of a kind would write the same file".to_owned()
                });
            });
        }
    });
    c.within("sinks", |c| check_list(&profile.sinks, c, |sink, c| sink.check(c)));
}

/// Sections that say nothing of most runs, where they are of use: with the defaults unless they say otherwise.
pub(super) fn add_sections(profile: &mut Profile) {
    if profile.is_triangles() {
        profile.mesh_splatting.get_or_insert_default();
    }
    if profile.is_bound() || profile.has_stage(SugarStage::Refine) {
        profile.bound.get_or_insert_default();
    }
}

fn check_list<T>(items: &[T], c: &mut Checker, check: impl Fn(&T, &mut Checker)) {
    for (i, item) in items.iter().enumerate() {
        c.within(i, |c| check(item, c));
    }
}

fn check_mip(mip: &Mip, c: &mut Checker) {
    c.range("kernel_size", mip.kernel_size, 0.0..=10.0);
}

fn check_memory(memory: &Memory, c: &mut Checker) {
    if let Some(cap) = memory.cap_gib {
        c.range("cap_gib", cap, 0.0625..=1024.0);
    }
    c.range("max_gaussians", memory.max_gaussians.number(), 1..=1_000_000_000);
}

fn check_schedule(schedule: &Schedule, c: &mut Checker) {
    c.range("iterations", schedule.iterations, 1..=MAX_STEPS);
    for (key, list) in [
        ("test", &schedule.test),
        ("save", &schedule.save),
        ("checkpoint", &schedule.checkpoint),
    ] {
        c.require(key, list.len() <= MAX_LIST, format!("a list of {}", list.len()), || {
            format!("at most {MAX_LIST} iterations")
        });
        c.within(key, |c| {
            for (i, iteration) in list.iter().enumerate().take(MAX_LIST) {
                c.range(&i.to_string(), *iteration, 1..=MAX_STEPS);
            }
        });
    }
    c.range("checkpoint_minutes", schedule.checkpoint_minutes, 0.0..=100_000.0);
    c.range("live_seconds", schedule.live_seconds, 0.0..=100_000.0);
    c.range("sh_every", schedule.sh_every, 1..=MAX_STEPS);
    if let Some(stop) = schedule.early_stop {
        c.within("early_stop", |c| {
            c.range("patience", stop.patience, 1..=1000);
            c.range("min_delta", stop.min_delta, 0.0..=1e6);
        });
    }
    c.within("resolution", |c| {
        let mut last = 0;
        for (i, phase) in schedule.resolution.iter().enumerate() {
            c.within(i, |c| {
                c.require("until", phase.until > last, phase.until, || {
                    format!("above {last}, the phase before")
                });
                c.range("scale", phase.scale, 0.0625..=1.0);
            });
            last = phase.until;
        }
    });
}

/// Multiplies every step number by `factor`, rounding to the nearest and keeping at least 1 where 0 means nothing.
pub(super) fn scale_steps(profile: &mut Profile, factor: f64) {
    // Densification and resets need some steps in between, however short the run: a model that is reset before it has
    // recovered, or grows at every step, is lost.
    let scale_apart = |steps: &mut u32, least: u32| {
        let least = least.min(*steps);
        *steps = ((f64::from(*steps) * factor).round().min(f64::from(u32::MAX)) as u32).max(least);
    };
    let scale = |steps: &mut u32| *steps = (f64::from(*steps) * factor).round().min(f64::from(u32::MAX)) as u32;
    let scale_period = |steps: &mut u32| {
        scale(steps);
        *steps = (*steps).max(1);
    };
    let schedule = &mut profile.schedule;
    scale_period(&mut schedule.iterations);
    for list in [&mut schedule.test, &mut schedule.save, &mut schedule.checkpoint] {
        list.iter_mut().for_each(scale_period);
    }
    scale_period(&mut schedule.sh_every);
    schedule
        .resolution
        .iter_mut()
        .for_each(|phase| scale_period(&mut phase.until));
    if let Some(cull) = profile.cull.as_mut().filter(|cull| cull.every > 0) {
        scale_period(&mut cull.every);
    }
    if let Some([from, until, every]) = profile.strategy.window_mut() {
        scale(from);
        scale_period(until);
        scale_apart(every, LEAST_BETWEEN_DENSIFICATIONS);
    }
    if let Some(adaptive) = profile.strategy.adaptive_mut() {
        scale(&mut adaptive.reset.until);
        if let Some(every) = &mut adaptive.reset.every {
            scale_apart(every, LEAST_BETWEEN_RESETS);
        }
    }
    if let Some(bound) = &mut profile.bound {
        scale_period(&mut bound.iterations);
    }
    if let Some(triangles) = &mut profile.mesh_splatting {
        triangles.scale_steps(scale);
    }
    profile
        .losses
        .iter_mut()
        .filter_map(|loss| loss.first_mut())
        .for_each(scale);
    for term in &mut profile.regularizers {
        match term {
            Regularizer::Entropy(options) => {
                scale(&mut options.from);
                scale(&mut options.until);
            }
            Regularizer::Density(options) => {
                scale_period(&mut options.from);
                scale_period(&mut options.rebuild);
            }
            _ => {}
        }
    }
    if let Some(sugar) = &mut profile.sugar {
        scale_period(&mut sugar.start);
    }
    let Optimizer::AdamFused(adam) = &mut profile.optimizer;
    adam.lr.means_decay_steps = adam.lr.means_decay_steps.map(|mut steps| {
        scale_period(&mut steps);
        steps
    });
}

/// Cuts lists of iterations at the end of the run, sorts them, and adds the last iteration to `test` and `save`.
pub(super) fn freeze_schedule(schedule: &mut Schedule) {
    let end = schedule.iterations;
    schedule.test.push(end);
    schedule.save.push(end);
    for list in [&mut schedule.test, &mut schedule.save, &mut schedule.checkpoint] {
        list.retain(|iteration| *iteration <= end);
        list.sort_unstable();
        list.dedup();
    }
}
