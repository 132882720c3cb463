//! `shaders/common`: structures in memory and constants of many kernels. Made by `cargo xtask shaders`.

use std::mem::offset_of;

/// Counts of an event, and what its passes hand on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct DensifyControl {
    /// Gaussians before the births; 0 when stalled, which turns every pass into a no-op.
    pub count: u32,
    /// Gaussians after the births.
    pub grown: u32,
    /// Gaussians after the deaths.
    pub live: u32,
    /// Entries of the list of copies: births, then moves.
    pub entries: u32,
    /// Gaussians that reach the gradient threshold.
    pub above: u32,
    /// Gaussians selected.
    pub selected: u32,
    /// Splits among the births.
    pub splits: u32,
    /// Keys above it give birth.
    pub threshold: u32,
    /// Keys equal to it that give birth too, lowest ids first.
    pub ties: u32,
    /// Digits found so far of the two keys that are looked for.
    pub prefix: [u32; 2],
    /// Their ranks among the keys with these digits.
    pub rank: [u32; 2],
    /// Most births.
    pub free: u32,
    /// Gaussians whose slots are reused.
    pub dead: u32,
    /// Sum of the weights that copies are drawn by.
    pub weight: u32,
    /// Copies a unit of weight, in 2^-32.
    pub rate: u32,
    /// Where the first copy lies, in 2^-32 of a copy.
    pub offset: u32,
    /// A histogram of the next digit for each.
    pub bins: [u32; 512],
}

const _: () = {
    assert!(offset_of!(DensifyControl, count) == 0);
    assert!(offset_of!(DensifyControl, grown) == 4);
    assert!(offset_of!(DensifyControl, live) == 8);
    assert!(offset_of!(DensifyControl, entries) == 12);
    assert!(offset_of!(DensifyControl, above) == 16);
    assert!(offset_of!(DensifyControl, selected) == 20);
    assert!(offset_of!(DensifyControl, splits) == 24);
    assert!(offset_of!(DensifyControl, threshold) == 28);
    assert!(offset_of!(DensifyControl, ties) == 32);
    assert!(offset_of!(DensifyControl, prefix) == 36);
    assert!(offset_of!(DensifyControl, rank) == 44);
    assert!(offset_of!(DensifyControl, free) == 52);
    assert!(offset_of!(DensifyControl, dead) == 56);
    assert!(offset_of!(DensifyControl, weight) == 60);
    assert!(offset_of!(DensifyControl, rate) == 64);
    assert!(offset_of!(DensifyControl, offset) == 68);
    assert!(offset_of!(DensifyControl, bins) == 72);
    assert!(size_of::<DensifyControl>() == 2120);
};

/// .
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct FilterCamera {
    /// First row of the world-to-camera rotation, and translation.
    pub row0: [f32; 4],
    /// Second row.
    pub row1: [f32; 4],
    /// Third row.
    pub row2: [f32; 4],
    /// Fx, fy, cx, cy, px; pixel centres on integers.
    pub intrinsics: [f32; 4],
    /// Width and height, px; near plane, world units; largest stretch.
    pub size: [f32; 4],
    /// Of a fisheye, see `lens.glsl`.
    pub lens_radial: [f32; 4],
    /// Likewise.
    pub lens_sideways: [f32; 4],
    /// Likewise; 0 for a pinhole.
    pub lens_range: [f32; 4],
}

const _: () = {
    assert!(offset_of!(FilterCamera, row0) == 0);
    assert!(offset_of!(FilterCamera, row1) == 16);
    assert!(offset_of!(FilterCamera, row2) == 32);
    assert!(offset_of!(FilterCamera, intrinsics) == 48);
    assert!(offset_of!(FilterCamera, size) == 64);
    assert!(offset_of!(FilterCamera, lens_radial) == 80);
    assert!(offset_of!(FilterCamera, lens_sideways) == 96);
    assert!(offset_of!(FilterCamera, lens_range) == 112);
    assert!(size_of::<FilterCamera>() == 128);
};

