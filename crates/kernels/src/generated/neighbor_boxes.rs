//! `shaders/neighbor_boxes.comp`: boxes of 32 consecutive centres in Morton order, or of 32 boxes of the level below,
//! with the lowest id in each. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub centers_x: Span,
    /// Binding 2, `float[]`.
    pub centers_y: Span,
    /// Binding 3, `float[]`.
    pub centers_z: Span,
    /// Binding 4, `uint[]`.
    pub order: Span,
    /// Binding 5, `uvec4[]`.
    pub boxes: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("centers_x"),
        Binding::read("centers_y"),
        Binding::read("centers_z"),
        Binding::read("order"),
        Binding::write("boxes"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.centers_x,
            self.centers_y,
            self.centers_z,
            self.order,
            self.boxes,
        ]
    }
}

/// What [`UPPER`] binds.
#[derive(Clone, Copy, Debug)]
pub struct UpperBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uvec4[]`.
    pub lower: Span,
    /// Binding 2, `uvec4[]`.
    pub boxes: Span,
}

impl Bindings for UpperBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("lower"),
        Binding::write("boxes"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.lower, self.boxes]
    }
}

/// Push constants of [`KERNEL`] and [`UPPER`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; of the boxes that are made, from 0.
    pub level: u32,
}

/// `neighbor_boxes.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "neighbor_boxes",
    include_bytes!("../../../../shaders/spv/neighbor_boxes.spv"),
);

/// `neighbor_boxes.upper.spv`, made with `UPPER=1`.
pub static UPPER: Kernel<UpperBind, Push> = Kernel::new(
    "neighbor_boxes.upper",
    include_bytes!("../../../../shaders/spv/neighbor_boxes.upper.spv"),
);
