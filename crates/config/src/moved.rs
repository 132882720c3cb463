//! Keys that were never there but are looked for, for the hint of an error: what stands in their place.

/// Paths of keys and blocks, without places in lists, and what to use instead.
pub(super) const MOVED: &[(&str, &str)] = &[
    ("debug", "`diagnose` holds validation, guard_bands and timed_every"),
    (
        "recipe",
        "`extends: recipes/NAME` names it in a file, `--recipe NAME` on the command line",
    ),
    (
        "profile",
        "`extends: profiles/NAME` names it in a file, `--profile NAME` on the command line",
    ),
    ("dataset.eval", "`dataset.hold_out` is its name"),
    (
        "dataset.kind",
        "remove it: the files in the scene folder say what kind of scene it is",
    ),
    (
        "dataset.respect_principal_point",
        "remove it: cameras are used as they were calibrated",
    ),
    ("mip.ray_jitter", NO_JITTER),
    ("mip.resample_gt_image", NO_JITTER),
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
        "remove it: every evaluation of photos whose colours are fitted has `psnr_fitted_half`",
    ),
    (
        "strategy.densify.percent_dense",
        "remove it: Gaussians up to 0.01 of the scene extent are cloned, larger ones split",
    ),
    ("optimizer.betas", "remove it: they are constants, 0.9 and 0.999"),
    ("optimizer.eps", "remove it: it is a constant, 1e-15"),
];

const NO_JITTER: &str = "remove it: photos are sampled at pixel centres";

/// Kinds that a list had once, with the list.
const MOVED_KINDS: &[(&str, &str, &str)] = &[(
    "losses",
    "exposure",
    "remove it: `train.photo_colors` is auto, which turns photo colours on where photos differ; `on` always learns them",
)];

/// What stands in the place of the kind `found` in the list that holds `path`; none where there never was such a kind.
pub(super) fn instead_of_value(path: &str, found: &str) -> Option<&'static str> {
    let is_in = |list: &str| path.split('.').next() == Some(list);
    let gone = MOVED_KINDS.iter().find(|(list, kind, _)| is_in(list) && *kind == found);
    gone.map(|(_, _, instead)| *instead)
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