/// A view, and the rows of it that are drawn at a time; written by the host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct MeshView {
    /// First row of the world-to-camera rotation, and translation.
    pub row0: [f32; 4],
    /// Second row.
    pub row1: [f32; 4],
    /// Third row.
    pub row2: [f32; 4],
    /// Step of a ray's slope from sample to sample along x and y, slopes at the picture's upper left corner.
    pub rays: [f32; 4],
    /// Rgb where there is no surface; share of its size by which depth may be off.
    pub background: [f32; 4],
    /// Picture width, px.
    pub width: u32,
    /// Picture height, px.
    pub height: u32,
    /// Samples along each side of a pixel.
    pub samples: u32,
    /// First row of pixels that is drawn.
    pub first_row: u32,
    /// Rows of pixels that are drawn.
    pub rows: u32,
    /// Side of the texture, texels.
    pub texture_side: u32,
    /// 1: the photo carries a mask.
    pub masked: u32,
    /// Fills the block up to whole vectors.
    pub reserved: u32,
}

const _: () = {
    assert!(offset_of!(MeshView, row0) == 0);
    assert!(offset_of!(MeshView, row1) == 16);
    assert!(offset_of!(MeshView, row2) == 32);
    assert!(offset_of!(MeshView, rays) == 48);
    assert!(offset_of!(MeshView, background) == 64);
    assert!(offset_of!(MeshView, width) == 80);
    assert!(offset_of!(MeshView, height) == 84);
    assert!(offset_of!(MeshView, samples) == 88);
    assert!(offset_of!(MeshView, first_row) == 92);
    assert!(offset_of!(MeshView, rows) == 96);
    assert!(offset_of!(MeshView, texture_side) == 100);
    assert!(offset_of!(MeshView, masked) == 104);
    assert!(offset_of!(MeshView, reserved) == 108);
    assert!(size_of::<MeshView>() == 112);
};

/// Everything that changes from step to step; written by the host into a slot of a ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct StepUniforms {
    /// First row of the world-to-camera rotation, and translation.
    pub view_row0: [f32; 4],
    /// Second row.
    pub view_row1: [f32; 4],
    /// Third row.
    pub view_row2: [f32; 4],
    /// Camera centre, world space; learning rate of exposures.
    pub camera_position: [f32; 4],
    /// Fx, fy, cx, cy, px; pixel centres on integers.
    pub intrinsics: [f32; 4],
    /// Limits of x/z (min, max) and y/z (min, max) for the Jacobian.
    pub slope_limits: [f32; 4],
    /// Background rgb; variance of the 2D filter, px^2.
    pub background: [f32; 4],
    /// Weights of L1 and D-SSIM, `1 / (3 * pixels)`, weight of the coverage.
    pub weights: [f32; 4],
    /// Image width, px.
    pub width: u32,
    /// Image height, px.
    pub height: u32,
    /// Tiles along x.
    pub tiles_x: u32,
    /// Tiles along y.
    pub tiles_y: u32,
    /// Training iteration, from 1.
    pub iteration: u32,
    /// Seed of the run's counter generators.
    pub seed: u32,
    /// Bits `FLAG_*`.
    pub flags: u32,
    /// Bits of the parameter groups that the optimiser leaves alone in this step.
    pub adam_skip_mask: u32,
    /// Active SH degree.
    pub sh_degree: u32,
    /// First word of the ground truth in its tensor.
    pub image_offset: u32,
    /// First tile with a list to rasterise, such tiles counted row by row.
    pub band_begin: u32,
    /// One past the last tile to rasterise.
    pub band_end: u32,
    /// Learning rate over `1 - beta1^n`, per parameter group.
    pub adam_rate: [f32; 8],
    /// `1 / sqrt(1 - beta2^n)`, per parameter group.
    pub adam_scale: [f32; 8],
    /// First-moment decay.
    pub beta1: f32,
    /// Second-moment decay.
    pub beta2: f32,
    /// Adam's epsilon.
    pub epsilon: f32,
    /// Training view, by its place among them.
    pub view: u32,
    /// Weight of the mean opacity in the loss.
    pub opacity_weight: f32,
    /// Weight of the mean standard deviation in the loss, per world unit.
    pub scale_weight: f32,
    /// Noise on centres after the update, times covariance, per world unit.
    pub noise: f32,
    /// With `FLAG_NEAR`: the depth below which Gaussians are near, world units.
    pub near_limit: f32,
    /// Optimiser steps of SH before this one.
    pub sh_steps: u32,
    /// Centres must lie beyond this depth to be drawn, world units.
    pub near_z: f32,
    /// Share of the Gaussians that this step leaves out, below 1; 0 = none.
    pub dropout: f32,
    /// Weight in the loss of half an exposure's squared distance from the identity.
    pub exposure_hold: f32,
    /// Weight of the disagreement between blended planes or normals and the depth map's normals.
    pub normals_weight: f32,
    /// Weight of the mean over visible Gaussians of the least standard deviation, per world unit.
    pub flat_weight: f32,
    /// Learning rate of the camera's correction, radians and extents; 0 = it stays.
    pub pose_rate: f32,
    /// Unit of that correction's shifts, world units.
    pub pose_extent: f32,
    /// Weight of the mean entropy of visible Gaussians' opacities.
    pub entropy_weight: f32,
    /// Tiles with lists along x: those of the image, or smaller ones where a pixel has several samples.
    pub lists_x: u32,
    /// Tiles with lists along y.
    pub lists_y: u32,
    /// Pixels along the side of such a tile.
    pub list_px: u32,
    /// Of a fisheye, see `lens.glsl`: coefficients of even powers of the angle.
    pub lens_radial: [f32; 4],
    /// Its tangential and prism terms.
    pub lens_sideways: [f32; 4],
    /// Its largest angle, radius and slope there, angle beyond which nothing is drawn; 0 for a pinhole.
    pub lens_range: [f32; 4],
}

