//! Keys that are gone, or were never there but are looked for, for the hint of an error: what stands in their place.

/// Paths of keys and blocks, and what to use instead.
const MOVED: &[(&str, &str)] = &[
    (
        "debug",
        "`diagnose` holds validation, guard_bands, markers, silence_ms and timed_every; the others were for tests and are \
         no settings any more",
    ),
    (
        "recipe",
        "`extends: recipes/NAME` names it in a file, `--recipe NAME` on the command line",
    ),
    (
        "profile",
        "`extends: profiles/NAME` names it in a file, `--profile NAME` on the command line",
    ),
    ("memory.backend", NO_ALLOCATOR),
    ("memory.fragmentation", NO_ALLOCATOR),
    ("memory.trace", NO_ALLOCATOR),
];

const NO_ALLOCATOR: &str =
    "remove it: the engine plans every byte itself before the first step, and nothing is left to choose";

/// What stands in the place of the key `path`; none where there never was such a key.
pub(super) fn instead_of(path: &str) -> Option<&'static str> {
    let is_in = |gone: &str| {
        path.strip_prefix(gone)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    MOVED.iter().find(|(gone, _)| is_in(gone)).map(|(_, instead)| *instead)
}
