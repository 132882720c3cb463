//! `shaders/triangle_finish.comp`: gives what a triangle's incircle and normal owe to its corners; only where gradients
//! are exact. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec4[]`.
    pub record_corners: Span,
    /// Binding 3, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 4, `vec4[]`.
    pub gradient_e: Span,
    /// Binding 5, `vec4[]`.
    pub gradient_f: Span,
    /// Binding 6, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 7, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 8, `vec4[]`.
    pub gradient_c: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("record_corners"),
        Binding::read("vertex_screen"),
        Binding::read("gradient_e"),
        Binding::read("gradient_f"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.record_corners,
            self.vertex_screen,
            self.gradient_e,
            self.gradient_f,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
        ]
    }
}

/// `triangle_finish.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_finish",
    include_bytes!("../../../../shaders/spv/triangle_finish.spv"),
);