const _: () = {
    assert!(offset_of!(StepUniforms, view_row0) == 0);
    assert!(offset_of!(StepUniforms, view_row1) == 16);
    assert!(offset_of!(StepUniforms, view_row2) == 32);
    assert!(offset_of!(StepUniforms, camera_position) == 48);
    assert!(offset_of!(StepUniforms, intrinsics) == 64);
    assert!(offset_of!(StepUniforms, slope_limits) == 80);
    assert!(offset_of!(StepUniforms, background) == 96);
    assert!(offset_of!(StepUniforms, weights) == 112);
    assert!(offset_of!(StepUniforms, width) == 128);
    assert!(offset_of!(StepUniforms, height) == 132);
    assert!(offset_of!(StepUniforms, tiles_x) == 136);
    assert!(offset_of!(StepUniforms, tiles_y) == 140);
    assert!(offset_of!(StepUniforms, iteration) == 144);
    assert!(offset_of!(StepUniforms, seed) == 148);
    assert!(offset_of!(StepUniforms, flags) == 152);
    assert!(offset_of!(StepUniforms, adam_skip_mask) == 156);
    assert!(offset_of!(StepUniforms, sh_degree) == 160);
    assert!(offset_of!(StepUniforms, image_offset) == 164);
    assert!(offset_of!(StepUniforms, band_begin) == 168);
    assert!(offset_of!(StepUniforms, band_end) == 172);
    assert!(offset_of!(StepUniforms, adam_rate) == 176);
    assert!(offset_of!(StepUniforms, adam_scale) == 208);
    assert!(offset_of!(StepUniforms, beta1) == 240);
    assert!(offset_of!(StepUniforms, beta2) == 244);
    assert!(offset_of!(StepUniforms, epsilon) == 248);
    assert!(offset_of!(StepUniforms, view) == 252);
    assert!(offset_of!(StepUniforms, opacity_weight) == 256);
    assert!(offset_of!(StepUniforms, scale_weight) == 260);
    assert!(offset_of!(StepUniforms, noise) == 264);
    assert!(offset_of!(StepUniforms, near_limit) == 268);
    assert!(offset_of!(StepUniforms, sh_steps) == 272);
    assert!(offset_of!(StepUniforms, near_z) == 276);
    assert!(offset_of!(StepUniforms, dropout) == 280);
    assert!(offset_of!(StepUniforms, exposure_hold) == 284);
    assert!(offset_of!(StepUniforms, normals_weight) == 288);
    assert!(offset_of!(StepUniforms, flat_weight) == 292);
    assert!(offset_of!(StepUniforms, pose_rate) == 296);
    assert!(offset_of!(StepUniforms, pose_extent) == 300);
    assert!(offset_of!(StepUniforms, entropy_weight) == 304);
    assert!(offset_of!(StepUniforms, lists_x) == 308);
    assert!(offset_of!(StepUniforms, lists_y) == 312);
    assert!(offset_of!(StepUniforms, list_px) == 316);
    assert!(offset_of!(StepUniforms, lens_radial) == 320);
    assert!(offset_of!(StepUniforms, lens_sideways) == 336);
    assert!(offset_of!(StepUniforms, lens_range) == 352);
    assert!(size_of::<StepUniforms>() == 368);
};

