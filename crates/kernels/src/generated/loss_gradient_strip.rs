//! `shaders/loss_gradient_strip.comp`: what `loss_gradient` computes, walking down strips as `ssim_strip` does. Made by
//! `cargo xtask shaders`.

use super::loss_gradient::{Bind, Push, Spec};
use kiln_program::Kernel;

/// `loss_gradient_strip.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "loss_gradient_strip",
    include_bytes!("../../../../shaders/spv/loss_gradient_strip.spv"),
);
