// What the passes of a densification share; `kernels/densify.rs` describes them.

// Counts of an event, and what its passes hand on.
struct DensifyControl {
    uint count;      // Gaussians before the births; 0 when stalled, which turns every pass into a no-op
    uint grown;      // Gaussians after the births
    uint live;       // Gaussians after the deaths
    uint entries;    // entries of the list of copies: births, then moves
    uint above;      // Gaussians that reach the gradient threshold
    uint selected;   // Gaussians selected
    uint splits;     // splits among the births
    uint threshold;  // keys above it give birth
    uint ties;       // keys equal to it that give birth too, lowest ids first
    uint prefix[2];  // digits found so far of the two keys that are looked for
    uint rank[2];    // their ranks among the keys with these digits
    uint free;       // most births
    uint dead;       // Gaussians whose slots are reused
    uint weight;     // sum of the weights that copies are drawn by
    uint rate;       // copies a unit of weight, in 2^-32
    uint offset;     // where the first copy lies, in 2^-32 of a copy
    uint bins[512];  // a histogram of the next digit for each
};

// When elements are counted and listed.
const uint STAGE_BIRTHS = 0u;  // parents
const uint STAGE_DEATHS = 1u;  // the living
const uint STAGE_CULL = 2u;  // deaths without births, reported apart

// The two uses of the radix select.
const uint SELECT_QUANTILE = 0u;  // the two values around the quantile of the abs statistic
const uint SELECT_RATION = 1u;    // the lowest key that still gives birth

const uint MARK = 0x80000000u;  // top bit of a gradient word: too large to be cloned; of a list entry: the parent is split
