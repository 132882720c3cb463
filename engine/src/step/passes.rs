//! Order of a step: project, sort, rasterise, loss, backward, update.

use super::{StepTensors, density, losses, triangles};
use crate::gaussians::layout;
use crate::kernels::counters::{Args, Counters, WORD_INTERSECTIONS, WORD_VISIBLE};
use crate::kernels::project::DEPTH_KEY_BITS;
use crate::kernels::radix_sort::{self, SortBuffers, SortJob};
use crate::kernels::tile_intersect::{self, EmitIo};
use crate::kernels::views::{Chunk, Intersections, Pixels};
use crate::kernels::{
    self, bound, catch_up, cull, loss, pose, position_noise, prepare_args, project, rasterize, rasterize_backward,
    tile_ranges, update,
};
use crate::program::{Program, Span};

/// Copies the slot's uniforms to the device, and corrects the camera in them where they ask for it.
pub(super) fn upload_uniforms(program: &mut Program, t: &StepTensors) {
    let uniforms = match t.triangles {
        Some(_) => t.shared.rates,
        None => t.shared.uniforms,
    };
    let from = t.rings.uniforms.slice(0, uniforms.bytes);
    program.copy_from_ring(from, t.rings.uniforms_stride, uniforms);
    if let Some(poses) = &t.extra.poses {
        pose::record_apply(program, &t.shared, poses);
    }
}

/// Copies the slot's uniforms and image to the device.
pub(super) fn upload(program: &mut Program, t: &StepTensors) {
    upload_uniforms(program, t);
    let bytes = t.pixels.target.bytes;
    program.copy_from_ring(t.rings.images.slice(0, bytes), t.rings.images_stride, t.pixels.target);
}

/// Copies the counters to the slot's status word, and where steps compare their means behind it.
pub(super) fn status(program: &mut Program, t: &StepTensors) {
    let bytes = size_of::<Counters>() as u64;
    program.copy_to_ring(
        t.shared.counters.slice(0, bytes),
        t.rings.status.slice(0, bytes),
        t.rings.status_stride,
    );
    if let Some(pair) = t.pair() {
        program.copy_to_ring(pair.io.means, t.rings.means(0), t.rings.status_stride);
    }
}

/// Appends what makes the visible records and returns their order by depth.
pub(super) fn visible(program: &mut Program, t: &StepTensors) -> Span {
    if let Some(own) = &t.triangles {
        return triangles::visible(program, t, own);
    }
    prepare_args::record(program, &t.shared, &t.chunks);
    cull::record(
        program,
        &t.shared,
        &t.chunks,
        t.group_visible,
        t.capacities.v_cap,
        &t.variants,
    );
    records(program, t, &t.chunks, t.group_visible)
}

/// Appends what makes the records of the Gaussians in the masks of `chunks`, whose offsets are in `groups`, and returns
/// their order by depth.
pub(super) fn records(program: &mut Program, t: &StepTensors, chunks: &[Chunk], groups: Span) -> Span {
    let (s, v) = (&t.shared, &t.variants);
    project::record(program, s, chunks, groups, &t.splats);
    let job = SortJob {
        counter: WORD_VISIBLE,
        args: Args::VisibleSort,
        capacity: t.capacities.v_cap,
        key_bits: DEPTH_KEY_BITS,
        index_payload: true,
    };
    let sorted = radix_sort::record(program, s, &t.depth_sort, &job, v);
    t.depth_sort.values[sorted]
}

/// Appends what lists the splats of every tile in the band: at most `capacity` intersections, sorted in `buffers`.
pub(super) fn intersect(
    program: &mut Program,
    t: &StepTensors,
    depth_order: Span,
    buffers: &SortBuffers,
    capacity: u32,
) -> Intersections {
    let (s, v) = (&t.shared, &t.variants);
    let io = EmitIo {
        depth_order,
        group_tiles: t.group_tiles,
        // Free until the pairs are sorted, and never shorter than the records are many.
        tiles_before: buffers.keys[1],
        tile_keys: buffers.keys[0],
        payloads: buffers.values[0],
        owners: t.intersections.owners,
        intersection_cap: capacity,
    };
    match &t.triangles {
        Some(own) => triangles::emit(program, t, own, &io),
        None => tile_intersect::record(program, s, &t.splats, &io, v),
    }
    let job = SortJob {
        counter: WORD_INTERSECTIONS,
        args: Args::IntersectionSort,
        capacity,
        key_bits: t.capacities.tile_bits(),
        index_payload: false,
    };
    let sorted = radix_sort::record(program, s, buffers, &job, v);
    let intersections = Intersections {
        payloads: buffers.values[sorted],
        ..t.intersections
    };
    tile_ranges::record(program, s, buffers.keys[sorted], &intersections, v);
    intersections
}

/// SH coefficients that are stored.
pub(super) fn coefficients(t: &StepTensors) -> u32 {
    u32::try_from(layout::sh_coefficients(t.capacities.sh_degree)).unwrap_or(u32::MAX)
}

/// Appends what brings SH out of view to the step that the uniforms are of; nothing where it takes part in every step.
pub(super) fn catch_up(program: &mut Program, t: &StepTensors) {
    if t.capacities.deferred_steps > 0 {
        prepare_args::record(program, &t.shared, &t.chunks);
        catch_up::record(program, &t.shared, &t.chunks, coefficients(t));
    }
}

/// The program that brings SH out of view up to date, for whoever reads the model between steps. It reads
/// [`StepUniforms::sh_steps`](crate::kernels::uniforms::StepUniforms::sh_steps). None where SH takes part in every step.
#[must_use]
pub fn catch_up_program(t: &StepTensors) -> Option<Program> {
    (t.capacities.deferred_steps > 0).then(|| {
        let mut program = Program::new("catch_up");
        catch_up(&mut program, t);
        program
    })
}

