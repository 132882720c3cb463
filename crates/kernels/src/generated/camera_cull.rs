//! `shaders/camera_cull.comp`: keeps or removes Gaussians by all training cameras: key 1, or 0 for those at the place
//! of a camera, those that too few cameras see, and the faint. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `FilterCamera[]`.
    pub cameras: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub filter_3d: Span,
    /// Binding 4, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("cameras"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::write("keys"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.cameras, self.geometry, self.filter_3d, self.keys]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
    /// Word 2.
    pub camera_count: u32,
    /// Word 3; world units, 0 when unlimited.
    pub clearance_min: f32,
    /// Word 4; 0 when unlimited.
    pub witnesses_min: u32,
    /// Word 5.
    pub opacity_min: f32,
    /// Word 6; what the screen-space filter adds to a radius, at most.
    pub rim_px: f32,
}

/// `camera_cull.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("camera_cull", include_bytes!("../../../../shaders/spv/camera_cull.spv"));
