//! `shaders/triangle_cull.comp`: plain variant: which triangles a view draws, one bit each, and the number of set bits
//! of every group of 256; also how large they are on the image, at most so far. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub corner_0: Span,
    /// Binding 3, `uint[]`.
    pub corner_1: Span,
    /// Binding 4, `uint[]`.
    pub corner_2: Span,
    /// Binding 5, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 6, `uint[]`.
    pub visible_mask: Span,
    /// Binding 7, `uint[]`.
    pub group_visible: Span,
    /// Binding 8, `uint[]`; bits.
    pub size: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("corner_0"),
        Binding::read("corner_1"),
        Binding::read("corner_2"),
        Binding::read("vertex_screen"),
        Binding::write("visible_mask"),
        Binding::write("group_visible"),
        Binding::read_write("size"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.corner_0,
            self.corner_1,
            self.corner_2,
            self.vertex_screen,
            self.visible_mask,
            self.group_visible,
            self.size,
        ]
    }
}

/// What [`RECORDS`] binds.
#[derive(Clone, Copy, Debug)]
pub struct RecordsBind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub corner_0: Span,
    /// Binding 3, `uint[]`.
    pub corner_1: Span,
    /// Binding 4, `uint[]`.
    pub corner_2: Span,
    /// Binding 5, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 6, `uint[]`.
    pub visible_mask: Span,
    /// Binding 7, `uint[]`.
    pub group_visible: Span,
    /// Binding 8, `uvec4[]`; triangle and faintest corner; box.
    pub record: Span,
    /// Binding 9, `uvec4[]`; vertices; opacity.
    pub record_corners: Span,
    /// Binding 10, `uint[]`.
    pub depth_keys: Span,
    /// Binding 11, `uint[]`.
    pub tile_counts: Span,
}

impl Bindings for RecordsBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("corner_0"),
        Binding::read("corner_1"),
        Binding::read("corner_2"),
        Binding::read("vertex_screen"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("record"),
        Binding::write("record_corners"),
        Binding::write("depth_keys"),
        Binding::write("tile_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.corner_0,
            self.corner_1,
            self.corner_2,
            self.vertex_screen,
            self.visible_mask,
            self.group_visible,
            self.record,
            self.record_corners,
            self.depth_keys,
            self.tile_counts,
        ]
    }
}

/// `triangle_cull.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_cull",
    include_bytes!("../../../../shaders/spv/triangle_cull.spv"),
);

/// `triangle_cull.records.spv`, made with `RECORDS=1`.
pub static RECORDS: Kernel<RecordsBind> = Kernel::new(
    "triangle_cull.records",
    include_bytes!("../../../../shaders/spv/triangle_cull.records.spv"),
);
