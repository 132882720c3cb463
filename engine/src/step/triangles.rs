//! Models of triangles: their passes in the places of those of splats.
//!
//! A step, a banded step and an evaluation of triangles are the programs of splats with other passes between the same tensors:
//! lists, sorts, images, losses on images, rings and status words are shared. Wherever the passes differ,
//! [`StepTensors::triangles`](super::StepTensors::triangles) says so.

use super::{StepTensors, TriangleTensors};
use kiln_gaussians::layout;
use kiln_kernels::counters::{Args, WORD_VISIBLE};
use kiln_kernels::project::DEPTH_KEY_BITS;
use kiln_kernels::radix_sort::{self, SortJob};
use kiln_kernels::tile_intersect::EmitIo;
use kiln_kernels::triangles;
use kiln_kernels::views::{Intersections, Pixels, Surface};
use kiln_program::{Program, Span};

/// Pixels with what is blended beside colours, which triangles always have.
fn drawn(pixels: &Pixels) -> Option<(&Pixels, &Surface)> {
    Some((pixels, pixels.surface.as_ref()?))
}

/// Appends what makes the records of drawn triangles and returns their order by depth.
pub(super) fn visible(program: &mut Program, t: &StepTensors, own: &TriangleTensors) -> Span {
    let (s, v) = (&t.shared, &t.variants);
    triangles::record_prepare(program, s, &own.topology);
    triangles::record_project(program, s, &own.chunks, &own.screen);
    let cap = t.capacities.v_cap;
    triangles::record_cull(program, s, &own.topology, &own.screen, &own.records, cap, v);
    let job = SortJob {
        counter: WORD_VISIBLE,
        args: Args::VisibleSort,
        capacity: cap,
        key_bits: DEPTH_KEY_BITS,
        index_payload: true,
    };
    let sorted = radix_sort::record(program, s, &t.depth_sort, &job, v);
    t.depth_sort.values[sorted]
}

/// Appends the pairs of triangles and tiles in the band.
pub(super) fn emit(program: &mut Program, t: &StepTensors, own: &TriangleTensors, io: &EmitIo) {
    triangles::record_emit(program, &t.shared, &own.screen, &own.records, io, &t.variants);
}

/// Appends the picture of the band.
pub(super) fn draw(program: &mut Program, t: &StepTensors, own: &TriangleTensors, lists: &Intersections) {
    if let Some(pixels) = drawn(&t.pixels) {
        let (s, screen) = (&t.shared, &own.screen);
        triangles::record_rasterize(
            program,
            s,
            &own.topology,
            screen,
            &own.records,
            lists,
            pixels,
            &t.variants,
        );
    }
}

/// Appends losses over normals and vertices.
pub(super) fn losses(program: &mut Program, t: &StepTensors, own: &TriangleTensors, pixels: &Pixels) {
    let Some((pixels, surface)) = drawn(pixels) else { return };
    triangles::record_normals(program, &t.shared, (pixels, surface), own.terms.normal_sums);
    let vertices = (&own.topology, own.sizes.vertices);
    triangles::record_terms(program, &t.shared, vertices, &own.screen, surface, &own.terms);
}

/// Appends what adds the gradients of the tiles in the band to the records.
pub(super) fn gradients(
    program: &mut Program,
    t: &StepTensors,
    own: &TriangleTensors,
    lists: &Intersections,
    pixels: &Pixels,
) {
    if let Some(pixels) = drawn(pixels) {
        let (s, screen) = (&t.shared, &own.screen);
        triangles::record_sums(
            program,
            s,
            screen,
            &own.records,
            lists,
            pixels,
            &own.partials,
            &t.variants,
        );
    }
}

/// Appends the update of all vertices.
pub(super) fn update(program: &mut Program, t: &StepTensors, own: &TriangleTensors) {
    let Some((_, surface)) = drawn(&t.pixels) else { return };
    let coefficients = layout::sh_planes(t.capacities.sh_degree) / 3;
    triangles::record_update(
        program,
        &t.shared,
        &own.chunks,
        &own.topology,
        &own.screen,
        &own.records,
        (surface, &own.terms),
        coefficients,
        own.sizes.exact,
    );
}

/// What later parts of a banded step read of the records.
pub(super) fn held(own: &TriangleTensors) -> [Span; 4] {
    [
        own.records.record,
        own.records.corners,
        own.screen.screen,
        own.screen.color,
    ]
}

/// Gradients of the records.
pub(super) fn sums(own: &TriangleTensors) -> Vec<Span> {
    let sums = own.records.gradients.into_iter();
    sums.chain(own.records.gradient_normal).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::step::{BandTensors, Capacities, ResidentImages, TriangleSizes, banded, evaluate_view, train_step};
    use kiln_gpu::memory::{BlockRounding, MIB, Plan, PlanLimits};
    use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
    use kiln_program::{Class, TensorTable};

    /// Four million vertices with room for three times as many triangles, two million of them in view in six million pairs with
    /// tiles: what the design promises 4 GB for, on a device that binds 128 MiB at most. How many samples a pixel has is nowhere in it.
    #[test]
    fn four_million_vertices_train_in_four_gigabytes() {
        let variants = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 32,
            threads: Threads::Pixels,
            loops: Loops::Long,
        };
        let limits = PlanLimits {
            block_bytes: 1024 * MIB,
            binding_bytes: 128 * MIB,
            rounding: BlockRounding::NONE,
        };
        let mut capacities = Capacities::new(12_000_000, 2_000_000, 6_000_000, 3, [(1600, 1063)]);
        capacities.binding_bytes = limits.binding_bytes;
        let sizes = TriangleSizes {
            vertices: 4_000_000,
            exact: false,
        };
        let mut table = TensorTable::default();
        let resident = ResidentImages::default();
        let t = StepTensors::for_triangles(&mut table, &capacities, sizes, &variants, resident);
        let bands = BandTensors::new(&mut table, &capacities, &variants);
        let parts = banded(&t, &bands, &[]);
        let (step, drawn) = (train_step(&t), evaluate_view(&t, &[]));
        let programs: Vec<&Program> = parts.values().chain([&step, &drawn]).collect();
        let plan = Plan::new(&table, &programs, limits).unwrap();
        let of = |class| plan.class_bytes(class);
        let model = of(Class::Persistent);
        assert!(
            (2_800_000_000..3_000_000_000).contains(&model),
            "{model} bytes of model"
        );
        let all = plan.device_bytes();
        assert!(all <= 4_000_000_000, "{all} bytes, of which {} pass", of(Class::Arena));
    }
}
