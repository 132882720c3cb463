//! `shaders/loss_gradient_strip.comp`: what `loss_gradient` computes, walking down strips as `ssim_strip` does. Made by
//! `cargo xtask shaders`.

use super::loss_gradient::{Bind, Push};
use crate::program::Kernel;

/// `loss_gradient_strip.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "loss_gradient_strip",
    include_bytes!("../../../../shaders/spv/loss_gradient_strip.spv"),
);

/// `loss_gradient_strip.masked.spv`, made with `MASKED=1`.
pub static MASKED: Kernel<Bind, Push> = Kernel::new(
    "loss_gradient_strip.masked",
    include_bytes!("../../../../shaders/spv/loss_gradient_strip.masked.spv"),
);
