//! `shaders/ssim_strip.comp`: what `ssim_maps` computes in training, for devices with many registers and wide groups:
//! rows of a strip are blurred across as they come and gathered downwards, so that no row is blurred twice but those of
//! the halo. Made by `cargo xtask shaders`.

use super::ssim_maps::{Bind, Push, Spec};
use kiln_program::Kernel;

/// `ssim_strip.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("ssim_strip", include_bytes!("../../../../shaders/spv/ssim_strip.spv"));
