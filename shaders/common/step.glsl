// The uniform block of a step and the counters every pass shares. `kernels/uniforms.rs` and `kernels/counters.rs` hold
// the same fields in the same order.

struct StepUniforms {
    vec4 view_row0;        // rotation row, translation
    vec4 view_row1;
    vec4 view_row2;
    vec4 camera_position;  // world space; w = learning rate of exposures
    vec4 intrinsics;       // fx, fy, cx, cy; pixel centres on integers
    vec4 slope_limits;     // limits of x/z (min, max) and y/z (min, max) for the Jacobian
    vec4 background;       // rgb; w = filter variance added to the diagonal, px^2
    vec4 weights;          // L1, D-SSIM, 1 / (3 * pixels), coverage
    uint width;
    uint height;
    uint tiles_x;
    uint tiles_y;
    uint iteration;
    uint seed;
    uint flags;
    uint adam_skip_mask;
    uint sh_degree;
    uint image_offset;     // first word of the ground-truth slot
    uint band_begin;       // tiles [begin, end), row by row, to rasterise
    uint band_end;
    float adam_rate[8];    // learning rate / (1 - beta1^n), per parameter group
    float adam_scale[8];   // 1 / sqrt(1 - beta2^n), per parameter group
    float beta1;
    float beta2;
    float epsilon;
    uint view;             // training view, by its place among them
    float opacity_weight;  // of the mean opacity in the loss
    float scale_weight;    // of the mean standard deviation in the loss
    float noise;           // on centres after the update, times covariance
    float near_limit;      // with FLAG_NEAR: the depth below which splats are near
    uint sh_steps;         // optimiser steps of SH before this one
    float near_z;          // centres must lie beyond this depth to be drawn, world units
    float dropout;         // share of the Gaussians that this step leaves out; 0 = none
    float exposure_hold;   // weight of half an exposure's squared distance from doing nothing
    uint reserved[4];
};

// Bits of `flags`.
const uint FLAG_STATISTICS = 1u;
const uint FLAG_CLASSIC = 2u;     // plain dilation: no opacity compensation
const uint FLAG_RAY_JITTER = 4u;  // pixels are sampled at random offsets
const uint FLAG_UPDATE = 8u;      // the optimiser runs
const uint FLAG_RESAMPLE = 16u;   // the ground truth is sampled where the jittered pixels are
const uint FLAG_COUNT_FAINT = 64u;  // steps count in which a Gaussian is on screen but too faint for any pixel
const uint FLAG_DEPTH = 128u;     // records carry depth in the place of colour
const uint FLAG_SCORES = 256u;    // statistics are those of scores, see `adds_errors`
const uint FLAG_NEAR = 512u;      // records of near splats are white, those of all others black

// Statistics of scores take turns: even iterations add the pixels' errors, splatted back onto Gaussians by their blending
// weights, odd ones the absolute gradients and the count.
bool adds_errors(uint iteration) {
    return (iteration & 1u) == 0u;
}

const uint FLAG_ALPHA_GRADIENT = 4096u;  // the image gradient's fourth component is that of the final transmittance

// Parameter groups, the indices of `adam_rate` and the bits of `adam_skip_mask`.
const uint GROUP_MEANS = 0u;
const uint GROUP_QUATS = 1u;
const uint GROUP_SCALES = 2u;
const uint GROUP_OPACITY = 3u;
const uint GROUP_SH0 = 4u;
const uint GROUP_SH_REST = 5u;

struct Counters {
    uint stalled;               // sticky: 0 or one of the STALL_ reasons
    uint gaussians;
    uint visible;
    uint intersections;
    uint visible_wanted;
    uint intersections_wanted;
    uint stall_iteration;
    uint nonfinite;             // non-finite 2D gradients or loss words seen by the check
    uint nonfinite_index;       // lowest visible index among them
    uint skipped;               // Gaussians skipped by the update for a non-finite gradient, since start
    uint births;
    uint deaths;
    uint clones;
    uint splits;
    uint capped;
    uint iteration;
    float loss;
    float l1;
    float ssim;
    uint culled;                // Gaussians that the last cull removed
};

const uint STALL_VISIBLE = 1u;
const uint STALL_INTERSECTIONS = 2u;
const uint STALL_NONFINITE = 3u;
const uint STALL_LOOPS = 4u;        // the driver cut a loop over the splats of a tile

// Slots of the indirect-dispatch table, three words each with a stride of four.
const uint ARGS_VISIBLE = 0u;          // 256 visible Gaussians a group
const uint ARGS_VISIBLE_SORT = 1u;     // a block of the depth sort a group
const uint ARGS_INTERSECTIONS = 2u;    // 256 intersections a group
const uint ARGS_INTERSECTION_SORT = 3u;
const uint ARGS_TILES = 4u;            // one tile a group
const uint ARGS_ONE = 5u;              // one group, none when stalled
const uint ARGS_GAUSSIANS = 6u;        // 256 Gaussians of all chunks a group; only inside a densification
const uint ARGS_MOVES = 7u;            // 256 births or moves a group; only inside a densification
const uint ARGS_EMISSION = 8u;         // 64 visible Gaussians a group, once their intersections are known to fit
const uint ARGS_CHUNKS = 9u;           // 256 Gaussians of chunk c a group: slot ARGS_CHUNKS + c
