//! `shaders/exposure.comp`: colours of the step's photo as its camera takes them. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub exposures: Span,
    /// Binding 3, `vec4[]`.
    pub image: Span,
    /// Binding 4, `vec4[]`.
    pub exposed_image: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("exposures"),
        Binding::read("image"),
        Binding::write("exposed_image"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.exposures,
            self.image,
            self.exposed_image,
        ]
    }
}

/// What [`UPDATE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct UpdateBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub exposures: Span,
    /// Binding 3, `float[]`.
    pub exposure_sums: Span,
}

impl Bindings for UpdateBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read_write("exposures"),
        Binding::read("exposure_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.exposures, self.exposure_sums]
    }
}

/// What [`GRADIENT`] binds.
#[derive(Clone, Copy, Debug)]
pub struct GradientBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub exposures: Span,
    /// Binding 3, `vec4[]`.
    pub image: Span,
    /// Binding 4, `vec4[]`.
    pub image_gradient: Span,
    /// Binding 5, `float[]`.
    pub exposure_sums: Span,
}

impl Bindings for GradientBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("exposures"),
        Binding::read("image"),
        Binding::read_write("image_gradient"),
        Binding::write("exposure_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.exposures,
            self.image,
            self.image_gradient,
            self.exposure_sums,
        ]
    }
}

/// Push constants of [`KERNEL`] and [`GRADIENT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; pixels that rows of this swath begin at.
    pub swath_begin: u32,
    /// Word 1; one past the last.
    pub swath_end: u32,
    /// Word 2; pixel that bound tensors begin with.
    pub swath_base: u32,
}

/// Push constants of [`UPDATE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct UpdatePush {
    /// Word 0.
    pub views: u32,
    /// Word 1; cameras that took them; one alone has no response of its own: colours of the model take it up.
    pub cameras: u32,
    /// Word 2; word that theirs begin at.
    pub cameras_at: u32,
    /// Word 3; learning rate of a camera's numbers, in units of the maps'.
    pub camera_rate: f32,
    /// Word 4; weight in the loss of half the squared distance of a camera's numbers from doing nothing.
    pub camera_hold: f32,
    /// Word 5; largest size of a number of vignetting.
    pub most_vignetting: f32,
    /// Word 6; largest size of a number of a response.
    pub most_response: f32,
}

/// `exposure.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("exposure", include_bytes!("../../../../shaders/spv/exposure.spv"));

/// `exposure.update.spv`, made with `UPDATE=1`.
pub static UPDATE: Kernel<UpdateBind, UpdatePush> = Kernel::new(
    "exposure.update",
    include_bytes!("../../../../shaders/spv/exposure.update.spv"),
);

/// `exposure.gradient.spv`, made with `GRADIENT=1`.
pub static GRADIENT: Kernel<GradientBind, Push> = Kernel::new(
    "exposure.gradient",
    include_bytes!("../../../../shaders/spv/exposure.gradient.spv"),
);

/// Words per view: the map, two moments, steps, its camera's place, what it is held to, three unused.
pub const EXPOSURE_WORDS: u32 = 44;
/// Words per camera: vignetting and response, two moments, the number of steps, and four unused.
pub const CAMERA_WORDS: u32 = 32;
/// Numbers of a camera: three of vignetting, one of the response per channel, and another.
pub const CAMERA_VALUES: u32 = 9;
/// Sums of a tile: of the map and of the camera.
pub const EXPOSURE_SUMS: u32 = 21;
/// Iterations between two moments at which the mean of all maps becomes the identity.
pub const CENTRE_EVERY: u32 = 61;
