//! Keys that are gone, or were never there but are looked for, for the hint of an error: what stands in their place.

/// Paths of keys and blocks, without places in lists, and what to use instead.
pub(super) const MOVED: &[(&str, &str)] = &[
    (
        "debug",
        "`diagnose` holds validation, guard_bands, markers and timed_every; the others were for tests and are no settings \
         any more",
    ),
    (
        "recipe",
        "`extends: recipes/NAME` names it in a file, `--recipe NAME` on the command line",
    ),
    (
        "profile",
        "`extends: profiles/NAME` names it in a file, `--profile NAME` on the command line",
    ),
    ("dataset.eval", "`dataset.hold_out` is its name"),
    ("device.index", "`device.select` is its name"),
    ("memory.on_overflow", "`memory.on_full` is its name"),
    (
        "dataset.kind",
        "remove it: the files in the scene folder say what kind of scene it is",
    ),
    (
        "dataset.mask_invert",
        "remove it: white counts in masks; turn the files over where black does",
    ),
    (
        "model.sh_truncate",
        "remove it: a run that asks for a lower degree than its checkpoint has drops what is above",
    ),
    ("mip.filter_from", FILTERED),
    ("mip.filter_every", FILTERED),
    ("mip.ray_jitter", NO_JITTER),
    ("mip.resample_gt_image", NO_JITTER),
    ("memory.backend", NO_ALLOCATOR),
    ("memory.fragmentation", NO_ALLOCATOR),
    ("memory.trace", NO_ALLOCATOR),
    (
        "memory.cap_fraction",
        "remove it: at most 97 % of the device's memory is taken, and `memory.cap_gib` sets less",
    ),
    (
        "memory.probe_every",
        "remove it: where the memory lies is measured at the start and every 1000 steps",
    ),
    (
        "train.gaussian_ceiling",
        "`memory.max_gaussians: up to N` says the same",
    ),
    ("train.order", "remove it: Gaussians always lie along a Morton curve"),
    (
        "train.accumulate",
        "remove it: a step sees one photo, and its gradients take no memory that waiting for more photos could save; lower rates under \
         `optimizer.lr` are as calm",
    ),
    (
        "train.resolution_scale",
        "`dataset.resolution` sets the size of images: a divisor, or the width in pixels, 1440 for 0.9 of 1600",
    ),
    (
        "eval.exposure",
        "remove it: `cc_psnr` comes with `{ kind: exposure }` under `losses`",
    ),
    (
        "eval.lpips_weights",
        "remove it: the weights are inside the program, or in a file beside it",
    ),
    (
        "device.tier",
        "remove it: a run takes the quickest kernels that the device computes correctly",
    ),
    (
        "diagnose.silence_ms",
        "remove it: a device that finishes nothing for 5 s is reported",
    ),
    (
        "strategy.densify.count_faint",
        "remove it: `adaptive_abs` takes means over all steps with a radius on screen, `adaptive` over those in which some pixel could see it",
    ),
    (
        "strategy.densify.percent_dense",
        "remove it: Gaussians up to 0.01 of the scene extent are cloned, larger ones split",
    ),
    (
        "strategy.prune.world_from",
        "remove it: `world` applies after the first reset, `strategy.reset.every`",
    ),
    ("optimizer.betas", "remove it: they are constants, 0.9 and 0.999"),
    ("optimizer.eps", "remove it: it is a constant, 1e-15"),
    ("optimizer.lr.cooldown_to", "remove it: rates cool down to a tenth"),
    ("sinks.every_s", "remove it: plain lines come every 10 s"),
    ("sinks.gpu_every", MULTIPLES),
    ("sinks.memory_every", MULTIPLES),
    ("sinks.histogram_every", MULTIPLES),
    (
        "sinks.image_px",
        "remove it: images have at most 512 pixels on their longer side",
    ),
];

const NO_ALLOCATOR: &str =
    "remove it: the engine plans every byte itself before the first step, and nothing is left to choose";
const FILTERED: &str = "remove it: the 3D filter is recomputed every `strategy.densify.every` steps after `strategy.densify.until` as well";
const NO_JITTER: &str = "remove it: photos are sampled at pixel centres";
const MULTIPLES: &str =
    "`every` sets all of them: telemetry comes 5, memory 10 and histograms 100 times as far apart as scalars";

/// Words that have another name now: key, old and new word.
pub(super) const RENAMED: &[(&str, &str, &str)] = &[
    ("strategy.kind", "adc", "adaptive"),
    ("strategy.kind", "adc_abs", "adaptive_abs"),
    ("strategy.kind", "budgeted", "error_guided"),
];

/// The name of what the key `path` once called `found`.
pub(super) fn renamed(path: &str, found: &str) -> Option<&'static str> {
    let is_it = |(key, old, _): &&(&str, &str, &str)| *key == path && *old == found;
    RENAMED.iter().find(is_it).map(|(_, _, new)| *new)
}

/// What stands in the place of the key `path`; none where there never was such a key.
pub(super) fn instead_of(path: &str) -> Option<&'static str> {
    let keys: Vec<&str> = path.split('.').filter(|key| key.parse::<u32>().is_err()).collect();
    let path = keys.join(".");
    let is_in = |gone: &str| {
        path.strip_prefix(gone)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    MOVED.iter().find(|(gone, _)| is_in(gone)).map(|(_, instead)| *instead)
}
