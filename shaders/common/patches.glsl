// How many patches a pair of views is compared by. Expects a uniform block `u`.

const uint MOST_PATCHES = 102400u;  // patches that are compared in a step

// Pixels that share a patch: as few as leave at most `MOST_PATCHES`.
uint patch_share() {
    return (u.width * u.height + MOST_PATCHES - 1u) / MOST_PATCHES;
}

uint patch_count() {
    uint share = patch_share();
    return (u.width * u.height + share - 1u) / share;
}
