//! The 3D smoothing filter (Mip-Splatting, Yu et al. 2024, sec. 4): `filter = d / f_max * sqrt(0.2)`, where `d` is the
//! Gaussian's smallest depth over the training cameras that see it and `f_max` the largest focal length.

use super::counters::Args;
pub use super::generated::common::FilterCamera;
use super::generated::{filter_3d, filter_3d_apply};
use super::views::{Chunk, Shared};
use kiln_program::{Program, Span};

/// The training cameras on the device.
#[derive(Clone, Copy, Debug)]
pub struct FilterIo {
    /// [`FilterCamera`] array.
    pub cameras: Span,
    /// How many.
    pub camera_count: u32,
    /// Largest focal length, px.
    pub max_focal_px: f32,
    /// One word.
    pub farthest: Span,
}

/// Appends both passes for every chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], io: &FilterIo) {
    program.fill(io.farthest, 0);
    for chunk in chunks {
        let push = filter_3d::Push {
            stride: chunk.stride,
            first: chunk.first,
            camera_count: io.camera_count,
        };
        program.pass(
            &filter_3d::KERNEL,
            (),
            filter_3d::Bind {
                counters: shared.counters,
                cameras: io.cameras,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                farthest: io.farthest,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    for chunk in chunks {
        let push = filter_3d_apply::Push {
            stride: chunk.stride,
            first: chunk.first,
            scale: 0.2f32.sqrt() / io.max_focal_px,
        };
        program.pass(
            &filter_3d_apply::KERNEL,
            (),
            filter_3d_apply::Bind {
                counters: shared.counters,
                filter_3d: chunk.filter_3d,
                farthest: io.farthest,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