/// Counts that stay on the device; also the status word that the host reads some steps late.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Counters {
    /// Sticky: 0, or why every later step is a no-op, one of `STALL_*`.
    pub stalled: u32,
    /// Gaussians in use.
    pub gaussians: u32,
    /// Gaussians visible in this step.
    pub visible: u32,
    /// Tile intersections of this step.
    pub intersections: u32,
    /// Most visible Gaussians any step wanted.
    pub visible_wanted: u32,
    /// Most intersections any step wanted.
    pub intersections_wanted: u32,
    /// Iteration that stalled.
    pub stall_iteration: u32,
    /// Visible Gaussians with a non-finite 2D gradient, or non-finite sums of the loss.
    pub nonfinite: u32,
    /// Lowest visible index among them.
    pub nonfinite_index: u32,
    /// Gaussians skipped by the update for a non-finite gradient, since start.
    pub skipped: u32,
    /// Births of the last densification.
    pub births: u32,
    /// Deaths of the last densification.
    pub deaths: u32,
    /// Clones among the births.
    pub clones: u32,
    /// Splits among the births.
    pub splits: u32,
    /// Births given up because the capacity was reached.
    pub capped: u32,
    /// Iteration this word belongs to.
    pub iteration: u32,
    /// Loss.
    pub loss: f32,
    /// Mean absolute error.
    pub l1: f32,
    /// Mean SSIM.
    pub ssim: f32,
    /// Gaussians that the last cull removed.
    pub culled: u32,
    /// Mean disagreement between blended planes or normals and the depth map's normals.
    pub normals: f32,
    /// Samples of the density in this step.
    pub density_samples: u32,
    /// Their mean distance from the density of a surface.
    pub density: f32,
    /// Mean squared distance of normals from those around.
    pub density_normals: f32,
}

const _: () = {
    assert!(offset_of!(Counters, stalled) == 0);
    assert!(offset_of!(Counters, gaussians) == 4);
    assert!(offset_of!(Counters, visible) == 8);
    assert!(offset_of!(Counters, intersections) == 12);
    assert!(offset_of!(Counters, visible_wanted) == 16);
    assert!(offset_of!(Counters, intersections_wanted) == 20);
    assert!(offset_of!(Counters, stall_iteration) == 24);
    assert!(offset_of!(Counters, nonfinite) == 28);
    assert!(offset_of!(Counters, nonfinite_index) == 32);
    assert!(offset_of!(Counters, skipped) == 36);
    assert!(offset_of!(Counters, births) == 40);
    assert!(offset_of!(Counters, deaths) == 44);
    assert!(offset_of!(Counters, clones) == 48);
    assert!(offset_of!(Counters, splits) == 52);
    assert!(offset_of!(Counters, capped) == 56);
    assert!(offset_of!(Counters, iteration) == 60);
    assert!(offset_of!(Counters, loss) == 64);
    assert!(offset_of!(Counters, l1) == 68);
    assert!(offset_of!(Counters, ssim) == 72);
    assert!(offset_of!(Counters, culled) == 76);
    assert!(offset_of!(Counters, normals) == 80);
    assert!(offset_of!(Counters, density_samples) == 84);
    assert!(offset_of!(Counters, density) == 88);
    assert!(offset_of!(Counters, density_normals) == 92);
    assert!(size_of::<Counters>() == 96);
};

/// Stands behind `StepUniforms` in the same tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct TriangleUniforms {
    /// Exponent of the window, above 0.
    pub sigma: f32,
    /// Least opacity of a vertex, below 1.
    pub opacity_floor: f32,
    /// Samples of a pixel along one axis.
    pub samples: u32,
    /// Bits `TRIANGLES_*`.
    pub flags: u32,
    /// Vertices in use.
    pub vertices: u32,
    /// Weight of the mean opacity of all triangles' corners in the loss.
    pub opacity_weight: f32,
    /// Weight of the mean distance of vertices in view from the median depth.
    pub depth_weight: f32,
    /// Vertices that far from the median depth or farther do not count in it, world units.
    pub depth_most: f32,
    /// Weight of the disagreement between blended normals and those of the median depth.
    pub normals_weight: f32,
    /// Fills the block up to whole vectors.
    pub reserved: [u32; 3],
}

