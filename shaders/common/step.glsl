// The uniform block of a step, the counters every pass shares, and the table of group counts.

// Everything that changes from step to step; written by the host into a slot of a ring.
struct StepUniforms {
    vec4 view_row0;        // first row of the world-to-camera rotation, and translation
    vec4 view_row1;        // second row
    vec4 view_row2;        // third row
    vec4 camera_position;  // camera centre, world space; learning rate of exposures
    vec4 intrinsics;       // fx, fy, cx, cy, px; pixel centres on integers
    vec4 slope_limits;     // limits of x/z (min, max) and y/z (min, max) for the Jacobian
    vec4 background;       // background rgb; variance of the 2D filter, px^2
    vec4 weights;          // weights of L1 and D-SSIM, `1 / (3 * pixels)`, weight of the coverage
    uint width;            // image width, px
    uint height;           // image height, px
    uint tiles_x;          // tiles along x
    uint tiles_y;          // tiles along y
    uint iteration;        // training iteration, from 1
    uint seed;             // seed of the run's counter generators
    uint flags;            // bits `FLAG_*`
    uint adam_skip_mask;   // bits of the parameter groups that the optimiser leaves alone in this step
    uint sh_degree;        // active SH degree
    uint image_offset;     // first word of the ground truth in its tensor
    uint band_begin;       // first tile with a list to rasterise, such tiles counted row by row
    uint band_end;         // one past the last tile to rasterise
    float adam_rate[8];    // learning rate over `1 - beta1^n`, per parameter group
    float adam_scale[8];   // `1 / sqrt(1 - beta2^n)`, per parameter group
    float beta1;           // first-moment decay
    float beta2;           // second-moment decay
    float epsilon;         // Adam's epsilon
    uint view;             // training view, by its place among them
    float opacity_weight;  // weight of the mean opacity in the loss
    float scale_weight;    // weight of the mean standard deviation in the loss, per world unit
    float noise;           // noise on centres after the update, times covariance, per world unit
    float near_limit;      // with `FLAG_NEAR`: the depth below which Gaussians are near, world units
    uint sh_steps;         // optimiser steps of SH before this one
    float near_z;          // centres must lie beyond this depth to be drawn, world units
    float dropout;         // share of the Gaussians that this step leaves out, below 1; 0 = none
    float exposure_hold;   // weight in the loss of half an exposure's squared distance from the identity
    float normals_weight;  // weight of the disagreement between blended planes or normals and the depth map's normals
    float flat_weight;     // weight of the mean over visible Gaussians of the least standard deviation, per world unit
    float pose_rate;       // learning rate of the camera's correction, radians and extents; 0 = it stays
    float pose_extent;     // unit of that correction's shifts, world units
    float entropy_weight;  // weight of the mean entropy of visible Gaussians' opacities
    uint lists_x;          // tiles with lists along x: those of the image, or smaller ones where a pixel has several samples
    uint lists_y;          // tiles with lists along y
    uint list_px;          // pixels along the side of such a tile
    vec4 lens_radial;      // of a fisheye, see `lens.glsl`: coefficients of even powers of the angle
    vec4 lens_sideways;    // its tangential and prism terms
    vec4 lens_range;       // its largest angle, radius and slope there, angle beyond which nothing is drawn; 0 for a pinhole
};

// Bits of `flags`.
const uint FLAG_STATISTICS = 1u;  // densification statistics are accumulated
const uint FLAG_CLASSIC = 2u;     // plain dilation without opacity compensation, instead of the Mip filter
const uint FLAG_UPDATE = 8u;      // the optimiser runs
const uint FLAG_COUNT_FAINT = 64u;  // steps count in which a Gaussian is on screen but too faint for any pixel
const uint FLAG_SCORES = 256u;    // statistics are those of scores: errors and largest weights, see `adds_errors`
const uint FLAG_POSES = 1024u;    // the camera is corrected by what was learnt for the view
const uint FLAG_NEAR = 512u;      // records of near Gaussians are white, all others black: the render is the weight of the near ones

