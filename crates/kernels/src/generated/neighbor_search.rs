//! `shaders/neighbor_search.comp`: the K nearest centres of each, itself among them: by squared distance, equal ones by
//! id. Made by `cargo xtask shaders`.

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
    /// Binding 5, `uint[]`.
    pub places: Span,
    /// Binding 6, `uvec4[]`.
    pub boxes: Span,
    /// Binding 7, `uint[]`.
    pub neighbors: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("centers_x"),
        Binding::read("centers_y"),
        Binding::read("centers_z"),
        Binding::read("order"),
        Binding::read("places"),
        Binding::read("boxes"),
        Binding::write("neighbors"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.centers_x,
            self.centers_y,
            self.centers_z,
            self.order,
            self.places,
            self.boxes,
            self.neighbors,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; id of the first Gaussian of this part.
    pub first: u32,
    /// Word 1; Gaussians that the part has room for.
    pub count: u32,
    /// Word 2; first box of each level.
    pub level_0: u32,
    /// Word 3.
    pub level_1: u32,
    /// Word 4.
    pub level_2: u32,
    /// Word 5.
    pub level_3: u32,
    /// Word 6; at most 4.
    pub levels: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; neighbours of each.
    pub k: u32,
}

/// `neighbor_search.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "neighbor_search",
    include_bytes!("../../../../shaders/spv/neighbor_search.spv"),
);