const _: () = {
    assert!(offset_of!(TriangleUniforms, sigma) == 0);
    assert!(offset_of!(TriangleUniforms, opacity_floor) == 4);
    assert!(offset_of!(TriangleUniforms, samples) == 8);
    assert!(offset_of!(TriangleUniforms, flags) == 12);
    assert!(offset_of!(TriangleUniforms, vertices) == 16);
    assert!(offset_of!(TriangleUniforms, opacity_weight) == 20);
    assert!(offset_of!(TriangleUniforms, depth_weight) == 24);
    assert!(offset_of!(TriangleUniforms, depth_most) == 28);
    assert!(offset_of!(TriangleUniforms, normals_weight) == 32);
    assert!(offset_of!(TriangleUniforms, reserved) == 36);
    assert!(size_of::<TriangleUniforms>() == 48);
};

// shaders/common/box_tree.glsl

/// Centres or boxes in a box.
pub const BOX_WIDTH: u32 = 32;

// shaders/common/clear_state.glsl

/// Planes of the statistics.
pub const STATISTICS_PLANES: u32 = 3;

// shaders/common/codes.glsl

/// Channel of colours, plus the word.
pub const CHANNEL_SH: u32 = 256;
/// Channel of the moments of colours, plus the value.
pub const CHANNEL_SH_MOMENTS: u32 = 320;
/// Channel of the moments of the geometry, plus the value.
pub const CHANNEL_GEOMETRY: u32 = 384;

// shaders/common/densify.glsl

/// Parents.
pub const STAGE_BIRTHS: u32 = 0;
/// The living.
pub const STAGE_DEATHS: u32 = 1;
/// Deaths without births, reported apart.
pub const STAGE_CULL: u32 = 2;
/// The two values around the quantile of the abs statistic.
pub const SELECT_QUANTILE: u32 = 0;
/// The lowest key that still gives birth.
pub const SELECT_RATION: u32 = 1;
/// Top bit of a gradient word: too large to be cloned; of a list entry: the parent is split.
pub const MARK: u32 = 0x80000000;

// shaders/common/dropout.glsl

/// Apart from the channels of everything else that Gaussians draw.
pub const CHANNEL_DROPOUT: u32 = 0x44524f50;

// shaders/common/missed.glsl

/// Vectors of a row.
pub const ROW: u32 = 3;
/// Of so few steps the sum is taken as such: the difference of two B would lose a digit.
pub const FEW_STEPS: u32 = 8;

// shaders/common/patches.glsl

/// Patches that are compared in a step.
pub const MOST_PATCHES: u32 = 102400;

// shaders/common/pick.glsl

/// Of the draw of a patch's pixel.
pub const CHANNEL_PATCH: u32 = 14;

// shaders/common/planes.glsl

/// First plane of the centre (x, y, z).
pub const PLANE_MEANS: u32 = 0;
/// First plane of the rotation (w, x, y, z).
pub const PLANE_QUATS: u32 = 3;
/// First plane of the log scales.
pub const PLANE_SCALES: u32 = 7;
/// Plane of the opacity logit.
pub const PLANE_OPACITY: u32 = 10;
/// Planes of the geometry.
pub const GEOMETRY_PLANES: u32 = 11;
/// First plane of the turn in the triangle's plane, a complex number; bound Gaussians alone have it.
pub const PLANE_TURN: u32 = 11;
/// Planes of moments of a bound Gaussian's geometry: two scales, turn, opacity.
pub const BOUND_LEARNED_PLANES: u32 = 5;
/// Planes of what pulls at a bound Gaussian, in the place of its statistics: force, torque.
pub const BOUND_PULL_PLANES: u32 = 6;
/// Plane of the statistics that counts steps.
pub const PLANE_COUNT: u32 = 2;

// shaders/common/space.glsl

/// Voxels along a brick's side.
pub const BRICK_SIDE: u32 = 8;