// Statistics of scores take turns: even iterations add the pixels' errors, splatted back onto Gaussians by their blending
// weights, odd ones the absolute gradients and the count.
bool adds_errors(uint iteration) {
    return (iteration & 1u) == 0u;
}

const uint FLAG_ALPHA_GRADIENT = 4096u;  // the image gradient's fourth component is that of the final transmittance

const uint FLAG_DENSITY = 8192u;  // terms of the density take part in this step
const uint FLAG_PLANE_DEPTHS = 16384u;  // the fourth value of planes is the depth of their centre, not their distance from the camera

const uint DEPTH_KEY_BITS = 24u;  // significant bits of a depth key, see `project`

// Parameter groups, the indices of `adam_rate` and the bits of `adam_skip_mask`.
const uint GROUP_MEANS = 0u;    // centres
const uint GROUP_QUATS = 1u;    // rotations
const uint GROUP_SCALES = 2u;   // log scales
const uint GROUP_OPACITY = 3u;  // opacity logits
const uint GROUP_SH0 = 4u;      // degree-0 colour
const uint GROUP_SH_REST = 5u;  // higher-degree colour

// Counts that stay on the device; also the status word that the host reads some steps late.
struct Counters {
    uint stalled;               // sticky: 0, or why every later step is a no-op, one of `STALL_*`
    uint gaussians;             // Gaussians in use
    uint visible;               // Gaussians visible in this step
    uint intersections;         // tile intersections of this step
    uint visible_wanted;        // most visible Gaussians any step wanted
    uint intersections_wanted;  // most intersections any step wanted
    uint stall_iteration;       // iteration that stalled
    uint nonfinite;             // visible Gaussians with a non-finite 2D gradient, or non-finite sums of the loss
    uint nonfinite_index;       // lowest visible index among them
    uint skipped;               // Gaussians skipped by the update for a non-finite gradient, since start
    uint births;                // births of the last densification
    uint deaths;                // deaths of the last densification
    uint clones;                // clones among the births
    uint splits;                // splits among the births
    uint capped;                // births given up because the capacity was reached
    uint iteration;             // iteration this word belongs to
    float loss;                 // loss
    float l1;                   // mean absolute error
    float ssim;                 // mean SSIM
    uint culled;                // Gaussians that the last cull removed
    float normals;              // mean disagreement between blended planes or normals and the depth map's normals
    uint density_samples;       // samples of the density in this step
    float density;              // their mean distance from the density of a surface
    float density_normals;      // mean squared distance of normals from those around
};

// Reasons of a stall.
const uint STALL_VISIBLE = 1u;        // more visible Gaussians than records
const uint STALL_INTERSECTIONS = 2u;  // more tile intersections than slots
const uint STALL_NONFINITE = 3u;      // a non-finite loss or 2D gradient
const uint STALL_LOOPS = 4u;          // the driver cut a loop over the splats of a tile: image or gradients would miss some

// Slots of the indirect-dispatch table, three words each with a stride of four.
const uint ARGS_VISIBLE = 0u;          // 256 visible Gaussians a group
const uint ARGS_VISIBLE_SORT = 1u;     // a block of the depth sort a group
const uint ARGS_INTERSECTIONS = 2u;    // 256 intersections a group
const uint ARGS_INTERSECTION_SORT = 3u;  // a block of the tile sort a group
const uint ARGS_TILES = 4u;            // one tile a group
const uint ARGS_ONE = 5u;              // one group, none when stalled
const uint ARGS_GAUSSIANS = 6u;        // 256 Gaussians of all chunks a group; only inside a densification
const uint ARGS_MOVES = 7u;            // 256 births or moves a group; only inside a densification
const uint ARGS_EMISSION = 8u;         // 64 visible Gaussians a group, once their intersections are known to fit
const uint ARGS_HALVES = 9u;           // half a tile a group
const uint ARGS_LISTS = 10u;           // one tile with a list a group
const uint ARGS_CHUNKS = 11u;          // 256 Gaussians of chunk c a group: slot ARGS_CHUNKS + c