/// Appends the picture of the band that `lists` are of.
pub(super) fn draw(program: &mut Program, t: &StepTensors, lists: &Intersections) {
    match &t.triangles {
        Some(own) => triangles::draw(program, t, own, lists),
        None => rasterize::record(program, &t.shared, &t.splats, lists, &t.pixels, &t.variants),
    }
}

/// Appends the clear of the records' gradients.
pub(super) fn clear_gradients(program: &mut Program, t: &StepTensors) {
    match &t.triangles {
        Some(own) => kernels::triangles::record_clear(program, &own.records),
        None => rasterize_backward::record_clear(program, &t.shared, &t.splats),
    }
}

/// Appends what ends the records' gradients and stalls the step where one is not finite.
pub(super) fn check_gradients(program: &mut Program, t: &StepTensors) {
    match &t.triangles {
        Some(own) => kernels::triangles::record_check(program, &t.shared, &own.screen, &own.records),
        None => rasterize_backward::record_check(program, &t.shared, &t.splats),
    }
}

/// Appends the update of the model, and of what losses learn beside it.
pub(super) fn update(program: &mut Program, t: &StepTensors) {
    match &t.triangles {
        Some(own) => triangles::update(program, t, own),
        None => {
            losses::pose_gradient(program, t, &t.chunks, t.group_visible, &t.splats);
            update::record(
                program,
                &t.shared,
                &t.chunks,
                t.group_visible,
                &t.splats,
                coefficients(t),
                term_gradients(t),
            );
        }
    }
    losses::update(program, t);
    after_update(program, t);
}

/// Where the gradients of the density's terms are, by chunk.
pub(super) fn term_gradients(t: &StepTensors) -> impl Fn(&Chunk) -> Option<Span> {
    move |chunk| t.density.as_ref()?.gradient(chunk)
}

/// Appends what follows the update of all Gaussians where there is such a thing: noise on the centres, or the step of the mesh that
/// they are bound to.
pub(super) fn after_update(program: &mut Program, t: &StepTensors) {
    if t.position_noise {
        position_noise::record(program, &t.shared, &t.chunks);
    }
    if let Some(mesh) = &t.bound {
        bound::record(program, &t.shared, &t.chunks, mesh);
    }
}

/// Appends everything up to the rendered image and returns the tensors the backward pass needs.
pub fn forward(program: &mut Program, t: &StepTensors) -> Intersections {
    let depth_order = visible(program, t);
    let intersections = intersect(program, t, depth_order, &t.tile_sort, t.capacities.i_cap);
    draw(program, t, &intersections);
    intersections
}

/// One training step that brings its image along.
#[must_use]
pub fn train_step(t: &StepTensors) -> Program {
    let mut program = Program::new(t.named("step"));
    upload(&mut program, t);
    rest_of_step(&mut program, t, &t.pixels);
    program
}

/// One training step for each of the [`targets`].
#[must_use]
pub fn train_steps(t: &StepTensors) -> Vec<Program> {
    let step = |pixels: Pixels| {
        if pixels.target == t.pixels.target {
            return train_step(t);
        }
        let mut program = Program::new(t.named("step"));
        upload_uniforms(&mut program, t);
        rest_of_step(&mut program, t, &pixels);
        program
    };
    targets(t).into_iter().map(step).collect()
}

/// The step's pixels with what may be its ground truth: each page of resident images, and what it brings along where no images
/// are resident, or cameras are corrected: those of test views are by photos that are not.
pub(super) fn targets(t: &StepTensors) -> Vec<Pixels> {
    let pages = t.resident.pages.iter();
    let mut targets: Vec<_> = pages.map(|&target| Pixels { target, ..t.pixels }).collect();
    if targets.is_empty() || t.extra.poses.is_some() {
        targets.push(t.pixels);
    }
    targets
}

/// Appends everything after the upload.
fn rest_of_step(program: &mut Program, t: &StepTensors, pixels: &Pixels) {
    let intersections = forward(program, t);
    losses::record(program, t, pixels);
    clear_gradients(program, t);
    losses::gradients(program, t, &intersections, pixels);
    density::record(program, t);
    check_gradients(program, t);
    update(program, t);
    status(program, t);
}

/// Renders one view and makes the gradients of its splats for a given gradient of the image, without a loss or an update.
/// `keep` receives copies of tensors that the host reads afterwards.
#[must_use]
pub fn gradients_of_view(t: &StepTensors, image_gradient: Span, keep: &[(Span, Span)]) -> Program {
    let mut program = Program::new("gradients_of_view");
    upload_uniforms(&mut program, t);
    let intersections = forward(&mut program, t);
    program.copy(image_gradient, t.pixels.gradient.slice(0, image_gradient.bytes));
    let (splats, pixels) = (&t.splats, &t.pixels);
    rasterize_backward::record(
        &mut program,
        &t.shared,
        splats,
        &intersections,
        pixels,
        &t.partials,
        &t.variants,
    );
    for (from, to) in keep {
        program.copy(*from, *to);
    }
    status(&mut program, t);
    program
}

/// Renders one view and sums its metrics per tile. `keep` receives copies of tensors that the host reads afterwards.
#[must_use]
pub fn evaluate_view(t: &StepTensors, keep: &[(Span, Span)]) -> Program {
    let mut program = Program::new("evaluate");
    upload(&mut program, t);
    forward(&mut program, t);
    loss::record_metrics(&mut program, &t.shared, &t.pixels, t.metric_sums);
    for (from, to) in keep {
        program.copy(*from, *to);
    }
    status(&mut program, t);
    program
}