// shaders/common/step.glsl

/// Densification statistics are accumulated.
pub const FLAG_STATISTICS: u32 = 1;
/// Plain dilation without opacity compensation, instead of the Mip filter.
pub const FLAG_CLASSIC: u32 = 2;
/// The optimiser runs.
pub const FLAG_UPDATE: u32 = 8;
/// Steps count in which a Gaussian is on screen but too faint for any pixel.
pub const FLAG_COUNT_FAINT: u32 = 64;
/// Statistics are those of scores: errors and largest weights, see `adds_errors`.
pub const FLAG_SCORES: u32 = 256;
/// The camera is corrected by what was learnt for the view.
pub const FLAG_POSES: u32 = 1024;
/// Records of near Gaussians are white, all others black: the render is the weight of the near ones.
pub const FLAG_NEAR: u32 = 512;
/// The image gradient's fourth component is that of the final transmittance.
pub const FLAG_ALPHA_GRADIENT: u32 = 4096;
/// Terms of the density take part in this step.
pub const FLAG_DENSITY: u32 = 8192;
/// The fourth value of planes is the depth of their centre, not their distance from the camera.
pub const FLAG_PLANE_DEPTHS: u32 = 16384;
/// Significant bits of a depth key, see `project`.
pub const DEPTH_KEY_BITS: u32 = 24;
/// Centres.
pub const GROUP_MEANS: u32 = 0;
/// Rotations.
pub const GROUP_QUATS: u32 = 1;
/// Log scales.
pub const GROUP_SCALES: u32 = 2;
/// Opacity logits.
pub const GROUP_OPACITY: u32 = 3;
/// Degree-0 colour.
pub const GROUP_SH0: u32 = 4;
/// Higher-degree colour.
pub const GROUP_SH_REST: u32 = 5;
/// More visible Gaussians than records.
pub const STALL_VISIBLE: u32 = 1;
/// More tile intersections than slots.
pub const STALL_INTERSECTIONS: u32 = 2;
/// A non-finite loss or 2D gradient.
pub const STALL_NONFINITE: u32 = 3;
/// The driver cut a loop over the splats of a tile: image or gradients would miss some.
pub const STALL_LOOPS: u32 = 4;
/// 256 visible Gaussians a group.
pub const ARGS_VISIBLE: u32 = 0;
/// A block of the depth sort a group.
pub const ARGS_VISIBLE_SORT: u32 = 1;
/// 256 intersections a group.
pub const ARGS_INTERSECTIONS: u32 = 2;
/// A block of the tile sort a group.
pub const ARGS_INTERSECTION_SORT: u32 = 3;
/// One tile a group.
pub const ARGS_TILES: u32 = 4;
/// One group, none when stalled.
pub const ARGS_ONE: u32 = 5;
/// 256 Gaussians of all chunks a group; only inside a densification.
pub const ARGS_GAUSSIANS: u32 = 6;
/// 256 births or moves a group; only inside a densification.
pub const ARGS_MOVES: u32 = 7;
/// 64 visible Gaussians a group, once their intersections are known to fit.
pub const ARGS_EMISSION: u32 = 8;
/// Half a tile a group.
pub const ARGS_HALVES: u32 = 9;
/// One tile with a list a group.
pub const ARGS_LISTS: u32 = 10;
/// 256 Gaussians of chunk c a group: slot ARGS_CHUNKS + c.
pub const ARGS_CHUNKS: u32 = 11;

// shaders/common/surface.glsl

/// Where the ray meets the blended plane.
pub const DEPTH_PLANE: u32 = 0;
/// Where half the light is blocked.
pub const DEPTH_MEDIAN: u32 = 1;
/// Mean of the splats' depths by their blending weights.
pub const DEPTH_EXPECTED: u32 = 2;
/// Their sum, whatever the coverage; planes are with `FLAG_PLANE_DEPTHS`.
pub const DEPTH_BLENDED: u32 = 3;

// shaders/common/triangle_uniforms.glsl

/// Importance and size of triangles are kept.
pub const TRIANGLES_MAXIMA: u32 = 1;

// shaders/common/triangles.glsl

/// Bit of a record's first word from which on it names the faintest corner; below stands the triangle.
pub const FAINTEST_SHIFT: u32 = 30;
